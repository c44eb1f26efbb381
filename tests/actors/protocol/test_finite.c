/* test_finite.c - tests that one NaN or infinity in bytes of state is found.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "actors/protocol/finite.h"

#define COUNT 2051u /* two stretches, and some */

static unsigned char bytes[4 * COUNT + 8];

/* All instruction sets have to be of one mind. */
static bool
look(skn_dtype_t dtype, const void *at, size_t byte_count)
{
    const skn_kernels_t *kernels;
    bool finite = false;
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++) {
        bool said = skn_are_finite(kernels, dtype, at, byte_count);
        cr_assert(rank == 0 || said == finite, "%s", kernels->isa);
        finite = said;
    }
    return finite;
}

static void
put_f32(unsigned char *at, size_t k, float value)
{
    memcpy(at + 4 * k, &value, sizeof(value));
}

Test(finite, one_bad_float_anywhere_is_found)
{
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    for (size_t start = 0; start < 4; start++) { /* at any address */
        unsigned char *at = bytes + start;
        for (size_t k = 0; k < COUNT; k++)
            put_f32(at, k, k % 2 ? FLT_MAX : -FLT_TRUE_MIN);
        cr_expect(look(SKN_DTYPE_F32, at, 4 * COUNT));
        for (size_t k = 0; k < COUNT; k += k < 3 || k > 2040 ? 1 : 97) {
            put_f32(at, k, bad[k % 3]);
            cr_expect_not(look(SKN_DTYPE_F32, at, 4 * COUNT), "%zu", k);
            cr_expect(look(SKN_DTYPE_F32, at, 4 * k));
            cr_expect_not(look(SKN_DTYPE_F32, at, 4 * k + 4));
            put_f32(at, k, 1.0f);
        }
    }
}

Test(finite, one_bad_bf16_anywhere_is_found)
{
    static const uint16_t bad[] = { 0x7f80, 0xff80, 0x7fc0, 0x7f81 };
    uint16_t half[COUNT];
    for (size_t k = 0; k < COUNT; k++)
        half[k] = k % 2 ? 0x7f7f : 0x8001;
    cr_expect(look(SKN_DTYPE_BF16, half, sizeof(half)));
    for (size_t k = 0; k < COUNT; k += k < 3 || k > 2040 ? 1 : 97) {
        half[k] = bad[k % 4];
        cr_expect_not(look(SKN_DTYPE_BF16, half, sizeof(half)), "%zu", k);
        cr_expect(look(SKN_DTYPE_BF16, half, 2 * k));
        half[k] = 0;
    }
}

/* A count of steps may look like a NaN. */
Test(finite, whole_numbers_are_finite)
{
    memset(bytes, 0xff, sizeof(bytes));
    cr_expect(look(SKN_DTYPE_U32, bytes, 4 * COUNT));
    cr_expect(look(SKN_DTYPE_U64, bytes, 4 * COUNT));
    cr_expect_not(look(SKN_DTYPE_F32, bytes, 4));
    cr_expect_not(look(SKN_DTYPE_BF16, bytes, 2));
}

Test(finite, what_is_no_whole_element_is_not_looked_at)
{
    memset(bytes, 0xff, sizeof(bytes));
    cr_expect(look(SKN_DTYPE_F32, bytes, 0));
    cr_expect(look(SKN_DTYPE_F32, bytes, 3));
    cr_expect(look(SKN_DTYPE_BF16, bytes, 1));
}
