/* cost_decoder.h - forecasts a decoder's pipeline: seconds of cores and links
 * for a micro-batch, seconds of a step, and micro-batches in flight.
 *
 * f, b and w are the seconds of a stage for a micro-batch: its layers forwards,
 * the gradient of its input, and that of its weights. Neighbours wait for f and
 * b; w fills what would be idle (with train.recompute: layer, they wait for it,
 * too, and for f once more). With S stages, X of which send to another
 * node, and L seconds for a message between nodes,
 *
 *     c = S + 2 ceil(2 X L / (f + b))
 *
 * micro-batches are in flight: S fill the stages, and each message that is on
 * its way hides behind two more. A step of m micro-batches takes
 *
 *     m max(f + b + w) + what the first one and the last answer wait for
 *
 * The forecast depends on the plan alone. Pure; any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PLAN_COST_DECODER_H
#define TOPOLOGY_PLAN_COST_DECODER_H

#include "topology/plan/plan.h"

typedef struct skn_pipeline {
    uint32_t crossings;     /* stages whose next one is on another node */
    double boundary_bytes;  /* of a micro-batch between two stages, each way */
    double way_seconds;     /* of such a message between nodes */
    double awaited_seconds; /* f + b of the slowest stage */
    uint32_t flights;       /* micro-batches in flight, at most those of a
                              * step */
    double period_seconds;  /* of the busiest core or link, a micro-batch */
    double step_seconds;    /* of all micro-batches of a step */
    double bubble;          /* share of the step in which the busiest one of
                              * them has nothing to do */
    double alone_seconds;   /* a step on one node of `alone_units` cores */
    uint32_t alone_units;
    double core_seconds[SKN_CLUSTER_NODES_MAX]; /* a micro-batch, the busiest
                                                 * core of each node */
} skn_pipeline_t;

/* Fills `pipeline` for the plan of a decoder whose stages are dealt. `alone` is
 * the node that the decoder is imagined alone on; 0 in one process. */
void skn_pipeline_forecast(const skn_plan_t *plan, uint32_t alone,
                           skn_pipeline_t *pipeline);

/* Fills beside[model.stages] with the work that the core of each stage does
 * besides its stages, in units of one layer's work. The stages need not have
 * been dealt. */
void skn_pipeline_beside(const skn_plan_t *plan, double *beside);

#endif
