/* gemm.h - kernel of the f32 matrix product, blocked for the caches.
 *
 * The loops are those of Goto & van de Geijn 2008 and Van Zee & van de Geijn
 * 2015 (BLIS): a block of b, [k][n] = GEMM_DEPTH x GEMM_WIDTH, is packed into
 * panels of GEMM_COLUMNS columns; a block of a, of GEMM_A_FLOATS, is read in
 * place or packed into panels of GEMM_ROWS rows; then each pair of panels is
 * multiplied in registers (gemm_tile.h).
 *
 *     panel of a: [depth][GEMM_ROWS]     panel of b: [depth][GEMM_COLUMNS]
 *
 * Packed edges are padded with zeros. Every element is computed alike in any
 * tile: one multiply-add for each k of a depth block, in order, then one
 * addition for each depth block. Only GEMM_DEPTH affects the bits of the
 * result.
 * SPDX-License-Identifier: Apache-2.0 */

#define GEMM_COLUMNS (GEMM_VECTORS * VF_LANES)
/* The greater of GEMM_ROWS and GEMM_COLUMNS, for every instruction set. */
#define GEMM_LANES_MAX 32
/* A panel of b, 384 x 16 floats = 24 KiB, stays in a first-level cache of 32
 * KiB while the panels of a are read. On Zen 3, 384 beat 256 by 4% over the
 * shapes of the kernels' bench (and 512 lost). The same for every set: those
 * with fused multiply-add agree in every bit. */
#define GEMM_DEPTH ((size_t)384)
/* A block of a, 144 KiB, stays in a third of a second-level cache. */
#define GEMM_A_FLOATS ((size_t)36864)
/* A block of b, at most 1 MiB, stays in the last-level cache. */
#define GEMM_WIDTH ((size_t)1024)

/* One operand of the product during packing: `lane` runs across a panel (rows
 * of a, columns of b), `depth` along it (k). `place` counts elements of
 * `at`. */
typedef struct strip {
    const float *at;
    const uint16_t *bf16;
    size_t lane_stride, depth_stride;
    const uint32_t *lane_index, *depth_index;
} strip_t;

VF_WORD size_t
strip_place(size_t i, size_t stride, const uint32_t *index)
{
    return (index ? index[i] : i) * stride;
}

/* The type of a strip's elements before and after packing. */
enum strip_form {
    STRIP_F32,
    STRIP_BF16,
    STRIP_ROUNDED /* f32, rounded to bf16 */
};

VF_WORD vf_t
strip_load(const strip_t *strip, enum strip_form form, size_t place, size_t n)
{
    if (form == STRIP_BF16)
        return bf16_load_n(strip->bf16 + place, n);
    vf_t x = vf_load_n(strip->at + place, n);
    return form == STRIP_F32 ? x : vf_of_bits(vi_left(bf16_nearest(x), 16));
}

VF_WORD void
strip_prefetch(const strip_t *strip, enum strip_form form, size_t place)
{
    if (form == STRIP_BF16)
        __builtin_prefetch(strip->bf16 + place);
    else
        __builtin_prefetch(strip->at + place);
}

VF_WORD size_t
least(size_t a, size_t b)
{
    return a < b ? a : b;
}

VF_WORD size_t
round_up(size_t n, size_t step)
{
    return (n + step - 1) / step * step;
}

/* Stores one vector of a panel. A whole vector is stored even if `width` ends
 * inside it (a masked store costs 20 times as much on some processors): the
 * next depth overwrites the excess. The last depth has no next. */
VF_WORD void
panel_store(float *to, vf_t x, size_t part, bool last)
{
    if (last)
        vf_store_n(to, x, part);
    else
        vf_store(to, x);
}

/* Packs one depth of one panel with `used` valid lanes, from lanes that are
 * contiguous. */
VF_WORD void
pack_run(float *panel, const strip_t *strip, enum strip_form form, size_t place,
         size_t used, size_t width, bool last)
{
#pragma GCC unroll 4
    for (size_t v = 0; v < width; v += VF_LANES) {
        size_t part = least(width - v, VF_LANES);
        size_t some = used > v ? least(used - v, part) : 0;
        vf_t x = some ? strip_load(strip, form, place + v, some) : vf_zero();
        panel_store(panel + v, x, part, last);
    }
}

/* Depths prefetched ahead, when rows of memory are gathered. */
#define PACK_AHEAD 4

/* Lanes are contiguous in memory: copies runs of `width`. Depth is the outer
 * loop, so that each row of memory is read once, from end to end. */
VF_WORD void
pack_rows(float *to, const strip_t *strip, enum strip_form form, size_t lane0,
          size_t lanes, size_t depth0, size_t depth, size_t width)
{
    size_t whole = lanes / width * width;
    for (size_t d = 0; d < depth; d++) {
        bool last = d + 1 == depth;
        size_t row = lane0 + strip_place(depth0 + d, strip->depth_stride,
                                         strip->depth_index);
        size_t ahead = d + PACK_AHEAD < depth ? d + PACK_AHEAD : d;
        size_t next = lane0 + strip_place(depth0 + ahead, strip->depth_stride,
                                          strip->depth_index);
        float *to_d = to + d * width;
        for (size_t lane = 0; lane < whole; lane += width) {
            strip_prefetch(strip, form, next + lane);
            pack_run(to_d + lane * depth, strip, form, row + lane, width, width,
                     last);
        }
        if (whole < lanes)
            pack_run(to_d + whole * depth, strip, form, row + whole,
                     lanes - whole, width, last);
    }
}

/* Packs `part` depths of a panel, from lanes with contiguous depths: squares of
 * VF_LANES are transposed. */
VF_WORD void
pack_square(float *panel, const strip_t *strip, enum strip_form form,
            const size_t *place, size_t used, size_t width, size_t d,
            size_t part, bool last)
{
    for (size_t v = 0; v < width; v += VF_LANES) {
        size_t stored = least(width - v, VF_LANES);
        vf_t square[VF_LANES];
#pragma GCC unroll 16
        for (size_t lane = 0; lane < VF_LANES; lane++)
            square[lane] =
                lane < stored && v + lane < used
                    ? strip_load(strip, form, place[v + lane] + d, part)
                    : vf_zero();
        vf_transpose(square);
#pragma GCC unroll 16
        for (size_t i = 0; i < part; i++)
            panel_store(panel + (d + i) * width + v, square[i], stored,
                        last && i + 1 == part);
    }
}

VF_WORD void
pack_columns(float *to, const strip_t *strip, enum strip_form form,
             size_t lane0, size_t lanes, size_t depth0, size_t depth,
             size_t width)
{
    for (size_t lane = 0; lane < lanes; lane += width) {
        size_t place[GEMM_LANES_MAX], d = 0;
        size_t used = least(lanes - lane, width);
        float *panel = to + lane * depth;
        for (size_t v = 0; v < width; v++)
            place[v] = v < used ? depth0 + strip_place(lane0 + lane + v,
                                                       strip->lane_stride,
                                                       strip->lane_index)
                                : 0;
        if (used == width)
            for (; d + VF_LANES < depth; d += VF_LANES)
                pack_square(panel, strip, form, place, width, width, d,
                            VF_LANES, false);
        for (; d < depth; d += VF_LANES)
            pack_square(panel, strip, form, place, used, width, d,
                        least(depth - d, VF_LANES), d + VF_LANES >= depth);
    }
}

/* Neither lanes nor depths are contiguous: one element at a time. */
VF_WORD void
pack_elements(float *to, const strip_t *strip, enum strip_form form,
              size_t lane0, size_t lanes, size_t depth0, size_t depth,
              size_t width)
{
    for (size_t lane = 0; lane < round_up(lanes, width); lane++) {
        float *panel = to + lane / width * width * depth + lane % width;
        for (size_t d = 0; d < depth; d++) {
            float x[VF_LANES] = { 0.0f };
            if (lane < lanes) {
                size_t place = strip_place(lane0 + lane, strip->lane_stride,
                                           strip->lane_index) +
                               strip_place(depth0 + d, strip->depth_stride,
                                           strip->depth_index);
                vf_store(x, strip_load(strip, form, place, 1));
            }
            panel[d * width] = x[0];
        }
    }
}

VF_WORD void
pack_values(float *to, const strip_t *strip, enum strip_form form, size_t lane0,
            size_t lanes, size_t depth0, size_t depth, size_t width)
{
    if (strip->lane_stride == 1 && !strip->lane_index)
        pack_rows(to, strip, form, lane0, lanes, depth0, depth, width);
    else if (strip->depth_stride == 1 && !strip->depth_index)
        pack_columns(to, strip, form, lane0, lanes, depth0, depth, width);
    else
        pack_elements(to, strip, form, lane0, lanes, depth0, depth, width);
}

/* `form` and `width` are constants in the calls below, so that their branches
 * are removed. */
VF_WORD void
pack(float *to, const strip_t *strip, bool rounded, size_t lane0, size_t lanes,
     size_t depth0, size_t depth, size_t width)
{
    if (!strip->at)
        pack_values(to, strip, STRIP_BF16, lane0, lanes, depth0, depth, width);
    else if (rounded)
        pack_values(to, strip, STRIP_ROUNDED, lane0, lanes, depth0, depth,
                    width);
    else
        pack_values(to, strip, STRIP_F32, lane0, lanes, depth0, depth, width);
}

VF_WORD strip_t
strip_of_a(const skn_matrix_t *a)
{
    return (strip_t){ a->at,         a->bf16,
                      a->row_stride, a->column_stride,
                      a->row_index,  a->column_index };
}

VF_WORD strip_t
strip_of_b(const skn_matrix_t *b)
{
    return (strip_t){ b->at,         b->bf16,         b->column_stride,
                      b->row_stride, b->column_index, b->row_index };
}

static void
pack_a(float *to, const skn_gemm_t *job, size_t row, size_t rows, size_t k,
       size_t depth)
{
    strip_t strip = strip_of_a(&job->a);
    pack(to, &strip, job->half, row, rows, k, depth, GEMM_ROWS);
}

static void
pack_b(float *to, const skn_gemm_t *job, size_t column, size_t columns,
       size_t k, size_t depth)
{
    strip_t strip = strip_of_b(&job->b);
    pack(to, &strip, job->half, column, columns, k, depth, GEMM_COLUMNS);
}

#include "gemm_tile.h"

/* Lines a multiple of 1 KiB apart share few sets of a first-level cache. */
#define ALIAS_FLOATS ((size_t)256)
#define GEMM_LINE_FLOATS ((size_t)16)

/* A block of a in place, if tiles can read it there. */
static left_t
left_in_place(const skn_gemm_t *job, size_t row, size_t k, size_t depth)
{
    const skn_matrix_t *a = &job->a;
    left_t left = { .order = LEFT_PACKED, .panel_step = GEMM_ROWS * depth };
    size_t apart = a->row_stride == 1 ? a->column_stride : a->row_stride;
    if (!a->at || job->half || a->row_index || apart % ALIAS_FLOATS == 0)
        return left;
    if (a->row_stride == 1) {
        left.order = a->column_index ? LEFT_LISTED : LEFT_ACROSS;
        left.at = a->at + row;
        left.panel_step = GEMM_ROWS;
        left.depth_step = a->column_stride;
        if (a->column_index)
            left.list = a->column_index + k;
        else
            left.at += k * a->column_stride;
    } else if (a->column_stride == 1 && !a->column_index) {
        left.order = LEFT_ALONG;
        left.at = a->at + row * a->row_stride + k;
        left.panel_step = GEMM_ROWS * a->row_stride;
        left.row_step = a->row_stride;
    }
    return left;
}

/* Takes rows [row, row + rows) of a. If they cannot be read in place they are
 * packed, and so are rows that do not fill a whole tile: reading more of them
 * would exceed a. */
static left_t
take_left(const skn_gemm_t *job, size_t row, size_t rows, size_t k,
          size_t depth, float *room)
{
    size_t whole = rows / GEMM_ROWS * GEMM_ROWS;
    left_t left = left_in_place(job, row, k, depth);
    size_t first = left.order == LEFT_PACKED ? 0 : whole;
    if (first < rows)
        pack_a(room, job, row + first, rows - first, k, depth);
    if (left.order == LEFT_PACKED)
        left.at = room;
    left.rest = room + (whole - first) * depth;
    return left;
}

/* Prefetches a panel of rows, which may still be in memory. */
VF_WORD void
fetch_panel(const left_t *left, const float *a, size_t rows, size_t depth)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t d = 0; d < depth; d += GEMM_LINE_FLOATS)
            __builtin_prefetch(a + r * left->row_step + d);
}

/* Computes all tiles of one block of a and one packed block of b. */
static void
gemm_block(const left_t *left, const float *b, size_t rows, size_t columns,
           size_t depth, float *c, size_t c_stride, bool more)
{
    for (size_t j = 0; j < columns; j += GEMM_COLUMNS) {
        size_t wide = least(columns - j, GEMM_COLUMNS), i = 0;
        const float *a = left->at;
        for (; i + GEMM_ROWS <= rows; i += GEMM_ROWS) {
            if (j == 0 && left->order == LEFT_ALONG)
                fetch_panel(left, a + left->panel_step,
                            least(rows - i - GEMM_ROWS, GEMM_ROWS), depth);
            tile(left, a, b + j * depth, depth, c + i * c_stride + j, c_stride,
                 wide, more);
            a += left->panel_step;
        }
        if (i < rows)
            tile_low(left->rest, b + j * depth, depth, c + i * c_stride + j,
                     c_stride, rows - i, wide, more);
    }
}

static size_t
gemm_a_floats(size_t m, size_t depth)
{
    size_t most = GEMM_A_FLOATS / GEMM_ROWS * GEMM_ROWS;
    return round_up(least(round_up(least(m, most), GEMM_ROWS) * depth, most),
                    16);
}

static size_t
full_scratch_bytes(size_t m, size_t n, size_t k)
{
    size_t depth = least(k, GEMM_DEPTH);
    size_t columns = round_up(least(n, GEMM_WIDTH), GEMM_COLUMNS);
    return (gemm_a_floats(m, depth) + columns * depth) * sizeof(float);
}

static void
gemm_clear(const skn_gemm_t *job)
{
    for (size_t i = 0; i < job->m && !job->add; i++)
        for (size_t j = 0; j < job->n; j++)
            job->c[i * job->c_stride + j] = 0.0f;
}

/* Packs all blocks of b, one after the other. */
static void
full_pack(const skn_gemm_t *job, void *packed)
{
    float *to = packed;
    for (size_t j = 0; j < job->n; j += GEMM_WIDTH)
        for (size_t k = 0; k < job->k; k += GEMM_DEPTH) {
            size_t columns = least(job->n - j, GEMM_WIDTH);
            size_t depth = least(job->k - k, GEMM_DEPTH);
            pack_b(to, job, j, columns, k, depth);
            to += round_up(columns, GEMM_COLUMNS) * depth;
        }
}

static size_t
full_packed_bytes(size_t n, size_t k)
{
    return round_up(n, GEMM_COLUMNS) * k * sizeof(float);
}

static void
gemm_full(const skn_gemm_t *job, void *scratch)
{
    float *a = scratch;
    float *room = a + gemm_a_floats(job->m, least(job->k, GEMM_DEPTH));
    const float *b = job->packed ? job->packed : room;
    for (size_t j = 0; j < job->n; j += GEMM_WIDTH)
        for (size_t k = 0; k < job->k; k += GEMM_DEPTH) {
            size_t columns = least(job->n - j, GEMM_WIDTH);
            size_t depth = least(job->k - k, GEMM_DEPTH);
            size_t step = GEMM_A_FLOATS / depth / GEMM_ROWS * GEMM_ROWS;
            if (!job->packed)
                pack_b(room, job, j, columns, k, depth);
            for (size_t i = 0; i < job->m; i += step) {
                size_t rows = least(job->m - i, step);
                left_t left = take_left(job, i, rows, k, depth, a);
                gemm_block(&left, b, rows, columns, depth,
                           job->c + i * job->c_stride + j, job->c_stride,
                           job->add || k > 0);
            }
            if (job->packed)
                b += round_up(columns, GEMM_COLUMNS) * depth;
        }
}

#ifdef HALF_ROWS
#include "gemm_half.h"
#else
/* Rounded factors are multiplied as floats: the same numbers, no faster. */
#define HALF_ROWS ((size_t)GEMM_ROWS)
#define gemm_half gemm_full
#define half_scratch_bytes full_scratch_bytes
#define half_pack full_pack
#define half_packed_bytes full_packed_bytes
#endif

static size_t
gemm_rows(bool half)
{
    return half ? HALF_ROWS : (size_t)GEMM_ROWS;
}

static size_t
gemm_scratch_bytes(size_t m, size_t n, size_t k)
{
    size_t full = full_scratch_bytes(m, n, k);
    size_t half = half_scratch_bytes(m, n, k);
    return full > half ? full : half;
}

static size_t
gemm_packed_bytes(size_t n, size_t k)
{
    size_t full = full_packed_bytes(n, k), half = half_packed_bytes(n, k);
    return full > half ? full : half;
}

static void
gemm_pack(const skn_gemm_t *job, void *packed)
{
    if (job->half)
        half_pack(job, packed);
    else
        full_pack(job, packed);
}

static void
gemm(const skn_gemm_t *job, void *scratch)
{
    if (job->k == 0)
        gemm_clear(job);
    else if (job->half)
        gemm_half(job, scratch);
    else
        gemm_full(job, scratch);
}
