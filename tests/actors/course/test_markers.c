/* test_markers.c - tests where markers are, and what is due at each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/course/markers.h"

#include <criterion/criterion.h>

/* Two epochs of 10 batches and the beginning of a third one. */
static const skn_markers_t epochs = { .batches_per_epoch = 10,
                                      .total_batches = 25 };

Test(markers, are_at_the_ends_of_epochs_and_of_the_run)
{
    cr_expect_eq(skn_markers_next(&epochs, 0), 10);
    cr_expect_eq(skn_markers_next(&epochs, 9), 10);
    cr_expect_eq(skn_markers_next(&epochs, 10), 20);
    cr_expect_eq(skn_markers_next(&epochs, 20), 25);
}

Test(markers, are_at_checkpoints)
{
    skn_markers_t markers = epochs;
    markers.every_batches = 4;
    cr_expect_eq(skn_markers_next(&markers, 0), 4);
    cr_expect_eq(skn_markers_next(&markers, 8), 10);
    cr_expect_eq(skn_markers_next(&markers, 10), 12);
    cr_expect_eq(skn_markers_next(&markers, 24), 25);
}

Test(markers, an_epoch_is_whole_at_its_end_until_it_was_reported)
{
    cr_expect_eq(skn_markers_epochs_begun(&epochs, 0), 0);
    cr_expect_eq(skn_markers_epochs_begun(&epochs, 1), 1);
    cr_expect_eq(skn_markers_epochs_begun(&epochs, 10), 1);
    cr_expect_eq(skn_markers_epochs_begun(&epochs, 11), 2);
    cr_expect_not(skn_markers_epoch_is_whole(&epochs, 0, 0));
    cr_expect_not(skn_markers_epoch_is_whole(&epochs, 9, 0));
    cr_expect(skn_markers_epoch_is_whole(&epochs, 10, 0));
    cr_expect_not(skn_markers_epoch_is_whole(&epochs, 10, 1));
    cr_expect_not(skn_markers_epoch_is_whole(&epochs, 24, 2));
    cr_expect(skn_markers_epoch_is_whole(&epochs, 25, 2));
    cr_expect_not(skn_markers_epoch_is_whole(&epochs, 25, 3));
}

Test(markers, evaluations_are_due_after_epochs_and_at_the_end)
{
    skn_markers_t markers = epochs;
    cr_expect_not(skn_markers_evaluates(&markers, 10, 1));
    cr_expect(skn_markers_evaluates(&markers, 25, 3));
    markers.evaluate_every = 2;
    cr_expect_not(skn_markers_evaluates(&markers, 10, 1));
    cr_expect(skn_markers_evaluates(&markers, 20, 2));
    cr_expect(skn_markers_evaluates(&markers, 25, 3));
}

Test(markers, checkpoints_are_due_after_batches_and_epochs)
{
    skn_markers_t markers = epochs;
    cr_expect_not(skn_markers_saves(&markers, 20, 2));
    markers.every_batches = 4;
    cr_expect(skn_markers_saves(&markers, 8, 0));
    cr_expect_not(skn_markers_saves(&markers, 10, 1));
    markers.every_batches = 0;
    markers.every_epochs = 2;
    cr_expect_not(skn_markers_saves(&markers, 8, 0));
    cr_expect_not(skn_markers_saves(&markers, 10, 1));
    cr_expect(skn_markers_saves(&markers, 20, 2));
    cr_expect_not(skn_markers_saves(&markers, 22, 0));
}

Test(markers, evaluations_within_an_epoch_are_markers)
{
    const skn_markers_t markers = { .batches_per_epoch = 100,
                                    .total_batches = 150,
                                    .evaluate_every = 1,
                                    .evaluate_batches = 40 };
    static const uint64_t want[] = { 40, 80, 100, 120, 150 };
    uint64_t batch = 0;
    for (size_t k = 0; k < 5; k++) {
        batch = skn_markers_next(&markers, batch);
        cr_expect_eq(batch, want[k]);
        cr_expect_eq(skn_markers_evaluates_within(&markers, batch),
                     batch % 40 == 0);
    }
}
