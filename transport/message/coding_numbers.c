/* coding_numbers.c - codes runs of 32-bit integers in fewer bytes without loss.
 *
 * This file owns: the forms of ids, offsets and counts (drawn in
 * docs/concepts/codings.md). All forms are measured, and the smallest is used.
 * Varints: those of Protocol Buffers ("Encoding", Base 128 varints; zigzag).
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "transport/message/coding_runs.h"

#define NUMBER_FORM_BYTES 1u
#define VARINT_BITS 7u
#define VARINT_MORE 0x80u

/* --- write --------------------------------------------------------------- */

static size_t
varint_bytes(uint32_t x)
{
    unsigned bits = 32u - (unsigned)__builtin_clz(x | 1);
    return (bits + VARINT_BITS - 1) / VARINT_BITS;
}

static uint8_t *
put_varint(uint8_t *to, uint32_t x)
{
    for (; x >= VARINT_MORE; x >>= VARINT_BITS)
        *to++ = (uint8_t)(x | VARINT_MORE);
    *to++ = (uint8_t)x;
    return to;
}

/* Differences wrap around, so that any two numbers have one. */
static uint32_t
zigzag(uint32_t difference)
{
    return difference << 1 ^ (0u - (difference >> 31));
}

static uint32_t
zigzag_back(uint32_t x)
{
    return x >> 1 ^ (0u - (x & 1));
}

/* Bytes of the run in each form; SIZE_MAX where the form cannot represent
 * it. */
typedef struct form_bytes {
    size_t varint, delta, zigzag, bitmap;
} form_bytes_t;

static form_bytes_t
measure(const uint32_t *x, size_t count)
{
    form_bytes_t bytes = { 0, 0, 0, 0 };
    bool is_ascending = true, strictly = true;
    uint32_t last = 0;
    for (size_t k = 0; k < count; k++) {
        is_ascending = is_ascending && x[k] >= last;
        strictly = strictly && (k == 0 || x[k] > last);
        bytes.varint += varint_bytes(x[k]);
        bytes.delta += varint_bytes(x[k] - last);
        bytes.zigzag += varint_bytes(zigzag(x[k] - last));
        last = x[k];
    }
    if (!is_ascending)
        bytes.delta = SIZE_MAX;
    bytes.bitmap =
        strictly ? sizeof(*x) + (x[count - 1] - x[0]) / 8 + 1 : SIZE_MAX;
    return bytes;
}

static size_t
write_varints(skn_number_form_t form, const uint32_t *x, size_t count,
              uint8_t *to)
{
    uint8_t *at = to + NUMBER_FORM_BYTES;
    uint32_t last = 0;
    *to = (uint8_t)form;
    for (size_t k = 0; k < count; k++) {
        uint32_t difference = x[k] - last;
        at = put_varint(at, form == SKN_NUMBERS_VARINT  ? x[k]
                            : form == SKN_NUMBERS_DELTA ? difference
                                                        : zigzag(difference));
        last = x[k];
    }
    return (size_t)(at - to);
}

static size_t
write_bitmap(const uint32_t *x, size_t count, uint8_t *to)
{
    uint8_t *bits = to + NUMBER_FORM_BYTES + sizeof(*x);
    size_t bit_bytes = (x[count - 1] - x[0]) / 8 + 1;
    *to = SKN_NUMBERS_BITMAP;
    memcpy(to + NUMBER_FORM_BYTES, x, sizeof(*x));
    memset(bits, 0, bit_bytes);
    for (size_t k = 0; k < count; k++) {
        uint32_t place = x[k] - x[0];
        bits[place / 8] = (uint8_t)(bits[place / 8] | 1u << place % 8);
    }
    return NUMBER_FORM_BYTES + sizeof(*x) + bit_bytes;
}

size_t
skn_numbers_write(skn_coded_kind_t kind, const uint32_t *x, size_t count,
                  uint8_t *to)
{
    if (count == 0)
        return 0;
    form_bytes_t bytes = measure(x, count);
    skn_number_form_t form = SKN_NUMBERS_VARINT;
    size_t least = bytes.varint;
    if (kind == SKN_CODED_ascending) {
        if (bytes.zigzag < least) {
            form = SKN_NUMBERS_ZIGZAG;
            least = bytes.zigzag;
        }
        if (bytes.delta <= least) {
            form = SKN_NUMBERS_DELTA;
            least = bytes.delta;
        }
        if (bytes.bitmap < least) {
            form = SKN_NUMBERS_BITMAP;
            least = bytes.bitmap;
        }
    }
    if (least + NUMBER_FORM_BYTES >= count * sizeof(*x))
        return 0;
    return form == SKN_NUMBERS_BITMAP ? write_bitmap(x, count, to)
                                      : write_varints(form, x, count, to);
}

/* --- read ---------------------------------------------------------------- */

/* Moves *at past a varint of at most 32 bits; false if there is none. */
static bool
take_varint(const uint8_t **at, const uint8_t *end, uint32_t *x)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 35; shift += VARINT_BITS) {
        if (*at == end)
            return false;
        uint8_t byte = *(*at)++;
        number |= (uint64_t)(byte & ~VARINT_MORE) << shift;
        if (byte < VARINT_MORE) {
            *x = (uint32_t)number;
            return number <= UINT32_MAX;
        }
    }
    return false;
}

static bool
read_varints(skn_number_form_t form, const uint8_t *at, const uint8_t *end,
             uint32_t *x, size_t count)
{
    uint32_t last = 0;
    for (size_t k = 0; k < count; k++) {
        uint32_t number;
        if (!take_varint(&at, end, &number))
            return false;
        if (form == SKN_NUMBERS_DELTA) {
            if (number > UINT32_MAX - last)
                return false;
            number += last;
        } else if (form == SKN_NUMBERS_ZIGZAG) {
            number = last + zigzag_back(number);
        }
        x[k] = last = number;
    }
    return at == end;
}

/* The first bit must be set, and one of the last byte, so that the form of a
 * run is unique. */
static bool
read_bitmap(const uint8_t *at, const uint8_t *end, uint32_t *x, size_t count)
{
    uint32_t first;
    size_t found = 0;
    if ((size_t)(end - at) <= sizeof(first) || end[-1] == 0)
        return false;
    memcpy(&first, at, sizeof(first));
    at += sizeof(first);
    if (!(*at & 1))
        return false;
    for (uint64_t base = first; at < end; at++, base += 8)
        for (unsigned bits = *at; bits; bits &= bits - 1) {
            uint64_t number = base + (unsigned)__builtin_ctz(bits);
            if (found == count || number > UINT32_MAX)
                return false;
            x[found++] = (uint32_t)number;
        }
    return found == count;
}

bool
skn_numbers_read(const uint8_t *from, size_t from_bytes, uint32_t *x,
                 size_t count)
{
    if (from_bytes < NUMBER_FORM_BYTES)
        return false;
    const uint8_t *at = from + NUMBER_FORM_BYTES, *end = from + from_bytes;
    switch (*from) {
    case SKN_NUMBERS_VARINT:
    case SKN_NUMBERS_DELTA:
    case SKN_NUMBERS_ZIGZAG:
        return read_varints((skn_number_form_t)*from, at, end, x, count);
    case SKN_NUMBERS_BITMAP:
        return read_bitmap(at, end, x, count);
    default:
        return false;
    }
}
