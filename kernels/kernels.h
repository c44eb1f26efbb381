/* kernels.h - the table of all kernels: type, name, parameters, contract.
 *
 * This file owns: the table of kernels, the structs that they take, and the
 * functions that select an instruction set. Bodies are in body/, one kernel
 * family a file.
 *
 * Threads: kernels are pure functions over the caller's arrays; any number of
 * threads may run them at once on different outputs. None allocates, fails, or
 * touches errno. Arrays need the alignment of their element type only, and
 * outputs overlap no input unless a contract says "in place".
 * A value written per element (not a sum) depends on that element's inputs
 * alone, never on its lane or on where the slice starts.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/limits.h"

/* A matrix in memory. Element (i, j) is
 *     at[row(i) * row_stride + column(j) * column_stride]
 * where row(i) = row_index ? row_index[i] : i, and column(j) likewise. Exactly
 * one of `at` and `bf16` is set. Strides count elements. A transposed view
 * swaps the two strides and the two indexes. */
typedef struct skn_matrix {
    const float *at;
    const uint16_t *bf16;
    size_t row_stride, column_stride;
    const uint32_t *row_index, *column_index;
} skn_matrix_t;

/* c[m][n] = (or +=, if `add`) a[m][k] * b[k][n]; row i of c starts at
 * c + i * c_stride. k = 0 gives zero (or leaves c). c overlaps neither a nor b.
 * The sum for each element runs over k in one order, independent of m, n and
 * the element's position: any block of c, computed alone, has the same bits.
 * Fast when one stride of a and one of b is 1, without an index there.
 * `half` rounds the elements of a and b to bf16, nearest, ties to even; sums
 * are still floats. Processors that multiply bf16 (AVX-512 BF16, AMX) are
 * faster with it, and treat subnormal elements as 0.
 * `packed`, if not NULL, is b as packed by gemm_pack for a job of the same n,
 * k, b and half: several products of one b pack it once. */
typedef struct skn_gemm {
    size_t m, n, k;
    skn_matrix_t a, b;
    float *c;
    size_t c_stride;
    bool add;
    bool half;
    const void *packed;
} skn_gemm_t;

/* The source of the random bits of one slice of a row: Philox4x32-10 (Salmon et
 * al. 2011) with this key and counter {column / 8, row, stream}; each block
 * serves 8 columns, 16 bits each. Derive `key` from tensor and seed; `stream`
 * is the batch number. first_column, the global column of element 0, is a
 * multiple of 8. */
typedef struct skn_noise {
    uint64_t key, stream;
    uint32_t row, first_column;
} skn_noise_t;

/* One step of Adam (Kingma & Ba 2015, Algorithm 1; decoupled weight decay of
 * Loshchilov & Hutter 2019). decay1 is beta1, decay2 beta2^(1 + steps skipped),
 * so that v of a row that was idle decays at its next update: equations (48)
 * and (49) of docs/concepts/equations.md. */
typedef struct skn_adam {
    float rate;
    float decay1, decay2; /* multiply m and v before adding */
    float one_minus_beta1, one_minus_beta2;
    float correction1, correction2; /* 1 / (1 - beta^t), multiply m, v */
    float eps, weight_decay;
} skn_adam_t;

/* The normalisation of rows of n columns: LayerNorm centres them, RMSNorm does
 * not. What the backward pass needs of a row is in skn_norm_row_t. */
typedef struct skn_norm {
    const float *gain, *bias; /* [n]; bias may be NULL */
    float eps;                /* added to the mean square */
    bool centred;
} skn_norm_t;
typedef struct skn_norm_row {
    float mean;  /* 0 if the norm does not centre */
    float scale; /* 1 / sqrt(mean square of x - mean, plus eps) */
} skn_norm_row_t;

/* Attention of one head over a sequence: rows i of q, k and v have `head`
 * columns and start at i * stride. A causal query sees the keys up to its own
 * row. Scores are multiplied by `scale`, mostly 1 / sqrt(head). Queries before
 * `first` are left out, which is 0 for attend_gradient; outputs have a row for
 * each of the others. */
typedef struct skn_attention {
    size_t tokens, head;
    size_t first;
    const float *q, *k, *v;
    size_t stride;
    float scale;
    bool causal;
} skn_attention_t;

/* Columns of an embedding's row that share one accumulator of Adagrad. */
#define SKN_ADAGRAD_COLUMNS 8

/* K(type, name, parameters), with these contracts:
 *
 * gather_add      out[c] += sum over k of value[k] * table[row[k] * stride + c]
 *                 for c < columns. Each column is summed in order of k, so
 *                 bits do not depend on how columns are sliced.
 * dot             sum of a[i] * b[i], in any order.
 * axpy            y[i] += a * x[i].
 * scale           x[i] *= a.
 * add, mul        out[i] = a[i] + b[i] or a[i] * b[i]; out may be a or b.
 * row_max         greatest x[i], NaN ignored; -INFINITY if there is none.
 * exp_weight_sum  e[i] = weight[i] * exp(o[i] - m); returns their sum. exp is
 *                 within 2 ulp; results below FLT_MIN are 0; NaN stays NaN.
 *                 weight may be NULL (all 1); e may be o. m is finite.
 * raise           greatest[i] = max(greatest[i], x[i]); NaN in x is ignored.
 * exp_each        the power weight * exp(o[i] - m[i]) to e[i], or where `half`
 *                 is not NULL to half[i], rounded as by f32_to_bf16; sum[i]
 *                 += the power. As exp_weight_sum otherwise.
 * sigmoid_weight  d[i] = weight[i] / (1 + exp(-o[i])). NULL and in place as
 *                 above.
 * softplus_sum    sum of weight[i] * log(1 + exp(o[i])), NULL as above.
 * relu            x[i] = max(x[i], 0), in place; NaN becomes 0.
 * relu_mask_mul   g[i] = activation[i] > 0 ? g[i] : 0, in place.
 * dropout         x[i] = 0, or with probability keep x[i] / keep. `keep` in
 *                 (0, 1] is rounded to a multiple of 2^-16, at least one.
 * adam_row        m = decay1 m + (1 - beta1) g; v likewise with g^2;
 *                 w -= rate (m c1 / (sqrt(v c2) + eps) + weight_decay w).
 * adagrad_row     w -= rate g / (sqrt(accumulator) + eps): one accumulator a
 *                 row, the running mean (or sum) of squares, is the caller's;
 *                 see sum_squares.
 * adagrad_columns  the same with a sum every SKN_ADAGRAD_COLUMNS columns, to
 *                 which it first adds the mean of their g^2.
 * sgd_row         w -= rate (g + weight_decay w).
 * sgd_row_bf16    the same on bf16 weights, rounded at random, unbiased.
 * f32_to_bf16     nearest, ties to even; NaN stays NaN (quiet), overflow
 *                 becomes infinity.
 * f32_to_bf16_random  up or down with the probability of the distance;
 *                 values that bf16 can hold are unchanged, and so are NaN and
 *                 infinity; a finite value may round to infinity only above the
 *                 greatest bf16.
 * bf16_to_f32     exact.
 * normal          x[i] = a number from the normal distribution of mean 0 and
 *                 this deviation: number first_column + i of row `row` under
 *                 `key`. Words 0 and 1 of the Philox block with counter {row,
 *                 k, 0, 0} give columns 4k and 4k + 1, words 2 and 3 the next
 *                 two (Box & Muller 1958). All instruction sets give the same
 *                 bits.
 * greatest_abs    greatest |x[i]|, 0 when there is none; infinite or NaN if
 *                 and only if an element is.
 * f32_to_i8       to[i] = x[i] / scale, rounded up or down with the probability
 *                 of the distance (in steps of 2^-16), within -127 and 127.
 *                 scale is 0, NaN or infinite: all are 0.
 * i8_to_f32       to[i] = from[i] * scale.
 * f32_to_i4       the same as f32_to_i8 within -7 and 7; two a byte, n rounded
 *                 up to even: element 2k plus 8 in the lower half of byte k.
 *                 The half after an odd n is 0; all are if scale is unusable.
 * i4_to_f32       to[i] = (half i of from - 8) * scale.
 * nonzero_bits    bit i (i % 8 of byte i / 8) = any of the bits `mask` of x[i]
 *                 is set: a mask of all bits finds values other than +0.0,
 *                 0x7fffffff finds x[i] != 0. n / 8 bytes, rounded up, with
 *                 zeros at the end. Returns the number of ones.
 * pack_nonzero    the x[i] whose bit is set, in order; returns their count. All
 *                 n items of `to` may be written.
 * unpack_nonzero  the inverse: to[i] = the next of from's `count` items where
 *                 bit i is set, +0.0 elsewhere. n bits hold `count` ones.
 * raise_zeros     x[i] = FLT_MIN, with the sign of x[i], where |x[i]| is less;
 *                 NaN stays.
 * finite_all      true when no x[i] is NaN or infinite.
 * sum_squares     sum of x[i]^2 within 64 FLT_EPSILON relative; the sum may be
 *                 infinite only if a square overflows a float.
 * above           writes the positions i with x[i] > threshold, ascending, to
 *                 index (room for n, n <= UINT32_MAX); returns their count.
 * norm_row        out = (x - mean) scale gain + bias; fills `row`. n > 0; out
 *                 may be x.
 * norm_row_gradient  dx += the gradient by x, for the gradient by out.
 * norm_gain_gradient  gain += the gradient by the gain, bias (may be NULL) +=
 *                 that by the bias.
 * gelu            out = x / 2 (1 + tanh(sqrt(2 / pi) (x + .044715 x^3))); out
 *                 may be x.
 * gelu_gradient   dx = the gradient by x, for the gradient by out; dx may be
 *                 `gradient`.
 * silu_gate       out = x gate / (1 + exp(-x)); out may be x or gate.
 * silu_gate_gradient  dx and dgate = the gradients by x and gate, for the
 *                 gradient by out; they may be any two of the inputs.
 * rotate          turns columns i and i + n / 2 of a head of n columns by the
 *                 angle of cosine[i] and sine[i], or `back` by its negative, in
 *                 place; n is even.
 * attention_scratch_bytes  room that the next two need, aligned to 64
 *                 bytes.
 * attend          out = softmax(scale q k^T) v, rows out_stride apart;
 *                 log_sum[i] = log of the sum of the exponentials of row i,
 *                 which the backward pass reads.
 * attend_gradient dq, dk and dv, rows gradient_stride apart, = the gradients by
 *                 q, k and v, for the gradient by out.
 * gemm_rows           rows of c that are computed at once: no work is wasted
 *                     if m is a multiple of it.
 * gemm_scratch_bytes  room that `gemm` needs for a job of these sizes (of any
 *                 smaller one too).
 * gemm            see skn_gemm_t; scratch is aligned to 64 bytes. */
/* clang-format off */
/* Those that code the runs of messages for links: transport/message/coding.h.
 * All instruction sets give the same bits. */
#define SKN_LINK_KERNELS(K)                                                  \
    K(void, f32_to_bf16, (uint16_t *to, const float *from, size_t n))        \
    K(void, bf16_to_f32, (float *to, const uint16_t *from, size_t n))        \
    K(float, greatest_abs, (const float *x, size_t n))                       \
    K(void, f32_to_i8, (int8_t *to, const float *x, size_t n, float scale,   \
                        const skn_noise_t *noise))                           \
    K(void, i8_to_f32, (float *to, const int8_t *from, size_t n,             \
                        float scale))                                        \
    K(void, f32_to_i4, (uint8_t *to, const float *x, size_t n, float scale,  \
                        const skn_noise_t *noise))                           \
    K(void, i4_to_f32, (float *to, const uint8_t *from, size_t n,            \
                        float scale))                                        \
    K(size_t, nonzero_bits, (uint8_t *bits, const float *x, size_t n,        \
                             uint32_t mask))                                 \
    K(size_t, pack_nonzero, (float *to, const float *x, const uint8_t *bits, \
                             size_t n))                                      \
    K(void, unpack_nonzero, (float *to, const float *from, size_t count,     \
                             const uint8_t *bits, size_t n))                 \
    K(void, raise_zeros, (float *x, size_t n))

#define SKN_KERNELS(K)                                                       \
    SKN_LINK_KERNELS(K)                                                      \
    K(void, gather_add, (float *out, const float *table, size_t stride,      \
                         const uint32_t *row, const float *value,            \
                         size_t count, size_t columns))                      \
    K(float, dot, (const float *a, const float *b, size_t n))                \
    K(void, axpy, (float *y, float a, const float *x, size_t n))             \
    K(void, scale, (float *x, float a, size_t n))                            \
    K(void, add, (float *out, const float *a, const float *b, size_t n))     \
    K(void, mul, (float *out, const float *a, const float *b, size_t n))     \
    K(float, row_max, (const float *x, size_t n))                            \
    K(float, exp_weight_sum, (float *e, const float *o,                      \
                              const float *weight, size_t n, float m))       \
    K(void, raise, (float *greatest, const float *x, size_t n))              \
    K(void, exp_each, (float *e, uint16_t *half, const float *o,             \
                       const float *m, float weight, float *sum, size_t n))  \
    K(void, sigmoid_weight, (float *d, const float *o, const float *weight,  \
                             size_t n))                                      \
    K(float, softplus_sum, (const float *o, const float *weight, size_t n))  \
    K(void, relu, (float *x, size_t n))                                      \
    K(void, relu_mask_mul, (float *g, const float *activation, size_t n))    \
    K(void, dropout, (float *x, size_t n, float keep,                        \
                      const skn_noise_t *noise))                             \
    K(void, adam_row, (float *w, float *m, float *v, const float *g,         \
                       size_t n, const skn_adam_t *adam))                    \
    K(void, adagrad_row, (float *w, const float *g, size_t n, float rate,    \
                          float accumulator, float eps))                     \
    K(void, adagrad_columns, (float *w, float *sum, const float *g,          \
                              size_t n, float rate, float eps))              \
    K(void, sgd_row, (float *w, const float *g, size_t n, float rate,        \
                      float weight_decay))                                   \
    K(void, sgd_row_bf16, (uint16_t *w, const float *g, size_t n,            \
                           float rate, float weight_decay,                   \
                           const skn_noise_t *noise))                        \
    K(void, f32_to_bf16_random, (uint16_t *to, const float *from, size_t n,  \
                                 const skn_noise_t *noise))                  \
    K(void, normal, (float *x, size_t n, float deviation, uint64_t key,      \
                     uint32_t row, uint32_t first_column))                   \
    K(bool, finite_all, (const float *x, size_t n))                          \
    K(double, sum_squares, (const float *x, size_t n))                       \
    K(size_t, above, (const float *x, size_t n, float threshold,             \
                      uint32_t *index))                                      \
    K(void, norm_row, (float *out, const float *x, size_t n,                 \
                       const skn_norm_t *norm, skn_norm_row_t *row))         \
    K(void, norm_row_gradient, (float *dx, const float *gradient,            \
                                const float *x, size_t n,                    \
                                const skn_norm_t *norm,                      \
                                const skn_norm_row_t *row))                  \
    K(void, norm_gain_gradient, (float *gain, float *bias,                   \
                                 const float *gradient, const float *x,      \
                                 size_t n, const skn_norm_row_t *row))       \
    K(void, gelu, (float *out, const float *x, size_t n))                    \
    K(void, gelu_gradient, (float *dx, const float *gradient,                \
                            const float *x, size_t n))                       \
    K(void, silu_gate, (float *out, const float *x, const float *gate,       \
                        size_t n))                                           \
    K(void, silu_gate_gradient, (float *dx, float *dgate,                    \
                                 const float *gradient, const float *x,      \
                                 const float *gate, size_t n))               \
    K(void, rotate, (float *x, const float *cosine, const float *sine,       \
                     size_t n, bool back))                                   \
    K(size_t, attention_scratch_bytes, (size_t tokens, size_t head))         \
    K(void, attend, (const skn_attention_t *job, float *out,                 \
                     size_t out_stride, float *log_sum, void *scratch))      \
    K(void, attend_gradient, (const skn_attention_t *job, const float *out,  \
                              const float *gradient, size_t out_stride,      \
                              const float *log_sum, float *dq, float *dk,    \
                              float *dv, size_t gradient_stride,             \
                              void *scratch))                                \
    K(size_t, gemm_rows, (bool half))                                        \
    K(size_t, gemm_scratch_bytes, (size_t m, size_t n, size_t k))            \
    K(size_t, gemm_packed_bytes, (size_t n, size_t k))                       \
    K(void, gemm_pack, (const skn_gemm_t *job, void *packed))                \
    K(void, gemm, (const skn_gemm_t *job, void *scratch))
/* clang-format on */

/* One instruction set's kernels. All tables are const and live forever. */
typedef struct skn_kernels {
    const char *isa; /* "scalar", "avx2", ... */
#define K(type, name, parameters) type(*name) parameters;
    SKN_KERNELS(K)
#undef K
} skn_kernels_t;

/* A table of SKN_LINK_KERNELS alone, in plain C, for programs without the
 * others: libskein-core codes with it. The other members are NULL. */
extern const skn_kernels_t skn_link_kernels;

/* The tables that this processor can run, best first: rank 0, 1, ... NULL after
 * the last. There is always at least one; the last is "scalar". */
const skn_kernels_t *skn_kernels_variant(unsigned rank);
/* The table of that name; NULL when the name is unknown or the processor lacks
 * the instructions. */
const skn_kernels_t *skn_kernels_named(const char *isa);
/* All names that this build knows, best first, as "avx512, avx2, scalar": for
 * the error sentence about an unknown one. */
const char *skn_kernels_names(void);
/* The best table, or the one that the environment's SKEIN_ISA names. NULL when
 * SKEIN_ISA is set and skn_kernels_named returns NULL: report that. Reads the
 * environment: call it once, at start, before there are threads. */
const skn_kernels_t *skn_kernels_best(void);

#endif
