/* test_cuts.c - tests even and weighted slices, and the refusal of bad weights.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/protocol/block.h"
#include "actors/protocol/cuts.h"

static skn_cuts_t cuts;
static skn_error_t error;

static skn_status_t
make(uint32_t units, uint32_t slices, const char *weights)
{
    error = (skn_error_t){ 0 };
    return skn_cuts_make(&cuts, units, slices, weights, "output.0", &error);
}

Test(cuts, without_weights_they_are_even)
{
    for (uint32_t slices = 1; slices <= 9; slices++) {
        cr_assert_eq(make(75, slices, ""), SKN_OK);
        for (uint32_t k = 0; k <= slices; k++)
            cr_expect_eq(cuts.first[k], skn_slice_first(75, slices, k));
        skn_cuts_fini(&cuts);
    }
}

Test(cuts, weights_give_shares_in_blocks_of_eight)
{
    cr_assert_eq(make(512, 4, "3x4,1x1"), SKN_OK, "%s", error.text);
    /* A block each, and 60 more: 18.5, 18.5, 18.5 and 4.6 of them, rounded. */
    const uint32_t want[] = { 0, 152, 312, 464, 512 };
    for (uint32_t k = 0; k <= 4; k++)
        cr_expect_eq(cuts.first[k], want[k], "%u: %u", k, cuts.first[k]);
    cr_expect_eq(skn_cuts_width(&cuts, 3), 48);
    cr_expect_eq(skn_cuts_widest(&cuts), 160);
    skn_cuts_fini(&cuts);
}

/* Whatever the weights are, each slice has a block or more, and a rest that is
 * no block goes to the last one. */
Test(cuts, every_slice_has_a_block)
{
    static const char *const texts[] = { "1x1,1x1000000,1x1", "2x1000000,1x1",
                                         "1x1000000,2x1", "3x7" };
    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++)
        for (uint32_t units = 24; units < 200; units++) {
            cr_assert_eq(make(units, 3, texts[t]), SKN_OK, "%s", error.text);
            for (uint32_t k = 0; k < 3; k++)
                cr_assert_geq(skn_cuts_width(&cuts, k), SKN_SLICE_COLUMNS);
            cr_assert_eq(cuts.first[3], units);
            skn_cuts_fini(&cuts);
        }
}

Test(cuts, weights_that_are_none_are_refused)
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
        skn_cuts_fini(&cuts);
    }
    cr_assert_eq(make(64, 3, "3x"), SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text, "output.0: slice_weights '3x' are not those "
                                 "of 3 slices");
    skn_cuts_fini(&cuts);
}
