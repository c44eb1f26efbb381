/* gemm_half.h - the product of two matrices whose factors are rounded to bf16,
 * on processors that multiply pairs of them.
 *
 * The loops and blocks are those of gemm.h; an element of a panel is a word of
 * two factors, depths 2p and 2p + 1, the first in its lower half. Absent lanes
 * and depths are zeros.
 *
 *     panel of b: [pair][HALF_COLUMNS]
 *     panel of a: [pair][HALF_ROWS] for the dot products of AVX-512 BF16,
 *                 [pair / 16][HALF_ROWS][16] for the tiles of AMX
 *
 * vec_avx512_bf16.h and vec_amx.h have HALF_ROWS, HALF_BY_LANE (which of the
 * two a panel of a is) and half_tile.
 * SPDX-License-Identifier: Apache-2.0 */

#define HALF_COLUMNS ((size_t)32)
#define HALF_SQUARE ((size_t)16) /* lanes, and pairs, packed at a time */
/* A block is at most so deep and so wide, and the blocks of a product are of
 * one size: a panel of b of 256 pairs and one (a batch, or a layer and its
 * bias) is 34 KiB, a block of b 1.1 MiB, half of a second-level cache of 2. */
#define HALF_PAIRS ((size_t)272)
#define HALF_WIDTH ((size_t)1056)
#define HALF_A_WORDS ((size_t)73728)

/* 16 words: `even` below `odd`. */
VF_WORD __m512i
half_interleave(__m512bh both)
{
    const __m512i order = _mm512_set_epi16(
        31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22,
        6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(order, (__m512i)both);
}

/* Up to 16 words of lanes that lie side by side: the depth at `even`, and the
 * next at `odd`, if it is there. */
VF_WORD __m512i
half_of_lanes(const strip_t *strip, bool half, size_t even, size_t odd,
              bool paired, size_t lanes)
{
    if (half) {
        __mmask16 some = lane_mask(lanes);
        __m256i low = _mm256_maskz_loadu_epi16(some, strip->bf16 + even);
        __m256i high = paired
                           ? _mm256_maskz_loadu_epi16(some, strip->bf16 + odd)
                           : _mm256_setzero_si256();
        __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
        return half_interleave((__m512bh)both);
    }
    vf_t low = vf_load_n(strip->at + even, lanes);
    vf_t high = paired ? vf_load_n(strip->at + odd, lanes) : vf_zero();
    return half_interleave(_mm512_cvtne2ps_pbh(high, low));
}

/* Up to 16 words of a lane along which depths lie side by side. */
VF_WORD __m512i
half_of_depths(const strip_t *strip, bool half, size_t place, size_t depths)
{
    if (half) {
        __mmask32 some = depths < 32 ? (1u << depths) - 1u : UINT32_MAX;
        return _mm512_maskz_loadu_epi16(some, strip->bf16 + place);
    }
    vf_t low = vf_load_n(strip->at + place, least(depths, 16));
    vf_t high = depths > 16
                    ? vf_load_n(strip->at + place + 16, least(depths - 16, 16))
                    : vf_zero();
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* The same where neither lies side by side. */
VF_WORD __m512i
half_of_elements(const strip_t *strip, bool half, size_t lane, size_t depth0,
                 size_t depths)
{
    float x[32] = { 0.0f };
    for (size_t d = 0; d < depths; d++) {
        size_t place = lane + strip_place(depth0 + d, strip->depth_stride,
                                          strip->depth_index);
        vf_store_n(x + d, strip_load(strip, half, place, 1), 1);
    }
    return (__m512i)_mm512_cvtne2ps_pbh(vf_load(x + 16), vf_load(x));
}

VF_WORD void
half_transpose(__m512i *square)
{
    vf_t rows[16];
    for (int i = 0; i < 16; i++)
        rows[i] = vf_of_bits(square[i]);
    vf_transpose(rows);
    for (int i = 0; i < 16; i++)
        square[i] = vf_bits(rows[i]);
}

/* A square of 16 lanes from `lane`, of which `lanes` are there, and 16 pairs
 * from `depth0`, of which `depths` depths are there. */
typedef struct half_part {
    size_t lane, lanes, depth0, depths;
} half_part_t;

/* square[k]: of pair k where `along` (lanes lie side by side), of lane k
 * elsewhere. */
VF_WORD void
half_load(__m512i *square, const strip_t *strip, bool half, bool along,
          const half_part_t *part)
{
    bool dense = strip->depth_stride == 1 && !strip->depth_index;
    for (size_t k = 0; k < HALF_SQUARE; k++) {
        size_t depth = part->depth0 + 2 * k;
        square[k] = _mm512_setzero_si512();
        if (along && 2 * k < part->depths) {
            bool paired = 2 * k + 1 < part->depths;
            size_t even =
                strip_place(depth, strip->depth_stride, strip->depth_index);
            size_t odd = paired ? strip_place(depth + 1, strip->depth_stride,
                                              strip->depth_index)
                                : 0;
            square[k] = half_of_lanes(strip, half, part->lane + even,
                                      part->lane + odd, paired, part->lanes);
        } else if (!along && k < part->lanes) {
            size_t lane = strip_place(part->lane + k, strip->lane_stride,
                                      strip->lane_index);
            square[k] = dense ? half_of_depths(strip, half, lane + part->depth0,
                                               part->depths)
                              : half_of_elements(strip, half, lane,
                                                 part->depth0, part->depths);
        }
    }
}

/* Packs `lanes` x `depth` into panels of `width` lanes and `pairs` pairs. By
 * pair, a width of 14 is stored as 16 words: what comes next repairs that, and
 * behind the last there is room. */
VF_WORD void
half_pack_squares(uint32_t *to, const strip_t *strip, bool half, bool by_lane,
                  size_t lane0, size_t lanes, size_t depth0, size_t depth,
                  size_t pairs, size_t width)
{
    bool along = strip->lane_stride == 1 && !strip->lane_index;
    for (size_t first = 0; first < lanes; first += width)
        for (size_t v = 0; v < width; v += HALF_SQUARE)
            for (size_t p = 0; p < pairs; p += HALF_SQUARE) {
                __m512i square[HALF_SQUARE];
                size_t wide = least(width - v, HALF_SQUARE);
                size_t high = least(pairs - p, HALF_SQUARE);
                half_part_t part = { .lane = lane0 + first + v,
                                     .depth0 = depth0 + 2 * p };
                uint32_t *panel = to + first * pairs;
                if (first + v < lanes)
                    part.lanes = least(lanes - first - v, wide);
                if (2 * p < depth)
                    part.depths = least(depth - 2 * p, 2 * HALF_SQUARE);
                half_load(square, strip, half, along, &part);
                if (along == by_lane)
                    half_transpose(square);
                for (size_t k = 0; k < (by_lane ? wide : high); k++)
                    if (by_lane)
                        _mm512_storeu_si512(panel + p * width + (v + k) * 16,
                                            square[k]);
                    else
                        _mm512_storeu_si512(panel + (p + k) * width + v,
                                            square[k]);
            }
}

/* Lanes lie side by side, and panels are by pair: each row of memory is read
 * once, from end to end. */
VF_WORD void
half_pack_rows(uint32_t *to, const strip_t *strip, bool half, size_t lane0,
               size_t lanes, size_t depth0, size_t depth, size_t pairs,
               size_t width)
{
    for (size_t p = 0; p < pairs; p++) {
        size_t place[2] = { 0 }, ahead[2] = { 0 };
        for (size_t k = 0; k < 2; k++) {
            size_t d = least(2 * p + k, depth - 1);
            size_t next = least(2 * p + k + PACK_AHEAD, depth - 1);
            place[k] = lane0 + strip_place(depth0 + d, strip->depth_stride,
                                           strip->depth_index);
            ahead[k] = lane0 + strip_place(depth0 + next, strip->depth_stride,
                                           strip->depth_index);
        }
        for (size_t first = 0; first < lanes; first += width)
            for (size_t v = 0; v < width; v += HALF_SQUARE) {
                size_t lane = first + v;
                size_t some = lane < lanes && 2 * p < depth
                                  ? least(lanes - lane, HALF_SQUARE)
                                  : 0;
                strip_prefetch(strip, half, ahead[0] + least(lane, lanes - 1));
                strip_prefetch(strip, half, ahead[1] + least(lane, lanes - 1));
                __m512i words = half_of_lanes(
                    strip, half, place[0] + (some ? lane : 0),
                    place[1] + (some ? lane : 0), 2 * p + 1 < depth, some);
                _mm512_storeu_si512(to + first * pairs + p * width + v, words);
            }
    }
}

VF_WORD void
half_pack_values(uint32_t *to, const strip_t *strip, bool half, bool by_lane,
                 size_t lane0, size_t lanes, size_t depth0, size_t depth,
                 size_t pairs, size_t width)
{
    if (!by_lane && width % HALF_SQUARE == 0 && strip->lane_stride == 1 &&
        !strip->lane_index)
        half_pack_rows(to, strip, half, lane0, lanes, depth0, depth, pairs,
                       width);
    else
        half_pack_squares(to, strip, half, by_lane, lane0, lanes, depth0, depth,
                          pairs, width);
}

VF_WORD void
half_pack(uint32_t *to, const strip_t *strip, bool by_lane, size_t lane0,
          size_t lanes, size_t depth0, size_t depth, size_t pairs, size_t width)
{
    if (strip->at)
        half_pack_values(to, strip, false, by_lane, lane0, lanes, depth0, depth,
                         pairs, width);
    else
        half_pack_values(to, strip, true, by_lane, lane0, lanes, depth0, depth,
                         pairs, width);
}

static void
half_pack_a(uint32_t *to, const skn_matrix_t *a, size_t row, size_t rows,
            size_t k, size_t depth, size_t pairs)
{
    strip_t strip = strip_of_a(a);
    half_pack(to, &strip, HALF_BY_LANE, row, rows, k, depth, pairs, HALF_ROWS);
}

static void
half_pack_b(uint32_t *to, const skn_matrix_t *b, size_t column, size_t columns,
            size_t k, size_t depth, size_t pairs)
{
    strip_t strip = strip_of_b(b);
    half_pack(to, &strip, false, column, columns, k, depth, pairs,
              HALF_COLUMNS);
}

/* A tile over the edge of c goes through one of its own. */
static void
half_edge(const uint32_t *a, const uint32_t *b, size_t pairs, float *c,
          size_t c_stride, size_t rows, size_t columns, bool more)
{
    float tile[HALF_ROWS * HALF_COLUMNS];
    for (size_t r = 0; r < rows && more; r++)
        memcpy(tile + r * HALF_COLUMNS, c + r * c_stride,
               columns * sizeof(float));
    half_tile(a, b, pairs, tile, HALF_COLUMNS, more);
    for (size_t r = 0; r < rows; r++)
        memcpy(c + r * c_stride, tile + r * HALF_COLUMNS,
               columns * sizeof(float));
}

static void
half_block(const uint32_t *a, const uint32_t *b, size_t rows, size_t columns,
           size_t pairs, float *c, size_t c_stride, bool more)
{
    for (size_t i = 0; i < rows; i += HALF_ROWS)
        for (size_t j = 0; j < columns; j += HALF_COLUMNS) {
            const uint32_t *left = a + i * pairs, *right = b + j * pairs;
            float *to = c + i * c_stride + j;
            size_t high = least(rows - i, HALF_ROWS);
            size_t wide = least(columns - j, HALF_COLUMNS);
            if (high == HALF_ROWS && wide == HALF_COLUMNS)
                half_tile(left, right, pairs, to, c_stride, more);
            else
                half_edge(left, right, pairs, to, c_stride, high, wide, more);
        }
}

/* The size of equal blocks of `total`, a multiple of `step`, at most `most`. */
VF_WORD size_t
half_blocks(size_t total, size_t most, size_t step)
{
    size_t count = total > most ? (total + most - 1) / most : 1;
    return round_up((total + count - 1) / count, step);
}

static size_t
half_pairs(size_t k)
{
    return half_blocks((k + 1) / 2, HALF_PAIRS, HALF_STEP);
}

/* Blocks of a greater product may be smaller: scratch of a job serves every
 * smaller one. */
static size_t
half_pairs_most(size_t k)
{
    return least(round_up((k + 1) / 2, HALF_STEP), HALF_PAIRS);
}

static size_t
half_a_words(size_t m, size_t k)
{
    size_t words = round_up(m, HALF_ROWS) * half_pairs_most(k);
    return round_up(least(words, HALF_A_WORDS), 16) + HALF_SQUARE;
}

static size_t
half_scratch_bytes(size_t m, size_t n, size_t k)
{
    size_t columns = round_up(least(n, HALF_WIDTH), HALF_COLUMNS);
    return (half_a_words(m, k) + columns * half_pairs_most(k)) *
           sizeof(uint32_t);
}

static void
gemm_half(const skn_gemm_t *job, void *scratch)
{
    uint32_t *a = scratch, *b = a + half_a_words(job->m, job->k);
    size_t pairs = half_pairs(job->k);
    size_t width = half_blocks(job->n, HALF_WIDTH, HALF_COLUMNS);
    size_t step = HALF_A_WORDS / pairs / HALF_ROWS * HALF_ROWS;
    half_begin();
    for (size_t j = 0; j < job->n; j += width)
        for (size_t k = 0; k < job->k; k += 2 * pairs) {
            size_t columns = least(job->n - j, width);
            size_t depth = least(job->k - k, 2 * pairs);
            half_pack_b(b, &job->b, j, columns, k, depth, pairs);
            for (size_t i = 0; i < job->m; i += step) {
                size_t rows = least(job->m - i, step);
                half_pack_a(a, &job->a, i, rows, k, depth, pairs);
                half_block(a, b, rows, columns, pairs,
                           job->c + i * job->c_stride + j, job->c_stride,
                           job->add || k > 0);
            }
        }
    half_end();
}
