/* evaluate.c - computes P@k, PSP@k and nDCG@k of a trained model, without
 * actors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/predict/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/data.h"
#include "actors/course/ranking_metrics.h"
#include "topology/predict/point_rows.h"
#include "topology/predict/predictor_internal.h"

/* Jain, Prabhu, Varma 2016; the same values as in the evaluator. */
#define PROPENSITY_A 0.55
#define PROPENSITY_B 1.5

/* Fills inverse[labels]; all 1 if the training file is not available. */
static void
weigh_labels(const skn_predictor_t *predictor, const char *train,
             float *inverse, skn_evaluation_t *evaluation)
{
    skn_error_t error = { 0 };
    skn_dataset_t *dataset = NULL;
    uint32_t labels = predictor->info.label_count;
    skn_data_t data = skn_predictor_data(predictor);
    for (uint32_t k = 0; k < labels; k++)
        inverse[k] = 1.0f;
    if (skn_data_open(&data, train, "train", &dataset, &error) != SKN_OK) {
        (void)snprintf(evaluation->warning, sizeof(evaluation->warning),
                       "PSP@k is left out, since it needs the training file: "
                       "%.400s",
                       error.text);
        return;
    }
    const skn_dataset_info_t *info = skn_dataset_info(dataset);
    skn_inverse_propensities(inverse, info->label_frequency, labels,
                             info->point_count, PROPENSITY_A, PROPENSITY_B);
    skn_dataset_close(&dataset);
}

/* Some points, and the answers of the network. */
typedef struct answer_rows {
    skn_point_rows_t points;
    uint32_t number[SKN_NETWORK_POINTS_MAX];
    uint32_t label[SKN_NETWORK_POINTS_MAX * SKN_RANKING_CUT];
    float score[SKN_NETWORK_POINTS_MAX * SKN_RANKING_CUT];
} answer_rows_t;

/* A point that overflows has no predicted labels, and so counts as wrong. */
static void
note_overflow(const answer_rows_t *rows, size_t i, skn_evaluation_t *evaluation)
{
    if (!isnan(rows->score[i * SKN_RANKING_CUT]))
        return;
    if (evaluation->overflows++ == 0)
        evaluation->overflow_first = rows->number[i];
}

static void
add_point(skn_ranking_sums_t *sums, const float *inverse,
          const answer_rows_t *rows, size_t i, const skn_dataset_point_t *point)
{
    skn_topk_t ranked = { .k = SKN_RANKING_CUT };
    for (uint32_t r = 0; r < SKN_RANKING_CUT; r++) {
        uint32_t label = rows->label[i * SKN_RANKING_CUT + r];
        if (label == UINT32_MAX)
            break;
        ranked.id[ranked.count] = label;
        ranked.value[ranked.count++] = rows->score[i * SKN_RANKING_CUT + r];
    }
    skn_ranking_add(sums, inverse, &ranked, point->label, point->label_count);
}

static skn_status_t
pass(const skn_predictor_t *predictor, const skn_dataset_t *dataset,
     const float *inverse, answer_rows_t *rows, skn_ranking_sums_t *sums,
     skn_evaluation_t *evaluation, skn_error_t *error)
{
    uint64_t total = skn_dataset_info(dataset)->point_count;
    skn_status_t status = SKN_OK;
    for (uint64_t first = 0; first < total && status == SKN_OK;
         first += SKN_NETWORK_POINTS_MAX) {
        size_t count = SKN_NETWORK_POINTS_MAX;
        if (total - first < count)
            count = (size_t)(total - first);
        for (size_t i = 0; i < count; i++)
            rows->number[i] = (uint32_t)(first + i);
        status = skn_point_rows_take(&rows->points, dataset, rows->number,
                                     count, error);
        skn_points_t points = skn_point_rows_points(&rows->points, count);
        if (status == SKN_OK)
            status = skn_network_best(&predictor->network, &rows->points.pass,
                                      &points, SKN_RANKING_CUT, rows->label,
                                      rows->score, error);
        for (size_t i = 0; i < count && status == SKN_OK; i++) {
            skn_dataset_point_t point = skn_dataset_point(dataset, first + i);
            add_point(sums, inverse, rows, i, &point);
            note_overflow(rows, i, evaluation);
        }
    }
    return status;
}

static void
conclude(const skn_ranking_sums_t *sums, skn_evaluation_t *evaluation)
{
    skn_metrics_t metrics = skn_ranking_metrics(sums, SKN_PURPOSE_TEST);
    evaluation->scores = skn_scores_of(&metrics);
    evaluation->points = sums->rows;
    if (evaluation->warning[0])
        evaluation->scores.psp1 = evaluation->scores.psp3 =
            evaluation->scores.psp5 = -1.0;
}

static void
take_notes(const skn_dataset_t *dataset, skn_evaluation_t *evaluation)
{
    const skn_dataset_info_t *info = skn_dataset_info(dataset);
    skn_error_t *note = evaluation->note;
    evaluation->unlabelled = info->unlabelled_count;
    evaluation->unknown = info->unknown;
    if (skn_dataset_note_odd(info, evaluation->test, &note[0]))
        evaluation->note_count++;
    if (skn_dataset_note_unknown(info, evaluation->test,
                                 &note[evaluation->note_count]))
        evaluation->note_count++;
}

skn_status_t
skn_evaluate(const skn_predictor_t *predictor, const char *test,
             const char *train, skn_evaluation_t *evaluation,
             skn_error_t *error)
{
    const skn_model_data_t *own = &predictor->trained.model->data;
    skn_ranking_sums_t sums = { 0 };
    skn_dataset_t *dataset = NULL;
    skn_data_t data = skn_predictor_data(predictor);
    memset(evaluation, 0, sizeof(*evaluation));
    evaluation->test = test ? test : own->test;
    if (!evaluation->test[0])
        return skn_fail_hint(
            error, skn_fail(error, SKN_USAGE, "the run has no test file"),
            "give -o data.test=FILE");
    if (test) /* the run's cache is that of the run's file */
        data.cache = "auto";
    skn_status_t status =
        skn_data_open(&data, evaluation->test, "test", &dataset, error);
    if (status == SKN_NO_INPUT && !test)
        return skn_fail_hint(error, status, "give -o data.test=FILE");
    if (status != SKN_OK)
        return status;
    take_notes(dataset, evaluation);
    answer_rows_t *rows = calloc(1, sizeof(*rows));
    float *inverse = malloc(predictor->info.label_count * sizeof(*inverse));
    if (rows && inverse) {
        weigh_labels(predictor, train ? train : own->train, inverse,
                     evaluation);
        status =
            pass(predictor, dataset, inverse, rows, &sums, evaluation, error);
        conclude(&sums, evaluation);
    } else {
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for an evaluation");
    }
    if (rows)
        skn_point_rows_fini(&rows->points);
    free(rows);
    free(inverse);
    skn_dataset_close(&dataset);
    return status;
}
