/* data.h - opens the data files of a run with the same options everywhere, so
 * that the binary copy is made once and shared.
 *
 * The test set is a file of its own, or a share of the rows of the training
 * file that is held back.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_DATA_H
#define ACTORS_PROTOCOL_DATA_H

#include "actors/protocol/settings.h"
#include "formats/dataset/dataset.h"
#include "formats/dataset/vocabulary.h"

typedef struct skn_data {
    const char *train, *test;  /* paths; test "": none */
    const char *preprocessing; /* of rows of texts; "": numbered features */
    double held_back;          /* share of `train` that is the test set; 0:
                               * `test` is */
    double bad_rows; /* numbered features: share of lines that may be bad */
    const char *normalize;     /* "l2" or "none" */
    const char *cache;         /* "auto", "none", or the stem of the copies */
    uint64_t memory_bytes;     /* buffers while the copy is made; 0: default */
    uint32_t threads;          /* that make points of rows of texts; 0: 1 */
    uint32_t features, labels; /* sizes of the model; 0: those of the file */
    bool questions;            /* `test` has points to predict:
                                * skn_dataset_options_t */
    const skn_vocabulary_t *vocabulary; /* of texts; NULL: that which the
                                         * training set has */
} skn_data_t;

/* Options of a kind of actor that reads a data set, beside `train`. */
/* clang-format off */
#define SKN_DATA_OPTIONS                                                       \
    { "preprocessing", SKN_OPTION_TEXT, "", 0, 0, NULL,                        \
      "how rows of texts become points; empty: the features are numbered" },   \
    { "bad_rows", SKN_OPTION_REAL, "0", 0, 1, NULL,                            \
      "numbered features: greatest share of lines that cannot be read and "    \
      "are left out" },                                                        \
    SKN_OPTION_OF("held_back", "0", SKN_SETTING_HELD_BACK),                    \
    SKN_OPTION_OF("normalize", "l2", SKN_SETTING_NORMALIZE),                   \
    { "cache", SKN_OPTION_TEXT, "auto", 0, 0, NULL,                            \
      "auto: keep a binary copy beside the file; none: keep no copy" }
/* clang-format on */
/* The options of `actor`, which has SKN_DATA_OPTIONS and `train`. */
skn_data_t skn_data_of(const skn_actor_t *actor);

/* Whether there is a test set. */
bool skn_data_has_test(const skn_data_t *data);

/* A hash of the files of a run, whatever they are packed with: of `dataset`
 * and, in `before`, of the files before it; 0: it is the first. Nodes that
 * train together must have the same. */
uint64_t skn_data_hash(uint64_t before, const skn_dataset_t *dataset);

/* Opens the training set. Features and labels that the model lacks are refused.
 * As skn_dataset_open. */
skn_status_t skn_data_open_train(const skn_data_t *data,
                                 skn_dataset_t **dataset, skn_error_t *error);
/* Opens the test set. Features and labels that the model lacks are left out.
 * `train` is the training set, whose vocabulary is used, unless the data have
 * one; otherwise it may be NULL. As skn_dataset_open. */
skn_status_t skn_data_open_test(const skn_data_t *data,
                                const skn_dataset_t *train,
                                skn_dataset_t **dataset, skn_error_t *error);

#endif
