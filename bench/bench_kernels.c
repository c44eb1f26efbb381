/* bench_kernels.c - every kernel of every instruction set, against roofs that
 * are measured first: multiply-adds in registers, reads from memory.
 *
 * bench_kernels [part of a case's name]: runs the cases that contain it. With
 * SKN_BENCH_BLAS a serial OpenBLAS runs the same products.
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"
#include "kernels/kernels.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#ifdef SKN_BENCH_BLAS
#include <cblas.h>
#endif

/* Rows that a gathered table has: 102,400 rows of 128 floats, 52 MB, more
 * than any last-level cache of a small node. */
#define TABLE_ROWS 102400u

typedef struct gemm_case {
    const skn_kernels_t *kernels;
    skn_gemm_t job;
    void *scratch;
    int blas_a_transposed, blas_b_transposed;
    int blas_a_stride, blas_b_stride;
} gemm_case_t;

typedef struct row_case {
    const skn_kernels_t *kernels;
    float *x, *y, *z, *w;
    uint16_t *half;
    uint8_t *bytes, *bits; /* n of each; bits: about half are set */
    uint32_t *index;
    size_t n, place, set, columns;
    double sink;
} row_case_t;

static const char *wanted = "";
static double fma_roof, half_roof, read_roof;

static void *
room(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory) {
        fprintf(stderr, "bench_kernels: no room for %zu bytes\n", bytes);
        _Exit(1);
    }
    memset(memory, 0, bytes);
    return memory;
}

static float *
numbers(size_t count)
{
    float *x = room(count * sizeof *x);
    uint32_t state = 12345;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
    return x;
}

/* Roofs: 12 chains of multiply-adds in registers, ROOF_STEPS of each a call.
 * The empty statement makes the compiler keep each step. */
#define ROOF_STEPS 4096

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void
fma_roof_avx2(void *subject)
{
    __m256 sum[12], a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
    (void)subject;
#pragma GCC unroll 12
    for (int i = 0; i < 12; i++)
        sum[i] = _mm256_setzero_ps();
    for (int k = 0; k < ROOF_STEPS; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) {
            sum[i] = _mm256_fmadd_ps(sum[i], a, b);
            __asm__ volatile("" : "+x"(sum[i]));
        }
    }
}

__attribute__((target("avx512f"))) static void
fma_roof_avx512(void *subject)
{
    __m512 sum[12], a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
    (void)subject;
#pragma GCC unroll 12
    for (int i = 0; i < 12; i++)
        sum[i] = _mm512_setzero_ps();
    for (int k = 0; k < ROOF_STEPS; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) {
            sum[i] = _mm512_fmadd_ps(sum[i], a, b);
            __asm__ volatile("" : "+v"(sum[i]));
        }
    }
}

__attribute__((target("avx512f,avx512bf16"))) static void
half_roof_avx512_bf16(void *subject)
{
    __m512 sum[12];
    __m512bh a = (__m512bh)_mm512_set1_epi32(0x3f003f00);
    (void)subject;
#pragma GCC unroll 12
    for (int i = 0; i < 12; i++)
        sum[i] = _mm512_setzero_ps();
    for (int k = 0; k < ROOF_STEPS; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) {
            sum[i] = _mm512_dpbf16_ps(sum[i], a, a);
            __asm__ volatile("" : "+v"(sum[i]));
        }
    }
}

/* 4 chains of 16 x 16 x 32 products: 32,768 operations a step. */
__attribute__((target("amx-tile,amx-bf16"))) static void
half_roof_amx(void *subject)
{
    struct {
        uint8_t palette, none[15];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config = { .palette = 1 };
    (void)subject;
    for (int k = 0; k < 8; k++) {
        config.row_bytes[k] = 64;
        config.rows[k] = 16;
    }
    _tile_loadconfig(&config);
    for (int k = 0; k < ROOF_STEPS / 4; k++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_release();
}
#endif

/* What a set multiplies and adds at most, in registers; 0: not known. */
static double
measure_roof(const char *what, const char *isa)
{
#if defined(__x86_64__)
    static const struct {
        const char *what, *isa;
        void (*call)(void *);
        double flop; /* a step */
    } roofs[] = {
        { "roof_fma", "avx2", fma_roof_avx2, 2.0 * 12 * 8 },
        { "roof_fma", "avx512", fma_roof_avx512, 2.0 * 12 * 16 },
        { "roof_fma", "avx512_bf16", fma_roof_avx512, 2.0 * 12 * 16 },
        { "roof_fma", "amx", fma_roof_avx512, 2.0 * 12 * 16 },
        { "roof_half", "avx512_bf16", half_roof_avx512_bf16, 2.0 * 12 * 32 },
        { "roof_half", "amx", half_roof_amx, 2.0 * 16 * 16 * 32 },
    };
    for (size_t k = 0; k < sizeof roofs / sizeof *roofs; k++) {
        if (strcmp(roofs[k].what, what) != 0 || strcmp(roofs[k].isa, isa) != 0)
            continue;
        char name[64];
        bench_time_t time = bench_measure(roofs[k].call, NULL);
        snprintf(name, sizeof name, "%s/%s", what, isa);
        bench_line(name, time, roofs[k].flop * ROOF_STEPS, "GFLOP/s", 0);
        return roofs[k].flop * ROOF_STEPS / time.median_ns;
    }
#endif
    (void)what;
    (void)isa;
    return 0;
}

static void
call_read(void *subject)
{
    row_case_t *row = subject;
    row->sink += row->kernels->dot(row->x, row->x, row->n);
}

static double
measure_read_roof(const skn_kernels_t *kernels)
{
    row_case_t row = { .kernels = kernels, .n = (size_t)TABLE_ROWS * 128 };
    row.x = numbers(row.n);
    bench_time_t time = bench_measure(call_read, &row);
    bench_line("roof_read/52 MB", time, (double)row.n * 4, "GB/s", 0);
    free(row.x);
    return (double)row.n * 4 / time.median_ns;
}

/* Products */

static void
call_gemm(void *subject)
{
    gemm_case_t *gemm = subject;
    gemm->kernels->gemm(&gemm->job, gemm->scratch);
}

#ifdef SKN_BENCH_BLAS
static void
call_blas(void *subject)
{
    gemm_case_t *gemm = subject;
    const skn_gemm_t *job = &gemm->job;
    cblas_sgemm(
        CblasRowMajor, gemm->blas_a_transposed ? CblasTrans : CblasNoTrans,
        gemm->blas_b_transposed ? CblasTrans : CblasNoTrans, (int)job->m,
        (int)job->n, (int)job->k, 1.0f, job->a.at, gemm->blas_a_stride,
        job->b.at, gemm->blas_b_stride, 0.0f, job->c, (int)job->c_stride);
}
#endif

static void
run_gemm(const char *what, gemm_case_t *gemm)
{
    skn_gemm_t *job = &gemm->job;
    char name[96];
    double flop = 2.0 * (double)job->m * (double)job->n * (double)job->k;
    gemm->scratch =
        room(gemm->kernels->gemm_scratch_bytes(job->m, job->n, job->k));
    job->c = room(job->m * job->n * sizeof *job->c);
    job->c_stride = job->n;
    snprintf(name, sizeof name, "%s/%s/m=%zu,n=%zu,k=%zu", what,
             gemm->kernels->isa, job->m, job->n, job->k);
    if (strstr(name, wanted))
        bench_line(name, bench_measure(call_gemm, gemm), flop, "GFLOP/s",
                   fma_roof);
    snprintf(name, sizeof name, "%s_half/%s/m=%zu,n=%zu,k=%zu", what,
             gemm->kernels->isa, job->m, job->n, job->k);
    job->half = true;
    if (strstr(name, wanted))
        bench_line(name, bench_measure(call_gemm, gemm), flop, "GFLOP/s",
                   half_roof);
    job->half = false;
#ifdef SKN_BENCH_BLAS
    snprintf(name, sizeof name, "%s/openblas/m=%zu,n=%zu,k=%zu", what, job->m,
             job->n, job->k);
    if (strstr(name, wanted) && strcmp(gemm->kernels->isa, "scalar") != 0)
        bench_line(name, bench_measure(call_blas, gemm), flop, "GFLOP/s",
                   fma_roof);
#endif
    free(gemm->scratch);
    free(job->c);
}

/* The three products of an output shard of `active` gathered rows. OpenBLAS
 * cannot gather: it gets rows that lie together. */
static void
run_gemms(const skn_kernels_t *kernels, size_t batch, size_t active,
          size_t width)
{
    float *hidden = numbers(batch * width),
          *weight = numbers(active * 4 * width),
          *share = numbers(batch * active);
    uint32_t *unit = room(active * sizeof *unit);
    for (size_t i = 0; i < active; i++)
        unit[i] = (uint32_t)(i * 4 + i % 3);
    skn_matrix_t rows = {
        .at = weight, .row_stride = width, .column_stride = 1, .row_index = unit
    };
    skn_matrix_t columns = { .at = weight,
                             .row_stride = 1,
                             .column_stride = width,
                             .column_index = unit };
    skn_matrix_t h = { .at = hidden, .row_stride = width, .column_stride = 1 };
    skn_matrix_t e = { .at = share, .row_stride = active, .column_stride = 1 };
    skn_matrix_t et = { .at = share, .row_stride = 1, .column_stride = active };
    gemm_case_t logits = {
        .kernels = kernels,
        .blas_b_transposed = 1,
        .job = { .m = batch, .n = active, .k = width, .a = h, .b = columns },
        .blas_a_stride = (int)width,
        .blas_b_stride = (int)width
    };
    gemm_case_t mean = {
        .kernels = kernels,
        .job = { .m = batch, .n = width, .k = active, .a = e, .b = rows },
        .blas_a_stride = (int)active,
        .blas_b_stride = (int)width
    };
    gemm_case_t gradient = {
        .kernels = kernels,
        .blas_a_transposed = 1,
        .job = { .m = active, .n = width, .k = batch, .a = et, .b = h },
        .blas_a_stride = (int)active,
        .blas_b_stride = (int)width
    };
    run_gemm("gemm_logits", &logits);
    run_gemm("gemm_mean", &mean);
    run_gemm("gemm_gradient", &gradient);
    free(hidden);
    free(weight);
    free(share);
    free(unit);
}

/* Rows */

static void
call_gather_add(void *subject)
{
    row_case_t *row = subject;
    row->place = row->place + 1024 < row->n ? row->place + 1024 : 0;
    row->kernels->gather_add(row->y, row->x, 128, row->index + row->place,
                             row->w, 1024, row->columns);
}

static void
call_dot(void *subject)
{
    row_case_t *row = subject;
    row->sink += row->kernels->dot(row->y, row->z, row->n);
}

static void
call_axpy(void *subject)
{
    row_case_t *row = subject;
    row->kernels->axpy(row->y, 0.001f, row->z, row->n);
}

static void
call_row_max(void *subject)
{
    row_case_t *row = subject;
    row->sink += row->kernels->row_max(row->y, row->n);
}

static void
call_exp_weight_sum(void *subject)
{
    row_case_t *row = subject;
    row->sink +=
        row->kernels->exp_weight_sum(row->w, row->z, NULL, row->n, 1.0f);
}

static void
call_sigmoid_weight(void *subject)
{
    row_case_t *row = subject;
    row->kernels->sigmoid_weight(row->w, row->z, NULL, row->n);
}

static void
call_softplus_sum(void *subject)
{
    row_case_t *row = subject;
    row->sink += row->kernels->softplus_sum(row->z, NULL, row->n);
}

static void
call_dropout(void *subject)
{
    row_case_t *row = subject;
    skn_noise_t noise = { 1, 2, 3, 0 };
    row->kernels->dropout(row->w, row->n, 0.5f, &noise);
}

static void
call_adam_row(void *subject)
{
    row_case_t *row = subject;
    skn_adam_t adam = { 1e-3f, .9f, .999f, .1f, .001f, 1, 1, 1e-8f, 0 };
    row->kernels->adam_row(row->y, row->w, row->z, row->z, row->n, &adam);
}

static void
call_sgd_row_bf16(void *subject)
{
    row_case_t *row = subject;
    skn_noise_t noise = { 1, 2, 3, 0 };
    row->kernels->sgd_row_bf16(row->half, row->z, row->n, 1e-3f, 0, &noise);
}

static void
call_f32_to_bf16(void *subject)
{
    row_case_t *row = subject;
    row->kernels->f32_to_bf16(row->half, row->z, row->n);
}

static void
call_copy(void *subject)
{
    row_case_t *row = subject;
    memcpy(row->w, row->z, row->n * sizeof *row->w);
    __asm__ volatile("" : : "r"(row->w) : "memory");
}

static void
call_f32_to_bf16_random(void *subject)
{
    row_case_t *row = subject;
    skn_noise_t noise = { 1, 2, 3, 0 };
    row->kernels->f32_to_bf16_random(row->half, row->z, row->n, &noise);
}

static void
call_bf16_to_f32(void *subject)
{
    row_case_t *row = subject;
    row->kernels->bf16_to_f32(row->w, row->half, row->n);
}

static void
call_greatest_abs(void *subject)
{
    row_case_t *row = subject;
    row->sink += row->kernels->greatest_abs(row->z, row->n);
}

static void
call_f32_to_i8(void *subject)
{
    row_case_t *row = subject;
    skn_noise_t noise = { 1, 2, 3, 0 };
    row->kernels->f32_to_i8((int8_t *)row->bytes, row->z, row->n, 1.0f / 127,
                            &noise);
}

static void
call_i8_to_f32(void *subject)
{
    row_case_t *row = subject;
    row->kernels->i8_to_f32(row->w, (const int8_t *)row->bytes, row->n, 0.1f);
}

static void
call_f32_to_i4(void *subject)
{
    row_case_t *row = subject;
    skn_noise_t noise = { 1, 2, 3, 0 };
    row->kernels->f32_to_i4(row->bytes, row->z, row->n, 1.0f / 7, &noise);
}

static void
call_i4_to_f32(void *subject)
{
    row_case_t *row = subject;
    row->kernels->i4_to_f32(row->w, row->bytes, row->n, 0.1f);
}

static void
call_nonzero_bits(void *subject)
{
    row_case_t *row = subject;
    row->sink += (double)row->kernels->nonzero_bits(row->bytes, row->z, row->n,
                                                    UINT32_MAX);
}

static void
call_pack_nonzero(void *subject)
{
    row_case_t *row = subject;
    row->sink +=
        (double)row->kernels->pack_nonzero(row->w, row->z, row->bits, row->n);
}

static void
call_unpack_nonzero(void *subject)
{
    row_case_t *row = subject;
    row->kernels->unpack_nonzero(row->w, row->z, row->set, row->bits, row->n);
}

static void
call_sum_squares(void *subject)
{
    row_case_t *row = subject;
    row->sink += row->kernels->sum_squares(row->z, row->n);
}

static void
call_above(void *subject)
{
    row_case_t *row = subject;
    row->sink +=
        (double)row->kernels->above(row->z, row->n, 0.999f, row->index);
}

/* Bytes are those an element reads and writes; all stays in a cache, so only
 * gather_add, which reads memory, has a roof. `copy` is the C library's: what
 * a coding could reach at best. */
static const struct {
    const char *name;
    void (*call)(void *subject);
    double bytes;
    bool coding; /* its roof is the copy */
} row_kernels[] = {
    { "copy", call_copy, 8, true }, /* first */
    { "dot", call_dot, 8, false },
    { "axpy", call_axpy, 12, false },
    { "row_max", call_row_max, 4, false },
    { "exp_weight_sum", call_exp_weight_sum, 8, false },
    { "sigmoid_weight", call_sigmoid_weight, 8, false },
    { "softplus_sum", call_softplus_sum, 4, false },
    { "dropout", call_dropout, 8, false },
    { "adam_row", call_adam_row, 28, false },
    { "sgd_row_bf16", call_sgd_row_bf16, 8, false },
    { "f32_to_bf16", call_f32_to_bf16, 6, true },
    { "f32_to_bf16_random", call_f32_to_bf16_random, 6, true },
    { "bf16_to_f32", call_bf16_to_f32, 6, true },
    { "greatest_abs", call_greatest_abs, 4, true },
    { "f32_to_i8", call_f32_to_i8, 5, true },
    { "i8_to_f32", call_i8_to_f32, 5, true },
    { "f32_to_i4", call_f32_to_i4, 4.5, true },
    { "i4_to_f32", call_i4_to_f32, 4.5, true },
    { "nonzero_bits", call_nonzero_bits, 4.125, true },
    { "pack_nonzero", call_pack_nonzero, 6.125, true },
    { "unpack_nonzero", call_unpack_nonzero, 6.125, true },
    { "sum_squares", call_sum_squares, 4, false },
    { "above", call_above, 4, false },
};

static void
run_rows(const skn_kernels_t *kernels, size_t n)
{
    row_case_t row = { .kernels = kernels, .n = n };
    char name[96];
    double copy_roof = 0;
    row.x = numbers((size_t)TABLE_ROWS * 128);
    row.y = numbers(n);
    row.z = numbers(n);
    row.w = numbers(n);
    row.half = room(n * sizeof *row.half);
    row.bytes = room(n);
    row.bits = room(n / 8 + 1);
    row.index = room(TABLE_ROWS * sizeof *row.index);
    for (size_t i = 0; i < n; i++)
        if (row.z[i] > 0) {
            row.bits[i / 8] = (uint8_t)(row.bits[i / 8] | 1u << i % 8);
            row.set++;
        }
    for (size_t i = 0; i < TABLE_ROWS; i++)
        row.index[i] = (uint32_t)(i * 2654435761u % TABLE_ROWS);
    row.n = TABLE_ROWS;
    for (row.columns = 16; row.columns <= 128; row.columns *= 2) {
        snprintf(name, sizeof name, "gather_add/%s/rows=1024,columns=%zu",
                 kernels->isa, row.columns);
        if (strstr(name, wanted))
            bench_line(name, bench_measure(call_gather_add, &row),
                       1024.0 * (double)row.columns * 4, "GB/s", read_roof);
    }
    row.n = n;
    for (size_t i = 0; i < sizeof row_kernels / sizeof *row_kernels; i++) {
        snprintf(name, sizeof name, "%s/%s/n=%zu", row_kernels[i].name,
                 kernels->isa, n);
        if (!strstr(name, wanted) && i > 0)
            continue;
        bench_time_t time = bench_measure(row_kernels[i].call, &row);
        double bytes = (double)n * row_kernels[i].bytes;
        if (i == 0)
            copy_roof = bytes / time.median_ns;
        if (strstr(name, wanted))
            bench_line(name, time, bytes, "GB/s",
                       row_kernels[i].coding ? copy_roof : 0);
    }
    free(row.x);
    free(row.y);
    free(row.z);
    free(row.w);
    free(row.half);
    free(row.bytes);
    free(row.bits);
    free(row.index);
}

int
main(int argc, char **argv)
{
    const skn_kernels_t *kernels;
    wanted = argc > 1 ? argv[1] : "";
    bench_head();
    read_roof = measure_read_roof(skn_kernels_variant(0));
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++) {
        bool slow = strcmp(kernels->isa, "scalar") == 0;
        fma_roof = measure_roof("roof_fma", kernels->isa);
        half_roof = measure_roof("roof_half", kernels->isa);
        if (half_roof == 0)
            half_roof = fma_roof;
        run_gemms(kernels, 512, slow ? 460 : 4600, 128);
        if (!slow) {
            run_gemms(kernels, 256, 4600, 256);
            run_gemms(kernels, 512, 9200, 1024);
        }
        run_rows(kernels, 4096);
    }
    return 0;
}
