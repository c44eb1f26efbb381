/* coding_values.c - codes runs of floats, row by row, in fewer bytes.
 *
 * This file owns: the forms of values. The form byte is followed by
 *
 *     [bits of row 0][bits of row 1]...       only if zeros are left out
 *     [row 0][row 1]...    a row: [scale, f32][piece][piece]...
 *
 * The bits of a row are padded to a whole byte; a row has a scale only in int8
 * and int4, and only if it has values; pieces are cut at SKN_PIECE_ITEMS of the
 * row's items, zeros among them. docs/concepts/codings.md draws it with bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "transport/message/coding_runs.h"

#define VALUE_FORM_BYTES 1u
#define SCALE_BYTES sizeof(float)

/* Bytes that hold n bits or n half bytes. */
static size_t
bits_bytes(size_t n)
{
    return n / 8 + (n % 8 != 0);
}

/* Bytes of n values of one piece. */
static size_t
piece_bytes(skn_coding_t coding, size_t n)
{
    static const uint8_t halves[] = { 8, 4, 2, 1 };
    _Static_assert(sizeof(halves) == SKN_CODING_COUNT, "one for each coding");
    return (n * halves[coding] + 1) / 2;
}

static size_t
piece_items(size_t left)
{
    return left < SKN_PIECE_ITEMS ? left : SKN_PIECE_ITEMS;
}

static bool
has_scale(skn_coding_t coding)
{
    return coding == SKN_CODING_INT8 || coding == SKN_CODING_INT4;
}

/* Where neither scales nor bits depend on rows, a run is treated as one row,
 * which is faster. */
static skn_coded_rows_t
rows_needed(skn_coding_t coding, bool sparse, const skn_coded_rows_t *rows,
            size_t count)
{
    if (sparse || has_scale(coding))
        return *rows;
    return (skn_coded_rows_t){ .columns = count, .row_count = 1 };
}

/* Loops over rows; `place` is the row's index in `length`. */
#define EACH_ROW(rows, row, place)                                             \
    for (size_t row = 0, place = 0; row < (rows)->row_count;                   \
         row++, place = place + 1 < (rows)->length_count ? place + 1 : 0)

/* --- write --------------------------------------------------------------- */

/* The step of a row whose greatest magnitude is `greatest`. A row of numbers so
 * small that the step would lose precision becomes zero; one that is not finite
 * has no step. The last multiple must not overflow. */
static float
scale_of(skn_coding_t coding, float greatest)
{
    float levels = coding == SKN_CODING_INT8 ? 127.0f : 7.0f;
    if (!(greatest <= FLT_MAX))
        return NAN;
    if (greatest < FLT_MIN * (levels + 1.0f))
        return 0.0f;
    float scale = greatest / levels;
    return scale * levels <= FLT_MAX ? scale : nextafterf(scale, 0.0f);
}

/* Writes `n` values of one row as a piece; `to` may have any alignment. */
static uint8_t *
write_piece(const skn_kernels_t *kernels, skn_coding_t coding, const float *x,
            size_t n, float scale, const skn_noise_t *noise, uint8_t *to)
{
    uint16_t half[SKN_PIECE_ITEMS];
    size_t bytes = piece_bytes(coding, n);
    assert(n <= SKN_PIECE_ITEMS);
    if (coding == SKN_CODING_F32) {
        memcpy(to, x, bytes);
    } else if (coding == SKN_CODING_BF16) {
        kernels->f32_to_bf16(half, x, n);
        memcpy(to, half, bytes);
    } else if (coding == SKN_CODING_INT8) {
        kernels->f32_to_i8((int8_t *)to, x, n, scale, noise);
    } else {
        kernels->f32_to_i4(to, x, n, scale, noise);
    }
    return to + bytes;
}

/* Writes a row; with `bits`, only the items whose bit is set. */
static uint8_t *
write_row(const skn_kernels_t *kernels, skn_coding_t coding, const float *x,
          size_t length, const uint8_t *bits, skn_noise_t *noise, uint8_t *to)
{
    float packed[SKN_PIECE_ITEMS], scale = 0.0f;
    if (has_scale(coding)) {
        scale = scale_of(coding, kernels->greatest_abs(x, length));
        memcpy(to, &scale, SCALE_BYTES);
        to += SCALE_BYTES;
    }
    for (size_t i = 0; i < length; i += SKN_PIECE_ITEMS) {
        size_t n = piece_items(length - i);
        const float *piece = x + i;
        noise->first_column = (uint32_t)i;
        if (bits) {
            n = kernels->pack_nonzero(packed, piece, bits + i / 8, n);
            piece = packed;
        }
        to = write_piece(kernels, coding, piece, n, scale, noise, to);
    }
    return to;
}

/* Writes the bits of all rows to `to`; returns how many are set. *bytes: the
 * size of the whole run then, bits included. A coding that rounds ignores the
 * sign of a zero. */
static size_t
write_bits(const skn_kernels_t *kernels, skn_coding_t coding,
           const skn_coded_rows_t *rows, const float *x, uint8_t *to,
           size_t *bytes)
{
    uint32_t mask = coding == SKN_CODING_F32 ? UINT32_MAX : INT32_MAX;
    size_t sum = 0, all = 0;
    EACH_ROW(rows, row, place)
    {
        size_t length = skn_rows_length(rows, place), values = 0;
        for (size_t i = 0; i < length; i += SKN_PIECE_ITEMS) {
            size_t n = piece_items(length - i);
            size_t set = kernels->nonzero_bits(to + i / 8, x + i, n, mask);
            sum += piece_bytes(coding, set);
            values += set;
        }
        if (values > 0 && has_scale(coding))
            sum += SCALE_BYTES;
        sum += bits_bytes(length);
        to += bits_bytes(length);
        x += length;
        all += values;
    }
    *bytes = sum;
    return all;
}

/* Bytes of the bits of all rows. */
static size_t
all_bits_bytes(const skn_coded_rows_t *rows)
{
    size_t sum = 0;
    EACH_ROW(rows, row, place)
    {
        sum += bits_bytes(skn_rows_length(rows, place));
    }
    return sum;
}

/* Bytes of the whole run if no zeros are left out. */
static size_t
dense_bytes(skn_coding_t coding, const skn_coded_rows_t *rows)
{
    size_t sum = 0;
    EACH_ROW(rows, row, place)
    {
        size_t length = skn_rows_length(rows, place);
        size_t whole = length / SKN_PIECE_ITEMS;
        sum += whole * piece_bytes(coding, SKN_PIECE_ITEMS) +
               piece_bytes(coding, length % SKN_PIECE_ITEMS);
        if (length > 0 && has_scale(coding))
            sum += SCALE_BYTES;
    }
    return sum;
}

static bool
any_set(const uint8_t *bits, size_t length)
{
    for (size_t k = 0; k < bits_bytes(length); k++)
        if (bits[k])
            return true;
    return false;
}

/* Whether to leave the zeros of a run out: where that is smaller, or, with
 * rounding, wherever there are any, so that values that are rounded to zero
 * remain distinct from zeros. *bytes is the size of the run. */
static bool
leaves_zeros_out(const skn_kernels_t *kernels, skn_coding_t coding,
                 const skn_coded_rows_t *rows, const float *x, size_t count,
                 uint8_t *bits, size_t *bytes)
{
    size_t without = 0;
    size_t values = write_bits(kernels, coding, rows, x, bits, &without);
    if (coding == SKN_CODING_F32 ? without >= *bytes : values == count)
        return false;
    *bytes = without;
    return true;
}

size_t
skn_values_write(const skn_kernels_t *kernels, skn_coding_t coding, bool sparse,
                 const skn_coded_rows_t *all_rows, const float *x, size_t count,
                 uint64_t key, uint64_t stream, uint8_t *to)
{
    skn_coded_rows_t needed = rows_needed(coding, sparse, all_rows, count);
    const skn_coded_rows_t *rows = &needed;
    skn_noise_t noise = { .key = key, .stream = stream };
    uint8_t *bits = to + VALUE_FORM_BYTES, *at = bits;
    size_t bytes = dense_bytes(coding, rows);
    const float *end = x + count;
    sparse = sparse &&
             leaves_zeros_out(kernels, coding, rows, x, count, bits, &bytes);
    if (bytes + VALUE_FORM_BYTES >= count * sizeof(*x))
        return 0;
    *to = (uint8_t)(coding | (sparse ? SKN_FORM_SPARSE : 0));
    at += sparse ? all_bits_bytes(rows) : 0;
    EACH_ROW(rows, row, place)
    {
        size_t length = skn_rows_length(rows, place);
        noise.row = (uint32_t)row;
        if (length > 0 && (!sparse || any_set(bits, length)))
            at = write_row(kernels, coding, x, length, sparse ? bits : NULL,
                           &noise, at);
        bits += bits_bytes(length);
        x += length;
    }
    assert(x == end && (size_t)(at - to) == bytes + VALUE_FORM_BYTES);
    return bytes + VALUE_FORM_BYTES;
}

/* --- read ---------------------------------------------------------------- */

/* The rest of a frame, and how to read it. */
typedef struct rest {
    const uint8_t *at, *end;
    const skn_kernels_t *kernels;
    skn_coding_t coding;
    bool raise; /* turns zeros, which were rounded, into FLT_MIN */
} rest_t;

/* Takes `bytes` from the front of the rest; NULL if it has fewer. */
static const uint8_t *
take(rest_t *rest, size_t bytes)
{
    const uint8_t *at = rest->at;
    if ((size_t)(rest->end - at) < bytes)
        return NULL;
    rest->at += bytes;
    return at;
}

/* How many of n bits are set; SIZE_MAX if a padding bit after them is. */
static size_t
count_bits(const uint8_t *bits, size_t n)
{
    size_t set = 0, k = 0;
    for (; 64 * (k + 1) <= n; k++) {
        uint64_t word;
        memcpy(&word, bits + 8 * k, sizeof(word));
        set += (size_t)__builtin_popcountll(word);
    }
    for (k *= 8; k < bits_bytes(n); k++)
        set += (size_t)__builtin_popcount(bits[k]);
    return n % 8 && bits[n / 8] >> n % 8 ? SIZE_MAX : set;
}

/* Reads `n` values of one row; `x` has room for them. */
static bool
read_piece(rest_t *rest, float scale, float *x, size_t n)
{
    uint16_t half[SKN_PIECE_ITEMS];
    size_t bytes = piece_bytes(rest->coding, n);
    const uint8_t *from = take(rest, bytes);
    if (!from)
        return false;
    if (rest->coding == SKN_CODING_F32) {
        memcpy(x, from, bytes);
    } else if (rest->coding == SKN_CODING_BF16) {
        memcpy(half, from, bytes);
        rest->kernels->bf16_to_f32(x, half, n);
    } else if (rest->coding == SKN_CODING_INT8) {
        rest->kernels->i8_to_f32(x, (const int8_t *)from, n, scale);
    } else {
        rest->kernels->i4_to_f32(x, from, n, scale);
    }
    if (rest->raise)
        rest->kernels->raise_zeros(x, n);
    return true;
}

/* Reads a row; with `bits`, items whose bit is not set are zero. */
static bool
read_row(rest_t *rest, const uint8_t *bits, float *x, size_t length)
{
    float packed[SKN_PIECE_ITEMS], scale = 0.0f;
    size_t values = bits ? count_bits(bits, length) : length;
    if (values > length)
        return false;
    if (values > 0 && has_scale(rest->coding)) {
        const uint8_t *from = take(rest, SCALE_BYTES);
        if (!from)
            return false;
        memcpy(&scale, from, SCALE_BYTES);
    }
    for (size_t i = 0; i < length; i += SKN_PIECE_ITEMS) {
        size_t n = piece_items(length - i);
        size_t set = !bits         ? n
                     : n == length ? values
                                   : count_bits(bits + i / 8, n);
        if (!read_piece(rest, scale, bits ? packed : x + i, set))
            return false;
        if (bits)
            rest->kernels->unpack_nonzero(x + i, packed, set, bits + i / 8, n);
    }
    return true;
}

bool
skn_values_read(const skn_kernels_t *kernels, bool sparse,
                const skn_coded_rows_t *all_rows, const uint8_t *from,
                size_t from_bytes, float *x, size_t count)
{
    rest_t rest = { .kernels = kernels };
    if (from_bytes < VALUE_FORM_BYTES)
        return false;
    unsigned form = *from & ~SKN_FORM_SPARSE;
    bool bitmap = *from & SKN_FORM_SPARSE;
    if (form >= SKN_CODING_COUNT || (form == SKN_CODING_F32 && !bitmap) ||
        (bitmap && !sparse))
        return false;
    rest.at = from + VALUE_FORM_BYTES;
    rest.end = from + from_bytes;
    rest.coding = (skn_coding_t)form;
    rest.raise = sparse && form != SKN_CODING_F32;
    skn_coded_rows_t rows = rows_needed(rest.coding, bitmap, all_rows, count);
    const uint8_t *bits = NULL;
    const float *end = x + count;
    if (bitmap && !(bits = take(&rest, all_bits_bytes(&rows))))
        return false;
    EACH_ROW(&rows, row, place)
    {
        size_t length = skn_rows_length(&rows, place);
        if (!read_row(&rest, bits, x, length))
            return false;
        bits = bitmap ? bits + bits_bytes(length) : NULL;
        x += length;
    }
    assert(x == end);
    return rest.at == rest.end;
}
