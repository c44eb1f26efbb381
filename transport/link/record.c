/* record.c - writes and reads the heads of records.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/link/record.h"

#include <string.h>

/* A kind's line of the table. */
typedef struct record_form {
    skn_record_kind_t kind;
    size_t frames_min, frames_max;
} record_form_t;

static const record_form_t forms[] = {
#define K(name, code, frames_min, frames_max)                                  \
    { SKN_RECORD_##name, (frames_min), (frames_max) },
    SKN_RECORD_KINDS(K)
#undef K
};

static const record_form_t *
form_of(uint8_t kind)
{
    for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++)
        if (forms[k].kind == kind)
            return &forms[k];
    return NULL;
}

size_t
skn_record_write(const skn_record_t *record, const skn_wire_t *wire,
                 uint8_t *lead, skn_frame_t *frame)
{
    size_t bytes = SKN_RECORD_HEAD_BYTES;
    size_t count = wire ? wire->frame_count : 0;
    memset(lead, 0, bytes);
    lead[0] = (uint8_t)record->kind;
    memcpy(lead + 4, &record->edge, sizeof(record->edge));
    memcpy(lead + 8, &record->number, sizeof(record->number));
    if (count > 0) { /* the flat form of transport/message/schema.h */
        uint32_t start[2] = { (uint32_t)count, 0 };
        memcpy(lead + bytes, start, sizeof(start));
        bytes += sizeof(start);
    }
    for (size_t k = 0; k < count; k++) {
        uint64_t frame_bytes = wire->frame[k].bytes;
        memcpy(lead + bytes, &frame_bytes, sizeof(frame_bytes));
        bytes += sizeof(frame_bytes);
        frame[k + 1] = wire->frame[k];
    }
    frame[0] = (skn_frame_t){ lead, bytes };
    return count + 1;
}

skn_status_t
skn_record_read(skn_frame_t bytes, skn_record_t *record, skn_wire_t *wire,
                skn_error_t *error)
{
    const uint8_t *head = bytes.at;
    wire->frame_count = 0;
    if (bytes.bytes < SKN_RECORD_HEAD_BYTES)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "a record of %zu bytes has no room for its head",
                        bytes.bytes);
    const record_form_t *form = form_of(head[0]);
    if (!form || head[1] || head[2] || head[3])
        return skn_fail(error, SKN_BAD_MESSAGE, "a record of unknown kind %u",
                        head[0]);
    record->kind = form->kind;
    memcpy(&record->edge, head + 4, sizeof(record->edge));
    memcpy(&record->number, head + 8, sizeof(record->number));
    size_t left = bytes.bytes - SKN_RECORD_HEAD_BYTES;
    if (left > 0) {
        skn_status_t status =
            skn_wire_split(head + SKN_RECORD_HEAD_BYTES, left, wire, error);
        if (status != SKN_OK)
            return status;
    }
    if (wire->frame_count < form->frames_min ||
        wire->frame_count > form->frames_max)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "a record of kind %u with %zu frames", head[0],
                        wire->frame_count);
    return SKN_OK;
}
