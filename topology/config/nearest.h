/* nearest.h - "did you mean ...?": the valid name nearest to a wrong one.
 *
 *     skn_nearest_t nearest = { .wanted = "batch_row" };
 *     for each valid name: skn_nearest_offer(&nearest, name);
 *     if (nearest.best) ... "did you mean '%s'?", nearest.best
 * No allocation; one thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CONFIG_NEAREST_H
#define TOPOLOGY_CONFIG_NEAREST_H

#include <stddef.h>

typedef struct skn_nearest {
    const char *wanted;
    const char *best; /* NULL: nothing is near enough to be meant */
    size_t distance;  /* of `best` */
} skn_nearest_t;

/* Takes `candidate` if it is nearer than what was offered before. The pointer
 * is kept. */
void skn_nearest_offer(skn_nearest_t *nearest, const char *candidate);

/* How many letters must be changed, put in, left out, or swapped with their
 * neighbour to make `b` of `a`; capitals do not matter. Names longer than
 * SKN_NAME_MAX are SIZE_MAX apart. */
size_t skn_nearest_distance(const char *a, const char *b);

#endif
