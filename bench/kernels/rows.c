/* rows.c - measures kernels on rows in the second-level cache.
 *
 * Each call takes the next row of streams that fit only in that cache, so the
 * first-level cache does not help. Lengths are those of training: rows of 512
 * hidden units (513 with the bias), of 4,608 logits, pieces of 1,024 numbers
 * for the network.  SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "actors/rows/rows.h"
#include "bench/kernels/roofs.h"
#include "kernels/topk.h"

#define ITEMS_MAX 4608
/* The strips of 1,024 logits over which the best of a sample are kept. */
#define TOPK_STRIPS 16
#define TOPK_K 5

typedef struct bench_rows {
    const skn_kernels_t *kernels;
    float *x, *y; /* next rows of two streams; others: */
    uint8_t *bytes;
    float *first, *weight; /* weight: ones, shared by all rows */
    size_t at, n, room;    /* within a stream, in floats */
    size_t set;            /* number of bits */
    uint8_t bits[ITEMS_MAX / 8];
    uint32_t index[ITEMS_MAX];
    skn_topk_t topk;
    uint32_t calls;
    double sink;
} bench_rows_t;

static const skn_noise_t noise = { 1, 2, 3, 0 };

static skn_norm_row_t norm_row = { 0.0f, 1.0f };

/* A norm that leaves rows as they are. */
static const skn_norm_t *
norm_of(const bench_rows_t *rows)
{
    static skn_norm_t norm = { NULL, NULL, 1e-5f, true };
    norm.gain = rows->weight;
    return &norm;
}

/* A head of 32 columns over 32 tokens, whose q, k and v are a row. */
#define TOKENS 32
#define HEAD 32
static float log_sum[TOKENS], slopes[3 * TOKENS * HEAD];
static _Alignas(64) char scratch[1 << 16];

static const skn_attention_t *
attention_of(const float *x)
{
    static skn_attention_t job = { .tokens = TOKENS,
                                   .head = HEAD,
                                   .stride = 3 * HEAD,
                                   .scale = 0.2f,
                                   .causal = true };
    job.q = x;
    job.k = x + HEAD;
    job.v = x + 2 * HEAD;
    return &job;
}

/* Steps to the next row, which is `room` floats further in each stream. */
static bench_rows_t *
next(void *subject)
{
    bench_rows_t *rows = subject;
    rows->at = rows->at + 2 * rows->n <= rows->room ? rows->at + rows->n : 0;
    rows->x = rows->first + rows->at;
    rows->y = rows->x + rows->room;
    rows->bytes = (uint8_t *)rows->y;
    return rows;
}

/* Defines call_<name>, which calls one kernel with `rows` at the next row. */
#define CALL(name, statement)                                                  \
    static void call_##name(void *subject)                                     \
    {                                                                          \
        bench_rows_t *rows = next(subject);                                    \
        const skn_kernels_t *kernels = rows->kernels;                          \
        float *x = rows->x, *y = rows->y;                                      \
        size_t n = rows->n;                                                    \
        (void)kernels, (void)x, (void)y, (void)n;                              \
        statement;                                                             \
    }

CALL(dot, rows->sink += kernels->dot(x, y, n))
CALL(axpy, kernels->axpy(y, 1e-6f, x, n))
CALL(scale, kernels->scale(x, 1.0f, n))
CALL(add, kernels->add(y, y, x, n))
CALL(mul, kernels->mul(y, rows->weight, x, n))
CALL(row_max, rows->sink += kernels->row_max(x, n))
CALL(exp_weight_sum,
     rows->sink += kernels->exp_weight_sum(x, x, rows->weight, n, 1.0f))
CALL(raise, kernels->raise(y, x, n))
CALL(exp_each, kernels->exp_each(x, NULL, x, rows->weight, 1.0f, y, n))
CALL(sigmoid_weight, kernels->sigmoid_weight(x, x, rows->weight, n))
CALL(softplus_sum, rows->sink += kernels->softplus_sum(x, rows->weight, n))
CALL(relu, kernels->relu(x, n))
CALL(relu_mask_mul, kernels->relu_mask_mul(y, x, n))
CALL(dropout, kernels->dropout(x, n, 0.5f, &noise))
CALL(f32_to_bf16, kernels->f32_to_bf16((uint16_t *)y, x, n))
CALL(f32_to_bf16_random,
     kernels->f32_to_bf16_random((uint16_t *)y, x, n, &noise))
CALL(bf16_to_f32, kernels->bf16_to_f32(y, (uint16_t *)x, n))
CALL(greatest_abs, rows->sink += kernels->greatest_abs(x, n))
CALL(f32_to_i8, kernels->f32_to_i8((int8_t *)y, x, n, 1.0f / 127, &noise))
CALL(i8_to_f32, kernels->i8_to_f32(y, (const int8_t *)x, n, 0.1f))
CALL(f32_to_i4, kernels->f32_to_i4((uint8_t *)y, x, n, 1.0f / 7, &noise))
CALL(i4_to_f32, kernels->i4_to_f32(y, (const uint8_t *)x, n, 0.1f))
CALL(nonzero_bits, rows->sink += (double)kernels->nonzero_bits((uint8_t *)y, x,
                                                               n, 0x7fffffffu))
CALL(pack_nonzero,
     rows->sink += (double)kernels->pack_nonzero(y, x, rows->bits, n))
CALL(unpack_nonzero, kernels->unpack_nonzero(y, x, rows->set, rows->bits, n))
CALL(raise_zeros, kernels->raise_zeros(x, n))
CALL(finite_all, rows->sink += kernels->finite_all(x, n))
CALL(sum_squares, rows->sink += kernels->sum_squares(x, n))
CALL(above, rows->sink += (double)kernels->above(x, n, 0.999f, rows->index))
CALL(normal, kernels->normal(x, n, 1.0f, 7, 0, 0))
CALL(norm_row, kernels->norm_row(y, x, n, norm_of(rows), &norm_row))
CALL(norm_row_gradient, kernels->norm_row_gradient(y, rows->weight, x, n,
                                                   norm_of(rows), &norm_row))
CALL(norm_gain_gradient,
     kernels->norm_gain_gradient(y, NULL, x, x, n, &norm_row))
CALL(gelu, kernels->gelu(y, x, n))
CALL(gelu_gradient, kernels->gelu_gradient(y, rows->weight, x, n))
CALL(silu_gate, kernels->silu_gate(y, x, rows->weight, n))
CALL(silu_gate_gradient,
     kernels->silu_gate_gradient(y, slopes, rows->weight, x, x, n))
CALL(rotate, kernels->rotate(x, rows->weight, rows->weight, n, false))

CALL(attend, kernels->attend(attention_of(x), y, HEAD, log_sum, scratch))
CALL(attend_gradient,
     kernels->attend_gradient(attention_of(x), y, y, HEAD, log_sum, slopes,
                              slopes + HEAD, slopes + 2 * HEAD, 3 * HEAD,
                              scratch))

static void
call_topk(void *subject)
{
    bench_rows_t *rows = next(subject);
    if (rows->calls++ % TOPK_STRIPS == 0)
        skn_topk_init(&rows->topk, TOPK_K);
    skn_topk_scan(&rows->topk, rows->kernels, rows->x, rows->n, NULL,
                  rows->calls * (uint32_t)rows->n);
}

/* The work for one number: bytes that are read, and that are read and written
 * (a written cache line is both loaded and stored, even if its old bytes are
 * not needed); and the arithmetic that no way to compute it can avoid:
 * multiplications, divisions, dice. exp to 2 ulp takes 3 multiplications to
 * reduce its argument and 6 for a series; the logarithm in softplus 8 more.
 * Additions and comparisons have units of their own on many processors. */
static const struct {
    const char *name;
    void (*call)(void *subject);
    size_t n;
    double read, update, multiply, divide, dice;
} cases[] = {
    { "dot/513", call_dot, 513, 8, 0, 1, 0, 0 },
    { "axpy/513", call_axpy, 513, 4, 8, 1, 0, 0 },
    { "scale/512", call_scale, 512, 0, 8, 1, 0, 0 },
    { "add/513", call_add, 513, 4, 8, 0, 0, 0 },
    { "mul/513", call_mul, 513, 4, 8, 1, 0, 0 },
    { "row_max/4608", call_row_max, 4608, 4, 0, 0, 0, 0 },
    { "exp_weight_sum/4608", call_exp_weight_sum, 4608, 0, 8, 10, 0, 0 },
    { "raise/512", call_raise, 512, 4, 8, 0, 0, 0 },
    { "exp_each/512", call_exp_each, 512, 4, 16, 10, 0, 0 },
    { "sigmoid_weight/4608", call_sigmoid_weight, 4608, 0, 8, 9, 1, 0 },
    { "softplus_sum/4608", call_softplus_sum, 4608, 4, 0, 18, 1, 0 },
    { "relu/4096", call_relu, 4096, 0, 8, 0, 0, 0 },
    { "relu_mask_mul/4096", call_relu_mask_mul, 4096, 4, 8, 0, 0, 0 },
    { "dropout/512", call_dropout, 512, 0, 8, 1, 0, 1 },
    { "f32_to_bf16/513", call_f32_to_bf16, 513, 4, 4, 0, 0, 0 },
    { "f32_to_bf16_random/513", call_f32_to_bf16_random, 513, 4, 4, 0, 0, 1 },
    { "bf16_to_f32/513", call_bf16_to_f32, 513, 2, 8, 0, 0, 0 },
    { "greatest_abs/4096", call_greatest_abs, 4096, 4, 0, 0, 0, 0 },
    { "f32_to_i8/1024", call_f32_to_i8, 1024, 4, 2, 1, 0, 1 },
    { "i8_to_f32/1024", call_i8_to_f32, 1024, 1, 8, 1, 0, 0 },
    { "f32_to_i4/1024", call_f32_to_i4, 1024, 4, 1, 1, 0, 1 },
    { "i4_to_f32/1024", call_i4_to_f32, 1024, 0.5, 8, 1, 0, 0 },
    { "nonzero_bits/512", call_nonzero_bits, 512, 4, 0.25, 0, 0, 0 },
    { "pack_nonzero/512", call_pack_nonzero, 512, 4, 4, 0, 0, 0 },
    { "unpack_nonzero/512", call_unpack_nonzero, 512, 2, 8, 0, 0, 0 },
    { "raise_zeros/1024", call_raise_zeros, 1024, 0, 8, 0, 0, 0 },
    { "finite_all/1024", call_finite_all, 1024, 4, 0, 0, 0, 0 },
    { "sum_squares/513", call_sum_squares, 513, 4, 0, 1, 0, 0 },
    { "above/1024", call_above, 1024, 4, 0, 0, 0, 0 },
    { "topk/1024", call_topk, 1024, 4, 0, 0, 0, 0 },
    { "normal/512", call_normal, 512, 0, 8, 10, 0, 2 },
    { "norm_row/512", call_norm_row, 512, 4, 8, 3, 0, 0 },
    { "norm_row_gradient/512", call_norm_row_gradient, 512, 4, 8, 6, 0, 0 },
    { "norm_gain_gradient/512", call_norm_gain_gradient, 512, 4, 8, 2, 0, 0 },
    { "gelu/1024", call_gelu, 1024, 4, 8, 14, 1, 0 },
    { "gelu_gradient/1024", call_gelu_gradient, 1024, 4, 8, 19, 1, 0 },
    { "silu_gate/1024", call_silu_gate, 1024, 4, 8, 12, 1, 0 },
    { "silu_gate_gradient/1024", call_silu_gate_gradient, 1024, 0, 16, 15, 1,
      0 },
    { "rotate/512", call_rotate, 512, 0, 8, 2, 0, 0 },
    { "attend/32x32", call_attend, 3072, 4, 0, 11, 0, 0 },
    { "attend_gradient/32x32", call_attend_gradient, 3072, 4, 0, 27, 0, 0 },
};

/* Fills with numbers in (-1, 1), about half of them with their bit set. */
static void
fill(bench_rows_t *rows, const bench_session_t *session)
{
    uint32_t state = 12345;
    for (size_t i = 0; i < BENCH_STREAMS * session->stream_floats; i++) {
        state = state * 1664525u + 1013904223u;
        session->streams[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
    memset(rows->bits, 0, sizeof(rows->bits));
    rows->set = 0;
    for (size_t i = 0; i < rows->n; i++) {
        bool is_set = session->streams[i] > 0;
        rows->bits[i / 8] = (uint8_t)(rows->bits[i / 8] | is_set << i % 8);
        rows->set += is_set;
        rows->weight[i] = 1.0f;
    }
}

void
bench_rows(bench_session_t *session)
{
    static bench_rows_t rows; /* 20 KiB: kept off the stack */
    rows.kernels = session->kernels;
    rows.first = session->streams;
    rows.room = (BENCH_STREAMS - 1) * session->stream_floats / 2;
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        double n = (double)cases[k].n;
        double work[BENCH_ROOFS] = {
            [BENCH_CACHE_READ] = n * cases[k].read,
            [BENCH_CACHE_UPDATE] = n * cases[k].update,
            [BENCH_MULTIPLY] = n * cases[k].multiply,
            [BENCH_DIVIDE] = n * cases[k].divide,
            [BENCH_DICE] = n * cases[k].dice,
        };
        rows.n = cases[k].n;
        rows.at = 0;
        if (!session->counting) {
            rows.weight = session->streams + 3 * session->stream_floats;
            fill(&rows, session);
        }
        bench_case(session, cases[k].name, cases[k].call, &rows, work);
    }
}
