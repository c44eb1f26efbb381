/* codec.h - decodes messages that may have coded runs.
 *
 * Private to transport/. skn_decode reads a header and copies the runs as they
 * are; skn_decode_with leaves those that a run reader knows to that reader.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_MESSAGE_CODEC_H
#define TRANSPORT_MESSAGE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/message/schema.h"

/* Reads runs that are coded. The calls come in this order: `measure` for each
 * run or bytes field, `admit` before memory is allocated, `fill` when
 * everything else is in place. */
typedef struct skn_run_reader {
    /* Checks that `frame` can be `count` items of `field`; `count` is not
     * checked yet. *coded: leave the frame to `fill`. */
    skn_status_t (*measure)(void *reader, const skn_schema_t *schema,
                            const skn_field_t *field, uint64_t count,
                            skn_frame_t frame, bool *coded, skn_error_t *error);
    /* Checks that a message of this size is allowed; `counts` as for
     * skn_payload_new. */
    skn_status_t (*admit)(void *reader, const skn_schema_t *schema,
                          const size_t *counts, skn_error_t *error);
    /* Fills the runs that `measure` reported as coded. */
    skn_status_t (*fill)(void *reader, const skn_schema_t *schema,
                         const skn_frame_t *frame, void *message,
                         skn_error_t *error);
} skn_run_reader_t;

/* skn_decode with a reader and its state; NULL, NULL: no run is coded. */
skn_status_t skn_decode_with(const skn_schema_t *schema,
                             const skn_frame_t *frame, size_t frame_count,
                             skn_origin_t origin, const skn_run_reader_t *calls,
                             void *reader, skn_scratch_t *scratch,
                             skn_pool_t *pool, void **message,
                             skn_error_t *error);

#endif
