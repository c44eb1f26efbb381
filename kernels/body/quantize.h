/* quantize.h - rows of floats as 8 or 4 bits an element, rounded at random.
 *
 * An element's steps are x / scale, moved above zero so that cutting off the
 * fraction rounds down: floor(x / scale + u), u uniform below 1, is unbiased
 * (Alistarh et al. 2017, QSGD, section 3.1). Products and sums stay unfused:
 * all instruction sets give the same bits. The bits of u are those of noise.h.
 * SPDX-License-Identifier: Apache-2.0 */

/* As integers, magnitudes order themselves: finite, infinite, NaN. */
static float
greatest_abs(const float *x, size_t n)
{
    uint32_t lane[VF_LANES], greatest = 0;
    float magnitude;
    vi_t even = vi_set(0), odd = vi_set(0), sign_less = vi_set(0x7fffffffu);
    size_t i = 0;
    for (; i + 2 * VF_LANES <= n; i += 2 * VF_LANES) {
        vi_t a = vf_bits(vf_load(x + i));
        vi_t b = vf_bits(vf_load(x + i + VF_LANES));
        even = vi_max(even, vi_and(a, sign_less));
        odd = vi_max(odd, vi_and(b, sign_less));
    }
    for (; i < n; i += VF_LANES) {
        vi_t a = vf_bits(vf_load_n(x + i, vf_lanes(n - i)));
        even = vi_max(even, vi_and(a, sign_less));
    }
    vi_store(lane, vi_max(even, odd));
    for (size_t k = 0; k < VF_LANES; k++)
        greatest = lane[k] > greatest ? lane[k] : greatest;
    memcpy(&magnitude, &greatest, sizeof magnitude);
    return magnitude;
}

/* 1 / scale, or 0 if the scale is not usable. */
VF_WORD float
steps_of(float scale)
{
    return scale > 0.0f && scale <= FLT_MAX ? 1.0f / scale : 0.0f;
}

/* The steps of `x` plus limit + 1: between 1 and 2 limit + 1. */
VF_WORD vi_t
steps_random(vf_t x, vf_t per_step, float limit, vi_t noise)
{
    vf_t u = vf_mul(vf_of_int(noise), vf_set(0x1p-16f));
    vf_t zero = vf_set(limit + 1.0f), most = vf_set(2.0f * limit + 1.0f);
    vf_t steps = vf_add(vf_add(vf_mul(x, per_step), zero), u);
    return vi_of_float(vf_min(vf_max(steps, vf_set(1.0f)), most));
}

static void
f32_to_i8(int8_t *to, const float *x, size_t n, float scale,
          const skn_noise_t *noise)
{
    uint16_t bits[NOISE_COLUMNS];
    uint8_t *bytes = (uint8_t *)to;
    vf_t per_step = vf_set(steps_of(scale));
    if (!(steps_of(scale) > 0.0f)) {
        memset(to, 0, n);
        return;
    }
    for (size_t i = 0; i < n; i += NOISE_COLUMNS) {
        size_t columns = noise_lanes(n - i);
        noise_fill(bits, noise, i);
        for (size_t j = 0; j < columns; j += VF_LANES) {
            size_t lanes = vf_lanes(columns - j);
            vi_t steps = steps_random(vf_load_n(x + i + j, lanes), per_step,
                                      127.0f, vi_load_u16_n(bits + j, lanes));
            vi_store_u8_n(bytes + i + j, vi_add(steps, vi_set(128)), lanes);
        }
    }
}

static void
i8_to_f32(float *to, const int8_t *from, size_t n, float scale)
{
    vf_t step = vf_set(scale);
    for (size_t i = 0; i < n; i += VF_LANES) {
        size_t lanes = vf_lanes(n - i);
        vf_t steps = vf_of_int(vi_load_i8_n(from + i, lanes));
        vf_store_n(to + i, vf_mul(steps, step), lanes);
    }
}

/* An odd element is followed by a half byte of zeros. */
static void
f32_to_i4(uint8_t *to, const float *x, size_t n, float scale,
          const skn_noise_t *noise)
{
    uint16_t bits[NOISE_COLUMNS];
    uint8_t half[NOISE_COLUMNS + 1];
    vf_t per_step = vf_set(steps_of(scale));
    if (!(steps_of(scale) > 0.0f)) {
        memset(to, 0, n / 2 + n % 2);
        return;
    }
    for (size_t i = 0; i < n; i += NOISE_COLUMNS) {
        size_t columns = noise_lanes(n - i);
        noise_fill(bits, noise, i);
        for (size_t j = 0; j < columns; j += VF_LANES) {
            size_t lanes = vf_lanes(columns - j);
            vi_t steps = steps_random(vf_load_n(x + i + j, lanes), per_step,
                                      7.0f, vi_load_u16_n(bits + j, lanes));
            vi_store_u8_n(half + j, steps, lanes);
        }
        half[columns] = 0;
        for (size_t k = 0; 2 * k < columns; k++)
            to[i / 2 + k] = (uint8_t)(half[2 * k] | half[2 * k + 1] << 4);
    }
}

static void
i4_to_f32(float *to, const uint8_t *from, size_t n, float scale)
{
    int8_t steps[NOISE_COLUMNS];
    for (size_t i = 0; i < n; i += NOISE_COLUMNS) {
        size_t columns = noise_lanes(n - i);
        for (size_t k = 0; 2 * k < columns; k++) {
            uint8_t pair = from[i / 2 + k];
            steps[2 * k] = (int8_t)((pair & 15) - 8);
            steps[2 * k + 1] = (int8_t)((pair >> 4) - 8);
        }
        i8_to_f32(to + i, steps, columns, scale);
    }
}
