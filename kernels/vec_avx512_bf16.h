/* vec_avx512_bf16.h - the words of AVX-512, and tiles of products of pairs of
 * bf16: AVX-512 BF16.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "vec_avx512.h"

#define HALF_ROWS ((size_t)14) /* as GEMM_ROWS */
#define HALF_BY_LANE false
#define HALF_STEP ((size_t)1)

VF_WORD void
half_begin(void)
{
}

VF_WORD void
half_end(void)
{
}

/* c (HALF_ROWS x 32) = or += panel of a times panel of b: of each pair the
 * second product is added first. */
static void
half_tile(const uint32_t *a, const uint32_t *b, size_t pairs, float *c,
          size_t c_stride, bool more)
{
    __m512 sum[HALF_ROWS][2];
#pragma GCC unroll 16
    for (size_t r = 0; r < HALF_ROWS; r++)
        for (size_t v = 0; v < 2; v++)
            sum[r][v] = more ? _mm512_loadu_ps(c + r * c_stride + v * VF_LANES)
                             : _mm512_setzero_ps();
#pragma GCC unroll 4
    for (size_t p = 0; p < pairs; p++) {
        __m512bh left = (__m512bh)_mm512_loadu_si512(b);
        __m512bh right = (__m512bh)_mm512_loadu_si512(b + VF_LANES);
#pragma GCC unroll 16
        for (size_t r = 0; r < HALF_ROWS; r++) {
            __m512bh factor = (__m512bh)_mm512_set1_epi32((int)a[r]);
            sum[r][0] = _mm512_dpbf16_ps(sum[r][0], factor, left);
            sum[r][1] = _mm512_dpbf16_ps(sum[r][1], factor, right);
        }
        a += HALF_ROWS;
        b += 2 * VF_LANES;
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < HALF_ROWS; r++)
        for (size_t v = 0; v < 2; v++)
            _mm512_storeu_ps(c + r * c_stride + v * VF_LANES, sum[r][v]);
}
