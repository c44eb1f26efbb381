/* flight.h - the types of an output shard and of a batch in flight in it, and
 * the small sums that head.h, strips.h and smoothing.h share.
 *
 * One thread, the shard's.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_OUTPUT_FLIGHT_H
#define ACTORS_OUTPUT_FLIGHT_H

#include "actors/combine/merge.h"
#include "actors/samplers/sampler.h"
#include "kernels/topk.h"

typedef enum skn_loss {
    SKN_LOSS_IS_SOFTMAX,
    SKN_LOSS_IS_ONE_VS_ALL
} skn_loss_t;

/* Units whose logits are scanned at a time: [512][1024] floats stay in the
 * second-level cache, or near it. */
#define SKN_LOOK_UNITS 1024

/* Memory that grows. */
typedef struct skn_room {
    void *at;
    size_t bytes;
} skn_room_t;

/* A positive of a sample that the shard owns, and its position among the
 * units. */
typedef struct skn_strip_own {
    uint32_t slot, sample;
} skn_strip_own_t;

/* The state that a flight keeps for its strips: strips.h. */
typedef struct skn_strips {
    bool in_use;    /* this batch is computed by strips; else unused */
    uint32_t units; /* of a strip; the last may have fewer */
    /* The powers of the first strips, which are kept for the row gradients:
     * [units][stride] floats, or bf16; a column is a sample. */
    skn_room_t exp;
    skn_room_t greatest; /* floats, [strips][rows]: m when a strip's powers were
                          * taken */
    skn_room_t own; /* skn_strip_own_t: strip s has [own_first[s]] up to the
                     * next's */
    skn_room_t own_first; /* uint32_t */
} skn_strips_t;

typedef struct skn_flight {
    const skn_labels_t *labels; /* kept; NULL: the flight is free */
    uint32_t rows;
    float *hidden; /* [rows][hidden_stride] */
    skn_selection_t selection;
    float *logit; /* one group after another */
    size_t logit_room;
    size_t *group_logit; /* where each group's logits begin */
    uint32_t group_room;
    bool keeps_logits; /* until the row gradients; otherwise a leaf's are
                        * computed when needed, twice (fixed) */
    /* Positives that the shard owns: sample i has local rows
     * own[own_offset[i]..]. */
    uint32_t *own_offset, *own, *own_distinct;
    uint32_t own_room, own_distinct_count;
    float *greatest, *sum; /* [rows] of this shard's single leaf (fast) */
    float *root_greatest, *root_sum; /* [rows] M and Z over all shards */
    double positive_sum;             /* sum of y o over own positives */
    double negative_sum;             /* one-vs-all: sum of c softplus(o) */
    bool complete; /* M and Z are known (one-vs-all: from the start) */
    /* Merge late: (u, v) until M and Z are known; NULL otherwise. */
    skn_output_gradient_t *part; /* u, in pull */
    float *push;                 /* v, [rows][H] */
    skn_strips_t strips;
    /* Where the forward pass forms the row gradients, too, [units][H + 1], and
     * whether it adds to what is there: skn_head_forms_rows; NULL otherwise. */
    float *value;
    bool adds;
    skn_gradient_t *gradient; /* what has been formed; NULL otherwise, and where
                               * the batches of a step share one */
} skn_flight_t;

typedef struct skn_head {
    const skn_kernels_t *kernels;
    const skn_sampler_kind_t *sampler_kind;
    void *sampler; /* of its kind */
    skn_loss_t loss;
    bool fixed;           /* one leaf a block, not one a shard */
    bool half;            /* products multiply bf16 */
    bool late;            /* it normalises what it sends to the layer below */
    float smoothing;      /* of a softmax's targets: spread over all labels */
    float smooth_row;     /* smoothing / L */
    uint32_t strip_units; /* of a strip; 0: set by the cache size */
    size_t kept_bytes;    /* of powers of a batch, at most: strips.h */
    bool rows_change;     /* between a batch's forward pass and its gradient */
    uint64_t whole_every; /* every so many batches all logits are kept; 0:
                           * never */
    uint32_t hidden;      /* H */
    size_t hidden_stride;
    uint32_t row_first, row_count, block_rows, batch_rows;
    skn_merge_t merge;
    uint32_t node_count,
        node[SKN_TREE_NODES_MAX]; /* the nodes that this shard sends */
    const skn_rows_t *rows;       /* lent; set by the actor before each pass */
    float *scaled;                /* [batch_rows][hidden_stride] */
    float *work; /* [batch_rows][work_units]: exp, or logits to scan; or
                  * [units][stride] logits of a strip */
    size_t work_floats;
    skn_room_t turned; /* of strips: [H][stride], u; then 2 [stride], m and z */
    /* The packed factors of all products of strips, for logits and for row
     * gradients; and powers that no flight keeps. */
    skn_room_t packed, packed_scaled, powers;
    float *mean;      /* [2][hidden_stride]: smoothing.h */
    float *pull_rows; /* [batch_rows][H] of a group without all samples */
    void *gemm;
    size_t gemm_bytes;
    bool starved; /* no room for a product of skn_head_node: its sums are NaN */
    int32_t *slot;    /* [row_count], for several groups */
    uint32_t *open;   /* [2][batch_rows], if the shard sends packed values */
    skn_topk_t *topk; /* [batch_rows] */
    skn_flight_t *at; /* the flight whose leaves are computed */
} skn_head_t;

skn_status_t skn_flight_init(skn_flight_t *flight, const skn_head_t *head,
                             skn_error_t *error);
void skn_flight_fini(skn_flight_t *flight);

/* Helpers: skn_head_multiply computes a product with the head's scratch.
 * skn_head_lower_bound returns the position of `unit` in the ascending list [0,
 * count), or of the first that is not smaller. skn_head_target returns y of a
 * positive of sample i: its share of 1, or 1 for one-vs-all.
 * skn_head_refuse_label, below, returns SKN_BAD_MESSAGE for a label that is not
 * among the distinct ones. */
skn_status_t skn_head_multiply(skn_head_t *head, skn_gemm_t *job,
                               skn_error_t *error);
uint32_t skn_head_lower_bound(const uint32_t *list, uint32_t count,
                              uint32_t unit);
float skn_head_target(const skn_head_t *head, const skn_flight_t *flight,
                      uint32_t i);
/* The factor that turns e^(o - greatest) of sample i into p. */
float skn_head_share(const skn_flight_t *flight, uint32_t i, float greatest);
/* Fills row i of head->scaled: the hidden vector times `share` and 1 / rows. */
void skn_head_scale(skn_head_t *head, const skn_flight_t *flight, uint32_t i,
                    float share);
skn_status_t skn_head_refuse_label(const skn_head_t *head,
                                   const skn_flight_t *flight, uint32_t own,
                                   skn_error_t *error);

/* Whether the batch's draw is measured (diagnose.h), which takes all logits. */
static inline bool
skn_head_is_measured(const skn_head_t *head, const skn_flight_t *flight)
{
    return head->whole_every > 0 &&
           flight->labels->batch % head->whole_every == 0;
}

/* A sample without labels has no softmax loss, and so no gradient. */
static inline bool
skn_head_has_loss(const skn_head_t *head, const skn_flight_t *flight,
                  uint32_t i)
{
    const uint32_t *offset = flight->labels->offset.at;
    return head->loss == SKN_LOSS_IS_ONE_VS_ALL || offset[i] < offset[i + 1];
}

/* Whether v of a sample is not 0 here: the sample has a label of the shard, or
 * smoothing gives every label a part. */
static inline bool
skn_head_pushes(const skn_head_t *head, const skn_flight_t *flight, uint32_t i)
{
    return flight->own_offset[i] < flight->own_offset[i + 1] ||
           (head->smoothing > 0 && skn_head_has_loss(head, flight, i));
}

#endif
