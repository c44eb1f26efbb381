/* pairs.c - sorts the features of one point, adds up repeated ones.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/pairs.h"

#include <stdlib.h>
#include <string.h>

static int
by_number(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Index and value are packed into one 64-bit key. Equal indices are therefore
 * in the order of their values' bits, which makes their sum independent of the
 * input order. */
void
skn_pairs_sort(uint32_t *index, float *value, uint64_t *key, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        uint32_t bits = 0;
        if (value)
            memcpy(&bits, value + k, sizeof(bits));
        key[k] = (uint64_t)index[k] << 32 | bits;
    }
    qsort(key, count, sizeof(*key), by_number);
    for (size_t k = 0; k < count; k++) {
        uint32_t bits = (uint32_t)key[k];
        index[k] = (uint32_t)(key[k] >> 32);
        if (value)
            memcpy(value + k, &bits, sizeof(bits));
    }
}

/* In double: a sum of floats that fits a float does not overflow midway. */
size_t
skn_pairs_add(uint32_t *index, float *value, size_t count)
{
    size_t kept = 0;
    for (size_t k = 0; k < count;) {
        uint32_t at = index[k];
        double sum = (double)value[k++];
        while (k < count && index[k] == at)
            sum += (double)value[k++];
        index[kept] = at;
        value[kept++] = (float)sum;
    }
    return kept;
}
