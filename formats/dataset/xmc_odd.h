/* xmc_odd.h - notices what a file without a header may say by mistake; for
 * xmc.c only.
 *
 * A line of counts becomes a point where it is not exactly a header, or where
 * it is the header of another file behind this one; and one stray index makes a
 * model of millions of rows. Neither can be refused: both may be meant. So the
 * reader keeps, at the price of some comparisons a point, what is needed to say
 * so afterwards.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_DATASET_XMC_ODD_H
#define FORMATS_DATASET_XMC_ODD_H

#include <stdbool.h>

#include "formats/dataset/xmc_point.h"

/* The greatest index of a line, the line, and that of all other lines; indices
 * here are one more than in the file, and 0 is none. */
typedef struct skn_xmc_peak {
    uint32_t greatest, next;
    uint64_t line;
} skn_xmc_peak_t;

/* Numbers of a first line that is looked at: a header has three. */
#define SKN_XMC_COUNTS_MAX 8u

typedef struct skn_xmc_watch {
    skn_xmc_peak_t label, feature;
    uint64_t first_line;                 /* of the first point */
    uint64_t number[SKN_XMC_COUNTS_MAX]; /* in it, if there is nothing else */
    size_t number_count;                 /* 0: there is something else */
    bool valued;                         /* some other line has a value */
    uint64_t bare_line, bare_count; /* the first of three numbers; how many */
} skn_xmc_watch_t;

/* The line of each point, and the point, in their order. */
void skn_xmc_watch_point(skn_xmc_watch_t *watch, const skn_xmc_line_t *line,
                         const skn_xmc_point_t *point);
/* What to say of a file of `point_count` points. */
skn_xmc_odd_t skn_xmc_watch_end(const skn_xmc_watch_t *watch,
                                uint64_t point_count);

#endif
