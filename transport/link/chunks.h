/* chunks.h - a buffer for a range of a stream of bytes, in chunks of one size.
 *
 * Bytes are addressed by their offset in the stream; chunks are allocated where
 * bytes are reserved, in any order, and freed when the stream has moved on.
 * Both ends of a link keep their bytes this way: those that are not
 * acknowledged yet, and those that have arrived and were not taken, gaps
 * included.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_LINK_CHUNKS_H
#define TRANSPORT_LINK_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

/* As large as the largest fragment, which thus touches at most two. */
#define SKN_STREAM_CHUNK_BYTES ((size_t)1 << 16)

/* { 0 } is an empty buffer that begins at offset 0. */
typedef struct skn_chunks {
    uint64_t first, last; /* numbers of the chunks with a slot: first..last-1 */
    uint8_t **slot;       /* ring, by number % slot_count; NULL: no memory */
    size_t slot_count;    /* a power of two, or 0 */
    size_t chunk_count;   /* slots that have memory */
} skn_chunks_t;

/* Frees everything; the buffer begins at 0 again. */
void skn_chunks_fini(skn_chunks_t *chunks);
/* Allocates memory for [from, to), which does not begin before the trimmed
 * part. All of it or, with SKN_NO_MEMORY, possibly some; existing bytes
 * stay. */
skn_status_t skn_chunks_reserve(skn_chunks_t *chunks, uint64_t from,
                                uint64_t to, skn_error_t *error);
/* Writes into, or reads from, reserved memory. */
void skn_chunks_write(skn_chunks_t *chunks, uint64_t offset, const void *bytes,
                      size_t byte_count);
void skn_chunks_read(const skn_chunks_t *chunks, uint64_t offset, void *bytes,
                     size_t byte_count);
/* The byte at `offset`, which was reserved, and the number of contiguous bytes
 * there. */
const uint8_t *skn_chunks_at(const skn_chunks_t *chunks, uint64_t offset,
                             size_t *row_bytes);
/* Frees the chunks that are wholly below `offset`. */
void skn_chunks_trim(skn_chunks_t *chunks, uint64_t offset);
/* The bytes allocated. */
size_t skn_chunks_memory_bytes(const skn_chunks_t *chunks);

#endif
