/* gemm_tile.h - the register tiles of the matrix product.
 *
 * A tile reads its left factor in place if rows or depths are contiguous there:
 * an element is read once for a whole row of sums, so that a copy in the order
 * of reading saves little and costs a tenth of the product.
 * SPDX-License-Identifier: Apache-2.0 */

enum left_order {
    LEFT_PACKED,
    LEFT_ALONG,  /* depths are contiguous, rows row_step apart */
    LEFT_ACROSS, /* rows are contiguous, depths depth_step apart */
    LEFT_LISTED  /* the same; depth d is list[d] depth_steps away */
};

/* The left factor of a block: whole panels, a panel_step apart, and a packed
 * one of the remaining rows. */
typedef struct left {
    enum left_order order;
    const float *at, *rest;
    size_t panel_step, row_step, depth_step;
    const uint32_t *list;
} left_t;

/* Rows of a tile for the rows that remain below whole ones. */
#define TILE_LOW (GEMM_ROWS / 3)
#define TILE_HALF (2 * TILE_LOW)

VF_WORD void
tile_store(float *to, vf_t sum, size_t lanes, bool more)
{
    if (lanes == VF_LANES)
        vf_store(to, more ? vf_add(vf_load(to), sum) : sum);
    else
        vf_store_n(to, more ? vf_add(vf_load_n(to, lanes), sum) : sum, lanes);
}

/* c (high x columns) = or += a panel of a times one of b. `rows`, at least
 * high, and `vectors` set how much is computed; they and `order` are constants
 * in the calls below. */
VF_WORD void
tile_sums(const left_t *left, enum left_order order, const float *a,
          const float *b, size_t depth, float *c, size_t c_stride, size_t rows,
          size_t vectors, size_t high, size_t columns, bool more)
{
    vf_t sum[GEMM_ROWS][GEMM_VECTORS];
    const size_t row_step = order == LEFT_ALONG ? left->row_step : 1;
    const size_t depth_step = order == LEFT_PACKED  ? GEMM_ROWS
                              : order == LEFT_ALONG ? 1
                                                    : left->depth_step;
    /* Two more rows are addressed from each of these with one register. */
    const float *base[GEMM_ROWS / 3 + 1];
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++) {
        if (r % 3 == 0)
            base[r / 3] = a + r * row_step;
        if (r < high) {
            __builtin_prefetch(c + r * c_stride, 1);
            __builtin_prefetch(c + r * c_stride + columns - 1, 1);
        }
#pragma GCC unroll 4
        for (size_t v = 0; v < vectors; v++)
            sum[r][v] = vf_zero();
    }
#pragma GCC unroll 4
    for (size_t d = 0; d < depth; d++) {
        const float *at = order == LEFT_LISTED ? a + left->list[d] * depth_step
                                               : a + d * depth_step;
        vf_t column[GEMM_VECTORS];
#pragma GCC unroll 4
        for (size_t v = 0; v < vectors; v++)
            column[v] = vf_load(b + v * VF_LANES);
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; r++) {
            vf_t factor =
                vf_set(order == LEFT_ALONG ? base[r / 3][r % 3 * row_step + d]
                                           : at[r]);
#pragma GCC unroll 4
            for (size_t v = 0; v < vectors; v++)
                sum[r][v] = vf_fma(factor, column[v], sum[r][v]);
        }
        b += GEMM_COLUMNS;
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (size_t v = 0; v < vectors; v++)
            if (r < high && v * VF_LANES < columns)
                tile_store(c + r * c_stride + v * VF_LANES, sum[r][v],
                           least(columns - v * VF_LANES, VF_LANES), more);
}

/* A whole tile, and one at the right edge, for each order. */
#define TILES(name, order)                                                     \
    static void name(const left_t *left, const float *a, const float *b,       \
                     size_t depth, float *c, size_t c_stride, bool more)       \
    {                                                                          \
        tile_sums(left, order, a, b, depth, c, c_stride, GEMM_ROWS,            \
                  GEMM_VECTORS, GEMM_ROWS, GEMM_COLUMNS, more);                \
    }                                                                          \
    static void name##_cut(const left_t *left, const float *a, const float *b, \
                           size_t depth, float *c, size_t c_stride,            \
                           size_t columns, bool more)                          \
    {                                                                          \
        if (columns > VF_LANES)                                                \
            tile_sums(left, order, a, b, depth, c, c_stride, GEMM_ROWS,        \
                      GEMM_VECTORS, GEMM_ROWS, columns, more);                 \
        else                                                                   \
            tile_sums(left, order, a, b, depth, c, c_stride, GEMM_ROWS, 1,     \
                      GEMM_ROWS, columns, more);                               \
    }

TILES(tile_packed, LEFT_PACKED)
TILES(tile_along, LEFT_ALONG)
TILES(tile_across, LEFT_ACROSS)
TILES(tile_listed, LEFT_LISTED)
#undef TILES

/* Fewer rows than a whole tile has, from a packed panel. */
static void
tile_low(const float *a, const float *b, size_t depth, float *c,
         size_t c_stride, size_t high, size_t columns, bool more)
{
#define TILE(rows, vectors)                                                    \
    tile_sums(NULL, LEFT_PACKED, a, b, depth, c, c_stride, rows, vectors,      \
              high, columns, more)
    bool wide = columns > VF_LANES;
    if (high > TILE_HALF)
        TILE(GEMM_ROWS, GEMM_VECTORS);
    else if (high > TILE_LOW && wide)
        TILE(TILE_HALF, GEMM_VECTORS);
    else if (high > TILE_LOW)
        TILE(TILE_HALF, 1);
    else if (wide)
        TILE(TILE_LOW, GEMM_VECTORS);
    else
        TILE(TILE_LOW, 1);
#undef TILE
}

static void
tile(const left_t *left, const float *a, const float *b, size_t depth, float *c,
     size_t c_stride, size_t columns, bool more)
{
#define TILE(name)                                                             \
    do {                                                                       \
        if (columns == GEMM_COLUMNS)                                           \
            name(left, a, b, depth, c, c_stride, more);                        \
        else                                                                   \
            name##_cut(left, a, b, depth, c, c_stride, columns, more);         \
    } while (0)
    switch (left->order) {
    case LEFT_ALONG:
        TILE(tile_along);
        break;
    case LEFT_ACROSS:
        TILE(tile_across);
        break;
    case LEFT_LISTED:
        TILE(tile_listed);
        break;
    default:
        TILE(tile_packed);
    }
#undef TILE
}
