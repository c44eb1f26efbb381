/* test_queue.c - tests the ring of parcels against a plain count.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/queues/queue.h"

TestSuite(queue, .timeout = 60);

/* Fills up to `most` and empties to a third, so that the ring grows while it
 * begins anywhere. */
Test(queue, parcels_come_out_in_order_however_it_grows)
{
    skn_queue_t queue = { 0 };
    skn_parcel_t parcel = { 0 };
    uint64_t put = 0, taken = 0;
    for (uint64_t most = 1; most < 300; most++) {
        while (put - taken < most) {
            parcel.number = put++;
            cr_assert(skn_queue_put(&queue, &parcel));
        }
        for (uint32_t k = 0; k < queue.count; k++)
            cr_assert_eq(skn_queue_at(&queue, k)->number, taken + k);
        while (put - taken > most / 3) {
            cr_assert(skn_queue_take(&queue, &parcel));
            cr_assert_eq(parcel.number, taken++);
        }
        cr_expect_eq(queue.count, put - taken);
    }
    while (skn_queue_take(&queue, &parcel))
        cr_assert_eq(parcel.number, taken++);
    cr_expect_eq(taken, put);
    cr_expect(!skn_queue_take(&queue, &parcel));
    skn_queue_fini(&queue);
}

Test(queue, it_may_be_used_again_after_its_end)
{
    skn_queue_t queue = { 0 };
    skn_parcel_t parcel = { .number = 1 };
    skn_queue_fini(&queue);
    for (int round = 0; round < 3; round++) {
        cr_assert(skn_queue_put(&queue, &parcel));
        skn_queue_fini(&queue);
        cr_expect(!skn_queue_take(&queue, &parcel));
    }
}
