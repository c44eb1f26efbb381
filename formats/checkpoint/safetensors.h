/* safetensors.h - encodes and parses headers of safetensors files, without I/O.
 *
 *     0        8                 8 + n                        end of file
 *     | n, LE  | JSON, spaces    | tensor | tensor | ...      |
 *
 * The JSON maps each name to { "dtype", "shape", "data_offsets": [first, end] }
 * with offsets counted from 8 + n. The length n is a u64. Tensors follow each
 * other without gap or overlap, wide elements first, so that each is aligned to
 * its element: a file can be mapped and read in place. Any safetensors reader
 * opens it; numpy alone needs six lines. Format: Hugging Face, safetensors 0.4,
 * README "Format".
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_SAFETENSORS_H
#define FORMATS_CHECKPOINT_SAFETENSORS_H

#include "skein/error.h"
#include "skein/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKN_SAFETENSORS_LENGTH_BYTES 8u /* the number before the header */
/* The reference reader stops at 100 MB; 65,536 tensors of ours need 14 MiB. */
#define SKN_SAFETENSORS_HEADER_BYTES_MAX (16u << 20)
/* Tensors of one file, and of one checkpoint: 10^7 rows in blocks of 4,096, by
 * weights, two moments and a bias, are 9,766. */
#define SKN_SAFETENSORS_COUNT_MAX 65536u
/* "NAME@ROW,COLUMN": a name, and two numbers of at most 19 digits. */
#define SKN_SAFETENSORS_NAME_MAX 128u
#define SKN_SAFETENSORS_DIMS_MAX 4u

typedef enum skn_dtype {
    SKN_DTYPE_F32,
    SKN_DTYPE_BF16,
    SKN_DTYPE_U32,
    SKN_DTYPE_U64,
    SKN_DTYPE_I8,
    SKN_DTYPE_U8,
    SKN_DTYPE_COUNT
} skn_dtype_t;

typedef struct skn_safetensor {
    char name[SKN_SAFETENSORS_NAME_MAX + 1];
    skn_dtype_t dtype;
    uint32_t dims; /* 0: one element */
    uint64_t shape[SKN_SAFETENSORS_DIMS_MAX];
    uint64_t offset_bytes; /* from the start of the data */
    uint64_t size_bytes;
} skn_safetensor_t;

/* A parsed header. `tensor` is on the heap, in the order of the offsets. */
typedef struct skn_safetensors {
    skn_safetensor_t *tensor;
    size_t count;
    uint64_t header_bytes; /* where the data starts: 8 + n */
} skn_safetensors_t;

/* Bytes of one element; 0 for an unknown dtype. */
size_t skn_dtype_bytes(skn_dtype_t dtype);
/* "F32", ...; static storage. */
const char *skn_dtype_name(skn_dtype_t dtype);
/* False when `name` is not one of ours; *dtype is then unchanged. */
bool skn_dtype_find(const char *name, skn_dtype_t *dtype);

/* *size_bytes = product of the shape x bytes of an element. SKN_BAD_DATA when
 * that exceeds INT64_MAX: JSON integers and file offsets end there. */
skn_status_t skn_safetensor_size(const skn_safetensor_t *tensor,
                                 uint64_t *size_bytes, skn_error_t *error);

/* Gives each of the `count` tensors (name, dtype, dims, shape are set) its size
 * and its offset; the order of the array stays. *data_bytes is their sum.
 * SKN_BAD_DATA when a size overflows. */
skn_status_t skn_safetensors_place(skn_safetensor_t *tensor, size_t count,
                                   uint64_t *data_bytes, skn_error_t *error);

/* The `format` in the metadata: that of Skein, and the one that the
 * Transformers library reads. */
#define SKN_SAFETENSORS_SKEIN "\"format\":\"skein\""
#define SKN_SAFETENSORS_PT "\"format\":\"pt\""

/* The first bytes of the file that holds the placed tensors: length, JSON and
 * padding to a multiple of `align`: 8, or 64 if tensors are to be mapped.
 * `metadata` are the members of its metadata, as JSON. *header is the caller's
 * to free. SKN_BAD_DATA when a name holds a quote, a backslash or a control
 * character, or the header grows too long. */
skn_status_t skn_safetensors_header(const skn_safetensor_t *tensor,
                                    size_t count, const char *metadata,
                                    size_t align, unsigned char **header,
                                    size_t *header_bytes, skn_error_t *error);

/* Reads the header's length n from the first 8 bytes of a file of `file_bytes`,
 * checked against both limits. `path` is for error sentences. */
skn_status_t skn_safetensors_length(const char *path,
                                    const unsigned char first[8],
                                    uint64_t file_bytes, uint64_t *length_bytes,
                                    skn_error_t *error);

/* Reads a header: `bytes` are the first 8 + n of a file of `file_bytes`.
 * Refused with SKN_BAD_DATA: anything but an object with unique names, one of
 * our dtypes, at most 4 dimensions, sizes that fit the shapes, and offsets that
 * fill the file without gap or overlap. On failure *tensors is empty. */
skn_status_t skn_safetensors_parse(const char *path, const unsigned char *bytes,
                                   size_t byte_count, uint64_t file_bytes,
                                   skn_safetensors_t *tensors,
                                   skn_error_t *error);

/* Frees; `tensors` is empty afterwards. */
void skn_safetensors_fini(skn_safetensors_t *tensors);

#endif
