/* cost_rates.h - what forecasts of a plan assume of cores, optimizers, links.
 *
 * Pure functions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PLAN_COST_RATES_H
#define TOPOLOGY_PLAN_COST_RATES_H

#include "topology/plan/plan.h"

/* Operations a second of one core. Measured: 58e9 for exact softmax on a Zen 3
 * with AVX2 (docs/concepts/samplers.md), less for operations that wait for
 * memory. */
#define SKN_COST_OPERATIONS 5e10
/* The same for a decoder, which waits for memory less, and what an operation of
 * attention counts there: its products are small, and have a softmax between
 * them. Measured on a Zen 3, too: 61e9 to 78e9 (bench/results/dense.md). */
#define SKN_COST_DECODER_OPERATIONS 6.5e10
#define SKN_COST_ATTENTION 2.5
/* Operations that an optimizer spends on a weight: Adam's two moments, their
 * root and the step. */
#define SKN_COST_UPDATE_OPERATIONS 10.0

/* Bytes of a number on a link. */
static inline double
skn_cost_value_bytes(skn_link_coding_t coding)
{
    switch (coding) {
    case SKN_LINK_CODING_BF16:
        return 2.0;
    case SKN_LINK_CODING_INT8:
        return 1.0;
    case SKN_LINK_CODING_INT4:
        return 0.5;
    case SKN_LINK_CODING_AUTO:
    case SKN_LINK_CODING_F32:
        break;
    }
    return 4.0;
}

/* Rows of the output layer that a batch computes. */
static inline double
skn_cost_active_rows(const skn_plan_t *plan)
{
    const skn_model_t *model = plan->model;
    const skn_model_sampler_t *sampler =
        &model->layers[model->layer_count - 1].sampler;
    double labels = (double)plan->data.labels;
    double rows = (double)sampler->rows +
                  (double)model->train.batch_rows * plan->data.labels_per_point;
    return sampler->kind == SKN_SAMPLER_EXACT || labels < rows ? labels : rows;
}

#endif
