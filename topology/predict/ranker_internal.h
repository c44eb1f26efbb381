/* ranker_internal.h - types that the sources of ranker fitting share: groups of
 * labels, and the state of a thread that works on one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_RANKER_INTERNAL_H
#define TOPOLOGY_PREDICT_RANKER_INTERNAL_H

#include <pthread.h>

#include "topology/predict/ranker_fit.h"

/* A label, and how much more similar it is to the first half than to the
 * second. */
typedef struct skn_ranker_key {
    double likeness;
    uint32_t label;
} skn_ranker_key_t;

/* Labels that are together under one node. */
typedef struct skn_ranker_group {
    uint32_t tree, first, end; /* range in the label order of the tree */
    bool is_split;             /* false: each label is a node of its own */
    uint32_t node[2];          /* the halves' nodes, or the first label's */
    uint32_t below[2];         /* groups of the halves */
    /* rows of its nodes, one after the other */
    uint32_t *feature;
    float *weight;
    size_t count, room;
} skn_ranker_group_t;

/* All trees while they grow. */
typedef struct skn_ranker_grove {
    const skn_ranker_source_t *source;
    skn_ranker_t *ranker;
    uint32_t label_count; /* labels that have points */
    uint32_t *label;      /* [trees][label_count] in the order of the tree */
    skn_ranker_group_t *group;
    uint32_t group_count, node_count;
    float *norm;   /* [labels] 1 / length of the sum of a label's points */
    float *square; /* [points] |x|^2 + 1 */
    /* under the mutex */
    uint32_t *ready, ready_count; /* groups that no thread has taken */
    uint32_t left;                /* groups that are not done */
    bool failed;                  /* out of memory */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} skn_ranker_grove_t;

/* The state of one thread. */
typedef struct skn_ranker_worker {
    skn_ranker_grove_t *grove;
    /* by feature */
    float *w;          /* weights of a row; 0 between rows */
    float *other;      /* the second centroid; 0 between groups */
    uint32_t *touched; /* features whose w may be other than 0 */
    size_t touched_count;
    bool *is_touched;
    /* by point */
    uint32_t *seen; /* number of the last group that had the point */
    uint32_t stamp;
    float *score;    /* scores of the group's points, by the centroids */
    uint8_t *side;   /* group's points: 1, 2 or both; otherwise 0 */
    uint32_t *point; /* the group's points */
    size_t point_count;
    /* by label of a group */
    skn_ranker_key_t *key;
    /* examples of a row, in the order of this round: point * 2 + 1 if it has a
     * label of the node, else point * 2 */
    uint32_t *example;
    double *alpha;
    size_t example_count;
    float bias;
    uint64_t state; /* state of the generator */
} skn_ranker_worker_t;

bool skn_ranker_worker_init(skn_ranker_worker_t *worker,
                            skn_ranker_grove_t *grove);
void skn_ranker_worker_fini(skn_ranker_worker_t *worker);
/* Fills grove->norm and grove->square. */
bool skn_ranker_measure(skn_ranker_worker_t *worker);
/* Splits the labels of a group, offers its halves, fits its rows. */
bool skn_ranker_work(skn_ranker_worker_t *worker, skn_ranker_group_t *group);
/* Makes the halves of `group` available to all threads. */
void skn_ranker_offer(skn_ranker_grove_t *grove,
                      const skn_ranker_group_t *group);

/* A number below `below`, which is not 0. */
uint64_t skn_ranker_draw(skn_ranker_worker_t *worker, uint64_t below);
/* Orders the labels of a group, whose points were collected, so that halves of
 * similar ones are adjacent; sets `side` of the points. */
void skn_ranker_part(skn_ranker_worker_t *worker,
                     const skn_ranker_group_t *group);

#endif
