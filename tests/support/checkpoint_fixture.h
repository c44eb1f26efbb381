/* checkpoint_fixture.h - a small model, written by any number of shards.
 *
 * The oracle: element (row, column) of a tensor is a function of its name,
 * batch and position, so every rectangle can be checked without storing it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_CHECKPOINT_FIXTURE_H
#define TESTS_SUPPORT_CHECKPOINT_FIXTURE_H

#include "formats/checkpoint/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#define FIXTURE_FEATURES 5u
#define FIXTURE_HIDDEN 7u
#define FIXTURE_LABELS 11u

/* Bytes of one write: odd, so that elements are torn apart. */
static size_t fixture_step_bytes = 13;

#define FIXTURE_METADATA "{\"epoch\": 1.5}"
static const char *fixture_metadata = FIXTURE_METADATA;

/* The 64 bits at a place; narrower types keep the lowest. */
static inline uint64_t
fixture_bits(const char *name, uint64_t batch, uint64_t row, uint64_t column)
{
    uint64_t bits = 1469598103934665603u + batch * 1000003u;
    for (const char *c = name; *c; c++)
        bits = (bits ^ (unsigned char)*c) * 1099511628211u;
    return (bits ^ (row * 131071u + column)) * 0x9e3779b97f4a7c15u;
}

static inline void
fixture_put(const char *name, skn_dtype_t dtype, uint64_t batch, uint64_t row,
            uint64_t column, unsigned char *to)
{
    uint64_t bits = fixture_bits(name, batch, row, column) >> 7;
    memcpy(to, &bits, skn_dtype_bytes(dtype));
}

/* Writes one piece in steps of at most `step` bytes. */
static inline skn_status_t
fixture_write_piece(skn_checkpoint_shard_t *shard, size_t index,
                    const skn_piece_t *piece, uint64_t batch, size_t step,
                    skn_error_t *error)
{
    size_t element = skn_dtype_bytes(piece->dtype), at = 0;
    size_t total = piece->rows * piece->columns * element;
    unsigned char *bytes = malloc(total + 8);
    if (!bytes)
        return skn_fail(error, SKN_NO_MEMORY, "fixture");
    for (uint64_t row = 0; row < piece->rows; row++)
        for (uint64_t column = 0; column < piece->columns; column++) {
            fixture_put(piece->name, piece->dtype, batch,
                        piece->row_first + row, piece->column_first + column,
                        bytes + at);
            at += element;
        }
    skn_status_t status = SKN_OK;
    for (size_t done = 0; done < total && status == SKN_OK;) {
        size_t count = total - done < step ? total - done : step;
        status = skn_checkpoint_shard_write(shard, index, done, bytes + done,
                                            count, error);
        done += count;
    }
    free(bytes);
    return status;
}

static inline skn_status_t
fixture_write_shard(skn_checkpoint_writer_t *writer, const char *name,
                    const skn_piece_t *piece, size_t count, uint64_t batch,
                    skn_error_t *error)
{
    skn_checkpoint_shard_t *shard =
        skn_checkpoint_shard_open(writer, name, piece, count, error);
    if (!shard)
        return error ? error->status : SKN_INTERNAL;
    skn_status_t status = SKN_OK;
    for (size_t i = 0; i < count && status == SKN_OK; i++)
        status = fixture_write_piece(shard, i, &piece[i], batch,
                                     fixture_step_bytes, error);
    skn_status_t closed =
        skn_checkpoint_shard_close(&shard, status == SKN_OK ? error : NULL);
    return status != SKN_OK ? status : closed;
}

/* Hidden layer: columns split among `shards`. */
static inline skn_status_t
fixture_write_hidden(skn_checkpoint_writer_t *writer, unsigned shards,
                     uint64_t batch, skn_error_t *error)
{
    for (unsigned s = 0; s < shards; s++) {
        uint64_t first = FIXTURE_HIDDEN * s / shards;
        uint64_t count = FIXTURE_HIDDEN * (s + 1) / shards - first;
        char name[32];
        skn_piece_t piece[] = {
            { "hidden.weight", SKN_DTYPE_F32, 2, FIXTURE_FEATURES, count,
              FIXTURE_FEATURES, FIXTURE_HIDDEN, 0, first },
            { "hidden.bias", SKN_DTYPE_F32, 1, count, 1, FIXTURE_HIDDEN, 1,
              first, 0 },
        };
        (void)snprintf(name, sizeof(name), "hidden.%u.safetensors", s);
        skn_status_t status =
            fixture_write_shard(writer, name, piece, 2, batch, error);
        if (status != SKN_OK)
            return status;
    }
    return SKN_OK;
}

/* Output layer: blocks of two rows, dealt to `shards` in turns; the index is a
 * tensor of wide elements behind narrow ones of odd length. */
static inline skn_status_t
fixture_write_output(skn_checkpoint_writer_t *writer, unsigned shards,
                     uint64_t batch, skn_error_t *error)
{
    for (unsigned s = 0; s < shards; s++) {
        skn_piece_t piece[2 * FIXTURE_LABELS + 2];
        size_t count = 0;
        char name[32];
        for (uint64_t row = 0; row < FIXTURE_LABELS; row += 2) {
            uint64_t rows = row + 2 <= FIXTURE_LABELS ? 2 : 1;
            if (row / 2 % shards != s)
                continue;
            piece[count++] = (skn_piece_t){
                "output.weight", SKN_DTYPE_BF16, 2,   rows, FIXTURE_HIDDEN,
                FIXTURE_LABELS,  FIXTURE_HIDDEN, row, 0
            };
            piece[count++] = (skn_piece_t){ "output.bias",
                                            SKN_DTYPE_F32,
                                            1,
                                            rows,
                                            1,
                                            FIXTURE_LABELS,
                                            1,
                                            row,
                                            0 };
        }
        if (s == 0) {
            piece[count++] = (skn_piece_t){
                "output.index", SKN_DTYPE_U64, 1, 3, 1, 3, 1, 0, 0
            };
            piece[count++] = (skn_piece_t){
                "output.empty", SKN_DTYPE_U32, 2, 0, 4, 0, 4, 0, 0
            };
        }
        (void)snprintf(name, sizeof(name), "output.%u.safetensors", s);
        skn_status_t status =
            fixture_write_shard(writer, name, piece, count, batch, error);
        if (status != SKN_OK)
            return status;
    }
    return SKN_OK;
}

/* One whole checkpoint. */
static inline skn_status_t
fixture_write(skn_run_folder_t *run, uint64_t batch, unsigned hidden_shards,
              unsigned output_shards, uint32_t keep, skn_error_t *error)
{
    skn_error_t spare = { 0 };
    if (!error)
        error = &spare;
    skn_checkpoint_writer_t *writer =
        skn_checkpoint_begin(run, batch, 0, error);
    if (!writer)
        return error->status;
    skn_status_t status =
        fixture_write_hidden(writer, hidden_shards, batch, error);
    if (status == SKN_OK)
        status = fixture_write_output(writer, output_shards, batch, error);
    if (status == SKN_OK)
        return skn_checkpoint_finish(&writer, fixture_metadata, keep, NULL,
                                     error);
    skn_checkpoint_abandon(&writer);
    return status;
}

/* Is every tensor there, with every element of `batch`, in every rectangle that
 * starts in some corner? */
static inline bool
fixture_rectangle_good(skn_checkpoint_t *checkpoint,
                       const skn_checkpoint_tensor_t *tensor, uint64_t row,
                       uint64_t rows, uint64_t column, uint64_t columns)
{
    size_t element = skn_dtype_bytes(tensor->dtype);
    size_t stride = columns * element + 3;
    unsigned char *got = malloc(rows * stride + 1);
    unsigned char want[8];
    uint64_t batch = skn_checkpoint_batch(checkpoint);
    if (!got)
        return false;
    memset(got, 0xa5, rows * stride + 1);
    bool good =
        skn_checkpoint_read_block(checkpoint, tensor->name, row, rows, column,
                                  columns, got, stride, NULL) == SKN_OK;
    for (uint64_t r = 0; r < rows && good; r++) {
        for (uint64_t c = 0; c < columns && good; c++) {
            fixture_put(tensor->name, tensor->dtype, batch, row + r, column + c,
                        want);
            good = memcmp(want, got + r * stride + c * element, element) == 0;
        }
        for (size_t k = 0; k < 3; k++) /* between the rows: untouched */
            good = good && got[r * stride + columns * element + k] == 0xa5;
    }
    free(got);
    return good;
}

static inline bool
fixture_good(skn_checkpoint_t *checkpoint)
{
    if (skn_checkpoint_tensor_count(checkpoint) != 6 ||
        strcmp(skn_checkpoint_metadata(checkpoint), fixture_metadata) != 0)
        return false;
    for (size_t i = 0; i < 6; i++) {
        const skn_checkpoint_tensor_t *tensor =
            skn_checkpoint_tensor(checkpoint, i);
        for (uint64_t row = 0; row <= tensor->rows; row++)
            for (uint64_t column = 0; column <= tensor->columns; column++)
                if (!fixture_rectangle_good(checkpoint, tensor, row,
                                            tensor->rows - row, column,
                                            tensor->columns - column) ||
                    !fixture_rectangle_good(checkpoint, tensor, 0, row, 0,
                                            column))
                    return false;
    }
    return true;
}

#endif
