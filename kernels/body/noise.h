/* noise.h - kernels that throw dice: dropout and random rounding.
 *
 * Element i's 16 bits are half-word i % 8 of the Philox block with counter
 * {(first_column + i) / 8, row, stream}: no lane, slice or order enters.
 * SPDX-License-Identifier: Apache-2.0 */

/* Columns whose bits are drawn at a time: one block a lane. */
#define NOISE_COLUMNS (8 * VF_LANES)

/* Ten rounds of Philox (see philox.h) on VF_LANES counters at once. */
VF_WORD void
noise_rounds(vi_t *x, uint64_t key)
{
    const vi_t m0 = vi_set(SKN_PHILOX_M0), m1 = vi_set(SKN_PHILOX_M1);
    vi_t k0 = vi_set((uint32_t)key), k1 = vi_set((uint32_t)(key >> 32));
    for (int round = 0; round < 10; round++) {
        vi_t high0, low0, high1, low1;
        vi_multiply(x[0], m0, &high0, &low0);
        vi_multiply(x[2], m1, &high1, &low1);
        x[0] = vi_xor(vi_xor(high1, x[1]), k0);
        x[1] = low1;
        x[2] = vi_xor(vi_xor(high0, x[3]), k1);
        x[3] = low0;
        k0 = vi_add(k0, vi_set(SKN_PHILOX_W0));
        k1 = vi_add(k1, vi_set(SKN_PHILOX_W1));
    }
}

/* The bits of the NOISE_COLUMNS elements from i on. */
static void
noise_fill(uint16_t *bits, const skn_noise_t *noise, size_t i)
{
    uint32_t word[4][VF_LANES];
    uint32_t block = noise->first_column / 8 + (uint32_t)(i / 8);
    vi_t x[4] = { vi_add(vi_set(block), vi_lane()), vi_set(noise->row),
                  vi_set((uint32_t)noise->stream),
                  vi_set((uint32_t)(noise->stream >> 32)) };
    noise_rounds(x, noise->key);
    for (size_t w = 0; w < 4; w++)
        vi_store(word[w], x[w]);
    for (size_t lane = 0; lane < VF_LANES; lane++)
        for (size_t w = 0; w < 4; w++) {
            bits[8 * lane + 2 * w] = (uint16_t)word[w][lane];
            bits[8 * lane + 2 * w + 1] = (uint16_t)(word[w][lane] >> 16);
        }
}

VF_WORD size_t
noise_lanes(size_t left)
{
    return left < NOISE_COLUMNS ? left : NOISE_COLUMNS;
}

static void
dropout(float *x, size_t n, float keep, const skn_noise_t *noise)
{
    uint16_t bits[NOISE_COLUMNS];
    float kept_f = keep * 65536.0f + 0.5f;
    uint32_t kept = kept_f < 1.0f       ? 1
                    : kept_f > 65536.0f ? 65536
                                        : (uint32_t)kept_f;
    vi_t limit = vi_set(kept);
    vf_t factor = vf_set(65536.0f / (float)kept);
    for (size_t i = 0; i < n; i += NOISE_COLUMNS) {
        size_t columns = noise_lanes(n - i);
        noise_fill(bits, noise, i);
        for (size_t j = 0; j < columns; j += VF_LANES) {
            size_t lanes = vf_lanes(columns - j);
            vf_t scaled = vf_mul(vf_load_n(x + i + j, lanes), factor);
            vm_t stays = vi_below(vi_load_u16_n(bits + j, lanes), limit);
            vf_store_n(x + i + j, vf_keep(stays, scaled), lanes);
        }
    }
}

static void
f32_to_bf16_random(uint16_t *to, const float *from, size_t n,
                   const skn_noise_t *noise)
{
    uint16_t bits[NOISE_COLUMNS];
    for (size_t i = 0; i < n; i += NOISE_COLUMNS) {
        size_t columns = noise_lanes(n - i);
        noise_fill(bits, noise, i);
        for (size_t j = 0; j < columns; j += VF_LANES) {
            size_t lanes = vf_lanes(columns - j);
            vi_t rounded = bf16_random(vf_load_n(from + i + j, lanes),
                                       vi_load_u16_n(bits + j, lanes));
            vi_store_u16_n(to + i + j, rounded, lanes);
        }
    }
}

static void
sgd_row_bf16(uint16_t *w, const float *g, size_t n, float rate,
             float weight_decay, const skn_noise_t *noise)
{
    uint16_t bits[NOISE_COLUMNS];
    vf_t step = vf_set(rate), decay = vf_set(weight_decay);
    for (size_t i = 0; i < n; i += NOISE_COLUMNS) {
        size_t columns = noise_lanes(n - i);
        noise_fill(bits, noise, i);
        for (size_t j = 0; j < columns; j += VF_LANES) {
            size_t lanes = vf_lanes(columns - j);
            vf_t old = bf16_load_n(w + i + j, lanes);
            vf_t slope =
                vf_add(vf_load_n(g + i + j, lanes), vf_mul(decay, old));
            vi_t new = bf16_random(vf_sub(old, vf_mul(step, slope)),
                                   vi_load_u16_n(bits + j, lanes));
            vi_store_u16_n(w + i + j, new, lanes);
        }
    }
}
