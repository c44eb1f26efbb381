/* test_ledger.c - tests that a ledger counts each batch once, and records those
 * that are missing.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/ledger.h"

#include "tests/support/temp_folder.h"

#include <criterion/criterion.h>
#include <inttypes.h>

#define BLOCKS 300u /* more than are read at once */

static skn_ledger_entry_t entry[BLOCKS];

static skn_ledger_verdict_t
check(uint64_t batches)
{
    skn_ledger_verdict_t verdict = { 0 };
    skn_ledger_entry_t want = skn_ledger_of(batches);
    skn_ledger_check(entry, NULL, BLOCKS, &want, &verdict);
    cr_expect(verdict.known);
    return verdict;
}

static void
apply(uint64_t first, uint64_t end)
{
    for (uint64_t batch = first; batch < end; batch++)
        skn_ledger_add(entry, BLOCKS, batch);
}

Test(ledger, each_batch_once_is_nothing_to_speak_of)
{
    skn_ledger_verdict_t verdict = check(0);
    cr_expect(verdict.lost == 0 && verdict.applied_twice == 0);
    apply(0, 100);
    verdict = check(100);
    cr_expect(verdict.lost == 0 && verdict.applied_twice == 0);
}

Test(ledger, the_order_of_batches_does_not_matter)
{
    apply(50, 100);
    apply(0, 50);
    skn_ledger_verdict_t verdict = check(100);
    cr_expect(verdict.lost == 0 && verdict.applied_twice == 0);
}

Test(ledger, a_batch_that_one_block_lacks_is_lost_there)
{
    apply(0, 99);
    skn_ledger_add(entry, BLOCKS - 1, 99);
    skn_ledger_verdict_t verdict = check(100);
    cr_expect_eq(verdict.lost, 1);
    cr_expect_eq(verdict.applied_twice, 0);
}

Test(ledger, a_batch_that_blocks_took_twice_is_counted_at_each)
{
    apply(0, 100);
    skn_ledger_add(entry, 3, 42);
    skn_ledger_verdict_t verdict = check(100);
    cr_expect_eq(verdict.lost, 0);
    cr_expect_eq(verdict.applied_twice, 3);
}

/* As many as there were, and not these: for every pair of neighbours. */
Test(ledger, one_batch_in_place_of_another_is_seen)
{
    for (uint64_t batch = 0; batch + 1 < 100; batch++) {
        memset(entry, 0, sizeof(entry));
        apply(0, 100);
        entry[7].sum += skn_ledger_hash(batch) - skn_ledger_hash(batch + 1);
        skn_ledger_verdict_t verdict = check(100);
        cr_expect_eq(verdict.lost, 1);
        cr_expect_eq(verdict.applied_twice, 1);
    }
}

/* Seven had 60 batches, were set back to 50 there, and went on from 70. */
Test(ledger, what_a_block_missed_is_lost_and_told_from_all_else)
{
    static skn_ledger_entry_t missed[BLOCKS];
    skn_ledger_entry_t want = skn_ledger_of(100);
    skn_ledger_verdict_t verdict = { 0 };
    memset(entry, 0, sizeof(entry));
    apply(0, 50);
    for (uint64_t batch = 50; batch < 70; batch++)
        skn_ledger_add(entry + 7, BLOCKS - 7, batch);
    skn_ledger_miss(entry, missed, BLOCKS, 70);
    skn_ledger_miss(entry, missed, BLOCKS, 70); /* once is enough */
    apply(70, 100);
    skn_ledger_check(entry, missed, BLOCKS, &want, &verdict);
    cr_expect_eq(verdict.lost, 7 * 20);
    cr_expect_eq(verdict.applied_twice, 0);
    skn_ledger_add(entry, 1, 60); /* and now it gets one of them */
    verdict = (skn_ledger_verdict_t){ 0 };
    skn_ledger_check(entry, missed, BLOCKS, &want, &verdict);
    cr_expect_eq(verdict.applied_twice, 1);
    /* As many, and not the same. */
    entry[0] = entry[1];
    entry[0].sum += skn_ledger_hash(3) - skn_ledger_hash(60);
    verdict = (skn_ledger_verdict_t){ 0 };
    skn_ledger_check(entry, missed, BLOCKS, &want, &verdict);
    cr_expect_eq(verdict.applied_twice, 1);
    cr_expect_eq(verdict.lost, 7 * 20 + 1);
}

/* --- in a checkpoint ----------------------------------------------------- */

static char parent[TEMP_FOLDER_BYTES];

static skn_ledger_verdict_t
through_a_checkpoint(const char *name, skn_dtype_t dtype, uint64_t batch,
                     skn_status_t wanted)
{
    char path[TEMP_FOLDER_BYTES + 8];
    skn_error_t error = { 0 };
    skn_ledger_verdict_t verdict = { 0 };
    skn_run_options_t options = { .config_text = "" };
    skn_piece_t piece = { .dtype = dtype,
                          .dims = 2,
                          .rows = BLOCKS,
                          .columns = 2,
                          .global_rows = BLOCKS,
                          .global_columns = 2 };
    temp_folder_make(parent);
    (void)snprintf(piece.name, sizeof(piece.name), "%s", name);
    (void)snprintf(path, sizeof(path), "%s/run", parent);
    skn_run_folder_t *run = skn_run_folder_open(path, &options, NULL, &error);
    skn_checkpoint_writer_t *writer =
        skn_checkpoint_begin(run, batch, 0, &error);
    skn_checkpoint_shard_t *shard =
        skn_checkpoint_shard_open(writer, "a.safetensors", &piece, 1, &error);
    cr_assert(shard, "%s", error.text);
    size_t bytes = BLOCKS * 2 * skn_dtype_bytes(dtype);
    cr_assert_eq(skn_checkpoint_shard_write(shard, 0, 0, entry, bytes, &error),
                 SKN_OK);
    cr_assert_eq(skn_checkpoint_shard_close(&shard, &error), SKN_OK);
    cr_assert_eq(skn_checkpoint_finish(&writer, "{}", 1, NULL, &error), SKN_OK);
    skn_run_folder_close(&run);
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(path, SKN_VERIFY_LAZY, &error);
    cr_assert(checkpoint, "%s", error.text);
    cr_expect_eq(skn_ledger_read(checkpoint, &verdict, &error), wanted);
    skn_checkpoint_close(&checkpoint);
    temp_folder_remove(parent);
    return verdict;
}

Test(ledger, a_checkpoint_is_checked_against_its_batch)
{
    skn_json_text_t text = { 0 };
    apply(0, 20);
    skn_ledger_verdict_t verdict =
        through_a_checkpoint("a.ledger", SKN_DTYPE_U64, 20, SKN_OK);
    cr_expect(verdict.known);
    cr_expect(verdict.lost == 0 && verdict.applied_twice == 0);
    verdict = through_a_checkpoint("a.ledger", SKN_DTYPE_U64, 21, SKN_OK);
    cr_expect_eq(verdict.lost, BLOCKS);
    skn_ledger_write(&verdict, &text);
    cr_expect_str_eq(text.bytes, ",\"lost\":300,\"applied_twice\":0");
    skn_json_text_fini(&text);
}

Test(ledger, without_one_nothing_is_known)
{
    skn_json_text_t text = { 0 };
    skn_ledger_verdict_t verdict =
        through_a_checkpoint("a.ledgers", SKN_DTYPE_U64, 20, SKN_OK);
    cr_expect_not(verdict.known);
    skn_json_text_add(&text, "x");
    skn_ledger_write(&verdict, &text);
    cr_expect_str_eq(text.bytes, "x");
    skn_json_text_fini(&text);
}

Test(ledger, what_is_no_ledger_is_refused)
{
    (void)through_a_checkpoint("a.ledger", SKN_DTYPE_U32, 20, SKN_BAD_DATA);
}
