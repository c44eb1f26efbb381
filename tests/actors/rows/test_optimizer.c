/* test_optimizer.c - tests steps on touched rows against dense ones in double.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "actors/rows/optimizer.h"
#include "tests/support/oracle.h"

#define WIDTH 37

static skn_optimizer_t *
optimizer_new(double rate, double weight_decay)
{
    skn_optimizer_t *optimizer = calloc(1, sizeof(*optimizer));
    optimizer->kernels = skn_kernels_best();
    optimizer->rate = rate;
    optimizer->beta1 = 0.9;
    optimizer->beta2 = 0.999;
    optimizer->eps = 1e-8;
    optimizer->weight_decay = weight_decay;
    optimizer->noise_key = 77;
    skn_optimizer_init(optimizer);
    return optimizer;
}

static skn_rows_t
rows_new(skn_rows_kind_t kind, uint32_t row_count)
{
    skn_rows_t rows;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_rows_init(&rows, kind, row_count, WIDTH, false, &error),
                 SKN_OK, "%s", error.text);
    return rows;
}

/* Kingma & Ba 2015, Algorithm 1, for one weight, on every batch: g is 0 where
 * the row is idle; v goes on decaying then, m and w stand still (decision
 * 0004). */
typedef struct dense {
    double w, m, v;
} dense_t;

static void
dense_adam(dense_t *dense, double g, uint64_t batch, bool touched, double rate,
           double decay)
{
    double t = (double)batch + 1;
    if (touched)
        dense->m = 0.9 * dense->m + (1 - 0.9) * g;
    dense->v = 0.999 * dense->v + (1 - 0.999) * g * g;
    if (touched)
        dense->w -= rate * (dense->m / (1 - pow(0.9, t)) /
                                (sqrt(dense->v / (1 - pow(0.999, t))) + 1e-8) +
                            decay * dense->w);
}

/* 0.999 as a float is off by up to 3e-8, and v remembers a thousand steps. */
#define V_BOUND 6e-5

/* Two rows: one is touched every batch, one after ever longer rests, of which
 * one is beyond the table of decays. */
static void
expect_adam(double decay, uint64_t batches)
{
    oracle_random_t random = { 5 };
    skn_rows_t rows = rows_new(SKN_ROWS_ADAM, 2);
    skn_optimizer_t *optimizer = optimizer_new(0.01, decay);
    dense_t dense[2][WIDTH];
    float g[WIDTH];
    uint64_t next = 1, rest = 1;
    for (uint32_t row = 0; row < 2; row++) {
        for (int c = 0; c < WIDTH; c++) {
            float w = oracle_float(&random);
            skn_rows_weight(&rows, row)[c] = w;
            dense[row][c] = (dense_t){ .w = (double)w };
        }
    }
    for (uint64_t batch = 0; batch < batches; batch++) {
        skn_optimizer_begin(optimizer, batch);
        for (uint32_t row = 0; row < 2; row++) {
            bool touched = row == 0 || batch == next;
            for (int c = 0; c < WIDTH; c++) {
                g[c] = touched ? oracle_float(&random) : 0.0f;
                dense_adam(&dense[row][c], (double)g[c], batch, touched, 0.01,
                           decay);
            }
            if (!touched)
                continue;
            skn_optimizer_step(optimizer, &rows, row, row, g);
            for (int c = 0; c < WIDTH; c++) {
                const dense_t *want = &dense[row][c];
                double w = (double)skn_rows_weight(&rows, row)[c];
                double m = (double)skn_rows_moment(&rows, row, 1)[c];
                double v = (double)skn_rows_moment(&rows, row, 2)[c];
                cr_assert(fabs(m - want->m) <= 1e-6,
                          "row %u, m of batch %lu: %.9g, want %.9g", row,
                          (unsigned long)batch, m, want->m);
                cr_assert(fabs(v - want->v) <= V_BOUND * want->v,
                          "v of batch %lu: %.9g, want %.9g",
                          (unsigned long)batch, v, want->v);
                cr_assert(fabs(w - want->w) <= 1e-4, "w of batch %lu",
                          (unsigned long)batch);
            }
            if (row == 1) {
                next = batch + rest;
                rest *= 3;
            }
        }
    }
    skn_rows_fini(&rows);
    free(optimizer);
}

Test(optimizer, adam_is_dense_but_for_the_mean_and_weights_of_idle_rows)
{
    expect_adam(0, 2500);
    expect_adam(0.1, 400);
}

Test(optimizer, adam_remembers_the_batch_of_each_row)
{
    float g[WIDTH] = { 1 };
    skn_rows_t rows = rows_new(SKN_ROWS_ADAM, 3);
    skn_optimizer_t *optimizer = optimizer_new(0.01, 0);
    skn_optimizer_begin(optimizer, 0);
    skn_optimizer_step(optimizer, &rows, 1, 1, g);
    skn_optimizer_begin(optimizer, 41);
    skn_optimizer_step(optimizer, &rows, 2, 2, g);
    cr_expect_eq(*skn_rows_step(&rows, 0), 0);
    cr_expect_eq(*skn_rows_step(&rows, 1), 1);
    cr_expect_eq(*skn_rows_step(&rows, 2), 42);
    skn_rows_fini(&rows);
    free(optimizer);
}

Test(optimizer, adagrad_has_one_sum_of_mean_squares_a_row)
{
    oracle_random_t random = { 6 };
    skn_rows_t rows = rows_new(SKN_ROWS_ADAGRAD, 2);
    skn_optimizer_t *optimizer = optimizer_new(0.1, 0);
    double w[WIDTH] = { 0 }, sum = 0;
    for (uint64_t batch = 0; batch < 50; batch++) {
        float g[WIDTH];
        double squares = 0;
        for (int c = 0; c < WIDTH; c++) {
            g[c] = oracle_float(&random);
            squares += (double)g[c] * (double)g[c];
        }
        sum += squares / WIDTH;
        skn_optimizer_begin(optimizer, batch);
        skn_optimizer_step(optimizer, &rows, 1, 1, g);
        for (int c = 0; c < WIDTH; c++) {
            w[c] -= 0.1 * (double)g[c] / (sqrt(sum) + 1e-8);
            cr_assert(fabs((double)skn_rows_weight(&rows, 1)[c] - w[c]) <=
                      1e-6);
        }
        cr_assert(fabs((double)*skn_rows_moment(&rows, 1, 1) - sum) <=
                  1e-6 * sum);
    }
    for (int c = 0; c < WIDTH; c++)
        cr_expect_eq(skn_rows_weight(&rows, 0)[c], 0.0f);
    skn_rows_fini(&rows);
    free(optimizer);
}

/* [WIDTH] is 4 blocks of 8 columns and one of 5, each with its own sum. */
Test(optimizer, adagrad_of_a_slice_has_a_sum_every_8_columns)
{
    oracle_random_t random = { 6 };
    skn_rows_t rows = rows_new(SKN_ROWS_ADAGRAD_SLICED, 2);
    skn_optimizer_t *optimizer = optimizer_new(0.1, 0);
    double w[WIDTH] = { 0 }, sum[5] = { 0 };
    cr_assert_eq(skn_rows_sums(&rows), 5);
    for (uint64_t batch = 0; batch < 50; batch++) {
        float g[WIDTH];
        for (int c = 0; c < WIDTH; c++) {
            g[c] = oracle_float(&random);
            sum[c / 8] += (double)g[c] * (double)g[c] / (c / 8 < 4 ? 8.0 : 5.0);
        }
        skn_optimizer_begin(optimizer, batch);
        skn_optimizer_step(optimizer, &rows, 1, 1, g);
        for (int c = 0; c < WIDTH; c++) {
            w[c] -= 0.1 * (double)g[c] / (sqrt(sum[c / 8]) + 1e-8);
            cr_assert(fabs((double)skn_rows_weight(&rows, 1)[c] - w[c]) <=
                      1e-6);
        }
        for (int b = 0; b < 5; b++)
            cr_assert(fabs((double)skn_rows_moment(&rows, 1, 1)[b] - sum[b]) <=
                      1e-6 * sum[b]);
    }
    cr_expect_eq(skn_rows_weight(&rows, 0)[0], 0.0f);
    skn_rows_fini(&rows);
    free(optimizer);
}

/* What two slices hold, side by side, is what one holds. */
Test(optimizer, adagrad_of_slices_is_that_of_the_whole)
{
    oracle_random_t random = { 9 };
    skn_rows_t whole = rows_new(SKN_ROWS_ADAGRAD_SLICED, 1), part[2];
    skn_optimizer_t *optimizer = optimizer_new(0.1, 0);
    cr_assert_eq(
        skn_rows_init(&part[0], SKN_ROWS_ADAGRAD_SLICED, 1, 16, false, NULL),
        SKN_OK);
    cr_assert_eq(skn_rows_init(&part[1], SKN_ROWS_ADAGRAD_SLICED, 1, WIDTH - 16,
                               false, NULL),
                 SKN_OK);
    for (uint64_t batch = 0; batch < 20; batch++) {
        float g[WIDTH];
        for (int c = 0; c < WIDTH; c++)
            g[c] = oracle_float(&random);
        skn_optimizer_begin(optimizer, batch);
        skn_optimizer_step(optimizer, &whole, 0, 0, g);
        skn_optimizer_step(optimizer, &part[0], 0, 0, g);
        skn_optimizer_step(optimizer, &part[1], 0, 0, g + 16);
    }
    cr_expect_arr_eq(skn_rows_weight(&part[0], 0), skn_rows_weight(&whole, 0),
                     16 * sizeof(float));
    cr_expect_arr_eq(skn_rows_weight(&part[1], 0),
                     skn_rows_weight(&whole, 0) + 16,
                     (WIDTH - 16) * sizeof(float));
    cr_expect_arr_eq(skn_rows_moment(&part[1], 0, 1),
                     skn_rows_moment(&whole, 0, 1) + 2, 3 * sizeof(float));
    skn_rows_fini(&whole);
    skn_rows_fini(&part[0]);
    skn_rows_fini(&part[1]);
    free(optimizer);
}

Test(optimizer, sgd_goes_against_the_gradient_and_decays)
{
    oracle_random_t random = { 7 };
    skn_rows_t rows = rows_new(SKN_ROWS_SGD, 1);
    skn_optimizer_t *optimizer = optimizer_new(0.1, 0.01);
    double w[WIDTH] = { 0 };
    for (uint64_t batch = 0; batch < 50; batch++) {
        float g[WIDTH];
        for (int c = 0; c < WIDTH; c++) {
            g[c] = oracle_float(&random);
            w[c] -= 0.1 * ((double)g[c] + 0.01 * w[c]);
        }
        skn_optimizer_begin(optimizer, batch);
        skn_optimizer_step(optimizer, &rows, 0, 0, g);
    }
    for (int c = 0; c < WIDTH; c++)
        cr_expect(fabs((double)skn_rows_weight(&rows, 0)[c] - w[c]) <= 1e-6);
    skn_rows_fini(&rows);
    free(optimizer);
}

/* A step far below the spacing of bf16 (2^-8 at 1) moves a weight rarely, and
 * the mean of many trials by what it is. The trials are the draws of other
 * batches. sigma of the mean of n: spacing sqrt(p (1 - p) / n). */
Test(optimizer, rounding_at_random_has_no_bias)
{
    skn_rows_t rows = rows_new(SKN_ROWS_SGD_BF16, 1);
    skn_optimizer_t *optimizer = optimizer_new(1, 0);
    float g[WIDTH], w[WIDTH], one[WIDTH];
    double mean[WIDTH] = { 0 };
    const int trials = 20000;
    for (int c = 0; c < WIDTH; c++) {
        one[c] = 1.0f;
        g[c] = -0x1p-7f * (float)c / WIDTH; /* 2^-7 is the spacing above 1 */
    }
    for (int trial = 0; trial < trials; trial++) {
        skn_rows_set(&rows, optimizer->kernels, 0, one);
        skn_optimizer_begin(optimizer, (uint64_t)trial);
        skn_optimizer_step(optimizer, &rows, 0, 3, g);
        skn_rows_get(&rows, optimizer->kernels, 0, w);
        for (int c = 0; c < WIDTH; c++)
            mean[c] += (double)w[c] / trials;
    }
    for (int c = 0; c < WIDTH; c++) {
        double p = (double)c / WIDTH;
        double sigma = 0x1p-7 * sqrt(p * (1 - p) / trials);
        cr_expect(fabs(mean[c] - 1 + (double)g[c]) <= 5 * sigma + 1e-9,
                  "column %d: %.9g, want %.9g", c, mean[c], 1 - (double)g[c]);
    }
    skn_rows_fini(&rows);
    free(optimizer);
}

/* The same steps as in f32: the sums are the same floats, and the mean of many
 * draws of the weights is what f32 would have, as no step depends on them. */
Test(optimizer, adagrad_on_bf16_is_that_of_floats_on_average)
{
    enum {
        TRIALS = 4000,
        BATCHES = 6
    };
    oracle_random_t random = { 8 };
    skn_rows_t half = rows_new(SKN_ROWS_ADAGRAD_BF16, 1);
    skn_rows_t full = rows_new(SKN_ROWS_ADAGRAD, 1);
    skn_optimizer_t *optimizer = optimizer_new(0.01, 0);
    float g[BATCHES][WIDTH], w[WIDTH], one[WIDTH];
    double mean[WIDTH] = { 0 };
    for (int c = 0; c < WIDTH; c++) {
        one[c] = 1.5f;
        for (int batch = 0; batch < BATCHES; batch++)
            g[batch][c] = oracle_float(&random);
    }
    skn_rows_set(&full, optimizer->kernels, 0, one);
    for (uint64_t batch = 0; batch < BATCHES; batch++) {
        skn_optimizer_begin(optimizer, batch);
        skn_optimizer_step(optimizer, &full, 0, 3, g[batch]);
    }
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        *skn_rows_moment(&half, 0, 1) = 0;
        skn_rows_set(&half, optimizer->kernels, 0, one);
        for (uint64_t batch = 0; batch < BATCHES; batch++) {
            skn_optimizer_begin(optimizer, trial * BATCHES + batch);
            skn_optimizer_step(optimizer, &half, 0, 3, g[batch]);
        }
        cr_assert_eq(*skn_rows_moment(&half, 0, 1),
                     *skn_rows_moment(&full, 0, 1));
        skn_rows_get(&half, optimizer->kernels, 0, w);
        for (int c = 0; c < WIDTH; c++)
            mean[c] += (double)w[c] / TRIALS;
    }
    for (int c = 0; c < WIDTH; c++) {
        double want = (double)skn_rows_weight(&full, 0)[c];
        /* A step rounds to a spacing of 2^-7: sigma is at most half of it. */
        double bound = 5 * 0x1p-8 * sqrt((double)BATCHES / TRIALS);
        cr_expect(fabs(mean[c] - want) <= bound, "column %d: %.9g, want %.9g",
                  c, mean[c], want);
    }
    skn_rows_fini(&half);
    skn_rows_fini(&full);
    free(optimizer);
}

Test(optimizer, rounding_depends_on_batch_and_global_row_alone)
{
    skn_rows_t rows = rows_new(SKN_ROWS_SGD_BF16, 4);
    skn_optimizer_t *optimizer = optimizer_new(1, 0);
    float g[WIDTH], w[4][WIDTH];
    for (int c = 0; c < WIDTH; c++)
        g[c] = -0.003f;
    skn_optimizer_begin(optimizer, 9);
    skn_optimizer_step(optimizer, &rows, 0, 500, g);
    skn_optimizer_step(optimizer, &rows, 3, 500, g);
    skn_optimizer_step(optimizer, &rows, 1, 501, g);
    for (uint32_t row = 0; row < 4; row++)
        skn_rows_get(&rows, optimizer->kernels, row, w[row]);
    cr_expect(memcmp(w[0], w[3], sizeof(w[0])) == 0, "same global row");
    cr_expect(memcmp(w[0], w[1], sizeof(w[0])) != 0, "another one");
    skn_rows_fini(&rows);
    free(optimizer);
}

/* --- schedules ----------------------------------------------------------- */

Test(optimizer, a_constant_rate_is_constant)
{
    skn_optimizer_t *optimizer = optimizer_new(0.5, 0);
    optimizer->warmup_steps = 10;
    cr_expect_eq(skn_optimizer_rate(optimizer, 0), 0.5);
    cr_expect_eq(skn_optimizer_rate(optimizer, 1u << 30), 0.5);
    free(optimizer);
}

Test(optimizer, a_warm_up_goes_up_in_even_steps_and_stays)
{
    skn_optimizer_t *optimizer = optimizer_new(0.5, 0);
    optimizer->schedule = SKN_RATE_WARMUP;
    optimizer->warmup_steps = 4;
    const double want[] = { 0.125, 0.25, 0.375, 0.5, 0.5, 0.5 };
    for (uint64_t batch = 0; batch < 6; batch++)
        cr_expect_eq(skn_optimizer_rate(optimizer, batch), want[batch]);
    optimizer->warmup_steps = 0;
    cr_expect_eq(skn_optimizer_rate(optimizer, 0), 0.5);
    free(optimizer);
}

Test(optimizer, a_cosine_goes_down_to_its_floor)
{
    skn_optimizer_t *optimizer = optimizer_new(2, 0);
    optimizer->schedule = SKN_RATE_COSINE;
    optimizer->warmup_steps = 10;
    optimizer->total_steps = 110;
    optimizer->floor = 0.1;
    cr_expect_eq(skn_optimizer_rate(optimizer, 9), 2);
    cr_expect_eq(skn_optimizer_rate(optimizer, 10), 2);
    cr_expect(fabs(skn_optimizer_rate(optimizer, 60) - 2 * 0.55) < 1e-12);
    cr_expect(fabs(skn_optimizer_rate(optimizer, 110) - 0.2) < 1e-12);
    cr_expect(fabs(skn_optimizer_rate(optimizer, 5000) - 0.2) < 1e-12);
    for (uint64_t batch = 10; batch < 110; batch++)
        cr_expect_leq(skn_optimizer_rate(optimizer, batch + 1),
                      skn_optimizer_rate(optimizer, batch));
    optimizer->total_steps = 0; /* not known: as a warm-up */
    cr_expect_eq(skn_optimizer_rate(optimizer, 500), 2);
    free(optimizer);
}

Test(optimizer, the_rate_of_the_schedule_is_the_rate_of_the_step)
{
    float g[WIDTH] = { 1 };
    skn_rows_t rows = rows_new(SKN_ROWS_SGD, 1);
    skn_optimizer_t *optimizer = optimizer_new(0.5, 0);
    optimizer->schedule = SKN_RATE_WARMUP;
    optimizer->warmup_steps = 4;
    skn_optimizer_begin(optimizer, 1);
    skn_optimizer_step(optimizer, &rows, 0, 0, g);
    cr_expect_eq(skn_rows_weight(&rows, 0)[0], -0.25f);
    skn_rows_fini(&rows);
    free(optimizer);
}
