/* diagnose.h - measures the quality of a sampler's draw on a few samples, every
 * so many batches.
 *
 * For a few samples, all logits of the shard's rows are computed: the mass is
 * the share of the softmax that the sample's list has, and the recall the share
 * of its 10 best rows. Both are those of the shard alone, labels included. A
 * measurement costs a product of SKN_DIAGNOSE_ROWS samples and all rows.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_OUTPUT_DIAGNOSE_H
#define ACTORS_OUTPUT_DIAGNOSE_H

#include "actors/output/head.h"

#define SKN_DIAGNOSE_ROWS 4u
#define SKN_DIAGNOSE_TOP 10u

typedef struct skn_diagnosis {
    double mass, recall; /* in [0, 1]; -1: not measured */
} skn_diagnosis_t;

typedef struct skn_diagnose {
    uint64_t every; /* batches; 0: never */
    float *logit;   /* [SKN_DIAGNOSE_ROWS][a piece of the rows] */
    void *gemm;
    skn_diagnosis_t of[SKN_ISSUED_MAX + 1]; /* of each flight */
} skn_diagnose_t;

/* Freed by skn_diagnose_fini, also after a failure. SKN_NO_MEMORY. */
skn_status_t skn_diagnose_init(skn_diagnose_t *diagnose, const skn_head_t *head,
                               uint64_t every, skn_error_t *error);
void skn_diagnose_fini(skn_diagnose_t *diagnose);
/* Measures the flight if its batch is due for a measurement. Called after its
 * forward pass and before its first node. */
void skn_diagnose_flight(skn_diagnose_t *diagnose, const skn_head_t *head,
                         const skn_flight_t *flight, skn_diagnosis_t *into);

#endif
