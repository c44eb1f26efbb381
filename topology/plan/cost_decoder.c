/* cost_decoder.c - forecasts the pipeline of a decoder.
 *
 * The pipeline and its idle time are those of Singh & Bhatele 2022 (AxoNN,
 * arXiv 2110.13005), the gradient of weights as a filler that of Qi et al. 2023
 * (arXiv 2401.10241).
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan/cost_decoder.h"

#include <math.h>
#include <string.h>

#include "topology/plan/cost_rates.h"
#include "topology/plan/plan_internal.h"

/* A decoder's three layers. */
#define LAYERS 3u

/* Seconds of one unit of a layer for a micro-batch on a core of speed 1: what
 * its neighbours wait for, and the rest, with its part of the step's update. */
typedef struct pace {
    double awaited, rest;
} pace_t;

/* A product has a multiplication and an addition for each weight and token:
 * forwards, for the gradient of the input, and for that of the weights. */
static pace_t
pace_of_weights(const skn_plan_t *plan, double weights, double tokens)
{
    return (pace_t){
        .awaited = 4 * weights * tokens,
        .rest = 2 * weights * tokens +
                SKN_COST_UPDATE_OPERATIONS * weights / plan->accumulate,
    };
}

/* Recomputing repeats the forward pass but for its last product; and W follows
 * B of each layer, so that the neighbours wait for it, too. */
static void
add_recompute(const skn_plan_t *plan, double weights, double tokens,
              pace_t *pace)
{
    const skn_model_decoder_t *decoder = &plan->model->decoder;
    double width = (double)decoder->width, w = 2 * weights * tokens;
    double again = weights - width * (double)decoder->inner;
    double scores = (double)plan->model->data.context * width;
    pace->awaited += 2 * tokens * (again + SKN_COST_ATTENTION * scores) + w;
    pace->rest -= w;
}

static pace_t
pace_of(const skn_plan_t *plan, size_t layer)
{
    const skn_model_t *model = plan->model;
    double tokens = (double)model->train.batch_rows;
    double width = (double)model->decoder.width;
    double weights = (double)skn_plan_decoder_weights(plan, layer) /
                     (double)skn_plan_outputs(plan, layer);
    pace_t pace = pace_of_weights(plan, weights, tokens);
    if (skn_plan_is_stages(plan, layer)) {
        /* Two products of queries with half of the keys and values forwards,
         * and four backwards. */
        pace.awaited += SKN_COST_ATTENTION * 6 * tokens *
                        (double)model->data.context * width;
        if (model->train.recompute == SKN_RECOMPUTE_LAYER)
            add_recompute(plan, weights, tokens, &pace);
    } else if (layer == 0) { /* rows are copied and added */
        pace.awaited = 2 * tokens;
        pace.rest = 2 * tokens +
                    SKN_COST_UPDATE_OPERATIONS * weights / plan->accumulate;
    } else {
        double share = skn_cost_active_rows(plan) / (double)plan->data.labels;
        pace = pace_of_weights(plan, weights * share, tokens);
    }
    pace.awaited /= SKN_COST_DECODER_OPERATIONS;
    pace.rest /= SKN_COST_DECODER_OPERATIONS;
    return pace;
}

static double
units_of(const skn_plan_t *plan, size_t layer, uint32_t shard)
{
    return (double)(skn_plan_first(plan, layer, shard + 1) -
                    skn_plan_first(plan, layer, shard));
}

static double
speed_of(const skn_plan_t *plan, uint32_t node)
{
    return plan->node_count > 0 ? plan->model->nodes[node].speed : 1;
}

/* The seconds of all shards on the core of `seat`. */
static pace_t
pace_on(const skn_plan_t *plan, const pace_t *pace, skn_plan_seat_t seat)
{
    pace_t sum = { 0, 0 };
    for (size_t k = 0; k < LAYERS; k++)
        for (uint32_t s = 0; s < shards_of(&plan->model->layers[k]); s++) {
            skn_plan_seat_t other = skn_plan_seat(plan, k, s);
            if (other.node != seat.node || other.core != seat.core)
                continue;
            double units = units_of(plan, k, s) / speed_of(plan, seat.node);
            sum.awaited += units * pace[k].awaited;
            sum.rest += units * pace[k].rest;
        }
    return sum;
}

void
skn_pipeline_beside(const skn_plan_t *plan, double *beside)
{
    uint32_t stages = shards_of(&plan->model->layers[SKN_DECODER_LAYER]);
    pace_t pace[LAYERS], layer;
    for (size_t k = 0; k < LAYERS; k++)
        pace[k] = pace_of(plan, k);
    layer = pace[SKN_DECODER_LAYER];
    pace[SKN_DECODER_LAYER] = (pace_t){ 0, 0 };
    for (uint32_t s = 0; s < stages; s++) {
        skn_plan_seat_t seat = skn_plan_seat(plan, SKN_DECODER_LAYER, s);
        pace_t sum = pace_on(plan, pace, seat);
        uint32_t count = 0; /* of the core's stages */
        for (uint32_t other = 0; other < stages; other++) {
            skn_plan_seat_t its = skn_plan_seat(plan, SKN_DECODER_LAYER, other);
            count += its.node == seat.node && its.core == seat.core;
        }
        beside[s] = (sum.awaited + sum.rest) * speed_of(plan, seat.node) /
                    (count * (layer.awaited + layer.rest));
    }
}

/* Finds the busiest core of each node and of all; returns what the neighbours
 * of the busiest one wait for on all other cores. */
static double
find_busiest(const skn_plan_t *plan, const pace_t *pace,
             skn_pipeline_t *pipeline)
{
    double all = 0, own = 0;
    for (size_t k = 0; k < LAYERS; k++)
        for (uint32_t s = 0; s < shards_of(&plan->model->layers[k]); s++) {
            skn_plan_seat_t seat = skn_plan_seat(plan, k, s);
            pace_t sum = pace_on(plan, pace, seat);
            double *most = &pipeline->core_seconds[seat.node];
            double awaited = units_of(plan, k, s) * pace[k].awaited /
                             speed_of(plan, seat.node);
            all += awaited;
            *most = fmax(*most, sum.awaited + sum.rest);
            if (skn_plan_is_stages(plan, k))
                pipeline->awaited_seconds =
                    fmax(pipeline->awaited_seconds, awaited);
            if (*most > pipeline->period_seconds) {
                pipeline->period_seconds = *most;
                own = sum.awaited;
            }
        }
    return all - own;
}

static void
find_boundaries(const skn_plan_t *plan, skn_pipeline_t *pipeline)
{
    const skn_model_t *model = plan->model;
    uint32_t stages = shards_of(&model->layers[SKN_DECODER_LAYER]);
    skn_link_coding_t coding =
        plan->node_count > 0 ? model->links.coding : SKN_LINK_CODING_F32;
    double tokens = (double)model->train.batch_rows;
    double scale = coding >= SKN_LINK_CODING_INT8 ? 4.0 * tokens : 0.0;
    pipeline->boundary_bytes =
        tokens * (double)model->decoder.width * skn_cost_value_bytes(coding) +
        scale;
    for (uint32_t s = 0; s + 1 < stages; s++)
        pipeline->crossings +=
            skn_plan_seat(plan, SKN_DECODER_LAYER, s).node !=
            skn_plan_seat(plan, SKN_DECODER_LAYER, s + 1).node;
    if (pipeline->crossings > 0)
        pipeline->way_seconds =
            model->links.latency +
            pipeline->boundary_bytes * 8 / model->links.rate;
}

/* c, at most all micro-batches of a step. */
static uint32_t
count_flights(const skn_plan_t *plan, const skn_pipeline_t *pipeline)
{
    double stages = (double)plan->model->decoder.stages;
    double round = 2 * pipeline->crossings * pipeline->way_seconds;
    double flights = stages + 2 * ceil(round / pipeline->awaited_seconds);
    flights = fmin(flights, SKN_WINDOW_MAX);
    return (uint32_t)fmin(flights, plan->accumulate);
}

/* One node has a stage a core, too. */
static double
forecast_alone(const skn_plan_t *plan, const pace_t *pace, uint32_t alone,
               uint32_t units)
{
    double awaited = 0, all = 0;
    for (size_t k = 0; k < LAYERS; k++) {
        double count = (double)skn_plan_outputs(plan, k);
        awaited += count * pace[k].awaited;
        all += count * (pace[k].awaited + pace[k].rest);
    }
    return (plan->accumulate * all + (units - 1.0) * awaited) /
           (units * speed_of(plan, alone));
}

void
skn_pipeline_forecast(const skn_plan_t *plan, uint32_t alone,
                      skn_pipeline_t *pipeline)
{
    pace_t pace[LAYERS];
    uint32_t units =
        plan->node_count > 0 ? plan->nodes[alone].units : plan->units;
    int64_t layers = plan->model->decoder.layers;
    memset(pipeline, 0, sizeof(*pipeline));
    for (size_t k = 0; k < LAYERS; k++)
        pace[k] = pace_of(plan, k);
    double wait = find_busiest(plan, pace, pipeline);
    find_boundaries(plan, pipeline);
    wait += 2 * pipeline->crossings * pipeline->way_seconds;
    pipeline->flights = count_flights(plan, pipeline);
    if (pipeline->crossings > 0)
        pipeline->period_seconds =
            fmax(pipeline->period_seconds,
                 pipeline->boundary_bytes * 8 / plan->model->links.rate);
    double busy = plan->accumulate * pipeline->period_seconds;
    pipeline->step_seconds = busy + wait;
    pipeline->bubble = wait / pipeline->step_seconds;
    pipeline->alone_units = units < layers ? units : (uint32_t)layers;
    pipeline->alone_seconds =
        forecast_alone(plan, pace, alone, pipeline->alone_units);
}
