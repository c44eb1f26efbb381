/* vec_avx2.h - the vector words with 8 lanes: AVX2 and FMA.
 * SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#define VF_LANES ((size_t)8)
/* 6 x 2 sums, 2 vectors of b and 2 of a: all 16 registers (Van Zee & van de
 * Geijn 2015, BLIS; 12 sums cover 2 FMA a cycle of latency 4 or 5). */
#define GEMM_ROWS 6
#define GEMM_VECTORS 2

/* One word a line: it reads as a table. */
/* clang-format off */
typedef __m256 vf_t;
typedef __m256i vi_t;
typedef __m256 vm_t;

/* A window on this table that starts at 8 - n has n leading ones. */
static const int32_t lane_window[16] = {
    -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0,
};

VF_WORD __m256i
lane_mask(size_t n)
{
    return _mm256_loadu_si256((const __m256i *)(lane_window + 8 - n));
}

VF_WORD vf_t vf_zero(void) { return _mm256_setzero_ps(); }
VF_WORD vf_t vf_set(float x) { return _mm256_set1_ps(x); }
VF_WORD vf_t vf_load(const float *x) { return _mm256_loadu_ps(x); }
VF_WORD void vf_store(float *x, vf_t a) { _mm256_storeu_ps(x, a); }

VF_WORD vf_t
vf_load_n(const float *x, size_t n)
{
    return n == 8 ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, lane_mask(n));
}

VF_WORD void
vf_store_n(float *x, vf_t a, size_t n)
{
    if (n == 8)
        _mm256_storeu_ps(x, a);
    else
        _mm256_maskstore_ps(x, lane_mask(n), a);
}

VF_WORD vf_t vf_add(vf_t a, vf_t b) { return _mm256_add_ps(a, b); }
VF_WORD vf_t vf_sub(vf_t a, vf_t b) { return _mm256_sub_ps(a, b); }
VF_WORD vf_t vf_mul(vf_t a, vf_t b) { return _mm256_mul_ps(a, b); }
VF_WORD vf_t vf_div(vf_t a, vf_t b) { return _mm256_div_ps(a, b); }
VF_WORD vf_t vf_fma(vf_t a, vf_t b, vf_t c) { return _mm256_fmadd_ps(a, b, c); }
VF_WORD vf_t vf_sqrt(vf_t a) { return _mm256_sqrt_ps(a); }
/* b when either is NaN. */
VF_WORD vf_t vf_max(vf_t a, vf_t b) { return _mm256_max_ps(a, b); }
VF_WORD vf_t vf_min(vf_t a, vf_t b) { return _mm256_min_ps(a, b); }

VF_WORD vf_t
vf_abs(vf_t a)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}

VF_WORD float
vf_sum(vf_t a)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a),
                          _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

VF_WORD float
vf_greatest(vf_t a)
{
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(a),
                          _mm256_extractf128_ps(a, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

/* The sum of the lanes of each of eight vectors: lanes 0 to 3 and 4 to 7 are
 * added first, then the two pairs of sums two apart, then those two. */
#define VF_EIGHT_SUMS
VF_WORD vf_t
vf_eight_sums(const vf_t a[8])
{
    vf_t four[4], two[2];
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        vf_t x = a[2 * k], y = a[2 * k + 1];
        four[k] = _mm256_add_ps(_mm256_permute2f128_ps(x, y, 0x20),
                                _mm256_permute2f128_ps(x, y, 0x31));
    }
#pragma GCC unroll 2
    for (int k = 0; k < 2; k++) {
        vf_t x = four[2 * k], y = four[2 * k + 1];
        two[k] = _mm256_add_ps(_mm256_shuffle_ps(x, y, 0x44),
                               _mm256_shuffle_ps(x, y, 0xee));
    }
    vf_t one = _mm256_add_ps(_mm256_shuffle_ps(two[0], two[1], 0x88),
                             _mm256_shuffle_ps(two[0], two[1], 0xdd));
    /* The sums of vectors 0, 2, 4, 6, 1, 3, 5 and 7. */
    return _mm256_permutevar8x32_ps(one,
                                    _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

VF_WORD vm_t
vf_above(vf_t a, vf_t b)
{
    return _mm256_cmp_ps(a, b, _CMP_GT_OQ);
}

VF_WORD vm_t
vf_is_nan(vf_t a)
{
    return _mm256_cmp_ps(a, a, _CMP_UNORD_Q);
}

VF_WORD vf_t vf_keep(vm_t m, vf_t a) { return _mm256_and_ps(m, a); }

VF_WORD vf_t
vf_choose(vm_t m, vf_t a, vf_t b)
{
    return _mm256_blendv_ps(b, a, m);
}

VF_WORD uint32_t
vm_bits(vm_t m)
{
    return (uint32_t)_mm256_movemask_ps(m);
}

VF_WORD vi_t vf_bits(vf_t a) { return _mm256_castps_si256(a); }
VF_WORD vf_t vf_of_bits(vi_t bits) { return _mm256_castsi256_ps(bits); }
VF_WORD vi_t vi_set(uint32_t x) { return _mm256_set1_epi32((int)x); }
VF_WORD vi_t vi_add(vi_t a, vi_t b) { return _mm256_add_epi32(a, b); }
VF_WORD vi_t vi_and(vi_t a, vi_t b) { return _mm256_and_si256(a, b); }
VF_WORD vi_t vi_or(vi_t a, vi_t b) { return _mm256_or_si256(a, b); }
VF_WORD vi_t vi_left(vi_t a, int bits) { return _mm256_slli_epi32(a, bits); }
VF_WORD vi_t vi_right(vi_t a, int bits) { return _mm256_srli_epi32(a, bits); }

VF_WORD vi_t
vi_choose(vm_t m, vi_t a, vi_t b)
{
    return _mm256_blendv_epi8(b, a, _mm256_castps_si256(m));
}

VF_WORD vi_t vi_xor(vi_t a, vi_t b) { return _mm256_xor_si256(a, b); }

VF_WORD void
vi_store(uint32_t *x, vi_t a)
{
    _mm256_storeu_si256((__m256i *)x, a);
}

VF_WORD vi_t
vi_block(void)
{
    return _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
}

VF_WORD void
vi_blocks_in_order(vi_t *word)
{
    vi_t low01 = _mm256_unpacklo_epi32(word[0], word[1]);
    vi_t low23 = _mm256_unpacklo_epi32(word[2], word[3]);
    vi_t high01 = _mm256_unpackhi_epi32(word[0], word[1]);
    vi_t high23 = _mm256_unpackhi_epi32(word[2], word[3]);
    word[0] = _mm256_unpacklo_epi64(low01, low23);
    word[1] = _mm256_unpackhi_epi64(low01, low23);
    word[2] = _mm256_unpacklo_epi64(high01, high23);
    word[3] = _mm256_unpackhi_epi64(high01, high23);
}

VF_WORD void
vi_halves(vi_t a, vi_t *first, vi_t *second)
{
    *first = _mm256_cvtepu16_epi32(_mm256_castsi256_si128(a));
    *second = _mm256_cvtepu16_epi32(_mm256_extracti128_si256(a, 1));
}

/* The instruction multiplies the even lanes only. */
VF_WORD void
vi_multiply(vi_t a, vi_t b, vi_t *high, vi_t *low)
{
    vi_t even = _mm256_mul_epu32(a, b);
    vi_t odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32),
                                _mm256_srli_epi64(b, 32));
    *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}

/* Compares as signed. */
VF_WORD vm_t
vi_below(vi_t a, vi_t b)
{
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(b, a));
}

VF_WORD vi_t
vi_load_u16_n(const uint16_t *x, size_t n)
{
    uint16_t part[8] = { 0 };
    if (n < 8) {
        memcpy(part, x, n * sizeof *x);
        x = part;
    }
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)x));
}

VF_WORD void
vi_store_u16_n(uint16_t *x, vi_t a, size_t n)
{
    __m128i low = _mm_packus_epi32(_mm256_castsi256_si128(a),
                                   _mm256_extracti128_si256(a, 1));
    if (n == 8)
        _mm_storeu_si128((__m128i *)x, low);
    else
        memcpy(x, &low, n * sizeof *x);
}

VF_WORD void
vi_store_upper(uint16_t *x, vi_t a, vi_t b)
{
    __m256i both = _mm256_packus_epi32(_mm256_srli_epi32(a, 16),
                                       _mm256_srli_epi32(b, 16));
    _mm256_storeu_si256((__m256i *)x, _mm256_permute4x64_epi64(both, 0xd8));
}

VF_WORD bool
vf_any_nan(vf_t a, vf_t b)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q)) != 0;
}

/* As signed. */
VF_WORD vi_t vi_max(vi_t a, vi_t b) { return _mm256_max_epi32(a, b); }

VF_WORD vm_t
vi_equal(vi_t a, vi_t b)
{
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
}

VF_WORD vi_t vi_of_float(vf_t a) { return _mm256_cvttps_epi32(a); }
VF_WORD vf_t vf_of_int(vi_t a) { return _mm256_cvtepi32_ps(a); }

VF_WORD vi_t
vi_load_i8_n(const int8_t *x, size_t n)
{
    int64_t part = 0;
    if (n == 8)
        memcpy(&part, x, 8);
    else
        memcpy(&part, x, n);
    return _mm256_cvtepi8_epi32(_mm_cvtsi64_si128(part));
}

VF_WORD void
vi_store_u8_n(uint8_t *x, vi_t a, size_t n)
{
    const __m256i lowest = _mm256_setr_epi8(
        0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    __m256i bytes = _mm256_shuffle_epi8(a, lowest);
    __m128i row = _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes),
                                     _mm256_extracti128_si256(bytes, 1));
    int64_t part = _mm_cvtsi128_si64(row);
    if (n == 8)
        memcpy(x, &part, 8);
    else
        memcpy(x, &part, n);
}

VF_WORD vi_t
vi_load_u4_n(const uint8_t *x, size_t i, size_t n)
{
    int32_t part = 0;
    if (n == 8)
        memcpy(&part, x + i / 2, 4);
    else
        memcpy(&part, x + i / 2, (n + 1) / 2);
    vi_t pair = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(part));
    pair = _mm256_or_si256(pair, _mm256_slli_epi64(pair, 28));
    return _mm256_and_si256(pair, _mm256_set1_epi32(15));
}

VF_WORD void
vi_store_u4_n(uint8_t *x, size_t i, vi_t a, size_t n)
{
    const __m256i lowest = _mm256_setr_epi8(
        0, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        0, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    vi_t kept = n == 8 ? a : _mm256_and_si256(a, lane_mask(n));
    vi_t pair = _mm256_or_si256(kept, _mm256_srli_epi64(kept, 28));
    pair = _mm256_shuffle_epi8(pair, lowest);
    __m128i row = _mm_unpacklo_epi16(_mm256_castsi256_si128(pair),
                                     _mm256_extracti128_si256(pair, 1));
    int32_t part = _mm_cvtsi128_si32(row);
    if (n == 8)
        memcpy(x + i / 2, &part, 4);
    else
        memcpy(x + i / 2, &part, (n + 1) / 2);
}

/* For 4 bits: the lanes that are set, and the position to which each lane
 * goes. */
static const uint8_t lanes_set[16][4] = {
    { 0, 0, 0, 0 }, { 0, 0, 0, 0 }, { 1, 0, 0, 0 }, { 0, 1, 0, 0 },
    { 2, 0, 0, 0 }, { 0, 2, 0, 0 }, { 1, 2, 0, 0 }, { 0, 1, 2, 0 },
    { 3, 0, 0, 0 }, { 0, 3, 0, 0 }, { 1, 3, 0, 0 }, { 0, 1, 3, 0 },
    { 2, 3, 0, 0 }, { 0, 2, 3, 0 }, { 1, 2, 3, 0 }, { 0, 1, 2, 3 },
};
static const uint8_t lanes_below[16][4] = {
    { 0, 0, 0, 0 }, { 0, 1, 1, 1 }, { 0, 0, 1, 1 }, { 0, 1, 2, 2 },
    { 0, 0, 0, 1 }, { 0, 1, 1, 2 }, { 0, 0, 1, 2 }, { 0, 1, 2, 3 },
    { 0, 0, 0, 0 }, { 0, 1, 1, 1 }, { 0, 0, 1, 1 }, { 0, 1, 2, 2 },
    { 0, 0, 0, 1 }, { 0, 1, 1, 2 }, { 0, 0, 1, 2 }, { 0, 1, 2, 3 },
};

VF_WORD __m128
quarter_moved(__m128 a, const uint8_t *lanes)
{
    int32_t four;
    memcpy(&four, lanes, sizeof four);
    return _mm_permutevar_ps(a, _mm_cvtepu8_epi32(_mm_cvtsi32_si128(four)));
}

VF_WORD void
vf_pack(float *to, vf_t a, uint32_t bits)
{
    uint32_t low = bits & 15, high = bits >> 4;
    _mm_storeu_ps(to, quarter_moved(_mm256_castps256_ps128(a),
                                    lanes_set[low]));
    _mm_storeu_ps(to + __builtin_popcount(low),
                  quarter_moved(_mm256_extractf128_ps(a, 1),
                                lanes_set[high]));
}

VF_WORD vf_t
vf_unpack(const float *from, uint32_t bits)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    uint32_t low = bits & 15, high = bits >> 4;
    __m128 first = quarter_moved(_mm_loadu_ps(from), lanes_below[low]);
    __m128 second = quarter_moved(
        _mm_loadu_ps(from + __builtin_popcount(low)), lanes_below[high]);
    __m256i set = _mm256_and_si256(_mm256_set1_epi32((int)bits), bit);
    return _mm256_and_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(set, bit)),
                         _mm256_set_m128(second, first));
}

/* Turns 8 vectors, the rows of a square, into its columns: pairs, then
 * quadruples, then halves. */
VF_WORD void
vf_transpose(vf_t *square)
{
    vf_t pair[8], quad[8];
    for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm256_unpacklo_ps(square[i], square[i + 1]);
        pair[i + 1] = _mm256_unpackhi_ps(square[i], square[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        quad[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44);
        quad[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0xee);
        quad[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
        quad[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        square[i] = _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20);
        square[i + 4] = _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31);
    }
}
/* clang-format on */
