/* normal.h - kernel that draws numbers of the normal distribution.
 *
 * The method is that of Box & Muller 1958. Columns 4k to 4k + 3 of a row come
 * from the Philox block with counter {row, k, 0, 0}: words 0 and 1 give the
 * first two, 2 and 3 the others. Products and sums stay unfused: all
 * instruction sets give the same bits.
 * SPDX-License-Identifier: Apache-2.0 */

/* Columns of one vector of counters: 4 a lane. */
#define NORMAL_COLUMNS (4 * VF_LANES)

/* -2 log u for u in [2^-24, 1]: u = 2^e f, f from sqrt(1/2) to sqrt(2), and
 * log f = y + y^2 p(y) with y = f - 1. p was found by interpolation at
 * Chebyshev's nodes: log f then has a relative error below 4e-7. */
VF_WORD vf_t
minus_two_log(vf_t u)
{
    const uint32_t root_half = 0x3f3504f3u;
    vi_t moved = vi_add(vf_bits(u), vi_set((32u << 23) - root_half));
    vf_t e = vf_sub(vf_of_int(vi_right(moved, 23)), vf_set(32.0f));
    vi_t f = vi_add(vi_and(moved, vi_set(0x7fffffu)), vi_set(root_half));
    vf_t y = vf_sub(vf_of_bits(f), vf_set(1.0f));
    vf_t p = vf_set(-0.101885863f);
    p = vf_add(vf_mul(p, y), vf_set(0.159840956f));
    p = vf_add(vf_mul(p, y), vf_set(-0.171323866f));
    p = vf_add(vf_mul(p, y), vf_set(0.199290574f));
    p = vf_add(vf_mul(p, y), vf_set(-0.249824509f));
    p = vf_add(vf_mul(p, y), vf_set(0.333341122f));
    p = vf_add(vf_mul(p, y), vf_set(-0.500000894f));
    vf_t log = vf_add(y, vf_mul(vf_mul(y, y), p));
    log = vf_add(log, vf_mul(e, vf_set(0.693147181f)));
    return vf_mul(log, vf_set(-2.0f));
}

/* Turns two random words into two normal numbers. The angle is the second word
 * as a fraction of a turn: the nearest quarter determines the order of sine and
 * cosine and their signs, and r in [-1/2, 1/2] is the remainder, in quarters.
 * Their polynomials were found like that of the logarithm, and are within
 * 6e-8. */
VF_WORD void
normal_pair(vi_t *first, vi_t *second, vf_t deviation)
{
    vf_t unit = vf_mul(vf_of_int(vi_right(*first, 8)), vf_set(0x1p-24f));
    vf_t radius = vf_sqrt(minus_two_log(vf_sub(vf_set(1.0f), unit)));
    vi_t sign = vi_set(0x80000000u);
    vi_t turn = vi_add(*second, vi_set(1u << 29));
    vm_t odd = vi_below(vi_left(turn, 1), vi_set(0));
    vf_t r = vf_of_int(vi_xor(vi_left(turn, 2), sign));
    r = vf_mul(r, vf_set(0x1p-32f));
    vf_t square = vf_mul(r, r);
    vf_t s = vf_set(-0.00460214913f), c = vf_set(-0.0204081591f);
    s = vf_add(vf_mul(s, square), vf_set(0.0796802193f));
    c = vf_add(vf_mul(c, square), vf_set(0.253598571f));
    s = vf_add(vf_mul(s, square), vf_set(-0.645963490f));
    c = vf_add(vf_mul(c, square), vf_set(-1.23369706f));
    s = vf_mul(vf_add(vf_mul(s, square), vf_set(1.57079637f)), r);
    c = vf_add(vf_mul(c, square), vf_set(1.0f));
    radius = vf_mul(radius, deviation);
    vi_t cosine = vf_bits(vf_mul(radius, vf_choose(odd, s, c)));
    vi_t sine = vf_bits(vf_mul(radius, vf_choose(odd, c, s)));
    vi_t next = vi_add(turn, vi_set(1u << 30));
    *first = vi_xor(cosine, vi_and(next, sign));
    *second = vi_xor(sine, vi_and(turn, sign));
}

/* chains * NORMAL_COLUMNS numbers, from block `block` on; `chains` is a
 * constant in each call. */
VF_WORD void
normal_part(float *x, size_t chains, uint32_t row, uint32_t block,
            vf_t deviation, const noise_source_t *source)
{
    vi_t word[4 * NOISE_CHAINS_MAX];
    for (size_t c = 0; c < chains; c++) {
        vi_t *counter = word + 4 * c;
        counter[0] = vi_set(row);
        counter[1] =
            vi_add(vi_set(block + (uint32_t)(c * VF_LANES)), vi_block());
        counter[2] = counter[3] = vi_set(0);
    }
    noise_rounds(word, chains, source->k0, source->k1);
    for (size_t c = 0; c < chains; c++) {
        normal_pair(&word[4 * c], &word[4 * c + 1], deviation);
        normal_pair(&word[4 * c + 2], &word[4 * c + 3], deviation);
        vi_blocks_in_order(word + 4 * c);
        for (size_t w = 4 * c; w < 4 * c + 4; w++)
            vf_store(x + w * VF_LANES, vf_of_bits(word[w]));
    }
}

static void
normal(float *x, size_t n, float deviation, uint64_t key, uint32_t row,
       uint32_t first_column)
{
    float part[NORMAL_COLUMNS];
    noise_source_t source;
    vf_t factor = vf_set(deviation);
    size_t i = 0, skipped = first_column % 4;
    uint32_t first = (first_column + 3) / 4; /* whole block */
    noise_keys(source.k0, source.k1, key);
    if (skipped > 0) {
        i = n < 4 - skipped ? n : 4 - skipped;
        normal_part(part, 1, row, first - 1, factor, &source);
        memcpy(x, part + skipped, i * sizeof *x);
    }
    for (size_t chains = 4; i < n; first += (uint32_t)(chains * VF_LANES)) {
        while (chains > 1 && i + chains * NORMAL_COLUMNS > n)
            chains /= 2;
        if (n - i < NORMAL_COLUMNS) {
            normal_part(part, 1, row, first, factor, &source);
            memcpy(x + i, part, (n - i) * sizeof *x);
        } else if (chains == 4) {
            normal_part(x + i, 4, row, first, factor, &source);
        } else if (chains == 2) {
            normal_part(x + i, 2, row, first, factor, &source);
        } else {
            normal_part(x + i, 1, row, first, factor, &source);
        }
        i += chains * NORMAL_COLUMNS;
    }
}
