/* xmc_odd.h - detects likely mistakes in a data file without a header.
 *
 * For xmc.c only. A line of counts becomes a point if it is not exactly a
 * header, or if it is the header of another file that was appended; and one
 * stray index makes a model of millions of rows. Neither can be refused: both
 * may be intended. So the reader keeps, for a few comparisons a point, the
 * facts that are needed to report them afterwards.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_DATASET_XMC_ODD_H
#define FORMATS_DATASET_XMC_ODD_H

#include <stdbool.h>

#include "formats/dataset/xmc_point.h"

/* The greatest index of a line, the line, and the greatest of all other lines;
 * indices here are one more than in the file, and 0 is none. */
typedef struct skn_xmc_peak {
    uint32_t greatest, next;
    uint64_t line;
} skn_xmc_peak_t;

/* Numbers of a first line that are examined: a header has three. */
#define SKN_XMC_COUNTS_MAX 8u

typedef struct skn_xmc_watch {
    skn_xmc_peak_t label, feature;
    uint64_t first_line;                 /* of the first point */
    uint64_t number[SKN_XMC_COUNTS_MAX]; /* its numbers, if nothing else */
    size_t number_count;                 /* 0: it has something else */
    bool valued;                         /* another line has a value */
    uint64_t bare_line,
        bare_count; /* lines of three numbers: first, how many */
} skn_xmc_watch_t;

/* Records a point and its line, in their order. */
void skn_xmc_watch_point(skn_xmc_watch_t *watch, const skn_xmc_line_t *line,
                         const skn_xmc_point_t *point);
/* The likely mistake in a file of `point_count` points. */
skn_xmc_odd_t skn_xmc_watch_end(const skn_xmc_watch_t *watch,
                                uint64_t point_count);

#endif
