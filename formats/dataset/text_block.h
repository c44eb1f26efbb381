/* text_block.h - copies rows of texts into blocks, whose terms several threads
 * count or look up at once.
 *
 * What a block holds follows from the rows alone, so that nothing depends on
 * the number of threads. For text_rows.c only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_DATASET_TEXT_BLOCK_H
#define FORMATS_DATASET_TEXT_BLOCK_H

#include <stdatomic.h>

#include "formats/dataset/preprocessing.h"

typedef struct skn_text_row {
    skn_records_row_t record;
    bool is_bad;          /* a question that cannot be read */
    size_t feature_count; /* of the point that was made of it */
} skn_text_row_t;

/* { 0 } is empty. */
typedef struct skn_text_block {
    skn_text_row_t *row;
    skn_span_t *span; /* the texts and labels of one row after the other */
    char *bytes;
    size_t row_count, row_room, span_count, span_room, byte_count, byte_room;
    uint32_t *feature; /* of one row after the other, as the values */
    float *value;
    size_t feature_count, feature_room, value_room;
    skn_feature_row_t scratch;
    skn_feature_counts_t *counts;
    const skn_featurizer_t *featurizer; /* NULL: terms are counted */
    skn_error_t error;                  /* why its thread failed */
} skn_text_block_t;

typedef struct skn_text_blocks {
    skn_text_block_t *block; /* [count], one for each thread */
    uint32_t count;
    atomic_uint next; /* block that no thread has taken yet */
} skn_text_blocks_t;

/* Blocks whose rows are counted, or are made points of by `featurizer` unless
 * that is NULL. 0 threads: 1. False: no memory. */
bool skn_text_blocks_init(skn_text_blocks_t *blocks, uint32_t threads,
                          const skn_feature_options_t *options,
                          const skn_featurizer_t *featurizer);
void skn_text_blocks_fini(skn_text_blocks_t *blocks);

/* Forgets the rows. */
void skn_text_block_clear(skn_text_block_t *block);
/* Whether no further row belongs to the block. */
bool skn_text_block_is_full(const skn_text_block_t *block);
/* Copies a row. False: no memory. */
bool skn_text_block_add(skn_text_block_t *block,
                        const skn_records_row_t *record, bool is_bad);
/* Counts the terms of all rows, or makes points of them; block.error has the
 * status of each block afterwards. */
void skn_text_blocks_run(skn_text_blocks_t *blocks);

#endif
