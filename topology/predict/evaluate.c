/* evaluate.c - computes P@k, PSP@k and nDCG@k of a trained model, without
 * actors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/predict/evaluate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/abi.h"
#include "actors/course/progress.h"
#include "actors/course/ranking_metrics.h"
#include "actors/protocol/data.h"
#include "topology/config/document.h"
#include "topology/config/values.h"
#include "topology/predict/calibrate.h"
#include "topology/predict/point_rows.h"
#include "topology/predict/predictor_internal.h"
#include "transport/socket/clock.h"

/* Jain, Prabhu, Varma 2016; the same values as in the evaluator. */
#define PROPENSITY_A 0.55
#define PROPENSITY_B 1.5

#define EVALUATION_BYTES_MIN offsetof(skn_evaluation_t, calibration_error)
#define EVALUATION_OPTIONS_MIN sizeof(skn_evaluation_options_t)

/* Fills inverse[labels]; false and all 1 if the training file is not available.
 * `train` NULL: that of the run. */
static bool
weigh_labels(const skn_predictor_t *predictor, const char *train,
             float *inverse, skn_evaluation_t *evaluation)
{
    skn_error_t error = { 0 };
    skn_dataset_t *dataset = NULL;
    uint32_t labels = predictor->info.label_count;
    skn_data_t data = skn_predictor_data(predictor);
    for (uint32_t k = 0; k < labels; k++)
        inverse[k] = 1.0f;
    if (train)
        data.train = train;
    if (skn_data_open_train(&data, &dataset, &error) != SKN_OK) {
        skn_error_t *warning =
            &evaluation->warnings[evaluation->warning_count++];
        (void)skn_fail(warning, SKN_OK,
                       "PSP@k is left out, since it needs the training file: "
                       "%.400s",
                       error.text);
        (void)skn_fail_hint(warning, SKN_OK, "set data.train=FILE");
        return false;
    }
    const skn_dataset_info_t *info = skn_dataset_info(dataset);
    skn_inverse_propensities(inverse, info->label_frequency, labels,
                             info->point_count, PROPENSITY_A, PROPENSITY_B);
    skn_dataset_close(&dataset);
    return true;
}

/* Some points, and the answers of the network. */
typedef struct answer_rows {
    skn_point_rows_t points;
    uint32_t number[SKN_NETWORK_POINTS_MAX];
    uint32_t label[SKN_NETWORK_POINTS_MAX * SKN_RANKING_CUT];
    float score[SKN_NETWORK_POINTS_MAX * SKN_RANKING_CUT];
} answer_rows_t;

/* --- calibration ---------------------------------------------------------- */

/* Outcomes of so many points tell the calibration error of more. */
#define OUTCOME_POINTS_MAX 100000u

_Static_assert(SKN_CALIBRATION_ANSWERS == SKN_RANKING_CUT,
               "the answers that are ranked are measured");

/* The points whose outcomes are kept: every `every`th. */
typedef struct kept_outcomes {
    skn_outcome_t *at;
    size_t count;
    uint64_t every;
} kept_outcomes_t;

static skn_status_t
outcomes_init(kept_outcomes_t *kept, uint64_t points, skn_error_t *error)
{
    kept->every = points / OUTCOME_POINTS_MAX + 1;
    kept->at = calloc((points / kept->every + 1) * SKN_CALIBRATION_ANSWERS,
                      sizeof(*kept->at));
    return kept->at ? SKN_OK
                    : skn_fail(error, SKN_NO_MEMORY,
                               "no memory for the outcomes of a test");
}

/* `is_own`: the model was calibrated on these points, so that each half of them
 * is judged by what is fitted to the other half. */
static skn_status_t
measure_calibration(const skn_predictor_t *predictor,
                    const kept_outcomes_t *kept, bool is_own,
                    skn_evaluation_t *evaluation, skn_error_t *error)
{
    skn_calibration_error_t found;
    skn_status_t status = SKN_OK;
    if (is_own && predictor->info.calibrated)
        status = skn_calibration_cross(&found, kept->at, kept->count, error);
    else
        found = skn_calibration_measure(&predictor->calibration, kept->at,
                                        kept->count, SKN_EITHER_PARITY);
    evaluation->calibration_error = found.first;
    evaluation->calibration_error_5 = found.all;
    return status;
}

/* --- the pass ------------------------------------------------------------- */

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
     kept_outcomes_t *kept, skn_evaluation_t *evaluation, skn_error_t *error)
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
            if ((first + i) % kept->every == 0)
                kept->count += skn_outcomes_add(
                    kept->at + kept->count, &point, (first + i) / kept->every,
                    rows->label + i * SKN_RANKING_CUT,
                    rows->score + i * SKN_RANKING_CUT);
            note_overflow(rows, i, evaluation);
        }
    }
    return status;
}

static void
conclude(const skn_ranking_sums_t *sums, bool weighted,
         skn_evaluation_t *evaluation)
{
    skn_metrics_t metrics = skn_ranking_metrics(sums, SKN_PURPOSE_TEST);
    evaluation->scores = skn_scores_of(&metrics);
    evaluation->points = sums->rows;
    if (!weighted)
        evaluation->scores.psp1 = evaluation->scores.psp3 =
            evaluation->scores.psp5 = -1.0;
}

static void
take_notes(const skn_dataset_t *dataset, skn_evaluation_t *evaluation)
{
    const skn_dataset_info_t *info = skn_dataset_info(dataset);
    skn_error_t *warnings = evaluation->warnings;
    evaluation->unlabelled = info->unlabelled_count;
    evaluation->unknown_labels = info->unknown.labels;
    evaluation->unknown_features = info->unknown.features;
    evaluation->unknown_points = info->unknown.points;
    if (skn_dataset_note_odd(info, evaluation->test, &warnings[0]))
        evaluation->warning_count++;
    if (skn_dataset_note_unknown(info, evaluation->test,
                                 &warnings[evaluation->warning_count]))
        evaluation->warning_count++;
}

/* Comes after the notes and before the reason of missing scores. */
static void
warn_overflows(skn_evaluation_t *evaluation, bool weighted)
{
    uint32_t at = evaluation->warning_count - (weighted ? 0 : 1);
    skn_error_t *warning = &evaluation->warnings[at];
    if (evaluation->overflows == 0)
        return;
    if (!weighted)
        warning[1] = warning[0];
    evaluation->warning_count++;
    (void)skn_fail(warning, SKN_OK,
                   "%.300s: points whose logits are not finite: %" PRIu64
                   ", which count as wrong; the first is point %" PRIu64
                   ", counted from 0",
                   evaluation->test, evaluation->overflows,
                   evaluation->overflow_first);
    (void)skn_fail_hint(warning, SKN_OK,
                        "scale the values, or train with data.normalize: l2");
}

skn_status_t
skn_evaluate(const skn_predictor_t *predictor, const char *test,
             const char *train, skn_evaluation_t *evaluation,
             skn_error_t *error)
{
    skn_ranking_sums_t sums = { 0 };
    kept_outcomes_t kept = { 0 };
    skn_dataset_t *dataset = NULL;
    skn_data_t data = skn_predictor_data(predictor);
    memset(evaluation, 0, sizeof(*evaluation));
    if (test) { /* the run's cache is that of the run's file */
        data.test = test;
        data.held_back = 0;
        data.cache = "auto";
    }
    (void)snprintf(evaluation->test, sizeof(evaluation->test), "%s",
                   data.held_back > 0 ? data.train : data.test);
    if (!skn_data_has_test(&data))
        return skn_fail_hint(
            error, skn_fail(error, SKN_USAGE, "the run has no test file"),
            "set data.test=FILE");
    skn_status_t status = skn_data_open_test(&data, NULL, &dataset, error);
    if (status == SKN_NO_INPUT && !test)
        return skn_fail_hint(error, status, "set data.test=FILE");
    if (status != SKN_OK)
        return status;
    take_notes(dataset, evaluation);
    answer_rows_t *rows = calloc(1, sizeof(*rows));
    float *inverse = malloc(predictor->info.label_count * sizeof(*inverse));
    if (rows && inverse)
        status =
            outcomes_init(&kept, skn_dataset_info(dataset)->point_count, error);
    else
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for an evaluation");
    if (status == SKN_OK) {
        bool weighted = weigh_labels(predictor, train, inverse, evaluation);
        status = pass(predictor, dataset, inverse, rows, &sums, &kept,
                      evaluation, error);
        if (status == SKN_OK)
            status =
                measure_calibration(predictor, &kept, !test, evaluation, error);
        conclude(&sums, weighted, evaluation);
        warn_overflows(evaluation, weighted);
    }
    if (rows)
        skn_point_rows_fini(&rows->points);
    free(rows);
    free(inverse);
    free(kept.at);
    skn_dataset_close(&dataset);
    return status;
}

/* --- for hosts ----------------------------------------------------------- */

/* The files that overrides set; NULL is the run's own file. */
typedef struct data_files {
    skn_problems_t *problems;
    skn_document_t *document; /* holds the texts */
    const char *test, *train;
} data_files_t;

/* The path at `key` of data; NULL if it is not set. */
static const char *
path_of(const data_files_t *files, const char *key)
{
    const skn_node_t *data =
        skn_node_get(skn_document_root(files->document), "data");
    const skn_node_t *node = skn_node_get(data, key);
    const skn_node_t *bad;
    bool is_list = node && node->type == SKN_NODE_LIST && node->count > 0;
    const char *path =
        is_list ? skn_value_paths(files->document, node, &bad, files->problems)
        : node  ? skn_node_words(node)
                : NULL;
    if (node && (!path || !path[0]))
        (void)skn_problems_add(files->problems, node->mark,
                               "data.%s must be a path, but it is empty", key);
    return path;
}

/* A trained model cannot change, only its data files. */
static skn_status_t
set_file(data_files_t *files, const char *override, skn_error_t *error)
{
    if (override && (strncmp(override, "data.test=", 10) == 0 ||
                     strncmp(override, "data.train=", 11) == 0)) {
        (void)skn_document_set(files->document, override, files->problems);
        return SKN_OK;
    }
    (void)skn_fail(error, SKN_USAGE,
                   "-o %.200s: only the data files can be set for a trained "
                   "model",
                   override ? override : "NULL");
    return skn_fail_hint(error, SKN_USAGE, "set data.test or data.train");
}

static skn_status_t
read_files(const skn_evaluation_options_t *options, data_files_t *files,
           skn_error_t *error)
{
    uint32_t count = options ? options->override_count : 0;
    skn_status_t status =
        options
            ? skn_abi_check_grown("the evaluation's options",
                                  options->struct_bytes, EVALUATION_OPTIONS_MIN,
                                  sizeof(*options), error)
            : SKN_OK;
    if (status != SKN_OK)
        return status;
    if (count > 0 && !options->overrides)
        return skn_fail(error, SKN_USAGE, "the overrides are NULL");
    files->problems = skn_problems_new(error);
    files->document =
        files->problems ? skn_document_new("-o", files->problems) : NULL;
    if (!files->document)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for overrides");
    for (uint32_t k = 0; k < count; k++)
        if (set_file(files, options->overrides[k], error) != SKN_OK)
            return SKN_USAGE;
    files->test = path_of(files, "test");
    files->train = path_of(files, "train");
    return skn_problems_error(files->problems, error);
}

skn_status_t
skn_predictor_evaluate(const skn_predictor_t *predictor,
                       const skn_evaluation_options_t *options,
                       skn_evaluation_t *evaluation, skn_error_t *error)
{
    data_files_t files = { 0 };
    skn_evaluation_t found;
    if (!predictor || !evaluation)
        return skn_fail(error, SKN_USAGE, "the %s is NULL",
                        predictor ? "evaluation" : "predictor");
    uint32_t bytes = evaluation->struct_bytes;
    if (skn_abi_check_grown("the evaluation", bytes, EVALUATION_BYTES_MIN,
                            sizeof(*evaluation), error) != SKN_OK)
        return SKN_USAGE;
    uint64_t begin_ns = skn_monotonic_ns();
    skn_status_t status = read_files(options, &files, error);
    if (status == SKN_OK)
        status =
            skn_evaluate(predictor, files.test, files.train, &found, error);
    skn_document_destroy(&files.document);
    skn_problems_destroy(&files.problems);
    if (status != SKN_OK)
        return status;
    found.struct_bytes = bytes;
    found.seconds =
        (double)(skn_monotonic_ns() - begin_ns) / (double)SKN_SECOND_NS;
    memcpy(evaluation, &found, bytes);
    return SKN_OK;
}
