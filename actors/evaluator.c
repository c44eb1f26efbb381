/* evaluator.c - P@k, PSP@k and nDCG@k, exact over all labels.
 *
 * Merges the best labels of all output shards (ties: the lower label first),
 * holds them against the truth, and reports when the last batch of a pass has
 * been counted. Points without labels count, as misses. Formulas: Jain et al.
 * 2016 for propensities, PSP as a ratio of means like pyxclib.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/data.h"
#include "actors/kinds.h"
#include "actors/messages.h"
#include "kernels/topk.h"

#define CUT 5 /* the greatest k that is reported */

typedef struct sums {
    uint64_t rows, batches;
    double precision[CUT];          /* hits among the first k, summed */
    double gain[CUT], best_gain[CUT]; /* propensity scored */
    double ndcg[CUT];
} sums_t;

typedef struct evaluator {
    float *inverse; /* [labels] 1 / propensity */
    uint32_t label_count;
    sums_t sums;
    /* Truth that waits for its ranking, by batch. */
    const skn_labels_t *truth[SKN_WINDOW_MAX + 1];
} evaluator_t;

static const skn_labels_t **
truth_of(evaluator_t *evaluator, uint64_t batch)
{
    return &evaluator->truth[batch % (SKN_WINDOW_MAX + 1)];
}

/* The greatest weights of the truth: the best ranking there could be. */
static uint32_t
best_weights(const evaluator_t *evaluator, const uint32_t *label,
             uint32_t count, float best[CUT])
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < count; k++) {
        float weight = evaluator->inverse[label[k]];
        uint32_t at = kept < CUT ? kept : CUT;
        while (at > 0 && best[at - 1] < weight)
            at--;
        if (at == CUT)
            continue;
        uint32_t last = kept < CUT ? kept : CUT - 1;
        memmove(best + at + 1, best + at, (last - at) * sizeof(*best));
        best[at] = weight;
        if (kept < CUT)
            kept++;
    }
    return kept;
}

static bool
is_true(const uint32_t *label, uint32_t count, uint32_t wanted)
{
    for (uint32_t k = 0; k < count; k++)
        if (label[k] == wanted)
            return true;
    return false;
}

/* One point: `ranked` holds up to CUT labels, `label` the truth. */
static void
count_point(evaluator_t *evaluator, const skn_topk_t *ranked,
            const uint32_t *label, uint32_t label_count)
{
    sums_t *sums = &evaluator->sums;
    float best[CUT] = { 0 };
    uint32_t best_count =
        best_weights(evaluator, label, label_count, best);
    double hits = 0, gain = 0, best_gain = 0, dcg = 0, ideal = 0;
    for (uint32_t k = 0; k < CUT; k++) {
        double discount = 1.0 / log2((double)k + 2.0);
        if (k < ranked->count &&
            is_true(label, label_count, ranked->id[k])) {
            hits += 1;
            gain += (double)evaluator->inverse[ranked->id[k]];
            dcg += discount;
        }
        if (k < best_count)
            best_gain += (double)best[k];
        if (k < label_count)
            ideal += discount;
        sums->precision[k] += hits / (k + 1.0);
        sums->gain[k] += gain / (k + 1.0);
        sums->best_gain[k] += best_gain / (k + 1.0);
        sums->ndcg[k] += ideal > 0 ? dcg / ideal : 0.0;
    }
    sums->rows++;
}

static double
mean(double sum, uint64_t rows)
{
    return rows ? sum / (double)rows : 0.0;
}

static double
ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0.0;
}

static skn_status_t
report(skn_actor_t *actor, evaluator_t *evaluator, uint32_t purpose,
       skn_error_t *error)
{
    const sums_t *sums = &evaluator->sums;
    skn_metrics_t metrics = {
        .purpose = purpose,
        .rows = sums->rows,
        .p1 = mean(sums->precision[0], sums->rows),
        .p3 = mean(sums->precision[2], sums->rows),
        .p5 = mean(sums->precision[4], sums->rows),
        .psp1 = ratio(sums->gain[0], sums->best_gain[0]),
        .psp3 = ratio(sums->gain[2], sums->best_gain[2]),
        .psp5 = ratio(sums->gain[4], sums->best_gain[4]),
        .ndcg3 = mean(sums->ndcg[2], sums->rows),
        .ndcg5 = mean(sums->ndcg[4], sums->rows),
    };
    memset(&evaluator->sums, 0, sizeof(evaluator->sums));
    return skn_actor_send(actor, &skn_metrics_schema, &metrics, error);
}

static void
merge_row(const skn_parts_t *parts, uint32_t row, skn_topk_t *ranked)
{
    skn_topk_init(ranked, CUT);
    for (size_t p = 0; p < parts->count; p++) {
        const skn_ranking_t *part = parts->at[p];
        for (uint32_t k = 0; k < part->k; k++) {
            size_t at = (size_t)row * part->k + k;
            if (part->label.at[at] != UINT32_MAX)
                skn_topk_offer(ranked, part->score.at[at], part->label.at[at]);
        }
    }
}

static skn_status_t
on_ranking(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *error)
{
    evaluator_t *evaluator = state;
    const skn_parts_t *parts = message;
    const skn_ranking_t *first = parts->at[0];
    const skn_labels_t *truth = *truth_of(evaluator, first->batch);
    skn_topk_t ranked;
    if (!truth || truth->batch != first->batch || truth->rows != first->rows)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: a ranking of batch %llu, whose labels are not "
                        "here",
                        skn_actor_name(actor),
                        (unsigned long long)first->batch);
    for (uint32_t i = 0; i < truth->rows; i++) {
        uint32_t at = truth->offset.at[i];
        merge_row(parts, i, &ranked);
        count_point(evaluator, &ranked, truth->label.at + at,
                    truth->offset.at[i + 1] - at);
    }
    skn_applied_t applied = { .batch = first->batch,
                              .purpose = first->purpose };
    bool last = ++evaluator->sums.batches == truth->horizon + 1;
    *truth_of(evaluator, first->batch) = NULL;
    skn_message_drop(truth);
    skn_status_t status = SKN_OK;
    if (last)
        status = report(actor, evaluator, first->purpose, error);
    if (status == SKN_OK)
        status = skn_actor_send(actor, &skn_applied_schema, &applied, error);
    return status;
}

static skn_status_t
on_labels(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *error)
{
    evaluator_t *evaluator = state;
    const skn_labels_t *labels = message;
    if (labels->purpose == SKN_PURPOSE_TRAIN)
        return SKN_OK;
    for (size_t k = 0; k < labels->label.count; k++)
        if (labels->label.at[k] >= evaluator->label_count)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s: label %u, there are %u",
                            skn_actor_name(actor), labels->label.at[k],
                            evaluator->label_count);
    *truth_of(evaluator, labels->batch) = skn_message_keep(labels);
    return SKN_OK;
}

/* 1 / p_l = 1 + C (N_l + b)^-a with C = (ln N - 1) (b + 1)^a. */
static skn_status_t
evaluator_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    evaluator_t *evaluator = state;
    skn_dataset_t *train = NULL;
    double a = skn_actor_option_real(actor, "psp_a");
    double b = skn_actor_option_real(actor, "psp_b");
    evaluator->label_count = (uint32_t)skn_actor_option_int(actor, "labels");
    skn_data_t data = {
        .normalize = skn_actor_option_text(actor, "normalize"),
        .cache = skn_actor_option_text(actor, "cache"),
        .features = (uint32_t)skn_actor_option_int(actor, "features"),
        .labels = evaluator->label_count,
    };
    skn_status_t status =
        skn_data_open(&data, skn_actor_option_text(actor, "train"), "train",
                      &train, error);
    if (status != SKN_OK)
        return status;
    const skn_dataset_info_t *info = skn_dataset_info(train);
    double c = (log((double)info->point_count) - 1.0) * pow(b + 1.0, a);
    evaluator->inverse =
        malloc(evaluator->label_count * sizeof(*evaluator->inverse));
    for (uint32_t k = 0; evaluator->inverse && k < evaluator->label_count; k++)
        evaluator->inverse[k] =
            (float)(1.0 + c * pow(info->label_frequency[k] + b, -a));
    skn_dataset_close(&train);
    if (!evaluator->inverse)
        return skn_fail(error, SKN_NO_MEMORY, "no room for %u propensities",
                        evaluator->label_count);
    return SKN_OK;
}

static void
evaluator_close(skn_actor_t *actor, void *state)
{
    evaluator_t *evaluator = state;
    (void)actor;
    free(evaluator->inverse);
    for (int k = 0; k <= (int)SKN_WINDOW_MAX; k++)
        skn_message_drop(evaluator->truth[k]);
}

static const skn_option_t options[] = {
    { "train", SKN_OPTION_PATH, NULL, 0, 0, NULL,
      "training file: label frequencies, for propensities" },
    { "normalize", SKN_OPTION_CHOICE, "l2", 0, 0, "l2|none",
      "as the source has it, so that the binary copy is shared" },
    { "cache", SKN_OPTION_TEXT, "auto", 0, 0, NULL,
      "as the source has it" },
    { "features", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL,
      "input features of the model" },
    { "labels", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL,
      "labels of the model" },
    { "psp_a", SKN_OPTION_REAL, "0.55", 0, 10, NULL, "propensity constant A" },
    { "psp_b", SKN_OPTION_REAL, "1.5", 0, 100, NULL, "propensity constant B" },
    { 0 },
};

static const skn_handler_t handlers[] = {
    { &skn_labels_schema, on_labels, NULL },
    { &skn_ranking_schema, on_ranking, NULL },
    { 0 },
};

static const skn_schema_t *const sends[] = {
    &skn_metrics_schema,
    &skn_applied_schema,
    NULL,
};

const skn_kind_t skn_evaluator = {
    .name = "evaluator",
    .help = "P@k, PSP@k and nDCG@k over all labels",
    .state_bytes = sizeof(evaluator_t),
    .options = options,
    .handlers = handlers,
    .sends = sends,
    .open = evaluator_open,
    .close = evaluator_close,
};
