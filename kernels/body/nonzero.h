/* nonzero.h - kernels that mark nonzero elements by bits, and pack them.
 *
 * Where a row must be restored bit for bit, only +0.0 is left out: -0.0 is then
 * a value like any other.
 * SPDX-License-Identifier: Apache-2.0 */

/* A multiple of whole bytes of bits, and of whole vectors. */
#define BITS_STEP (VF_LANES < 8 ? 8 : VF_LANES)

/* The bits of the VF_LANES elements from i on; i is a multiple of them. */
VF_WORD uint32_t
bits_at(const uint8_t *bits, size_t i)
{
    uint32_t bytes = bits[i / 8];
    if (VF_LANES > 8)
        return bytes | (uint32_t)bits[i / 8 + 1] << 8;
    return bytes >> i % 8 & ((1u << VF_LANES) - 1);
}

/* A bit for each lane that has a bit of the mask. */
VF_WORD uint32_t
bits_nonzero(vf_t x, vi_t mask)
{
    return ~vm_bits(vi_equal(vi_and(vf_bits(x), mask), vi_set(0))) &
           (uint32_t)((1u << VF_LANES) - 1);
}

/* 64 elements at a time while there are as many: their bits are one store. */
static size_t
nonzero_bits(uint8_t *bits, const float *x, size_t n, uint32_t mask)
{
    size_t count = 0, i = 0;
    vi_t masks = vi_set(mask);
    for (; i + 64 <= n; i += 64) {
        uint64_t group = 0;
        for (size_t j = 0; j < 64; j += VF_LANES)
            group |= (uint64_t)bits_nonzero(vf_load(x + i + j), masks) << j;
        count += (size_t)__builtin_popcountll(group);
        for (size_t k = 0; k < 8; k++)
            bits[i / 8 + k] = (uint8_t)(group >> 8 * k);
    }
    for (; i < n; i += BITS_STEP) {
        uint32_t group = 0;
        for (size_t j = 0; j < BITS_STEP && i + j < n; j += VF_LANES)
            group |=
                bits_nonzero(vf_load_n(x + i + j, vf_lanes(n - i - j)), masks)
                << j;
        count += (size_t)__builtin_popcount(group);
        bits[i / 8] = (uint8_t)group;
        if (VF_LANES > 8 && i + 8 < n)
            bits[i / 8 + 1] = (uint8_t)(group >> 8);
    }
    return count;
}

/* A whole vector is written at a time: the items after its last element are
 * overwritten later, or are beyond the result. */
static size_t
pack_nonzero(float *to, const float *x, const uint8_t *bits, size_t n)
{
    size_t i = 0, count = 0;
    for (; i + VF_LANES <= n; i += VF_LANES) {
        uint32_t set = bits_at(bits, i);
        vf_pack(to + count, vf_load(x + i), set);
        count += (size_t)__builtin_popcount(set);
    }
    for (; i < n; i++)
        if (bits[i / 8] >> i % 8 & 1)
            to[count++] = x[i];
    return count;
}

/* The last items are read from a copy with room after it. */
static void
unpack_nonzero(float *to, const float *from, size_t count, const uint8_t *bits,
               size_t n)
{
    float last[2 * VF_LANES];
    size_t i = 0, used = 0;
    const float *next = from;
    for (; i + VF_LANES <= n; i += VF_LANES) {
        uint32_t set = bits_at(bits, i);
        if (next == from && count - used < VF_LANES) {
            memset(last, 0, sizeof last);
            if (count > used)
                memcpy(last, from + used, (count - used) * sizeof *last);
            next = last;
            used = 0;
        }
        vf_store(to + i, vf_unpack(next + used, set));
        used += (size_t)__builtin_popcount(set);
    }
    for (; i < n; i++)
        to[i] = bits[i / 8] >> i % 8 & 1 ? next[used++] : 0.0f;
}

/* The smallest number of full precision has the effect of zero, but is not
 * zero. */
VF_WORD void
raise_step(const void *what, size_t i, size_t lanes)
{
    float *const *x = what;
    vf_t least = vf_set(FLT_MIN), old = vf_load_n(*x + i, lanes);
    vi_t sign = vi_and(vf_bits(old), vi_set(0x80000000u));
    vf_t raised = vf_of_bits(vi_or(sign, vf_bits(least)));
    vf_t new = vf_choose(vf_above(least, vf_abs(old)), raised, old);
    vf_store_n(*x + i, new, lanes);
}

static void
raise_zeros(float *x, size_t n)
{
    vf_each(raise_step, &x, x, n);
}
