/* fuzz_coding.c - feeds any bytes to the decoder of a link.
 *
 * Input: a message in the flat form. What is accepted must be valid, stay
 * within its memory, and cross again under every coding; in f32 bit for bit.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/messages.h"
#include "tests/support/coded_messages.h"
#include "transport/message/coding.h"
#include "transport/message/field.h"

#define IDLE_BYTES_MAX ((size_t)1 << 20)
#define MESSAGE_BYTES_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

static const skn_schema_t *const coded_schemas[] = { &coded_schema, NULL };

/* Every run of two messages of one schema, bit for bit. */
static void
expect_equal_runs(const skn_schema_t *schema, const void *left,
                  const void *right)
{
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        size_t item_bytes = skn_field_item_bytes(field->kind);
        if (item_bytes == 0)
            continue;
        skn_run_t a = skn_field_run(field, left);
        skn_run_t b = skn_field_run(field, right);
        assert(a.count == b.count);
        assert(a.count == 0 || memcmp(a.at, b.at, a.count * item_bytes) == 0);
    }
}

static void
check_accepted(const void *message, const skn_frame_t *frame,
               size_t frame_count, skn_coder_t *coder, skn_pool_t *pool)
{
    const skn_schema_t *schema = skn_payload_of(message)->schema;
    size_t frame_bytes = 0, run_bytes = 0;
    for (size_t k = 0; k < frame_count; k++)
        frame_bytes += frame[k].bytes;
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        if (skn_field_item_bytes(field->kind) > 0)
            run_bytes += skn_field_run(field, message).count *
                         skn_field_item_bytes(field->kind);
    }
    assert(run_bytes <= SKN_CODING_EXPANSION_MAX * frame_bytes);
    assert(run_bytes <= MESSAGE_BYTES_MAX);
    assert(skn_validate(schema, message, NULL) == SKN_OK);
    for (skn_coding_t coding = SKN_CODING_F32; coding < SKN_CODING_COUNT;
         coding++) {
        skn_wire_t wire;
        void *copy = NULL;
        skn_status_t status =
            skn_coding_encode(schema, message, coding, 7, coder, &wire, NULL);
        assert(status == SKN_OK);
        status =
            skn_coding_decode(schema, wire.frame, wire.frame_count,
                              2 * MESSAGE_BYTES_MAX, coder, pool, &copy, NULL);
        assert(status == SKN_OK);
        if (coding == SKN_CODING_F32)
            expect_equal_runs(schema, message, copy);
        (void)status;
        skn_payload_drop(copy);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    static skn_pool_t *pool;
    static skn_coder_t *coder;
    static const skn_schema_t *const *const lists[] = { coded_schemas,
                                                        skn_messages };
    skn_wire_t wire;
    skn_error_t error;
    if (!pool)
        pool = skn_pool_new(IDLE_BYTES_MAX, NULL);
    if (!coder)
        coder = skn_coder_new(skn_kernels_variant(0), NULL);
    if (!pool || !coder ||
        skn_wire_split(bytes, byte_count, &wire, &error) != SKN_OK)
        return 0;
    for (size_t k = 0; k < 2; k++)
        for (const skn_schema_t *const *schema = lists[k]; *schema; schema++) {
            void *message = NULL;
            if (skn_coding_decode(*schema, wire.frame, wire.frame_count,
                                  MESSAGE_BYTES_MAX, coder, pool, &message,
                                  &error) != SKN_OK)
                continue;
            check_accepted(message, wire.frame, wire.frame_count, coder, pool);
            skn_payload_drop(message);
        }
    return 0;
}
