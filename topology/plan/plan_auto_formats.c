/* plan_auto_formats.c - resolves `auto` for the formats in which numbers are
 * stored, summed and sent, each with its reason. Declared in plan_auto.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan/plan_auto.h"

#include <stdio.h>

/* From this many hidden units on, products take the greater part of a batch. */
#define WIDE_UNITS 256

/* Between nodes the cost is bytes (decision 0011); within a process it is
 * waiting. */
static void
resolve_merge(const skn_plan_t *plan, skn_model_train_t *train,
              skn_reasons_t *reasons)
{
    const char *why = "one process: one round trip";
    if (train->merge != SKN_MERGING_AUTO)
        return;
    train->merge = SKN_MERGING_EARLY;
    if (plan->node_count > 0 && train->reduction == SKN_REDUCTION_FAST) {
        train->merge = SKN_MERGING_LATE;
        why = "fewer bytes between nodes";
    } else if (plan->node_count > 0) {
        why = "train.reduction is fixed";
    }
    skn_reasons_add(reasons, "train.merge", why);
}

/* Wide layers are bound by their products. Sums of rounded factors have
 * different bits on each kind of processor. */
static void
resolve_precision(skn_model_t *model, skn_reasons_t *reasons)
{
    skn_model_train_t *train = &model->train;
    bool wide = false;
    for (size_t k = 0; k + 1 < model->layer_count; k++)
        wide = wide || model->layers[k].units >= WIDE_UNITS;
    if (train->precision != SKN_PRECISION_AUTO)
        return;
    bool fast = train->reduction == SKN_REDUCTION_FAST;
    train->precision = wide && fast ? SKN_PRECISION_BF16 : SKN_PRECISION_F32;
    skn_reasons_add(reasons, "train.precision",
                    !fast  ? "train.reduction is fixed: the same bits on every "
                             "processor"
                    : wide ? "layers of 256 units or more are bound by products"
                           : "no layer has 256 units");
}

/* Decision 0019: rows of 2 bytes learn as those of 12 do. */
static void
resolve_weights(const skn_model_t *model, skn_model_layer_t *output,
                skn_reasons_t *reasons)
{
    const skn_model_train_t *train = &model->train;
    char path[SKN_REASON_KEY_BYTES], layer[SKN_REASON_KEY_BYTES - 16];
    const char *why;
    if (output->weights != SKN_WEIGHTS_AUTO)
        return;
    output->weights = SKN_WEIGHTS_F32;
    if (train->precision != SKN_PRECISION_BF16) {
        why = "train.precision is f32";
    } else if (train->optimizer.kind != SKN_OPTIMIZER_ADAGRAD) {
        why = "only adagrad's rows learn as well in 2 bytes";
    } else if (train->updates != SKN_UPDATES_LOAN) {
        why = "train.updates is copy, whose masters are f32";
    } else {
        output->weights = SKN_WEIGHTS_BF16;
        why = "adagrad's rows of 2 bytes learn as those of 12 do";
    }
    (void)snprintf(path, sizeof(path), "%s.weights",
                   skn_plan_layer_path(model, output, layer, sizeof(layer)));
    skn_reasons_add(reasons, path, why);
}

/* Numbers are rounded on links only, so the result depends on the number of
 * nodes. */
static void
resolve_links(const skn_plan_t *plan, skn_model_t *model,
              skn_reasons_t *reasons)
{
    if (plan->node_count == 0 || model->links.coding != SKN_LINK_CODING_AUTO)
        return;
    bool fixed = model->train.reduction == SKN_REDUCTION_FIXED;
    model->links.coding = fixed ? SKN_LINK_CODING_F32 : SKN_LINK_CODING_BF16;
    skn_reasons_add(reasons, "links.coding",
                    fixed ? "train.reduction is fixed: nothing is rounded"
                          : "half of the bytes of f32");
}

void
skn_plan_auto_ways(const skn_plan_t *plan, skn_model_t *model,
                   skn_reasons_t *reasons)
{
    resolve_merge(plan, &model->train, reasons);
    resolve_links(plan, model, reasons);
}

void
skn_plan_auto_numbers(skn_model_t *model, skn_model_layer_t *output,
                      skn_reasons_t *reasons)
{
    resolve_precision(model, reasons);
    resolve_weights(model, output, reasons);
}
