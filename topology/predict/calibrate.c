/* calibrate.c - asks a trained model about points of its test set, fits its
 * calibration to the answers, and writes and reads the form that keeps it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/predict/calibrate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/folder/folder.h"
#include "topology/predict/point_rows.h"
#include "topology/predict/predictor_internal.h"

/* Each step then has 300 answers, whose share of right ones is known to .03. */
#define ASKED_MAX 10000u
/* At most so many products with rows of labels, of which a core does 5 to 20
 * 10^9 a second; but as many points as make ten steps. */
#define PRODUCTS_MAX (UINT64_C(1) << 37)
#define ASKED_MIN 256u

#define FORM_NAME "skein-calibration"
#define CALIBRATION_VERSION 1u
#define FORM_BYTES_MAX 16384u

/* --- outcomes ------------------------------------------------------------- */

/* The half that a point belongs to: files may alternate, so its number alone
 * does not say. Fibonacci hashing (Knuth, The Art of Computer Programming 3,
 * 6.4). */
static bool
half_of(uint64_t number)
{
    uint64_t hash = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (hash ^ hash >> 32) >> 16 & 1;
}

size_t
skn_outcomes_add(skn_outcome_t *outcome, const skn_dataset_point_t *point,
                 uint64_t number, const uint32_t *label, const float *score)
{
    size_t count = 0;
    for (; count < SKN_CALIBRATION_ANSWERS; count++) {
        bool answered = label[count] != UINT32_MAX;
        if (!answered && count > 0)
            break;
        outcome[count] = (skn_outcome_t){
            .score = answered ? score[count] : NAN,
            .right = answered && skn_dataset_point_has(point, label[count]),
            .first = count == 0,
            .parity = half_of(number),
        };
    }
    return count;
}

/* --- the form ------------------------------------------------------------- */

static void
write_curve(const skn_curve_t *curve, const char *name, skn_json_text_t *form)
{
    skn_json_text_add(form, ",\"%s\":[", name);
    for (uint32_t k = 0; k < curve->count; k++)
        skn_json_text_add(form, "%s[%.17g,%.17g]", k ? "," : "",
                          curve->score[k], curve->probability[k]);
    skn_json_text_add(form, "]");
}

skn_status_t
skn_calibration_write(const skn_calibration_t *calibration, uint64_t batch,
                      skn_json_text_t *form, skn_error_t *error)
{
    skn_json_text_add(form,
                      "{\"format\":\"" FORM_NAME "\",\"version\":%u"
                      ",\"batch\":%" PRIu64 ",\"points\":%" PRIu64,
                      CALIBRATION_VERSION, batch, calibration->points);
    write_curve(&calibration->first, "first", form);
    write_curve(&calibration->later, "later", form);
    skn_json_text_add(form, "\n");
    return skn_json_text_seal(form, error);
}

/* False: it is no curve. */
static bool
read_curve(const json_t *root, const char *name, skn_curve_t *curve)
{
    const json_t *knots = json_object_get(root, name);
    size_t count = json_array_size(knots);
    if (!json_is_array(knots) || count > SKN_KNOTS_MAX)
        return false;
    for (size_t k = 0; k < count; k++) {
        const json_t *knot = json_array_get(knots, k);
        double score = json_number_value(json_array_get(knot, 0));
        double probability = json_number_value(json_array_get(knot, 1));
        if (json_array_size(knot) != 2 || !isfinite(score) ||
            !isfinite(probability) ||
            (k > 0 && (score <= curve->score[k - 1] ||
                       probability < curve->probability[k - 1])))
            return false;
        curve->score[k] = score;
        curve->probability[k] = probability;
    }
    curve->count = (uint32_t)count;
    return true;
}

static skn_status_t
take(const char *path, const json_t *root, uint64_t batch,
     skn_calibration_t *calibration, skn_error_t *error)
{
    uint64_t version = 0, own_batch = 0;
    skn_calibration_t found = { 0 };
    if (strcmp(skn_json_word(root, "format"), FORM_NAME) != 0 ||
        !skn_json_u64(root, "version", &version))
        return skn_fail(error, SKN_BAD_DATA, "%.300s: is no calibration", path);
    if (version != CALIBRATION_VERSION)
        return skn_fail(error, SKN_BAD_DATA,
                        "%.300s: was written by a newer version of skein",
                        path);
    if (!skn_json_u64(root, "batch", &own_batch) ||
        !skn_json_u64(root, "points", &found.points) ||
        !read_curve(root, "first", &found.first) ||
        !read_curve(root, "later", &found.later))
        return skn_fail(error, SKN_BAD_DATA,
                        "%.300s: its curves are out of range", path);
    if (own_batch == batch)
        *calibration = found;
    return SKN_OK;
}

skn_status_t
skn_calibration_read(const char *path, const char *form, size_t form_bytes,
                     uint64_t batch, skn_calibration_t *calibration,
                     skn_error_t *error)
{
    *calibration = (skn_calibration_t){ 0 };
    skn_status_t status = skn_json_check_seal(path, form, form_bytes, error);
    json_t *root = status == SKN_OK
                       ? skn_json_object_parse(path, form, form_bytes, error)
                       : NULL;
    status = root ? take(path, root, batch, calibration, error) : SKN_BAD_DATA;
    json_decref(root);
    return status;
}

skn_status_t
skn_calibration_load(const skn_trained_t *trained,
                     skn_calibration_t *calibration, skn_error_t *error)
{
    char path[SKN_RUN_FORM_PATH_BYTES], *form = NULL;
    size_t bytes = 0;
    int folder = -1;
    *calibration = (skn_calibration_t){ 0 };
    if (!skn_trained_form(&trained->place, SKN_CALIBRATION_NAME, path))
        return SKN_OK;
    char *slash = strrchr(path, '/');
    *slash = '\0';
    skn_status_t status = skn_folder_open(path, &folder, error);
    if (status == SKN_OK)
        status = skn_folder_read_file(folder, path, SKN_CALIBRATION_NAME,
                                      FORM_BYTES_MAX, &form, &bytes, error);
    *slash = '/';
    if (status == SKN_OK)
        status = skn_calibration_read(path, form, bytes,
                                      skn_checkpoint_batch(trained->checkpoint),
                                      calibration, error);
    if (folder >= 0)
        (void)close(folder);
    free(form);
    return status == SKN_OK
               ? SKN_OK
               : skn_fail_hint(error, status,
                               "remove it, and the model is used without");
}

char *
skn_calibration_event(const skn_calibration_t *calibration, const char *event)
{
    float score[SKN_PREDICTOR_LABELS_MAX];
    json_t *root = skn_json_read(event);
    json_t *scores = json_object_get(root, "scores");
    size_t count = json_array_size(scores);
    char *text = NULL;
    if (count <= SKN_PREDICTOR_LABELS_MAX && json_is_array(scores)) {
        for (size_t k = 0; k < count; k++)
            score[k] = (float)json_number_value(json_array_get(scores, k));
        skn_calibration_apply(calibration, score, count);
        for (size_t k = 0; k < count; k++)
            (void)json_array_set_new(scores, k, json_real((double)score[k]));
        text = skn_json_write(root, JSON_COMPACT | JSON_REAL_PRECISION(9));
    }
    json_decref(root);
    return text;
}

/* --- the pass ------------------------------------------------------------- */

/* Points that the model is asked about at once, and its answers. */
typedef struct asked {
    skn_point_rows_t rows;
    uint32_t number[SKN_NETWORK_POINTS_MAX];
    uint32_t label[SKN_NETWORK_POINTS_MAX * SKN_CALIBRATION_ANSWERS];
    float score[SKN_NETWORK_POINTS_MAX * SKN_CALIBRATION_ANSWERS];
} asked_t;

/* Asks about points [first, first + count) of `points` that are spaced evenly;
 * *outcomes grows by their outcomes. */
static skn_status_t
ask(const skn_predictor_t *predictor, const skn_dataset_t *dataset,
    uint64_t points, uint64_t first, size_t count, asked_t *asked,
    skn_outcome_t *outcome, size_t *outcomes, skn_error_t *error)
{
    uint64_t total = skn_dataset_info(dataset)->point_count;
    for (size_t i = 0; i < count; i++)
        asked->number[i] = (uint32_t)((first + i) * total / points);
    skn_status_t status =
        skn_point_rows_take(&asked->rows, dataset, asked->number, count, error);
    skn_points_t rows = skn_point_rows_points(&asked->rows, count);
    if (status == SKN_OK)
        status = skn_network_best(&predictor->network, &asked->rows.pass, &rows,
                                  SKN_CALIBRATION_ANSWERS, asked->label,
                                  asked->score, error);
    for (size_t i = 0; i < count && status == SKN_OK; i++) {
        skn_dataset_point_t point =
            skn_dataset_point(dataset, asked->number[i]);
        *outcomes +=
            skn_outcomes_add(outcome + *outcomes, &point, first + i,
                             asked->label + i * SKN_CALIBRATION_ANSWERS,
                             asked->score + i * SKN_CALIBRATION_ANSWERS);
    }
    return status;
}

/* How many of `total` points the model is asked about. */
static uint64_t
point_count(const skn_network_t *network, uint64_t total)
{
    uint32_t last = network->layer_count - 1;
    uint64_t products =
        (uint64_t)network->units[last] * network->units[last - 1];
    uint64_t points = PRODUCTS_MAX / products;
    if (points < ASKED_MIN)
        points = ASKED_MIN;
    if (points > ASKED_MAX)
        points = ASKED_MAX;
    return points < total ? points : total;
}

static skn_status_t
fit(const skn_predictor_t *predictor, const skn_dataset_t *dataset,
    const atomic_bool *stop, skn_calibrated_t *calibrated, skn_error_t *error)
{
    static const skn_calibration_t none;
    skn_calibration_error_t crossed = { 0 };
    uint64_t points = point_count(&predictor->network,
                                  skn_dataset_info(dataset)->point_count);
    size_t outcomes = 0;
    skn_status_t status = SKN_OK;
    asked_t *asked = calloc(1, sizeof(*asked));
    skn_outcome_t *outcome =
        calloc(points * SKN_CALIBRATION_ANSWERS + 1, sizeof(*outcome));
    if (!asked || !outcome)
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for a calibration");
    for (uint64_t first = 0; first < points && status == SKN_OK;
         first += SKN_NETWORK_POINTS_MAX) {
        uint64_t count = points - first;
        if (count > SKN_NETWORK_POINTS_MAX)
            count = SKN_NETWORK_POINTS_MAX;
        if (stop && atomic_load(stop)) {
            status = skn_fail(error, SKN_UNAVAILABLE, "the run was stopped");
            break;
        }
        status = ask(predictor, dataset, points, first, (size_t)count, asked,
                     outcome, &outcomes, error);
    }
    if (status == SKN_OK)
        status = skn_calibration_fit(&calibrated->calibration, outcome,
                                     outcomes, SKN_EITHER_PARITY, error);
    if (status == SKN_OK)
        status = skn_calibration_cross(&crossed, outcome, outcomes, error);
    calibrated->error = crossed.first;
    calibrated->error_before =
        skn_calibration_measure(&none, outcome, outcomes, SKN_EITHER_PARITY)
            .first;
    if (asked)
        skn_point_rows_fini(&asked->rows);
    free(asked);
    free(outcome);
    return status;
}

/* --- the run -------------------------------------------------------------- */

static skn_status_t
keep(const skn_predictor_t *predictor, const char *run,
     const skn_calibration_t *calibration, skn_error_t *error)
{
    skn_json_text_t form = { 0 };
    int folder = -1;
    skn_status_t status =
        skn_calibration_write(calibration, predictor->info.batch, &form, error);
    if (status == SKN_OK)
        status = skn_folder_open(run, &folder, error);
    if (status == SKN_OK)
        status = skn_folder_replace_file(folder, run, SKN_CALIBRATION_NAME,
                                         form.bytes, form.count, error);
    if (folder >= 0)
        (void)close(folder);
    skn_json_text_fini(&form);
    return status;
}

skn_status_t
skn_calibrate(const char *path, const char *run, const atomic_bool *stop,
              skn_calibrated_t *calibrated, skn_error_t *error)
{
    skn_dataset_t *dataset = NULL;
    *calibrated = (skn_calibrated_t){ 0 };
    skn_predictor_t *predictor = skn_predictor_open(path, error);
    if (!predictor)
        return error->status;
    skn_data_t data = skn_predictor_data(predictor);
    skn_status_t status = SKN_OK;
    if (skn_data_has_test(&data))
        status = skn_data_open_test(&data, NULL, &dataset, error);
    if (status == SKN_OK && dataset)
        status = fit(predictor, dataset, stop, calibrated, error);
    if (status == SKN_OK && calibrated->calibration.points > 0)
        status = keep(predictor, run, &calibrated->calibration, error);
    skn_dataset_close(&dataset);
    skn_predictor_close(&predictor);
    return status;
}

void
skn_calibrated_write_event(const skn_calibrated_t *calibrated,
                           skn_json_text_t *event)
{
    skn_json_text_add(event,
                      "{\"event\":\"calibration\",\"points\":%" PRIu64
                      ",\"error_before\":%.5f,\"error\":%.5f}",
                      calibrated->calibration.points, calibrated->error_before,
                      calibrated->error);
}
