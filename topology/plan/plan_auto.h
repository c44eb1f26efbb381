/* plan_auto.h - the choices of `auto`, each with its reason.
 *
 * Private to topology/plan/plan_make.c, which calls them in this order.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PLAN_PLAN_AUTO_H
#define TOPOLOGY_PLAN_PLAN_AUTO_H

#include "topology/plan/plan.h"

/* How long, in what steps, how many networks. */
void skn_plan_auto_train(const skn_plan_data_t *data, skn_model_t *model,
                         skn_reasons_t *reasons);
/* How sums are merged, and how links code what they carry. */
void skn_plan_auto_ways(const skn_plan_t *plan, skn_model_t *model,
                        skn_reasons_t *reasons);
/* A layer of the model, and the sampler of its last one. */
void skn_plan_auto_layer(const skn_plan_t *plan, const skn_model_t *model,
                         skn_model_layer_t *layer, skn_reasons_t *reasons);
/* The formats that are computed in, and kept. */
void skn_plan_auto_numbers(skn_model_t *model, skn_model_layer_t *output,
                           skn_reasons_t *reasons);

#endif
