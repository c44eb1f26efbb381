/* bf16.h - the upper half of a float as a number: rounding to it and back.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* A NaN whose payload lies in the lower half would become infinity: bit 22
 * keeps it a (quiet) NaN. */
VF_WORD vi_t
bf16_or_nan(vf_t x, vi_t rounded)
{
    vi_t quiet = vi_or(vf_bits(x), vi_set(0x00400000u));
    return vi_right(vi_choose(vf_is_nan(x), quiet, rounded), 16);
}

VF_WORD vi_t
bf16_nearest(vf_t x)
{
    vi_t odd = vi_and(vi_right(vf_bits(x), 16), vi_set(1));
    vi_t half = vi_add(odd, vi_set(0x7fffu));
    return bf16_or_nan(x, vi_add(vf_bits(x), half));
}

/* `noise` is uniform below 2^16: it carries with the probability that the
 * lower half, seen as a fraction, states. */
VF_WORD vi_t
bf16_random(vf_t x, vi_t noise)
{
    return bf16_or_nan(x, vi_add(vf_bits(x), noise));
}

VF_WORD vf_t
bf16_load_n(const uint16_t *x, size_t n)
{
    return vf_of_bits(vi_left(vi_load_u16_n(x, n), 16));
}

static void
f32_to_bf16(uint16_t *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i += VF_LANES) {
        size_t lanes = vf_lanes(n - i);
        vi_store_u16_n(to + i, bf16_nearest(vf_load_n(from + i, lanes)), lanes);
    }
}

static void
bf16_to_f32(float *to, const uint16_t *from, size_t n)
{
    for (size_t i = 0; i < n; i += VF_LANES) {
        size_t lanes = vf_lanes(n - i);
        vf_store_n(to + i, bf16_load_n(from + i, lanes), lanes);
    }
}
