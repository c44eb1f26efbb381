/* features.h - turns texts into points: which words are features, and what
 * their values are.
 *
 * A featurizer is learned from all texts of the training data, and is then part
 * of the model: the same text gives the same point wherever it is used. Its
 * features are groups of consecutive words (words.h) and of consecutive
 * characters within a word, and the values of columns of categories, those that
 * are in the most rows first; and behind them the knots of columns of numbers
 * (numbers.h).
 *
 *     skn_feature_counts_t *counts = skn_feature_counts_new(&options, room);
 *     for each row: skn_feature_counts_add(counts, &fields, &error);
 *     skn_featurizer_t *featurizer = skn_feature_counts_take(counts, &error);
 *
 * The value of a feature is w(n) * idf: n is how often the row has it, w one of
 * skn_feature_weight_t, idf either 1 or ln((1 + rows) / (1 + rows that have
 * it)) + 1, as scikit-learn's TfidfTransformer has it with smooth_idf. A knot's
 * value is its share times idf, as if all knots of its column were in as many
 * rows.
 *
 * The file form is text: a line
 *
 *     skein-features 2 WORDS LETTERS-LETTERS WEIGHT IDF CATEGORIES NUMBERS
 *     ROWS COUNT HASH
 *
 * (one line), a line "KNOT KNOT..." for each column of numbers, and then a
 * line "ROWS TERM" for each of COUNT terms. A group of letters has a '*' in
 * front, a category "=K=", where K is its column, from 0. HASH is XXH3, 64
 * bits, of all lines after the first, in 16 hex digits.
 *
 * A featurizer never changes: any number of threads may use it, each with
 * scratch of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_FEATURES_FEATURES_H
#define FORMATS_FEATURES_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/features/words.h"
#include "formats/text/span.h"
#include "skein/error.h"

/* Beyond these, groups are seldom met again. */
#define SKN_FEATURE_WORDS_MAX 5u
#define SKN_FEATURE_LETTERS_MAX 8u
/* The most columns of categories, and of numbers. */
#define SKN_FEATURE_COLUMNS_MAX 128u

typedef enum skn_feature_weight {
    SKN_FEATURE_ONE,   /* 1 */
    SKN_FEATURE_COUNT, /* n */
    SKN_FEATURE_LOG,   /* 1 + ln n */
    SKN_FEATURE_WEIGHT_COUNT
} skn_feature_weight_t;
/* "one", "count", "log". */
extern const char *const skn_feature_weight_names[SKN_FEATURE_WEIGHT_COUNT];

typedef struct skn_feature_options {
    uint32_t words_max; /* of a group of words, 1 to SKN_FEATURE_WORDS_MAX */
    /* Characters of a group within a word, 2 to SKN_FEATURE_LETTERS_MAX; both
     * 0: there are none. */
    uint32_t letters_min, letters_max;
    uint32_t rows_min; /* a feature is in at least so many rows; at least 1 */
    uint32_t features_max; /* at most so many features, the most frequent */
    skn_feature_weight_t weight;
    bool idf;
    uint32_t category_count,
        number_count; /* columns, SKN_FEATURE_COLUMNS_MAX */
} skn_feature_options_t;

/* The fields of a row: texts, and behind them, if `has_columns`, a text for
 * each column of categories and then for each of numbers. One that is blank is
 * missing, as is what is no number. */
typedef struct skn_feature_fields {
    const skn_span_t *text;
    size_t count; /* of texts and columns */
    bool has_columns;
} skn_feature_fields_t;

/* The features of a row, ascending, in memory that grows and is used again. {
 * 0 } is empty. */
typedef struct skn_feature_row {
    uint32_t *feature; /* [2 * room]; the second half is scratch */
    float *value;
    size_t count, room;
    skn_words_t words; /* scratch */
} skn_feature_row_t;
void skn_feature_row_fini(skn_feature_row_t *row);

/* Whether every option is in its range. */
bool skn_feature_options_good(const skn_feature_options_t *options);

typedef struct skn_featurizer skn_featurizer_t;
typedef struct skn_feature_counts skn_feature_counts_t;

/* Begins to learn. `room` is the number of different terms that are counted at
 * once. NULL: no memory. */
skn_feature_counts_t *skn_feature_counts_new(
    const skn_feature_options_t *options, size_t room);
/* Frees, sets *counts to NULL. *counts may be NULL already. */
void skn_feature_counts_destroy(skn_feature_counts_t **counts);
/* Counts the terms of a row, and keeps its numbers. SKN_NO_MEMORY. */
skn_status_t skn_feature_counts_add(skn_feature_counts_t *counts,
                                    const skn_feature_fields_t *fields,
                                    skn_error_t *error);
/* Adds the rows that `part` has counted, which follow those of `counts`, and
 * empties it. SKN_NO_MEMORY. */
skn_status_t skn_feature_counts_merge(skn_feature_counts_t *counts,
                                      skn_feature_counts_t *part,
                                      skn_error_t *error);
/* Makes a featurizer of what was counted, and leaves the counts to be
 * destroyed. NULL: SKN_NO_MEMORY. */
skn_featurizer_t *skn_feature_counts_take(skn_feature_counts_t *counts,
                                          skn_error_t *error);

/* Frees, sets *featurizer to NULL. *featurizer may be NULL already. */
void skn_featurizer_destroy(skn_featurizer_t **featurizer);
uint32_t skn_featurizer_count(const skn_featurizer_t *featurizer);
const skn_feature_options_t *skn_featurizer_options(
    const skn_featurizer_t *featurizer);
/* The term of a feature, such as "two words"; "" for a knot. */
const char *skn_featurizer_term(const skn_featurizer_t *featurizer,
                                uint32_t feature, size_t *bytes);

/* The sum over the training data of the feature's squared values, before a
 * point is scaled, if each row has it once; for a knot, as if all knots of its
 * column had as much. */
double skn_featurizer_mass(const skn_featurizer_t *featurizer,
                           uint32_t feature);

/* Replaces the row by the features of the fields. Terms that are not known are
 * left out. SKN_NO_MEMORY. */
skn_status_t skn_featurizer_apply(const skn_featurizer_t *featurizer,
                                  const skn_feature_fields_t *fields,
                                  skn_feature_row_t *row, skn_error_t *error);

/* The file form, for free(), with a NUL that *bytes leaves out. NULL: no
 * memory. */
char *skn_featurizer_write(const skn_featurizer_t *featurizer, size_t *bytes);
/* Reads a file form of `bytes` bytes; `name` is the file in sentences. NULL:
 * SKN_BAD_DATA, SKN_NO_MEMORY. */
skn_featurizer_t *skn_featurizer_read(const char *name, const char *text,
                                      size_t bytes, skn_error_t *error);

#endif
