/* xmc_point.h - the types of the XMC text format: lines and points.
 *
 * It also declares the likely mistakes of a file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_DATASET_XMC_POINT_H
#define FORMATS_DATASET_XMC_POINT_H

#include <stddef.h>
#include <stdint.h>

/* One point, in memory that grows and is reused for the next line. */
typedef struct skn_xmc_point {
    uint32_t *label;   /* [label_count], ascending */
    uint32_t *feature; /* [feature_count], ascending */
    float *value;      /* [feature_count], finite */
    size_t label_count, feature_count;
    /* Left out, if `unknown_ignored`; the first is at this column. */
    uint32_t unknown_labels, unknown_features;
    size_t unknown_column;
    uint64_t *key; /* scratch for sorting, [room_count] like the others */
    size_t room_count;
} skn_xmc_point_t;

/* A line without its line end, and its position. */
typedef struct skn_xmc_line {
    const char *text; /* need not end with a NUL */
    size_t bytes;
    const char *file;
    uint64_t number; /* counted from 1 */
} skn_xmc_line_t;

/* A likely mistake in a file without a header, or of texts. */
typedef enum skn_xmc_oddity {
    SKN_XMC_NOTHING_ODD,
    SKN_XMC_ODD_COUNTS, /* counts as in a header, read as a point */
    SKN_XMC_ODD_LABEL,  /* the greatest one, alone and far beyond the others */
    SKN_XMC_ODD_FEATURE,
    SKN_XMC_ODD_BYTES /* `greatest` rows are not UTF-8; the first */
} skn_xmc_oddity_t;

typedef struct skn_xmc_odd {
    skn_xmc_oddity_t what;
    uint64_t line;           /* its line */
    uint32_t greatest, next; /* index, and the greatest of all other lines */
} skn_xmc_odd_t;

#endif
