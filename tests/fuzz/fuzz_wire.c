/* fuzz_wire.c - feeds any bytes to the walk and the decoder of messages.
 *
 * Two readings of the input: as a message in the flat form, and as a bare
 * header. What is accepted must be valid and survive a round trip.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/messages.h"
#include "tests/support/sample_messages.h"
#include "transport/message/field.h"
#include "transport/message/schema.h"
#include "transport/message/walk.h"

#define IDLE_BYTES_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

/* A message that was accepted: encodes to frames that decode again. */
static void
check_accepted(const void *message, skn_scratch_t *scratch, skn_pool_t *pool)
{
    const skn_schema_t *schema = skn_payload_of(message)->schema;
    void *copy = NULL;
    assert(skn_validate(schema, message, NULL) == SKN_OK);
    skn_status_t status =
        skn_recode(schema, message, scratch, pool, &copy, NULL);
    assert(status == SKN_OK);
    (void)status;
    skn_payload_drop(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    static skn_pool_t *pool;
    static skn_scratch_t *scratch;
    static const skn_origin_t origins[] = { SKN_ORIGIN_PEER,
                                            SKN_ORIGIN_PROCESS };
    static const skn_schema_t *const *const lists[] = { sample_schemas,
                                                        skn_messages };
    skn_wire_t wire;
    void *message = NULL;
    skn_error_t error;
    if (!pool)
        pool = skn_pool_new(IDLE_BYTES_MAX, NULL);
    if (!scratch)
        scratch = skn_scratch_new(NULL);
    if (!pool || !scratch)
        return 0;
    (void)skn_walk_check(bytes, byte_count, &error);
    if (skn_wire_split(bytes, byte_count, &wire, &error) != SKN_OK) {
        wire.frame_count = 1;
        wire.frame[0] = (skn_frame_t){ bytes, byte_count };
    }
    for (size_t k = 0; k < 4; k++)
        for (const skn_schema_t *const *schema = lists[k / 2]; *schema;
             schema++)
            if (skn_decode(*schema, wire.frame, wire.frame_count,
                           origins[k % 2], scratch, pool, &message,
                           &error) == SKN_OK) {
                check_accepted(message, scratch, pool);
                skn_payload_drop(message);
            }
    return 0;
}
