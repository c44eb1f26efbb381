/* system.h - creates, starts, follows and joins all actors of a process.
 *
 * To be used by one thread, the host's, except for skn_system_stop and
 * skn_system_abort.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_SYSTEM_H
#define ACTORS_RUNTIME_SYSTEM_H

#include <stdio.h>

#include "actors/machine/usage.h"
#include "actors/runtime/figures.h"
#include "actors/runtime/wiring.h"
#include "skein/topology.h"

typedef struct skn_system skn_system_t;

/* Creates every actor, inbox and pipe; no thread runs yet. `wiring` must
 * outlive the system. `options` may be NULL. NULL and a filled `error` on
 * failure. */
skn_system_t *skn_system_new(const skn_wiring_t *wiring,
                             const skn_start_options_t *options,
                             skn_error_t *error);
/* Stops and joins the threads and frees the system. Sets *system to NULL; it
 * may be NULL. */
void skn_system_destroy(skn_system_t **system);

/* Starts the threads; returns when all are ready, or the first failure. Events
 * that arrive meanwhile go to `tell`; if it is NULL, they wait for
 * skn_system_event. */
typedef void skn_system_tell_t(void *job, const char *line);
skn_status_t skn_system_start(skn_system_t *system, skn_system_tell_t *tell,
                              void *job, skn_error_t *error);
/* Whether the process exits although a system runs: its threads have stopped
 * where they were, and it is not to be touched any more. */
bool skn_systems_have_ended(void);
/* Same as skn_topology_fd, _event, _stop, _abort, _wait. */
int skn_system_fd(const skn_system_t *system);
skn_status_t skn_system_event(skn_system_t *system, int timeout_ms, char *line,
                              size_t line_bytes, skn_error_t *error);
size_t skn_system_event_bytes(skn_system_t *system);
void skn_system_stop(skn_system_t *system);
void skn_system_abort(skn_system_t *system);
/* Requests a checkpoint, which the actor that leads a run looks for
 * (skn_actor_saves_wanted). Any thread. */
void skn_system_save(skn_system_t *system);
/* How many were requested. Any thread. */
uint32_t skn_system_saves(const skn_system_t *system);
/* Whether skn_system_stop was called. Any thread. */
bool skn_system_stops(const skn_system_t *system);
/* When links to other nodes last carried more than clocks and credit, by the
 * monotonic clock; 0: never. Any thread. */
uint64_t skn_system_carried_ns(const skn_system_t *system);
/* The CPU time that the process has used for the system, and its memory. Other
 * work of the process counts, too, from the creation of the system on. Any
 * thread. */
void skn_system_usage(const skn_system_t *system, skn_usage_t *usage);
/* Same as skn_topology_busy_ns. Any thread. */
uint64_t skn_system_busy_ns(const skn_system_t *system);
/* The port `name` of this node; NULL and a filled `error`. */
struct skn_port *skn_system_port(const skn_system_t *system, const char *name,
                                 skn_error_t *error);
/* Same as skn_topology_wait_for. */
skn_status_t skn_system_wait_for(skn_system_t *system, int timeout_ms,
                                 skn_error_t *error);
static inline skn_status_t
skn_system_wait(skn_system_t *system, skn_error_t *error)
{
    return skn_system_wait_for(system, -1, error);
}
/* Same as skn_topology_cut. */
skn_status_t skn_system_cut(skn_system_t *system,
                            struct skn_salvage_writer *writer,
                            skn_error_t *error);

/* Gets the measurements of this node, to be freed by skn_figures_fini; after
 * skn_system_wait. SKN_NO_MEMORY. */
skn_status_t skn_system_figures(const skn_system_t *system,
                                skn_figures_t *figures, skn_error_t *error);
/* Same as skn_topology_actor; false: there are not so many. */
bool skn_system_actor(const skn_system_t *system, size_t index,
                      skn_actor_info_t *info);
#endif
