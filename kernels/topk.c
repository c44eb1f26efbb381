/* topk.c - keeps the k best of a stream in a short sorted list.
 *
 * Long rows are compared with the worst kept value by the `above` kernel; few
 * are greater once the list is full.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topk.h"

#include <assert.h>
#include <math.h>

/* Positions examined before the threshold is raised: their list is 4 KiB of
 * stack. A list that has just been filled has a low threshold: it is raised
 * after a few positions, then after twice as many, and so on. Otherwise most of
 * the first thousand would be offered one by one. */
#define SCAN_FIRST ((size_t)64) /* four vectors of the widest */
#define SCAN_MAX ((size_t)1024)

void
skn_topk_init(skn_topk_t *topk, uint32_t k)
{
    assert(k >= 1 && k <= SKN_TOPK_MAX);
    topk->k = k;
    topk->count = 0;
}

/* Whether (value, id) is better than the entry at `place`. */
static bool
better(const skn_topk_t *topk, uint32_t place, float value, uint32_t id)
{
    return value > topk->value[place] ||
           (value == topk->value[place] && id < topk->id[place]);
}

void
skn_topk_offer(skn_topk_t *topk, float value, uint32_t id)
{
    uint32_t place = topk->count;
    if (isnan(value))
        return;
    if (topk->count == topk->k) {
        if (!better(topk, topk->k - 1, value, id))
            return;
        place--;
    } else {
        topk->count++;
    }
    for (; place > 0 && better(topk, place - 1, value, id); place--) {
        topk->value[place] = topk->value[place - 1];
        topk->id[place] = topk->id[place - 1];
    }
    topk->value[place] = value;
    topk->id[place] = id;
}

/* `above` selects greater values, but an equal value with a lower id must be
 * selected too: the threshold is the number just below the worst kept one. */
static float
threshold(const skn_topk_t *topk)
{
    return nextafterf(topk->value[topk->k - 1], -INFINITY);
}

void
skn_topk_scan(skn_topk_t *topk, const skn_kernels_t *kernels, const float *x,
              size_t n, const uint32_t *id, uint32_t first_id)
{
    uint32_t index[SCAN_MAX];
    size_t i = 0, length = SCAN_MAX;
    /* -INFINITY has no number below it: while it is kept, offer all. */
    for (; i < n &&
           (topk->count < topk->k || topk->value[topk->k - 1] == -INFINITY);
         i++) {
        skn_topk_offer(topk, x[i], id ? id[i] : first_id + (uint32_t)i);
        length = topk->k < SCAN_FIRST ? SCAN_FIRST : topk->k;
    }
    while (i < n) {
        if (length > n - i)
            length = n - i;
        size_t count = kernels->above(x + i, length, threshold(topk), index);
        for (size_t j = 0; j < count; j++) {
            size_t place = i + index[j];
            skn_topk_offer(topk, x[place],
                           id ? id[place] : first_id + (uint32_t)place);
        }
        i += length;
        length = 2 * length < SCAN_MAX ? 2 * length : SCAN_MAX;
    }
}
