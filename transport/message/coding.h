/* coding.h - encodes messages in fewer bytes for a link, and decodes them.
 *
 * The frames are those of schema.h, with one change: the frame of a run that
 * the schema lists as coded (skn_coded_field_t) may be shorter than its items.
 * Then its first byte names the form of the rest. The header still has the
 * number of items; a run that no form makes smaller is sent as it is. Numbers
 * that can be coded without loss (ids, counts, zeros) always are; `values` are
 * rounded as the coding defines. docs/concepts/codings.md draws every form.
 *
 * With SKN_CODING_F32 the decoded message equals the encoded one bit for bit:
 * -0.0 and every NaN count as values, not as zeros. With the others:
 *     bf16   nearest, ties to even; NaN stays NaN, infinity stays
 *     int8   a row's scale is its greatest |x| / 127, rounded at random and
 *            unbiased; |error| <= scale
 *     int4   the same with 7, two values a byte
 * In a run whose zeros may be left out (`sparse`) an item is 0 after the link
 * if and only if it was 0 before it: a value that a coding rounds to 0 arrives
 * as FLT_MIN, and -0.0 as +0.0 (not in f32, which changes nothing).
 * In int8 and int4 a row that holds a NaN or an infinity arrives as NaN (its
 * zeros may stay zero), so that the receiver sees the divergence; a row whose
 * greatest |x| is below 2^-119 (int8; 2^-123 in int4) arrives as zeros.
 *
 * Threads: a coder belongs to one thread; the rest is pure.
 * Sources: coding.c (messages), coding_values.c, coding_numbers.c (runs).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_MESSAGE_CODING_H
#define TRANSPORT_MESSAGE_CODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "skein/error.h"
#include "transport/message/schema.h"

/* C(NAME, name in configs, bits a value, help), best first. */
#define SKN_CODINGS(C)                                                         \
    C(F32, "f32", 32, "unchanged 32-bit floats")                               \
    C(BF16, "bf16", 16, "the upper half of a float")                           \
    C(INT8, "int8", 8, "8 bits and a scale a row, rounded at random")          \
    C(INT4, "int4", 4, "4 bits and a scale a row, rounded at random")

typedef enum skn_coding {
#define C(name, word, bits, help) SKN_CODING_##name,
    SKN_CODINGS(C)
#undef C
    SKN_CODING_COUNT
} skn_coding_t;

/* "f32", "bf16", ...; static storage. "?" for anything else. */
const char *skn_coding_word(skn_coding_t coding);
/* Finds the coding of that name. False if there is none; *coding is then
 * unchanged. */
bool skn_coding_named(const char *word, skn_coding_t *coding);

/* Bytes of runs that one byte of frames can become: a bitmap of zeros has 8
 * items in a byte, of 4 bytes each. */
#define SKN_CODING_EXPANSION_MAX 32u

/* Memory that one thread reuses for every encode and decode; it grows to the
 * size that the largest message needs. `kernels` lives forever. NULL: no
 * memory. */
typedef struct skn_coder skn_coder_t;
skn_coder_t *skn_coder_new(const skn_kernels_t *kernels, skn_error_t *error);
void skn_coder_destroy(skn_coder_t **coder);

/* Validates `message` and describes it as frames. They point into the coder and
 * into the message (runs that are sent as they are), and are valid until the
 * coder's next use, while the message stays untouched. The bytes depend on
 * (schema, message, coding, key) alone, not on the instruction set or on time.
 * `key` selects the random bits: derive it from the run's seed, the pipe and
 * the message's number, so that no two messages share them.
 * SKN_BAD_MESSAGE: the message breaks its schema, its rows do not fit its runs,
 * or it lends memory of this process. SKN_NO_MEMORY. */
skn_status_t skn_coding_encode(const skn_schema_t *schema, const void *message,
                               skn_coding_t coding, uint64_t key,
                               skn_coder_t *coder, skn_wire_t *wire,
                               skn_error_t *error);

/* Writes to `to` the numbers that the receiver will have for a run of `values`
 * if the message is encoded with this coding and key; `to` has room for all
 * items of the run. Invalidates the frames of an earlier encode.
 * SKN_BAD_MESSAGE: the rows do not fit the run. SKN_NO_MEMORY. */
skn_status_t skn_coding_round(const skn_schema_t *schema, const void *message,
                              const char *field, skn_coding_t coding,
                              uint64_t key, skn_coder_t *coder, float *to,
                              skn_error_t *error);

/* Makes a message of `schema` in `pool` out of frames that may hold anything;
 * the frames themselves name the coding. Either *message is valid (as after
 * skn_decode, and its rows fit its runs) and held once, or it is NULL and the
 * status is SKN_BAD_MESSAGE or SKN_NO_MEMORY.
 * Memory: the message's struct, runs and strings take at most `bytes_max`
 * bytes, and at most SKN_CODING_EXPANSION_MAX times the frames' bytes (runs
 * start at cache lines: up to 64 bytes more for each run); this is checked
 * before anything is allocated. The coder itself allocates nothing to
 * decode. */
skn_status_t skn_coding_decode(const skn_schema_t *schema,
                               const skn_frame_t *frame, size_t frame_count,
                               size_t bytes_max, skn_coder_t *coder,
                               skn_pool_t *pool, void **message,
                               skn_error_t *error);

/* The same, for a schema that is looked up in a list that ends with NULL. The
 * schema found is skn_payload_of(*message)->schema. */
skn_status_t skn_coding_decode_any(const skn_schema_t *const *schemas,
                                   const skn_frame_t *frame, size_t frame_count,
                                   size_t bytes_max, skn_coder_t *coder,
                                   skn_pool_t *pool, void **message,
                                   skn_error_t *error);

#endif
