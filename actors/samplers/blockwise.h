/* blockwise.h - draws a simple random sample of rows from each block, for the
 * even draws of samplers.
 *
 * Block b of R rows gives m_b of the m rows, without replacement (Floyd's
 * algorithm, Bentley & Floyd 1987). Whether a row is drawn depends only on
 * (seed, batch, its block): the same rows are drawn for any division of blocks
 * among shards.
 *     m >= n blocks: m_b = floor((b + 1) m / n) - floor(b m / n), pi = m_b / R.
 *     m < n blocks: the same with a random start u below n for each batch,
 *     floor(((b + 1) m + u) / n) - .., 0 or 1, so that pi = m / n / R and no
 *     block is left out for ever (systematic sampling, Madow 1949).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_SAMPLERS_BLOCKWISE_H
#define ACTORS_SAMPLERS_BLOCKWISE_H

#include "actors/samplers/sampler.h"

typedef struct skn_blockwise {
    skn_sampler_options_t options;
    uint64_t draws;                    /* m, over all shards */
    uint64_t blocks;                   /* n, of the layer */
    uint32_t block_first, block_count; /* of the shard */
    double *chance;                    /* [block_count] pi */
    uint32_t room;                     /* the most rows of a draw */
    uint32_t *row;                     /* the last draw: local, ascending, */
    float *weight;                     /* 1/pi, capped */
    uint32_t count;
} skn_blockwise_t;

/* SKN_NO_MEMORY. Freed by skn_blockwise_fini, also after a failure. */
skn_status_t skn_blockwise_init(skn_blockwise_t *blockwise,
                                const skn_sampler_options_t *options,
                                uint64_t draws, skn_error_t *error);
void skn_blockwise_fini(skn_blockwise_t *blockwise);
/* Fills row, weight and count with the draw of `batch`. */
void skn_blockwise_draw(skn_blockwise_t *blockwise, uint64_t batch);
/* pi of local row `row`, for every batch. */
double skn_blockwise_chance(const skn_blockwise_t *blockwise, uint32_t row);
/* One group: the labels of the batch and the draw of query->batch. */
skn_status_t skn_blockwise_select(skn_blockwise_t *blockwise,
                                  const skn_sampler_query_t *query,
                                  skn_selection_t *selection,
                                  skn_error_t *error);

#endif
