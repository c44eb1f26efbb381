/* block_ledger.c - keeps the ledger of a shard's blocks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/rows/block_ledger.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(SKN_MISSED_NAME) <= sizeof(SKN_LEDGER_NAME),
               "the one replaces the other at the end of a tensor's name");

/* Finds the shard's blocks among those of the layer. For every layout, blocks
 * have the same number of rows, or of columns where the bias is a row. */
static skn_status_t
place_blocks(skn_block_ledger_t *ledger, const skn_actor_t *actor,
             const skn_tensor_place_t *place, const skn_rows_t *rows,
             uint64_t block, skn_error_t *error)
{
    bool slice = place->bias_row;
    uint64_t first = slice ? place->column_first : place->row_first;
    uint64_t count = slice ? rows->width : rows->row_count;
    uint64_t all = slice ? place->global_columns : place->global_rows;
    if (first % block != 0 || (count % block != 0 && first + count != all))
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: %llu rows or columns from %llu on are not whole "
                        "blocks of %llu",
                        skn_actor_name(actor), (unsigned long long)count,
                        (unsigned long long)first, (unsigned long long)block);
    ledger->piece = (skn_piece_t){
        .dtype = SKN_DTYPE_U64,
        .dims = 2,
        .rows = (count + block - 1) / block,
        .columns = 2,
        .global_rows = (all + block - 1) / block,
        .global_columns = 2,
        .row_first = first / block,
    };
    (void)snprintf(ledger->piece.name, sizeof(ledger->piece.name),
                   "%.48s." SKN_LEDGER_NAME, place->layer);
    return SKN_OK;
}

skn_status_t
skn_block_ledger_open(skn_block_ledger_t *ledger, const skn_actor_t *actor,
                      const skn_tensor_place_t *place, const skn_rows_t *rows,
                      skn_error_t *error)
{
    uint64_t block = (uint64_t)skn_actor_option_int(actor, "ledger");
    bool has_missed = skn_actor_option_bool(actor, "missed");
    if (block == 0)
        return SKN_OK;
    if (place_blocks(ledger, actor, place, rows, block, error) != SKN_OK)
        return error->status;
    ledger->applied = calloc(ledger->piece.rows, sizeof(*ledger->applied));
    if (has_missed)
        ledger->missed = calloc(ledger->piece.rows, sizeof(*ledger->missed));
    return ledger->applied && (ledger->missed || !has_missed)
               ? SKN_OK
               : skn_fail(error, SKN_NO_MEMORY, "%s: no memory for its ledger",
                          skn_actor_name(actor));
}

void
skn_block_ledger_close(skn_block_ledger_t *ledger)
{
    free(ledger->applied);
    free(ledger->missed);
    *ledger = (skn_block_ledger_t){ 0 };
}

void
skn_block_ledger_add(skn_block_ledger_t *ledger, uint64_t batch)
{
    skn_ledger_add(ledger->applied, ledger->piece.rows, batch);
}

void
skn_block_ledger_complete(skn_block_ledger_t *ledger, uint64_t batches)
{
    skn_ledger_entry_t entry = skn_ledger_of(batches);
    uint64_t count = ledger->piece.rows, empty = 0;
    for (uint64_t k = 0; k < count; k++)
        empty += ledger->applied[k].batches == 0;
    for (uint64_t k = 0; empty == count && k < count; k++)
        ledger->applied[k] = entry;
    if (ledger->missed)
        skn_ledger_miss(ledger->applied, ledger->missed, count, batches);
}

uint32_t
skn_block_ledger_count(const skn_block_ledger_t *ledger)
{
    return (ledger->applied ? 1u : 0u) + (ledger->missed ? 1u : 0u);
}

uint32_t
skn_block_ledger_views(const skn_block_ledger_t *ledger,
                       skn_tensor_view_t *view)
{
    if (!ledger->applied)
        return 0;
    view[0] = (skn_tensor_view_t){ .piece = ledger->piece,
                                   .at = (unsigned char *)ledger->applied,
                                   .stride_bytes = sizeof(*ledger->applied),
                                   .row_bytes = sizeof(*ledger->applied) };
    if (!ledger->missed)
        return 1;
    view[1] = view[0];
    view[1].at = (unsigned char *)ledger->missed;
    char *name = view[1].piece.name;
    (void)snprintf(name + strlen(name) - strlen(SKN_LEDGER_NAME),
                   sizeof(SKN_MISSED_NAME), SKN_MISSED_NAME);
    return 2;
}
