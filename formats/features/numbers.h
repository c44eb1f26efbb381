/* numbers.h - turns a number of a row into features: where it lies between the
 * knots of its column.
 *
 * Knots are quantiles of the training data, or all values if there are few.
 * Each is a feature. A number between two knots has both, each the more the
 * nearer it is, and together 1; one beyond the ends has the last knot. So what
 * is learned does not depend on the unit of a column, nor on outliers, and a
 * layer need not be linear in the number (piecewise linear encoding: Gorishniy
 * et al. 2022, "On Embeddings for Numerical Features", section 3.2;
 * docs/concepts/equations.md, (78)). For features*.c only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_FEATURES_NUMBERS_H
#define FORMATS_FEATURES_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKN_COLUMN_KNOTS_MAX 32u

/* Ascending; no knots: the column had no number. */
typedef struct skn_knots {
    uint32_t count;
    double at[SKN_COLUMN_KNOTS_MAX];
} skn_knots_t;

/* Whether they ascend and are finite, and are not too many. */
bool skn_knots_good(const skn_knots_t *knots);
/* The features of a number that is not NaN: *first has the share `share`, the
 * next one the rest, which is 0 at a knot. There are knots. */
void skn_knots_find(const skn_knots_t *knots, double number, uint32_t *first,
                    float *share);

/* A part of the numbers of a column, each as likely to be in it as any other.
 * { 0 } is empty. */
typedef struct skn_number_sample {
    uint64_t seen; /* numbers of the column so far */
    double *value;
    size_t room;
} skn_number_sample_t;
void skn_number_sample_fini(skn_number_sample_t *sample);
/* The sample depends on the order of the numbers alone. NaN and infinite ones
 * are left out. False: no memory. */
bool skn_number_sample_add(skn_number_sample_t *sample, double number);
/* Sorts the sample, and finds the knots. */
void skn_number_sample_knots(skn_number_sample_t *sample, skn_knots_t *knots);

#endif
