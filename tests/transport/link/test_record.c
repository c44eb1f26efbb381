/* test_record.c - tests records, written and read, and any bytes in place of
 * one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "transport/link/record.h"

static const skn_record_kind_t kinds[] = {
#define K(name, code, frames_min, frames_max) SKN_RECORD_##name,
    SKN_RECORD_KINDS(K)
#undef K
};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static bool
has_frames(skn_record_kind_t kind)
{
    return kind == SKN_RECORD_MESSAGE || kind == SKN_RECORD_FAIL ||
           kind == SKN_RECORD_USAGE;
}

/* The record as one piece of memory, as a link hands it out. */
static skn_frame_t
record_bytes(const skn_record_t *record, const skn_wire_t *wire)
{
    uint8_t lead[SKN_RECORD_LEAD_BYTES];
    skn_frame_t frame[SKN_FRAMES_MAX + 1];
    size_t count = skn_record_write(record, wire, lead, frame), bytes = 0;
    for (size_t k = 0; k < count; k++)
        bytes += frame[k].bytes;
    uint8_t *all = malloc(bytes + 1), *at = all;
    for (size_t k = 0; k < count; k++) {
        if (frame[k].bytes > 0)
            memcpy(at, frame[k].at, frame[k].bytes);
        at += frame[k].bytes;
    }
    return (skn_frame_t){ all, bytes };
}

static skn_wire_t
sample_wire(size_t frame_count)
{
    static const char text[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    skn_wire_t wire = { .frame_count = frame_count };
    for (size_t k = 0; k < frame_count; k++)
        wire.frame[k] = (skn_frame_t){ text + k % 7, k % 5 };
    return wire;
}

Test(record, every_kind_comes_back_as_it_was)
{
    for (size_t k = 0; k < KIND_COUNT; k++) {
        skn_record_t record = { kinds[k], 0x89abcdef, 0xfedcba9876543210 };
        skn_wire_t wire = sample_wire(has_frames(kinds[k]) ? 1 : 0), got;
        skn_frame_t bytes = record_bytes(&record, &wire);
        skn_record_t back;
        skn_error_t error = { 0 };
        cr_assert_eq(skn_record_read(bytes, &back, &got, &error), SKN_OK, "%s",
                     error.text);
        cr_expect_eq(back.kind, record.kind);
        cr_expect_eq(back.edge, record.edge);
        cr_expect_eq(back.number, record.number);
        cr_expect_eq(got.frame_count, wire.frame_count);
        free((void *)(uintptr_t)bytes.at);
    }
}

Test(record, frames_of_every_number_and_length_come_back)
{
    for (size_t count = 1; count <= SKN_FRAMES_MAX; count++) {
        skn_record_t record = { SKN_RECORD_MESSAGE, 3, count }, back;
        skn_wire_t wire = sample_wire(count), got;
        skn_frame_t bytes = record_bytes(&record, &wire);
        cr_assert_eq(skn_record_read(bytes, &back, &got, NULL), SKN_OK);
        cr_assert_eq(got.frame_count, count);
        for (size_t k = 0; k < count; k++) {
            cr_assert_eq(got.frame[k].bytes, wire.frame[k].bytes);
            cr_expect(wire.frame[k].bytes == 0 ||
                      memcmp(got.frame[k].at, wire.frame[k].at,
                             wire.frame[k].bytes) == 0);
        }
        free((void *)(uintptr_t)bytes.at);
    }
}

Test(record, a_message_that_is_cut_anywhere_is_refused)
{
    skn_record_t record = { SKN_RECORD_MESSAGE, 1, 2 }, back;
    skn_wire_t wire = sample_wire(4), got;
    skn_frame_t bytes = record_bytes(&record, &wire);
    for (size_t length = 0; length < bytes.bytes; length++) {
        skn_frame_t cut = { bytes.at, length };
        cr_expect_eq(skn_record_read(cut, &back, &got, NULL), SKN_BAD_MESSAGE,
                     "cut at %zu", length);
    }
    free((void *)(uintptr_t)bytes.at);
}

Test(record, kinds_that_are_unknown_are_refused)
{
    uint8_t head[SKN_RECORD_HEAD_BYTES] = { 0 };
    skn_record_t back;
    skn_wire_t got;
    skn_error_t error = { 0 };
    for (unsigned kind = 0; kind < 256; kind++) {
        bool known = kind == SKN_RECORD_CREDIT || kind == SKN_RECORD_END ||
                     kind == SKN_RECORD_READY || kind == SKN_RECORD_STOP ||
                     kind == SKN_RECORD_ASK || kind == SKN_RECORD_ENDED;
        head[0] = (uint8_t)kind; /* the known ones with frames have none */
        skn_status_t status = skn_record_read(
            (skn_frame_t){ head, sizeof(head) }, &back, &got, &error);
        cr_expect_eq(status, known ? SKN_OK : SKN_BAD_MESSAGE, "%u", kind);
    }
    head[0] = 77;
    (void)skn_record_read((skn_frame_t){ head, sizeof(head) }, &back, &got,
                          &error);
    cr_expect_str_eq(error.text, "a record of unknown kind 77");
    head[0] = SKN_RECORD_MESSAGE;
    (void)skn_record_read((skn_frame_t){ head, sizeof(head) }, &back, &got,
                          &error);
    cr_expect_str_eq(error.text, "a record of kind 1 with 0 frames");
    (void)skn_record_read((skn_frame_t){ head, 15 }, &back, &got, &error);
    cr_expect_str_eq(error.text,
                     "a record of 15 bytes has no room for its head");
}

Test(record, bytes_that_must_be_zero_are_looked_at)
{
    for (size_t k = 1; k < 4; k++) {
        uint8_t head[SKN_RECORD_HEAD_BYTES] = { SKN_RECORD_END };
        skn_record_t back;
        skn_wire_t got;
        head[k] = 1;
        cr_expect_eq(skn_record_read((skn_frame_t){ head, sizeof(head) }, &back,
                                     &got, NULL),
                     SKN_BAD_MESSAGE);
    }
}

Test(record, no_other_kind_may_have_frames)
{
    for (size_t k = 0; k < KIND_COUNT; k++) {
        skn_record_t record = { kinds[k], 0, 0 }, back;
        skn_wire_t wire = sample_wire(2), got;
        skn_frame_t bytes = record_bytes(&record, &wire);
        cr_expect_eq(skn_record_read(bytes, &back, &got, NULL),
                     kinds[k] == SKN_RECORD_MESSAGE ? SKN_OK : SKN_BAD_MESSAGE);
        free((void *)(uintptr_t)bytes.at);
    }
}

/* Whatever comes, what is found lies inside of it. */
Test(record, random_bytes_never_lead_outside)
{
    uint64_t seed = 20;
    for (int round = 0; round < 200000; round++) {
        uint8_t bytes[96];
        size_t count = 0;
        for (size_t k = 0; k < sizeof(bytes); k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            bytes[k] = (uint8_t)(seed >> 56) & (k % 3 ? 7 : 255);
        }
        bytes[0] = (uint8_t)(1 + bytes[0] % 7);
        bytes[1] = bytes[2] = bytes[3] = 0;
        count = (size_t)(seed >> 40) % sizeof(bytes);
        skn_record_t back;
        skn_wire_t got;
        if (skn_record_read((skn_frame_t){ bytes, count }, &back, &got, NULL) !=
            SKN_OK)
            continue;
        for (size_t k = 0; k < got.frame_count; k++) {
            const uint8_t *at = got.frame[k].at;
            cr_assert(at >= bytes && at + got.frame[k].bytes <= bytes + count);
        }
    }
}
