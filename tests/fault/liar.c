/* liar.c - a node with a valid key that sends wrong data to its peers.
 *
 * Linked into a `skein` of its own with --wrap=skn_link_send: from record
 * SKEIN_LIE_AFTER on (0: never) it changes the records that this node sends, in
 * the way that SKEIN_LIE_HOW names: `noise` (random bytes), `cut` (the first
 * half), `long` (twice), `edge` (of an edge that is not its own), `number` (out
 * of order), `credit` (for messages that were never sent), `kind` (an unknown
 * kind). `hold` stops sending messages, while the link stays alive. From
 * gradient SKEIN_LIE_AFTER on, by --wrap=skn_coding_encode: `nan`, `infinite`,
 * `huge` (one value of it). `state`: a NaN in state that is saved to a
 * checkpoint, or read from one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/messages.h"
#include "transport/message/coding.h"
#include "transport/link/link.h"

#define RECORD_BYTES_MAX ((size_t)1 << 22)
#define HEAD_BYTES 16

skn_status_t __real_skn_link_send(skn_link_t *link, const skn_frame_t *frame,
                                  size_t frame_count, skn_error_t *error);
skn_status_t __wrap_skn_link_send(skn_link_t *link, const skn_frame_t *frame,
                                  size_t frame_count, skn_error_t *error);

skn_status_t __real_skn_coding_encode(const skn_schema_t *schema,
                                      const void *message, skn_coding_t coding,
                                      uint64_t key, skn_coder_t *coder,
                                      skn_wire_t *wire, skn_error_t *error);
skn_status_t __wrap_skn_coding_encode(const skn_schema_t *schema,
                                      const void *message, skn_coding_t coding,
                                      uint64_t key, skn_coder_t *coder,
                                      skn_wire_t *wire, skn_error_t *error);

/* The link driver's thread alone. */
static uint8_t record[2 * RECORD_BYTES_MAX];
static uint64_t sent, gradients;

/* Changes the record of `bytes` bytes; gives its new length. */
static size_t
lie(const char *how, size_t bytes)
{
    if (strcmp(how, "noise") == 0)
        for (size_t k = 0; k < bytes; k++)
            record[k] = (uint8_t)(k * 2654435761u >> 13 ^ sent * 40503u >> 7);
    if (strcmp(how, "cut") == 0)
        return (bytes + 1) / 2;
    if (strcmp(how, "long") == 0)
        memcpy(record + bytes, record, bytes);
    if (strcmp(how, "kind") == 0)
        record[0] = 200;
    if (bytes >= HEAD_BYTES) {
        if (strcmp(how, "edge") == 0)
            memset(record + 4, 0xff, 4);
        if (strcmp(how, "number") == 0)
            record[8] ^= 0x40;
    }
    if (strcmp(how, "credit") == 0) {
        memset(record, 0, HEAD_BYTES);
        record[0] = 2;
        memset(record + 8, 0x7f, 8);
        return HEAD_BYTES;
    }
    return strcmp(how, "long") == 0 ? 2 * bytes : bytes;
}

static bool
is_of_values(const char *how)
{
    return strcmp(how, "state") == 0 || strcmp(how, "nan") == 0 ||
           strcmp(how, "infinite") == 0 || strcmp(how, "huge") == 0;
}

/* All ones: a NaN, where it is a float. */
static void
spoil_state(const skn_schema_t *schema, const void *message)
{
    const skn_chunk_t *chunk = message;
    const skn_restored_t *restored = message;
    if (schema == &skn_chunk_schema && chunk->tensor == 0)
        memset(chunk->bytes.at, 0xff, 4);
    if (schema == &skn_restored_schema && restored->rows > 0)
        memset(restored->bytes.at, 0xff, 4);
}

skn_status_t
__wrap_skn_coding_encode(const skn_schema_t *schema, const void *message,
                         skn_coding_t coding, uint64_t key, skn_coder_t *coder,
                         skn_wire_t *wire, skn_error_t *error)
{
    const char *after = getenv("SKEIN_LIE_AFTER");
    const char *how = getenv("SKEIN_LIE_HOW");
    uint64_t first = after ? strtoull(after, NULL, 10) : 0;
    /* Nobody else holds what goes to one receiver. */
    const skn_output_gradient_t *gradient = message;
    skn_f32s_t pull = { NULL, 0 };
    if (schema == &skn_output_gradient_schema)
        pull = gradient->pull;
    if (first > 0 && how && strcmp(how, "state") == 0)
        spoil_state(schema, message);
    gradients += pull.count > 0;
    if (pull.count > 0 && first > 0 && how && gradients >= first) {
        if (strcmp(how, "nan") == 0)
            pull.at[pull.count / 2] = NAN;
        if (strcmp(how, "infinite") == 0)
            pull.at[0] = -INFINITY;
        if (strcmp(how, "huge") == 0)
            pull.at[pull.count - 1] = 1e20f;
    }
    return __real_skn_coding_encode(schema, message, coding, key, coder, wire,
                                    error);
}

skn_status_t
__wrap_skn_link_send(skn_link_t *link, const skn_frame_t *frame,
                     size_t frame_count, skn_error_t *error)
{
    const char *after = getenv("SKEIN_LIE_AFTER");
    const char *how = getenv("SKEIN_LIE_HOW");
    uint64_t first = after ? strtoull(after, NULL, 10) : 0;
    size_t bytes = 0;
    sent++;
    for (size_t k = 0; k < frame_count; k++) {
        if (frame[k].bytes > RECORD_BYTES_MAX - bytes)
            return __real_skn_link_send(link, frame, frame_count, error);
        if (frame[k].bytes > 0)
            memcpy(record + bytes, frame[k].at, frame[k].bytes);
        bytes += frame[k].bytes;
    }
    if (first == 0 || !how || sent < first)
        return __real_skn_link_send(link, frame, frame_count, error);
    if (strcmp(how, "hold") == 0 && record[0] == 1)
        return SKN_OK;
    if (is_of_values(how) || strcmp(how, "hold") == 0)
        return __real_skn_link_send(link, frame, frame_count, error);
    skn_frame_t whole = { record, lie(how, bytes) };
    return __real_skn_link_send(link, &whole, 1, error);
}
