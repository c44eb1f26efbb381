/* features_internal.h - the features of a featurizer, and how they are found.
 *
 * For features*.c only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_FEATURES_FEATURES_INTERNAL_H
#define FORMATS_FEATURES_FEATURES_INTERNAL_H

#include "formats/features/features.h"
#include "formats/features/numbers.h"
#include "formats/text/strings.h"

/* Longer words and groups are no features; a longer category has its hash. */
#define SKN_TERM_BYTES_MAX 255u
/* The most knots of all columns. */
#define SKN_ALL_KNOTS_MAX (SKN_FEATURE_COLUMNS_MAX * SKN_COLUMN_KNOTS_MAX)

struct skn_featurizer {
    skn_feature_options_t options;
    uint64_t rows; /* of the training data */
    skn_strings_t terms;
    uint32_t room;       /* how many there will be */
    uint64_t *rows_of;   /* [room] rows with the feature */
    double *idf;         /* [room] 1 without options.idf */
    skn_knots_t *knots;  /* [options.number_count] */
    uint32_t knot_count; /* of all columns: their features follow the terms */
};

/* An empty featurizer with room for `count` features. NULL: no memory. */
skn_featurizer_t *skn_featurizer_make(const skn_feature_options_t *options,
                                      uint64_t rows, uint32_t count);
/* Adds the knots of column k. */
void skn_featurizer_set_knots(skn_featurizer_t *featurizer, uint32_t k,
                              const skn_knots_t *knots);
/* The inverse document frequency of a feature in `rows` rows, which need not be
 * a whole number as knots share the rows of their column; 1 without
 * options.idf. */
double skn_featurizer_idf(const skn_featurizer_t *featurizer, double rows);
/* Adds the next feature. False: no memory. */
bool skn_featurizer_add(skn_featurizer_t *featurizer, const char *term,
                        size_t bytes, uint64_t rows);

#endif
