/* checkpoint_block.c - reads rectangles of global tensors, and hashes weights.
 *
 * This file owns: the copying from pieces into a rectangle.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/reader_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Rows of a tensor that are hashed at once: stays in the second cache. */
#define BLOCK_STEP_BYTES (256u * 1024)
/* The part of a mapped file that stays resident after a copy: a checkpoint is
 * as large as the weights, and would double the memory of a run. */
#define DROP_BEHIND_BYTES ((size_t)1 << 20)
/* Linux's fault_around_bytes is 64 KiB. */
#define AROUND_BYTES ((size_t)1 << 20)

typedef struct rectangle {
    uint64_t row_first, row_end, column_first, column_end;
} rectangle_t;

static uint64_t
greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t
lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Unmaps the pages of `map` that were read before `end`, from `from` on, as
 * soon as that is past the next multiple of DROP_BEHIND_BYTES: a call for each
 * small block would cost more than the block. The pages stay in the system's
 * cache. Pages shortly before are included, since a fault may have mapped them
 * again. True: done. */
static bool
give_back(const unsigned char *map, const unsigned char *from,
          const unsigned char *end)
{
    size_t first = (size_t)(from - map) / DROP_BEHIND_BYTES * DROP_BEHIND_BYTES;
    size_t last = (size_t)(end - map) / DROP_BEHIND_BYTES * DROP_BEHIND_BYTES;
    if (first == last)
        return false;
    first = first < AROUND_BYTES ? 0 : first - AROUND_BYTES;
    (void)madvise((void *)(uintptr_t)(map + first), last - first,
                  MADV_DONTNEED);
    return true;
}

/* Copies the intersection of `want` and `piece`; *copied counts its
 * elements. */
static void
copy_shared(const rectangle_t *want, const skn_piece_t *piece,
            const unsigned char *map, const unsigned char *bytes,
            unsigned char *destination, size_t stride_bytes, uint64_t *copied)
{
    size_t element = skn_dtype_bytes(piece->dtype);
    uint64_t row_first = greater(want->row_first, piece->row_first);
    uint64_t row_end = lesser(want->row_end, piece->row_first + piece->rows);
    uint64_t column_first = greater(want->column_first, piece->column_first);
    uint64_t column_end =
        lesser(want->column_end, piece->column_first + piece->columns);
    uint64_t count = column_end - column_first;
    const unsigned char *from =
        bytes + ((row_first - piece->row_first) * piece->columns +
                 (column_first - piece->column_first)) *
                    element;
    const unsigned char *behind = from;
    unsigned char *to = destination +
                        (row_first - want->row_first) * stride_bytes +
                        (column_first - want->column_first) * element;
    for (uint64_t row = row_first; row < row_end; row++) {
        const unsigned char *end = from + count * element;
        memcpy(to, from, count * element);
        from += piece->columns * element;
        to += stride_bytes;
        if (give_back(map, behind, end))
            behind = end;
    }
    *copied += (row_end - row_first) * count;
}

static bool
is_shared(const rectangle_t *want, const skn_piece_t *piece)
{
    return want->row_first < piece->row_first + piece->rows &&
           piece->row_first < want->row_end &&
           want->column_first < piece->column_first + piece->columns &&
           piece->column_first < want->column_end;
}

static skn_status_t
copy_pieces(skn_checkpoint_t *checkpoint, const skn_checkpoint_tensor_t *tensor,
            const rectangle_t *want, unsigned char *destination,
            size_t stride_bytes, skn_error_t *error)
{
    uint64_t copied = 0;
    uint64_t area = (want->row_end - want->row_first) *
                    (want->column_end - want->column_first);
    for (size_t i = 0; i < tensor->piece_count && copied < area; i++) {
        size_t index = tensor->piece_first + i;
        const skn_piece_t *piece = skn_checkpoint_piece(checkpoint, index);
        const unsigned char *bytes;
        if (piece->row_first >= want->row_end)
            break; /* sorted by row: no further piece intersects */
        if (!is_shared(want, piece))
            continue;
        skn_status_t status =
            skn_checkpoint_piece_at(checkpoint, index, &bytes, error);
        if (status != SKN_OK)
            return status;
        uint32_t file =
            checkpoint->manifest.piece[checkpoint->order[index]].file;
        copy_shared(want, piece, checkpoint->file[file].map, bytes, destination,
                    stride_bytes, &copied);
    }
    /* Opening it checked that the pieces cover the tensor once. */
    assert(copied == area);
    return SKN_OK;
}

skn_status_t
skn_checkpoint_read_block(skn_checkpoint_t *checkpoint, const char *name,
                          uint64_t row_first, uint64_t row_count,
                          uint64_t column_first, uint64_t column_count,
                          void *destination, size_t stride_bytes,
                          skn_error_t *error)
{
    const skn_checkpoint_tensor_t *tensor =
        skn_checkpoint_find(checkpoint, name);
    if (!tensor)
        return skn_fail(error, SKN_NO_INPUT, "%s: tensor %s is missing",
                        checkpoint->path, name);
    if (row_first > tensor->rows || row_count > tensor->rows - row_first ||
        column_first > tensor->columns ||
        column_count > tensor->columns - column_first)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: tensor %s: %" PRIu64 " x %" PRIu64 " at (%" PRIu64
                        ", %" PRIu64 ") is outside of %" PRIu64 " x %" PRIu64,
                        checkpoint->path, name, row_count, column_count,
                        row_first, column_first, tensor->rows, tensor->columns);
    if (row_count == 0 || column_count == 0)
        return SKN_OK;
    if (row_count > 1 &&
        stride_bytes / skn_dtype_bytes(tensor->dtype) < column_count)
        return skn_fail(error, SKN_INTERNAL,
                        "%s: tensor %s: rows of %" PRIu64 " elements were "
                        "requested %zu bytes apart",
                        checkpoint->path, name, column_count, stride_bytes);
    rectangle_t want = { row_first, row_first + row_count, column_first,
                         column_first + column_count };
    return copy_pieces(checkpoint, tensor, &want, destination, stride_bytes,
                       error);
}

static bool
ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), end_length = strlen(end);
    return length >= end_length && strcmp(name + length - end_length, end) == 0;
}

/* Hashes a tensor, in steps of as many whole rows as fit. */
static skn_status_t
hash_tensor(skn_checkpoint_t *checkpoint, const skn_checkpoint_tensor_t *tensor,
            struct sha256_ctx *sha, skn_error_t *error)
{
    if (tensor->rows == 0 || tensor->columns == 0)
        return SKN_OK;
    size_t row_bytes = tensor->columns * skn_dtype_bytes(tensor->dtype);
    size_t step_rows = BLOCK_STEP_BYTES / row_bytes;
    if (step_rows == 0)
        step_rows = 1;
    unsigned char *step = malloc(step_rows * row_bytes);
    if (!step)
        return skn_fail(error, SKN_NO_MEMORY,
                        "%s: no memory for %zu rows of %s", checkpoint->path,
                        step_rows, tensor->name);
    skn_status_t status = SKN_OK;
    for (uint64_t row = 0; row < tensor->rows && status == SKN_OK;
         row += step_rows) {
        uint64_t count = lesser(step_rows, tensor->rows - row);
        status =
            skn_checkpoint_read_block(checkpoint, tensor->name, row, count, 0,
                                      tensor->columns, step, row_bytes, error);
        if (status == SKN_OK)
            sha256_update(sha, count * row_bytes, step);
    }
    free(step);
    return status;
}

skn_status_t
skn_checkpoint_weights_sha256(skn_checkpoint_t *checkpoint,
                              char hex[SKN_SHA256_TEXT_BYTES],
                              skn_error_t *error)
{
    struct sha256_ctx sha;
    uint8_t hash[SHA256_DIGEST_SIZE];
    sha256_init(&sha);
    for (size_t i = 0; i < checkpoint->tensor_count; i++) {
        const skn_checkpoint_tensor_t *tensor = &checkpoint->tensor[i];
        if (!ends_with(tensor->name, ".weight") &&
            !ends_with(tensor->name, ".bias"))
            continue;
        skn_status_t status = hash_tensor(checkpoint, tensor, &sha, error);
        if (status != SKN_OK)
            return status;
    }
    sha256_digest(&sha, sizeof(hash), hash);
    base16_encode_update(hex, sizeof(hash), hash);
    hex[BASE16_ENCODE_LENGTH(sizeof(hash))] = '\0';
    return SKN_OK;
}
