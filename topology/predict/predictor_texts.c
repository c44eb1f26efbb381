/* predictor_texts.c - reads what a model is asked: points, or rows of texts by
 * the model's own words.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "formats/dataset/text_reader.h"
#include "topology/predict/predictor_internal.h"

static skn_point_reader_options_t
options_of(const skn_predictor_t *predictor)
{
    return (skn_point_reader_options_t){
        .struct_bytes = sizeof(skn_point_reader_options_t),
        .feature_count = predictor->info.feature_count,
        .label_count = predictor->info.label_count,
        .strict = predictor->strict,
    };
}

skn_point_reader_t *
skn_predictor_read(const skn_predictor_t *predictor, const char *path,
                   skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    if (!predictor || !path) {
        (void)skn_fail(error, SKN_USAGE, "the %s is NULL",
                       predictor ? "path" : "predictor");
        return NULL;
    }
    const skn_point_reader_options_t options = options_of(predictor);
    const skn_text_source_t source = { .path = path,
                                       .preprocessing =
                                           predictor->preprocessing,
                                       .vocabulary = predictor->vocabulary };
    return predictor->vocabulary
               ? skn_point_reader_open_rows(&source, &options, error)
               : skn_point_reader_open(path, &options, error);
}

/* --- texts in memory ------------------------------------------------------ */

/* The points of some texts. */
typedef struct text_points {
    size_t *offset;
    uint32_t *feature;
    float *value;
    size_t room;
    skn_feature_row_t row;
} text_points_t;

static void
text_points_fini(text_points_t *points)
{
    skn_feature_row_fini(&points->row);
    free(points->offset);
    free(points->feature);
    free(points->value);
}

/* Adds the row as point i. False: no memory. */
static bool
add_row(text_points_t *points, size_t i)
{
    size_t first = points->offset[i], count = points->row.count;
    if (first + count > points->room || points->room == 0) {
        size_t room = 2 * (first + count) + 64;
        uint32_t *feature =
            realloc(points->feature, room * sizeof(*points->feature));
        points->feature = feature ? feature : points->feature;
        float *value = realloc(points->value, room * sizeof(*points->value));
        points->value = value ? value : points->value;
        if (!feature || !value)
            return false;
        points->room = room;
    }
    if (count > 0) {
        memcpy(points->feature + first, points->row.feature,
               count * sizeof(*points->feature));
        memcpy(points->value + first, points->row.value,
               count * sizeof(*points->value));
    }
    points->offset[i + 1] = first + count;
    return true;
}

static skn_status_t
make_points(const skn_predictor_t *predictor, const char *const *text,
            const size_t *text_bytes, size_t count, text_points_t *points,
            skn_error_t *error)
{
    points->offset = calloc(count + 1, sizeof(*points->offset));
    if (!points->offset)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu texts", count);
    for (size_t i = 0; i < count; i++) {
        if (!text[i] && (!text_bytes || text_bytes[i] > 0))
            return skn_fail(error, SKN_USAGE, "text %zu is NULL", i);
        const skn_span_t span = { text[i] ? text[i] : "",
                                  text_bytes ? text_bytes[i]
                                             : strlen(text[i]) };
        skn_status_t status = skn_featurizer_apply(
            predictor->vocabulary->featurizer, &span, 1, &points->row, error);
        if (status != SKN_OK)
            return status;
        if (!add_row(points, i))
            return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu texts",
                            count);
    }
    return SKN_OK;
}

skn_status_t
skn_predictor_best_texts(const skn_predictor_t *predictor,
                         const char *const *text, const size_t *text_bytes,
                         size_t count, uint32_t k, uint32_t *label,
                         float *score, skn_error_t *error)
{
    text_points_t own = { 0 };
    if (!predictor || (!text && count > 0))
        return skn_fail(error, SKN_USAGE, "the %s is NULL",
                        predictor ? "list of texts" : "predictor");
    if (!predictor->vocabulary) {
        (void)skn_fail(error, SKN_USAGE,
                       "the model was trained on numbered features, and knows "
                       "no words");
        return skn_fail_hint(error, SKN_USAGE,
                             "give it points, or train it on rows of texts");
    }
    skn_status_t status =
        make_points(predictor, text, text_bytes, count, &own, error);
    const skn_points_t points = { count, own.offset, own.feature, own.value };
    if (status == SKN_OK)
        status = skn_predictor_best(predictor, &points, k, label, score, error);
    text_points_fini(&own);
    return status;
}
