/* test_kernels_gemm.c - tests the matrix product, in all layouts, against a
 * naive product in double.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"
#include "tests/support/oracle.h"
#include "tests/support/sanitized.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* How an operand lies in memory. */
enum layout {
    DENSE,
    TRANSPOSED,
    ROWS_GATHERED,
    COLUMNS_GATHERED,
    STRIDED,
    LAYOUTS
};

typedef struct operand {
    skn_matrix_t matrix;
    float *memory;
    float *rounded; /* memory, as bf16 has it */
    uint16_t *halves;
    uint32_t *index;
} operand_t;

static uint32_t *
shuffled(oracle_random_t *random, size_t count)
{
    uint32_t *index = malloc((count + 1) * sizeof *index);
    for (size_t i = 0; i < count; i++)
        index[i] = (uint32_t)(i * 2 + oracle_next(random) % 2);
    for (size_t i = 1; i < count; i++) {
        size_t j = oracle_next(random) % (i + 1);
        uint32_t other = index[i];
        index[i] = index[j];
        index[j] = other;
    }
    return index;
}

/* Of the bf16 below and above (by magnitude) the nearer, or the even one. */
static float
nearest_bf16(float x)
{
    uint16_t low = (uint16_t)(oracle_bits(x) >> 16);
    double below = (double)oracle_of_bf16(low);
    double above = (double)oracle_of_bf16((uint16_t)(low + 1));
    double down = fabs((double)x - below), up = fabs(above - (double)x);
    return down < up || (down == up && low % 2 == 0) ? (float)below
                                                     : (float)above;
}

static operand_t
operand_new(oracle_random_t *random, size_t rows, size_t columns,
            enum layout layout)
{
    operand_t x = { .matrix = { 0 } };
    size_t count = 6 * (rows + 1) * (columns + 1) + 8;
    x.memory = oracle_floats(random, count, 1.0f);
    x.rounded = malloc(count * sizeof *x.rounded);
    for (size_t i = 0; i < count; i++)
        x.rounded[i] = nearest_bf16(x.memory[i]);
    x.matrix.at = x.memory + 1; /* aligned for a float only */
    x.matrix.row_stride = columns + 3;
    x.matrix.column_stride = 1;
    if (layout == TRANSPOSED || layout == COLUMNS_GATHERED) {
        x.matrix.row_stride = 1;
        x.matrix.column_stride = rows + 3;
    } else if (layout == STRIDED) {
        x.matrix.column_stride = 2;
        x.matrix.row_stride = 2 * columns + 1;
    }
    if (layout == ROWS_GATHERED)
        x.matrix.row_index = x.index = shuffled(random, rows);
    if (layout == COLUMNS_GATHERED)
        x.matrix.column_index = x.index = shuffled(random, columns);
    return x;
}

static operand_t
operand_new_bf16(oracle_random_t *random, size_t rows, size_t columns,
                 enum layout layout)
{
    operand_t x = operand_new(random, rows, columns, layout);
    size_t count = 6 * (rows + 1) * (columns + 1) + 8;
    x.halves = malloc(count * sizeof *x.halves);
    for (size_t i = 0; i < count; i++)
        x.halves[i] = (uint16_t)(oracle_bits(x.memory[i]) >> 16);
    x.matrix.at = NULL;
    x.matrix.bf16 = x.halves + 1;
    return x;
}

typedef struct guard {
    unsigned char *at;
    size_t bytes;
} guard_t;

/* A copy of `count` floats, behind which nothing is mapped. */
static const float *
guard_floats(guard_t *guard, const float *from, size_t count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t body = (count * sizeof(float) + page - 1) / page * page;
    guard->bytes = body + page;
    guard->at = mmap(NULL, guard->bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(guard->at != MAP_FAILED);
    cr_assert(mprotect(guard->at + body, page, PROT_NONE) == 0);
    float *to = (float *)(void *)(guard->at + body) - count;
    memcpy(to, from, count * sizeof(float));
    return to;
}

static void
guard_destroy(guard_t *guard)
{
    cr_assert(munmap(guard->at, guard->bytes) == 0);
}

static void
operand_destroy(operand_t *x)
{
    free(x->memory);
    free(x->rounded);
    free(x->halves);
    free(x->index);
}

static double
element(const operand_t *operand, bool half, size_t i, size_t j)
{
    const skn_matrix_t *x = &operand->matrix;
    size_t place =
        (x->row_index ? x->row_index[i] : i) * x->row_stride +
        (x->column_index ? x->column_index[j] : j) * x->column_stride;
    if (x->bf16)
        return (double)oracle_of_bf16(x->bf16[place]);
    return (double)(half ? operand->rounded[place + 1] : x->at[place]);
}

static void *
scratch_new(const skn_kernels_t *kernels, size_t m, size_t n, size_t k)
{
    size_t bytes = kernels->gemm_scratch_bytes(m, n, k);
    void *scratch = aligned_alloc(64, (bytes + 127) / 64 * 64);
    cr_assert_not_null(scratch);
    memset(scratch, 0xff, bytes); /* NaN, if it were ever read */
    memset((char *)scratch + bytes, 0x5a, 64);
    return scratch;
}

static void
scratch_destroy(const skn_kernels_t *kernels, void *scratch, size_t m, size_t n,
                size_t k)
{
    size_t bytes = kernels->gemm_scratch_bytes(m, n, k);
    for (size_t i = 0; i < 64; i++)
        cr_assert_eq(((unsigned char *)scratch)[bytes + i], 0x5a,
                     "%s wrote past its scratch", kernels->isa);
    free(scratch);
}

/* c = (old +) a b with |error| <= (k + 2) * eps * sum |terms|. */
static void
check_product(const skn_kernels_t *kernels, const skn_gemm_t *job,
              const operand_t *a, const operand_t *b, const float *old)
{
    for (size_t i = 0; i < job->m; i++)
        for (size_t j = 0; j < job->n; j++) {
            double want = job->add ? (double)old[i * job->c_stride + j] : 0;
            double magnitude = fabs(want);
            for (size_t k = 0; k < job->k; k++) {
                double term =
                    element(a, job->half, i, k) * element(b, job->half, k, j);
                want += term;
                magnitude += fabs(term);
            }
            double got = (double)job->c[i * job->c_stride + j];
            double bound = (double)(job->k + 2) * FLT_EPSILON * magnitude;
            cr_assert(fabs(got - want) <= bound,
                      "%s, %zu x %zu x %zu at (%zu, %zu): got %.9g, want "
                      "%.9g +- %.2g",
                      kernels->isa, job->m, job->n, job->k, i, j, got, want,
                      bound);
        }
}

static void
try_product(const skn_kernels_t *kernels, size_t m, size_t n, size_t k,
            const operand_t *a, const operand_t *b, bool more, bool half)
{
    oracle_random_t random = { m * 1000003 + n * 1009 + k };
    size_t stride = n + 5;
    float *c = oracle_floats(&random, m * stride + 1, 1.0f);
    float *old = malloc((m * stride + 1) * sizeof *old);
    memcpy(old, c, (m * stride + 1) * sizeof *old);
    void *scratch = scratch_new(kernels, m, n, k);
    skn_gemm_t job = { m, n,      k,    a->matrix, b->matrix,
                       c, stride, more, half,      NULL };
    kernels->gemm(&job, scratch);
    check_product(kernels, &job, a, b, old);
    for (size_t i = 0; i < m; i++) /* between the rows nothing moved */
        for (size_t j = n; j < stride; j++)
            cr_assert_eq(oracle_bits(c[i * stride + j]),
                         oracle_bits(old[i * stride + j]));
    scratch_destroy(kernels, scratch, m, n, k);
    free(c);
    free(old);
}

static void
try_layouts(size_t m, size_t n, size_t k, unsigned seed)
{
    const skn_kernels_t *kernels;
    oracle_random_t random = { seed };
    for (int left = 0; left < LAYOUTS; left++)
        for (int right = 0; right < LAYOUTS; right++) {
            operand_t a = operand_new(&random, m, k, (enum layout)left);
            operand_t b = operand_new(&random, k, n, (enum layout)right);
            for (unsigned rank = 0; (kernels = skn_kernels_variant(rank));
                 rank++) {
                try_product(kernels, m, n, k, &a, &b, (left + right) % 2,
                            false);
                try_product(kernels, m, n, k, &a, &b, (left + right) % 2, true);
            }
            operand_destroy(&a);
            operand_destroy(&b);
        }
}

Test(kernels_gemm, all_layouts_match_the_oracle_at_every_edge)
{
    static const size_t sizes[] = { 1,  2,  5,  6,  7,  13, 14,
                                    15, 16, 17, 31, 32, 33, 48 };
    size_t count = sizeof sizes / sizeof *sizes;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j += 3)
            try_layouts(sizes[i], sizes[(i + j) % count],
                        sizes[(i * 5 + j) % count], (unsigned)(i * 97 + j));
}

Test(kernels_gemm, depth_blocks_of_384_match_the_oracle)
{
    static const size_t depths[] = { 385, 383, 384, 767, 768, 769, 1000 };
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++)
        if (!is_spared(i))
            try_layouts(15, 33, depths[i], 7 + (unsigned)i);
}

Test(kernels_gemm, more_than_one_block_of_rows_and_columns_match_the_oracle)
{
    try_layouts(151, 20, 385, 11);
    try_layouts(3, 1057, 9, 12);
    if (!is_spared(1))
        try_layouts(300, 1030, 20, 13);
}

Test(kernels_gemm, bf16_operands_match_the_oracle)
{
    const skn_kernels_t *kernels;
    oracle_random_t random = { 5 };
    for (int layout = 0; layout < LAYOUTS; layout++) {
        operand_t a = operand_new(&random, 19, 65, DENSE);
        operand_t b = operand_new_bf16(&random, 65, 37, (enum layout)layout);
        operand_t left = operand_new_bf16(&random, 19, 65, (enum layout)layout);
        for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++) {
            for (int half = 0; half < 2; half++) {
                try_product(kernels, 19, 37, 65, &a, &b, false, half);
                try_product(kernels, 19, 37, 65, &left, &b, true, half);
            }
        }
        operand_destroy(&a);
        operand_destroy(&b);
        operand_destroy(&left);
    }
}

/* Rows that need no packing, with what is no number between them. */
Test(kernels_gemm, rows_of_bf16_far_apart_match_the_oracle)
{
    static const size_t rows[] = { 31, 32, 70, 300 };
    static const size_t columns[] = { 15, 33, 129 };
    static const size_t depths[] = { 64, 288, 1056 };
    const skn_kernels_t *kernels;
    oracle_random_t random = { 6 };
    for (size_t at = 0; at < 4 * 3 * 3; at++) {
        if (is_spared(at))
            continue;
        size_t m = rows[at % 4], n = columns[at / 4 % 3], k = depths[at / 12];
        operand_t a = operand_new_bf16(&random, m, k, DENSE);
        operand_t b = operand_new(&random, k, n, at % 2 ? DENSE : TRANSPOSED);
        a.matrix.row_stride = k + 32;
        for (size_t i = 0; i < m; i++)
            for (size_t j = k; j < k + 32; j++)
                a.halves[1 + i * (k + 32) + j] = 0x7fc0;
        for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++)
            try_product(kernels, m, n, k, &a, &b, at % 3 == 0, true);
        operand_destroy(&a);
        operand_destroy(&b);
    }
}

/* m x k floats that end where the page ends behind which nothing is mapped. */
static operand_t
operand_new_guarded(guard_t *guard, oracle_random_t *random, size_t m, size_t k,
                    enum layout layout)
{
    operand_t x = operand_new(random, m, k, layout);
    const skn_matrix_t *a = &x.matrix;
    size_t last = m * k - 1;
    bool across = layout == TRANSPOSED || layout == COLUMNS_GATHERED;
    x.matrix.row_stride = across ? 1 : k;
    x.matrix.column_stride = across ? m : 1;
    if (a->column_index) /* the listed columns, the last of them among them */
        for (size_t j = 0; j < k; j++)
            x.index[j] = (uint32_t)(j * 7 % k);
    x.matrix.at = guard_floats(guard, x.memory + 1, last + 1);
    return x;
}

/* Whole tiles read their left factor where it lies, others a copy. */
Test(kernels_gemm, nothing_behind_a_left_factor_is_read)
{
    static const size_t rows[] = { 1, 3, 8, 13, 14, 20, 29, 48 };
    static const size_t depths[] = { 1, 16, 129, 256, 401 };
    static const enum layout layouts[] = { DENSE, TRANSPOSED,
                                           COLUMNS_GATHERED };
    const skn_kernels_t *kernels;
    oracle_random_t random = { 8 };
    for (size_t at = 0; at < 8 * 5 * 3; at++) {
        size_t m = rows[at % 8], k = depths[at / 8 % 5], n = 10 + at % 4 * 13;
        guard_t guard;
        operand_t a =
            operand_new_guarded(&guard, &random, m, k, layouts[at / 40]);
        operand_t b = operand_new(&random, k, n, at % 2 ? DENSE : TRANSPOSED);
        for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++)
            try_product(kernels, m, n, k, &a, &b, at % 3 == 0, false);
        operand_destroy(&a);
        operand_destroy(&b);
        guard_destroy(&guard);
    }
}

/* What a processor multiplies as pairs is what others round and multiply. */
Test(kernels_gemm, rounding_the_factors_is_part_of_the_product)
{
    const skn_kernels_t *kernels;
    float a[2] = { 1.00390625f, 1.01171875f }; /* halfway: to even */
    float b[2] = { 256.0f, 0x1.fffffep7f };
    float nan = NAN, large = 1e30f;
    skn_matrix_t left = { .at = a, .row_stride = 2, .column_stride = 1 };
    skn_matrix_t right = { .at = b, .row_stride = 1, .column_stride = 2 };
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++) {
        float c;
        void *scratch = scratch_new(kernels, 1, 1, 2);
        skn_gemm_t job = { 1, 1, 2, left, right, &c, 1, false, true, NULL };
        kernels->gemm(&job, scratch);
        cr_expect_eq(c, 256.0f + 1.015625f * 256.0f, "%s: %.9g", kernels->isa,
                     (double)c);
        job.k = 1;
        job.a.at = &nan;
        kernels->gemm(&job, scratch);
        cr_expect(isnan(c), "%s", kernels->isa);
        job.a.at = job.b.at = &large;
        kernels->gemm(&job, scratch);
        cr_expect(isinf(c), "%s", kernels->isa);
        scratch_destroy(kernels, scratch, 1, 1, 2);
    }
}

Test(kernels_gemm, no_depth_gives_zero_or_leaves_the_sum)
{
    const skn_kernels_t *kernels;
    float nothing = 0, c[6] = { 1, 2, 3, 4, 5, 6 };
    skn_matrix_t x = { .at = &nothing, .row_stride = 1, .column_stride = 1 };
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++) {
        void *scratch = scratch_new(kernels, 2, 2, 0);
        skn_gemm_t job = { 2, 2, 0, x, x, c, 3, true, rank % 2, NULL };
        c[0] = 1;
        kernels->gemm(&job, scratch);
        cr_expect_eq(c[0], 1.0f);
        job.add = false;
        kernels->gemm(&job, scratch);
        cr_expect(c[0] == 0 && c[1] == 0 && c[3] == 0 && c[4] == 0);
        cr_expect(c[2] == 3.0f && c[5] == 6.0f);
        scratch_destroy(kernels, scratch, 2, 2, 0);
    }
}

Test(kernels_gemm, empty_products_touch_nothing)
{
    const skn_kernels_t *kernels;
    float one = 1;
    skn_matrix_t x = { .at = &one, .row_stride = 1, .column_stride = 1 };
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++) {
        void *scratch = scratch_new(kernels, 4, 4, 1);
        skn_gemm_t job = { 0, 1, 1, x, x, NULL, 1, false, rank % 2, NULL };
        for (int half = 0; half < 2; half++) {
            job.half = half;
            job.m = 0;
            job.n = 1;
            kernels->gemm(&job, scratch);
            job.m = 1;
            job.n = 0;
            kernels->gemm(&job, scratch);
        }
        scratch_destroy(kernels, scratch, 4, 4, 1);
    }
}

/* The block of `whole` that starts at (row, column), computed alone. */
static void
check_block(const skn_kernels_t *kernels, const skn_gemm_t *whole, size_t row,
            size_t column, size_t m, size_t n, const float *start)
{
    skn_gemm_t job = *whole;
    float *c = malloc(m * n * sizeof *c);
    void *scratch = scratch_new(kernels, m, n, whole->k);
    job.m = m;
    job.n = n;
    job.c = c;
    job.c_stride = n;
    job.a.at += row * job.a.row_stride;
    job.b.column_index += column;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            c[i * n + j] = start[(row + i) * whole->n + column + j];
    kernels->gemm(&job, scratch);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            float want = whole->c[(row + i) * whole->c_stride + column + j];
            cr_assert_eq(oracle_bits(c[i * n + j]), oracle_bits(want),
                         "%s, block %zu x %zu at (%zu, %zu)", kernels->isa, m,
                         n, row, column);
        }
    scratch_destroy(kernels, scratch, m, n, whole->k);
    free(c);
}

Test(kernels_gemm, a_block_alone_has_the_bits_it_has_in_the_whole)
{
    enum {
        M = 160,
        N = 1100,
        K = 900 /* more than a block, also of pairs */
    };
    const skn_kernels_t *kernels;
    oracle_random_t random = { 42 };
    operand_t a = operand_new(&random, M, K, DENSE);
    operand_t b = operand_new(&random, K, N, COLUMNS_GATHERED);
    float *start = oracle_floats(&random, M * N, 1.0f);
    float *c = malloc(M * N * sizeof *c);
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++)
        for (int way = 0; way < 4; way += UNDER_SANITIZER ? 3 : 1) {
            void *scratch = scratch_new(kernels, M, N, K);
            skn_gemm_t job = { M, N, K,       a.matrix, b.matrix,
                               c, N, way % 2, way / 2,  NULL };
            memcpy(c, start, M * N * sizeof *c);
            kernels->gemm(&job, scratch);
            scratch_destroy(kernels, scratch, M, N, K);
            check_block(kernels, &job, 0, 0, 1, 1, start);
            check_block(kernels, &job, 5, 1000, 7, 33, start);
            check_block(kernels, &job, 143, 3, 17, 1090, start);
            check_block(kernels, &job, 159, 1099, 1, 1, start);
            check_block(kernels, &job, 1, 17, 100, 16, start);
        }
    operand_destroy(&a);
    operand_destroy(&b);
    free(start);
    free(c);
}

/* Writes into `to` the elements that `from` has, where its layout puts them. */
static void
operand_copy(operand_t *to, const operand_t *from, size_t rows, size_t columns)
{
    const skn_matrix_t *a = &from->matrix, *b = &to->matrix;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            size_t column = b->column_index ? b->column_index[j] : j;
            size_t place = i * b->row_stride + column * b->column_stride;
            to->memory[1 + place] =
                a->at[i * a->row_stride + j * a->column_stride];
        }
}

/* Read in place along rows, across them, from a list of columns, and packed:
 * columns two apart, and rows that share places of a cache. */
Test(kernels_gemm, the_left_factor_s_layout_changes_no_bit)
{
    enum {
        M = 47,
        N = 67,
        K = 401,
        FAR = 1024
    };
    static const enum layout layouts[] = { TRANSPOSED, COLUMNS_GATHERED,
                                           STRIDED, DENSE };
    const skn_kernels_t *kernels;
    oracle_random_t random = { 47 };
    operand_t a = operand_new(&random, M, K, DENSE);
    operand_t b = operand_new(&random, K, N, DENSE);
    float *want = malloc(M * N * sizeof *want), *c = malloc(M * N * sizeof *c);
    for (size_t at = 0; at < 4; at++) {
        operand_t other = operand_new(&random, M, K, layouts[at]);
        if (layouts[at] == DENSE)
            other.matrix.row_stride = FAR;
        operand_copy(&other, &a, M, K);
        for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++) {
            void *scratch = scratch_new(kernels, M, N, K);
            skn_gemm_t job = { M,    N, K,     a.matrix, b.matrix,
                               want, N, false, false,    NULL };
            kernels->gemm(&job, scratch);
            job.a = other.matrix;
            job.c = c;
            kernels->gemm(&job, scratch);
            scratch_destroy(kernels, scratch, M, N, K);
            cr_expect_arr_eq(want, c, M * N * sizeof *c, "%s, layout %d",
                             kernels->isa, (int)layouts[at]);
        }
        operand_destroy(&other);
    }
    operand_destroy(&a);
    operand_destroy(&b);
    free(want);
    free(c);
}

/* In blocks that are smaller than, as large as, and larger than the product. */
Test(kernels_gemm, a_factor_that_is_packed_before_gives_the_same_bits)
{
    static const size_t sizes[][3] = {
        { 3, 1, 1 }, { 17, 33, 129 }, { 20, 1100, 30 }, { 30, 129, 1200 }
    };
    const skn_kernels_t *kernels;
    oracle_random_t random = { 43 };
    for (size_t s = 0; s < 4; s++) {
        size_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
        operand_t a = operand_new(&random, m, k, DENSE);
        operand_t b = operand_new(&random, k, n, COLUMNS_GATHERED);
        float *c = malloc(2 * m * n * sizeof *c), *other = c + m * n;
        for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++)
            for (int half = 0; half < 2; half++) {
                size_t bytes = kernels->gemm_packed_bytes(n, k);
                unsigned char *packed =
                    aligned_alloc(64, (bytes + 127) / 64 * 64);
                void *scratch = scratch_new(kernels, m, n, k);
                skn_gemm_t job = { m, n, k,     a.matrix, b.matrix,
                                   c, n, false, half,     NULL };
                memset(packed + bytes, 0x5a, 64);
                kernels->gemm(&job, scratch);
                kernels->gemm_pack(&job, packed);
                job.packed = packed;
                job.c = other;
                kernels->gemm(&job, scratch);
                cr_expect_arr_eq(c, other, m * n * sizeof *c, "%s, %zu x %zu",
                                 kernels->isa, n, k);
                for (size_t i = 0; i < 64; i++)
                    cr_assert_eq(packed[bytes + i], 0x5a, "%s wrote past it",
                                 kernels->isa);
                scratch_destroy(kernels, scratch, m, n, k);
                free(packed);
            }
        operand_destroy(&a);
        operand_destroy(&b);
        free(c);
    }
}

Test(kernels_gemm, scratch_of_a_job_serves_every_smaller_one)
{
    const skn_kernels_t *kernels;
    static const size_t sizes[] = { 1,   6,   14,   100,  96,    97,
                                    384, 385, 1024, 1025, 100000 };
    size_t count = sizeof sizes / sizeof *sizes;
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++)
        for (size_t i = 0; i < count * count * count; i++) {
            size_t m = sizes[i % count], n = sizes[i / count % count];
            size_t k = sizes[i / count / count];
            size_t bytes = kernels->gemm_scratch_bytes(m, n, k);
            cr_expect(kernels->gemm_scratch_bytes(m - 1, n, k) <= bytes);
            cr_expect(kernels->gemm_scratch_bytes(m, n - 1, k) <= bytes);
            cr_expect(kernels->gemm_scratch_bytes(m, n, k - 1) <= bytes);
            cr_expect(bytes <= (2u << 20));
        }
}

/* scalar rounds each product, and is left out. */
Test(kernels_gemm, sets_that_fuse_agree_in_every_bit)
{
    enum {
        M = 29,
        N = 67,
        K = 401
    };
    const skn_kernels_t *kernels;
    oracle_random_t random = { 43 };
    operand_t a = operand_new(&random, M, K, TRANSPOSED);
    operand_t b = operand_new(&random, K, N, ROWS_GATHERED);
    float first[M * N], c[M * N];
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++) {
        float *to = rank == 0 ? first : c;
        void *scratch = scratch_new(kernels, M, N, K);
        skn_gemm_t job = { M,  N, K,     a.matrix, b.matrix,
                           to, N, false, false,    NULL };
        kernels->gemm(&job, scratch);
        scratch_destroy(kernels, scratch, M, N, K);
        if (strcmp(kernels->isa, "scalar") != 0)
            cr_expect_arr_eq(first, to, sizeof first, "%s", kernels->isa);
    }
    operand_destroy(&a);
    operand_destroy(&b);
}
