/* test_codec.c - tests messages encoded to frames and back, and the message of
 * each refusal.
 *
 * The properties of all messages are tested in contract_messages.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/support/sample_messages.h"
#include "transport/message/schema.h"

#define MIB ((size_t)1 << 20)

/* What each test needs; made and ended by the fixture. */
static skn_pool_t *pool;
static skn_scratch_t *scratch;

static void
set_up(void)
{
    skn_error_t error = { SKN_OK, "", "" };
    pool = skn_pool_new(MIB, &error);
    scratch = skn_scratch_new(&error);
    cr_assert(pool && scratch, "%s", error.text);
}

/* Frees, but tests nothing: Criterion ignores a failure that comes here. */
static void
tear_down(void)
{
    skn_pool_destroy(&pool);
    skn_scratch_destroy(&scratch);
    skn_scratch_destroy(&scratch);
}

/* Stands last in every test: neither success nor refusal keeps a message. */
static void
expect_all_home(void)
{
    skn_pool_counts_t counts;
    skn_pool_collect(pool);
    skn_pool_count(pool, &counts);
    cr_assert_eq(counts.out, 0, "%llu messages were never dropped",
                 (unsigned long long)counts.out);
}

TestSuite(codec, .init = set_up, .fini = tear_down);

static float values[3] = { 0.5f, -1.0f, 3.25f };

/* The frames of an activation with three values; shard 300 takes 3 bytes. */
static void
encode_activation(skn_wire_t *wire)
{
    static activation_t activation;
    skn_error_t error = { SKN_OK, "", "" };
    activation =
        (activation_t){ .batch = 5, .shard = 300, .value = { values, 3 } };
    cr_assert_eq(
        skn_encode(&activation_schema, &activation, scratch, wire, &error),
        SKN_OK, "%s", error.text);
}

static void
expect_refused(const skn_frame_t *frame, size_t frame_count, const char *want)
{
    skn_error_t error = { SKN_OK, "", "" };
    void *message = &error;
    cr_expect_eq(skn_decode(&activation_schema, frame, frame_count,
                            SKN_ORIGIN_PEER, scratch, pool, &message, &error),
                 SKN_BAD_MESSAGE, "accepted, but: %s", want);
    cr_expect_null(message);
    cr_expect_str_eq(error.text, want);
    cr_expect_eq(skn_decode(&activation_schema, frame, frame_count,
                            SKN_ORIGIN_PEER, scratch, pool, &message, NULL),
                 SKN_BAD_MESSAGE);
}

/* Refused for its header `bytes`, with a frame of `value_bytes`. */
static void
expect_header_refused(const void *bytes, size_t byte_count, size_t value_bytes,
                      const char *want)
{
    skn_frame_t frame[2] = { { bytes, byte_count }, { values, value_bytes } };
    expect_refused(frame, 2, want);
}

Test(codec, the_wire_form_is_as_documented)
{
    static const uint8_t want[] = { 0x94, 3, 5, 0xcd, 0x01, 0x2c, 0x91, 3 };
    skn_wire_t wire;
    encode_activation(&wire);
    cr_assert_eq(wire.frame_count, 2);
    cr_assert_eq(wire.frame[0].bytes, sizeof(want));
    cr_assert_arr_eq(wire.frame[0].at, want, sizeof(want));
    cr_assert_eq(wire.frame[1].at, (void *)values, "runs are not copied");
    cr_assert_eq(wire.frame[1].bytes, sizeof(values));
    expect_all_home();
}

Test(codec, frames_at_any_address_decode_to_aligned_runs)
{
    skn_wire_t wire;
    char bytes[64];
    for (size_t shift = 0; shift < 8; shift++) {
        encode_activation(&wire);
        memcpy(bytes + shift, values, sizeof(values));
        wire.frame[1].at = bytes + shift;
        void *message = NULL;
        cr_assert_eq(skn_decode(&activation_schema, wire.frame, 2,
                                SKN_ORIGIN_PEER, scratch, pool, &message, NULL),
                     SKN_OK);
        const activation_t *activation = message;
        cr_assert_eq(activation->batch, 5);
        cr_assert_eq(activation->shard, 300);
        cr_assert_eq(activation->value.count, 3);
        cr_assert_eq((uintptr_t)activation->value.at % SKN_RUN_ALIGN_BYTES, 0);
        cr_assert_arr_eq(activation->value.at, values, sizeof(values));
        skn_payload_drop(message);
    }
    expect_all_home();
}

Test(codec, an_invalid_message_is_not_encoded)
{
    activation_t activation = { .shard = 4096 };
    skn_wire_t wire;
    skn_error_t error = { SKN_OK, "", "" };
    cr_assert_eq(
        skn_encode(&activation_schema, &activation, scratch, &wire, &error),
        SKN_BAD_MESSAGE);
    cr_assert_str_eq(error.text,
                     "activation.shard is 4096, at most 4095 allowed");
    cr_assert_eq(wire.frame_count, 0);
    expect_all_home();
}

Test(codec, the_number_of_frames_is_fixed)
{
    skn_wire_t wire;
    encode_activation(&wire);
    wire.frame[2] = wire.frame[1];
    expect_refused(wire.frame, 0, "activation: 0 frames, expected 2");
    expect_refused(wire.frame, 1, "activation: 1 frames, expected 2");
    expect_refused(wire.frame, 3, "activation: 3 frames, expected 2");
    expect_all_home();
}

Test(codec, headers_of_the_wrong_form_are_refused)
{
    expect_header_refused("", 0, 12, "header: truncated after 0 bytes");
    expect_header_refused("\x03", 1, 12, "the header is not an array");
    expect_header_refused("\x90", 1, 12, "the header is not an array");
    expect_header_refused("\x94\xa1x\5\5\x91\3", 7, 12,
                          "the header has no message id");
    expect_header_refused("\x94\4\5\5\x91\3", 6, 12,
                          "the message id is 4, expected 3 (activation)");
    expect_header_refused("\x93\3\5\5", 4, 12,
                          "activation: 3 values in the header, expected 4");
    expect_header_refused("\x95\3\5\5\x91\3\0", 7, 12,
                          "activation: 5 values in the header, expected 4");
    expect_header_refused("\x94\3\5\5\x91\3\0", 7, 12,
                          "header: 1 bytes after its end");
    expect_all_home();
}

Test(codec, values_of_the_wrong_type_are_refused)
{
    expect_header_refused("\x94\3\xff\5\x91\3", 6, 12,
                          "activation.batch is no unsigned number");
    expect_header_refused("\x94\3\5\xc0\x91\3", 6, 12,
                          "activation.shard is no unsigned number");
    expect_header_refused("\x94\3\5\5\3", 5, 12,
                          "activation.value: no count in the header");
    expect_header_refused("\x94\3\5\5\x90", 5, 12,
                          "activation.value: no count in the header");
    expect_header_refused("\x94\3\5\5\x92\3\3", 7, 12,
                          "activation.value: no count in the header");
    expect_header_refused("\x94\3\5\5\x91\xff", 6, 12,
                          "activation.value: no count in the header");
    expect_all_home();
}

Test(codec, runs_must_have_the_announced_length)
{
    static const char header[] = "\x94\3\5\5\x91\3";
    expect_header_refused(header, 6, 11,
                          "activation.value: 11 bytes are not a multiple of "
                          "the item size, 4 bytes");
    expect_header_refused(header, 6, 8,
                          "activation.value: 3 items announced, but 2 arrived");
    expect_header_refused(header, 6, 0,
                          "activation.value: 3 items announced, but 0 arrived");
    /* 2^64 - 1 items of 4 bytes must not wrap around to a few bytes. */
    expect_header_refused(
        "\x94\3\5\5\x91\xcf\xff\xff\xff\xff\xff\xff\xff\xff", 14, 12,
        "activation.value: 18446744073709551615 items announced, but 3 "
        "arrived");
    expect_header_refused(
        "\x94\3\5\5\x91\xcf\x40\0\0\0\0\0\0\3", 14, 12,
        "activation.value: 4611686018427387907 items announced, but 3 arrived");
    expect_all_home();
}

Test(codec, numbers_are_compared_before_they_are_narrowed)
{
    expect_header_refused("\x94\3\5\xcd\x10\x00\x91\3", 8, 12,
                          "activation.shard is 4096, at most 4095 allowed");
    expect_header_refused(
        "\x94\3\5\xcf\0\0\0\1\0\0\0\0\x91\3", 14, 12,
        "activation.shard is 4294967296, at most 4095 allowed");
    expect_all_home();
}

/* --- every kind ---------------------------------------------------------- */

static void
expect_every_refused(const every_t *every, size_t at, uint8_t byte,
                     const char *want)
{
    skn_wire_t wire;
    uint8_t header[256];
    skn_error_t error = { SKN_OK, "", "" };
    void *message = NULL;
    cr_assert_eq(skn_encode(&every_schema, every, scratch, &wire, &error),
                 SKN_OK, "%s", error.text);
    cr_assert_leq(wire.frame[0].bytes, sizeof(header));
    memcpy(header, wire.frame[0].at, wire.frame[0].bytes);
    header[at] = byte;
    wire.frame[0].at = header;
    cr_expect_eq(skn_decode(&every_schema, wire.frame, wire.frame_count,
                            SKN_ORIGIN_PROCESS, scratch, pool, &message,
                            &error),
                 SKN_BAD_MESSAGE, "accepted, but: %s", want);
    cr_expect_null(message);
    cr_expect_str_eq(error.text, want);
}

Test(codec, texts_are_checked)
{
    /* 0: an array of 13; 1: id 1000; 4: shard; 5: batch; 6: loss, 9 bytes;
     * 15: the title. */
    every_t every = { .title = "text", .note = "" };
    expect_every_refused(&every, 16, 0, "every.title has a NUL inside");
    expect_every_refused(&every, 16, 0xff,
                         "every.title is not UTF-8 at "
                         "byte 0");
    expect_every_refused(&every, 15, 0xc4,
                         "header byte 15: 116 bytes "
                         "announced, 17 bytes left");
    expect_every_refused(&every, 6, 0xcf, "every.loss is no 64-bit float");
    expect_all_home();
}

Test(codec, only_this_process_can_lend)
{
    every_t every = { .title = "", .note = "", .rows = &every };
    skn_wire_t wire;
    skn_error_t error = { SKN_OK, "", "" };
    void *message = NULL;
    cr_assert_eq(skn_encode(&every_schema, &every, scratch, &wire, NULL),
                 SKN_OK);
    skn_scratch_t *other = skn_scratch_new(NULL);
    cr_assert(other);
    cr_expect_eq(skn_decode(&every_schema, wire.frame, wire.frame_count,
                            SKN_ORIGIN_PEER, other, pool, &message, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text,
                     "every.rows: only this process can lend memory");
    cr_assert_eq(skn_decode(&every_schema, wire.frame, wire.frame_count,
                            SKN_ORIGIN_PROCESS, other, pool, &message, NULL),
                 SKN_OK);
    cr_expect_eq(((const every_t *)message)->rows, (void *)&every);
    skn_payload_drop(message);
    skn_scratch_destroy(&other);
    expect_all_home();
}

Test(codec, recoding_gives_an_equal_message)
{
    activation_t activation = { .batch = 1,
                                .shard = 2,
                                .value = { values, 3 } };
    void *copy = NULL;
    cr_assert_eq(
        skn_recode(&activation_schema, &activation, scratch, pool, &copy, NULL),
        SKN_OK);
    const activation_t *same = copy;
    cr_expect_eq(same->batch, 1);
    cr_expect_eq(same->shard, 2);
    cr_expect_arr_eq(same->value.at, values, sizeof(values));
    skn_payload_drop(copy);
    activation.shard = 4096;
    cr_expect_eq(
        skn_recode(&activation_schema, &activation, scratch, pool, &copy, NULL),
        SKN_BAD_MESSAGE);
    cr_expect_null(copy);
    expect_all_home();
}

Test(codec, many_messages_use_the_same_memory)
{
    activation_t activation = { .value = { values, 3 } };
    skn_pool_counts_t counts;
    size_t start_bytes = 0;
    for (int round = 0; round < 10000; round++) {
        if (round == 1) /* after the first, malloc has nothing to do */
            start_bytes = mallinfo2().uordblks;
        void *copy = NULL;
        cr_assert_eq(skn_recode(&activation_schema, &activation, scratch, pool,
                                &copy, NULL),
                     SKN_OK);
        skn_payload_drop(copy);
    }
    cr_expect_eq(mallinfo2().uordblks, start_bytes);
    skn_pool_count(pool, &counts);
    cr_expect_eq(counts.allocated, 1);
    expect_all_home();
}

/* --- which message -------------------------------------------------------- */

/* --- short memory --------------------------------------------------------- */

/* Takes all memory that malloc can give, so that the next call fails. Under
 * the address sanitizer such a process cannot live. */
#ifndef UNDER_ADDRESS_SANITIZER
typedef struct hoard {
    struct hoard *next;
} hoard_t;

static hoard_t *
hoard_take(void)
{
    hoard_t *hoard = NULL;
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = 1; /* not one page more than there is */
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    for (size_t bytes = MIB; bytes >= 16;
         bytes -= bytes > 4096 ? bytes / 2 : 16) {
        hoard_t *more;
        while ((more = malloc(bytes))) {
            more->next = hoard;
            hoard = more;
        }
    }
    return hoard;
}

static void
hoard_give_back(hoard_t *hoard)
{
    struct rlimit limit;
    while (hoard) {
        hoard_t *next = hoard->next;
        free(hoard);
        hoard = next;
    }
    cr_assert_eq(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

Test(codec, short_memory_is_a_sentence_everywhere)
{
    enum {
        NO_SCRATCH,
        NO_POOL,
        NO_MESSAGE,
        NO_DECODE,
        NO_HEADER,
        CASES
    };
    static const char *const wanted[CASES] = {
        "no memory for encoding and decoding",
        "no memory for a message pool",
        "activation: no memory for a message of 192 bytes",
        "activation: no memory for a message of 192 bytes",
        "activation: no memory for its header",
    };
    static skn_error_t errors[CASES];
    /* 1,000 values need 24,000 bytes more than the scratch has. */
    static uint8_t vast[3 + 1000] = { 0xdc, 1000 >> 8, 1000 & 255 };
    skn_wire_t wire;
    void *message = NULL, *got[CASES];
    size_t count = 3;
    encode_activation(&wire);
    hoard_t *hoard = hoard_take();
    got[NO_SCRATCH] = skn_scratch_new(&errors[NO_SCRATCH]);
    got[NO_POOL] = skn_pool_new(MIB, &errors[NO_POOL]);
    got[NO_MESSAGE] =
        skn_payload_new(pool, &activation_schema, &count, &errors[NO_MESSAGE]);
    (void)skn_decode(&activation_schema, wire.frame, 2, SKN_ORIGIN_PEER,
                     scratch, pool, &got[NO_DECODE], &errors[NO_DECODE]);
    wire.frame[0] = (skn_frame_t){ vast, sizeof(vast) };
    (void)skn_decode(&activation_schema, wire.frame, 2, SKN_ORIGIN_PEER,
                     scratch, pool, &got[NO_HEADER], &errors[NO_HEADER]);
    hoard_give_back(hoard);
    for (size_t k = 0; k < CASES; k++) {
        cr_expect_null(got[k]);
        cr_expect_eq(errors[k].status, SKN_NO_MEMORY);
        cr_expect_str_eq(errors[k].text, wanted[k]);
    }
    encode_activation(&wire); /* and it goes on */
    cr_expect_eq(skn_decode(&activation_schema, wire.frame, 2, SKN_ORIGIN_PEER,
                            scratch, pool, &message, NULL),
                 SKN_OK);
    skn_payload_drop(message);
    expect_all_home();
}
#endif

/* A table that skn_schema_check refuses: its header does not fit. */
#define FIELDS_wordy(F, M) F(M, str, a, 32768, "a") F(M, str, b, 32768, "b")
SKN_MESSAGE_STRUCT(wordy, FIELDS_wordy)
SKN_MESSAGE_SCHEMA(wordy, "wordy", 6, FIELDS_wordy, "too many words")

Test(codec, a_header_that_does_not_fit_is_refused)
{
    static char text[32769];
    wordy_t wordy = { .a = text, .b = text };
    skn_wire_t wire;
    skn_error_t error = { SKN_OK, "", "" };
    memset(text, 'x', 32768);
    cr_expect_eq(skn_encode(&wordy_schema, &wordy, scratch, &wire, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text,
                     "wordy: the header needs more than 65536 bytes");
    wordy.b = "";
    cr_expect_eq(skn_encode(&wordy_schema, &wordy, scratch, &wire, NULL),
                 SKN_OK);
    expect_all_home();
}
