/* link_driver.h - the thread of a node that talks to all other nodes.
 *
 *   actors ─parcels─▶ inbox ─▶ encode ─▶ link ─fragments─▶ endpoint ═══▶ node
 *   inboxes ◀─parcels─ decode ◀─ records ◀─ link ◀─fragments─ endpoint ◀═══ b
 *
 * It owns the node's endpoint, one link a peer, and the ports (ports.h). It
 * reports to the host as an actor does, with a slot behind the last actor's:
 * READY when all nodes are, ENDED when all have everything, FAILED for itself
 * or for another node, STOP when another node was told to.
 * For the host's thread.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_LINK_DRIVER_H
#define ACTORS_LINK_DRIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "actors/figures.h"
#include "skein/error.h"

typedef struct skn_system skn_system_t;
typedef struct skn_links skn_links_t;

/* Made before the edges of `system` (whose context it uses) and destroyed
 * after them. NULL and a filled `error`. */
skn_links_t *skn_links_new(skn_system_t *system, skn_error_t *error);
void skn_links_destroy(skn_links_t **links);

/* Starts the thread; returns what pthread_create does. */
int skn_links_start(skn_links_t *links, const pthread_attr_t *attributes);
void skn_links_join(skn_links_t *links);
bool skn_links_has_thread(const skn_links_t *links);

/* All actors of this node are ready; have ended; one has failed. */
void skn_links_ready(skn_links_t *links);
void skn_links_finish(skn_links_t *links);
void skn_links_fail(skn_links_t *links, const skn_error_t *cause);
/* The run was asked to stop; all is over: say what is left, then leave. */
void skn_links_stop(skn_links_t *links);
void skn_links_close(skn_links_t *links);
/* Ends without a word: the others are ended, too. */
void skn_links_leave(skn_links_t *links);

/* Adds what the links have carried, and how; after skn_links_join. */
void skn_links_figures(const skn_links_t *links, skn_figures_t *figures);

#endif
