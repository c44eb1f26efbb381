/* gemm_half.h - kernel of the bf16 matrix product by multiplying pairs.
 *
 * For processors that multiply pairs of bf16; the factors are rounded to it.
 * The loops are those of gemm.h; an element of a packed factor is a 32-bit word
 * of two numbers, depths 2p and 2p + 1, the first in its lower half. Absent
 * depths are zeros; absent lanes are undefined.
 *
 *     block of b: panels [pair][HALF_COLUMNS]
 *     block of a: [row][HALF_PAIRS]: a matrix of bf16 with contiguous depths
 *                 has this order already, and is copied
 *
 * vec_avx512_bf16.h and vec_amx.h define half_tile, the most rows (HALF_ROWS)
 * and columns that it takes, and HALF_PAIRS: the depth of the deepest block,
 * and the distance between rows of a, an odd number of cache lines.
 * SPDX-License-Identifier: Apache-2.0 */

#define HALF_SQUARE ((size_t)16) /* lanes, and pairs, packed at a time */
/* A block is at most HALF_PAIRS deep and this wide, and the blocks of a product
 * are of one size: a panel of b of 256 pairs and one (a batch, or a layer and
 * its bias) is 34 KiB, a block of b 1.1 MiB. */
#define HALF_WIDTH ((size_t)1056)
/* Rows of a block of a, 238 KiB: a multiple of both sets' HALF_ROWS. */
#define HALF_A_ROWS ((size_t)224)

/* Interleaves 16 words: the lower half has `even` below `odd`. */
VF_WORD __m512i
half_interleave(__m512bh both)
{
    const __m512i order = _mm512_set_epi16(
        31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22,
        6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(order, (__m512i)both);
}

/* Up to 16 words of contiguous lanes: the depth at `even`, and the next at
 * `odd`, if it exists. */
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

/* Up to 16 words of a lane with contiguous depths. */
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

/* The same if neither is contiguous. */
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

/* A square of 16 lanes from `lane`, of which `lanes` exist, and 16 pairs from
 * `depth0`, of which `depths` depths exist. */
typedef struct half_part {
    size_t lane, lanes, depth0, depths;
} half_part_t;

/* square[k] holds pair k; lanes are contiguous. */
VF_WORD void
half_load_pairs(__m512i *square, const strip_t *strip, bool half,
                const half_part_t *part)
{
    for (size_t k = 0; k < HALF_SQUARE; k++) {
        size_t depth = part->depth0 + 2 * k, odd = 0;
        bool paired = 2 * k + 1 < part->depths;
        square[k] = _mm512_setzero_si512();
        if (2 * k >= part->depths)
            continue;
        size_t even =
            strip_place(depth, strip->depth_stride, strip->depth_index);
        if (paired)
            odd =
                strip_place(depth + 1, strip->depth_stride, strip->depth_index);
        square[k] = half_of_lanes(strip, half, part->lane + even,
                                  part->lane + odd, paired, part->lanes);
    }
}

/* square[k] holds lane k. */
VF_WORD void
half_load_lanes(__m512i *square, const strip_t *strip, bool half,
                const half_part_t *part)
{
    bool dense = strip->depth_stride == 1 && !strip->depth_index;
    for (size_t k = 0; k < HALF_SQUARE; k++) {
        square[k] = _mm512_setzero_si512();
        if (k >= part->lanes)
            continue;
        size_t lane =
            strip_place(part->lane + k, strip->lane_stride, strip->lane_index);
        square[k] = dense ? half_of_depths(strip, half, lane + part->depth0,
                                           part->depths)
                          : half_of_elements(strip, half, lane, part->depth0,
                                             part->depths);
    }
}

/* The square at `lane` and `depth` of a factor of `lanes` x `depths` that
 * starts at lane0 and depth0. */
VF_WORD half_part_t
half_part(size_t lane0, size_t lanes, size_t depth0, size_t depth, size_t lane,
          size_t pair)
{
    half_part_t part = { .lane = lane0 + lane, .depth0 = depth0 + 2 * pair };
    if (lane < lanes)
        part.lanes = least(lanes - lane, HALF_SQUARE);
    if (2 * pair < depth)
        part.depths = least(depth - 2 * pair, 2 * HALF_SQUARE);
    return part;
}

/* Rows prefetched ahead while a block of a is packed. */
#define HALF_AHEAD 8

/* Packs lanes with contiguous depths, or with neither contiguous. */
VF_WORD void
half_copy_lanes(uint32_t *to, const strip_t *strip, bool half, size_t lane0,
                size_t lanes, size_t depth0, size_t depth, size_t pairs)
{
    bool dense = strip->depth_stride == 1 && !strip->depth_index;
    for (size_t lane = 0; lane < lanes; lane++) {
        uint32_t *row = to + lane * HALF_PAIRS;
        size_t place =
            strip_place(lane0 + lane, strip->lane_stride, strip->lane_index);
        size_t ahead = strip_place(lane0 + least(lane + HALF_AHEAD, lanes - 1),
                                   strip->lane_stride, strip->lane_index);
        for (size_t p = 0; p < pairs; p += HALF_SQUARE) {
            size_t d = least(2 * p, depth);
            size_t depths = least(depth - d, 2 * HALF_SQUARE);
            strip_prefetch(strip, half, ahead + depth0 + d);
            _mm512_storeu_si512(
                row + p,
                dense
                    ? half_of_depths(strip, half, place + depth0 + d, depths)
                    : half_of_elements(strip, half, place, depth0 + d, depths));
        }
    }
}

/* Packs contiguous lanes: all of them for 16 pairs, then the next pairs, so
 * that memory is read once. */
VF_WORD void
half_turn_lanes(uint32_t *to, const strip_t *strip, bool half, size_t lane0,
                size_t lanes, size_t depth0, size_t depth, size_t pairs)
{
    for (size_t p = 0; p < pairs; p += HALF_SQUARE)
        for (size_t lane = 0; lane < lanes; lane += HALF_SQUARE) {
            __m512i square[HALF_SQUARE];
            half_part_t part = half_part(lane0, lanes, depth0, depth, lane, p);
            half_load_pairs(square, strip, half, &part);
            half_transpose(square);
            for (size_t k = 0; k < HALF_SQUARE; k++)
                _mm512_storeu_si512(to + (lane + k) * HALF_PAIRS + p,
                                    square[k]);
        }
}

VF_WORD void
half_pack_a_values(uint32_t *to, const strip_t *strip, bool half, size_t lane0,
                   size_t lanes, size_t depth0, size_t depth, size_t pairs)
{
    if (strip->lane_stride == 1 && !strip->lane_index)
        half_turn_lanes(to, strip, half, lane0, lanes, depth0, depth, pairs);
    else
        half_copy_lanes(to, strip, half, lane0, lanes, depth0, depth, pairs);
}

/* Packs a block of b with contiguous depths, or with neither contiguous. */
VF_WORD void
half_pack_squares(uint32_t *to, const strip_t *strip, bool half, size_t lane0,
                  size_t lanes, size_t depth0, size_t depth, size_t pairs)
{
    for (size_t lane = 0; lane < round_up(lanes, HALF_COLUMNS);
         lane += HALF_SQUARE) {
        uint32_t *panel = to + lane / HALF_COLUMNS * HALF_COLUMNS * pairs +
                          lane % HALF_COLUMNS;
        for (size_t p = 0; p < pairs; p += HALF_SQUARE) {
            __m512i square[HALF_SQUARE];
            half_part_t part = half_part(lane0, lanes, depth0, depth, lane, p);
            half_load_lanes(square, strip, half, &part);
            half_transpose(square);
            for (size_t k = 0; k < least(pairs - p, HALF_SQUARE); k++)
                _mm512_storeu_si512(panel + (p + k) * HALF_COLUMNS, square[k]);
        }
    }
}

/* The same for contiguous lanes: each row of memory is read once, from end to
 * end. */
VF_WORD void
half_pack_rows(uint32_t *to, const strip_t *strip, bool half, size_t lane0,
               size_t lanes, size_t depth0, size_t depth, size_t pairs)
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
        for (size_t lane = 0; lane < round_up(lanes, HALF_COLUMNS);
             lane += HALF_SQUARE) {
            size_t some = lane < lanes && 2 * p < depth
                              ? least(lanes - lane, HALF_SQUARE)
                              : 0;
            strip_prefetch(strip, half, ahead[0] + least(lane, lanes - 1));
            strip_prefetch(strip, half, ahead[1] + least(lane, lanes - 1));
            __m512i words = half_of_lanes(
                strip, half, place[0] + (some ? lane : 0),
                place[1] + (some ? lane : 0), 2 * p + 1 < depth, some);
            _mm512_storeu_si512(to +
                                    lane / HALF_COLUMNS * HALF_COLUMNS * pairs +
                                    p * HALF_COLUMNS + lane % HALF_COLUMNS,
                                words);
        }
    }
}

static void
half_pack_a(uint32_t *to, const skn_matrix_t *a, size_t row, size_t rows,
            size_t k, size_t depth, size_t pairs)
{
    strip_t strip = strip_of_a(a);
    if (strip.at)
        half_pack_a_values(to, &strip, false, row, rows, k, depth, pairs);
    else
        half_pack_a_values(to, &strip, true, row, rows, k, depth, pairs);
}

VF_WORD void
half_pack_b_values(uint32_t *to, const strip_t *strip, bool half, size_t lane0,
                   size_t lanes, size_t depth0, size_t depth, size_t pairs)
{
    if (strip->lane_stride == 1 && !strip->lane_index)
        half_pack_rows(to, strip, half, lane0, lanes, depth0, depth, pairs);
    else
        half_pack_squares(to, strip, half, lane0, lanes, depth0, depth, pairs);
}

static void
half_pack_b(uint32_t *to, const skn_matrix_t *b, size_t column, size_t columns,
            size_t k, size_t depth, size_t pairs)
{
    strip_t strip = strip_of_b(b);
    if (strip.at)
        half_pack_b_values(to, &strip, false, column, columns, k, depth, pairs);
    else
        half_pack_b_values(to, &strip, true, column, columns, k, depth, pairs);
}

/* The rows that tiles can read in place. The depth must be whole steps, or they
 * would read elements beyond it. */
VF_WORD size_t
half_rows_in_place(const skn_matrix_t *a, size_t rows, size_t depth)
{
    bool fit = HALF_IN_PLACE && a->bf16 && a->column_stride == 1 &&
               !a->column_index && !a->row_index && a->row_stride % 2 == 0 &&
               depth % (2 * HALF_STEP) == 0;
    return fit ? rows / HALF_ROWS * HALF_ROWS : 0;
}

/* Prefetches some of the next HALF_ROWS rows, one panel's share of them. */
VF_WORD void
half_fetch(const uint32_t *next, size_t a_stride, size_t pairs, size_t column,
           size_t columns)
{
    size_t share = (HALF_ROWS * HALF_COLUMNS + columns - 1) / columns;
    size_t first = column / HALF_COLUMNS * share;
    for (size_t r = first; r < least(first + share, HALF_ROWS); r++)
        for (size_t p = 0; p < pairs; p += 16)
            __builtin_prefetch(next + r * a_stride + p, 0, 2);
}

/* Prefetches the sums of the next tile, which may be in memory. */
VF_WORD void
half_expect(const float *next, size_t c_stride, size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t column = 0; column < HALF_COLUMNS; column += 16)
            __builtin_prefetch(next + r * c_stride + column, 1);
}

/* Groups of HALF_SQUARE rows whose sums are computed side by side. */
#define HALF_GROUPS ((size_t)2)

/* Adds the products of 16 pairs from p on of up to 16 rows, one row a lane, to
 * `sum`, in their order. */
VF_WORD __m512
half_add_square(__m512 sum, const uint32_t *a, size_t a_stride, size_t rows,
                const uint32_t *b, size_t pairs)
{
    __m512i square[HALF_SQUARE];
    __mmask16 some = lane_mask(least(pairs, HALF_SQUARE));
    for (size_t r = 0; r < HALF_SQUARE; r++)
        square[r] = r < rows ? _mm512_maskz_loadu_epi32(some, a + r * a_stride)
                             : _mm512_setzero_si512();
    half_transpose(square);
    for (size_t p = 0; p < HALF_SQUARE; p++)
        if (p < pairs)
            sum = _mm512_dpbf16_ps(
                sum, (__m512bh)square[p],
                (__m512bh)_mm512_set1_epi32((int)b[p * HALF_COLUMNS]));
    return sum;
}

/* Computes the single column of a panel of b, such as a bias's, where a tile
 * would compute fifteen more: lanes are rows of a. Each sum has the same bits
 * as from a tile. */
static void
half_column(const uint32_t *a, size_t a_stride, const uint32_t *b, size_t rows,
            size_t pairs, float *c, size_t c_stride, bool more)
{
    const size_t step = HALF_GROUPS * HALF_SQUARE;
    for (size_t i = 0; i < rows; i += step, a += step * a_stride) {
        float lane[HALF_GROUPS * HALF_SQUARE] = { 0.0f };
        size_t here = least(rows - i, step);
        __m512 sum[HALF_GROUPS];
        for (size_t r = 0; r < here && more; r++)
            lane[r] = c[(i + r) * c_stride];
        for (size_t g = 0; g < HALF_GROUPS; g++)
            sum[g] = _mm512_loadu_ps(lane + g * HALF_SQUARE);
        for (size_t p = 0; p < pairs; p += HALF_SQUARE)
#pragma GCC unroll 2
            for (size_t g = 0; g < HALF_GROUPS; g++) {
                size_t first = least(g * HALF_SQUARE, here);
                sum[g] = half_add_square(sum[g], a + first * a_stride + p,
                                         a_stride, here - first,
                                         b + p * HALF_COLUMNS, pairs - p);
            }
        for (size_t g = 0; g < HALF_GROUPS; g++)
            _mm512_storeu_ps(lane + g * HALF_SQUARE, sum[g]);
        for (size_t r = 0; r < here; r++)
            c[(i + r) * c_stride] = lane[r];
    }
}

/* `far`: a is read in place, perhaps from memory. */
static void
half_block(const uint32_t *a, size_t a_stride, bool far, const uint32_t *b,
           size_t rows, size_t columns, size_t pairs, float *c, size_t c_stride,
           bool more)
{
    bool alone = HALF_ALONE && columns % HALF_COLUMNS == 1;
    size_t tiled = alone ? columns - 1 : columns;
    for (size_t i = 0; i < rows; i += HALF_ROWS)
        for (size_t j = 0; j < tiled; j += HALF_COLUMNS) {
            size_t high = least(rows - i, HALF_ROWS);
            if (far)
                half_fetch(a + (i + HALF_ROWS) * a_stride, a_stride, pairs, j,
                           columns);
            size_t wide = least(columns - j, HALF_COLUMNS);
            half_expect(c + i * c_stride + j + HALF_COLUMNS, c_stride, high);
            half_tile(a + i * a_stride, a_stride, b + j * pairs, pairs,
                      c + i * c_stride + j, c_stride, high, wide, more);
        }
    if (alone)
        half_column(a, a_stride, b + tiled * pairs, rows, pairs, c + tiled,
                    c_stride, more);
}

/* The size of equal blocks of `total`, a multiple of `step`, at most `most`. */
VF_WORD size_t
half_blocks(size_t total, size_t most, size_t step)
{
    size_t count = total > most ? (total + most - 1) / most : 1;
    return round_up((total + count - 1) / count, step);
}

/* The pairs of a block; the last block may have fewer. */
VF_WORD size_t
half_pairs_of(size_t depth)
{
    return round_up((depth + 1) / 2, HALF_STEP);
}

static size_t
half_pairs(size_t k)
{
    return half_blocks((k + 1) / 2, HALF_PAIRS, HALF_STEP);
}

/* Blocks of a larger product may be smaller: scratch of a job serves every
 * smaller one. */
static size_t
half_pairs_most(size_t k)
{
    return least(round_up((k + 1) / 2, HALF_STEP), HALF_PAIRS);
}

static size_t
half_a_words(size_t m)
{
    return round_up(least(m, HALF_A_ROWS), 2 * HALF_SQUARE) * HALF_PAIRS;
}

static size_t
half_scratch_bytes(size_t m, size_t n, size_t k)
{
    size_t columns = round_up(least(n, HALF_WIDTH), HALF_COLUMNS);
    return (half_a_words(m) + columns * half_pairs_most(k)) * sizeof(uint32_t);
}

static size_t
half_packed_bytes(size_t n, size_t k)
{
    size_t pairs = half_pairs(k);
    size_t blocks = (k + 2 * pairs - 1) / (2 * pairs);
    return round_up(n, HALF_COLUMNS) * pairs * blocks * sizeof(uint32_t);
}

/* Packs all blocks of b, one after the other. */
static void
half_pack(const skn_gemm_t *job, void *packed)
{
    uint32_t *to = packed;
    size_t pairs = half_pairs(job->k);
    size_t width = half_blocks(job->n, HALF_WIDTH, HALF_COLUMNS);
    for (size_t j = 0; j < job->n; j += width)
        for (size_t k = 0; k < job->k; k += 2 * pairs) {
            size_t columns = least(job->n - j, width);
            size_t depth = least(job->k - k, 2 * pairs);
            size_t here = half_pairs_of(depth);
            half_pack_b(to, &job->b, j, columns, k, depth, here);
            to += round_up(columns, HALF_COLUMNS) * here;
        }
}

static void
gemm_half(const skn_gemm_t *job, void *scratch)
{
    uint32_t *a = scratch, *room = a + half_a_words(job->m);
    const uint32_t *b = job->packed ? job->packed : room;
    size_t pairs = half_pairs(job->k);
    size_t width = half_blocks(job->n, HALF_WIDTH, HALF_COLUMNS);
    half_begin();
    for (size_t j = 0; j < job->n; j += width)
        for (size_t k = 0; k < job->k; k += 2 * pairs) {
            size_t columns = least(job->n - j, width);
            size_t depth = least(job->k - k, 2 * pairs);
            size_t here = half_pairs_of(depth);
            if (!job->packed)
                half_pack_b(room, &job->b, j, columns, k, depth, here);
            for (size_t i = 0; i < job->m; i += HALF_A_ROWS) {
                size_t rows = least(job->m - i, HALF_A_ROWS);
                size_t placed = half_rows_in_place(&job->a, rows, depth);
                float *c = job->c + i * job->c_stride + j;
                bool more = job->add || k > 0;
                if (placed > 0)
                    half_block((const uint32_t *)(job->a.bf16 +
                                                  i * job->a.row_stride + k),
                               job->a.row_stride / 2, true, b, placed, columns,
                               here, c, job->c_stride, more);
                if (placed == rows)
                    continue;
                half_pack_a(a, &job->a, i + placed, rows - placed, k, depth,
                            here);
                half_block(a, HALF_PAIRS, false, b, rows - placed, columns,
                           here, c + placed * job->c_stride, job->c_stride,
                           more);
            }
            if (job->packed)
                b += round_up(columns, HALF_COLUMNS) * here;
        }
    half_end();
}
