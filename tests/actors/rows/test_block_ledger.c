/* test_block_ledger.c - tests which batches a shard's blocks count as having
 * had, and the tensors that say so. Its options are tested in test_updater.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "actors/rows/block_ledger.h"

#define BLOCKS 3

static skn_ledger_entry_t applied[BLOCKS], missed[BLOCKS];

static skn_block_ledger_t
ledger_of(bool has_missed)
{
    return (skn_block_ledger_t){ .applied = applied,
                                 .missed = has_missed ? missed : NULL,
                                 .piece = { .name = "out." SKN_LEDGER_NAME,
                                            .rows = BLOCKS } };
}

static void
expect_had(const skn_ledger_entry_t *entry, uint64_t batches)
{
    skn_ledger_entry_t want = skn_ledger_of(batches);
    cr_expect(entry->batches == want.batches && entry->sum == want.sum);
}

Test(block_ledger, every_block_has_each_batch)
{
    skn_block_ledger_t ledger = ledger_of(false);
    for (uint64_t batch = 0; batch < 5; batch++)
        skn_block_ledger_add(&ledger, batch);
    for (size_t k = 0; k < BLOCKS; k++)
        expect_had(&applied[k], 5);
}

Test(block_ledger, a_run_without_a_ledger_had_all_batches)
{
    skn_block_ledger_t ledger = ledger_of(true);
    skn_block_ledger_complete(&ledger, 7);
    for (size_t k = 0; k < BLOCKS; k++) {
        expect_had(&applied[k], 7);
        expect_had(&missed[k], 0);
    }
}

Test(block_ledger, a_block_that_is_behind_missed_the_rest)
{
    skn_block_ledger_t ledger = ledger_of(true);
    applied[0] = applied[1] = skn_ledger_of(7);
    applied[2] = skn_ledger_of(4);
    skn_block_ledger_complete(&ledger, 7);
    expect_had(&missed[0], 0);
    expect_had(&applied[2], 4);
    cr_expect_eq(missed[2].batches, 3);
    cr_expect_eq(missed[2].sum,
                 skn_ledger_hash(4) + skn_ledger_hash(5) + skn_ledger_hash(6));
}

Test(block_ledger, its_tensors_are_named_by_what_they_count)
{
    skn_tensor_view_t view[2];
    skn_block_ledger_t ledger = { 0 };
    cr_expect_eq(skn_block_ledger_views(&ledger, view), 0);
    ledger = ledger_of(false);
    cr_expect_eq(skn_block_ledger_views(&ledger, view), 1);
    cr_expect_str_eq(view[0].piece.name, "out.ledger");
    ledger = ledger_of(true);
    cr_expect_eq(skn_block_ledger_views(&ledger, view), 2);
    cr_expect_str_eq(view[1].piece.name, "out.missed");
    cr_expect(view[1].at == (unsigned char *)missed);
}
