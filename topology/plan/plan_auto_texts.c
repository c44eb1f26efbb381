/* plan_auto_texts.c - resolves `auto` for what a file of data is, and for the
 * features of its texts, each with its reason. Declared in plan_auto.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan/plan_auto.h"

#include <inttypes.h>
#include <string.h>

#include "formats/dataset/preprocessing.h"
#include "formats/features/words.h"
#include "formats/records/records.h"
#include "formats/source/files.h"
#include "topology/plan/traits.h"

/* From this many words on, a text says enough without parts of its words
 * (decision 0038). */
#define LONG_TEXT_WORDS 16

/* Rows at the start of the file, SKN_FEW_POINTS at most, the words of their
 * texts, and which columns some row has. */
typedef struct row_sample {
    uint64_t rows, words;
    bool has[SKN_RECORDS_COLUMNS_MAX];
} row_sample_t;

/* Adds a row. False: no memory. */
static bool
add_row(row_sample_t *sample, skn_words_t *words, const skn_records_row_t *row,
        size_t columns)
{
    const size_t texts = row->text_count - (row->has_columns ? columns : 0);
    sample->rows++;
    for (size_t k = texts; k < row->text_count; k++)
        sample->has[k - texts] |= skn_span_trimmed(row->text[k]).bytes > 0;
    for (size_t k = 0; k < texts; k++) {
        skn_words_clear(words);
        if (!skn_words_add(words, row->text[k].at, row->text[k].bytes))
            return false;
        sample->words += words->count;
    }
    return true;
}

/* JSON lines may leave out what is not known: a wrong name is in no row. */
static skn_status_t
check_columns(const char *path, const skn_records_options_t *how,
              const row_sample_t *sample, skn_error_t *error)
{
    size_t k = 0;
    for (int list = 0; list < 2; list++) {
        const char *name = list ? how->number_columns : how->category_columns;
        for (size_t bytes; *name; name += bytes + (name[bytes] == ','), k++) {
            bytes = strcspn(name, ",");
            if (sample->has[k] || how->format != SKN_RECORDS_JSON)
                continue;
            (void)skn_fail(error, SKN_BAD_DATA,
                           "%s: none of the first %" PRIu64 " rows has '%.*s'",
                           path, sample->rows, (int)bytes, name);
            return skn_fail_hint(error, SKN_BAD_DATA,
                                 "is it a key of the rows? It stands in "
                                 "data.%s_columns",
                                 list ? "number" : "category");
        }
    }
    return SKN_OK;
}

static skn_status_t
look_at_rows(const char *path, const skn_records_options_t *how,
             row_sample_t *sample, skn_error_t *error)
{
    const size_t columns = skn_columns_count(how->category_columns) +
                           skn_columns_count(how->number_columns);
    bool can_be_reread;
    skn_status_t status = skn_files_can_be_reread(path, &can_be_reread, error);
    if (status != SKN_OK || !can_be_reread)
        return status; /* a pipe is refused when the data is read */
    skn_records_t *records = skn_records_open(path, how, error);
    status = records ? SKN_OK : error->status;
    skn_records_kind_t kind = SKN_RECORDS_ROW;
    skn_words_t words = { 0 };
    while (status == SKN_OK && kind != SKN_RECORDS_END &&
           sample->rows < SKN_FEW_POINTS) {
        skn_records_row_t row;
        const skn_error_t *refusal;
        status = skn_records_next(records, true, &kind, &row, &refusal, error);
        if (status == SKN_OK && kind == SKN_RECORDS_ROW &&
            !add_row(sample, &words, &row, columns))
            status = skn_fail(error, SKN_NO_MEMORY, "no memory for words");
    }
    skn_words_fini(&words);
    skn_records_close(&records);
    return status == SKN_OK ? check_columns(path, how, sample, error) : status;
}

static bool
is_long(const row_sample_t *sample)
{
    return sample->words >= LONG_TEXT_WORDS * sample->rows;
}

/* "texts have 6.3 words, fewer than 16" */
static void
why_words(skn_why_t why, const row_sample_t *sample)
{
    skn_why(why, "texts have %.1f words, %s",
            sample->rows ? (double)sample->words / (double)sample->rows : 0.0,
            is_long(sample) ? "16 or more" : "fewer than 16");
}

static int64_t
auto_word_groups(const row_sample_t *sample, skn_why_t why)
{
    bool few = sample->rows < SKN_FEW_POINTS;
    skn_why(why, few ? "in fewer than 4,096 rows, pairs of words are rare"
                     : "in 4,096 rows or more, pairs of words are met again");
    return few ? 1 : 2;
}

/* Every word of a short text counts, and a rare one is known by its parts. */
static int64_t
auto_letter_groups(const row_sample_t *sample, skn_why_t why)
{
    why_words(why, sample);
    return is_long(sample) ? 0 : 3;
}

static void
resolve_features(skn_model_data_t *data, const row_sample_t *sample,
                 skn_reasons_t *reasons)
{
    skn_why_t why;
    if (data->word_groups == SKN_AUTO) {
        data->word_groups = auto_word_groups(sample, why);
        skn_reasons_add(reasons, "data.word_groups", why);
    }
    if (data->letter_groups == SKN_AUTO) {
        data->letter_groups = auto_letter_groups(sample, why);
        skn_reasons_add(reasons, "data.letter_groups", why);
    }
    (void)skn_plan_decide(reasons, "data.term_rows", &data->term_rows, 2,
                          "what is in one row alone is not met again");
    if (data->term_values == SKN_TERM_VALUE_AUTO) {
        data->term_values = SKN_TERM_VALUE_ONE;
        skn_reasons_add(reasons, "data.term_values",
                        "which words there are says enough");
    }
}

skn_status_t
skn_plan_auto_texts(skn_model_t *model, skn_reasons_t *reasons,
                    skn_error_t *error)
{
    skn_model_data_t *data = &model->data;
    const char *separator;
    row_sample_t sample = { 0 };
    skn_records_options_t how = {
        .format = (skn_records_format_t)data->format,
        .text_columns = data->text_column,
        .category_columns = data->category_columns,
        .number_columns = data->number_columns,
        .label_column = data->label_column,
    };
    bool can_be_reread;
    skn_status_t status =
        skn_files_can_be_reread(data->train, &can_be_reread, error);
    if (data->format == SKN_DATA_FORMAT_AUTO && !can_be_reread)
        how.format = SKN_RECORDS_POINTS; /* which are refused when opened */
    if (status == SKN_OK && how.format == SKN_RECORDS_AUTO)
        status = skn_records_recognise(data->train, &how, &how.format, error);
    if (status != SKN_OK)
        return status;
    if (data->format == SKN_DATA_FORMAT_AUTO)
        skn_reasons_add(reasons, "data.format", "the first line looks like it");
    data->format = (skn_data_format_t)how.format;
    if (how.format == SKN_RECORDS_POINTS)
        return SKN_OK;
    status = skn_records_check_files(data->train, &how, error);
    if (status != SKN_OK)
        return status;
    if (strcmp(data->label_separator, "auto") == 0) {
        status =
            skn_records_find_separator(data->train, &how, &separator, error);
        if (status != SKN_OK)
            return status;
        data->label_separator = separator;
        skn_reasons_add(reasons, "data.label_separator",
                        separator[0] ? "its parts are met in other rows"
                                     : "no parts of labels are met again");
    }
    status = look_at_rows(data->train, &how, &sample, error);
    if (status == SKN_OK)
        resolve_features(data, &sample, reasons);
    return status;
}
