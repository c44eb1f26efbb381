/* ledger.h - checks that each block of rows has had each batch exactly once.
 *
 * The owner of a block keeps, for each block, the number of batches that it has
 * applied and the sum of a hash of their numbers. Both are stored in
 * checkpoints beside the block's weights (LAYER.ledger, u64, [blocks][2]) and
 * move with them, so that they show the history of the weights, whatever
 * happened to the nodes: a sum that matches proves that it was these batches
 * and no others.
 *
 * Where a run continues without updates that a block had and that were lost
 * with their owner (salvage.h), the block records in the same way the batches
 * that it will never get (LAYER.missed, the same shape): together they must be
 * all batches.
 *
 * The hash is the finalizer of SplitMix64 (Steele, Lea, Flood 2014), so that no
 * plausible mistake cancels out: a batch for another, one twice and one
 * missing.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_LEDGER_H
#define FORMATS_CHECKPOINT_LEDGER_H

#include "formats/checkpoint/checkpoint.h"

typedef struct skn_ledger_entry {
    uint64_t batches, sum;
} skn_ledger_entry_t;

#define SKN_LEDGER_NAME "ledger" /* of the tensors, after the layer's name */
#define SKN_MISSED_NAME "missed"

/* The result of a check, as pairs of a batch and a block: the least numbers
 * that explain the ledger. If as many were applied as there were, but not the
 * same, one is lost and another applied twice. */
typedef struct skn_ledger_verdict {
    bool known; /* there is a ledger */
    uint64_t lost, applied_twice;
} skn_ledger_verdict_t;

uint64_t skn_ledger_hash(uint64_t batch);
/* The entry of a block that has had all batches below `batches`. */
skn_ledger_entry_t skn_ledger_of(uint64_t batches);
/* Records that all `count` blocks have had `batch`. */
void skn_ledger_add(skn_ledger_entry_t *entry, size_t count, uint64_t batch);
/* Records as missed the batches below `batches` that a block has neither had
 * nor missed: those numbered from the count of batches that it has had or
 * missed. */
void skn_ledger_miss(const skn_ledger_entry_t *entry,
                     skn_ledger_entry_t *missed, size_t count,
                     uint64_t batches);
/* Adds to *verdict the result for entries that should equal `want`, together
 * with those of `missed`, which may be NULL. */
void skn_ledger_check(const skn_ledger_entry_t *entry,
                      const skn_ledger_entry_t *missed, size_t count,
                      const skn_ledger_entry_t *want,
                      skn_ledger_verdict_t *verdict);
/* Checks all ledgers of a checkpoint against its batch. SKN_BAD_DATA when a
 * tensor is not a ledger or damaged. Without a ledger the verdict is not
 * `known`. */
skn_status_t skn_ledger_read(skn_checkpoint_t *checkpoint,
                             skn_ledger_verdict_t *verdict, skn_error_t *error);
/* weights_sha256 of the checkpoint at `path`, and the verdict on its
 * ledgers. */
skn_status_t skn_ledger_read_back(const char *path,
                                  char hex[SKN_SHA256_TEXT_BYTES],
                                  skn_ledger_verdict_t *verdict,
                                  skn_error_t *error);
/* Appends ,"lost":N,"applied_twice":N; nothing if the verdict is not
 * `known`. */
void skn_ledger_write(const skn_ledger_verdict_t *verdict,
                      skn_json_text_t *text);

#endif
