/* ranker.h - linear models over the features of a point, which reorder the best
 * labels of a network.
 *
 * A network compresses a point into some hundred numbers, and a label with
 * three points has hardly been learnt by the end. The features of the points of
 * such labels are still in the data. Labels are the leaves of some trees of
 * similar labels; each node n below a root has a margin z_n = b_n + w_n . x,
 * which separates points of its labels from those of its neighbours. With
 * path(l), the nodes from label l up to the root, the network's best labels are
 * ordered by
 *
 *     log p_l - SHARE * mean over trees of  sum over n in path(l) of
 *                                               max(0, 1 - z_n)^2
 *
 * the squared hinge by which the rows were fitted
 * (topology/predict/ranker_fit.h), so a label that the features support is not
 * penalised. Trees: Prabhu, Kag, Harsola, Agrawal, Varma, "Parabel" (WWW 2018);
 * two stages: Yu, Zhong, Zhang, Chang, Dhillon, "PECOS" (2022), section 3.
 *
 * Read-only once it is loaded: any number of threads.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PREDICT_RANKER_H
#define ACTORS_PREDICT_RANKER_H

#include <stdbool.h>
#include <string.h>

#include "formats/checkpoint/checkpoint.h"

/* Labels of the network that are reordered; those after them are taken to be no
 * better than the last of these. */
#define SKN_RANKER_CANDIDATES 30u

/* One in SHOWN_EACH training points is given to the network, which answers with
 * NEIGHBOURS labels. A ranker has one weight for every PARAMETERS_A_WEIGHT
 * parameters of the network. Decision 0027 has what was tried. */
#define SKN_RANK_SHOWN_EACH 3u
#define SKN_RANK_NEIGHBOURS 20u
#define SKN_RANK_PARAMETERS_A_WEIGHT 2u

/* A row may keep this many weights in addition to its share. */
#define SKN_RANKER_ROW_WEIGHTS_MIN 64u

/* A point's features, ascending, and their values. */
typedef struct skn_sparse {
    const uint32_t *feature;
    const float *value;
    size_t count;
} skn_sparse_t;

/* { 0 }: no ranker. */
typedef struct skn_ranker {
    uint32_t label_count, feature_count, tree_count, node_count;
    uint64_t weight_count;
    uint32_t *parent;  /* [node_count]; UINT32_MAX: below a root */
    uint32_t *leaf;    /* [tree_count][label_count]; UINT32_MAX: in no tree */
    uint64_t *offset;  /* [node_count + 1] into `feature` and `weight` */
    uint32_t *feature; /* [weight_count], ascending within a node */
    float *weight;     /* [weight_count]; NULL: they are bf16 */
    const uint16_t *weight_bf16;
    float *bias;  /* [node_count] */
    bool is_lent; /* the arrays are in a mapped file (ranker_slim.c) */
} skn_ranker_t;

static inline float
skn_ranker_weight(const skn_ranker_t *ranker, uint64_t at)
{
    float weight;
    if (ranker->weight)
        return ranker->weight[at];
    uint32_t bits = (uint32_t)ranker->weight_bf16[at] << 16;
    memcpy(&weight, &bits, sizeof(weight));
    return weight;
}

/* Nodes above each other, including the label's own. */
#define SKN_RANKER_DEPTH_MAX 64u

void skn_ranker_fini(skn_ranker_t *ranker);

/* Reads the ranker of the output layer `layer`; { 0 } if the checkpoint has
 * none. Freed by skn_ranker_fini, also after a failure. SKN_BAD_DATA for one
 * that does not fit the network, or is damaged; SKN_NO_MEMORY. */
skn_status_t skn_ranker_load(skn_ranker_t *ranker, skn_checkpoint_t *checkpoint,
                             const char *layer, uint32_t feature_count,
                             uint32_t label_count, skn_error_t *error);
/* Checks all indices, so that no look-up leaves the arrays, whatever a file
 * contains: `path` and `layer` name it. SKN_BAD_DATA, SKN_NO_MEMORY. */
skn_status_t skn_ranker_check(const skn_ranker_t *ranker, const char *path,
                              const char *layer, skn_error_t *error);
/* Writes the ranker as a separate file of an unfinished checkpoint. */
skn_status_t skn_ranker_write(const skn_ranker_t *ranker,
                              skn_checkpoint_writer_t *writer,
                              const char *layer, skn_error_t *error);
/* The bytes of a ranker in memory, and in a checkpoint. */
uint64_t skn_ranker_bytes(const skn_ranker_t *ranker);
/* The same for the ranker of a checkpoint; 0: none. */
uint64_t skn_ranker_bytes_of(const skn_checkpoint_t *checkpoint,
                             const char *layer);

/* The margin z of one node. */
float skn_ranker_margin(const skn_ranker_t *ranker, uint32_t node,
                        const skn_sparse_t *point);
/* Reorders `count` labels of a point with their probabilities, best first, ties
 * by the lower label; count <= SKN_TOPK_MAX. `is_share`: the probabilities are
 * shares of all labels, and the total of these labels is divided among them
 * again; else each is independent. False: a sum is not finite, and the order
 * means nothing. */
bool skn_ranker_order(const skn_ranker_t *ranker, const skn_sparse_t *point,
                      bool is_share, uint32_t count, uint32_t *label,
                      float *probability);

#endif
