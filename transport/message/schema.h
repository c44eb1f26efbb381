/* schema.h - encodes, decodes and validates any message by its schema.
 *
 * An encoded message is a short list of frames: frame 0 is a msgpack array
 *
 *     [id, field, field, ...]     numbers as such, strings as str, loans as
 *                                 u64, runs and bytes as [count]
 *
 * followed by one frame for each run or bytes field, in the order of the
 * fields: its items, little-endian, at any address. Encoding copies no run;
 * decoding copies each once, into aligned memory of the receiver's pool.
 * Sources: schema.c (tables), codec.c, flat.c (frames), describe.c (text).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_MESSAGE_SCHEMA_H
#define TRANSPORT_MESSAGE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "skein/error.h"
#include "skein/limits.h"
#include "skein/message.h"
#include "transport/message/payload.h"

#define SKN_FRAMES_MAX (1u + SKN_FIELDS_MAX)

typedef struct skn_frame {
    const void *at; /* NULL only if `bytes` is 0 */
    size_t bytes;
} skn_frame_t;

/* A message as frames. They point into the scratch (frame 0) and into the
 * message (the others), and are valid as long as both stay untouched. */
typedef struct skn_wire {
    size_t frame_count;
    skn_frame_t frame[SKN_FRAMES_MAX];
} skn_wire_t;

/* Memory that one thread reuses for every encode and decode. */
typedef struct skn_scratch skn_scratch_t;
skn_scratch_t *skn_scratch_new(skn_error_t *error);
void skn_scratch_destroy(skn_scratch_t **scratch);

/* The maker of frames that are decoded: only this process can lend memory. */
typedef enum skn_origin {
    SKN_ORIGIN_PEER,
    SKN_ORIGIN_PROCESS
} skn_origin_t;

/* --- tables -------------------------------------------------------------- */

/* Checks the table itself: ids, names (letters, digits, '_', '-', '.'), unique
 * fields inside the struct that do not overlap, maxima within limits.h, the
 * longest header within SKN_HEADER_BYTES_MAX, coded runs of their kinds whose
 * rows are fields. SKN_BAD_CONFIG. */
skn_status_t skn_schema_check(const skn_schema_t *schema, skn_error_t *error);

/* 64 bits over id, name, each field's name, kind and maximum, and how runs are
 * coded; equal tables of two builds have equal hashes. It is not a secret and
 * finds mistakes, not attacks. */
uint64_t skn_schema_hash(const skn_schema_t *schema);
/* The same over a list that ends with NULL; its order does not matter. */
uint64_t skn_schemas_hash(const skn_schema_t *const *schemas);

/* Whether a message of `schema` carries a loan, so that it cannot leave the
 * process. */
bool skn_schema_lends(const skn_schema_t *schema);

/* Writes the reference of a list of messages as Markdown:
 * docs/reference/messages.md. */
void skn_schemas_document(const skn_schema_t *const *schemas, FILE *file);

/* --- messages ------------------------------------------------------------ */

/* Checks that numbers, counts and lengths are within their maxima, that no
 * string and no run with items is NULL, and that strings are UTF-8.
 * SKN_BAD_MESSAGE: "activation.shard is 4096, at most 4095 allowed". */
skn_status_t skn_validate(const skn_schema_t *schema, const void *message,
                          skn_error_t *error);

/* Validates `message` and describes it as frames. Only the header is copied.
 * `scratch` holds frame 0 until its next use. */
skn_status_t skn_encode(const skn_schema_t *schema, const void *message,
                        skn_scratch_t *scratch, skn_wire_t *wire,
                        skn_error_t *error);

/* Makes a message of `schema` in `pool` out of frames that may hold anything:
 * either *message is valid and held once, or it is NULL and the status is
 * SKN_BAD_MESSAGE or SKN_NO_MEMORY. Frames are only read. The memory allocated
 * is bounded by the frames' bytes. */
skn_status_t skn_decode(const skn_schema_t *schema, const skn_frame_t *frame,
                        size_t frame_count, skn_origin_t origin,
                        skn_scratch_t *scratch, skn_pool_t *pool,
                        void **message, skn_error_t *error);

/* Encodes and decodes in one step, without copying the runs twice: the option
 * `wire` puts this between two actors of one process. */
skn_status_t skn_recode(const skn_schema_t *schema, const void *message,
                        skn_scratch_t *scratch, skn_pool_t *pool, void **copy,
                        skn_error_t *error);

/* --- the flat form: all frames in one piece of memory -------------------- */

/* The flat form: u32 frame count, u32 zero, u64 bytes of each frame, then the
 * frames without gaps; little-endian. */
/* Finds the frames in `flat`, which may hold any bytes. SKN_BAD_MESSAGE. */
skn_status_t skn_wire_split(const void *flat, size_t flat_bytes,
                            skn_wire_t *wire, skn_error_t *error);

#endif
