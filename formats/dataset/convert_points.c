/* convert_points.c - writes rows of texts as numbered features, with the names
 * of labels and features in files beside them, and points in another format of
 * them.
 *
 * A feature is a word, and its value how often the text has it. This file owns
 * no choice of features: a training on the rows makes its own.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/convert_points.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/dataset/dataset.h"
#include "formats/dataset/preprocessing.h"
#include "formats/dataset/vocabulary.h"
#include "formats/source/sink.h"
#include "formats/text/text.h"
#include "skein/limits.h"

/* Behind OUT: the files with the names of labels and features. */
#define LABELS ".labels"
#define FEATURES ".features"

typedef struct points_file {
    const skn_dataset_t *dataset;
    const skn_vocabulary_t *vocabulary;
    bool has_header;
} points_file_t;

typedef void write_t(const points_file_t *points, FILE *file);

static void
write_points(const points_file_t *points, FILE *file)
{
    const skn_dataset_info_t *info = skn_dataset_info(points->dataset);
    if (points->has_header)
        (void)fprintf(file, "%" PRIu64 " %u %u\n", info->point_count,
                      info->feature_count, info->label_count);
    for (uint64_t k = 0; k < info->point_count; k++) {
        const skn_dataset_point_t point = skn_dataset_point(points->dataset, k);
        for (uint32_t l = 0; l < point.label_count; l++)
            (void)fprintf(file, "%s%u", l ? "," : "", point.label[l]);
        for (uint32_t f = 0; f < point.feature_count; f++) {
            (void)fprintf(file, " %u:", point.feature[f]);
            (void)skn_text_print(file, "%.9g", (double)point.value[f]);
        }
        (void)fputs(point.label_count + point.feature_count ? "\n" : " \n",
                    file);
    }
}

static void
write_labels(const points_file_t *points, FILE *file)
{
    const skn_strings_t *names = &points->vocabulary->names;
    for (uint32_t k = 0; k < names->count; k++) {
        size_t bytes;
        const char *name = skn_strings_at(names, k, &bytes);
        (void)fprintf(file, "%.*s\n", (int)bytes, name);
    }
}

static void
write_features(const points_file_t *points, FILE *file)
{
    const skn_featurizer_t *featurizer = points->vocabulary->featurizer;
    for (uint32_t k = 0; k < skn_featurizer_count(featurizer); k++) {
        size_t bytes;
        const char *term = skn_featurizer_term(featurizer, k, &bytes);
        (void)fprintf(file, "%.*s\n", (int)bytes, term);
    }
}

static skn_status_t
write_file(const points_file_t *points, const char *path, write_t *write,
           skn_error_t *error)
{
    skn_sink_t *sink = skn_sink_open(path, error);
    if (!sink)
        return error->status;
    write(points, skn_sink_file(sink));
    return skn_sink_finish(&sink, error);
}

/* The path beside `out`, whose ending of a packed file is left out. */
static skn_status_t
find_beside(const char *out, const char *ending, char path[SKN_TEXT_MAX],
            skn_error_t *error)
{
    size_t bytes = strlen(out);
    if (bytes > 3 && strcmp(out + bytes - 3, ".gz") == 0)
        bytes -= 3;
    else if (bytes > 4 && strcmp(out + bytes - 4, ".zst") == 0)
        bytes -= 4;
    int used = snprintf(path, SKN_TEXT_MAX, "%.*s%s", (int)bytes, out, ending);
    return used >= 0 && (size_t)used < SKN_TEXT_MAX
               ? SKN_OK
               : skn_fail(error, SKN_USAGE, "%.200s...: the path is too long",
                          out);
}

static skn_status_t
write_beside(const points_file_t *points, const char *out, const char *ending,
             write_t *write, skn_error_t *error)
{
    char path[SKN_TEXT_MAX];
    skn_status_t status = find_beside(out, ending, path, error);
    return status == SKN_OK ? write_file(points, path, write, error) : status;
}

/* Refuses paths that are taken before anything is read. */
static skn_status_t
check_paths(const char *out, bool has_names, skn_error_t *error)
{
    static const char *const endings[] = { LABELS, FEATURES };
    char path[SKN_TEXT_MAX];
    skn_status_t status = skn_sink_check(out, error);
    for (size_t k = 0; status == SKN_OK && has_names && k < 2; k++) {
        status = find_beside(out, endings[k], path, error);
        if (status == SKN_OK)
            status = skn_sink_check(path, error);
    }
    return status;
}

static skn_status_t
write_all(points_file_t *points, const char *out, skn_error_t *error)
{
    skn_status_t status = write_file(points, out, write_points, error);
    if (status == SKN_OK && points->vocabulary)
        status = write_beside(points, out, LABELS, write_labels, error);
    if (status == SKN_OK && points->vocabulary)
        status = write_beside(points, out, FEATURES, write_features, error);
    return status;
}

/* Learns the words of the rows, and makes points of them, or reads points. */
static skn_status_t
make_points(const char *in, const skn_records_options_t *how, bool is_strict,
            skn_dataset_t **dataset, skn_error_t *error)
{
    const double bad_rows = is_strict ? 0 : 1;
    const bool are_points = how->format == SKN_RECORDS_POINTS;
    const skn_preprocessing_t made = {
        .format = skn_records_names[how->format],
        .texts = how->text_columns ? how->text_columns : "text",
        .labels = how->label_column ? how->label_column : "labels",
        .separator = how->label_separator,
        .bad_rows = bad_rows,
        .words = 1,
        .rows_min = 1,
        .features_max = SKN_CONVERT_FEATURES_MAX,
        .weight = "count",
    };
    char *text = are_points ? strdup("") : skn_preprocessing_write(&made);
    const skn_dataset_options_t options = { .preprocessing = text,
                                            .bad_rows = bad_rows,
                                            .normalize = SKN_NORMALIZE_NONE,
                                            .cache = SKN_CACHE_ANONYMOUS };
    skn_status_t status =
        text ? skn_dataset_open(in, &options, dataset, error)
             : skn_fail(error, SKN_NO_MEMORY, "no memory for a preprocessing");
    free(text);
    return status;
}

skn_status_t
skn_convert_to_points(const char *in, const char *out,
                      const skn_records_options_t *how, bool has_header,
                      bool is_strict, skn_converted_t *converted,
                      skn_error_t *error)
{
    skn_dataset_t *dataset = NULL;
    skn_vocabulary_t *vocabulary = NULL;
    skn_vocabulary_form_t form;
    skn_status_t status =
        check_paths(out, how->format != SKN_RECORDS_POINTS, error);
    if (status == SKN_OK)
        status = make_points(in, how, is_strict, &dataset, error);
    if (status == SKN_OK && skn_dataset_vocabulary(dataset, &form)) {
        vocabulary = skn_vocabulary_read(in, &form, error);
        status = vocabulary ? SKN_OK : error->status;
    }
    if (status == SKN_OK) {
        points_file_t points = { dataset, vocabulary, has_header };
        const skn_dataset_info_t *info = skn_dataset_info(dataset);
        converted->rows = info->point_count;
        converted->bad_rows = info->bad.points;
        status = write_all(&points, out, error);
    }
    skn_vocabulary_destroy(&vocabulary);
    skn_dataset_close(&dataset);
    return status;
}
