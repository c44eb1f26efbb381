/* test_kernels.c - tests sums, products, losses and optimizers of every variant
 * that this processor can run, against naive oracles in double.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"
#include "tests/support/oracle.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

/* Every length up to four of the widest vectors and three. */
#define LENGTHS (4 * LANES_MAX + 3)
#define EACH_VARIANT(kernels)                                                  \
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++)

typedef struct rows {
    float *a, *b, *c, *old, *got;
    size_t n;
} rows_t;

/* Four rows that start one float past an aligned address; got = old = c. */
static rows_t
rows_new(size_t n, float range)
{
    oracle_random_t random = { 1000 + n };
    rows_t rows = { .n = n };
    rows.a = oracle_floats(&random, n + 2, range) + 1;
    rows.b = oracle_floats(&random, n + 2, range) + 1;
    rows.c = oracle_floats(&random, n + 2, range) + 1;
    rows.old = oracle_floats(&random, n + 2, range) + 1;
    rows.got = oracle_floats(&random, n + 2, range) + 1;
    memcpy(rows.got - 1, rows.old - 1, (n + 2) * sizeof(float));
    return rows;
}

/* No kernel wrote before or behind its n elements. */
static void
rows_destroy(rows_t *rows)
{
    cr_assert_eq(oracle_bits(rows->got[-1]), oracle_bits(rows->old[-1]));
    cr_assert_eq(oracle_bits(rows->got[rows->n]),
                 oracle_bits(rows->old[rows->n]));
    free(rows->a - 1);
    free(rows->b - 1);
    free(rows->c - 1);
    free(rows->old - 1);
    free(rows->got - 1);
}

static void
check(const char *isa, size_t n, size_t i, float got, double want, double bound)
{
    cr_assert(fabs((double)got - want) <= bound,
              "%s, n %zu, element %zu: got %.9g, want %.9g +- %.2g", isa, n, i,
              (double)got, want, bound);
}

Test(kernels, dot_matches_the_oracle)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= LENGTHS; n++) {
        rows_t rows = rows_new(n, 3.0f);
        double want = 0, magnitude = 0;
        for (size_t i = 0; i < n; i++) {
            want += (double)rows.a[i] * (double)rows.b[i];
            magnitude += fabs((double)rows.a[i] * (double)rows.b[i]);
        }
        check(kernels->isa, n, 0, kernels->dot(rows.a, rows.b, n), want,
              (double)n * FLT_EPSILON * magnitude);
        rows_destroy(&rows);
    }
}

Test(kernels, axpy_scale_add_and_mul_match_the_oracle)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= LENGTHS; n++)
        for (int kind = 0; kind < 4; kind++) {
            rows_t rows = rows_new(n, 3.0f);
            if (kind == 0)
                kernels->axpy(rows.got, 0.3f, rows.a, n);
            else if (kind == 1)
                kernels->scale(rows.got, 0.3f, n);
            else if (kind == 2)
                kernels->add(rows.got, rows.a, rows.b, n);
            else
                kernels->mul(rows.got, rows.a, rows.b, n);
            for (size_t i = 0; i < n; i++) {
                double a = (double)rows.a[i], b = (double)rows.b[i];
                double old = (double)rows.old[i], factor = (double)0.3f;
                double want = kind == 0   ? old + factor * a
                              : kind == 1 ? old * factor
                              : kind == 2 ? a + b
                                          : a * b;
                double size = fabs(old) + fabs(a) + fabs(b) + fabs(a * b);
                check(kernels->isa, n, i, rows.got[i], want,
                      FLT_EPSILON * size);
            }
            rows_destroy(&rows);
        }
}

Test(kernels, add_and_mul_work_in_place)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    {
        rows_t rows = rows_new(21, 1.0f);
        kernels->add(rows.got, rows.got, rows.a, 21);
        kernels->mul(rows.got, rows.b, rows.got, 21);
        for (size_t i = 0; i < 21; i++)
            cr_assert_float_eq(rows.got[i],
                               rows.b[i] * (rows.old[i] + rows.a[i]), 1e-6f);
        rows_destroy(&rows);
    }
}

Test(kernels, gather_add_matches_the_oracle)
{
    enum {
        ROWS = 40,
        STRIDE = 300
    };
    const skn_kernels_t *kernels;
    oracle_random_t random = { 3 };
    float *table = oracle_floats(&random, ROWS * STRIDE, 1.0f);
    float *value = oracle_floats(&random, ROWS, 1.0f);
    uint32_t row[ROWS];
    for (size_t k = 0; k < ROWS; k++)
        row[k] = oracle_next(&random) % ROWS;
    EACH_VARIANT(kernels)
    for (size_t columns = 0; columns < STRIDE; columns++) {
        size_t count = columns % (ROWS + 1);
        rows_t rows = rows_new(columns, 1.0f);
        kernels->gather_add(rows.got, table, STRIDE, row, value, count,
                            columns);
        for (size_t c = 0; c < columns; c++) {
            double want = (double)rows.old[c], magnitude = fabs(want);
            for (size_t k = 0; k < count; k++) {
                double term =
                    (double)value[k] * (double)table[row[k] * STRIDE + c];
                want += term;
                magnitude += fabs(term);
            }
            check(kernels->isa, columns, c, rows.got[c], want,
                  (double)(count + 1) * FLT_EPSILON * magnitude);
        }
        rows_destroy(&rows);
    }
    free(table);
    free(value);
}

Test(kernels, gather_add_has_the_same_bits_however_columns_are_sliced)
{
    enum {
        COLUMNS = 171,
        COUNT = 25
    };
    const skn_kernels_t *kernels;
    oracle_random_t random = { 4 };
    float *table = oracle_floats(&random, COLUMNS * COUNT, 1.0f);
    float *value = oracle_floats(&random, COUNT, 1.0f);
    uint32_t row[COUNT];
    for (uint32_t k = 0; k < COUNT; k++)
        row[k] = k * 7 % COUNT;
    EACH_VARIANT(kernels)
    for (size_t cut = 0; cut <= COLUMNS; cut++) {
        float whole[COLUMNS] = { 0 }, parts[COLUMNS] = { 0 };
        kernels->gather_add(whole, table, COLUMNS, row, value, COUNT, COLUMNS);
        kernels->gather_add(parts, table, COLUMNS, row, value, COUNT, cut);
        kernels->gather_add(parts + cut, table + cut, COLUMNS, row, value,
                            COUNT, COLUMNS - cut);
        cr_assert_arr_eq(whole, parts, sizeof whole, "%s, cut at %zu",
                         kernels->isa, cut);
    }
    free(table);
    free(value);
}

Test(kernels, row_max_is_exact_and_ignores_nan)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= LENGTHS; n++)
        for (size_t place = 0; place <= n; place++) {
            rows_t rows = rows_new(n, 5.0f);
            float want = -INFINITY;
            if (place < n)
                rows.a[place] = 7.0f;
            if (place + 1 < n)
                rows.a[place + 1] = NAN;
            for (size_t i = 0; i < n; i++)
                want = rows.a[i] > want ? rows.a[i] : want;
            cr_assert_eq(kernels->row_max(rows.a, n), want,
                         "%s, n %zu, "
                         "greatest at %zu",
                         kernels->isa, n, place);
            rows_destroy(&rows);
        }
}

Test(kernels, row_max_of_nan_alone_is_minus_infinity)
{
    const skn_kernels_t *kernels;
    float x[LENGTHS];
    for (size_t i = 0; i < LENGTHS; i++)
        x[i] = NAN;
    EACH_VARIANT(kernels)
    cr_expect_eq(kernels->row_max(x, LENGTHS), -INFINITY);
}

Test(kernels, relu_and_its_mask_are_exact)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= LENGTHS; n++) {
        rows_t rows = rows_new(n, 1.0f);
        if (n > 4) {
            rows.a[1] = 0.0f;
            rows.a[3] = NAN;
        }
        kernels->relu_mask_mul(rows.got, rows.a, n);
        for (size_t i = 0; i < n; i++)
            cr_assert_eq(rows.got[i], rows.a[i] > 0 ? rows.old[i] : 0.0f);
        kernels->relu(rows.a, n);
        for (size_t i = 0; i < n; i++)
            cr_assert(rows.a[i] >= 0.0f);
        kernels->relu(rows.got, n);
        for (size_t i = 0; i < n; i++)
            cr_assert(rows.got[i] == 0 || rows.got[i] == rows.old[i]);
        rows_destroy(&rows);
    }
}

Test(kernels, finite_all_finds_each_nan_and_infinity)
{
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= LENGTHS; n++) {
        rows_t rows = rows_new(n, FLT_MAX);
        cr_assert(kernels->finite_all(rows.a, n), "%s", kernels->isa);
        for (size_t i = 0; i < n; i++)
            for (size_t kind = 0; kind < 3; kind++) {
                float old = rows.a[i];
                rows.a[i] = bad[kind];
                cr_assert_not(kernels->finite_all(rows.a, n),
                              "%s, n %zu, at %zu", kernels->isa, n, i);
                rows.a[i] = old;
            }
        rows.a[n] = NAN; /* beyond the end: not looked at */
        cr_assert(kernels->finite_all(rows.a, n));
        rows_destroy(&rows);
    }
}

Test(kernels, sum_squares_is_within_64_rounding_units)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= 200000; n = n < LENGTHS ? n + 1 : n * 3 + 1) {
        rows_t rows = rows_new(n, 2.0f);
        double want = 0;
        for (size_t i = 0; i < n; i++)
            want += (double)rows.a[i] * (double)rows.a[i];
        double got = kernels->sum_squares(rows.a, n);
        cr_assert(fabs(got - want) <= 64 * FLT_EPSILON * want,
                  "%s, n %zu: got %.17g, want %.17g", kernels->isa, n, got,
                  want);
        rows_destroy(&rows);
    }
}

Test(kernels, above_lists_every_position_once_and_in_order)
{
    static const float thresholds[] = { -2, -1,        0,        0.9f,
                                        2,  -INFINITY, INFINITY, NAN };
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= 5 * LENGTHS; n++)
        for (size_t t = 0; t < 8; t++) {
            rows_t rows = rows_new(n, 1.0f);
            uint32_t *index = malloc((n + 1) * sizeof *index);
            if (n > 2)
                rows.a[1] = NAN;
            index[n] = 77;
            size_t count = kernels->above(rows.a, n, thresholds[t], index);
            size_t want = 0;
            for (size_t i = 0; i < n; i++)
                if (rows.a[i] > thresholds[t]) {
                    cr_assert(want < count && index[want] == i);
                    want++;
                }
            cr_assert_eq(count, want, "%s", kernels->isa);
            cr_assert_eq(index[n], 77);
            free(index);
            rows_destroy(&rows);
        }
}

static void
check_adam(const skn_kernels_t *kernels, size_t n)
{
    skn_adam_t adam = { .rate = 0.01f,
                        .decay1 = 0.81f,
                        .decay2 = 0.98f,
                        .one_minus_beta1 = 0.1f,
                        .one_minus_beta2 = 0.01f,
                        .correction1 = 3.0f,
                        .correction2 = 20.0f,
                        .eps = 1e-3f,
                        .weight_decay = 0.1f };
    rows_t rows = rows_new(n, 1.0f);
    float m[LENGTHS], v[LENGTHS];
    for (size_t i = 0; i < n; i++) {
        m[i] = rows.b[i];
        v[i] = fabsf(rows.c[i]);
    }
    kernels->adam_row(rows.got, m, v, rows.a, n, &adam);
    for (size_t i = 0; i < n; i++) {
        double g = (double)rows.a[i], w = (double)rows.old[i];
        double m1 = (double)adam.decay1 * (double)rows.b[i] +
                    (double)adam.one_minus_beta1 * g;
        double v1 = (double)adam.decay2 * fabs((double)rows.c[i]) +
                    (double)adam.one_minus_beta2 * g * g;
        double step =
            m1 * (double)adam.correction1 /
                (sqrt(v1 * (double)adam.correction2) + (double)adam.eps) +
            (double)adam.weight_decay * w;
        check(kernels->isa, n, i, m[i], m1, 2 * FLT_EPSILON);
        check(kernels->isa, n, i, v[i], v1, 2 * FLT_EPSILON);
        check(kernels->isa, n, i, rows.got[i], w - (double)adam.rate * step,
              FLT_EPSILON * (2 * fabs(w) + fabs(step)));
    }
    rows_destroy(&rows);
}

Test(kernels, adam_row_matches_algorithm_1)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t n = 0; n < LENGTHS; n++)
        check_adam(kernels, n);
}

Test(kernels, adagrad_and_sgd_rows_match_the_oracle)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= LENGTHS; n++) {
        rows_t rows = rows_new(n, 1.0f), other = rows_new(n, 1.0f);
        kernels->adagrad_row(rows.got, rows.a, n, 0.1f, 0.25f, 1e-6f);
        kernels->sgd_row(other.got, other.a, n, 0.1f, 0.01f);
        for (size_t i = 0; i < n; i++) {
            double g = (double)rows.a[i], w = (double)rows.old[i];
            check(kernels->isa, n, i, rows.got[i],
                  w - (double)0.1f * g / (0.5 + (double)1e-6f),
                  2 * FLT_EPSILON);
            check(kernels->isa, n, i, other.got[i],
                  w - (double)0.1f * (g + (double)0.01f * w), 2 * FLT_EPSILON);
        }
        rows_destroy(&rows);
        rows_destroy(&other);
    }
}

Test(kernels, adagrad_columns_has_a_sum_every_8_columns)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t n = 0; n <= LENGTHS; n++) {
        rows_t rows = rows_new(n, 1.0f);
        float sum[LENGTHS / SKN_ADAGRAD_COLUMNS + 2];
        size_t sums = (n + SKN_ADAGRAD_COLUMNS - 1) / SKN_ADAGRAD_COLUMNS;
        for (size_t k = 0; k <= sums; k++)
            sum[k] = 0.25f;
        kernels->adagrad_columns(rows.got, sum, rows.a, n, 0.1f, 1e-6f);
        cr_expect_eq(sum[sums], 0.25f, "a sum too many");
        for (size_t i = 0; i < n; i++) {
            size_t k = i / SKN_ADAGRAD_COLUMNS, c = k * SKN_ADAGRAD_COLUMNS;
            double square = 0, columns = 0;
            for (; c < n && c / SKN_ADAGRAD_COLUMNS == k; c++, columns++)
                square += (double)rows.a[c] * (double)rows.a[c];
            double want = 0.25 + square / columns;
            check(kernels->isa, n, i, sum[k], want, 4 * FLT_EPSILON);
            check(kernels->isa, n, i, rows.got[i],
                  (double)rows.old[i] - (double)0.1f * (double)rows.a[i] /
                                            (sqrt(want) + (double)1e-6f),
                  4 * FLT_EPSILON);
        }
        rows_destroy(&rows);
    }
}

Test(kernels, optimizers_give_the_same_bits_on_every_variant)
{
    enum {
        N = 133
    };
    skn_adam_t adam = { 0.01f, 0.9f, 0.99f, 0.1f, 0.01f, 2, 3, 1e-8f, 0.1f };
    const skn_kernels_t *kernels, *first = skn_kernels_variant(0);
    EACH_VARIANT(kernels)
    {
        float m[2][N] = { { 0 } }, v[2][N] = { { 0 } }, sum[2][N] = { { 0 } };
        rows_t rows = rows_new(N, 1.0f), other = rows_new(N, 1.0f);
        for (int step = 0; step < 3; step++) {
            first->adam_row(rows.got, m[0], v[0], rows.a, N, &adam);
            first->sgd_row(rows.got, rows.b, N, 0.1f, 0.01f);
            first->adagrad_columns(rows.got, sum[0], rows.b, N, 0.1f, 1e-8f);
            kernels->adam_row(other.got, m[1], v[1], other.a, N, &adam);
            kernels->sgd_row(other.got, other.b, N, 0.1f, 0.01f);
            kernels->adagrad_columns(other.got, sum[1], other.b, N, 0.1f,
                                     1e-8f);
        }
        cr_assert_arr_eq(rows.got, other.got, N * sizeof(float), "%s and %s",
                         first->isa, kernels->isa);
        rows_destroy(&rows);
        rows_destroy(&other);
    }
}
