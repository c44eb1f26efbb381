/* data.h - opening a data file the same way wherever it is opened, so that the
 * binary copy is made once and shared.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_DATA_H
#define ACTORS_PROTOCOL_DATA_H

#include "formats/dataset/dataset.h"

typedef struct skn_data {
    const char *normalize;     /* "l2" or "none" */
    const char *cache;         /* "auto", "none", or the stem of the copies */
    uint64_t memory_bytes;     /* buffers while the copy is made; 0: default */
    uint32_t features, labels; /* sizes of the model; 0: the file's own */
    bool questions; /* the "test" file is asked: skn_dataset_options_t */
} skn_data_t;

/* A number for the files of a run, whatever they are packed with: of `dataset`
 * and, `before` it, of the others; 0: it is the first. Nodes that train
 * together must have the same. */
uint64_t skn_data_hash(uint64_t before, const skn_dataset_t *dataset);

/* Opens `path`, which is the run's "train" or "test" file. What the model does
 * not have is refused in the one, and left out of the other. As
 * skn_dataset_open. */
skn_status_t skn_data_open(const skn_data_t *data, const char *path,
                           const char *which, skn_dataset_t **dataset,
                           skn_error_t *error);

#endif
