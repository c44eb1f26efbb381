/* predictor_texts.c - reads what a model is asked: points, or rows of texts and
 * named fields by the model's own words.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "formats/dataset/text_reader.h"
#include "formats/text/text.h"
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
    const skn_text_source_t rows = { .path = path,
                                     .preprocessing = predictor->preprocessing,
                                     .vocabulary = predictor->vocabulary };
    return predictor->vocabulary
               ? skn_point_reader_open_rows(&rows, &options, error)
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

/* Rows of a caller, one by one. */
typedef struct asked_rows {
    /* What row i has; `fields` lives until the next call. */
    skn_status_t (*fields)(struct asked_rows *rows, size_t i,
                           skn_feature_fields_t *fields, skn_error_t *error);
    skn_span_t span[SKN_RECORDS_COLUMNS_MAX];
    const char *const *text; /* texts */
    const size_t *text_bytes;
    const skn_row_field_t *field; /* rows of named fields */
    const size_t *offset;
    skn_span_t column[SKN_RECORDS_COLUMNS_MAX]; /* of the model */
    size_t column_count, number_from;
    bool has_columns; /* some are not texts */
} asked_rows_t;

static skn_status_t
make_points(const skn_predictor_t *predictor, asked_rows_t *rows, size_t count,
            text_points_t *points, skn_error_t *error)
{
    points->offset = calloc(count + 1, sizeof(*points->offset));
    if (!points->offset)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu rows", count);
    for (size_t i = 0; i < count; i++) {
        skn_feature_fields_t fields;
        skn_status_t status = rows->fields(rows, i, &fields, error);
        if (status == SKN_OK)
            status = skn_featurizer_apply(predictor->vocabulary->featurizer,
                                          &fields, &points->row, error);
        if (status != SKN_OK)
            return status;
        if (!add_row(points, i))
            return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu rows",
                            count);
    }
    return SKN_OK;
}

static skn_status_t
best(const skn_predictor_t *predictor, asked_rows_t *rows, size_t count,
     uint32_t k, uint32_t *label, float *score, skn_error_t *error)
{
    text_points_t own = { 0 };
    skn_status_t status = make_points(predictor, rows, count, &own, error);
    const skn_points_t points = { count, own.offset, own.feature, own.value };
    if (status == SKN_OK)
        status = skn_predictor_best(predictor, &points, k, label, score, error);
    text_points_fini(&own);
    return status;
}

static skn_status_t
check_call(const skn_predictor_t *predictor, bool is_there, const char *what,
           skn_error_t *error)
{
    if (!predictor || !is_there)
        return skn_fail(error, SKN_USAGE, "the %s is NULL",
                        predictor ? what : "predictor");
    if (predictor->vocabulary)
        return SKN_OK;
    (void)skn_fail(error, SKN_USAGE,
                   "the model was trained on numbered features, and knows no "
                   "words");
    return skn_fail_hint(error, SKN_USAGE,
                         "give it points, or train it on rows of texts");
}

static skn_status_t
fields_of_text(asked_rows_t *rows, size_t i, skn_feature_fields_t *fields,
               skn_error_t *error)
{
    const char *text = rows->text[i];
    if (!text && (!rows->text_bytes || rows->text_bytes[i] > 0))
        return skn_fail(error, SKN_USAGE, "text %zu is NULL", i);
    rows->span[0] = (skn_span_t){
        text ? text : "",
        rows->text_bytes ? rows->text_bytes[i] : strlen(text),
    };
    *fields = (skn_feature_fields_t){ rows->span, 1, false };
    return SKN_OK;
}

skn_status_t
skn_predictor_best_texts(const skn_predictor_t *predictor,
                         const char *const *text, const size_t *text_bytes,
                         size_t count, uint32_t k, uint32_t *label,
                         float *score, skn_error_t *error)
{
    asked_rows_t rows = { .fields = fields_of_text,
                          .text = text,
                          .text_bytes = text_bytes };
    skn_status_t status =
        check_call(predictor, text || count == 0, "list of texts", error);
    return status == SKN_OK
               ? best(predictor, &rows, count, k, label, score, error)
               : status;
}

/* --- rows of named fields ------------------------------------------------- */

static void
take_columns(asked_rows_t *rows, const char *names)
{
    while (rows->column_count < SKN_RECORDS_COLUMNS_MAX &&
           skn_columns_next(&names, &rows->column[rows->column_count]))
        rows->column_count++;
}

static skn_status_t
refuse_column(const asked_rows_t *rows, size_t i, const char *name,
              skn_error_t *error)
{
    char list[200];
    size_t at = 0;
    for (size_t k = 0; k < rows->column_count && at < sizeof(list); k++)
        at = skn_columns_list(list, sizeof(list), at, k, rows->column[k]);
    (void)skn_fail(error, SKN_USAGE,
                   "row %zu has a field '%.200s', and the model no such column",
                   i, name);
    return skn_fail_hint(error, SKN_USAGE, "it has %s", list);
}

/* Puts a field into its place. */
static skn_status_t
take_field(asked_rows_t *rows, size_t i, const skn_row_field_t *field,
           skn_error_t *error)
{
    size_t k = 0;
    double number;
    if (!field->column)
        return skn_fail(error, SKN_USAGE, "row %zu has a field without a name",
                        i);
    const skn_span_t name = { field->column, strlen(field->column) };
    while (k < rows->column_count && !skn_span_equal(rows->column[k], name))
        k++;
    if (k == rows->column_count)
        return refuse_column(rows, i, field->column, error);
    if (rows->span[k].at)
        return skn_fail(error, SKN_USAGE, "row %zu has two fields '%.200s'", i,
                        field->column);
    const char *text = field->text ? field->text : "";
    rows->span[k] = (skn_span_t){ text, strlen(text) };
    if (k >= rows->number_from &&
        !skn_text_number(text, rows->span[k].bytes, &number))
        return skn_fail(error, SKN_BAD_DATA,
                        "row %zu: column '%.200s' has '%.40s', which is not a "
                        "number",
                        i, field->column, text);
    return SKN_OK;
}

static skn_status_t
fields_of_row(asked_rows_t *rows, size_t i, skn_feature_fields_t *fields,
              skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    const size_t from = rows->offset[i], to = rows->offset[i + 1];
    memset(rows->span, 0, rows->column_count * sizeof(*rows->span));
    if (to < from)
        return skn_fail(error, SKN_USAGE, "row %zu ends before it begins", i);
    if (to > from && !rows->field)
        return skn_fail(error, SKN_USAGE, "the list of fields is NULL");
    for (size_t k = from; status == SKN_OK && k < to; k++)
        status = take_field(rows, i, &rows->field[k], error);
    for (size_t k = 0; k < rows->column_count; k++)
        if (!rows->span[k].at)
            rows->span[k].at = "";
    *fields = (skn_feature_fields_t){ rows->span, rows->column_count,
                                      rows->has_columns };
    return status;
}

skn_status_t
skn_predictor_best_rows(const skn_predictor_t *predictor,
                        const skn_row_field_t *field, const size_t *offset,
                        size_t count, uint32_t k, uint32_t *label, float *score,
                        skn_error_t *error)
{
    asked_rows_t rows = { .fields = fields_of_row,
                          .field = field,
                          .offset = offset };
    skn_preprocessing_t how;
    json_t *owner;
    skn_status_t status =
        check_call(predictor, offset || count == 0, "list of offsets", error);
    if (status == SKN_OK)
        status = skn_preprocessing_read(predictor->preprocessing, &how, &owner,
                                        error);
    if (status != SKN_OK)
        return status;
    take_columns(&rows, how.texts && *how.texts ? how.texts : "text");
    const size_t texts = rows.column_count;
    take_columns(&rows, how.categories);
    rows.number_from = rows.column_count;
    take_columns(&rows, how.numbers);
    rows.has_columns = rows.column_count > texts;
    status = best(predictor, &rows, count, k, label, score, error);
    json_decref(owner);
    return status;
}
