/* shortlist.h - an index of a layer's rows for finding the greatest logits
 * without computing all of them.
 *
 * An inverted file: rows are divided into lists around centroids (k-means), and
 * a point searches only the lists with the greatest products of point and
 * centroid. A row w is placed as (w, sqrt(M^2 - |w|^2)), M the greatest norm,
 * so that the nearest row is the one with the greatest product (Bachrach et
 * al., "Speeding Up the Xbox Recommender System Using a Euclidean
 * Transformation for Inner-Product Spaces", RecSys 2014, section 3.2).
 *
 * One thread builds it; any number of threads search it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PREDICT_SHORTLIST_H
#define ACTORS_PREDICT_SHORTLIST_H

#include "actors/rows/rows.h"

/* Most lists that a point may search. */
#define SKN_PROBES_MAX 128u
typedef struct skn_shortlist {
    uint32_t list_count, probes; /* 0 lists: no index */
    size_t width, stride;        /* a row with its bias; a centroid */
    float *centroid;             /* [list_count][stride], the last is 0 */
    uint32_t *offset;            /* [list_count + 1] */
    uint32_t *unit;              /* [rows], ascending in each list */
} skn_shortlist_t;

/* The numbers of lists and probes for `rows`: 4 sqrt(rows), and a twentieth of
 * them. */
uint32_t skn_shortlist_lists(uint32_t row_count);
uint32_t skn_shortlist_probes(uint32_t list_count);

/* Divides the rows into `list_count` lists, at least 1 and at most as many as
 * rows, of which a point searches `probes`. The same rows give the same lists.
 * Takes about lists * rows * width * 10 multiplications. Freed by
 * skn_shortlist_fini, also after a failure. SKN_NO_MEMORY. */
skn_status_t skn_shortlist_build(skn_shortlist_t *shortlist,
                                 const skn_kernels_t *kernels,
                                 const skn_rows_t *rows, uint32_t list_count,
                                 uint32_t probes, skn_error_t *error);
void skn_shortlist_fini(skn_shortlist_t *shortlist);

/* Assigns `count` points to the lists that they search: list l gets the points
 * point[offset[l]] to point[offset[l + 1] - 1], ascending. `promise` are the
 * products of points and centroids, [count][list_count]; `offset` has room for
 * list_count + 1, `point` for count * probes. */
void skn_shortlist_route(const skn_shortlist_t *shortlist,
                         const skn_kernels_t *kernels, const float *promise,
                         size_t count, uint32_t *offset, uint32_t *point);

#endif
