/* noise.h - draws the random bits of kernels that drop or round at random.
 *
 * Element i's 16 bits are half-word i % 8 of the Philox block with counter
 * {(first_column + i) / 8, row, stream}, independent of lanes, slices and
 * order. They stay in registers until they are used.
 *
 * Ten rounds are one long chain of dependent instructions, so several vectors
 * of counters are computed side by side if a row is long enough.
 * SPDX-License-Identifier: Apache-2.0 */

/* Elements of one vector of counters: 8 a lane. */
#define NOISE_VECTORS 8
#define NOISE_COLUMNS (NOISE_VECTORS * VF_LANES)
#define NOISE_CHAINS_MAX 4

/* The source of the random bits of a row, and the keys of the rounds. */
typedef struct noise_source {
    const skn_noise_t *at;
    uint32_t k0[10], k1[10];
} noise_source_t;

/* One step of a kernel on `lanes` elements from i on, with their bits; and on
 * two vectors. */
typedef void noise_step_t(const void *job, size_t i, vi_t bits, size_t lanes);
typedef void noise_pair_t(const void *job, size_t i, vi_t first, vi_t second);

VF_WORD void
noise_keys(uint32_t *k0, uint32_t *k1, uint64_t key)
{
    for (uint32_t round = 0; round < 10; round++) {
        k0[round] = (uint32_t)key + round * SKN_PHILOX_W0;
        k1[round] = (uint32_t)(key >> 32) + round * SKN_PHILOX_W1;
    }
}

/* Ten rounds of Philox (see philox.h) on `chains` vectors of counters, 4 words
 * each, in x; `chains` is a constant in each call. */
VF_WORD void
noise_rounds(vi_t *x, size_t chains, const uint32_t *k0, const uint32_t *k1)
{
    const vi_t m0 = vi_set(SKN_PHILOX_M0), m1 = vi_set(SKN_PHILOX_M1);
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
        vi_t key0 = vi_set(k0[round]), key1 = vi_set(k1[round]);
        for (size_t c = 0; c < 4 * chains; c += 4) {
            vi_t high0, low0, high1, low1;
            vi_multiply(x[c], m0, &high0, &low0);
            vi_multiply(x[c + 2], m1, &high1, &low1);
            x[c] = vi_xor(vi_xor(high1, x[c + 1]), key0);
            x[c + 1] = low1;
            x[c + 2] = vi_xor(vi_xor(high0, x[c + 3]), key1);
            x[c + 3] = low0;
        }
    }
}

/* The random bits of `chains` vectors of blocks, from element i on; `chains` is
 * a constant in each call. */
VF_WORD void
noise_draw(vi_t *x, size_t chains, const noise_source_t *source, size_t i)
{
    const skn_noise_t *noise = source->at;
    uint32_t block = noise->first_column / 8 + (uint32_t)(i / 8);
    for (size_t c = 0; c < chains; c++) {
        vi_t *counter = x + 4 * c;
        counter[0] =
            vi_add(vi_set(block + (uint32_t)(c * VF_LANES)), vi_block());
        counter[1] = vi_set(noise->row);
        counter[2] = vi_set((uint32_t)noise->stream);
        counter[3] = vi_set((uint32_t)(noise->stream >> 32));
    }
    noise_rounds(x, chains, source->k0, source->k1);
    for (size_t c = 0; c < chains; c++)
        vi_blocks_in_order(x + 4 * c);
}

VF_WORD void
noise_whole(noise_pair_t *pair, const void *job, const noise_source_t *source,
            size_t chains, size_t i)
{
    vi_t x[4 * NOISE_CHAINS_MAX];
    noise_draw(x, chains, source, i);
    for (size_t w = 0; w < 4 * chains; w++) {
        vi_t first, second;
        vi_halves(x[w], &first, &second);
        pair(job, i + 2 * w * VF_LANES, first, second);
    }
}

/* The last elements of a row, at most as many as one block serves, and their
 * random bits. A row of 512 and a bias ends so; a vector of counters for it
 * would be a fourth of the work. */
typedef struct noise_last {
    size_t count;
    uint16_t dice[16]; /* the first 8 count; a whole vector is read */
} noise_last_t;

/* It depends on nothing else: when it is started first, its chain of ten rounds
 * overlaps those of the vectors. */
VF_WORD noise_last_t
noise_last_of(const skn_noise_t *noise, size_t n)
{
    noise_last_t last = { .count = n % NOISE_COLUMNS };
    uint32_t first = noise->first_column / 8;
    skn_philox_t block = { { first + (uint32_t)((n - last.count) / 8),
                             noise->row, (uint32_t)noise->stream,
                             (uint32_t)(noise->stream >> 32) } };
    if (last.count == 0 || last.count > 8)
        return (noise_last_t){ .count = 0 };
    block = skn_philox(noise->key, block);
    for (size_t w = 0; w < 4; w++) {
        last.dice[2 * w] = (uint16_t)block.word[w];
        last.dice[2 * w + 1] = (uint16_t)(block.word[w] >> 16);
    }
    return last;
}

/* The last elements of a row: fewer than a vector of counters serves. */
VF_WORD void
noise_rest(noise_step_t *step, const void *job, const noise_source_t *source,
           size_t i, size_t n)
{
    vi_t x[4];
    noise_draw(x, 1, source, i);
    for (size_t w = 0; w < 4 && i < n; w++, i += 2 * VF_LANES) {
        vi_t first, second;
        vi_halves(x[w], &first, &second);
        step(job, i, first, vf_lanes(n - i));
        if (i + VF_LANES < n)
            step(job, i + VF_LANES, second, vf_lanes(n - i - VF_LANES));
    }
}

/* Runs the steps on all n elements of a row. */
VF_WORD void
noise_each(noise_pair_t *pair, noise_step_t *step, const void *job,
           const skn_noise_t *noise, size_t n)
{
    noise_source_t source = { .at = noise };
    size_t i = 0;
    noise_last_t last = noise_last_of(noise, n);
    noise_keys(source.k0, source.k1, noise->key);
    for (; i + 4 * NOISE_COLUMNS <= n; i += 4 * NOISE_COLUMNS)
        noise_whole(pair, job, &source, 4, i);
    for (; i + 2 * NOISE_COLUMNS <= n; i += 2 * NOISE_COLUMNS)
        noise_whole(pair, job, &source, 2, i);
    for (; i + NOISE_COLUMNS <= n; i += NOISE_COLUMNS)
        noise_whole(pair, job, &source, 1, i);
    if (last.count == 0 && i < n)
        noise_rest(step, job, &source, i, n);
    for (size_t k = 0; k < last.count; k += VF_LANES) {
        size_t lanes = vf_lanes(last.count - k);
        step(job, i + k, vi_load_u16_n(last.dice + k, lanes), lanes);
    }
}
