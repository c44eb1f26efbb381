/* stream.h - reads a file that may be compressed, from its start to its end.
 *
 * Plain text, gzip (also several members) and zstd (also several frames, and
 * those to be skipped) are recognized by their first bytes, never by the name
 * of the file. Zeros between and after members and frames are padding.
 * One stream is for one thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_SOURCE_STREAM_H
#define FORMATS_SOURCE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "skein/error.h"

typedef struct skn_stream skn_stream_t;

/* Opens the file `path`. SKN_NO_INPUT, SKN_NO_PERMISSION, SKN_STORAGE and
 * SKN_NO_MEMORY leave *stream NULL. */
skn_status_t skn_stream_open(const char *path, skn_stream_t **stream,
                             skn_error_t *error);

/* The same over `bytes` bytes at `start`, which must outlive the stream; `name`
 * replaces the path in error sentences. */
skn_status_t skn_stream_open_memory(const char *name, const void *start,
                                    size_t bytes, skn_stream_t **stream,
                                    skn_error_t *error);

/* Frees, sets *stream to NULL. *stream may be NULL already. */
void skn_stream_close(skn_stream_t **stream);

/* Reads at most `room_bytes` (> 0) unpacked bytes; *got_bytes is 0 only at the
 * end. SKN_BAD_DATA when packed data is truncated or damaged. */
skn_status_t skn_stream_read(skn_stream_t *stream, void *room,
                             size_t room_bytes, size_t *got_bytes,
                             skn_error_t *error);

/* XXH3, 64 bits, of all bytes that skn_stream_read has returned so far: the
 * same for a text and for its packed forms. */
uint64_t skn_stream_hash(const skn_stream_t *stream);

/* Whether the bytes are those of gzip or zstd. */
bool skn_stream_is_packed(const skn_stream_t *stream);

/* Bytes read from the file so far, packed ones if it is compressed. */
uint64_t skn_stream_source_bytes(const skn_stream_t *stream);

/* The result of fstat for the open file now. SKN_STORAGE; zeros for memory. */
skn_status_t skn_stream_stat(const skn_stream_t *stream, struct stat *source,
                             skn_error_t *error);

/* `path`, or its tail: a sentence in skn_error_t has room for 512 bytes, and a
 * long path must not displace the reason. Points into `path`; for "" it returns
 * two quotation marks. */
const char *skn_stream_name_shown(const char *path);

#endif
