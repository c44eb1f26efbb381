/* features_internal.h - the features of a featurizer, and how they are found.
 *
 * For features*.c only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_FEATURES_FEATURES_INTERNAL_H
#define FORMATS_FEATURES_FEATURES_INTERNAL_H

#include "formats/features/features.h"
#include "formats/text/strings.h"

/* Longer terms are no features. */
#define SKN_TERM_BYTES_MAX 255u

struct skn_featurizer {
    skn_feature_options_t options;
    uint64_t rows; /* of the training data */
    skn_strings_t terms;
    uint32_t room;     /* how many there will be */
    uint64_t *rows_of; /* [room] rows with the feature */
    double *idf;       /* [room] 1 without options.idf */
};

/* An empty featurizer with room for `count` features. NULL: no memory. */
skn_featurizer_t *skn_featurizer_make(const skn_feature_options_t *options,
                                      uint64_t rows, uint32_t count);
/* Adds the next feature. False: no memory. */
bool skn_featurizer_add(skn_featurizer_t *featurizer, const char *term,
                        size_t bytes, uint64_t rows);

#endif
