/* plan_auto.h - resolves each `auto` of a model, with the reason for the
 * choice.
 *
 * Private to topology/plan/plan_make.c, which calls them in this order.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PLAN_PLAN_AUTO_H
#define TOPOLOGY_PLAN_PLAN_AUTO_H

#include "topology/plan/plan.h"

/* Sets a number that is `auto`, with its reason; returns whether it was. */
bool skn_plan_decide(skn_reasons_t *reasons, const char *key, int64_t *value,
                     int64_t chosen, const char *why);
/* About 4 million samples in all, and 1,000 batches: rates and widths of
 * shorter runs are scaled from this. */
int64_t skn_plan_usual_epochs(double points, int64_t batch_rows);
/* Finds what the training file is and, if it has rows of texts, what their
 * features are. As skn_records_recognise and skn_records_next. */
skn_status_t skn_plan_auto_texts(skn_model_t *model, skn_reasons_t *reasons,
                                 skn_error_t *error);
/* Chooses batch size, epochs, optimizer, rate and the number of networks. */
void skn_plan_auto_train(const skn_plan_data_t *data, skn_model_t *model,
                         skn_reasons_t *reasons);
/* Chooses how sums are merged, and the coding of links. */
void skn_plan_auto_ways(const skn_plan_t *plan, skn_model_t *model,
                        skn_reasons_t *reasons);
/* Chooses the values of a layer, and of the sampler if it is the last one. */
void skn_plan_auto_layer(const skn_plan_t *plan, const skn_model_t *model,
                         skn_model_layer_t *layer, skn_reasons_t *reasons);
/* The path of a layer's keys: "model.layers.NAME", or "model.head" for the head
 * of a decoder. Returns `path`. */
const char *skn_plan_layer_path(const skn_model_t *model,
                                const skn_model_layer_t *layer, char *path,
                                size_t path_bytes);
/* Chooses the number formats of arithmetic and of stored weights. */
void skn_plan_auto_numbers(skn_model_t *model, skn_model_layer_t *output,
                           skn_reasons_t *reasons);

#endif
