/* text_rows.c - reads rows of texts, learns their vocabulary, and makes points
 * of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/text_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/dataset/dataset_file.h"
#include "formats/dataset/text_block.h"
#include "formats/source/files.h"
#include "formats/text/json_text.h"
#include "formats/text/text.h"

/* Terms that are counted at once, for each feature that there may be: rare ones
 * are forgotten if there are more (tally.h). It follows from the preprocessing
 * alone, as the vocabulary must. A term takes some 64 bytes. */
#define TERMS_PER_FEATURE 4u
#define TERMS_MIN 4096u
#define TERMS_MAX (UINT32_C(1) << 23)

struct skn_text_rows {
    const char *path;
    const skn_dataset_options_t *options;
    const skn_vocabulary_t *vocabulary; /* NULL: it is being learned */
    skn_preprocessing_t preprocessing;
    json_t *preprocessing_owner;
    /* Columns of categories and numbers together, and of numbers. */
    size_t field_count, number_count;
    skn_records_t *records;
    skn_records_row_t record; /* that is read, or made a point of */
    bool ended;               /* all rows are read */
    skn_text_blocks_t blocks;
    uint32_t block;                /* whose rows are returned */
    size_t block_row, block_value; /* what of it comes next */
    skn_error_t first_bad;         /* its sentence */
    uint64_t read, bad; /* rows of the file, and those that are left out */
    skn_xmc_sizes_t sizes;
    skn_xmc_odd_t odd;
};

/* --- open and close ------------------------------------------------------- */

void
skn_text_rows_close(skn_text_rows_t **rows)
{
    skn_text_rows_t *dying = *rows;
    *rows = NULL;
    if (!dying)
        return;
    skn_records_close(&dying->records);
    json_decref(dying->preprocessing_owner);
    skn_text_blocks_fini(&dying->blocks);
    free(dying);
}

static bool
blocks_init(skn_text_rows_t *rows)
{
    const skn_feature_options_t how =
        skn_preprocessing_features(&rows->preprocessing);
    rows->block = UINT32_MAX;
    return skn_text_blocks_init(&rows->blocks, rows->options->threads, &how,
                                rows->vocabulary ? rows->vocabulary->featurizer
                                                 : NULL);
}

skn_text_rows_t *
skn_text_rows_open(const char *path, const skn_dataset_options_t *options,
                   const skn_vocabulary_t *vocabulary, skn_error_t *error)
{
    skn_text_rows_t *rows = calloc(1, sizeof(*rows));
    if (!rows) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a reader of rows");
        return NULL;
    }
    rows->path = path;
    rows->options = options;
    rows->vocabulary = vocabulary;
    skn_status_t status =
        skn_preprocessing_read(options->preprocessing, &rows->preprocessing,
                               &rows->preprocessing_owner, error);
    if (status == SKN_OK) {
        skn_records_options_t how =
            skn_preprocessing_rows(&rows->preprocessing);
        rows->number_count = skn_columns_count(how.number_columns);
        rows->field_count =
            skn_columns_count(how.category_columns) + rows->number_count;
        if (vocabulary)
            skn_preprocessing_any_format(&how, options->questions);
        rows->records = skn_records_open(path, &how, error);
    }
    if (rows->records && !blocks_init(rows)) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory to read rows");
        skn_records_close(&rows->records);
    }
    if (!rows->records)
        skn_text_rows_close(&rows);
    return rows;
}

const skn_lines_t *
skn_text_rows_lines(const skn_text_rows_t *rows)
{
    return skn_records_lines(rows->records);
}

skn_xmc_sizes_t
skn_text_rows_sizes(const skn_text_rows_t *rows)
{
    skn_xmc_sizes_t sizes = rows->sizes;
    sizes.feature_count = sizes.feature_seen =
        skn_featurizer_count(rows->vocabulary->featurizer);
    sizes.label_count = sizes.label_seen = rows->vocabulary->names.count;
    return sizes;
}

skn_xmc_odd_t
skn_text_rows_odd(const skn_text_rows_t *rows)
{
    return rows->odd;
}

/* --- rows ----------------------------------------------------------------- */

/* The file that is read. */
static const char *
name_of(const skn_text_rows_t *rows)
{
    return skn_lines_name(skn_records_lines(rows->records));
}

static skn_status_t
no_memory(const skn_text_rows_t *rows, skn_error_t *error)
{
    return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for line %" PRIu64,
                    skn_stream_name_shown(name_of(rows)), rows->record.line);
}

static uint64_t
place_of(const skn_text_rows_t *rows)
{
    return skn_files_place(rows->record.file, rows->record.line);
}

/* How many of the first spans of the row decide which part it belongs to: its
 * texts, so that columns beside them change nothing; all, if it has no text. */
static size_t
deciding(const skn_text_rows_t *rows)
{
    const skn_records_row_t *row = &rows->record;
    const size_t texts =
        row->text_count - (row->has_columns ? rows->field_count : 0);
    for (size_t k = 0; k < texts; k++)
        if (skn_span_trimmed(row->text[k]).bytes > 0)
            return texts;
    return row->text_count;
}

/* Whether the row belongs to the part that is read. Formats write a number in
 * several ways. */
static bool
is_of_part(const skn_text_rows_t *rows)
{
    uint64_t hash = 0;
    const skn_records_row_t *row = &rows->record;
    const size_t number_from =
        row->text_count - (row->has_columns ? rows->number_count : 0);
    double number;
    if (rows->options->part == SKN_DATASET_ALL)
        return true;
    const size_t count = deciding(rows);
    for (size_t k = 0; k < count; k++) {
        const skn_span_t text = skn_span_trimmed(row->text[k]);
        if (k >= number_from && text.bytes > 0 &&
            skn_text_number(text.at, text.bytes, &number))
            hash = XXH3_64bits_withSeed(&number, sizeof(number), hash + k);
        else
            hash = XXH3_64bits_withSeed(text.at, text.bytes, hash + k);
    }
    return skn_dataset_has(rows->options, hash);
}

static bool
is_utf8(skn_span_t text)
{
    const char *at = text.at, *end = at + text.bytes;
    for (size_t length; at < end; at += length) {
        uint64_t eight = UINT64_MAX;
        if ((size_t)(end - at) >= sizeof(eight))
            memcpy(&eight, at, sizeof(eight));
        length = eight & UINT64_C(0x8080808080808080)
                     ? skn_text_character_bytes(at, end)
                     : sizeof(eight);
        if (length == 0)
            return false;
    }
    return true;
}

/* Counts a row of which a text or label is not UTF-8. */
static void
note_bytes(skn_text_rows_t *rows)
{
    const skn_records_row_t *row = &rows->record;
    bool is_good = true;
    for (size_t k = 0; k < row->text_count; k++)
        is_good = is_good && is_utf8(row->text[k]);
    for (size_t k = 0; k < row->label_count; k++)
        is_good = is_good && is_utf8(row->label[k]);
    if (is_good)
        return;
    if (rows->odd.what == SKN_XMC_NOTHING_ODD)
        rows->odd.line = place_of(rows);
    rows->odd.what = SKN_XMC_ODD_BYTES;
    rows->odd.greatest += rows->odd.greatest < UINT32_MAX;
}

/* Counts a row that cannot be read; keeps the sentence of the first. */
static void
count_bad(skn_text_rows_t *rows, const skn_error_t *refusal)
{
    if (rows->bad++ > 0)
        return;
    rows->first_bad = *refusal;
    rows->sizes.bad.line = place_of(rows);
    rows->sizes.bad_why = rows->first_bad.text;
}

/* Refuses the file if too many of its rows cannot be read. */
static skn_status_t
check_bad(const skn_text_rows_t *rows, skn_error_t *error)
{
    double most = rows->preprocessing.bad_rows * (double)rows->read;
    if (rows->read == 0)
        return skn_fail(error, SKN_BAD_DATA, "%s: the file has no rows",
                        skn_stream_name_shown(rows->path));
    if (rows->options->questions || (double)rows->bad <= most)
        return SKN_OK;
    *error = rows->first_bad;
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "%" PRIu64 " of %" PRIu64 " rows cannot be read, and "
                         "data.bad_rows allows %.0f; correct them, or allow "
                         "more",
                         rows->bad, rows->read, most);
}

/* The next row of the part into rows->record; *more is false at the end. A
 * question that cannot be read is a row, too: *bad. */
static skn_status_t
next_record(skn_text_rows_t *rows, bool *more, bool *bad, skn_error_t *error)
{
    *more = true;
    *bad = false;
    for (;;) {
        skn_records_kind_t kind;
        const skn_error_t *refusal;
        skn_status_t status = skn_records_next(rows->records, true, &kind,
                                               &rows->record, &refusal, error);
        if (status != SKN_OK)
            return status;
        *more = kind != SKN_RECORDS_END;
        if (!*more)
            return check_bad(rows, error);
        rows->read++;
        *bad = kind == SKN_RECORDS_BAD;
        if (*bad)
            count_bad(rows, refusal);
        else if (rows->vocabulary) /* once, and not when it is learned */
            note_bytes(rows);
        /* A row of a test without a label cannot be judged. */
        bool is_judged = rows->record.label_count > 0 || *bad ||
                         rows->options->questions || !rows->options->vocabulary;
        if (is_judged && (*bad ? rows->options->questions : is_of_part(rows)))
            return SKN_OK;
    }
}

/* Reads further rows, a block for each thread, and has their terms counted or
 * looked up. */
static skn_status_t
fill(skn_text_rows_t *rows, skn_error_t *error)
{
    for (uint32_t k = 0; k < rows->blocks.count; k++) {
        skn_text_block_t *block = &rows->blocks.block[k];
        skn_text_block_clear(block);
        while (!rows->ended && !skn_text_block_is_full(block)) {
            bool more, bad;
            skn_status_t status = next_record(rows, &more, &bad, error);
            if (status != SKN_OK)
                return status;
            rows->ended = !more;
            if (more && !skn_text_block_add(block, &rows->record, bad))
                return no_memory(rows, error);
        }
    }
    skn_text_blocks_run(&rows->blocks);
    for (uint32_t k = 0; k < rows->blocks.count; k++)
        if (rows->blocks.block[k].error.status != SKN_OK) {
            *error = rows->blocks.block[k].error;
            return error->status;
        }
    rows->block = 0;
    rows->block_row = rows->block_value = 0;
    return SKN_OK;
}

/* --- points --------------------------------------------------------------- */

static bool
reserve(skn_xmc_point_t *point, size_t count)
{
    if (count <= point->room_count)
        return true;
    size_t room = 2 * count;
    uint32_t *label = realloc(point->label, room * sizeof(*label));
    point->label = label ? label : point->label;
    uint32_t *feature = realloc(point->feature, room * sizeof(*feature));
    point->feature = feature ? feature : point->feature;
    float *value = realloc(point->value, room * sizeof(*value));
    point->value = value ? value : point->value;
    uint64_t *key = realloc(point->key, room * sizeof(*key));
    point->key = key ? key : point->key;
    if (!label || !feature || !value || !key)
        return false;
    point->room_count = room;
    return true;
}

static int
by_number(const void *left, const void *right)
{
    uint32_t one = *(const uint32_t *)left, other = *(const uint32_t *)right;
    return one < other ? -1 : one > other;
}

/* Sorts the labels, and keeps each once. */
static void
sort_labels(skn_xmc_point_t *point)
{
    size_t kept = 0;
    if (point->label_count < 2)
        return;
    qsort(point->label, point->label_count, sizeof(*point->label), by_number);
    for (size_t k = 0; k < point->label_count; k++)
        if (k == 0 || point->label[k] != point->label[kept - 1])
            point->label[kept++] = point->label[k];
    point->label_count = kept;
}

/* Labels that the vocabulary does not have are left out and counted. */
static skn_status_t
take_labels(skn_text_rows_t *rows, skn_xmc_point_t *point)
{
    skn_strings_t *names = (skn_strings_t *)(uintptr_t)&rows->vocabulary->names;
    for (size_t k = 0; k < rows->record.label_count; k++) {
        uint32_t number;
        if (skn_names_find(names, rows->record.label[k], false, &number) !=
            SKN_OK)
            return SKN_NO_MEMORY;
        if (number == SKN_STRINGS_NONE)
            point->unknown_labels++;
        else
            point->label[point->label_count++] = number;
    }
    sort_labels(point);
    if (point->unknown_labels == 0)
        return SKN_OK;
    skn_xmc_unknown_t *unknown = &rows->sizes.unknown;
    if (unknown->points++ == 0) {
        unknown->line = place_of(rows);
        unknown->column = 1;
    }
    unknown->labels += point->unknown_labels;
    unknown->bare_points += point->label_count == 0;
    return SKN_OK;
}

/* The file is that of the row: the reader may have reached another. */
static skn_status_t
refuse_labels(const skn_text_rows_t *rows, skn_error_t *error)
{
    char *name = skn_files_name(rows->path, place_of(rows));
    skn_status_t status = skn_fail(
        error, SKN_BAD_DATA,
        "%s:%" PRIu64 ": the row has %zu labels, at most %u allowed",
        skn_stream_name_shown(name ? name : rows->path), rows->record.line,
        rows->record.label_count, SKN_LINE_ITEMS_MAX);
    free(name);
    return status;
}

static skn_status_t
make_point(skn_text_rows_t *rows, size_t features, skn_xmc_point_t *point,
           skn_error_t *error)
{
    const skn_records_row_t *record = &rows->record;
    const skn_text_block_t *block = &rows->blocks.block[rows->block];
    size_t labels = rows->options->questions ? 0 : record->label_count;
    if (labels > SKN_LINE_ITEMS_MAX)
        return refuse_labels(rows, error);
    if (!reserve(point, features > labels ? features : labels))
        return no_memory(rows, error);
    if (features > 0) {
        memcpy(point->feature, block->feature + rows->block_value,
               features * sizeof(uint32_t));
        memcpy(point->value, block->value + rows->block_value,
               features * sizeof(float));
    }
    rows->block_value += features;
    point->feature_count = features;
    if (labels > 0 && take_labels(rows, point) != SKN_OK)
        return no_memory(rows, error);
    return SKN_OK;
}

/* The next row of the blocks; NULL at the end. */
static skn_status_t
next_row(skn_text_rows_t *rows, const skn_text_row_t **row, skn_error_t *error)
{
    for (*row = NULL;;) {
        for (; rows->block < rows->blocks.count; rows->block++) {
            const skn_text_block_t *block = &rows->blocks.block[rows->block];
            if (rows->block_row < block->row_count) {
                *row = &block->row[rows->block_row++];
                return SKN_OK;
            }
            rows->block_row = rows->block_value = 0;
        }
        if (rows->ended)
            return SKN_OK;
        skn_status_t status = fill(rows, error);
        if (status != SKN_OK)
            return status;
    }
}

skn_status_t
skn_text_rows_next(skn_text_rows_t *rows, skn_xmc_point_t *point, bool *more,
                   skn_error_t *error)
{
    const skn_text_row_t *row;
    point->label_count = point->feature_count = 0;
    point->unknown_labels = point->unknown_features = 0;
    skn_status_t status = next_row(rows, &row, error);
    *more = row != NULL;
    if (!row) {
        rows->sizes.bad.points = rows->bad;
        return status;
    }
    rows->sizes.point_count++;
    rows->record = row->record;
    if (!row->is_bad)
        return make_point(rows, row->feature_count, point, error);
    if (!reserve(point, 1))
        return no_memory(rows, error);
    if (rows->sizes.unread.points++ == 0)
        rows->sizes.unread.line = rows->sizes.bad.line;
    point->label[point->label_count++] = 0;
    return SKN_OK;
}

/* --- learning ------------------------------------------------------------- */

typedef struct lesson {
    skn_text_rows_t *rows;
    bool has[SKN_RECORDS_COLUMNS_MAX]; /* a category or number, in some row */
    skn_feature_counts_t *counts;
    skn_strings_t names;
} lesson_t;

/* Whether a cell of column k, from the first of categories on, has something
 * that can be learned. */
static bool
is_known(const lesson_t *lesson, size_t k, skn_span_t text)
{
    double number;
    return k < lesson->rows->field_count - lesson->rows->number_count
               ? skn_span_trimmed(text).bytes > 0
               : skn_text_number(text.at, text.bytes, &number) &&
                     isfinite(number);
}

/* Notes which columns of categories and numbers the row has. */
static void
note_columns(lesson_t *lesson, const skn_records_row_t *row)
{
    const size_t columns = row->has_columns ? lesson->rows->field_count : 0;
    const skn_span_t *text = row->text + row->text_count - columns;
    for (size_t k = 0; k < columns; k++)
        lesson->has[k] = lesson->has[k] || is_known(lesson, k, text[k]);
}

/* A row of JSON lines may leave out what is not known: a wrong name is in no
 * row. */
static skn_status_t
check_columns(const lesson_t *lesson, skn_error_t *error)
{
    const skn_preprocessing_t *how = &lesson->rows->preprocessing;
    const char *names[] = { how->categories, how->numbers };
    const char *keys[] = { "data.category_columns", "data.number_columns" };
    skn_span_t name;
    for (size_t list = 0, k = 0; list < 2; list++)
        for (; skn_columns_next(&names[list], &name); k++)
            if (!lesson->has[k])
                return skn_fail_hint(
                    error,
                    skn_fail(error, SKN_BAD_DATA,
                             "%s: none of the %" PRIu64 " rows has '%.*s'",
                             skn_stream_name_shown(lesson->rows->path),
                             lesson->rows->read, (int)name.bytes, name.at),
                    "%s names it", keys[list]);
    return SKN_OK;
}

/* Adds the names and terms of a block, whose terms are counted. */
static skn_status_t
learn_block(lesson_t *lesson, skn_text_block_t *block, skn_error_t *error)
{
    for (size_t k = 0; k < block->row_count; k++) {
        const skn_records_row_t *record = &block->row[k].record;
        note_columns(lesson, record);
        for (size_t l = 0; l < record->label_count; l++) {
            uint32_t number;
            if (skn_names_find(&lesson->names, record->label[l], true,
                               &number) != SKN_OK)
                return no_memory(lesson->rows, error);
        }
    }
    return skn_feature_counts_merge(lesson->counts, block->counts, error);
}

static skn_status_t
tell(const lesson_t *lesson, skn_error_t *error)
{
    const skn_dataset_options_t *options = lesson->rows->options;
    const skn_lines_t *lines = skn_text_rows_lines(lesson->rows);
    if (!options->progress ||
        options->progress(options->listener, skn_lines_source_bytes(lines), 0))
        return SKN_OK;
    return skn_fail(error, SKN_BUSY, "%s: reading was stopped",
                    skn_stream_name_shown(lesson->rows->path));
}

static skn_status_t
learn_rows(lesson_t *lesson, skn_error_t *error)
{
    skn_text_rows_t *rows = lesson->rows;
    skn_status_t status = SKN_OK;
    while (status == SKN_OK && !rows->ended) {
        status = fill(rows, error);
        for (uint32_t k = 0; k < rows->blocks.count && status == SKN_OK; k++)
            status = learn_block(lesson, &rows->blocks.block[k], error);
        if (status == SKN_OK)
            status = tell(lesson, error);
    }
    return status;
}

/* Moves the names into the vocabulary, adds the featurizer, and writes both
 * forms. */
static skn_status_t
finish(lesson_t *lesson, skn_vocabulary_t *vocabulary, char **features,
       char **names, skn_vocabulary_form_t *form, skn_error_t *error)
{
    size_t bytes;
    vocabulary->featurizer = skn_feature_counts_take(lesson->counts, error);
    if (!vocabulary->featurizer)
        return error->status;
    vocabulary->names = lesson->names;
    lesson->names = (skn_strings_t){ 0 };
    *features = skn_featurizer_write(vocabulary->featurizer, &bytes);
    *names = skn_names_write(&vocabulary->names, &form->names_bytes);
    if (!*features || !*names)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a vocabulary");
    form->features = *features;
    form->features_bytes = bytes;
    form->names = *names;
    vocabulary->hash = skn_vocabulary_hash(form);
    return SKN_OK;
}

skn_status_t
skn_text_rows_learn(const char *path, const skn_dataset_options_t *options,
                    skn_vocabulary_t **vocabulary, char **features,
                    char **names, skn_vocabulary_form_t *form,
                    skn_error_t *error)
{
    lesson_t lesson = { .rows =
                            skn_text_rows_open(path, options, NULL, error) };
    if (!lesson.rows)
        return error->status;
    const skn_feature_options_t how =
        skn_preprocessing_features(&lesson.rows->preprocessing);
    uint64_t room = TERMS_PER_FEATURE * (uint64_t)how.features_max;
    room = room < TERMS_MIN ? TERMS_MIN : room > TERMS_MAX ? TERMS_MAX : room;
    lesson.counts = skn_feature_counts_new(&how, (size_t)room);
    *vocabulary = calloc(1, sizeof(**vocabulary));
    skn_status_t status =
        lesson.counts && *vocabulary
            ? learn_rows(&lesson, error)
            : skn_fail(error, SKN_NO_MEMORY, "no memory to count words");
    if (status == SKN_OK)
        status = check_columns(&lesson, error);
    if (status == SKN_OK)
        status = finish(&lesson, *vocabulary, features, names, form, error);
    skn_feature_counts_destroy(&lesson.counts);
    skn_strings_fini(&lesson.names);
    skn_text_rows_close(&lesson.rows);
    return status;
}
