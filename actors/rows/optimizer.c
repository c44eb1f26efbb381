/* optimizer.c - computes learning rates and the optimizer steps of rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/rows/optimizer.h"

#include <math.h>

#include "actors/protocol/block.h"

void
skn_optimizer_init(skn_optimizer_t *optimizer)
{
    for (int k = 0; k < SKN_DECAYS; k++)
        optimizer->decay2[k] = (float)pow(optimizer->beta2, k);
}

double
skn_optimizer_rate(const skn_optimizer_t *optimizer, uint64_t step)
{
    double rate = optimizer->rate;
    uint64_t warmup = optimizer->warmup_steps;
    if (optimizer->schedule == SKN_RATE_CONSTANT)
        return rate;
    if (step < warmup)
        return rate * (double)(step + 1) / (double)warmup;
    if (optimizer->schedule == SKN_RATE_WARMUP ||
        optimizer->total_steps <= warmup)
        return rate;
    double way =
        (double)(step - warmup) / (double)(optimizer->total_steps - warmup);
    if (way > 1.0)
        way = 1.0;
    double share = 0.5 * (1.0 + cos(M_PI * way));
    return rate * (optimizer->floor + (1.0 - optimizer->floor) * share);
}

void
skn_optimizer_begin(skn_optimizer_t *optimizer, uint64_t step)
{
    double t = (double)step + 1.0; /* of Algorithm 1 */
    optimizer->step = step;
    optimizer->adam = (skn_adam_t){
        .rate = (float)skn_optimizer_rate(optimizer, step),
        .one_minus_beta1 = (float)(1.0 - optimizer->beta1),
        .one_minus_beta2 = (float)(1.0 - optimizer->beta2),
        .correction1 = (float)(1.0 / (1.0 - pow(optimizer->beta1, t))),
        .correction2 = (float)(1.0 / (1.0 - pow(optimizer->beta2, t))),
        .eps = (float)optimizer->eps,
        .weight_decay = (float)optimizer->weight_decay,
    };
}

static void
step_adam(const skn_optimizer_t *optimizer, const skn_rows_t *rows,
          uint32_t row, const float *gradient)
{
    uint32_t *last = skn_rows_step(rows, row);
    uint32_t now = (uint32_t)(optimizer->step + 1);
    uint32_t since = now - *last;
    skn_adam_t adam = optimizer->adam;
    adam.decay1 = (float)optimizer->beta1;
    adam.decay2 = since < SKN_DECAYS
                      ? optimizer->decay2[since]
                      : powf((float)optimizer->beta2, (float)since);
    *last = now;
    optimizer->kernels->adam_row(
        skn_rows_weight(rows, row), skn_rows_moment(rows, row, 1),
        skn_rows_moment(rows, row, 2), gradient, rows->width, &adam);
}

_Static_assert(SKN_SLICE_COLUMNS == SKN_ADAGRAD_COLUMNS,
               "slices are cut between sums");

static void
step_adagrad(const skn_optimizer_t *optimizer, const skn_rows_t *rows,
             uint32_t row, const float *gradient)
{
    const skn_kernels_t *kernels = optimizer->kernels;
    float *sum = skn_rows_moment(rows, row, 1);
    *sum += (float)(kernels->sum_squares(gradient, rows->width) /
                    (double)rows->width);
    kernels->adagrad_row(skn_rows_weight(rows, row), gradient, rows->width,
                         optimizer->adam.rate, *sum, optimizer->adam.eps);
}

/* Rounds at random: a step smaller than a weight's last bit changes it now and
 * then. */
static void
step_adagrad_bf16(const skn_optimizer_t *optimizer, const skn_rows_t *rows,
                  uint32_t row, const float *gradient, const skn_noise_t *noise)
{
    const skn_kernels_t *kernels = optimizer->kernels;
    float *sum = skn_rows_moment(rows, row, 1);
    *sum += (float)(kernels->sum_squares(gradient, rows->width) /
                    (double)rows->width);
    kernels->sgd_row_bf16(
        skn_rows_weight_bf16(rows, row), gradient, rows->width,
        optimizer->adam.rate / (sqrtf(*sum) + optimizer->adam.eps), 0.0f,
        noise);
}

void
skn_optimizer_step(const skn_optimizer_t *optimizer, const skn_rows_t *rows,
                   uint32_t row, uint32_t global_row, const float *gradient)
{
    skn_noise_t noise = { .key = optimizer->noise_key,
                          .stream = optimizer->step,
                          .row = global_row };
    switch (rows->kind) {
    case SKN_ROWS_ADAM:
        step_adam(optimizer, rows, row, gradient);
        break;
    case SKN_ROWS_ADAGRAD:
        step_adagrad(optimizer, rows, row, gradient);
        break;
    case SKN_ROWS_ADAGRAD_SLICED:
        optimizer->kernels->adagrad_columns(
            skn_rows_weight(rows, row), skn_rows_moment(rows, row, 1), gradient,
            rows->width, optimizer->adam.rate, optimizer->adam.eps);
        break;
    case SKN_ROWS_ADAGRAD_BF16:
        step_adagrad_bf16(optimizer, rows, row, gradient, &noise);
        break;
    case SKN_ROWS_SGD:
        optimizer->kernels->sgd_row(skn_rows_weight(rows, row), gradient,
                                    rows->width, optimizer->adam.rate,
                                    optimizer->adam.weight_decay);
        break;
    default:
        optimizer->kernels->sgd_row_bf16(
            skn_rows_weight_bf16(rows, row), gradient, rows->width,
            optimizer->adam.rate, optimizer->adam.weight_decay, &noise);
        break;
    }
}
