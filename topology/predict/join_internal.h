/* join_internal.h - types and functions that the sources of a join share:
 * join.c writes weights, join_text.c the config and the metadata.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_JOIN_INTERNAL_H
#define TOPOLOGY_PREDICT_JOIN_INTERNAL_H

#include "formats/text/json_text.h"
#include "topology/predict/join.h"
#include "topology/run/trained.h"

/* One layer of all networks; a span is the part of one network. */
typedef struct skn_join_layer {
    const char *name;
    bool input, output;
    skn_dtype_t dtype;      /* format of its weights when they are joined */
    uint64_t rows, columns; /* shape of its weights */
    uint64_t units;         /* columns of the first layer, rows of others */
    uint64_t span_rows[SKN_ENSEMBLE_MAX], span_columns[SKN_ENSEMBLE_MAX];
    skn_checkpoint_shard_t *shard;
    float *chunk;   /* [chunk_numbers]: rows, or biases */
    uint16_t *half; /* same length: numbers read or written as bf16 */
    uint64_t chunk_rows, chunk_numbers;
} skn_join_layer_t;

typedef struct skn_join {
    const char *into;
    const char *const *path;
    size_t count; /* number of networks */
    skn_trained_t part[SKN_ENSEMBLE_MAX];
    skn_join_layer_t *layer; /* [layer_count] */
    size_t layer_count;
    skn_run_folder_t *run;
    skn_checkpoint_writer_t *writer;
    skn_joined_t *joined;
    skn_join_extra_t extra;
} skn_join_t;

/* Writes the line of a part's config that identifies the vocabulary of texts,
 * "" if it has none. Returns `line`. */
#define SKN_JOIN_LINE_BYTES 64u
const char *skn_join_vocabulary(const char *config,
                                char line[SKN_JOIN_LINE_BYTES]);
/* The config of the first network, adapted to the joint one; the caller frees
 * it. NULL: SKN_NO_MEMORY, or it is no config. */
char *skn_join_config(const skn_join_t *join, skn_error_t *error);
/* Appends the metadata of the joint checkpoint: its progress, the networks
 * joined, and the epochs of each network, with its number if there are
 * several. */
skn_status_t skn_join_metadata(const skn_join_t *join, skn_json_text_t *text,
                               skn_error_t *error);

#endif
