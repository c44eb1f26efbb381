/* draws.h - purposes and keys of random numbers.
 *
 * Counter-based (Philox): a draw depends on (seed, purpose, which, place) and
 * on no earlier draw, so there is no state to store or to lose.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_DRAWS_H
#define KERNELS_DRAWS_H

#include "kernels/philox.h"

typedef enum skn_draw {
    SKN_DRAW_WEIGHTS = 1, /* which: tensor; place: row, column */
    SKN_DRAW_DROPOUT,     /* which: layer; place: batch, sample, unit */
    SKN_DRAW_SAMPLE,      /* which: layer; place: batch, block */
    SKN_DRAW_SHUFFLE,     /* which: epoch; place: point */
    SKN_DRAW_ROUND,       /* which: tensor; place: batch, row, column */
    SKN_DRAW_SPLIT,       /* which points validate */
    SKN_DRAW_HASH,        /* which: layer; directions of an index */
    SKN_DRAW_CODING       /* which: edge; place: batch, field, row, item */
} skn_draw_t;

/* The key of all draws of one purpose. Any thread. */
static inline uint64_t
skn_draw_key(uint64_t seed, skn_draw_t purpose, uint64_t which)
{
    skn_philox_t random = skn_philox_at(seed, (uint64_t)purpose, which);
    return (uint64_t)random.word[1] << 32 | random.word[0];
}

#endif
