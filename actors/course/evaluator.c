/* evaluator.c - actor that computes P@k, PSP@k, nDCG@k and the softmax's loss,
 * exact over all labels.
 *
 * It merges the best labels of all output shards (ties: the lower label first),
 * compares them with the true labels, and reports when the last batch of a pass
 * has been counted. Formulas: ranking_metrics.h. Where the shards send
 * normalisers and the logits of the true labels, the loss is equation (12) of
 * docs/concepts/equations.md over all labels, without smoothing. For prediction
 * it reports the labels of each point and their probabilities, in the order of
 * the file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/runtime/reporting.h"
#include "actors/protocol/frequencies.h"
#include "actors/protocol/kinds.h"
#include "actors/protocol/messages.h"
#include "actors/course/ranking_metrics.h"
#include "actors/protocol/settings.h"
#include "formats/text/json_text.h"

_Static_assert(SKN_RANKING_CUT <= SKN_TOPK_MAX, "a list holds all that count");

/* A batch whose true labels or ranking have arrived: they come on two pipes,
 * and either may be first. */
typedef struct meeting {
    const skn_labels_t *truth;
    const skn_ranking_t **part; /* one from each output shard */
    size_t part_count, part_room;
} meeting_t;

typedef struct evaluator {
    float *inverse; /* [labels] 1 / propensity */
    uint32_t label_count;
    uint64_t batches;   /* batches of the pass that were counted */
    uint64_t rankings;  /* of the pass that have come */
    uint64_t overflows; /* points of the pass whose logits are not finite */
    bool is_prediction, softmax;
    double nats;          /* summed over the points of the pass with labels */
    uint64_t nats_points; /* 0: the shards do not send what it takes */
    skn_ranking_sums_t sums;
    meeting_t meetings[SKN_ISSUED_MAX + 1];
} evaluator_t;

static meeting_t *
meeting_of(evaluator_t *evaluator, uint64_t batch)
{
    return &evaluator->meetings[batch % (SKN_ISSUED_MAX + 1)];
}

static void
end_meeting(meeting_t *meeting)
{
    skn_message_drop(meeting->truth);
    for (size_t p = 0; p < meeting->part_count; p++)
        skn_message_drop(meeting->part[p]);
    meeting->truth = NULL;
    meeting->part_count = 0;
}

static void
merge_row(const meeting_t *meeting, uint32_t row, uint32_t k_max,
          skn_topk_t *ranked)
{
    skn_topk_init(ranked, k_max);
    for (size_t p = 0; p < meeting->part_count; p++) {
        const skn_ranking_t *part = meeting->part[p];
        for (uint32_t k = 0; k < part->k; k++) {
            size_t at = (size_t)row * part->k + k;
            if (part->label.at[at] < UINT32_MAX)
                skn_topk_offer(ranked, part->score.at[at], part->label.at[at]);
        }
    }
}

/* True if a logit of a row overflows: NaN is never ranked, an infinite logit is
 * ranked first, and the sum over all logits, if there is one, shows both. */
static bool
overflows(const skn_topk_t *ranked, const meeting_t *meeting, uint32_t row)
{
    for (size_t p = 0; p < meeting->part_count; p++) {
        const skn_ranking_t *part = meeting->part[p];
        if (part->sum.count > row && !isfinite(part->sum.at[row]))
            return true;
    }
    return ranked->count == 0 || !isfinite(ranked->value[0]);
}

/* (m, z) of all shards together: docs/concepts/equations.md, (21). */
static void
merge_sums(const meeting_t *meeting, uint32_t row, double *greatest,
           double *sum)
{
    *greatest = -INFINITY;
    *sum = 0;
    for (size_t p = 0; p < meeting->part_count; p++)
        *greatest = fmax(*greatest, (double)meeting->part[p]->greatest.at[row]);
    for (size_t p = 0; p < meeting->part_count; p++) {
        const skn_ranking_t *part = meeting->part[p];
        *sum += (double)part->sum.at[row] *
                exp((double)part->greatest.at[row] - *greatest);
    }
}

/* Whether every part has what the loss of its samples takes. */
static bool
has_sums(const meeting_t *meeting, uint32_t rows)
{
    bool all = true;
    for (size_t p = 0; p < meeting->part_count; p++) {
        const skn_ranking_t *part = meeting->part[p];
        all = all && part->greatest.count == rows && part->sum.count == rows &&
              part->positive.count == rows;
    }
    return all;
}

/* Adds ln Z less the mean logit of the true labels, of which there are `count`.
 * A point without labels has no loss. */
static void
add_nats(evaluator_t *evaluator, const meeting_t *meeting, uint32_t row,
         uint32_t count)
{
    double greatest, sum, positive = 0;
    if (count == 0)
        return;
    for (size_t p = 0; p < meeting->part_count; p++)
        positive += (double)meeting->part[p]->positive.at[row];
    merge_sums(meeting, row, &greatest, &sum);
    evaluator->nats += greatest + log(sum) - positive / count;
    evaluator->nats_points++;
}

static void
count_batch(evaluator_t *evaluator, const meeting_t *meeting)
{
    const skn_labels_t *truth = meeting->truth;
    bool has_nats = evaluator->softmax && has_sums(meeting, truth->rows);
    skn_topk_t ranked;
    for (uint32_t i = 0; i < truth->rows; i++) {
        uint32_t at = truth->offset.at[i], count = truth->offset.at[i + 1] - at;
        merge_row(meeting, i, SKN_RANKING_CUT, &ranked);
        if (overflows(&ranked, meeting, i)) {
            ranked.count = 0;
            evaluator->overflows++;
        }
        skn_ranking_add(&evaluator->sums, evaluator->inverse, &ranked,
                        truth->label.at + at, count);
        if (has_nats)
            add_nats(evaluator, meeting, i, count);
    }
    evaluator->batches++;
}

static skn_status_t
tell_row(skn_actor_t *actor, const evaluator_t *evaluator,
         const meeting_t *meeting, uint32_t row, skn_error_t *error)
{
    const skn_labels_t *truth = meeting->truth;
    skn_topk_t ranked;
    skn_json_text_t text = { 0 };
    double greatest = 0, sum = 1;
    merge_row(meeting, row, meeting->part[0]->k, &ranked);
    /* Overflowing points get empty answers, as with `skein predict`. So do
     * unreadable questions, which are marked by a label (skn_xmc_bounds_t). */
    if (truth->offset.at[row] < truth->offset.at[row + 1] ||
        overflows(&ranked, meeting, row))
        ranked.count = 0;
    else if (evaluator->softmax)
        merge_sums(meeting, row, &greatest, &sum);
    skn_json_text_add(&text, "{\"event\":\"prediction\",\"labels\":[");
    for (uint32_t k = 0; k < ranked.count; k++)
        skn_json_text_add(&text, "%s%u", k ? "," : "", ranked.id[k]);
    skn_json_text_add(&text, "],\"scores\":[");
    for (uint32_t k = 0; k < ranked.count; k++) {
        double logit = (double)ranked.value[k];
        /* nine digits, of which 1 - p needs the last ones */
        skn_json_text_add(&text, "%s%.9g", k ? "," : "",
                          evaluator->softmax ? exp(logit - greatest) / sum
                                             : 1.0 / (1.0 + exp(-logit)));
    }
    skn_json_text_add(&text, "]}");
    skn_status_t status =
        text.failed ? skn_fail(error, SKN_NO_MEMORY, "no memory for an event")
                    : skn_actor_send_event(actor, error, "%s", text.bytes);
    skn_json_text_fini(&text);
    return status;
}

static skn_status_t
tell_batch(skn_actor_t *actor, const evaluator_t *evaluator,
           const meeting_t *meeting, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint32_t i = 0; i < meeting->truth->rows && status == SKN_OK; i++)
        status = tell_row(actor, evaluator, meeting, i, error);
    return status;
}

/* True if the parts are rankings of the batch of the true labels. */
static bool
is_fitting(const evaluator_t *evaluator, const meeting_t *meeting)
{
    const skn_labels_t *truth = meeting->truth;
    for (size_t p = 0; p < meeting->part_count; p++) {
        const skn_ranking_t *part = meeting->part[p];
        size_t count = (size_t)part->rows * part->k;
        size_t sums =
            evaluator->is_prediction && evaluator->softmax ? part->rows : 0;
        if (part->greatest.count < sums || part->sum.count < sums ||
            part->k > SKN_TOPK_MAX)
            return false;
        if (part->batch != truth->batch || part->rows != truth->rows ||
            part->label.count != count || part->score.count != count)
            return false;
        for (size_t k = 0; k < count; k++)
            if (part->label.at[k] >= evaluator->label_count &&
                part->label.at[k] != UINT32_MAX)
                return false;
    }
    return true;
}

/* The mean loss of the pass; then the next pass begins. */
static double
mean_nats(evaluator_t *evaluator)
{
    double mean = -1.0;
    if (evaluator->nats_points > 0 && isfinite(evaluator->nats))
        mean = evaluator->nats / (double)evaluator->nats_points;
    evaluator->nats = 0;
    evaluator->nats_points = 0;
    return mean;
}

static void
warn_overflows(skn_actor_t *actor, evaluator_t *evaluator)
{
    char text[SKN_ERROR_TEXT_BYTES];
    if (evaluator->overflows == 0)
        return;
    (void)snprintf(
        text, sizeof(text),
        "%llu points of an evaluation have logits that are not finite and "
        "count as wrong",
        (unsigned long long)evaluator->overflows);
    skn_actor_warn(actor, text,
                   "lower train.optimizer.rate; for points with great values, "
                   "train with data.normalize: l2");
    evaluator->overflows = 0;
}

/* Counts the batch if its true labels and its ranking are both here. */
static skn_status_t
meet(skn_actor_t *actor, evaluator_t *evaluator, meeting_t *meeting,
     skn_error_t *error)
{
    if (!meeting->truth || meeting->part_count == 0)
        return SKN_OK;
    skn_applied_t applied = { .batch = meeting->truth->batch,
                              .purpose = meeting->truth->purpose };
    if (!is_fitting(evaluator, meeting))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: the rankings of batch %llu do not fit its labels",
                        skn_actor_name(actor),
                        (unsigned long long)applied.batch);
    count_batch(evaluator, meeting);
    skn_status_t status = evaluator->is_prediction
                              ? tell_batch(actor, evaluator, meeting, error)
                              : SKN_OK;
    bool last = evaluator->batches == meeting->truth->horizon + 1;
    end_meeting(meeting);
    if (last && status == SKN_OK) {
        skn_metrics_t metrics =
            skn_ranking_metrics(&evaluator->sums, applied.purpose);
        metrics.nats = mean_nats(evaluator);
        memset(&evaluator->sums, 0, sizeof(evaluator->sums));
        evaluator->batches = evaluator->rankings = 0;
        warn_overflows(actor, evaluator);
        status = skn_actor_send(actor, &skn_metrics_schema, &metrics, error);
    }
    if (status == SKN_OK)
        status = skn_actor_send(actor, &skn_applied_schema, &applied, error);
    return status;
}

static skn_status_t
on_ranking(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *error)
{
    evaluator_t *evaluator = state;
    const skn_parts_t *parts = message;
    const skn_ranking_t *first = parts->at[0];
    meeting_t *meeting = meeting_of(evaluator, first->batch);
    /* They come in the order of batches. */
    if (first->batch != evaluator->rankings || meeting->part_count > 0)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: unexpected ranking of batch %llu: those of %llu "
                        "batches have come, and %llu were counted",
                        skn_actor_name(actor), (unsigned long long)first->batch,
                        (unsigned long long)evaluator->rankings,
                        (unsigned long long)evaluator->batches);
    evaluator->rankings++;
    if (parts->count > meeting->part_room) { /* once for each meeting */
        free(meeting->part);
        meeting->part_room = 0;
        meeting->part = malloc(parts->count * sizeof(*meeting->part));
        if (!meeting->part)
            return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu rankings",
                            parts->count);
        meeting->part_room = parts->count;
    }
    for (size_t p = 0; p < parts->count; p++)
        meeting->part[p] = skn_message_keep(parts->at[p]);
    meeting->part_count = parts->count;
    return meet(actor, evaluator, meeting, error);
}

/* True if the offsets cut the labels into one list for each sample. */
static bool
are_cut(const skn_labels_t *labels)
{
    const skn_u32s_t *offset = &labels->offset;
    if (offset->count != labels->rows + (size_t)1 || offset->at[0] != 0 ||
        offset->at[labels->rows] != labels->label.count)
        return false;
    for (uint32_t i = 0; i < labels->rows; i++)
        if (offset->at[i] > offset->at[i + 1])
            return false;
    return true;
}

static skn_status_t
on_labels(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *error)
{
    evaluator_t *evaluator = state;
    const skn_labels_t *labels = message;
    meeting_t *meeting = meeting_of(evaluator, labels->batch);
    if (labels->purpose == SKN_PURPOSE_TRAIN)
        return SKN_OK;
    for (size_t k = 0; k < labels->label.count; k++)
        if (labels->label.at[k] >= evaluator->label_count)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s: label %u, but the model has %u labels",
                            skn_actor_name(actor), labels->label.at[k],
                            evaluator->label_count);
    if (!are_cut(labels))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: the labels of batch %llu do not fit its %u "
                        "samples",
                        skn_actor_name(actor),
                        (unsigned long long)labels->batch, labels->rows);
    if (meeting->truth)
        return skn_fail(
            error, SKN_BAD_MESSAGE, "%s: batch %llu is beyond the window",
            skn_actor_name(actor), (unsigned long long)labels->batch);
    meeting->truth = skn_message_keep(labels);
    return meet(actor, evaluator, meeting, error);
}

static skn_status_t
evaluator_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    evaluator_t *evaluator = state;
    skn_frequencies_t frequencies;
    evaluator->label_count = (uint32_t)skn_actor_option_int(actor, "labels");
    evaluator->is_prediction = skn_actor_option_bool(actor, "predicts");
    evaluator->softmax =
        strcmp(skn_actor_option_text(actor, "loss"), "softmax") == 0;
    skn_status_t status = skn_frequencies_open(&frequencies, actor, error);
    if (status != SKN_OK)
        return status;
    evaluator->inverse =
        malloc(evaluator->label_count * sizeof(*evaluator->inverse));
    if (evaluator->inverse)
        skn_inverse_propensities(
            evaluator->inverse, frequencies.label, evaluator->label_count,
            frequencies.point_count, skn_actor_option_real(actor, "psp_a"),
            skn_actor_option_real(actor, "psp_b"));
    skn_frequencies_close(&frequencies);
    if (!evaluator->inverse)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u propensities",
                        evaluator->label_count);
    return SKN_OK;
}

static void
evaluator_close(skn_actor_t *actor, void *state)
{
    evaluator_t *evaluator = state;
    (void)actor;
    free(evaluator->inverse);
    for (int k = 0; k <= (int)SKN_ISSUED_MAX; k++) {
        end_meeting(&evaluator->meetings[k]);
        free(evaluator->meetings[k].part);
    }
}

static const skn_option_t options[] = {
    { "train", SKN_OPTION_PATH, NULL, 0, 0, NULL,
      "training file, whose label frequencies give the propensities" },
    SKN_DATA_OPTIONS,
    { "features", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL,
      "number of input features of the model" },
    { "labels", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL,
      "number of labels of the model" },
    SKN_TEXT_OPTIONS,
    { "psp_a", SKN_OPTION_REAL, "0.55", 0, 10, NULL, "propensity constant A" },
    { "psp_b", SKN_OPTION_REAL, "1.5", 0, 100, NULL, "propensity constant B" },
    { "predicts", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "report the best labels of every point" },
    SKN_OPTION_OF("loss", "softmax", SKN_SETTING_LOSS),
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

static const skn_schema_t *const gathers[] = {
    &skn_ranking_schema,
    NULL,
};

const skn_kind_t skn_evaluator = {
    .struct_bytes = sizeof(skn_kind_t),
    .name = "evaluator",
    .help = "computes P@k, PSP@k, nDCG@k and the loss over all labels",
    .state_bytes = sizeof(evaluator_t),
    .options = options,
    .handlers = handlers,
    .sends = sends,
    .gathers = gathers,
    .open = evaluator_open,
    .close = evaluator_close,
};
