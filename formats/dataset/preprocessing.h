/* preprocessing.h - how the rows of a user's file become points: its format,
 * its columns, and what is a feature.
 *
 * It travels as text, one JSON object on one line, in options of actors and in
 * caches. Files of numbered features (xmc.h) need none.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_DATASET_PREPROCESSING_H
#define FORMATS_DATASET_PREPROCESSING_H

#include "formats/features/features.h"
#include "formats/records/records.h"
#include "formats/text/json_record.h"

#define SKN_PREPROCESSING_FIELDS(F, L, R)                                      \
    F(R, TEXT, format, ALWAYS, "a word of skn_records_names")                  \
    F(R, TEXT, texts, MAYBE, "columns of text, separated by commas")           \
    F(R, TEXT, categories, MAYBE, "columns, as texts")                         \
    F(R, TEXT, numbers, MAYBE, "columns, as texts")                            \
    F(R, TEXT, labels, MAYBE, "column of labels")                              \
    F(R, TEXT, separator, MAYBE, "between the labels of a column")             \
    F(R, REAL, bad_rows, MAYBE, "share of rows that may be unreadable")        \
    F(R, U64, words, ALWAYS, "most words of a group")                          \
    F(R, U64, letters_min, MAYBE, "fewest letters of a group")                 \
    F(R, U64, letters_max, MAYBE, "most letters of a group; 0: no groups")     \
    F(R, U64, rows_min, ALWAYS, "rows that have a feature, at least")          \
    F(R, U64, features_max, ALWAYS, "most features")                           \
    F(R, TEXT, weight, ALWAYS, "a word of skn_feature_weight_names")           \
    F(R, FLAG, idf, MAYBE, "values count rare features more")
SKN_JSON_STRUCT(skn_preprocessing, SKN_PREPROCESSING_FIELDS)

/* Its text, for free(). NULL: no memory, or a text in it is not UTF-8. */
char *skn_preprocessing_write(const skn_preprocessing_t *preprocessing);
/* Reads the text. The texts in it belong to *owner; release that with
 * json_decref. SKN_BAD_CONFIG. */
skn_status_t skn_preprocessing_read(const char *text,
                                    skn_preprocessing_t *preprocessing,
                                    json_t **owner, skn_error_t *error);

/* The options for reading the file, and those for its features. The first
 * borrows the texts. */
skn_records_options_t skn_preprocessing_rows(
    const skn_preprocessing_t *preprocessing);
/* The same for another file than that which was trained on, whose format may be
 * another. Without labels, lines of text are a format, too. */
void skn_preprocessing_any_format(skn_records_options_t *rows,
                                  bool labels_optional);
skn_feature_options_t skn_preprocessing_features(
    const skn_preprocessing_t *preprocessing);

/* How many columns a list of names has. */
static inline size_t
skn_columns_count(const char *names)
{
    size_t count = 0;
    skn_span_t name;
    while (skn_columns_next(&names, &name))
        count++;
    return count;
}

/* The fields of a row, as a featurizer takes them. */
static inline skn_feature_fields_t
skn_record_fields(const skn_records_row_t *record)
{
    return (skn_feature_fields_t){ record->text, record->text_count,
                                   record->has_columns };
}

#endif
