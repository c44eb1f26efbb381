/* vec_avx512.h - the vector words with 16 lanes: AVX-512 F, BW, VL and DQ.
 * SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#define VF_LANES ((size_t)16)
/* 14 x 2 sums, 2 vectors of b and one of a: 31 of 32 registers. */
#define GEMM_ROWS 14
#define GEMM_VECTORS 2

/* One word a line: it reads as a table. */
/* clang-format off */
typedef __m512 vf_t;
typedef __m512i vi_t;
typedef __mmask16 vm_t;

VF_WORD __mmask16
lane_mask(size_t n)
{
    return (__mmask16)((1u << n) - 1u);
}

VF_WORD vf_t vf_zero(void) { return _mm512_setzero_ps(); }
VF_WORD vf_t vf_set(float x) { return _mm512_set1_ps(x); }
VF_WORD vf_t vf_load(const float *x) { return _mm512_loadu_ps(x); }
VF_WORD void vf_store(float *x, vf_t a) { _mm512_storeu_ps(x, a); }

VF_WORD vf_t
vf_load_n(const float *x, size_t n)
{
    return n == 16 ? _mm512_loadu_ps(x)
                   : _mm512_maskz_loadu_ps(lane_mask(n), x);
}

VF_WORD void
vf_store_n(float *x, vf_t a, size_t n)
{
    if (n == 16)
        _mm512_storeu_ps(x, a);
    else
        _mm512_mask_storeu_ps(x, lane_mask(n), a);
}

VF_WORD vf_t vf_add(vf_t a, vf_t b) { return _mm512_add_ps(a, b); }
VF_WORD vf_t vf_sub(vf_t a, vf_t b) { return _mm512_sub_ps(a, b); }
VF_WORD vf_t vf_mul(vf_t a, vf_t b) { return _mm512_mul_ps(a, b); }
VF_WORD vf_t vf_div(vf_t a, vf_t b) { return _mm512_div_ps(a, b); }
VF_WORD vf_t vf_fma(vf_t a, vf_t b, vf_t c) { return _mm512_fmadd_ps(a, b, c); }
VF_WORD vf_t vf_sqrt(vf_t a) { return _mm512_sqrt_ps(a); }
/* b when either is NaN. */
VF_WORD vf_t vf_max(vf_t a, vf_t b) { return _mm512_max_ps(a, b); }
VF_WORD vf_t vf_min(vf_t a, vf_t b) { return _mm512_min_ps(a, b); }
VF_WORD vf_t vf_abs(vf_t a) { return _mm512_abs_ps(a); }
VF_WORD float vf_sum(vf_t a) { return _mm512_reduce_add_ps(a); }
VF_WORD float vf_greatest(vf_t a) { return _mm512_reduce_max_ps(a); }

VF_WORD vm_t
vf_above(vf_t a, vf_t b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}

VF_WORD vm_t
vf_is_nan(vf_t a)
{
    return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
}

VF_WORD vf_t vf_keep(vm_t m, vf_t a) { return _mm512_maskz_mov_ps(m, a); }

VF_WORD vf_t
vf_choose(vm_t m, vf_t a, vf_t b)
{
    return _mm512_mask_blend_ps(m, b, a);
}

/* x * 2^n in the lanes of m, rounded once; n is whole, or NaN if x is. */
#define VF_SCALE
VF_WORD vf_t
vf_scale(vm_t m, vf_t x, vf_t n)
{
    return _mm512_maskz_scalef_ps(m, x, n);
}

/* a < b is false: NaN is not below. */
VF_WORD vm_t
vf_not_below(vf_t a, vf_t b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ);
}

VF_WORD uint32_t vm_bits(vm_t m) { return m; }
VF_WORD vi_t vf_bits(vf_t a) { return _mm512_castps_si512(a); }
VF_WORD vf_t vf_of_bits(vi_t bits) { return _mm512_castsi512_ps(bits); }
VF_WORD vi_t vi_set(uint32_t x) { return _mm512_set1_epi32((int)x); }
VF_WORD vi_t vi_add(vi_t a, vi_t b) { return _mm512_add_epi32(a, b); }
VF_WORD vi_t vi_and(vi_t a, vi_t b) { return _mm512_and_si512(a, b); }
VF_WORD vi_t vi_or(vi_t a, vi_t b) { return _mm512_or_si512(a, b); }

VF_WORD vi_t
vi_left(vi_t a, int bits)
{
    return _mm512_slli_epi32(a, (unsigned)bits);
}

VF_WORD vi_t
vi_right(vi_t a, int bits)
{
    return _mm512_srli_epi32(a, (unsigned)bits);
}

VF_WORD vi_t
vi_choose(vm_t m, vi_t a, vi_t b)
{
    return _mm512_mask_blend_epi32(m, b, a);
}

VF_WORD vi_t vi_xor(vi_t a, vi_t b) { return _mm512_xor_si512(a, b); }
VF_WORD void vi_store(uint32_t *x, vi_t a) { _mm512_storeu_si512(x, a); }

VF_WORD vi_t
vi_block(void)
{
    return _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11,
                             15);
}

VF_WORD void
vi_blocks_in_order(vi_t *word)
{
    vi_t low01 = _mm512_unpacklo_epi32(word[0], word[1]);
    vi_t low23 = _mm512_unpacklo_epi32(word[2], word[3]);
    vi_t high01 = _mm512_unpackhi_epi32(word[0], word[1]);
    vi_t high23 = _mm512_unpackhi_epi32(word[2], word[3]);
    word[0] = _mm512_unpacklo_epi64(low01, low23);
    word[1] = _mm512_unpackhi_epi64(low01, low23);
    word[2] = _mm512_unpacklo_epi64(high01, high23);
    word[3] = _mm512_unpackhi_epi64(high01, high23);
}

VF_WORD void
vi_halves(vi_t a, vi_t *first, vi_t *second)
{
    *first = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(a));
    *second = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(a, 1));
}

/* The instruction multiplies the even lanes only. */
VF_WORD void
vi_multiply(vi_t a, vi_t b, vi_t *high, vi_t *low)
{
    vi_t even = _mm512_mul_epu32(a, b);
    vi_t odd = _mm512_mul_epu32(_mm512_shuffle_epi32(a, 0xf5),
                                _mm512_shuffle_epi32(b, 0xf5));
    *high = _mm512_mask_shuffle_epi32(odd, 0x5555, even, 0xf5);
    *low = _mm512_mask_shuffle_epi32(even, 0xaaaa, odd, 0xa0);
}

/* Compares as signed. */
VF_WORD vm_t
vi_below(vi_t a, vi_t b)
{
    return _mm512_cmplt_epi32_mask(a, b);
}

VF_WORD vi_t
vi_load_u16_n(const uint16_t *x, size_t n)
{
    return _mm512_cvtepu16_epi32(
        n == 16 ? _mm256_loadu_si256((const __m256i *)x)
                : _mm256_maskz_loadu_epi16(lane_mask(n), x));
}

VF_WORD void
vi_store_u16_n(uint16_t *x, vi_t a, size_t n)
{
    __m256i low = _mm512_cvtepi32_epi16(a);
    if (n == 16)
        _mm256_storeu_si256((__m256i *)x, low);
    else
        _mm256_mask_storeu_epi16(x, lane_mask(n), low);
}

VF_WORD void
vi_store_upper(uint16_t *x, vi_t a, vi_t b)
{
    const __m512i odd = _mm512_set_epi16(
        63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33,
        31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    _mm512_storeu_si512(x, _mm512_permutex2var_epi16(a, odd, b));
}

VF_WORD bool
vf_any_nan(vf_t a, vf_t b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q) != 0;
}

/* As signed. */
VF_WORD vi_t vi_max(vi_t a, vi_t b) { return _mm512_max_epi32(a, b); }

VF_WORD vm_t
vi_equal(vi_t a, vi_t b)
{
    return _mm512_cmpeq_epi32_mask(a, b);
}

VF_WORD vi_t vi_of_float(vf_t a) { return _mm512_cvttps_epi32(a); }
VF_WORD vf_t vf_of_int(vi_t a) { return _mm512_cvtepi32_ps(a); }

VF_WORD vi_t
vi_load_i8_n(const int8_t *x, size_t n)
{
    return _mm512_cvtepi8_epi32(n == 16
                                    ? _mm_loadu_si128((const __m128i *)x)
                                    : _mm_maskz_loadu_epi8(lane_mask(n), x));
}

VF_WORD void
vi_store_u8_n(uint8_t *x, vi_t a, size_t n)
{
    __m128i lowest = _mm512_cvtepi32_epi8(a);
    if (n == 16)
        _mm_storeu_si128((__m128i *)x, lowest);
    else
        _mm_mask_storeu_epi8(x, lane_mask(n), lowest);
}

VF_WORD vi_t
vi_load_u4_n(const uint8_t *x, size_t i, size_t n)
{
    __m128i bytes =
        n == 16 ? _mm_loadl_epi64((const __m128i *)(x + i / 2))
                : _mm_maskz_loadu_epi8(lane_mask((n + 1) / 2), x + i / 2);
    vi_t pair = _mm512_cvtepu8_epi64(bytes);
    pair = _mm512_or_si512(pair, _mm512_slli_epi64(pair, 28));
    return _mm512_and_si512(pair, _mm512_set1_epi32(15));
}

VF_WORD void
vi_store_u4_n(uint8_t *x, size_t i, vi_t a, size_t n)
{
    vi_t kept = n == 16 ? a : _mm512_maskz_mov_epi32(lane_mask(n), a);
    vi_t pair = _mm512_or_si512(kept, _mm512_srli_epi64(kept, 28));
    __m128i bytes = _mm512_cvtepi64_epi8(pair);
    if (n == 16)
        _mm_storel_epi64((__m128i *)(x + i / 2), bytes);
    else
        _mm_mask_storeu_epi8(x + i / 2, lane_mask((n + 1) / 2), bytes);
}

/* In registers: on some processors the forms of these instructions that write
 * to memory are slow. */
VF_WORD void
vf_pack(float *to, vf_t a, uint32_t bits)
{
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps((__mmask16)bits, a));
}

VF_WORD vf_t
vf_unpack(const float *from, uint32_t bits)
{
    return _mm512_maskz_expand_ps((__mmask16)bits, _mm512_loadu_ps(from));
}

/* Turns 16 vectors, the rows of a square, into its columns: pairs, then
 * quadruples inside each 128-bit quarter, then the quarters themselves. */
VF_WORD void
vf_transpose(vf_t *square)
{
    vf_t pair[16], quad[16], half[16];
    for (int i = 0; i < 16; i += 2) {
        pair[i] = _mm512_unpacklo_ps(square[i], square[i + 1]);
        pair[i + 1] = _mm512_unpackhi_ps(square[i], square[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        quad[i] = _mm512_shuffle_ps(pair[i], pair[i + 2], 0x44);
        quad[i + 1] = _mm512_shuffle_ps(pair[i], pair[i + 2], 0xee);
        quad[i + 2] = _mm512_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
        quad[i + 3] = _mm512_shuffle_ps(pair[i + 1], pair[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        /* Rows 4r + q of `quad` hold columns q, q + 4, q + 8, q + 12. */
        half[i] = _mm512_shuffle_f32x4(quad[i], quad[i + 4], 0x88);
        half[i + 4] = _mm512_shuffle_f32x4(quad[i], quad[i + 4], 0xdd);
        half[i + 8] = _mm512_shuffle_f32x4(quad[i + 8], quad[i + 12], 0x88);
        half[i + 12] = _mm512_shuffle_f32x4(quad[i + 8], quad[i + 12], 0xdd);
    }
    for (int i = 0; i < 4; i++) {
        square[i] = _mm512_shuffle_f32x4(half[i], half[i + 8], 0x88);
        square[i + 8] = _mm512_shuffle_f32x4(half[i], half[i + 8], 0xdd);
        square[i + 4] = _mm512_shuffle_f32x4(half[i + 4], half[i + 12], 0x88);
        square[i + 12] = _mm512_shuffle_f32x4(half[i + 4], half[i + 12], 0xdd);
    }
}
/* clang-format on */
