/* topk.h - keeps the k best of a stream of numbered values.
 *
 * The greater value is better; of equal values the lower id. So the result
 * depends only on the values offered, not on their order or on the shard that
 * offered them. NaN is never kept. Nothing is allocated; one thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_TOPK_H
#define KERNELS_TOPK_H

#include "kernels.h"

/* P@k and recall are computed up to k = 100; linear insertion is still cheap at
 * 128. */
#define SKN_TOPK_MAX 128u

typedef struct skn_topk {
    uint32_t k, count;
    float value[SKN_TOPK_MAX]; /* best first, `count` of them */
    uint32_t id[SKN_TOPK_MAX];
} skn_topk_t;

/* Makes it empty; 1 <= k <= SKN_TOPK_MAX. */
void skn_topk_init(skn_topk_t *topk, uint32_t k);
/* Keeps (value, id) if it is among the k best so far. Each id must be offered
 * only once: a second offer would be kept twice. */
void skn_topk_offer(skn_topk_t *topk, float value, uint32_t id);
/* Offers x[0..n-1]. Their ids are id[i], or first_id + i when id is NULL. */
void skn_topk_scan(skn_topk_t *topk, const skn_kernels_t *kernels,
                   const float *x, size_t n, const uint32_t *id,
                   uint32_t first_id);

#endif
