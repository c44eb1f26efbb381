/* ledger.h - whether each block of rows has taken each batch exactly once.
 *
 * The owner of a block keeps, for it, how many batches it has applied and the
 * sum of a hash of their numbers. Both lie in checkpoints beside the block's
 * weights (LAYER.ledger, u64, [blocks][2]) and go where these go, so that they
 * say what has become of the weights, whatever has become of the nodes: a sum
 * that fits says that it was these batches and no others.
 *
 * Where a run goes on without updates that a block had and that died with their
 * owner (cut.h), the block keeps in the same way which batches it will never
 * get (LAYER.missed, the same shape): both together are all batches, still to
 * the last one of them.
 *
 * The hash is the end of SplitMix64 (Steele, Lea, Flood 2014), which no
 * plausible mistake cancels out: a batch for another, one twice and one not.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_LEDGER_H
#define FORMATS_CHECKPOINT_LEDGER_H

#include "formats/checkpoint/checkpoint.h"

typedef struct skn_ledger_entry {
    uint64_t batches, sum;
} skn_ledger_entry_t;

#define SKN_LEDGER_NAME "ledger" /* of the tensors, behind their layer's */
#define SKN_MISSED_NAME "missed"

/* What a ledger says: pairs of a batch and a block. The least numbers that
 * explain it: where as many were applied as there were, and not the same, one
 * is lost and another twice. */
typedef struct skn_ledger_verdict {
    bool known; /* there is a ledger */
    uint64_t lost, applied_twice;
} skn_ledger_verdict_t;

uint64_t skn_ledger_hash(uint64_t batch);
/* The entry of a block that has taken the batches below `batches`. */
skn_ledger_entry_t skn_ledger_of(uint64_t batches);
/* All `count` blocks have taken `batch`. */
void skn_ledger_add(skn_ledger_entry_t *entry, size_t count, uint64_t batch);
/* Batches below `batches` that a block has had neither, nor missed, it misses:
 * those behind as many as it has had and missed. */
void skn_ledger_miss(const skn_ledger_entry_t *entry,
                     skn_ledger_entry_t *missed, size_t count,
                     uint64_t batches);
/* Adds to *verdict what entries say that should be as `want` is, together with
 * those of `missed`, which may be NULL. */
void skn_ledger_check(const skn_ledger_entry_t *entry,
                      const skn_ledger_entry_t *missed, size_t count,
                      const skn_ledger_entry_t *want,
                      skn_ledger_verdict_t *verdict);
/* All ledgers of a checkpoint, against its batch. SKN_BAD_DATA when one is none
 * or damaged. A checkpoint without one is not known. */
skn_status_t skn_ledger_read(skn_checkpoint_t *checkpoint,
                             skn_ledger_verdict_t *verdict, skn_error_t *error);
/* weights_sha256 of the checkpoint at `path`, and what its ledgers say. */
skn_status_t skn_ledger_read_back(const char *path,
                                  char hex[SKN_SHA256_TEXT_BYTES],
                                  skn_ledger_verdict_t *verdict,
                                  skn_error_t *error);
/* Appends ,"lost":N,"applied_twice":N; nothing where it is not known. */
void skn_ledger_write(const skn_ledger_verdict_t *verdict,
                      skn_json_text_t *text);

#endif
