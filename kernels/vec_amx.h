/* vec_amx.h - the words of AVX-512, and tiles of products of pairs of bf16:
 * AMX, whose tile registers are 16 rows of 64 bytes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "vec_avx512.h"

#define HALF_ROWS ((size_t)32)
#define HALF_COLUMNS ((size_t)32)
#define HALF_PAIRS ((size_t)272) /* between rows of a: body/gemm_half.h */
#define HALF_STEP ((size_t)16)

#define TILE_ROWS ((size_t)16)
#define TILE_WORDS ((size_t)16) /* of a row */

/* What LDTILECFG reads. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config_t;

/* All eight registers, whole. The thread's registers stay in use until
 * half_end, and only so long does the system save them. */
VF_WORD void
half_begin(void)
{
    tile_config_t config = { .palette = 1 };
    for (size_t k = 0; k < 8; k++) {
        config.row_bytes[k] = TILE_WORDS * sizeof(uint32_t);
        config.rows[k] = TILE_ROWS;
    }
    _tile_loadconfig(&config);
}

VF_WORD void
half_end(void)
{
    _tile_release();
}

/* c (32 x 32) = or += a times panel of b: registers 0 to 3 are the quarters of
 * c, 4 and 5 the halves of a, 6 and 7 those of b. */
static void
half_sums(const uint32_t *a, const uint32_t *b, size_t pairs, float *c,
          size_t c_stride, bool more)
{
    size_t c_bytes = c_stride * sizeof(float);
    size_t a_bytes = HALF_PAIRS * sizeof(uint32_t);
    size_t b_bytes = HALF_COLUMNS * sizeof(uint32_t);
    float *low = c + TILE_ROWS * c_stride;
    for (size_t r = 0; r < HALF_ROWS; r++) { /* of the tile beside this one */
        const float *next = c + r * c_stride + 2 * TILE_WORDS;
        __builtin_prefetch(next, 1);
        __builtin_prefetch(next + TILE_WORDS, 1);
    }
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
        _tile_loadd(5, a + TILE_ROWS * HALF_PAIRS, a_bytes);
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

/* c (rows x columns) = or += a times panel of b. A tile over the edge of c goes
 * through one of its own. */
static void
half_tile(const uint32_t *a, const uint32_t *b, size_t pairs, float *c,
          size_t c_stride, size_t rows, size_t columns, bool more)
{
    float tile[HALF_ROWS * HALF_COLUMNS];
    if (rows == HALF_ROWS && columns == HALF_COLUMNS) {
        half_sums(a, b, pairs, c, c_stride, more);
        return;
    }
    for (size_t r = 0; r < rows && more; r++)
        memcpy(tile + r * HALF_COLUMNS, c + r * c_stride,
               columns * sizeof(float));
    half_sums(a, b, pairs, tile, HALF_COLUMNS, more);
    for (size_t r = 0; r < rows; r++)
        memcpy(c + r * c_stride, tile + r * HALF_COLUMNS,
               columns * sizeof(float));
}
