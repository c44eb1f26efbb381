/* codec.h - what the codings add to the one way in that codec.c is.
 *
 * Private to transport/. skn_decode reads a header and takes runs as they are;
 * with a reader, runs that the reader knows may lie in their frames otherwise.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_MESSAGE_CODEC_H
#define TRANSPORT_MESSAGE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/message/schema.h"

/* Who reads runs that are not as they are. The calls come in this order: the
 * first for each run or bytes field, the second before memory is taken, the
 * third when everything else is in place. */
typedef struct skn_run_reader {
    /* Whether `frame` may be `count` items of `field`; `count` is not checked
     * yet. *coded: leave the frame to `fill`. */
    skn_status_t (*measure)(void *reader, const skn_schema_t *schema,
                            const skn_field_t *field, uint64_t count,
                            skn_frame_t frame, bool *coded, skn_error_t *error);
    /* Whether a message with this room (as skn_payload_new has it) may be. */
    skn_status_t (*admit)(void *reader, const skn_schema_t *schema,
                          const size_t *counts, skn_error_t *error);
    /* Fills the runs that `measure` has called coded. */
    skn_status_t (*fill)(void *reader, const skn_schema_t *schema,
                         const skn_frame_t *frame, void *message,
                         skn_error_t *error);
} skn_run_reader_t;

/* skn_decode with a reader and its state; NULL, NULL: all runs as they are. */
skn_status_t skn_decode_with(const skn_schema_t *schema,
                             const skn_frame_t *frame, size_t frame_count,
                             skn_origin_t origin, const skn_run_reader_t *calls,
                             void *reader, skn_scratch_t *scratch,
                             skn_pool_t *pool, void **message,
                             skn_error_t *error);

#endif
