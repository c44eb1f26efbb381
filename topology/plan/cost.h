/* cost.h - forecasts the cost of a batch for the nodes of a plan: bytes on
 * their links, and seconds of work.
 *
 * The forecast depends on the plan alone, by formulas with stated assumptions
 * (cost_rates.h). It decides nothing; of a decoder it is that of
 * cost_decoder.h, by which the plan counts the micro-batches in flight. Bytes:
 * docs/concepts/equations.md, (61). Pure; any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PLAN_COST_H
#define TOPOLOGY_PLAN_COST_H

#include <stdio.h>

#include "topology/plan/cost_decoder.h"
#include "topology/plan/plan.h"

/* d: the share of ReLUs that are open, before dropout closes some. */
#define SKN_COST_OPEN 0.5

/* The traffic of a batch between a hidden layer and the one above it. */
typedef struct skn_cost_layer {
    double rows, columns; /* samples, hidden units: B, H */
    double value_bytes;   /* of the coding: b */
    bool scaled;          /* one scale a row is sent with the values: int8,
                           * int4 */
    double open;          /* d: share of the values that are not zero */
    bool softmax;         /* the layer above is the output, with softmax */
    bool late;        /* the output's shards normalise: one array, and no layer
                       * below waits for it */
    double positives; /* phi: share of samples with a label at a node */
} skn_cost_layer_t;

/* The part of one node in that traffic. */
typedef struct skn_cost_place {
    double share;         /* of the hidden units that it owns */
    uint32_t parts;       /* parts that it sends for its shards above; 0: it has
                           * none */
    uint32_t all_parts;   /* parts that all nodes send */
    uint32_t above_count; /* nodes that have shards above */
    uint32_t below_count; /* nodes that own hidden units */
    uint32_t node_count;  /* nodes that have shards above or units below */
} skn_cost_place_t;

typedef struct skn_cost_bytes {
    double sent, received;
} skn_cost_bytes_t;

/* Bytes of one node and batch. With everything dealt evenly over N nodes, the
 * sum of both is 2 (N - 1) / N B H (1/8 + d b) for activations, 2 (N - 1) / N B
 * H d b (1 + phi) for gradients, 16 B (N - 1) for a softmax, 8 B (N - 1) (2 +
 * phi) for scales; phi is 0 without softmax, and where it is merged late, which
 * has 8 B (N - 1) for normalisers. This assumes that the shards of a node send
 * one part together. With reduction `fixed` they send one part for each node of
 * the merge tree that covers them, and the bytes of gradients, their scales and
 * (m, z) grow by that factor. */
skn_cost_bytes_t skn_cost_link(const skn_cost_layer_t *layer,
                               const skn_cost_place_t *place);

/* One node of a plan. */
typedef struct skn_cost_node {
    uint32_t shards; /* of all layers */
    uint64_t parameters;
    skn_cost_bytes_t bytes; /* a batch */
    double link_seconds;    /* a batch, by links.rate, the busier direction */
    double work_seconds;    /* a batch, with all its cores */
} skn_cost_node_t;

typedef struct skn_cost {
    double open, positives; /* assumed: d, phi */
    skn_cost_node_t nodes[SKN_CLUSTER_NODES_MAX];
    double batch_seconds; /* of the slowest node; of a decoder, a step */
    uint32_t slowest;
    bool link_bound;         /* its link is the bottleneck */
    uint32_t alone;          /* the node with most cores */
    double alone_seconds;    /* the same on that node alone */
    bool use_one;            /* that node alone is faster, and the model fits on
                           * it */
    skn_pipeline_t pipeline; /* of a decoder */
} skn_cost_t;

/* Fills `cost` for a plan over nodes (node_count > 0). */
void skn_cost_plan(const skn_plan_t *plan, skn_cost_t *cost);
/* Prints the forecast as comments for the head of a topology file; of a plan of
 * one process, only that of a decoder. SKN_STORAGE when writing fails. */
skn_status_t skn_cost_print(const skn_plan_t *plan, FILE *file,
                            skn_error_t *error);

#endif
