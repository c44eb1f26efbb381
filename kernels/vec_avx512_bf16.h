/* vec_avx512_bf16.h - vector words of AVX-512, tiles of AVX-512 BF16.
 * SPDX-License-Identifier: Apache-2.0 */
#include "vec_avx512.h"

#define HALF_ROWS ((size_t)14) /* as GEMM_ROWS */
#define HALF_COLUMNS ((size_t)32)
#define HALF_PAIRS ((size_t)272) /* between rows of a: body/gemm_half.h */
#define HALF_IN_PLACE false
#define HALF_ALONE true /* a panel's single column is computed by half_column */
#define HALF_STEP ((size_t)1)

VF_WORD void
half_begin(void)
{
}

VF_WORD void
half_end(void)
{
}

/* c (high x the lanes of `last`, after 16 of the vector before it) = or += a
 * times panel of b: of each pair the second product is added first. `rows`, at
 * least `high`, and `vectors` are constants in the calls below. */
VF_WORD void
half_sums(const uint32_t *a, const uint32_t *b, size_t pairs, float *c,
          size_t c_stride, size_t rows, size_t vectors, size_t high,
          __mmask16 last, bool more)
{
    __m512 sum[HALF_ROWS][2];
    const __mmask16 lanes[2] = { vectors == 1 ? last : 0xffff, last };
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (size_t v = 0; v < vectors; v++)
            sum[r][v] = more && r < high
                            ? _mm512_maskz_loadu_ps(lanes[v], c + r * c_stride +
                                                                  v * VF_LANES)
                            : _mm512_setzero_ps();
#pragma GCC unroll 4
    for (size_t p = 0; p < pairs; p++) {
        __m512bh column[2];
#pragma GCC unroll 2
        for (size_t v = 0; v < vectors; v++)
            column[v] = (__m512bh)_mm512_loadu_si512(b + v * VF_LANES);
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; r++) {
            __m512bh factor =
                (__m512bh)_mm512_set1_epi32((int)a[r * HALF_PAIRS]);
#pragma GCC unroll 2
            for (size_t v = 0; v < vectors; v++)
                sum[r][v] = _mm512_dpbf16_ps(sum[r][v], factor, column[v]);
        }
        a++;
        b += HALF_COLUMNS;
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (size_t v = 0; v < vectors && r < high; v++)
            _mm512_mask_storeu_ps(c + r * c_stride + v * VF_LANES, lanes[v],
                                  sum[r][v]);
}

/* c (rows x columns) = or += a times panel of b. */
static void
half_tile(const uint32_t *a, size_t a_stride, const uint32_t *b, size_t pairs,
          float *c, size_t c_stride, size_t rows, size_t columns, bool more)
{
    (void)a_stride; /* HALF_PAIRS */
    bool wide = columns > VF_LANES;
    __mmask16 last = lane_mask(wide ? columns - VF_LANES : columns);
#define TILE(high, vectors)                                                    \
    half_sums(a, b, pairs, c, c_stride, high, vectors, rows, last, more)
    if (rows == HALF_ROWS && columns == HALF_COLUMNS)
        half_sums(a, b, pairs, c, c_stride, HALF_ROWS, 2, HALF_ROWS, 0xffff,
                  more);
    else if (rows > 8 && wide)
        TILE(HALF_ROWS, 2);
    else if (rows > 8)
        TILE(HALF_ROWS, 1);
    else if (rows > 4 && wide)
        TILE(8, 2);
    else if (rows > 4)
        TILE(8, 1);
    else if (wide)
        TILE(4, 2);
    else
        TILE(4, 1);
#undef TILE
}
