/* test_draws.c - tests the keys of random numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "kernels/draws.h"

static int
ascending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

Test(draws, no_two_purposes_seeds_or_streams_share_a_key)
{
    static uint64_t key[8 * 20 * 30];
    size_t count = 0;
    for (uint64_t seed = 0; seed < 20; seed++)
        for (int purpose = SKN_DRAW_WEIGHTS; purpose <= SKN_DRAW_HASH;
             purpose++)
            for (uint64_t which = 0; which < 30; which++)
                key[count++] = skn_draw_key(seed, (skn_draw_t)purpose, which);
    qsort(key, count, sizeof(*key), ascending);
    for (size_t k = 1; k < count; k++)
        cr_assert_neq(key[k], key[k - 1]);
}

/* A run that is resumed by a later version must draw the same numbers: these
 * keys are part of the format of a checkpoint. */
Test(draws, keys_never_change)
{
    cr_expect_eq(skn_draw_key(1, SKN_DRAW_WEIGHTS, 0), 0xdfc5ccbeac08141bu);
    cr_expect_eq(skn_draw_key(1, SKN_DRAW_SHUFFLE, 7), 0x5d6a8bf8748b09f9u);
    cr_expect_eq(skn_draw_key(UINT64_MAX, SKN_DRAW_HASH, 3),
                 0xa55486ac79a84cc8u);
}
