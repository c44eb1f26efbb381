/* chunks.h - a stretch of a stream of bytes, in pieces of one size.
 *
 * Bytes are addressed by their offset in the stream; pieces appear where
 * something is reserved, in any order, and go when the stream has moved on.
 * Both ends of a link keep their bytes so: what is not acked yet, and what has
 * arrived and was not taken, gaps included.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_LINK_CHUNKS_H
#define TRANSPORT_LINK_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

/* As large as the largest fragment, so that one touches at most two. */
#define SKN_STREAM_CHUNK_BYTES ((size_t)1 << 16)

/* { 0 } is an empty one that begins at offset 0. */
typedef struct skn_chunks {
    uint64_t first, last; /* numbers of the chunks with a slot: first..last-1 */
    uint8_t **slot;       /* ring, by number % slot_count; NULL: no memory */
    size_t slot_count;    /* a power of two, or 0 */
    size_t chunk_count;   /* of the slots, those with memory */
} skn_chunks_t;

/* Frees everything; the stretch begins at 0 again. */
void skn_chunks_fini(skn_chunks_t *chunks);
/* Memory for [from, to), which does not begin before what was trimmed. All of
 * it or, with SKN_NO_MEMORY, possibly some; what was there stays. */
skn_status_t skn_chunks_reserve(skn_chunks_t *chunks, uint64_t from,
                                uint64_t to, skn_error_t *error);
/* Writes into, or reads from, memory that was reserved. */
void skn_chunks_write(skn_chunks_t *chunks, uint64_t offset, const void *bytes,
                      size_t byte_count);
void skn_chunks_read(const skn_chunks_t *chunks, uint64_t offset, void *bytes,
                     size_t byte_count);
/* The byte at `offset`, which was reserved, and how many lie in a row there. */
const uint8_t *skn_chunks_at(const skn_chunks_t *chunks, uint64_t offset,
                             size_t *row_bytes);
/* Frees what lies wholly below `offset`. */
void skn_chunks_trim(skn_chunks_t *chunks, uint64_t offset);
/* What is allocated. */
size_t skn_chunks_memory_bytes(const skn_chunks_t *chunks);

#endif
