/* data.h - opens the data files of a run with the same options everywhere, so
 * that the binary copy is made once and shared.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_DATA_H
#define ACTORS_PROTOCOL_DATA_H

#include "formats/dataset/dataset.h"

typedef struct skn_data {
    const char *normalize;     /* "l2" or "none" */
    const char *cache;         /* "auto", "none", or the stem of the copies */
    uint64_t memory_bytes;     /* buffers while the copy is made; 0: default */
    uint32_t features, labels; /* sizes of the model; 0: those of the file */
    bool questions;            /* the "test" file has points to predict:
                                * skn_dataset_options_t */
} skn_data_t;

/* A hash of the files of a run, whatever they are packed with: of `dataset`
 * and, in `before`, of the files before it; 0: it is the first. Nodes that
 * train together must have the same. */
uint64_t skn_data_hash(uint64_t before, const skn_dataset_t *dataset);

/* Opens `path`, the run's "train" or "test" file. Features and labels that the
 * model lacks are refused in the first and left out of the second. As
 * skn_dataset_open. */
skn_status_t skn_data_open(const skn_data_t *data, const char *path,
                           const char *which, skn_dataset_t **dataset,
                           skn_error_t *error);

#endif
