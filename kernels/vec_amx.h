/* vec_amx.h - the vector words of AVX-512, and tiles of bf16 products with AMX.
 *
 * The tile registers of AMX are 16 rows of 64 bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "vec_avx512.h"

#define HALF_ROWS ((size_t)32)
#define HALF_COLUMNS ((size_t)32)
#define HALF_PAIRS ((size_t)272) /* between rows of a: body/gemm_half.h */
#define HALF_IN_PLACE true       /* tiles can read rows of a at any distance */
#define HALF_ALONE false /* uses half a tile; half_column was not tried */
#define HALF_STEP ((size_t)16)

#define TILE_ROWS ((size_t)16)
#define TILE_WORDS ((size_t)16) /* of a row */

/* The operand of LDTILECFG. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config_t;

/* All eight registers, whole. Not a variable of half_begin: gcc 12 assumes that
 * the instruction reads only a pointer of it, and may leave out the rest. */
static const tile_config_t whole_tiles = {
    .palette = 1,
    .row_bytes = { 64, 64, 64, 64, 64, 64, 64, 64 },
    .rows = { 16, 16, 16, 16, 16, 16, 16, 16 },
};

/* The thread's registers stay in use until half_end; the system saves them only
 * that long. */
VF_WORD void
half_begin(void)
{
    _tile_loadconfig(&whole_tiles);
}

VF_WORD void
half_end(void)
{
    _tile_release();
}

/* c (32 x 32) = or += a times panel of b: registers 0 to 3 are the quarters of
 * c, 4 and 5 the halves of a, 6 and 7 those of b. */
static void
half_sums(const uint32_t *a, size_t a_stride, const uint32_t *b, size_t pairs,
          float *c, size_t c_stride, bool more)
{
    size_t c_bytes = c_stride * sizeof(float);
    size_t a_bytes = a_stride * sizeof(uint32_t);
    size_t b_bytes = HALF_COLUMNS * sizeof(uint32_t);
    float *low = c + TILE_ROWS * c_stride;
    if (more) {
        _tile_loadd(0, c, c_bytes);
        _tile_loadd(1, c + TILE_WORDS, c_bytes);
        _tile_loadd(2, low, c_bytes);
        _tile_loadd(3, low + TILE_WORDS, c_bytes);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (size_t p = 0; p < pairs; p += TILE_ROWS) {
        _tile_loadd(6, b, b_bytes);
        _tile_loadd(4, a, a_bytes);
        _tile_loadd(7, b + TILE_WORDS, b_bytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(5, a + TILE_ROWS * a_stride, a_bytes);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        a += TILE_ROWS;
        b += TILE_ROWS * HALF_COLUMNS;
    }
    _tile_stored(0, c, c_bytes);
    _tile_stored(1, c + TILE_WORDS, c_bytes);
    _tile_stored(2, low, c_bytes);
    _tile_stored(3, low + TILE_WORDS, c_bytes);
}

/* The same for half a panel: registers 0 and 2, 4 and 5, 6. */
static void
half_sums_narrow(const uint32_t *a, size_t a_stride, const uint32_t *b,
                 size_t pairs, float *c, bool more)
{
    size_t c_bytes = HALF_COLUMNS * sizeof(float);
    size_t a_bytes = a_stride * sizeof(uint32_t);
    size_t b_bytes = HALF_COLUMNS * sizeof(uint32_t);
    float *low = c + TILE_ROWS * HALF_COLUMNS;
    if (more) {
        _tile_loadd(0, c, c_bytes);
        _tile_loadd(2, low, c_bytes);
    } else {
        _tile_zero(0);
        _tile_zero(2);
    }
    for (size_t p = 0; p < pairs; p += TILE_ROWS) {
        _tile_loadd(6, b, b_bytes);
        _tile_loadd(4, a, a_bytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(5, a + TILE_ROWS * a_stride, a_bytes);
        _tile_dpbf16ps(2, 5, 6);
        a += TILE_ROWS;
        b += TILE_ROWS * HALF_COLUMNS;
    }
    _tile_stored(0, c, c_bytes);
    _tile_stored(2, low, c_bytes);
}

/* Copies rows of up to 32 floats, `from_stride` and `to_stride` apart. */
VF_WORD void
half_copy(float *to, size_t to_stride, const float *from, size_t from_stride,
          size_t rows, size_t columns)
{
    __mmask16 low =
        columns < TILE_WORDS ? lane_mask(columns) : (__mmask16)0xffff;
    __mmask16 high =
        columns > TILE_WORDS ? lane_mask(columns - TILE_WORDS) : (__mmask16)0;
    for (size_t r = 0; r < rows; r++) {
        const float *source = from + r * from_stride;
        float *target = to + r * to_stride;
        _mm512_mask_storeu_ps(target, low, _mm512_maskz_loadu_ps(low, source));
        if (high)
            _mm512_mask_storeu_ps(
                target + TILE_WORDS, high,
                _mm512_maskz_loadu_ps(high, source + TILE_WORDS));
    }
}

/* c (rows x columns) = or += a times panel of b. A tile across the edge of c is
 * computed in a buffer. */
static void
half_tile(const uint32_t *a, size_t a_stride, const uint32_t *b, size_t pairs,
          float *c, size_t c_stride, size_t rows, size_t columns, bool more)
{
    _Alignas(64) float tile[HALF_ROWS * HALF_COLUMNS];
    if (rows == HALF_ROWS && columns == HALF_COLUMNS) {
        half_sums(a, a_stride, b, pairs, c, c_stride, more);
        return;
    }
    if (more)
        half_copy(tile, HALF_COLUMNS, c, c_stride, rows, columns);
    if (columns > TILE_WORDS)
        half_sums(a, a_stride, b, pairs, tile, HALF_COLUMNS, more);
    else
        half_sums_narrow(a, a_stride, b, pairs, tile, more);
    half_copy(c, c_stride, tile, HALF_COLUMNS, rows, columns);
}
