/* host.h - topology functions for the command line alone: from a checked spec,
 * with reports and salvages. Everything else is in skein/topology.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_HOST_HOST_H
#define TOPOLOGY_HOST_HOST_H

#include <stdio.h>

#include "skein/topology.h"
#include "topology/spec/spec.h"

/* Takes ownership of *spec in any case and sets it to NULL. */
skn_topology_t *skn_topology_of(skn_spec_t **spec, skn_error_t *error);
/* Reads a topology file ("-": standard input), with the built-in kinds.
 * NULL: the faults of the file are in `problems`, other failures in `error`. */
skn_topology_t *skn_topology_load(const char *path, skn_problems_t *problems,
                                  skn_error_t *error);
const skn_spec_t *skn_topology_spec(const skn_topology_t *topology);

/* True if a stop was requested by skn_topology_stop, here or on another
 * node. */
bool skn_topology_stops(const skn_topology_t *topology);
/* Requests a checkpoint from the actor that leads the run; has no effect before
 * the start, or without such an actor on this node. */
void skn_topology_save(skn_topology_t *topology);
/* Call it before skn_topology_start. Passes events that arrive while it waits
 * for actors to be ready to `tell`, one line of JSON each. */
void skn_topology_tell_start(skn_topology_t *topology,
                             void (*tell)(void *job, const char *line),
                             void *job);
/* Call it before skn_topology_start if the run will be reported: measures what
 * the machine gives the run, too. The host took `prepare_ns` before the
 * start. */
void skn_topology_measure(skn_topology_t *topology, uint64_t prepare_ns);
/* Call it after skn_topology_wait, for a run that was started with
 * `keeps_state`: writes the state that its actors own, except those that
 * failed. SKN_BUSY: some have no state yet. */
skn_status_t skn_topology_cut(skn_topology_t *topology,
                              struct skn_salvage_writer *writer,
                              skn_error_t *error);

#endif
