/* network.h - the weights of a whole network and its forward pass, for
 * prediction outside of training.
 *
 * It has no actors and no shards: all layers are in one place, and are
 * read-only once they are loaded. The arithmetic is that of embedding.c,
 * dense.c and skn_head_rank_all, so that logits have the same bits as in an
 * evaluation during training.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PREDICT_NETWORK_H
#define ACTORS_PREDICT_NETWORK_H

#include "actors/predict/ranker.h"
#include "actors/rows/rows.h"
#include "actors/predict/shortlist.h"
#include "formats/checkpoint/checkpoint.h"
#include "skein/predictor.h"

#define SKN_NETWORK_LAYERS_MAX 64u

/* Points of one pass: its activations stay in the second-level cache. */
#define SKN_NETWORK_POINTS_MAX 256u

/* Rows that stay as a mapped file has them, in fewer bytes than the arithmetic
 * uses; each is widened when it is used. { 0 }: the layer's rows are others. */
typedef struct skn_packed {
    const uint16_t *bf16; /* [rows][width], of the first layer */
    const int8_t *i8;     /* [rows][width], without the bias */
    const float *scale;   /* i8: [rows], what 1 is worth */
    const float *bias;    /* i8: [units] */
} skn_packed_t;

typedef struct skn_network {
    const skn_kernels_t *kernels;
    /* layer 0: [features with a row + 1][units], the bias last; the others
     * [units][units below + 1], the bias last in each row. */
    skn_rows_t rows[SKN_NETWORK_LAYERS_MAX];
    skn_packed_t
        packed[SKN_NETWORK_LAYERS_MAX];     /* no memory of its rows then */
    uint32_t units[SKN_NETWORK_LAYERS_MAX]; /* the last: number of labels */
    uint32_t layer_count, feature_count;
    uint32_t units_max; /* most units of a hidden layer */
    bool softmax;
    uint64_t parameter_count;
    skn_shortlist_t shortlist; /* last layer's index; empty: all are ranked */
    skn_ranker_t ranker;       /* ranker of the best labels; { 0 }: none */
    /* If features were pruned (network_slim.h): those that have a row of layer
     * 0, ascending, in the mapped file; and the row of each feature, or
     * UINT32_MAX. NULL: each feature has its own. */
    const uint32_t *kept;
    uint32_t *row_of;
    uint32_t kept_count;
} skn_network_t;

/* Reads NAME.weight and NAME.bias of each named layer, input first, and the
 * ranker of the last one if there is one. They may use `memory_bytes_max`.
 * `network` is { .softmax }; freed with skn_network_fini, also after a failure.
 * SKN_BAD_DATA if they do not fit each other, or are damaged. */
skn_status_t skn_network_load(skn_network_t *network,
                              skn_checkpoint_t *checkpoint,
                              const char *const *layer, uint32_t layer_count,
                              uint64_t memory_bytes_max, skn_error_t *error);
void skn_network_fini(skn_network_t *network);
/* Sets what does not depend on where weights come from. SKN_BAD_CONFIG. */
skn_status_t skn_network_begin(skn_network_t *network, uint32_t layer_count,
                               skn_error_t *error);
/* SKN_NO_MEMORY and the sentence if a model of `bytes` bytes does not fit into
 * `memory_bytes_max`. */
skn_status_t skn_network_check_room(uint64_t bytes, uint64_t memory_bytes_max,
                                    skn_error_t *error);

static inline bool
skn_network_is_packed(const skn_network_t *network, uint32_t at)
{
    return network->packed[at].i8 || network->packed[at].bf16;
}

/* Writes a row of layer `at` as floats, [width]. */
void skn_network_row(const skn_network_t *network, uint32_t at, uint32_t row,
                     float *weight);

/* From now on only the rows that the index finds are ranked, and probabilities
 * are relative to these rows. 0 lists or 0 probes: values that suit the layer.
 * A second index replaces the first, which stays if there is no memory. Packed
 * rows of the last layer are widened for good.
 * SKN_USAGE for numbers out of range. */
skn_status_t skn_network_index(skn_network_t *network, uint32_t lists,
                               uint32_t probes, skn_error_t *error);

/* The memory of a pass, for the next one to use again. Freed after each pass it
 * may go back to the system each time, and return page by page
 * (docs/decisions/0032-a-batcher-without-a-thread.md). { 0 } is empty. */
typedef struct skn_pass_memory {
    void *block;
    size_t bytes;
} skn_pass_memory_t;

void skn_pass_memory_fini(skn_pass_memory_t *memory);

/* The k best labels of at most SKN_NETWORK_POINTS_MAX points, whose features
 * are in range and ascending, and whose values are already scaled. As
 * skn_predictor_best; but if the sums of a point overflow the call continues,
 * and that point's labels are UINT32_MAX, its scores NaN. Any number of
 * threads, each with memory of its own. */
skn_status_t skn_network_best(const skn_network_t *network,
                              skn_pass_memory_t *memory,
                              const skn_points_t *points, uint32_t k,
                              uint32_t *label, float *score,
                              skn_error_t *error);

#endif
