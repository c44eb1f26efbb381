/* numbers.c - finds the knots of a column of numbers, and a number's place
 * between them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/features/numbers.h"

#include <math.h>
#include <stdlib.h>

#include <xxhash.h>

#include "formats/text/grow.h"

/* So many numbers place the median of a column within 1% of its rows. */
#define SAMPLE_MAX 16384u

bool
skn_knots_good(const skn_knots_t *knots)
{
    if (knots->count > SKN_COLUMN_KNOTS_MAX)
        return false;
    for (uint32_t k = 0; k < knots->count; k++)
        if (!isfinite(knots->at[k]) ||
            (k > 0 && knots->at[k] <= knots->at[k - 1]))
            return false;
    return true;
}

void
skn_knots_find(const skn_knots_t *knots, double number, uint32_t *first,
               float *share)
{
    uint32_t from = 0, to = knots->count - 1;
    *share = 1;
    if (number <= knots->at[0] || number >= knots->at[to]) {
        *first = number <= knots->at[0] ? 0 : to;
        return;
    }
    while (to - from > 1) {
        uint32_t half = from + (to - from) / 2;
        if (knots->at[half] <= number)
            from = half;
        else
            to = half;
    }
    *first = from;
    double part = knots->at[to] - number,
           whole = knots->at[to] - knots->at[from];
    if (!isfinite(whole)) { /* the distance of two that are finite */
        part = knots->at[to] / 2 - number / 2;
        whole = knots->at[to] / 2 - knots->at[from] / 2;
    }
    *share = (float)(part / whole);
}

/* --- learning ------------------------------------------------------------- */

void
skn_number_sample_fini(skn_number_sample_t *sample)
{
    free(sample->value);
    *sample = (skn_number_sample_t){ 0 };
}

/* Vitter 1985, "Random sampling with a reservoir", algorithm R; the hash of
 * how many numbers there were is the random number. */
bool
skn_number_sample_add(skn_number_sample_t *sample, double number)
{
    if (!isfinite(number))
        return true;
    uint64_t place = sample->seen;
    if (place >= SAMPLE_MAX)
        place = XXH3_64bits(&sample->seen, sizeof(sample->seen)) %
                (sample->seen + 1);
    if (place < SAMPLE_MAX) {
        void *value = sample->value;
        if (!skn_grow(&value, &sample->room, (size_t)place + 1,
                      sizeof(*sample->value)))
            return false;
        sample->value = value;
        sample->value[place] = number;
    }
    sample->seen++;
    return true;
}

static int
by_value(const void *left, const void *right)
{
    double one = *(const double *)left, other = *(const double *)right;
    return one < other ? -1 : one > other;
}

static void
add_knot(skn_knots_t *knots, double value)
{
    if (knots->count == 0 || value > knots->at[knots->count - 1])
        knots->at[knots->count++] = value;
}

void
skn_number_sample_knots(skn_number_sample_t *sample, skn_knots_t *knots)
{
    size_t count =
        (size_t)(sample->seen < SAMPLE_MAX ? sample->seen : SAMPLE_MAX);
    size_t different = 0;
    knots->count = 0;
    if (count == 0)
        return;
    qsort(sample->value, count, sizeof(*sample->value), by_value);
    for (size_t k = 0; k < count; k++)
        different += k == 0 || sample->value[k] > sample->value[k - 1];
    if (different <= SKN_COLUMN_KNOTS_MAX)
        for (size_t k = 0; k < count; k++)
            add_knot(knots, sample->value[k]);
    else
        for (size_t k = 0; k < SKN_COLUMN_KNOTS_MAX; k++)
            add_knot(
                knots,
                sample->value[k * (count - 1) / (SKN_COLUMN_KNOTS_MAX - 1)]);
}
