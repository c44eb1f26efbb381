/* split.h - splits a training file into training and validation points.
 *
 * A point validates if its own draw, keyed by (seed, point), is below the
 * share; points without labels are in neither set. The source and the plan must
 * agree.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_SPLIT_H
#define ACTORS_PROTOCOL_SPLIT_H

#include "formats/dataset/dataset.h"

typedef struct skn_split {
    uint32_t *train, *validate; /* points, ascending */
    uint32_t train_count, validate_count;
} skn_split_t;

/* SKN_BAD_DATA if no point is left to train on; SKN_NO_MEMORY. */
skn_status_t skn_split_init(skn_split_t *split, const skn_dataset_t *dataset,
                            double validate, uint64_t seed, skn_error_t *error);
void skn_split_fini(skn_split_t *split);

/* The number of batches that `points` points make; the last may be short. */
static inline uint64_t
skn_split_batches(uint64_t points, uint64_t batch_rows)
{
    return (points + batch_rows - 1) / batch_rows;
}

/* The batches of a training epoch of `items` points, or sequences, that come in
 * batches of `batch_items`: a multiple of `accumulate`, so that an epoch has
 * whole steps. With `only_whole` a short last batch is dropped, too. */
static inline uint64_t
skn_split_epoch(uint64_t items, uint64_t batch_items, bool only_whole,
                uint64_t accumulate)
{
    uint64_t batches = only_whole ? items / batch_items
                                  : skn_split_batches(items, batch_items);
    return batches - batches % accumulate;
}

#endif
