/* registers.c - the loops that measure the roofs of an instruction set.
 *
 * Compiled once per instruction set (-DSKN_ISA=avx2), as is kernels/variant.c.
 * Each loop has independent chains of one operation, as many as hide its
 * latency and still fit into the registers. They begin with different numbers;
 * otherwise a compiler would merge them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench/kernels/registers.h"

#include "kernels/philox.h"
#include "kernels/vec.h"

#define CHAINS 12
#define DICE_CHAINS (VF_LANES > 8 ? 4 : 2) /* of 4 registers each */
#define STREAMS 8
#define OUT 16 /* where results go in the sink; aligned */

/* Compilers vectorise loops of plain C for the vectors that every processor of
 * the kind has, so the roofs of `scalar` use the same vectors. */
#if SKN_NUMBER == SKN_NUMBER_scalar
#define WIDE_LANES ((size_t)4)
typedef float wide_t __attribute__((vector_size(16), may_alias));

/* One operation per line, like a table. */
/* clang-format off */
VF_WORD wide_t wide_set(float x) { return (wide_t){ x, x, x, x }; }
VF_WORD wide_t wide_load(const float *x) { return *(const wide_t *)x; }
VF_WORD void wide_store(float *x, wide_t a) { *(wide_t *)x = a; }
VF_WORD wide_t wide_add(wide_t a, wide_t b) { return a + b; }
VF_WORD wide_t wide_mul(wide_t a, wide_t b) { return a * b; }
VF_WORD wide_t wide_fma(wide_t a, wide_t b, wide_t c) { return a * b + c; }
/* clang-format on */
#else
#define WIDE_LANES VF_LANES
#define wide_t vf_t
#define wide_set vf_set
#define wide_load vf_load
#define wide_store vf_store
#define wide_add vf_add
#define wide_mul vf_mul
#define wide_fma vf_fma
#endif

VF_WORD void
begin(vf_t *chain, const float *sink)
{
    for (size_t i = 0; i < CHAINS; i++)
        chain[i] = vf_set(sink[i]);
}

VF_WORD void
end(const vf_t *chain, float *sink)
{
    vf_t sum = chain[0];
    for (size_t i = 1; i < CHAINS; i++)
        sum = vf_add(sum, chain[i]);
    vf_store(sink + OUT, sum);
}

static double
multiply(size_t steps, float *sink)
{
    wide_t chain[CHAINS];
    wide_t a = wide_set(sink[CHAINS]), b = wide_set(sink[CHAINS + 1]);
    for (size_t i = 0; i < CHAINS; i++)
        chain[i] = wide_set(sink[i]);
    for (size_t k = 0; k < steps; k++)
#pragma GCC unroll 12
        for (size_t i = 0; i < CHAINS; i++)
            chain[i] = wide_fma(chain[i], a, b);
    for (size_t i = 1; i < CHAINS; i++)
        chain[0] = wide_add(chain[0], chain[i]);
    wide_store(sink + OUT, chain[0]);
    return (double)steps * CHAINS * (double)WIDE_LANES;
}

static double
divide(size_t steps, float *sink)
{
    vf_t chain[CHAINS], a = vf_set(sink[CHAINS]);
    begin(chain, sink);
    for (size_t k = 0; k < steps; k++)
#pragma GCC unroll 12
        for (size_t i = 0; i < CHAINS; i++)
            chain[i] = vf_div(a, chain[i]);
    end(chain, sink);
    return (double)steps * CHAINS * (double)VF_LANES;
}

static double
root(size_t steps, float *sink)
{
    vf_t chain[CHAINS], a = vf_set(sink[CHAINS]);
    begin(chain, sink);
    for (size_t k = 0; k < steps; k++)
#pragma GCC unroll 12
        for (size_t i = 0; i < CHAINS; i++)
            chain[i] = vf_div(vf_sqrt(chain[i]), a);
    end(chain, sink);
    return (double)steps * CHAINS * (double)VF_LANES;
}

/* Each step is one round of Philox4x32 (kernels/philox.h); ten of them make 8
 * dice of 16 bits per lane. */
static double
dice(size_t steps, float *sink)
{
    const vi_t m0 = vi_set(SKN_PHILOX_M0), m1 = vi_set(SKN_PHILOX_M1);
    vi_t x[DICE_CHAINS][4], sum = vi_set(0);
    vi_t k0 = vf_bits(vf_set(sink[0])), k1 = vf_bits(vf_set(sink[1]));
    for (size_t i = 0; i < 4 * DICE_CHAINS; i++)
        x[i / 4][i % 4] = vf_bits(vf_set(sink[i]));
    for (size_t k = 0; k < steps; k++) {
#pragma GCC unroll 4
        for (size_t i = 0; i < DICE_CHAINS; i++) {
            vi_t high0, low0, high1, low1;
            vi_multiply(x[i][0], m0, &high0, &low0);
            vi_multiply(x[i][2], m1, &high1, &low1);
            x[i][0] = vi_xor(vi_xor(high1, x[i][1]), k0);
            x[i][1] = low1;
            x[i][2] = vi_xor(vi_xor(high0, x[i][3]), k1);
            x[i][3] = low0;
        }
        k0 = vi_add(k0, vi_set(SKN_PHILOX_W0));
        k1 = vi_add(k1, vi_set(SKN_PHILOX_W1));
    }
    for (size_t i = 0; i < 4 * DICE_CHAINS; i++)
        sum = vi_xor(sum, x[i / 4][i % 4]);
    vf_store(sink + OUT, vf_of_bits(sum));
    return (double)steps * DICE_CHAINS * (double)VF_LANES * 8 / 10;
}

#if SKN_NUMBER == SKN_NUMBER_avx512_bf16
#define HALF half
static double
half(size_t steps, float *sink)
{
    vf_t chain[CHAINS];
    __m512bh a = (__m512bh)_mm512_set1_epi32(0x3f003f00); /* .5, .5 */
    begin(chain, sink);
    for (size_t k = 0; k < steps; k++)
#pragma GCC unroll 12
        for (size_t i = 0; i < CHAINS; i++)
            chain[i] = _mm512_dpbf16_ps(chain[i], a, a);
    end(chain, sink);
    return (double)steps * CHAINS * 32;
}
#elif SKN_NUMBER == SKN_NUMBER_amx
#define HALF half
/* Multiplies tiles of zeros, which takes as long as others. */
static double
half(size_t steps, float *sink)
{
    (void)sink;
    half_begin();
    for (size_t k = 0; k < steps; k++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    half_end();
    return (double)steps * 4 * (16 * 16 * 32);
}
#else
#define HALF NULL
#endif

/* Reads x, which is aligned to 64 bytes; n is a multiple of STREAMS *
 * WIDE_LANES. */
static void
read_all(const float *x, size_t n, float *sink)
{
    wide_t sum[STREAMS];
    for (size_t v = 0; v < STREAMS; v++)
        sum[v] = wide_set(0.0f);
    for (size_t i = 0; i < n; i += STREAMS * WIDE_LANES)
#pragma GCC unroll 8
        for (size_t v = 0; v < STREAMS; v++)
            sum[v] = wide_add(sum[v], wide_load(x + i + v * WIDE_LANES));
    for (size_t v = 1; v < STREAMS; v++)
        sum[0] = wide_add(sum[0], sum[v]);
    wide_store(sink + OUT, sum[0]);
}

static void
update(float *x, size_t n, float factor)
{
    wide_t a = wide_set(factor);
    for (size_t i = 0; i < n; i += STREAMS * WIDE_LANES)
#pragma GCC unroll 8
        for (size_t v = 0; v < STREAMS; v++) {
            float *at = x + i + v * WIDE_LANES;
            wide_store(at, wide_mul(a, wide_load(at)));
        }
}

#define REGISTERS_TABLE SKN_PASTE(bench_registers_, SKN_ISA)

extern const bench_registers_t REGISTERS_TABLE;
const bench_registers_t REGISTERS_TABLE = {
    .isa = SKN_TEXT(SKN_ISA),
    .multiply = multiply,
    .half = HALF,
    .divide = divide,
    .root = root,
    .dice = dice,
    .read = read_all,
    .update = update,
};
