/* links.h - the thread of a node that exchanges messages with all other nodes.
 *
 *   actors ─parcels─▶ inbox ─▶ encode ─▶ link ─fragments─▶ endpoint ═══▶ node
 *   inboxes ◀─parcels─ decode ◀─ records ◀─ link ◀─fragments─ endpoint ◀═══ b
 *
 * It owns the node's endpoint, one link per peer, and the crossings
 * (crossings.h). It reports to the host as an actor does, with the slot after
 * the last actor's:
 * READY when all nodes are ready, ENDED when all nodes have received
 * everything, FAILED for itself or another node, STOP when another node was
 * asked to stop.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_LINKS_LINKS_H
#define ACTORS_LINKS_LINKS_H

#include "actors/runtime/link_driver.h"

/* The value for skn_wiring_t.link_driver. */
extern const skn_link_driver_t skn_link_driver;

#endif
