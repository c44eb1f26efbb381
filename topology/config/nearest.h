/* nearest.h - finds the valid name nearest to a wrong one, to suggest it.
 *
 *     skn_nearest_t nearest = { .wanted = "batch_row" };
 *     for each valid name: skn_nearest_offer(&nearest, name);
 *     if (nearest.best) ... "did you mean '%s'?", nearest.best
 * No allocation; one thread at a time. Inline functions, so that the command,
 * which offers its verbs and options, takes them from no library. Distance:
 * Damerau 1964, as the restricted edit distance ("optimal string alignment") by
 * the table of Wagner & Fischer 1974, three rows of it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CONFIG_NEAREST_H
#define TOPOLOGY_CONFIG_NEAREST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "formats/text/text.h"
#include "skein/limits.h"

typedef struct skn_nearest {
    const char *wanted;
    const char *best; /* NULL: no name is near enough to be meant */
    size_t distance;  /* distance of `best` */
} skn_nearest_t;

static inline size_t
skn_nearest_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The number of letters to change, insert, delete, or swap with their neighbour
 * to turn `a` into `b`; case does not matter. Names longer than SKN_NAME_MAX
 * are SIZE_MAX apart. */
static inline size_t
skn_nearest_distance(const char *a, const char *b)
{
    size_t rows = strlen(a), columns = strlen(b);
    size_t table[3][SKN_NAME_MAX + 1];
    if (rows > SKN_NAME_MAX || columns > SKN_NAME_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= columns; j++)
        table[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        size_t *row = table[i % 3];
        const size_t *above = table[(i + 2) % 3];
        const size_t *two_above = table[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t change =
                skn_text_lower(a[i - 1]) != skn_text_lower(b[j - 1]) ? 1 : 0;
            row[j] =
                skn_nearest_least(above[j - 1] + change,
                                  skn_nearest_least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 &&
                skn_text_lower(a[i - 1]) == skn_text_lower(b[j - 2]) &&
                skn_text_lower(a[i - 2]) == skn_text_lower(b[j - 1]))
                row[j] = skn_nearest_least(row[j], two_above[j - 2] + 1);
        }
    }
    return table[rows % 3][columns];
}

/* One letter in three may be wrong, and at least one: "rate" is not "kind". */
static inline size_t
skn_nearest_greatest(const char *wanted)
{
    size_t length = strlen(wanted);
    return length < 6 ? 1 : length / 3;
}

/* Keeps `candidate` if it is nearer than all before. Only the pointer is
 * kept. */
static inline void
skn_nearest_offer(skn_nearest_t *nearest, const char *candidate)
{
    size_t distance = skn_nearest_distance(nearest->wanted, candidate);
    if (distance > skn_nearest_greatest(nearest->wanted) ||
        distance >= strlen(nearest->wanted))
        return;
    if (!nearest->best || distance < nearest->distance) {
        nearest->best = candidate;
        nearest->distance = distance;
    }
}

#endif
