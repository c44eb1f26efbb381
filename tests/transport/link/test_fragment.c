/* test_fragment.c - tests the wire form of a fragment: round trips, msgpack-c
 * as the oracle, refusals.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <msgpack.h>
#include <string.h>

#include "tests/support/oracle.h"
#include "transport/link/fragment.h"

#define HEADER_BYTES SKN_FRAGMENT_HEADER_BYTES_MAX

static skn_fragment_header_t
sample(void)
{
    skn_fragment_header_t header = {
        .version = SKN_LINK_VERSION,
        .type = SKN_FRAGMENT_DATA,
        .node = 3,
        .incarnation = 0x0123456789abcdef,
        .peer = UINT64_MAX,
        .offset = 1u << 30,
        .ack = 300,
        .credit = 70000,
        .held = 301,
        .stamp = 5000000000,
        .echo = 127,
    };
    for (uint8_t k = 0; k < SKN_LINK_RUN_BYTES; k++)
        header.run[k] = (uint8_t)(k * 17);
    return header;
}

static skn_status_t
read_bytes(const uint8_t *bytes, size_t byte_count, size_t body_bytes,
           skn_fragment_header_t *header, skn_link_reason_t *reason,
           skn_error_t *error)
{
    /* On the heap, so that a sanitizer sees a look behind its end. */
    uint8_t *copy = malloc(byte_count + 1);
    cr_assert(copy);
    memcpy(copy, bytes, byte_count);
    uint8_t *exact = realloc(copy, byte_count ? byte_count : 1);
    cr_assert(exact);
    skn_status_t status = skn_fragment_read((skn_frame_t){ exact, byte_count },
                                            body_bytes, header, reason, error);
    free(exact);
    return status;
}

static void
expect_refused(const skn_fragment_header_t *header, size_t body_bytes,
               skn_link_reason_t want, const char *text)
{
    uint8_t bytes[HEADER_BYTES];
    skn_fragment_header_t got;
    skn_link_reason_t reason = SKN_LINK_REASON_COUNT;
    skn_error_t error = { 0 };
    size_t count = skn_fragment_write(header, bytes);
    cr_expect_eq(read_bytes(bytes, count, body_bytes, &got, &reason, &error),
                 SKN_BAD_MESSAGE, "accepted, but: %s", text);
    cr_expect_eq(reason, want, "%s: reason %d", text, (int)reason);
    cr_expect_str_eq(error.text, text);
}

Test(fragment, what_is_written_is_read_again)
{
    oracle_random_t random = { 5 };
    for (int round = 0; round < 2000; round++) {
        skn_fragment_header_t header = sample(), got;
        skn_link_reason_t reason;
        uint8_t bytes[HEADER_BYTES];
        header.node = oracle_next(&random) >> oracle_next(&random) % 32;
        header.offset = oracle_next(&random) >> oracle_next(&random) % 32;
        header.stamp =
            (uint64_t)oracle_next(&random) << 31 >> oracle_next(&random) % 62;
        size_t count = skn_fragment_write(&header, bytes);
        cr_assert_eq(read_bytes(bytes, count, 1, &got, &reason, NULL), SKN_OK);
        cr_assert_eq(memcmp(&got, &header, sizeof(got)), 0);
    }
}

/* msgpack-c, another implementation, reads the same numbers. */
Test(fragment, the_header_is_msgpack)
{
    skn_fragment_header_t header = sample();
    const uint64_t want[] = { header.version, header.type,        0,
                              header.node,    header.incarnation, header.peer,
                              header.offset,  header.ack,         header.credit,
                              header.held,    header.stamp,       header.echo };
    uint8_t bytes[HEADER_BYTES];
    size_t count = skn_fragment_write(&header, bytes);
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    size_t offset = 0;
    cr_assert_eq(
        msgpack_unpack_next(&unpacked, (const char *)bytes, count, &offset),
        MSGPACK_UNPACK_SUCCESS);
    cr_assert_eq(offset, count);
    cr_assert_eq(unpacked.data.type, MSGPACK_OBJECT_ARRAY);
    cr_assert_eq(unpacked.data.via.array.size, SKN_FRAGMENT_FIELDS);
    for (uint32_t k = 0; k < SKN_FRAGMENT_FIELDS; k++) {
        const msgpack_object *value = &unpacked.data.via.array.ptr[k];
        if (k == 2) {
            cr_expect_eq(value->type, MSGPACK_OBJECT_BIN);
            cr_expect_eq(memcmp(value->via.bin.ptr, header.run, 16), 0);
        } else {
            cr_expect_eq(value->type, MSGPACK_OBJECT_POSITIVE_INTEGER);
            cr_expect_eq(value->via.u64, want[k], "field %u", k);
        }
    }
    msgpack_unpacked_destroy(&unpacked);
}

/* What another writer may do: wider numbers, a wider array. */
Test(fragment, longer_forms_of_msgpack_are_read_too)
{
    skn_fragment_header_t header = sample(), got;
    skn_link_reason_t reason;
    uint8_t bytes[HEADER_BYTES], wide[HEADER_BYTES];
    size_t count = skn_fragment_write(&header, bytes), at = 0;
    const uint8_t start[] = { 0xdc, 0, 12, 0xcd, 0, 1, 0xce, 0, 0, 0, 2 };
    memcpy(wide, start, sizeof(start));
    at = sizeof(start);
    memcpy(wide + at, bytes + 3, count - 3);
    cr_expect_eq(read_bytes(wide, at + count - 3, 1, &got, &reason, NULL),
                 SKN_OK);
    cr_expect_eq(memcmp(&got, &header, sizeof(got)), 0);
}

Test(fragment, an_ack_less_data_header_is_below_64_bytes)
{
    skn_fragment_header_t header = sample();
    uint8_t bytes[HEADER_BYTES];
    header.ack = header.credit = header.held = header.echo = 0;
    header.offset = UINT64_C(1) << 40;
    cr_expect_lt(skn_fragment_write(&header, bytes), 64);
    header = sample();
    header.version = header.type = header.node = UINT32_MAX;
    header.offset = header.ack = header.credit = header.held = UINT64_MAX;
    header.stamp = header.echo = UINT64_MAX;
    cr_expect_leq(skn_fragment_write(&header, bytes), HEADER_BYTES);
}

Test(fragment, cut_off_at_every_byte_it_is_refused)
{
    skn_fragment_header_t header = sample(), got;
    skn_link_reason_t reason;
    uint8_t bytes[HEADER_BYTES];
    size_t count = skn_fragment_write(&header, bytes);
    for (size_t k = 0; k < count; k++) {
        cr_expect_eq(read_bytes(bytes, k, 1, &got, &reason, NULL),
                     SKN_BAD_MESSAGE);
        cr_expect_eq(reason, SKN_LINK_REASON_HEADER);
    }
    bytes[count] = 0;
    cr_expect_eq(read_bytes(bytes, count + 1, 1, &got, &reason, NULL),
                 SKN_BAD_MESSAGE);
}

/* Whatever one byte becomes: refused, or read as what it then says. */
Test(fragment, every_byte_spoilt_in_every_way_is_safe)
{
    skn_fragment_header_t header = sample(), got;
    skn_link_reason_t reason;
    uint8_t bytes[HEADER_BYTES], again[HEADER_BYTES];
    size_t count = skn_fragment_write(&header, bytes), accepted = 0;
    for (size_t k = 0; k < count; k++) {
        uint8_t kept = bytes[k];
        for (unsigned value = 0; value < 256; value++) {
            bytes[k] = (uint8_t)value;
            if (read_bytes(bytes, count, 1, &got, &reason, NULL) != SKN_OK)
                continue;
            accepted++;
            cr_expect_eq(got.version, SKN_LINK_VERSION);
            size_t length = skn_fragment_write(&got, again);
            cr_expect_leq(length, count);
        }
        bytes[k] = kept;
    }
    cr_expect_gt(accepted, 256 * 16); /* the run, at least */
}

Test(fragment, bodies_have_the_length_of_their_type)
{
    static const size_t bounds[][3] = {
        { SKN_FRAGMENT_HELLO, SKN_HELLO_BYTES, SKN_HELLO_BYTES },
        { SKN_FRAGMENT_DATA, 1, SKN_FRAGMENT_BYTES_MAX },
        { SKN_FRAGMENT_ACK, 0, 0 },
        { SKN_FRAGMENT_PULSE, 0, 0 },
        { SKN_FRAGMENT_ANSWER, 0, 0 },
        { SKN_FRAGMENT_REFUSE, SKN_REFUSAL_BYTES, SKN_REFUSAL_BYTES },
    };
    for (size_t k = 0; k < sizeof(bounds) / sizeof(bounds[0]); k++)
        for (size_t bytes = 0; bytes < SKN_FRAGMENT_BYTES_MAX + 2; bytes++) {
            if (bytes > 64 && bytes < SKN_FRAGMENT_BYTES_MAX - 1)
                continue;
            skn_fragment_header_t header = sample(), got;
            skn_link_reason_t reason;
            uint8_t frame[HEADER_BYTES];
            header.type = (uint32_t)bounds[k][0];
            header.offset = 0;
            size_t count = skn_fragment_write(&header, frame);
            bool fits = bytes >= bounds[k][1] && bytes <= bounds[k][2];
            cr_expect_eq(read_bytes(frame, count, bytes, &got, &reason, NULL),
                         fits ? SKN_OK : SKN_BAD_MESSAGE);
            if (!fits)
                cr_expect_eq(reason, SKN_LINK_REASON_BODY);
        }
}

Test(fragment, what_makes_no_sense_is_refused_with_a_sentence)
{
    static const char shape[] = "fragment: the header is not an array of 12 "
                                "fields as in docs/reference/wire.md";
    skn_fragment_header_t header = sample();
    header.incarnation = 0;
    expect_refused(&header, 1, SKN_LINK_REASON_HEADER, shape);
    header = sample();
    header.held = header.ack; /* nothing is held below the ack */
    expect_refused(&header, 1, SKN_LINK_REASON_HEADER, shape);
    header = sample();
    header.type = SKN_FRAGMENT_ACK; /* has no place in the stream */
    expect_refused(&header, 0, SKN_LINK_REASON_HEADER, shape);
    header = sample();
    header.ack = SKN_OFFSET_MAX + 1;
    header.held = 0;
    expect_refused(&header, 1, SKN_LINK_REASON_HEADER, shape);
    header = sample();
    header.type = 7;
    header.offset = 0;
    expect_refused(&header, 0, SKN_LINK_REASON_TYPE,
                   "fragment: type 7 is unknown");
    header = sample();
    expect_refused(&header, 0, SKN_LINK_REASON_BODY,
                   "fragment: type 2 with a body of 0 bytes, 1 to 65536 "
                   "allowed");
    header.offset = SKN_OFFSET_MAX;
    expect_refused(&header, 1, SKN_LINK_REASON_BODY,
                   "fragment: type 2 with a body of 1 bytes, 1 to 65536 "
                   "allowed");
    header = sample();
    header.version = 2;
    expect_refused(&header, 1, SKN_LINK_REASON_VERSION,
                   "fragment: version 2 of the link protocol, ours is 1");
}

Test(fragment, of_another_version_the_first_six_fields_are_there)
{
    skn_fragment_header_t header = sample(), got;
    skn_link_reason_t reason;
    uint8_t bytes[HEADER_BYTES];
    header.version = 9;
    size_t count = skn_fragment_write(&header, bytes);
    bytes[0] = 0x96; /* six fields, and those of 9 are unknown to us */
    count -= 5 + 3 + 5 + 3 + 9 + 1;
    cr_expect_eq(read_bytes(bytes, count, 77, &got, &reason, NULL),
                 SKN_BAD_MESSAGE);
    cr_expect_eq(reason, SKN_LINK_REASON_VERSION);
    cr_expect_eq(got.version, 9);
    cr_expect_eq(got.type, header.type);
    cr_expect_eq(memcmp(got.run, header.run, sizeof(got.run)), 0);
    cr_expect_eq(got.node, header.node);
    cr_expect_eq(got.incarnation, header.incarnation);
    cr_expect_eq(got.peer, header.peer);
    bytes[0] = 0x95; /* five are too few in any version */
    cr_expect_eq(read_bytes(bytes, count - 9, 77, &got, &reason, NULL),
                 SKN_BAD_MESSAGE);
    cr_expect_eq(reason, SKN_LINK_REASON_HEADER);
}

Test(fragment, a_header_of_129_bytes_is_not_even_walked)
{
    uint8_t bytes[HEADER_BYTES + 1] = { 0 };
    skn_fragment_header_t got;
    skn_link_reason_t reason;
    skn_error_t error = { 0 };
    cr_expect_eq(read_bytes(bytes, sizeof(bytes), 0, &got, &reason, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text,
                     "fragment: a header of 129 bytes, at most 128 allowed");
}

Test(fragment, bodies_are_little_endian)
{
    skn_hello_t hello = { 0x0102030405060708, 2, UINT64_MAX, 1, 0xfe }, got;
    uint8_t body[SKN_HELLO_BYTES + 1], refusal[SKN_REFUSAL_BYTES];
    skn_hello_write(&hello, body);
    cr_expect_eq(body[0], 8);
    cr_expect_eq(body[7], 1);
    cr_expect_eq(body[8], 2);
    memmove(body + 1, body, SKN_HELLO_BYTES); /* any address will do */
    skn_hello_read(body + 1, &got);
    cr_expect_eq(memcmp(&hello, &got, sizeof(got)), 0);
    body[25] = 0xfe; /* bits of a later version */
    skn_hello_read(body + 1, &got);
    cr_expect_eq(got.wants_answer, 0);
    skn_refusal_write(0x0a0b, refusal);
    cr_expect_eq(refusal[0], 0x0b);
    cr_expect_eq(skn_refusal_read(refusal), 0x0a0b);
}
