/* host.h - a topology out of a spec that is checked already, for the command
 * line; everything else is in skein/topology.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_HOST_H
#define TOPOLOGY_RUN_HOST_H

#include <stdio.h>

#include "formats/checkpoint/cut.h"
#include "skein/topology.h"
#include "topology/spec/spec.h"

/* Takes *spec in any case and sets it to NULL. */
skn_topology_t *skn_topology_of(skn_spec_t **spec, skn_error_t *error);
/* Reads a topology file ("-": standard input), with the built-in kinds. NULL:
 * see `problems`, and `error` for what is no fault of the file. */
skn_topology_t *skn_topology_load(const char *path, skn_problems_t *problems,
                                  skn_error_t *error);
const skn_spec_t *skn_topology_spec(const skn_topology_t *topology);

/* Whether it was asked to stop: skn_topology_stop here, or on another node. */
bool skn_topology_stops(const skn_topology_t *topology);
/* Before skn_topology_start: gives events that come while it waits for actors
 * to be ready to `tell`, one line of JSON each. */
void skn_topology_tell_start(skn_topology_t *topology,
                             void (*tell)(void *job, const char *line),
                             void *job);
/* Before skn_topology_start: it will be reported, so that what the machine
 * gives the run is measured, too; the host took `prepare_ns` before it. */
void skn_topology_measure(skn_topology_t *topology, uint64_t prepare_ns);
/* Ends a run at once, as when another node fails: SKN_UNAVAILABLE. Then
 * skn_topology_wait. */
void skn_topology_break(skn_topology_t *topology);
/* After skn_topology_wait, of a run that was started with `keeps`: writes what
 * its actors own, but those that failed. SKN_BUSY: some have nothing yet. */
skn_status_t skn_topology_cut(skn_topology_t *topology,
                              skn_cut_writer_t *writer, skn_error_t *error);

#endif
