/* plan_auto_texts.c - resolves `auto` for what a file of data is, and for the
 * features of its texts, each with its reason. Declared in plan_auto.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan/plan_auto.h"

#include <string.h>

#include "formats/dataset/preprocessing.h"
#include "formats/features/words.h"
#include "formats/records/records.h"
#include "formats/source/files.h"
#include "topology/plan/traits.h"

/* From this many words on, a text says enough without parts of its words
 * (decision 0038). */
#define LONG_TEXT_WORDS 16

/* Rows at the start of the file, SKN_FEW_POINTS at most, and the words of their
 * texts. */
typedef struct row_sample {
    uint64_t rows, words;
} row_sample_t;

/* Adds a row. False: no memory. */
static bool
add_row(row_sample_t *sample, skn_words_t *words, const skn_records_row_t *row,
        size_t columns)
{
    const size_t texts = row->text_count - (row->has_columns ? columns : 0);
    sample->rows++;
    for (size_t k = 0; k < texts; k++) {
        skn_words_clear(words);
        if (!skn_words_add(words, row->text[k].at, row->text[k].bytes))
            return false;
        sample->words += words->count;
    }
    return true;
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
    return status;
}

/* A table without texts has none that are short. */
static bool
is_short(const row_sample_t *sample)
{
    return sample->words > 0 && sample->words < LONG_TEXT_WORDS * sample->rows;
}

/* "texts have 6.3 words, fewer than 16" */
static void
why_words(skn_why_t why, const row_sample_t *sample)
{
    if (sample->words == 0)
        skn_why(why, "there are no texts");
    else
        skn_why(why, "texts have %.1f words, %s",
                (double)sample->words / (double)sample->rows,
                is_short(sample) ? "fewer than 16" : "16 or more");
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
    return is_short(sample) ? 3 : 0;
}

/* The rare terms of a short text, and rare categories, say most; a long text
 * has many of them. */
static skn_term_value_t
auto_term_values(const row_sample_t *sample, skn_why_t why)
{
    why_words(why, sample);
    return is_short(sample) || sample->words == 0 ? SKN_TERM_VALUE_ONE_IDF
                                                  : SKN_TERM_VALUE_ONE;
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
        data->term_values = auto_term_values(sample, why);
        skn_reasons_add(reasons, "data.term_values", why);
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
