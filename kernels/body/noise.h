/* noise.h - kernels that throw dice: dropout and random rounding.
 *
 * Element i's 16 bits are half-word i % 8 of the Philox block with counter
 * {(first_column + i) / 8, row, stream}: no lane, slice or order enters.
 * SPDX-License-Identifier: Apache-2.0 */

/* Columns whose bits are drawn at a time: 8 blocks. */
#define NOISE_COLUMNS ((size_t)64)

static void
noise_fill(uint16_t *bits, const skn_noise_t *noise, size_t i, size_t n)
{
    skn_philox_t counter = { { noise->first_column / 8 + (uint32_t)(i / 8),
                               noise->row, (uint32_t)noise->stream,
                               (uint32_t)(noise->stream >> 32) } };
    for (size_t done = 0; done < n; done += 8) {
        skn_philox_t random = skn_philox(noise->key, counter);
        for (size_t w = 0; w < 4; w++) {
            bits[done + 2 * w] = (uint16_t)random.word[w];
            bits[done + 2 * w + 1] = (uint16_t)(random.word[w] >> 16);
        }
        counter.word[0]++;
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
    uint32_t kept = kept_f < 1.0f ? 1 : kept_f > 65536.0f ? 65536
                                                          : (uint32_t)kept_f;
    vi_t limit = vi_set(kept);
    vf_t factor = vf_set(65536.0f / (float)kept);
    for (size_t i = 0; i < n; i += NOISE_COLUMNS) {
        size_t columns = noise_lanes(n - i);
        noise_fill(bits, noise, i, columns);
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
        noise_fill(bits, noise, i, columns);
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
        noise_fill(bits, noise, i, columns);
        for (size_t j = 0; j < columns; j += VF_LANES) {
            size_t lanes = vf_lanes(columns - j);
            vf_t old = bf16_load_n(w + i + j, lanes);
            vf_t slope = vf_add(vf_load_n(g + i + j, lanes),
                                vf_mul(decay, old));
            vi_t new = bf16_random(vf_sub(old, vf_mul(step, slope)),
                                   vi_load_u16_n(bits + j, lanes));
            vi_store_u16_n(w + i + j, new, lanes);
        }
    }
}
