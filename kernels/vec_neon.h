/* vec_neon.h - the vector words with 4 lanes: Advanced SIMD of 64-bit Arm.
 * SPDX-License-Identifier: Apache-2.0 */
#include <arm_neon.h>

#define VF_LANES ((size_t)4)
/* 8 x 3 sums, 3 vectors of b and one of a: 28 of 32 registers. */
#define GEMM_ROWS 8
#define GEMM_VECTORS 3

/* One word a line: it reads as a table. */
/* clang-format off */
typedef float32x4_t vf_t;
typedef uint32x4_t vi_t;
typedef uint32x4_t vm_t;

VF_WORD vf_t vf_zero(void) { return vdupq_n_f32(0.0f); }
VF_WORD vf_t vf_set(float x) { return vdupq_n_f32(x); }
VF_WORD vf_t vf_load(const float *x) { return vld1q_f32(x); }
VF_WORD void vf_store(float *x, vf_t a) { vst1q_f32(x, a); }

VF_WORD vf_t
vf_load_n(const float *x, size_t n)
{
    float part[4] = { 0.0f };
    if (n == 4)
        return vld1q_f32(x);
    memcpy(part, x, n * sizeof *x);
    return vld1q_f32(part);
}

VF_WORD void
vf_store_n(float *x, vf_t a, size_t n)
{
    float part[4];
    if (n == 4) {
        vst1q_f32(x, a);
    } else {
        vst1q_f32(part, a);
        memcpy(x, part, n * sizeof *x);
    }
}

VF_WORD vf_t vf_add(vf_t a, vf_t b) { return vaddq_f32(a, b); }
VF_WORD vf_t vf_sub(vf_t a, vf_t b) { return vsubq_f32(a, b); }
VF_WORD vf_t vf_mul(vf_t a, vf_t b) { return vmulq_f32(a, b); }
VF_WORD vf_t vf_div(vf_t a, vf_t b) { return vdivq_f32(a, b); }
VF_WORD vf_t vf_fma(vf_t a, vf_t b, vf_t c) { return vfmaq_f32(c, a, b); }
VF_WORD vf_t vf_sqrt(vf_t a) { return vsqrtq_f32(a); }
VF_WORD vf_t vf_abs(vf_t a) { return vabsq_f32(a); }
VF_WORD float vf_sum(vf_t a) { return vaddvq_f32(a); }
VF_WORD float vf_greatest(vf_t a) { return vmaxvq_f32(a); }
VF_WORD vm_t vf_above(vf_t a, vf_t b) { return vcgtq_f32(a, b); }
VF_WORD vm_t vf_is_nan(vf_t a) { return vmvnq_u32(vceqq_f32(a, a)); }

VF_WORD vf_t
vf_choose(vm_t m, vf_t a, vf_t b)
{
    return vbslq_f32(m, a, b);
}

/* b when either is NaN; Arm's own maximum would be NaN. */
VF_WORD vf_t
vf_max(vf_t a, vf_t b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}

VF_WORD vf_t
vf_min(vf_t a, vf_t b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}

VF_WORD vi_t vf_bits(vf_t a) { return vreinterpretq_u32_f32(a); }
VF_WORD vf_t vf_of_bits(vi_t bits) { return vreinterpretq_f32_u32(bits); }

VF_WORD vf_t
vf_keep(vm_t m, vf_t a)
{
    return vf_of_bits(vandq_u32(m, vf_bits(a)));
}

VF_WORD uint32_t
vm_bits(vm_t m)
{
    static const uint32_t bit[4] = { 1, 2, 4, 8 };
    return vaddvq_u32(vandq_u32(m, vld1q_u32(bit)));
}

VF_WORD vi_t vi_set(uint32_t x) { return vdupq_n_u32(x); }
VF_WORD vi_t vi_add(vi_t a, vi_t b) { return vaddq_u32(a, b); }
VF_WORD vi_t vi_and(vi_t a, vi_t b) { return vandq_u32(a, b); }
VF_WORD vi_t vi_or(vi_t a, vi_t b) { return vorrq_u32(a, b); }
VF_WORD vi_t vi_xor(vi_t a, vi_t b) { return veorq_u32(a, b); }
VF_WORD void vi_store(uint32_t *x, vi_t a) { vst1q_u32(x, a); }

VF_WORD vi_t
vi_left(vi_t a, int bits)
{
    return vshlq_u32(a, vdupq_n_s32(bits));
}

/* A negative shift to the left is a shift to the right. */
VF_WORD vi_t
vi_right(vi_t a, int bits)
{
    return vshlq_u32(a, vdupq_n_s32(-bits));
}

VF_WORD vi_t
vi_block(void)
{
    static const uint32_t block[4] = { 0, 1, 2, 3 };
    return vld1q_u32(block);
}

VF_WORD void
vi_blocks_in_order(vi_t *word)
{
    vi_t low = vzip1q_u32(word[0], word[2]);
    vi_t low_odd = vzip1q_u32(word[1], word[3]);
    vi_t high = vzip2q_u32(word[0], word[2]);
    vi_t high_odd = vzip2q_u32(word[1], word[3]);
    word[0] = vzip1q_u32(low, low_odd);
    word[1] = vzip2q_u32(low, low_odd);
    word[2] = vzip1q_u32(high, high_odd);
    word[3] = vzip2q_u32(high, high_odd);
}

VF_WORD void
vi_halves(vi_t a, vi_t *first, vi_t *second)
{
    uint16x8_t halves = vreinterpretq_u16_u32(a);
    *first = vmovl_u16(vget_low_u16(halves));
    *second = vmovl_u16(vget_high_u16(halves));
}

VF_WORD void
vi_multiply(vi_t a, vi_t b, vi_t *high, vi_t *low)
{
    vi_t first = vreinterpretq_u32_u64(
        vmull_u32(vget_low_u32(a), vget_low_u32(b)));
    vi_t second = vreinterpretq_u32_u64(
        vmull_u32(vget_high_u32(a), vget_high_u32(b)));
    *low = vuzp1q_u32(first, second);
    *high = vuzp2q_u32(first, second);
}

VF_WORD vi_t
vi_choose(vm_t m, vi_t a, vi_t b)
{
    return vbslq_u32(m, a, b);
}

/* Compares as signed. */
VF_WORD vm_t
vi_below(vi_t a, vi_t b)
{
    return vcltq_s32(vreinterpretq_s32_u32(a), vreinterpretq_s32_u32(b));
}

VF_WORD vi_t
vi_load_u16_n(const uint16_t *x, size_t n)
{
    uint16_t part[4] = { 0 };
    if (n < 4) {
        memcpy(part, x, n * sizeof *x);
        x = part;
    }
    return vmovl_u16(vld1_u16(x));
}

VF_WORD void
vi_store_u16_n(uint16_t *x, vi_t a, size_t n)
{
    uint16_t part[4];
    vst1_u16(part, vmovn_u32(a));
    memcpy(x, part, n * sizeof *x);
}

VF_WORD void
vi_store_upper(uint16_t *x, vi_t a, vi_t b)
{
    vst1q_u16(x, vuzp2q_u16(vreinterpretq_u16_u32(a),
                            vreinterpretq_u16_u32(b)));
}

VF_WORD bool
vf_any_nan(vf_t a, vf_t b)
{
    uint32x4_t numbers = vandq_u32(vceqq_f32(a, a), vceqq_f32(b, b));
    return vminvq_u32(numbers) == 0;
}

/* As signed. */
VF_WORD vi_t
vi_max(vi_t a, vi_t b)
{
    return vreinterpretq_u32_s32(
        vmaxq_s32(vreinterpretq_s32_u32(a), vreinterpretq_s32_u32(b)));
}

VF_WORD vm_t vi_equal(vi_t a, vi_t b) { return vceqq_u32(a, b); }

VF_WORD vi_t
vi_of_float(vf_t a)
{
    return vreinterpretq_u32_s32(vcvtq_s32_f32(a));
}

VF_WORD vf_t
vf_of_int(vi_t a)
{
    return vcvtq_f32_s32(vreinterpretq_s32_u32(a));
}

VF_WORD vi_t
vi_load_i8_n(const int8_t *x, size_t n)
{
    int8_t part[8] = { 0 };
    memcpy(part, x, n);
    int16x4_t half = vget_low_s16(vmovl_s8(vld1_s8(part)));
    return vreinterpretq_u32_s32(vmovl_s16(half));
}

VF_WORD void
vi_store_u8_n(uint8_t *x, vi_t a, size_t n)
{
    uint8_t part[8];
    uint16x4_t half = vmovn_u32(a);
    vst1_u8(part, vmovn_u16(vcombine_u16(half, half)));
    memcpy(x, part, n);
}

VF_WORD vi_t
vi_load_u4_n(const uint8_t *x, size_t i, size_t n)
{
    uint32_t part[4] = { 0 };
    for (size_t lane = 0; lane < n; lane++)
        part[lane] = x[(i + lane) / 2] >> lane % 2 * 4 & 15u;
    return vld1q_u32(part);
}

VF_WORD void
vi_store_u4_n(uint8_t *x, size_t i, vi_t a, size_t n)
{
    uint32_t part[4];
    vst1q_u32(part, a);
    for (size_t lane = 0; lane < n; lane += 2) {
        uint32_t high = lane + 1 < n ? part[lane + 1] : 0;
        x[(i + lane) / 2] = (uint8_t)(part[lane] | high << 4);
    }
}

VF_WORD void
vf_pack(float *to, vf_t a, uint32_t bits)
{
    float part[4];
    vst1q_f32(part, a);
    for (size_t lane = 0; lane < 4; lane++)
        if (bits >> lane & 1)
            *to++ = part[lane];
}

VF_WORD vf_t
vf_unpack(const float *from, uint32_t bits)
{
    float part[4];
    for (size_t lane = 0; lane < 4; lane++)
        part[lane] = bits >> lane & 1 ? *from++ : 0.0f;
    return vld1q_f32(part);
}

/* Turns 4 vectors, the rows of a square, into its columns. */
VF_WORD void
vf_transpose(vf_t *square)
{
    vf_t low = vzip1q_f32(square[0], square[2]);
    vf_t low_odd = vzip1q_f32(square[1], square[3]);
    vf_t high = vzip2q_f32(square[0], square[2]);
    vf_t high_odd = vzip2q_f32(square[1], square[3]);
    square[0] = vzip1q_f32(low, low_odd);
    square[1] = vzip2q_f32(low, low_odd);
    square[2] = vzip1q_f32(high, high_odd);
    square[3] = vzip2q_f32(high, high_odd);
}
/* clang-format on */
