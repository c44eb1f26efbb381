/* preprocessing.c - writes and reads what becomes of rows of texts, with checks
 * of every word and number.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/preprocessing.h"

#include <string.h>

#include "formats/text/json_text.h"

SKN_JSON_RECORD(skn_preprocessing, "preprocessing", SKN_PREPROCESSING_FIELDS)

char *
skn_preprocessing_write(const skn_preprocessing_t *preprocessing)
{
    json_t *object =
        skn_json_record_write(&skn_preprocessing_record, preprocessing);
    char *text = object ? skn_json_write(object, JSON_COMPACT) : NULL;
    json_decref(object);
    return text;
}

/* The number of a word among `count` names; `count`: it is none of them. */
static size_t
find_word(const char *const *names, size_t count, const char *word)
{
    size_t k = 0;
    while (k < count && strcmp(names[k], word) != 0)
        k++;
    return k;
}

static bool
is_good(const skn_preprocessing_t *preprocessing)
{
    const skn_feature_options_t features =
        skn_preprocessing_features(preprocessing);
    return find_word(skn_records_names, SKN_RECORDS_FORMAT_COUNT,
                     preprocessing->format) < SKN_RECORDS_FORMAT_COUNT &&
           preprocessing->bad_rows >= 0 && preprocessing->bad_rows <= 1 &&
           skn_feature_options_good(&features);
}

skn_status_t
skn_preprocessing_read(const char *text, skn_preprocessing_t *preprocessing,
                       json_t **owner, skn_error_t *error)
{
    *owner = skn_json_object_parse("preprocessing", text, strlen(text), error);
    if (!*owner)
        return SKN_BAD_CONFIG;
    skn_status_t status = skn_json_record_read(&skn_preprocessing_record,
                                               *owner, preprocessing, error);
    if (status == SKN_OK && is_good(preprocessing))
        return SKN_OK;
    json_decref(*owner);
    *owner = NULL;
    return status != SKN_OK
               ? status
               : skn_fail(error, SKN_BAD_CONFIG,
                          "the preprocessing of the data is not valid: %.300s",
                          text);
}

skn_records_options_t
skn_preprocessing_rows(const skn_preprocessing_t *preprocessing)
{
    return (skn_records_options_t){
        .format = (skn_records_format_t)find_word(
            skn_records_names, SKN_RECORDS_FORMAT_COUNT, preprocessing->format),
        .text_columns = preprocessing->texts,
        .category_columns = preprocessing->categories,
        .number_columns = preprocessing->numbers,
        .label_column = preprocessing->labels,
        .label_separator = preprocessing->separator,
    };
}

void
skn_preprocessing_any_format(skn_records_options_t *rows, bool labels_optional)
{
    if (labels_optional || rows->format == SKN_RECORDS_FASTTEXT)
        rows->otherwise = SKN_RECORDS_FASTTEXT;
    rows->labels_optional = labels_optional;
    rows->format = SKN_RECORDS_AUTO;
}

/* A number that no option can have, in place of one that does not fit. */
static uint32_t
u32_of(uint64_t number)
{
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

skn_feature_options_t
skn_preprocessing_features(const skn_preprocessing_t *preprocessing)
{
    return (skn_feature_options_t){
        .words_max = u32_of(preprocessing->words),
        .letters_min = u32_of(preprocessing->letters_min),
        .letters_max = u32_of(preprocessing->letters_max),
        .rows_min = u32_of(preprocessing->rows_min),
        .features_max = u32_of(preprocessing->features_max),
        .weight = (skn_feature_weight_t)find_word(skn_feature_weight_names,
                                                  SKN_FEATURE_WEIGHT_COUNT,
                                                  preprocessing->weight),
        .idf = preprocessing->idf,
        .category_count = u32_of(skn_columns_count(preprocessing->categories)),
        .number_count = u32_of(skn_columns_count(preprocessing->numbers)),
    };
}
