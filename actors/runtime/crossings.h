/* crossings.h - the ends of edges that connect a node's actors to other nodes.
 *
 *     node a                                      node b
 *     sender ─▶ export ═════ edge 17 ═════▶ import ─▶ landing: receiver 0
 *                                              └────▶ landing: receiver 1
 * All nodes wire the same topology and number its edges alike; messages between
 * nodes identify an edge by its number. A broadcast has one edge for each node,
 * whose messages go to every receiver there, and whose credit is that of the
 * slowest receiver. The host's thread makes the crossings (system_edges.c);
 * then only the link driver uses them.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_CROSSINGS_H
#define ACTORS_RUNTIME_CROSSINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "actors/runtime/wiring.h"
#include "transport/inproc/pipe.h"

/* No crossing has this edge; there is no next landing. */
#define SKN_CROSSING_NONE UINT32_MAX

typedef struct skn_export {
    uint32_t edge, node; /* the edge's number in the topology; the receiving
                          * node */
    uint32_t slot;       /* the edge's slot at its sender */
    const skn_wired_pipe_t *pipe;
    skn_outlet_t *back;  /* the sender's inbox, for credit */
    uint64_t sent, paid; /* messages, and those whose credit was returned */
    uint64_t bytes;      /* encoded size of its messages */
} skn_export_t;

typedef struct skn_import {
    uint32_t edge, node;    /* the sending node */
    uint32_t first_landing; /* the others by landing.next */
    uint32_t landing_count;
    const skn_wired_pipe_t *pipe;
    uint64_t taken;   /* messages that arrived */
    uint64_t granted; /* credit that was returned, in total */
    bool ended, owes; /* owes: in the driver's list of credits to send */
} skn_import_t;

/* A receiver of an import. Parcels of credit carry its number. */
typedef struct skn_landing {
    uint32_t import, next;
    uint32_t slot; /* the edge's slot at its receiver */
    skn_outlet_t *inbox;
    uint64_t returned; /* credit that it returned, in total */
} skn_landing_t;

typedef struct skn_crossings {
    skn_export_t *exports;
    skn_import_t *imports;
    skn_landing_t *landings;
    uint32_t export_count, import_count, landing_count;
    uint32_t import_room;       /* the most imports that are made */
    uint32_t *crossing_of_edge; /* [edge_count] index of the export or import */
    uint32_t edge_count;
    skn_outlet_t **outlets; /* every outlet that a crossing uses, to close it */
    uint32_t *outlet_receivers; /* the inbox that each leads to */
    uint32_t outlet_count;
} skn_crossings_t;

#endif
