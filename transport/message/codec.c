/* codec.c - encodes messages as frames, and decodes frames to messages.
 *
 * This file owns: the wire form of a message (drawn in schema.h), and the only
 * code that turns bytes of a peer into a struct. A message that it accepts
 * obeys the schema; the memory it allocates is bounded by the bytes received.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "transport/message/codec.h"
#include "transport/message/field.h"
#include "transport/message/walk.h"

/* First chunk of the zone in which msgpack-c stores values: large enough for an
 * array of all fields, each a run, at 24 bytes a value. */
#define ZONE_BYTES 4096u

struct skn_scratch {
    msgpack_zone zone;   /* values of the current header */
    size_t header_bytes; /* bytes written so far */
    /* Most messages touch only its first page. */
    char header[SKN_HEADER_BYTES_MAX];
};

skn_scratch_t *
skn_scratch_new(skn_error_t *error)
{
    skn_scratch_t *scratch = malloc(sizeof(*scratch));
    if (scratch && !msgpack_zone_init(&scratch->zone, ZONE_BYTES)) {
        free(scratch);
        scratch = NULL;
    }
    if (!scratch)
        (void)skn_fail(error, SKN_NO_MEMORY,
                       "no memory for encoding and decoding");
    return scratch;
}

void
skn_scratch_destroy(skn_scratch_t **scratch)
{
    if (!*scratch)
        return;
    msgpack_zone_destroy(&(*scratch)->zone);
    free(*scratch);
    *scratch = NULL;
}

/* --- encode -------------------------------------------------------------- */

/* Output function for msgpack-c; a result other than 0 stops the packing. */
static int
write_header(void *target, const char *bytes, size_t byte_count)
{
    skn_scratch_t *scratch = target;
    if (byte_count > sizeof(scratch->header) - scratch->header_bytes)
        return -1;
    memcpy(scratch->header + scratch->header_bytes, bytes, byte_count);
    scratch->header_bytes += byte_count;
    return 0;
}

static int
pack_text(msgpack_packer *packer, const char *text)
{
    size_t bytes = strlen(text);
    int rc = msgpack_pack_str(packer, bytes);
    return rc ? rc : msgpack_pack_str_body(packer, text, bytes);
}

static int
pack_field(msgpack_packer *packer, const skn_field_t *field,
           const void *message)
{
    int rc;
    switch (field->kind) {
    case SKN_FIELD_u32:
    case SKN_FIELD_u64:
    case SKN_FIELD_loan:
        return msgpack_pack_uint64(packer, skn_field_number(field, message));
    case SKN_FIELD_f64:
        return msgpack_pack_double(packer, skn_field_real(field, message));
    case SKN_FIELD_str:
        return pack_text(packer, skn_field_text(field, message));
    default:
        rc = msgpack_pack_array(packer, 1);
        return rc ? rc
                  : msgpack_pack_uint64(packer,
                                        skn_field_run(field, message).count);
    }
}

skn_status_t
skn_encode(const skn_schema_t *schema, const void *message,
           skn_scratch_t *scratch, skn_wire_t *wire, skn_error_t *error)
{
    assert(schema->field_count <= SKN_FIELDS_MAX);
    wire->frame_count = 0;
    skn_status_t status = skn_validate(schema, message, error);
    if (status != SKN_OK)
        return status;
    msgpack_packer packer;
    msgpack_packer_init(&packer, scratch, write_header);
    scratch->header_bytes = 0;
    int rc = msgpack_pack_array(&packer, schema->field_count + 1);
    if (!rc)
        rc = msgpack_pack_uint32(&packer, schema->id);
    size_t frame_count = 1;
    for (size_t k = 0; k < schema->field_count && !rc; k++) {
        const skn_field_t *field = &schema->fields[k];
        rc = pack_field(&packer, field, message);
        size_t item_bytes = skn_field_item_bytes(field->kind);
        if (item_bytes == 0)
            continue;
        skn_run_t run = skn_field_run(field, message);
        wire->frame[frame_count++] =
            (skn_frame_t){ run.at, run.count * item_bytes };
    }
    if (rc)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: the header needs more than %u bytes", schema->name,
                        SKN_HEADER_BYTES_MAX);
    wire->frame[0] = (skn_frame_t){ scratch->header, scratch->header_bytes };
    wire->frame_count = frame_count;
    return SKN_OK;
}

/* --- decode -------------------------------------------------------------- */

/* The header's values, one for each field, the room that they need, and the
 * reader of coded runs. */
typedef struct header {
    const msgpack_object *value;
    const skn_run_reader_t *calls; /* or NULL */
    void *reader;
    bool coded[SKN_FIELDS_MAX];    /* by field: the run is left to the reader */
    size_t counts[SKN_FIELDS_MAX]; /* for skn_payload_new */
} header_t;

static skn_status_t
read_header(const skn_schema_t *schema, skn_frame_t frame,
            skn_scratch_t *scratch, header_t *header, skn_error_t *error)
{
    skn_status_t status = skn_walk_check(frame.at, frame.bytes, error);
    if (status != SKN_OK)
        return status;
    msgpack_object object;
    size_t offset = 0;
    msgpack_zone_clear(&scratch->zone);
    msgpack_unpack_return rc =
        msgpack_unpack(frame.at, frame.bytes, &offset, &scratch->zone, &object);
    if (rc == MSGPACK_UNPACK_NOMEM_ERROR)
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for its header",
                        schema->name);
    if (rc != MSGPACK_UNPACK_SUCCESS && rc != MSGPACK_UNPACK_EXTRA_BYTES)
        return skn_fail(error, SKN_BAD_MESSAGE, "%s: the header is broken",
                        schema->name);
    if (object.type != MSGPACK_OBJECT_ARRAY || object.via.array.size == 0)
        return skn_fail(error, SKN_BAD_MESSAGE, "the header is not an array");
    const msgpack_object *id = object.via.array.ptr;
    if (id->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
        return skn_fail(error, SKN_BAD_MESSAGE, "the header has no message id");
    if (id->via.u64 != schema->id)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "the message id is %" PRIu64 ", expected %u (%s)",
                        id->via.u64, schema->id, schema->name);
    if (object.via.array.size != schema->field_count + 1)
        return skn_fail(
            error, SKN_BAD_MESSAGE, "%s: %u values in the header, expected %zu",
            schema->name, object.via.array.size, schema->field_count + 1);
    header->value = id + 1;
    return SKN_OK;
}

static skn_status_t
measure_run(const skn_schema_t *schema, const skn_field_t *field,
            const msgpack_object *value, skn_frame_t frame, header_t *header,
            size_t *count, skn_error_t *error)
{
    size_t item_bytes = skn_field_item_bytes(field->kind);
    bool *coded = &header->coded[field - schema->fields];
    if (value->type != MSGPACK_OBJECT_ARRAY || value->via.array.size != 1 ||
        value->via.array.ptr->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s.%s: no count in the "
                        "header",
                        schema->name, field->name);
    uint64_t announced = value->via.array.ptr->via.u64;
    *coded = false;
    if (header->calls) {
        skn_status_t status = header->calls->measure(
            header->reader, schema, field, announced, frame, coded, error);
        *count = (size_t)announced;
        if (status != SKN_OK || *coded)
            return status;
    }
    if (frame.bytes % item_bytes != 0)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s.%s: %zu bytes are not a multiple of the item "
                        "size, %zu bytes",
                        schema->name, field->name, frame.bytes, item_bytes);
    *count = frame.bytes / item_bytes;
    if (announced != *count)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s.%s: %" PRIu64 " items announced, but %zu arrived",
                        schema->name, field->name, announced, *count);
    return SKN_OK;
}

static skn_status_t
measure_text(const skn_schema_t *schema, const skn_field_t *field,
             const msgpack_object *value, size_t *count, skn_error_t *error)
{
    if (value->type != MSGPACK_OBJECT_STR)
        return skn_fail(error, SKN_BAD_MESSAGE, "%s.%s is not a text",
                        schema->name, field->name);
    *count = value->via.str.size;
    if (*count > 0 && memchr(value->via.str.ptr, '\0', *count))
        return skn_fail(error, SKN_BAD_MESSAGE, "%s.%s has a NUL inside",
                        schema->name, field->name);
    return SKN_OK;
}

/* Checks the types of all values, and adds up the room that runs and strings
 * need. */
static skn_status_t
measure_fields(const skn_schema_t *schema, const skn_frame_t *frame,
               skn_origin_t origin, header_t *header, skn_error_t *error)
{
    size_t room = 0, run_frame = 1;
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < schema->field_count && status == SKN_OK; k++) {
        const skn_field_t *field = &schema->fields[k];
        const msgpack_object *value = &header->value[k];
        if (field->kind == SKN_FIELD_str)
            status = measure_text(schema, field, value, &header->counts[room++],
                                  error);
        else if (skn_field_item_bytes(field->kind) > 0)
            status = measure_run(schema, field, value, frame[run_frame++],
                                 header, &header->counts[room++], error);
        else if (field->kind == SKN_FIELD_loan && origin != SKN_ORIGIN_PROCESS)
            status = skn_fail(error, SKN_BAD_MESSAGE,
                              "%s.%s: only this process can lend memory",
                              schema->name, field->name);
        else if (field->kind == SKN_FIELD_f64
                     ? value->type != MSGPACK_OBJECT_FLOAT64
                     : value->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
            status = skn_fail(error, SKN_BAD_MESSAGE, "%s.%s is no %s",
                              schema->name, field->name,
                              field->kind == SKN_FIELD_f64 ? "64-bit float"
                                                           : "unsigned number");
    }
    return status;
}

/* A u32 is compared with its maximum before it is cut to 32 bits. */
static skn_status_t
fill_number(const skn_schema_t *schema, const skn_field_t *field,
            const msgpack_object *value, void *message, skn_error_t *error)
{
    uint64_t number = value->via.u64;
    uint32_t narrow = (uint32_t)number;
    void *address = (void *)(uintptr_t)number;
    if (field->kind != SKN_FIELD_loan && number > field->max)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s.%s is %" PRIu64 ", at most %" PRIu64 " allowed",
                        schema->name, field->name, number, field->max);
    if (field->kind == SKN_FIELD_u32)
        skn_field_set(field, message, &narrow, sizeof(narrow));
    else if (field->kind == SKN_FIELD_loan)
        skn_field_set(field, message, &address, sizeof(address));
    else
        skn_field_set(field, message, &number, sizeof(number));
    return SKN_OK;
}

/* Copies the measured values into the message made for them. */
static skn_status_t
fill(const skn_schema_t *schema, const skn_frame_t *frame,
     const header_t *header, void *message, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    size_t run_frame = 1;
    for (size_t k = 0; k < schema->field_count && status == SKN_OK; k++) {
        const skn_field_t *field = &schema->fields[k];
        const msgpack_object *value = &header->value[k];
        if (field->kind == SKN_FIELD_str) {
            char *text = (char *)(uintptr_t)skn_field_text(field, message);
            if (value->via.str.size > 0)
                memcpy(text, value->via.str.ptr, value->via.str.size);
        } else if (field->kind == SKN_FIELD_f64) {
            skn_field_set(field, message, &value->via.f64, sizeof(double));
        } else if (skn_field_item_bytes(field->kind) == 0) {
            status = fill_number(schema, field, value, message, error);
        } else {
            skn_frame_t run = frame[run_frame++];
            assert(header->coded[k] ||
                   run.bytes == skn_field_run(field, message).count *
                                    skn_field_item_bytes(field->kind));
            if (run.bytes > 0 && !header->coded[k])
                memcpy(skn_field_run(field, message).at, run.at, run.bytes);
        }
    }
    if (status == SKN_OK && header->calls)
        status =
            header->calls->fill(header->reader, schema, frame, message, error);
    return status;
}

static size_t
frames_of(const skn_schema_t *schema)
{
    size_t frame_count = 1;
    for (size_t k = 0; k < schema->field_count; k++)
        frame_count += skn_field_item_bytes(schema->fields[k].kind) > 0;
    return frame_count;
}

skn_status_t
skn_decode_with(const skn_schema_t *schema, const skn_frame_t *frame,
                size_t frame_count, skn_origin_t origin,
                const skn_run_reader_t *calls, void *reader,
                skn_scratch_t *scratch, skn_pool_t *pool, void **message_at,
                skn_error_t *error)
{
    header_t header;
    skn_error_t cause; /* both are large: not cleared for every message */
    header.value = NULL;
    header.calls = calls;
    header.reader = reader;
    *message_at = NULL;
    assert(schema->field_count <= SKN_FIELDS_MAX);
    if (frame_count != frames_of(schema))
        return skn_fail(error, SKN_BAD_MESSAGE, "%s: %zu frames, expected %zu",
                        schema->name, frame_count, frames_of(schema));
    skn_status_t status =
        read_header(schema, frame[0], scratch, &header, error);
    if (status == SKN_OK)
        status = measure_fields(schema, frame, origin, &header, error);
    if (status == SKN_OK && calls)
        status = calls->admit(reader, schema, header.counts, error);
    if (status != SKN_OK)
        return status;
    assert(header.value);
    void *message = skn_payload_new(pool, schema, header.counts, &cause);
    if (!message)
        return skn_fail(error, cause.status, "%s", cause.text);
    status = fill(schema, frame, &header, message, error);
    if (status == SKN_OK)
        status = skn_validate(schema, message, error);
    if (status == SKN_OK)
        *message_at = message;
    else
        skn_payload_drop(message);
    return status;
}

skn_status_t
skn_decode(const skn_schema_t *schema, const skn_frame_t *frame,
           size_t frame_count, skn_origin_t origin, skn_scratch_t *scratch,
           skn_pool_t *pool, void **message, skn_error_t *error)
{
    return skn_decode_with(schema, frame, frame_count, origin, NULL, NULL,
                           scratch, pool, message, error);
}

skn_status_t
skn_recode(const skn_schema_t *schema, const void *message,
           skn_scratch_t *scratch, skn_pool_t *pool, void **copy,
           skn_error_t *error)
{
    skn_wire_t wire;
    *copy = NULL;
    skn_status_t status = skn_encode(schema, message, scratch, &wire, error);
    if (status != SKN_OK)
        return status;
    return skn_decode(schema, wire.frame, wire.frame_count, SKN_ORIGIN_PROCESS,
                      scratch, pool, copy, error);
}
