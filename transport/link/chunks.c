/* chunks.c - a buffer for a range of a stream of bytes, in chunks of one size.
 *
 * This file owns: the ring of chunks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/link/chunks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 4u

static uint8_t **
slot_of(const skn_chunks_t *chunks, uint64_t number)
{
    return &chunks->slot[number & (chunks->slot_count - 1)];
}

void
skn_chunks_fini(skn_chunks_t *chunks)
{
    for (uint64_t k = chunks->first; k < chunks->last; k++)
        free(*slot_of(chunks, k));
    free(chunks->slot);
    *chunks = (skn_chunks_t){ 0 };
}

/* Allocates slots for the chunks first..last-1. */
static skn_status_t
reserve_slots(skn_chunks_t *chunks, uint64_t last, skn_error_t *error)
{
    uint64_t needed = last - chunks->first;
    size_t count = chunks->slot_count ? chunks->slot_count : SLOTS_MIN;
    while (count < needed)
        count *= 2;
    if (count != chunks->slot_count) {
        uint8_t **slot = calloc(count, sizeof(*slot));
        if (!slot)
            return skn_fail(error, SKN_NO_MEMORY,
                            "no memory for a stream of %zu chunks", count);
        for (uint64_t k = chunks->first; k < chunks->last; k++)
            slot[k & (count - 1)] = *slot_of(chunks, k);
        free(chunks->slot);
        chunks->slot = slot;
        chunks->slot_count = count;
    }
    /* Slots outside first..last-1 are NULL at all times. */
    if (last > chunks->last)
        chunks->last = last;
    assert(chunks->last - chunks->first <= chunks->slot_count);
    return SKN_OK;
}

skn_status_t
skn_chunks_reserve(skn_chunks_t *chunks, uint64_t from, uint64_t to,
                   skn_error_t *error)
{
    if (from >= to)
        return SKN_OK;
    uint64_t last = (to - 1) / SKN_STREAM_CHUNK_BYTES + 1;
    assert(from / SKN_STREAM_CHUNK_BYTES >= chunks->first);
    skn_status_t status = reserve_slots(chunks, last, error);
    for (uint64_t k = from / SKN_STREAM_CHUNK_BYTES;
         k < last && status == SKN_OK; k++) {
        uint8_t **slot = slot_of(chunks, k);
        if (*slot)
            continue;
        *slot = malloc(SKN_STREAM_CHUNK_BYTES);
        if (*slot)
            chunks->chunk_count++;
        else
            status = skn_fail(error, SKN_NO_MEMORY,
                              "no memory for %zu more bytes of a stream",
                              SKN_STREAM_CHUNK_BYTES);
    }
    return status;
}

const uint8_t *
skn_chunks_at(const skn_chunks_t *chunks, uint64_t offset, size_t *row_bytes)
{
    uint64_t number = offset / SKN_STREAM_CHUNK_BYTES;
    size_t inside = offset % SKN_STREAM_CHUNK_BYTES;
    assert(number >= chunks->first && number < chunks->last);
    const uint8_t *chunk = *slot_of(chunks, number);
    assert(chunk);
    *row_bytes = SKN_STREAM_CHUNK_BYTES - inside;
    return chunk + inside;
}

void
skn_chunks_write(skn_chunks_t *chunks, uint64_t offset, const void *bytes,
                 size_t byte_count)
{
    const uint8_t *from = bytes;
    while (byte_count > 0) {
        size_t row = 0;
        /* The chunk is ours to write; skn_chunks_at returns it as const. */
        uint8_t *to = (uint8_t *)(uintptr_t)skn_chunks_at(chunks, offset, &row);
        row = row < byte_count ? row : byte_count;
        memcpy(to, from, row);
        offset += row;
        from += row;
        byte_count -= row;
    }
}

void
skn_chunks_read(const skn_chunks_t *chunks, uint64_t offset, void *bytes,
                size_t byte_count)
{
    uint8_t *to = bytes;
    while (byte_count > 0) {
        size_t row = 0;
        const uint8_t *from = skn_chunks_at(chunks, offset, &row);
        row = row < byte_count ? row : byte_count;
        memcpy(to, from, row);
        offset += row;
        to += row;
        byte_count -= row;
    }
}

void
skn_chunks_trim(skn_chunks_t *chunks, uint64_t offset)
{
    uint64_t first = offset / SKN_STREAM_CHUNK_BYTES;
    for (; chunks->first < first && chunks->first < chunks->last;
         chunks->first++) {
        uint8_t **slot = slot_of(chunks, chunks->first);
        if (*slot)
            chunks->chunk_count--;
        free(*slot);
        *slot = NULL;
    }
    if (chunks->first < first)
        chunks->first = chunks->last = first;
}

size_t
skn_chunks_memory_bytes(const skn_chunks_t *chunks)
{
    return chunks->chunk_count * SKN_STREAM_CHUNK_BYTES +
           chunks->slot_count * sizeof(*chunks->slot);
}
