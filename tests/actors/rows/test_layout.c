/* test_layout.c - tests which rows begin with ones and do not decay.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/rows/layout.h"

Test(layout, rows_of_other_layers_are_all_alike)
{
    const skn_layout_t layout = { .deviation = 0.25f };
    for (uint32_t row = 0; row < 100; row++) {
        float deviation = 0;
        cr_expect_not(skn_layout_is_gain(&layout, row, &deviation));
        cr_expect_eq(deviation, 0.25f);
    }
}

/* Layers of 2 gains and 4 x 16 + 3 x 32 other rows, and the final gain. */
Test(layout, a_decoder_has_gains_and_smaller_weights_where_residuals_are_added)
{
    const skn_layout_t layout = {
        .deviation = 0.5f,
        .layers = 2,
        .shape = { .layers = 8, .width = 16, .inner = 32 },
    };
    uint32_t gains = 0, residuals = 0, row;
    for (row = 0; row <= 2 * 162; row++) {
        uint32_t of_layer = row % 162;
        bool is_o = of_layer >= 50 && of_layer < 66;
        bool is_down = of_layer >= 130;
        float deviation = 0;
        if (skn_layout_is_gain(&layout, row, &deviation)) {
            cr_expect(of_layer < 2);
            gains++;
            continue;
        }
        cr_expect_eq(deviation == 0.125f, is_o || is_down, "row %u: %g", row,
                     (double)deviation);
        residuals += is_o || is_down;
    }
    cr_expect_eq(gains, 5);
    cr_expect_eq(residuals, 2 * (16 + 32));
}
