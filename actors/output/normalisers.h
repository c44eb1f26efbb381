/* normalisers.h - m + log z of the shards beside, as they come, and estimates
 * of those that do not.
 *
 * With `late: stale` an output shard puts the normaliser of a batch together
 * itself. A sender's part that is late is replaced by the mean of what it said
 * of late, over the samples: one mean for samples that have a label in this
 * shard, and one for those that have not, since whoever has the label says much
 * more than the others. Why: docs/decisions/0016-late-parts.md.
 *
 *     log Z = log sum_k exp(l_k),   l_k = m_k + log z_k, or its mean
 *
 * Pure: no clock, no messages.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_OUTPUT_NORMALISERS_H
#define ACTORS_OUTPUT_NORMALISERS_H

#include <stdbool.h>
#include <stdint.h>

#include "actors/combine/merge.h"
#include "skein/error.h"

typedef struct skn_normaliser { /* of one batch */
    uint64_t batch;
    bool used, done;
    uint32_t rows, count; /* of samples; of parts that are here */
    uint32_t left;        /* parts that were not waited for: the owner's */
    bool *here;           /* [senders] */
    bool *own;  /* [batch_rows] has a label in this shard; once done */
    float *log; /* [senders][batch_rows] */
} skn_normaliser_t;

typedef struct skn_normalisers {
    uint32_t senders, batch_rows, slots;
    skn_normaliser_t *slot; /* batch t at t % slots */
    bool *here, *own;
    float *log;
    float *mean;    /* [senders][2]: 0: no label in this shard, 1: one */
    bool *is_known; /* [senders][2] */
    skn_tree_node_t *nodes; /* [senders] */
} skn_normalisers_t;

/* Batches that are apart by less than `slots` may be in work at a time. Freed
 * by fini, also after a failure. SKN_NO_MEMORY. */
skn_status_t skn_normalisers_init(skn_normalisers_t *normalisers,
                                  uint32_t senders, uint32_t batch_rows,
                                  uint32_t slots, skn_error_t *error);
void skn_normalisers_fini(skn_normalisers_t *normalisers);

/* That of a batch which is not done yet: a new one, if it is not there. */
skn_normaliser_t *skn_normalisers_of(skn_normalisers_t *normalisers,
                                     uint64_t batch);
/* A sender's part, log[rows], is copied. False: it has come before, or is of
 * another number of samples than others. */
bool skn_normalisers_take(skn_normalisers_t *normalisers,
                          skn_normaliser_t *normaliser, uint32_t sender,
                          const float *log, uint32_t rows);
/* The same of a batch that is done, perhaps long ago: it is learnt from. */
void skn_normalisers_late(skn_normalisers_t *normalisers, uint64_t batch,
                          uint32_t sender, const float *log, uint32_t rows);
/* Whether what is missing can be estimated. */
bool skn_normalisers_can_do_without(const skn_normalisers_t *normalisers,
                                    const skn_normaliser_t *normaliser);
/* Learns from the parts that are here, and fills in the others; once a batch.
 * own_offset[rows + 1]: sample i has labels in this shard where it ascends.
 * Leaves of a tree of `senders` leaves, valid until the next call; logs
 * alone. */
const skn_tree_node_t *skn_normalisers_complete(skn_normalisers_t *normalisers,
                                                skn_normaliser_t *normaliser,
                                                const uint32_t *own_offset);

#endif
