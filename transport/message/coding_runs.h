/* coding_runs.h - writes and reads one run of a message in fewer bytes.
 *
 * Private to transport/: coding.c knows messages and checks what surrounds a
 * run. A coded run is a byte that names its form, followed by the form's bytes.
 * Writers return how many bytes they wrote, or 0 if no form is smaller than the
 * run itself, which is then sent as it is. Readers take any bytes, read nothing
 * beyond them, and return false if they are not exactly one run of this form.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_MESSAGE_CODING_RUNS_H
#define TRANSPORT_MESSAGE_CODING_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "transport/message/coding.h"

/* The form byte of values is a skn_coding_t, plus this if zeros are left
 * out. */
#define SKN_FORM_SPARSE 0x10u

/* The form byte of numbers. */
typedef enum skn_number_form {
    SKN_NUMBERS_VARINT = 1, /* 7 bits a byte, lowest first; 0x80: more follow */
    SKN_NUMBERS_DELTA,      /* varints of x[i] - x[i - 1] */
    SKN_NUMBERS_ZIGZAG,     /* the same, signed: 0, -1, 1, -2, ... */
    SKN_NUMBERS_BITMAP,     /* the first, 32 bits; bit k: that plus k follows */
} skn_number_form_t;

/* Rows are coded in pieces of this many items, which fit a first-level cache;
 * each piece starts at a whole byte. */
#define SKN_PIECE_ITEMS 1024u

/* Where the rows of a run end: see skn_coded_field_t. */
typedef struct skn_coded_rows {
    const uint32_t *length; /* NULL: each row has `columns` items */
    size_t length_count, columns;
    size_t row_count;
} skn_coded_rows_t;

static inline size_t
skn_rows_length(const skn_coded_rows_t *rows, size_t place)
{
    return rows->length ? rows->length[place] : rows->columns;
}

/* `sparse`: zeros of the field may be left out. A coding that rounds then keeps
 * x[i] = 0 distinct from other values: zero arrives as +0.0, and a value that
 * is rounded to zero as FLT_MIN. `to` has room for 4 * count + 1 bytes. `rows`
 * end where the run does. The random bits of row r are those of (key, stream,
 * r). */
size_t skn_values_write(const skn_kernels_t *kernels, skn_coding_t coding,
                        bool sparse, const skn_coded_rows_t *rows,
                        const float *x, size_t count, uint64_t key,
                        uint64_t stream, uint8_t *to);
bool skn_values_read(const skn_kernels_t *kernels, bool sparse,
                     const skn_coded_rows_t *rows, const uint8_t *from,
                     size_t from_bytes, float *x, size_t count);

/* `to` has room for 4 * count bytes; kind: ascending or small. */
size_t skn_numbers_write(skn_coded_kind_t kind, const uint32_t *x, size_t count,
                         uint8_t *to);
bool skn_numbers_read(const uint8_t *from, size_t from_bytes, uint32_t *x,
                      size_t count);

#endif
