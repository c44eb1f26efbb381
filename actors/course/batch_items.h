/* batch_items.h - the kinds of data that batches are made of: each a table of
 * functions.
 *
 * An item is what is drawn and ordered as a whole: a point of a data set, or a
 * sequence of a text. For batches.c and the kinds only; one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_COURSE_BATCH_ITEMS_H
#define ACTORS_COURSE_BATCH_ITEMS_H

#include "actors/course/batches.h"

struct skn_batch_kind {
    /* Training drops items at the end of an epoch that do not fill a batch. */
    bool only_whole_batches;
    /* Opens the data; fills `items`, `item_rows`, `has_test`, `data_hash` and
     * `data`, the kind's own. Sizes, seed and test_rows are there already. */
    skn_status_t (*open)(skn_batches_t *batches, const skn_actor_t *actor,
                         skn_error_t *error);
    /* Fills `points` from `row` on with the item_rows points of `item`, which
     * live until the next batch. */
    void (*look_up)(skn_batches_t *batches, uint32_t purpose, uint64_t item,
                    uint32_t row);
    /* Also after a failure, and if open was not called: then `data` is NULL. */
    void (*close)(skn_batches_t *batches);
};

extern const skn_batch_kind_t skn_batch_points, skn_batch_text;

#endif
