/* text_block.c - copies rows of texts into blocks, whose terms several threads
 * count or look up at once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/text_block.h"

#include <stdlib.h>
#include <string.h>

#include "formats/text/grow.h"
#include "skein/limits.h"
#include "transport/socket/parallel_for.h"

/* Bytes of a block: its terms fit into a second-level cache, and starting the
 * threads takes a hundredth of the time that they work. */
#define TEXT_BLOCK_BYTES (1u << 20)
/* A row is worth these, so that empty ones fill a block, too. */
#define TEXT_ROW_BYTES 64u

bool
skn_text_blocks_init(skn_text_blocks_t *blocks, uint32_t threads,
                     const skn_feature_options_t *options,
                     const skn_featurizer_t *featurizer)
{
    blocks->count = threads == 0                 ? 1
                    : threads > SKN_PARALLEL_MAX ? SKN_PARALLEL_MAX
                                                 : threads;
    blocks->block = calloc(blocks->count, sizeof(*blocks->block));
    for (uint32_t k = 0; blocks->block && k < blocks->count; k++) {
        skn_text_block_t *block = &blocks->block[k];
        block->featurizer = featurizer;
        if (!featurizer)
            block->counts = skn_feature_counts_new(options, SIZE_MAX);
        if (!featurizer && !block->counts)
            return false;
    }
    return blocks->block != NULL;
}

void
skn_text_blocks_fini(skn_text_blocks_t *blocks)
{
    for (uint32_t k = 0; blocks->block && k < blocks->count; k++) {
        skn_text_block_t *block = &blocks->block[k];
        free(block->row);
        free(block->span);
        free(block->bytes);
        free(block->feature);
        free(block->value);
        skn_feature_row_fini(&block->scratch);
        skn_feature_counts_destroy(&block->counts);
    }
    free(blocks->block);
    blocks->block = NULL;
}

/* --- rows ----------------------------------------------------------------- */

void
skn_text_block_clear(skn_text_block_t *block)
{
    block->row_count = block->span_count = block->byte_count = 0;
    block->feature_count = 0;
}

bool
skn_text_block_is_full(const skn_text_block_t *block)
{
    return block->byte_count + TEXT_ROW_BYTES * block->row_count >=
           TEXT_BLOCK_BYTES;
}

/* Copies spans; where they are is known once the block does not grow any
 * more. */
static bool
add_spans(skn_text_block_t *block, const skn_span_t *span, size_t count)
{
    void *spans = block->span, *bytes = block->bytes;
    bool good = skn_grow(&spans, &block->span_room, block->span_count + count,
                         sizeof(*span));
    block->span = spans;
    for (size_t k = 0; good && k < count; k++) {
        good = skn_grow(&bytes, &block->byte_room,
                        block->byte_count + span[k].bytes, 1);
        block->bytes = bytes;
        if (good && span[k].bytes > 0)
            memcpy(block->bytes + block->byte_count, span[k].at, span[k].bytes);
        block->byte_count += good ? span[k].bytes : 0;
        block->span[block->span_count++] = span[k];
    }
    return good;
}

bool
skn_text_block_add(skn_text_block_t *block, const skn_records_row_t *record,
                   bool is_bad)
{
    void *row = block->row;
    bool good = skn_grow(&row, &block->row_room, block->row_count + 1,
                         sizeof(*block->row));
    block->row = row;
    if (good)
        block->row[block->row_count++] =
            (skn_text_row_t){ .record = *record, .is_bad = is_bad };
    return good && add_spans(block, record->text, record->text_count) &&
           add_spans(block, record->label, record->label_count);
}

/* Lets the rows point to their copies. */
static void
place(skn_text_block_t *block)
{
    const char *at = block->bytes;
    skn_span_t *span = block->span;
    for (size_t k = 0; k < block->span_count; k++) {
        span[k].at = at;
        at += span[k].bytes;
    }
    for (size_t k = 0; k < block->row_count; k++) {
        skn_records_row_t *record = &block->row[k].record;
        record->text = span;
        record->label = span + record->text_count;
        span += record->text_count + record->label_count;
    }
}

/* --- terms ---------------------------------------------------------------- */

/* Appends the point of a row. */
static skn_status_t
apply(skn_text_block_t *block, skn_text_row_t *row)
{
    const skn_feature_row_t *made = &block->scratch;
    const skn_feature_fields_t fields = skn_record_fields(&row->record);
    skn_status_t status = skn_featurizer_apply(block->featurizer, &fields,
                                               &block->scratch, &block->error);
    if (status != SKN_OK)
        return status;
    void *feature = block->feature, *value = block->value;
    size_t count =
        made->count < SKN_LINE_ITEMS_MAX ? made->count : SKN_LINE_ITEMS_MAX;
    bool good =
        skn_grow(&feature, &block->feature_room, block->feature_count + count,
                 sizeof(*block->feature)) &&
        skn_grow(&value, &block->value_room, block->feature_count + count,
                 sizeof(*block->value));
    block->feature = feature;
    block->value = value;
    if (!good)
        return skn_fail(&block->error, SKN_NO_MEMORY,
                        "no memory for the features of a text");
    if (count > 0) {
        memcpy(block->feature + block->feature_count, made->feature,
               count * sizeof(*block->feature));
        memcpy(block->value + block->feature_count, made->value,
               count * sizeof(*block->value));
    }
    row->feature_count = count;
    block->feature_count += count;
    return SKN_OK;
}

static void
run(skn_text_block_t *block)
{
    skn_status_t status = SKN_OK;
    block->error = (skn_error_t){ 0 };
    place(block);
    for (size_t k = 0; k < block->row_count && status == SKN_OK; k++) {
        skn_text_row_t *row = &block->row[k];
        const skn_feature_fields_t fields = skn_record_fields(&row->record);
        if (row->is_bad)
            continue;
        status =
            block->featurizer
                ? apply(block, row)
                : skn_feature_counts_add(block->counts, &fields, &block->error);
    }
}

static void *
work(void *argument)
{
    skn_text_blocks_t *blocks = argument;
    for (unsigned k; (k = atomic_fetch_add(&blocks->next, 1)) < blocks->count;)
        run(&blocks->block[k]);
    return NULL;
}

void
skn_text_blocks_run(skn_text_blocks_t *blocks)
{
    uint32_t filled = 0;
    while (filled < blocks->count && blocks->block[filled].row_count > 0)
        filled++;
    atomic_store(&blocks->next, 0);
    skn_parallel_for(filled > 0 ? filled : 1, work, blocks, 0);
}
