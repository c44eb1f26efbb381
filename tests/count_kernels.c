/* count_kernels.c - runs each hot kernel once, for .ci/counts, which counts the
 * instructions under valgrind.
 *
 * Each kernel has a function count_<name>, with fixed numbers. Sizes are small,
 * since valgrind executes fifty instructions for one; 513 numbers make full
 * vectors and a remainder. `count_kernels --list` prints the names, in the
 * order of the calls.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "actors/rows/rows.h"
#include "kernels/kernels.h"
#include "kernels/topk.h"

#define N 513
#define ROWS 160 /* of the table */
#define STRIDE 528
#define M 64 /* points of a product */
#define UNITS 96
#define SCRATCH_FLOATS (1 << 18)

#define ARRAY(type, name, count) static _Alignas(64) type name[count]
ARRAY(float, table, ROWS *STRIDE);
ARRAY(uint16_t, half_table, ROWS *STRIDE);
ARRAY(float, x, M *STRIDE);
ARRAY(float, y, M *STRIDE);
ARRAY(float, z, STRIDE);
ARRAY(float, out, UNITS *STRIDE);
ARRAY(float, scratch, SCRATCH_FLOATS);
static uint32_t unit[UNITS], index_of[N];
static uint8_t bits[N / 8 + 1];
static skn_topk_t topk;
static const skn_kernels_t *kernels;
static volatile double sink;
static const skn_noise_t noise = { 1, 2, 3, 0 };
static const skn_adam_t adam = {
    1e-3f, .9f, .999f, .1f, .001f, 1, 1, 1e-8f, 0
};

static skn_norm_row_t norm_row = { 0.0f, 1.0f };
static const skn_norm_t norm = { z, z, 1e-5f, true };
static void attend(bool back);

/* C(name, statement): what is counted. */
/* clang-format off */
#define CASES(C)                                                             \
    C(gather_add, kernels->gather_add(out, table, STRIDE, unit, z, 16, 512)) \
    C(dot, sink = (double)kernels->dot(x, y, N))                             \
    C(axpy, kernels->axpy(y, 0.5f, x, N))                                    \
    C(scale, kernels->scale(y, 0.5f, N))                                     \
    C(add, kernels->add(y, y, x, N))                                         \
    C(mul, kernels->mul(y, y, x, N))                                         \
    C(row_max, sink = (double)kernels->row_max(x, N))                        \
    C(exp_weight_sum,                                                        \
      sink = (double)kernels->exp_weight_sum(out, x, z, N, 1.0f))            \
    C(raise, kernels->raise(y, x, N))                                        \
    C(exp_each, kernels->exp_each(out, NULL, x, y, 1.0f, z, N))              \
    C(sigmoid_weight, kernels->sigmoid_weight(out, x, z, N))                 \
    C(softplus_sum, sink = (double)kernels->softplus_sum(x, z, N))           \
    C(relu, kernels->relu(y, N))                                             \
    C(relu_mask_mul, kernels->relu_mask_mul(y, x, N))                        \
    C(dropout, kernels->dropout(y, N, 0.5f, &noise))                         \
    C(adam_row, kernels->adam_row(table, out, z, x, N, &adam))               \
    C(adagrad_row, kernels->adagrad_row(table, x, N, .1f, 1.0f, 1e-8f))      \
    C(adagrad_columns,                                                       \
      kernels->adagrad_columns(table, out, x, N, .1f, 1e-8f))                \
    C(sgd_row, kernels->sgd_row(table, x, N, .1f, 0))                        \
    C(sgd_row_bf16,                                                          \
      kernels->sgd_row_bf16(half_table, x, N, .1f, 0, &noise))               \
    C(f32_to_bf16, kernels->f32_to_bf16(half_table, x, N))                   \
    C(f32_to_bf16_random,                                                    \
      kernels->f32_to_bf16_random(half_table, x, N, &noise))                 \
    C(bf16_to_f32, kernels->bf16_to_f32(out, half_table, N))                 \
    C(greatest_abs, sink = (double)kernels->greatest_abs(x, N))              \
    C(f32_to_i8, kernels->f32_to_i8((int8_t *)out, x, N, .01f, &noise))      \
    C(i8_to_f32, kernels->i8_to_f32(out, (const int8_t *)x, N, .01f))        \
    C(f32_to_i4, kernels->f32_to_i4((uint8_t *)out, x, N, .1f, &noise))      \
    C(i4_to_f32, kernels->i4_to_f32(out, (const uint8_t *)x, N, .1f))        \
    C(nonzero_bits,                                                          \
      sink = (double)kernels->nonzero_bits(bits, z, N, 0x7fffffffu))         \
    C(pack_nonzero, sink = (double)kernels->pack_nonzero(out, x, bits, N))   \
    C(unpack_nonzero, kernels->unpack_nonzero(out, x, N, bits, N))           \
    C(raise_zeros, kernels->raise_zeros(y, N))                               \
    C(finite_all, sink = (double)kernels->finite_all(x, N))                  \
    C(sum_squares, sink = kernels->sum_squares(x, N))                        \
    C(above, sink = (double)kernels->above(x, N, .99f, index_of))            \
    C(topk, skn_topk_scan(&topk, kernels, x, N, NULL, 0))                    \
    C(normal, kernels->normal(out, N, 1.0f, 7, 0, 0))                        \
    C(norm_row, kernels->norm_row(out, x, N, &norm, &norm_row))              \
    C(norm_row_gradient,                                                     \
      kernels->norm_row_gradient(out, y, x, N, &norm, &norm_row))            \
    C(norm_gain_gradient,                                                    \
      kernels->norm_gain_gradient(out, table, y, x, N, &norm_row))           \
    C(gelu, kernels->gelu(out, x, N))                                        \
    C(gelu_gradient, kernels->gelu_gradient(out, y, x, N))                   \
    C(silu_gate, kernels->silu_gate(out, x, y, N))                           \
    C(silu_gate_gradient,                                                    \
      kernels->silu_gate_gradient(out, table, y, x, z, N))                   \
    C(rotate, kernels->rotate(out, x, y, N - 1, false))                      \
    C(attend, attend(false))                                                 \
    C(attend_gradient, attend(true))                                         \
    C(gemm_logits, gemm_logits(false, false))                                \
    C(gemm_logits_bf16, gemm_logits(true, false))                            \
    C(gemm_logits_bf16_rows, gemm_logits(true, true))                        \
    C(gemm_pull, gemm_pull(false, false))                                    \
    C(gemm_pull_bf16, gemm_pull(true, false))                                \
    C(gemm_pull_bf16_rows, gemm_pull(true, true))                            \
    C(gemm_pack, gemm_pack(false))                                           \
    C(gemm_pack_bf16, gemm_pack(true))                                       \
    C(gemm_gradient, gemm_gradient(false))                                   \
    C(gemm_gradient_bf16, gemm_gradient(true))
/* clang-format on */

/* One head of 32 columns, of M tokens: its q, k and v are side by side. */
static void
attend(bool back)
{
    enum {
        HEAD = 32
    };
    skn_attention_t job = { .tokens = M,
                            .head = HEAD,
                            .q = x,
                            .k = x + HEAD,
                            .v = x + 2 * HEAD,
                            .stride = STRIDE,
                            .scale = 0.2f,
                            .causal = true };
    if (back)
        kernels->attend_gradient(&job, y, y + HEAD, STRIDE, z, table,
                                 table + HEAD, table + 2 * HEAD, STRIDE,
                                 scratch);
    else
        kernels->attend(&job, out, HEAD, z, scratch);
}

/* The products of an output shard, as actors/output/head.c lays them. */
static void
gemm_logits(bool half, bool rows)
{
    skn_gemm_t job = {
        .m = M,
        .n = UNITS,
        .k = N,
        .a = { .at = x, .row_stride = STRIDE, .column_stride = 1 },
        .b = { .at = rows ? NULL : table,
               .bf16 = rows ? half_table : NULL,
               .row_stride = 1,
               .column_stride = STRIDE,
               .column_index = unit },
        .c = out,
        .c_stride = UNITS,
        .half = half,
    };
    kernels->gemm(&job, scratch);
}

static void
gemm_pull(bool half, bool rows)
{
    skn_gemm_t job = {
        .m = M,
        .n = N - 1,
        .k = UNITS,
        .a = { .at = y, .row_stride = STRIDE, .column_stride = 1 },
        .b = { .at = rows ? NULL : table,
               .bf16 = rows ? half_table : NULL,
               .row_stride = STRIDE,
               .column_stride = 1,
               .row_index = unit },
        .c = out,
        .c_stride = STRIDE,
        .half = half,
    };
    kernels->gemm(&job, scratch);
}

/* What all strips of units are multiplied by. */
static void
gemm_pack(bool half)
{
    skn_gemm_t job = {
        .n = M,
        .k = N,
        .b = { .at = x, .row_stride = 1, .column_stride = STRIDE },
        .half = half,
    };
    kernels->gemm_pack(&job, scratch);
}

static void
gemm_gradient(bool half)
{
    skn_gemm_t job = {
        .m = UNITS,
        .n = N,
        .k = M,
        .a = { .at = y, .row_stride = 1, .column_stride = STRIDE },
        .b = { .at = x, .row_stride = STRIDE, .column_stride = 1 },
        .c = out,
        .c_stride = STRIDE,
        .half = half,
    };
    kernels->gemm(&job, scratch);
}

#define C(name, statement)                                                     \
    static __attribute__((noinline)) void count_##name(void)                   \
    {                                                                          \
        statement;                                                             \
    }
CASES(C)
#undef C

/* Numbers in (-1, 1); z is 0 in every other place. */
static void
fill(float *at, size_t count, uint32_t state)
{
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        at[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*call)(void);
    } cases[] = {
#define C(name, statement) { #name, count_##name },
        CASES(C)
#undef C
    };
    bool list = argc > 1 && strcmp(argv[1], "--list") == 0;
    kernels = skn_kernels_best();
    if (!kernels) {
        (void)fputs("count_kernels: SKEIN_ISA is not of this processor\n",
                    stderr);
        return 77;
    }
    for (size_t k = 0; list && k < sizeof(cases) / sizeof(cases[0]); k++)
        (void)puts(cases[k].name);
    if (list)
        return 0;
    if (kernels->gemm_scratch_bytes(UNITS, N, N) > sizeof(scratch) ||
        kernels->gemm_packed_bytes(M, N) > sizeof(scratch)) {
        (void)fputs("count_kernels: scratch is too small\n", stderr);
        return 70;
    }
    fill(x, sizeof(x) / sizeof(*x), 1);
    fill(y, sizeof(y) / sizeof(*y), 2);
    fill(z, sizeof(z) / sizeof(*z), 3);
    fill(table, sizeof(table) / sizeof(*table), 4);
    kernels->f32_to_bf16(half_table, table, ROWS * STRIDE);
    for (uint32_t k = 0; k < UNITS; k++)
        unit[k] = k + k / 2;
    for (size_t i = 0; i < N; i++)
        z[i] = i % 2 ? 0.0f : z[i] * z[i];
    memset(bits, 0x55, sizeof(bits));
    skn_topk_init(&topk, 5);
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
        cases[k].call();
    return 0;
}
