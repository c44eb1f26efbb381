/* nearest.h - finds the valid name nearest to a wrong one, to suggest it.
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
    const char *best; /* NULL: no name is near enough to be meant */
    size_t distance;  /* distance of `best` */
} skn_nearest_t;

/* Keeps `candidate` if it is nearer than all before. Only the pointer is
 * kept. */
void skn_nearest_offer(skn_nearest_t *nearest, const char *candidate);

/* The number of letters to change, insert, delete, or swap with their neighbour
 * to turn `a` into `b`; case does not matter. Names longer than SKN_NAME_MAX
 * are SIZE_MAX apart. */
size_t skn_nearest_distance(const char *a, const char *b);

#endif
