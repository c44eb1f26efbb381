/* test_slicing.c - tests even and weighted slices, and the refusal of bad
 * weights.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/protocol/block.h"
#include "actors/protocol/slicing.h"

static skn_slicing_t slicing;
static skn_error_t error;

static skn_status_t
make(uint32_t units, uint32_t slices, const char *weights)
{
    error = (skn_error_t){ 0 };
    return skn_slicing_make(&slicing, units, slices, weights, "output.0",
                            &error);
}

Test(slicing, without_weights_they_are_even)
{
    for (uint32_t slices = 1; slices <= 9; slices++) {
        cr_assert_eq(make(75, slices, ""), SKN_OK);
        for (uint32_t k = 0; k <= slices; k++)
            cr_expect_eq(slicing.first[k], skn_slice_first(75, slices, k));
        skn_slicing_fini(&slicing);
    }
}

Test(slicing, weights_give_shares_in_blocks_of_eight)
{
    cr_assert_eq(make(512, 4, "3x4,1x1"), SKN_OK, "%s", error.text);
    /* A block each, and 60 more: 18.5, 18.5, 18.5 and 4.6 of them, rounded. */
    const uint32_t want[] = { 0, 152, 312, 464, 512 };
    for (uint32_t k = 0; k <= 4; k++)
        cr_expect_eq(slicing.first[k], want[k], "%u: %u", k, slicing.first[k]);
    cr_expect_eq(skn_slicing_width(&slicing, 3), 48);
    cr_expect_eq(skn_slicing_widest(&slicing), 160);
    skn_slicing_fini(&slicing);
}

/* Whatever the weights are, each slice has a block or more, and a rest that is
 * no block goes to the last one. */
Test(slicing, every_slice_has_a_block)
{
    static const char *const texts[] = { "1x1,1x1000000,1x1", "2x1000000,1x1",
                                         "1x1000000,2x1", "3x7" };
    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++)
        for (uint32_t units = 24; units < 200; units++) {
            cr_assert_eq(make(units, 3, texts[t]), SKN_OK, "%s", error.text);
            for (uint32_t k = 0; k < 3; k++)
                cr_assert_geq(skn_slicing_width(&slicing, k),
                              SKN_SLICE_COLUMNS);
            cr_assert_eq(slicing.first[3], units);
            skn_slicing_fini(&slicing);
        }
}

Test(slicing, weights_that_are_none_are_refused)
{
    static const char *const texts[] = {
        "1x1",
        "4x1",
        "3x0",
        "0x1,3x1",
        "3x",
        "x3",
        "3",
        "2x1;1x1",
        "3x1x",
        "3x99999999999999999999",
        "3x1099511627776",
        "2x1,2x1",
        "-3x1",
        ",3x1",
    };
    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
        cr_expect_eq(make(64, 3, texts[t]), SKN_BAD_CONFIG, "%s", texts[t]);
        skn_slicing_fini(&slicing);
    }
    cr_assert_eq(make(64, 3, "3x"), SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text, "output.0: slice_weights '3x' do not "
                                 "describe 3 slices");
    skn_slicing_fini(&slicing);
}
