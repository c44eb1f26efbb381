/* combining.h - merges the parts of a node's shards before they leave the node.
 *
 *     shard 0   nodes 0, 1 of the tree  ─┐
 *     shard 1   nodes 2, 3              ─┴─▶  the node above all four
 *
 * The results are nodes of the tree in which the receiver would have merged the
 * parts (merge.h): the fewest that cover the shards' leaves, with the bits that
 * they would have had there. If no tree has to be kept (reduction `fast`), the
 * result is one node, which is a leaf of the receiver's tree. Packed gradients
 * stay packed (packing.h): all shards of a node saw one activation, and leave
 * out the same positions.
 *
 * One thread, the actor's.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_COMBINE_COMBINING_H
#define ACTORS_COMBINE_COMBINING_H

#include "actors/combine/merge.h"
#include "skein/actor.h"

/* A shard's gradient of one slice of the layer below, from an output_gradient
 * or a hidden_gradient; its runs are those of the message. */
typedef struct skn_share {
    const void *message; /* NULL: there is none */
    bool is_sum;         /* a hidden_gradient, which is only summed */
    bool normalised;     /* it belongs to a partition */
    uint64_t batch;
    uint32_t shard, rows, column_first, columns;
    skn_u32s_t open, pushed, node;
    skn_f32s_t pull, push;
} skn_share_t;

skn_share_t skn_share_of_output(const skn_output_gradient_t *message);
skn_share_t skn_share_of_hidden(const skn_hidden_gradient_t *message);

typedef struct skn_combining {
    /* set by the owner before init */
    const char *name; /* name of the actor, for messages */
    uint32_t shard_first, shards;
    uint32_t batch_rows, columns; /* greatest of each */
    uint32_t leaf_first, leaves;  /* leaves of the shards */
    uint32_t tree_leaves;         /* leaves of the whole tree */
    int64_t as_leaf;              /* leaf to send as; -1: send the nodes */
    /* private */
    skn_merge_t merge;
    uint32_t node_count, node[SKN_TREE_NODES_MAX]; /* nodes that are sent */
    skn_tree_node_t *nodes; /* [shards][SKN_TREE_NODES_MAX] nodes to merge */
    float *greatest;        /* [2][batch_rows]: greatest, sum */
    float *push;            /* [batch_rows][columns] */
    size_t *begin;          /* [batch_rows + 1] */
    uint32_t *pushed;       /* [batch_rows] */
} skn_combining_t;

/* SKN_BAD_CONFIG for leaves that are not in the tree, or do not fit as_leaf.
 * Freed by skn_combining_fini, also after a failure. */
skn_status_t skn_combining_init(skn_combining_t *combining, skn_error_t *error);
void skn_combining_fini(skn_combining_t *combining);

/* Checks that a part has the sizes in its header. SKN_BAD_MESSAGE. */
skn_status_t skn_combining_check_partition(const skn_combining_t *combining,
                                           const skn_partition_t *part,
                                           skn_error_t *error);
skn_status_t skn_combining_check_share(const skn_combining_t *combining,
                                       const skn_share_t *share,
                                       skn_error_t *error);

/* Merge and post parts that were checked: parts[shards], by shard, of one batch
 * and with equal numbers of rows. `partitions` are those of the shares if these
 * are normalised. SKN_BAD_MESSAGE if they do not fit together,
 * SKN_NO_MEMORY. */
skn_status_t skn_combining_partitions(skn_combining_t *combining,
                                      skn_actor_t *actor,
                                      const skn_partition_t *const *parts,
                                      skn_error_t *error);
skn_status_t skn_combining_shares(skn_combining_t *combining,
                                  skn_actor_t *actor, const skn_share_t *parts,
                                  const skn_partition_t *const *partitions,
                                  skn_error_t *error);

#endif
