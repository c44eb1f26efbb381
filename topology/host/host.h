/* host.h - topology functions for a training and a config alone: from a checked
 * spec, with salvages. Everything else is in skein/topology.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_HOST_HOST_H
#define TOPOLOGY_HOST_HOST_H

#include <stdio.h>

#include "skein/topology.h"
#include "topology/spec/spec.h"

/* Takes ownership of *spec in any case and sets it to NULL. */
skn_topology_t *skn_topology_of(skn_spec_t **spec, skn_error_t *error);
const skn_spec_t *skn_topology_spec(const skn_topology_t *topology);

/* True if a stop was requested by skn_topology_stop, here or on another
 * node. */
bool skn_topology_stops(const skn_topology_t *topology);
/* Requests a checkpoint from the actor that leads the run; has no effect before
 * the start, or without such an actor on this node. */
void skn_topology_save(skn_topology_t *topology);
/* The wall-clock time since the start in which the busiest of this node's cores
 * had an actor at work; counts the cores of actors that are given cores and are
 * not niced. A core that is shared or rationed is busy for longer with a batch,
 * so that nodes of one run can be compared by it. 0 before the start. */
uint64_t skn_topology_busy_ns(const skn_topology_t *topology);
/* Call it after skn_topology_wait, for a run that was started with
 * `keeps_state`: writes the state that its actors own, except those that
 * failed. SKN_BUSY: some have no state yet. */
skn_status_t skn_topology_cut(skn_topology_t *topology,
                              struct skn_salvage_writer *writer,
                              skn_error_t *error);

#endif
