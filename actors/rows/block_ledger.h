/* block_ledger.h - the record of which batches each block of one shard's rows
 * has had, as a part of the shard's state.
 *
 * What the entries mean, and how they are checked, is formats/checkpoint's
 * (ledger.h). One entry a block; a shard without a ledger has none.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_ROWS_BLOCK_LEDGER_H
#define ACTORS_ROWS_BLOCK_LEDGER_H

#include "actors/rows/tensors.h"
#include "formats/checkpoint/ledger.h"
#include "skein/actor.h"

typedef struct skn_block_ledger {
    skn_ledger_entry_t *applied; /* NULL: no ledger is kept */
    /* Updates that a block will never get; NULL: the run loses none. */
    skn_ledger_entry_t *missed;
    skn_piece_t piece; /* place of the shard's blocks among the layer's */
} skn_block_ledger_t;

/* Reads the options `ledger` and `missed` of `actor`, whose shard of the layer
 * at `place` has `rows`. SKN_BAD_CONFIG if the shard does not consist of whole
 * blocks, SKN_NO_MEMORY. Freed by skn_block_ledger_close, also after a
 * failure. */
skn_status_t skn_block_ledger_open(skn_block_ledger_t *ledger,
                                   const skn_actor_t *actor,
                                   const skn_tensor_place_t *place,
                                   const skn_rows_t *rows, skn_error_t *error);
void skn_block_ledger_close(skn_block_ledger_t *ledger);

/* All blocks have had `batch`. */
void skn_block_ledger_add(skn_block_ledger_t *ledger, uint64_t batch);
/* After a restore behind `batches` batches. If no block has an entry, the run
 * began without a ledger, and every block counts as having had all batches.
 * Batches that a block has not had by now are recorded as missed. */
void skn_block_ledger_complete(skn_block_ledger_t *ledger, uint64_t batches);
/* The number of the ledger's tensors: 0 to 2. */
uint32_t skn_block_ledger_count(const skn_block_ledger_t *ledger);
/* Fills `view` with them, and returns their number. */
uint32_t skn_block_ledger_views(const skn_block_ledger_t *ledger,
                                skn_tensor_view_t *view);

#endif
