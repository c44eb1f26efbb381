/* optimizer.h - applies one step of Adam, Adagrad or SGD to one touched row.
 *
 * Untouched rows cost nothing. Adam (Kingma & Ba 2015, Algorithm 1): v decays
 * by beta2^(steps since the last touch), so it is what a dense Adam would
 * have; m decays by beta1 a touch, so it is the mean of the row's last
 * gradients, however long ago they were. The weights do not change while a row
 * is idle. Why not m as in a dense Adam: docs/decisions/0004-lazy-adam.md.
 * Adagrad (Duchi et al. 2011, equation 1) keeps sums of mean squares: one a row
 * of a dense or output layer, "row-wise Adagrad" (Mudigere et al. 2022); one
 * for each row and SKN_SLICE_COLUMNS hidden units of an embedding, since
 * several shards share the columns of a row (rows.h). SGD and Adagrad on bf16
 * round at random (Gupta et al. 2015). Rates follow a schedule of the step
 * number alone. A step is a batch or, of a decoder, several.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_ROWS_OPTIMIZER_H
#define ACTORS_ROWS_OPTIMIZER_H

#include "actors/rows/rows.h"

typedef enum skn_schedule {
    SKN_RATE_CONSTANT,
    SKN_RATE_WARMUP, /* linear up, then constant */
    SKN_RATE_COSINE  /* linear up, then half a cosine down to `floor` */
} skn_schedule_t;

/* Powers of the decays in the lookup table; idle rows of more steps use powf.
 * 4 KiB fit in an L1 cache. */
#define SKN_DECAYS 1024

typedef struct skn_optimizer {
    const skn_kernels_t *kernels;
    double rate, beta1, beta2, eps, weight_decay;
    skn_schedule_t schedule;
    uint64_t warmup_steps, total_steps;
    double floor;             /* share of the rate at the end of a cosine */
    uint64_t noise_key;       /* stochastic rounding */
    float decay2[SKN_DECAYS]; /* [k] is beta2^k */
    /* Set by skn_optimizer_begin for one step: */
    uint64_t step;
    skn_adam_t adam;
} skn_optimizer_t;

/* Fills the tables; the caller sets the plain members before. */
void skn_optimizer_init(skn_optimizer_t *optimizer);
/* The learning rate of step `step`, counted from 0. */
double skn_optimizer_rate(const skn_optimizer_t *optimizer, uint64_t step);
/* Called before the rows of step `step`. */
void skn_optimizer_begin(skn_optimizer_t *optimizer, uint64_t step);
/* Steps row `row` (its global number is `global_row`) along -gradient, [width]
 * floats. */
void skn_optimizer_step(const skn_optimizer_t *optimizer,
                        const skn_rows_t *rows, uint32_t row,
                        uint32_t global_row, const float *gradient);

#endif
