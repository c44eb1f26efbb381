/* vec_scalar.h - the vector words with one lane, in plain C for any processor.
 *
 * vf_fma rounds twice here: a fused one is a library call where the baseline
 * has no such instruction.
 * SPDX-License-Identifier: Apache-2.0 */

#define VF_LANES ((size_t)1)
#define GEMM_ROWS 4 /* 16 sums fit the baseline's registers */
#define GEMM_VECTORS 2

/* One word a line: it reads as a table. */
/* clang-format off */
typedef float vf_t;
typedef uint32_t vi_t;
typedef bool vm_t;

VF_WORD vf_t vf_zero(void) { return 0.0f; }
VF_WORD vf_t vf_set(float x) { return x; }
VF_WORD vf_t vf_load(const float *x) { return *x; }
VF_WORD void vf_store(float *x, vf_t a) { *x = a; }
VF_WORD vf_t vf_load_n(const float *x, size_t n) { return n ? *x : 0.0f; }

VF_WORD void
vf_store_n(float *x, vf_t a, size_t n)
{
    if (n)
        *x = a;
}

VF_WORD vf_t vf_add(vf_t a, vf_t b) { return a + b; }
VF_WORD vf_t vf_sub(vf_t a, vf_t b) { return a - b; }
VF_WORD vf_t vf_mul(vf_t a, vf_t b) { return a * b; }
VF_WORD vf_t vf_div(vf_t a, vf_t b) { return a / b; }
VF_WORD vf_t vf_fma(vf_t a, vf_t b, vf_t c) { return a * b + c; }
VF_WORD vf_t vf_sqrt(vf_t a) { return __builtin_sqrtf(a); }
/* b when either is NaN, as with the vector instructions. */
VF_WORD vf_t vf_max(vf_t a, vf_t b) { return a > b ? a : b; }
VF_WORD vf_t vf_min(vf_t a, vf_t b) { return a < b ? a : b; }
VF_WORD vf_t vf_abs(vf_t a) { return fabsf(a); }
VF_WORD float vf_sum(vf_t a) { return a; }
VF_WORD float vf_greatest(vf_t a) { return a; }

VF_WORD vm_t vf_above(vf_t a, vf_t b) { return a > b; }
VF_WORD vm_t vf_is_nan(vf_t a) { return a != a; }
VF_WORD vf_t vf_keep(vm_t m, vf_t a) { return m ? a : 0.0f; }
VF_WORD vf_t vf_choose(vm_t m, vf_t a, vf_t b) { return m ? a : b; }
VF_WORD uint32_t vm_bits(vm_t m) { return m; }

VF_WORD vi_t
vf_bits(vf_t a)
{
    vi_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}

VF_WORD vf_t
vf_of_bits(vi_t bits)
{
    vf_t a;
    memcpy(&a, &bits, sizeof a);
    return a;
}

VF_WORD vi_t vi_set(uint32_t x) { return x; }
VF_WORD vi_t vi_add(vi_t a, vi_t b) { return a + b; }
VF_WORD vi_t vi_and(vi_t a, vi_t b) { return a & b; }
VF_WORD vi_t vi_or(vi_t a, vi_t b) { return a | b; }
VF_WORD vi_t vi_left(vi_t a, int bits) { return a << bits; }
VF_WORD vi_t vi_right(vi_t a, int bits) { return a >> bits; }
VF_WORD vi_t vi_choose(vm_t m, vi_t a, vi_t b) { return m ? a : b; }

VF_WORD vi_t vi_xor(vi_t a, vi_t b) { return a ^ b; }
VF_WORD void vi_store(uint32_t *x, vi_t a) { *x = a; }
/* The block of 4 words that a lane works on, 0 to VF_LANES - 1, in an order
 * that makes vi_blocks_in_order cheap. */
VF_WORD vi_t vi_block(void) { return 0; }
/* word[w] holds word w of each lane's block; afterwards the 4 vectors hold the
 * blocks, one after the other. */
VF_WORD void vi_blocks_in_order(vi_t *word) { (void)word; }

/* 2 VF_LANES half-words, the lower one of a lane first, widened. */
VF_WORD void
vi_halves(vi_t a, vi_t *first, vi_t *second)
{
    *first = a & 0xffff;
    *second = a >> 16;
}

/* The upper and the lower half of each product. */
VF_WORD void
vi_multiply(vi_t a, vi_t b, vi_t *high, vi_t *low)
{
    uint64_t product = (uint64_t)a * b;
    *high = (vi_t)(product >> 32);
    *low = (vi_t)product;
}

/* Compares as signed. */
VF_WORD vm_t
vi_below(vi_t a, vi_t b)
{
    return (int32_t)a < (int32_t)b;
}

VF_WORD vi_t
vi_load_u16_n(const uint16_t *x, size_t n)
{
    return n ? *x : 0;
}

VF_WORD void
vi_store_u16_n(uint16_t *x, vi_t a, size_t n)
{
    if (n)
        *x = (uint16_t)a;
}

/* The upper halves of a, then those of b. */
VF_WORD void
vi_store_upper(uint16_t *x, vi_t a, vi_t b)
{
    x[0] = (uint16_t)(a >> 16);
    x[1] = (uint16_t)(b >> 16);
}

VF_WORD bool vf_any_nan(vf_t a, vf_t b) { return a != a || b != b; }

/* As signed. */
VF_WORD vi_t vi_max(vi_t a, vi_t b) { return vi_below(a, b) ? b : a; }
VF_WORD vm_t vi_equal(vi_t a, vi_t b) { return a == b; }
/* Towards zero; a is within an int32_t. */
VF_WORD vi_t vi_of_float(vf_t a) { return (vi_t)(int32_t)a; }
/* From signed. */
VF_WORD vf_t vf_of_int(vi_t a) { return (vf_t)(int32_t)a; }

/* With their signs. */
VF_WORD vi_t
vi_load_i8_n(const int8_t *x, size_t n)
{
    return n ? (vi_t)(int32_t)*x : 0;
}

/* The lowest 8 bits. */
VF_WORD void
vi_store_u8_n(uint8_t *x, vi_t a, size_t n)
{
    if (n)
        *x = (uint8_t)a;
}

/* Elements from i on of a row of 4 bits each, the lower half of a byte first; i
 * is a multiple of VF_LANES. After an odd n, 0 is stored. */
VF_WORD vi_t
vi_load_u4_n(const uint8_t *x, size_t i, size_t n)
{
    return n ? (vi_t)(x[i / 2] >> i % 2 * 4) & 15u : 0;
}

VF_WORD void
vi_store_u4_n(uint8_t *x, size_t i, vi_t a, size_t n)
{
    if (n && i % 2)
        x[i / 2] = (uint8_t)(x[i / 2] | a << 4);
    else if (n)
        x[i / 2] = (uint8_t)a;
}

/* The lanes whose bit is set, contiguously; the lanes after them are
 * undefined. */
VF_WORD void
vf_pack(float *to, vf_t a, uint32_t bits)
{
    (void)bits;
    *to = a;
}

/* The inverse: lanes whose bit is not set are 0. */
VF_WORD vf_t
vf_unpack(const float *from, uint32_t bits)
{
    return bits ? *from : 0.0f;
}

/* Turns VF_LANES vectors, the rows of a square, into its columns. */
VF_WORD void vf_transpose(vf_t *square) { (void)square; }
/* clang-format on */
