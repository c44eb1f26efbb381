/* contract_coding.c - tests what a coder refuses: rows that do not fit,
 * impossible frames, and frames that were cut or changed. One body over every
 * coding. A message that is accepted must be valid.
 *
 * One body over every coding. What comes through is a valid message.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/coding_fixture.h"
#include "tests/support/faults.h"
#include "tests/support/sample_messages.h"
#include "transport/message/field.h"

TestSuite(contract_coding, .init = set_up, .fini = tear_down, .timeout = 120);

/* Rows by lengths if there are any, by columns else. */
#define FIELDS_rows(F, M)                                                      \
    F(M, u32, columns, 100, "columns")                                         \
    F(M, f32s, value, SKN_RUN_MAX, "values")                                   \
    F(M, u32s, length, SKN_RUN_MAX, "lengths")
#define CODED_rows(V, C)                                                       \
    V(value, "columns", "length", true)                                        \
    C(length, small)
SKN_MESSAGE_STRUCT(rows, FIELDS_rows)
SKN_MESSAGE_SCHEMA_CODED(rows, "rows", 1011, FIELDS_rows, "r", CODED_rows)

static void
expect_not_encoded(const skn_schema_t *schema, const void *message,
                   const char *want)
{
    skn_error_t error = { SKN_OK, "", "" };
    skn_wire_t wire = { 7, { { NULL, 0 } } };
    EACH_CODING(coding)
    {
        cr_expect_eq(
            skn_coding_encode(schema, message, coding, 1, coder, &wire, &error),
            SKN_BAD_MESSAGE);
        cr_expect_str_eq(error.text, want);
        cr_expect_eq(wire.frame_count, 0);
        cr_expect_eq(
            skn_coding_encode(schema, message, coding, 1, coder, &wire, NULL),
            SKN_BAD_MESSAGE);
    }
}

Test(contract_coding, rows_that_do_not_fit_are_refused_by_the_sender)
{
    static float values[130];
    static uint32_t lengths[2] = { 3, 1 };
    rows_t rows = { .columns = 4, .value = { values, 10 } };
    expect_not_encoded(&rows_schema, &rows,
                       "rows.value: 10 items are not whole rows of 4");
    rows.columns = 0;
    expect_not_encoded(&rows_schema, &rows,
                       "rows.value: 10 items are not whole rows of 0");
    rows.length = (skn_u32s_t){ lengths, 2 };
    expect_not_encoded(
        &rows_schema, &rows,
        "rows.value: 10 items are not 1 to 64 rounds of 4 items");
    lengths[0] = lengths[1] = 1;
    rows.value.count = 130;
    expect_not_encoded(
        &rows_schema, &rows,
        "rows.value: 130 items are not 1 to 64 rounds of 2 items");
    lengths[0] = lengths[1] = 0;
    expect_not_encoded(
        &rows_schema, &rows,
        "rows.value: 130 items are not 1 to 64 rounds of 0 items");
    rows.columns = 101;
    expect_not_encoded(&rows_schema, &rows,
                       "rows.columns is 101, at most 100 allowed");
}

Test(contract_coding, rows_that_fit_are_taken)
{
    static float values[128];
    static uint32_t lengths[2] = { 2, 0 };
    rows_t rows = { .columns = 100, .value = { values, 128 } };
    rows.length = (skn_u32s_t){ lengths, 2 };
    skn_payload_drop(over_and_back(&rows_schema, &rows, SKN_CODING_INT8, 1));
    rows.value.count = 0;
    lengths[0] = 0;
    skn_payload_drop(over_and_back(&rows_schema, &rows, SKN_CODING_INT8, 1));
    rows.length.count = 0;
    rows.columns = 0;
    skn_payload_drop(over_and_back(&rows_schema, &rows, SKN_CODING_INT8, 1));
    expect_all_home();
}

Test(contract_coding, memory_of_this_process_does_not_leave_it)
{
    every_t every = { .title = "", .note = "" };
    expect_not_encoded(&every_schema, &every,
                       "every lends memory of this process, so it cannot be "
                       "sent to another one");
}

/* A message of rows_schema out of frames of the caller's. */
static void
expect_refused(uint8_t columns, uint32_t count, skn_frame_t value,
               uint8_t length_count, skn_frame_t length, const char *want)
{
    uint8_t header[] = { 0x94, 0xcd, 0x03, 0xf3, columns, 0x91, 0xce,
                         0,    0,    0,    0,    0x91,    0 };
    skn_error_t error = { SKN_OK, "", "" };
    void *message = &error;
    for (size_t k = 0; k < 4; k++)
        header[7 + k] = (uint8_t)(count >> (24 - 8 * k));
    header[12] = length_count;
    skn_frame_t frame[3] = { { header, sizeof(header) }, value, length };
    skn_status_t status = skn_coding_decode(&rows_schema, frame, 3, 4096, coder,
                                            pool, &message, &error);
    if (!want) {
        cr_expect_eq(status, SKN_OK, "%s", error.text);
        skn_payload_drop(message);
        return;
    }
    cr_expect_eq(status, SKN_BAD_MESSAGE, "accepted, but: %s", want);
    cr_expect_null(message);
    cr_expect_str_eq(error.text, want);
    cr_expect_eq(skn_coding_decode(&rows_schema, frame, 3, 4096, coder, pool,
                                   &message, NULL),
                 SKN_BAD_MESSAGE);
}

static const uint8_t zeros[4096];
#define NOTHING ((skn_frame_t){ NULL, 0 })
#define ZEROS(count) ((skn_frame_t){ zeros, (count) })
#define BYTES(...)                                                             \
    ((skn_frame_t){ (const uint8_t[]){ __VA_ARGS__ },                          \
                    sizeof((const uint8_t[]){ __VA_ARGS__ }) })

Test(contract_coding, frames_that_cannot_be_are_refused_before_memory_is_taken)
{
    skn_pool_counts_t counts;
    expect_refused(1, SKN_RUN_MAX + 1u, ZEROS(8), 0, NOTHING,
                   "rows.value has 1073741825 items, at most 1073741824 "
                   "allowed");
    expect_refused(1, SKN_RUN_MAX, ZEROS(4096), 0, NOTHING,
                   "rows.value: 1073741824 items cannot be coded in 4096 "
                   "bytes");
    expect_refused(1, 8, NOTHING, 0, NOTHING,
                   "rows.value: 8 items cannot be coded in 0 bytes");
    expect_refused(1, 8, ZEROS(33), 0, NOTHING,
                   "rows.value: 8 items cannot be coded in 33 bytes");
    expect_refused(1, 0, ZEROS(1), 0, NOTHING,
                   "rows.value: 0 items cannot be coded in 1 bytes");
    expect_refused(1, 17, ZEROS(3), 0, NOTHING,
                   "rows.value: 17 items cannot be coded in 3 bytes");
    expect_refused(1, 0, NOTHING, 9, ZEROS(2),
                   "rows.length: 9 items cannot be coded in 2 bytes");
    /* 8 items a byte, 4,096 bytes allowed: the struct has 40 of them. */
    expect_refused(1, 1015, ZEROS(4060), 0, NOTHING,
                   "rows takes 4100 bytes, at most 4096 allowed");
    expect_refused(1, 1014, ZEROS(4056), 0, NOTHING, NULL);
    expect_all_home();
    skn_pool_count(pool, &counts);
    cr_expect_leq(counts.total_bytes, 8192);
}

Test(contract_coding, runs_that_are_none_are_refused)
{
    static const char none[] = "rows.value: 2 bytes are not a coded run of 8 "
                               "items";
    /* Eight columns, all zero, in f32: a form and a byte of bits. */
    expect_refused(8, 8, BYTES(0x10, 0), 0, NOTHING, NULL);
    expect_refused(8, 8, BYTES(0x10, 1), 0, NOTHING, none);
    expect_refused(8, 8, BYTES(0x00, 0), 0, NOTHING, none);
    expect_refused(8, 8, BYTES(0x14, 0), 0, NOTHING, none);
    expect_refused(8, 8, BYTES(0x20, 0), 0, NOTHING, none);
    expect_refused(8, 8, BYTES(0x01, 0), 0, NOTHING, none);
    expect_refused(5, 10, BYTES(0x10, 0, 0x20), 0, NOTHING,
                   "rows.value: 3 bytes are not a coded run of 10 items");
    expect_refused(8, 8, BYTES(0x10, 0, 0), 0, NOTHING,
                   "rows.value: 3 bytes are not a coded run of 8 items");
    expect_refused(7, 8, BYTES(0x10, 0), 0, NOTHING,
                   "rows.value: 8 items are not whole rows of 7");
    expect_refused(7, 8, ZEROS(32), 0, NOTHING,
                   "rows.value: 8 items are not whole rows of 7");
    expect_refused(0, 8, BYTES(0x10, 0, 0), 2, BYTES(1, 4, 4), NULL);
    expect_refused(0, 8, BYTES(0x10, 0), 2, BYTES(1, 4, 4),
                   "rows.value: 2 bytes are not a coded run of 8 items");
    expect_refused(0, 8, BYTES(0x10, 0, 0), 2, BYTES(1, 4, 0x84),
                   "rows.length: 3 bytes are not a coded run of 2 items");
    expect_refused(0, 8, BYTES(0x10, 0, 0), 2, BYTES(1, 4, 1),
                   "rows.value: 8 items are not 1 to 64 rounds of 5 items");
    expect_refused(0, 8, BYTES(0x10, 0, 0), 2, BYTES(9, 4, 4),
                   "rows.length: 3 bytes are not a coded run of 2 items");
    expect_all_home();
}

/* --- broken frames -------------------------------------------------------- */

/* How many items of `coded_schema`'s run number `frame` there are. */
static size_t
items_of(const coded_t *coded, size_t frame)
{
    for (size_t k = 0; k < coded_schema.field_count; k++) {
        const skn_field_t *field = &coded_schema.fields[k];
        if (skn_field_item_bytes(field->kind) > 0 && --frame == 0)
            return skn_field_run(field, coded).count;
    }
    return 0;
}

Test(contract_coding, a_frame_of_any_other_length_is_refused)
{
    EACH_CODING(coding)
    for (uint64_t seed = 1; seed <= 4; seed++) {
        coded_t *sent = coded_new(seed, 9, 7, true);
        frames_t frames = frames_new(&coded_schema, sent, coding, seed);
        for (size_t k = 0; k < frames.count; k++) {
            skn_frame_t whole = frames.at[k];
            size_t items = items_of(sent, k);
            bool as_it_is = k > 0 && whole.bytes == 4 * items;
            for (size_t cut = 0; cut < whole.bytes + 3; cut++) {
                uint8_t longer[4096] = { 0 };
                memcpy(longer, whole.at, whole.bytes);
                frames.at[k] = frame_copy(longer, cut);
                void *got = decode(&coded_schema, &frames);
                /* Other bytes of a run that is as it is may be a coded one,
                 * and a coded one that grows to its items is as it is. */
                if (!as_it_is && cut != whole.bytes && cut != 4 * items)
                    cr_assert_null(got, "%s: frame %zu of %zu bytes cut to %zu",
                                   coding_word(coding), k, whole.bytes, cut);
                skn_payload_drop(got);
                frame_free(frames.at[k]);
            }
            frames.at[k] = whole;
        }
        frames_free(&frames);
        skn_payload_drop(sent);
    }
    expect_all_home();
}

Test(contract_coding, any_other_number_of_frames_is_refused)
{
    coded_t *sent = coded_new(2, 9, 7, true);
    frames_t frames = frames_new(&coded_schema, sent, SKN_CODING_BF16, 1);
    size_t whole = frames.count;
    for (frames.count = 0; frames.count < whole; frames.count++)
        cr_assert_null(decode(&coded_schema, &frames));
    frames.count = whole;
    frames_free(&frames);
    skn_payload_drop(sent);
    expect_all_home();
}

/* What comes through is a message like any other: it can be sent on. */
Test(contract_coding, changed_bytes_are_refused_or_give_a_valid_message)
{
    oracle_random_t random = { 99 };
    size_t accepted = 0, refused = 0;
    EACH_CODING(coding)
    for (uint64_t seed = 1; seed <= 600; seed++) {
        coded_t *sent = coded_new(seed % 13, (uint32_t)(seed % 21), 6, true);
        frames_t frames = frames_new(&coded_schema, sent, coding, seed);
        for (size_t k = 0; k <= seed % 4; k++) {
            skn_frame_t frame = frames.at[oracle_next(&random) % frames.count];
            uint8_t *bytes = (uint8_t *)(uintptr_t)frame.at;
            if (frame.bytes > 0)
                bytes[oracle_next(&random) % frame.bytes] ^=
                    (uint8_t)(1u << oracle_next(&random) % 8);
        }
        void *got = decode(&coded_schema, &frames);
        if (got)
            skn_payload_drop(
                over_and_back(&coded_schema, got, SKN_CODING_INT4, 1));
        accepted += got != NULL;
        refused += got == NULL;
        skn_payload_drop(got);
        frames_free(&frames);
        skn_payload_drop(sent);
    }
    cr_assert(accepted > 100 && refused > 100, "%zu, %zu", accepted, refused);
    expect_all_home();
}

/* --- no memory ------------------------------------------------------------ */

/* A new coder's first message there and back; what was made, is ended. */
static skn_status_t
cross_once(const coded_t *sent, skn_pool_t *own_pool, skn_error_t *error)
{
    skn_wire_t wire;
    void *got = NULL;
    skn_coder_t *own = skn_coder_new(skn_kernels_variant(0), error);
    if (!own)
        return error->status;
    skn_status_t status = skn_coding_encode(
        &coded_schema, sent, SKN_CODING_INT8, 1, own, &wire, error);
    if (status == SKN_OK)
        status = skn_coding_decode(&coded_schema, wire.frame, wire.frame_count,
                                   MIB, own, own_pool, &got, error);
    cr_expect_eq(got != NULL, status == SKN_OK);
    skn_payload_drop(got);
    skn_coder_destroy(&own);
    return status;
}

Test(contract_coding, every_allocation_may_fail)
{
    coded_t *sent = coded_new(5, 30, 9, false);
    uint64_t n = 0, failed = 0;
    bool hit = true;
    for (n = 1; hit; n++) {
        skn_error_t error = { SKN_OK, "", "" };
        /* Nothing idle: the message is taken from the system each time. */
        skn_pool_t *own_pool = skn_pool_new(0, NULL);
        cr_assert(own_pool);
        faults_arm(FAULT_MEMORY, n, 0, false);
        skn_status_t status = cross_once(sent, own_pool, &error);
        (void)faults_disarm();
        hit = faults_hit() > 0;
        cr_expect_eq(status, hit ? SKN_NO_MEMORY : SKN_OK, "%s: %s",
                     faults_hit_name(), error.text);
        cr_expect_eq(error.text[0] != '\0', hit);
        failed += hit;
        skn_pool_destroy(&own_pool);
    }
    cr_expect_geq(failed, 4u, "%llu", (unsigned long long)failed);
    skn_payload_drop(sent);
    expect_all_home();
}
