/* batches.h - makes the batches of a run from the data and a batch number.
 *
 * The points of batch t follow from the seed, the sizes and t alone, so that
 * the source and the readers of other nodes make the same batches, each from
 * its own copy of the data. The data are a data set or a text (batch_items.h).
 * One thread, the actor's.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_COURSE_BATCHES_H
#define ACTORS_COURSE_BATCHES_H

#include "actors/protocol/corpus.h"
#include "actors/protocol/data.h"
#include "actors/protocol/messages.h"
#include "actors/protocol/rowset.h"
#include "actors/protocol/settings.h"
#include "skein/actor.h"

typedef struct skn_batch_kind skn_batch_kind_t;

/* The items of a pass, in order: of `list`, or 0, 1, ... if it is NULL. */
typedef struct skn_batch_items {
    const uint32_t *list;
    uint64_t count;
} skn_batch_items_t;

typedef struct skn_batches {
    const skn_batch_kind_t *kind;
    void *data; /* the kind's own */
    skn_batch_items_t items[SKN_PURPOSE_COUNT];
    bool has_test;
    uint32_t item_rows, batch_rows, feature_count, label_count;
    uint64_t seed, test_rows, data_hash;
    uint64_t per_epoch; /* batches */
    uint32_t *order;    /* the training items of epoch order_epoch */
    uint64_t order_epoch;
    /* scratch for the batch in work */
    skn_dataset_point_t *points; /* [batch_rows] */
    uint32_t *place; /* [features] distinct number + 1; 0: not seen */
    uint32_t *met;   /* [met_room] distinct numbers of the batch in work */
    size_t met_room;
    skn_rowset_t met_labels; /* labels of the batch in work; empty in between */
} skn_batches_t;

/* clang-format off */
/* The options that skn_batches_open reads. */
#define SKN_BATCHES_OPTIONS                                                    \
    { "train", SKN_OPTION_PATH, NULL, 0, 0, NULL, "training file" },           \
        { "test", SKN_OPTION_PATH, "", 0, 0, NULL, "test file" },              \
        { "questions", SKN_OPTION_BOOL, "false", 0, 0, NULL,                   \
          "the test file has points to predict: keep bad lines, marked" },     \
        SKN_DATA_OPTIONS,                                                      \
        { "memory_bytes", SKN_OPTION_INT, "67108864", 1 << 20, 1e15, NULL,     \
          "memory for buffers while the binary copy is made" },                \
        { "features", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL,             \
          "number of input features of the model" },                           \
        { "labels", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL,               \
          "number of labels of the model" },                                   \
        SKN_TEXT_OPTIONS,                                                      \
        SKN_OPTION_OF("context", "256", SKN_SETTING_CONTEXT),                  \
        SKN_OPTION_OF("batch_rows", NULL, SKN_SETTING_BATCH_ROWS),             \
        SKN_OPTION_OF("accumulate", "1", SKN_SETTING_ACCUMULATE),              \
        SKN_OPTION_OF("seed", "1", SKN_SETTING_SEED),                          \
        SKN_OPTION_OF("validate", "0", SKN_SETTING_VALIDATE),                  \
        SKN_OPTION_OF("test_rows", "0", SKN_SETTING_TEST_ROWS)
/* clang-format on */

/* Opens the data and allocates. Freed by skn_batches_close, also after a
 * failure. As skn_data_open_train and skn_corpus_open; SKN_BAD_DATA,
 * SKN_BAD_CONFIG, SKN_NO_MEMORY. */
skn_status_t skn_batches_open(skn_batches_t *batches, const skn_actor_t *actor,
                              skn_error_t *error);
void skn_batches_close(skn_batches_t *batches);

/* The number of batches in an evaluation pass over all its points. */
uint64_t skn_batches_of_pass(const skn_batches_t *batches,
                             skn_purpose_t purpose);

/* Makes the labels and the batch that `issue` names and posts them, each if it
 * has a receiver. SKN_BAD_MESSAGE if there is no such batch. */
skn_status_t skn_batches_post(skn_batches_t *batches, skn_actor_t *actor,
                              const skn_issue_t *issue, skn_error_t *error);

#endif
