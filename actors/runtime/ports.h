/* ports.h - where the edges of a node lead to, or come from, other nodes.
 *
 *     node a                                      node b
 *     sender ─▶ export ═════ edge 17 ═════▶ import ─▶ landing: receiver 0
 *                                              └────▶ landing: receiver 1
 * All nodes wire the same topology, so they number its edges alike; on the
 * wire an edge is its number. A broadcast has one edge a node, whose messages
 * land at every receiver there, and whose credit is that of the slowest.
 * Made by the host's thread (system_edges.c), then the link driver's alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_PORTS_H
#define ACTORS_RUNTIME_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "actors/runtime/wiring.h"
#include "transport/inproc/pipe.h"

/* No port has this edge; no landing comes next. */
#define SKN_PORT_NONE UINT32_MAX

typedef struct skn_export {
    uint32_t edge, node; /* its number in the topology; who receives */
    uint32_t slot;       /* of the edge at its sender */
    const skn_wired_pipe_t *pipe;
    skn_outlet_t *control; /* of the sender: where credit goes */
    uint64_t sent, paid;   /* messages, and those that credit came back for */
    uint64_t bytes;        /* of its messages, encoded */
} skn_export_t;

typedef struct skn_import {
    uint32_t edge, node;    /* who sends */
    uint32_t first_landing; /* then landing.next */
    uint32_t landing_count;
    const skn_wired_pipe_t *pipe;
    uint64_t taken;   /* messages that came */
    uint64_t granted; /* credit that was given back, all in all */
    bool ended, owes; /* owes: in the driver's list of credits to send */
} skn_import_t;

/* A receiver of an import. Parcels of credit name it. */
typedef struct skn_landing {
    uint32_t import, next;
    uint32_t slot; /* of the edge at its receiver */
    skn_outlet_t *inbox;
    uint64_t returned; /* credit that it gave back, all in all */
} skn_landing_t;

typedef struct skn_ports {
    skn_export_t *exports;
    skn_import_t *imports;
    skn_landing_t *landings;
    uint32_t export_count, import_count, landing_count;
    uint32_t import_room;   /* of imports: no more are made */
    uint32_t *port_of_edge; /* [edge_count] of exports and imports alike */
    uint32_t edge_count;
    skn_outlet_t **outlets; /* those that the ports point at, to close them */
    uint64_t *outlet_names;
    uint32_t outlet_count;
} skn_ports_t;

#endif
