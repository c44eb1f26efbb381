/* nearest.c - finds the valid name nearest to a wrong one, to suggest it.
 *
 * Distance: Damerau 1964, as the restricted edit distance ("optimal string
 * alignment") by the table of Wagner & Fischer 1974, three rows of it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/config/nearest.h"

#include <stdint.h>
#include <string.h>

#include "formats/text/text.h"
#include "skein/limits.h"

static size_t
least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t
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
                least(above[j - 1] + change, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 &&
                skn_text_lower(a[i - 1]) == skn_text_lower(b[j - 2]) &&
                skn_text_lower(a[i - 2]) == skn_text_lower(b[j - 1]))
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return table[rows % 3][columns];
}

/* One letter in three may be wrong, and at least one: "rate" is not "kind". */
static size_t
greatest_distance(const char *wanted)
{
    size_t length = strlen(wanted);
    return length < 6 ? 1 : length / 3;
}

void
skn_nearest_offer(skn_nearest_t *nearest, const char *candidate)
{
    size_t distance = skn_nearest_distance(nearest->wanted, candidate);
    if (distance > greatest_distance(nearest->wanted) ||
        distance >= strlen(nearest->wanted))
        return;
    if (!nearest->best || distance < nearest->distance) {
        nearest->best = candidate;
        nearest->distance = distance;
    }
}
