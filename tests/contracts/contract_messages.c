/* contract_messages.c - tests the properties that every message must have.
 *
 * One body over all lists below: round trip, truncation at every byte, one
 * past every limit, wrong frames, flipped bits. A message that is added to a
 * list is tested from then on. SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/messages.h"
#include "tests/support/oracle.h"
#include "tests/support/sample_messages.h"
#include "tests/support/flat.h"
#include "transport/message/field.h"
#include "transport/message/schema.h"

static const skn_schema_t *const *const lists[] = {
    sample_schemas,
    skn_messages,
};
#define LIST_COUNT (sizeof(lists) / sizeof(lists[0]))

#define MIB ((size_t)1 << 20)
/* Items of a run, so that every byte of every frame can be tried. */
#define SMALL_ITEMS_MAX 6u

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
}

/* Neither success nor refusal keeps a message. */
static void
expect_all_home(void)
{
    skn_pool_counts_t counts;
    skn_pool_collect(pool);
    skn_pool_count(pool, &counts);
    cr_assert_eq(counts.out, 0, "%llu messages were never dropped",
                 (unsigned long long)counts.out);
}

TestSuite(messages, .init = set_up, .fini = tear_down, .timeout = 120);

static uint64_t
up_to(oracle_random_t *random, uint64_t max)
{
    uint64_t number = (uint64_t)oracle_next(random) << 32;
    number |= oracle_next(random);
    switch (number & 7) {
    case 0:
        return 0;
    case 1:
        return max;
    default:
        number >>= number >> 3 & 63;
        return max == UINT64_MAX ? number : number % (max + 1);
    }
}

static void
fill_field(const skn_field_t *field, void *message, oracle_random_t *random)
{
    uint64_t number = up_to(random, field->max);
    uint32_t narrow = (uint32_t)number;
    double real = (double)(int32_t)oracle_next(random) / 1024;
    void *address = (void *)(uintptr_t)(oracle_next(random) & 0xfff0);
    if (field->kind == SKN_FIELD_u32) {
        skn_field_set(field, message, &narrow, sizeof(narrow));
    } else if (field->kind == SKN_FIELD_u64) {
        skn_field_set(field, message, &number, sizeof(number));
    } else if (field->kind == SKN_FIELD_f64) {
        skn_field_set(field, message, &real, sizeof(real));
    } else if (field->kind == SKN_FIELD_loan) {
        skn_field_set(field, message, &address, sizeof(address));
    } else {
        skn_run_t run = skn_field_run(field, message);
        uint8_t *bytes = run.at;
        size_t byte_count = run.count * skn_field_item_bytes(field->kind);
        for (size_t k = 0; k < byte_count; k++)
            bytes[k] = (uint8_t)oracle_next(random);
    }
}

/* A valid message, small, of random content; the tester drops it. */
static void *
random_message(const skn_schema_t *schema, uint64_t seed)
{
    size_t counts[SKN_FIELDS_MAX] = { 0 }, room = 0;
    oracle_random_t random = { seed };
    skn_error_t error = { SKN_OK, "", "" };
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        size_t items = oracle_next(&random) % (SMALL_ITEMS_MAX + 1);
        if (skn_field_has_room(field->kind))
            counts[room++] = items < field->max ? items : (size_t)field->max;
    }
    void *message = skn_payload_new(pool, schema, counts, &error);
    cr_assert(message, "%s", error.text);
    room = 0;
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        if (field->kind == SKN_FIELD_str) {
            /* All of the room is used: no NUL before its end. */
            char *text = (char *)(uintptr_t)skn_field_text(field, message);
            memset(text, 'a' + (int)(seed % 26), counts[room]);
        } else {
            fill_field(field, message, &random);
        }
        room += skn_field_has_room(field->kind);
    }
    cr_assert_eq(skn_validate(schema, message, &error), SKN_OK, "%s",
                 error.text);
    return message;
}

/* Bit for bit, so that NaN equals NaN. */
static bool
is_equal(const skn_schema_t *schema, const void *left, const void *right)
{
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        size_t item_bytes = skn_field_item_bytes(field->kind);
        if (field->kind == SKN_FIELD_str) {
            if (strcmp(skn_field_text(field, left),
                       skn_field_text(field, right)) != 0)
                return false;
        } else if (item_bytes > 0) {
            skn_run_t a = skn_field_run(field, left);
            skn_run_t b = skn_field_run(field, right);
            if (a.count != b.count ||
                (a.count > 0 && memcmp(a.at, b.at, a.count * item_bytes)))
                return false;
        } else if (skn_field_number(field, left) !=
                   skn_field_number(field, right)) {
            return false;
        }
    }
    return true;
}

/* The frames of a message, each in memory of its own length: a sanitizer
 * sees every byte read too far. */
typedef struct frames {
    size_t count;
    skn_frame_t at[SKN_FRAMES_MAX];
} frames_t;

static skn_frame_t
frame_copy(const void *bytes, size_t byte_count)
{
    char *copy = malloc(byte_count + 1);
    cr_assert(copy);
    if (byte_count > 0)
        memcpy(copy + 1, bytes, byte_count);
    return (skn_frame_t){ copy + 1, byte_count }; /* odd address */
}

static void
frame_free(skn_frame_t frame)
{
    free((char *)(uintptr_t)frame.at - 1);
}

static frames_t
frames_new(const skn_schema_t *schema, const void *message)
{
    skn_wire_t wire;
    skn_error_t error = { SKN_OK, "", "" };
    frames_t frames;
    cr_assert_eq(skn_encode(schema, message, scratch, &wire, &error), SKN_OK,
                 "%s", error.text);
    frames.count = wire.frame_count;
    for (size_t k = 0; k < wire.frame_count; k++)
        frames.at[k] = frame_copy(wire.frame[k].at, wire.frame[k].bytes);
    return frames;
}

static void
frames_free(frames_t *frames)
{
    for (size_t k = 0; k < frames->count; k++)
        frame_free(frames->at[k]);
}

/* Decodes; what is accepted must be valid. NULL if it was refused. */
static void *
decode(const skn_schema_t *schema, const skn_frame_t *frame, size_t frame_count)
{
    void *message = NULL;
    skn_error_t error = { SKN_OK, "", "" };
    skn_status_t status =
        skn_decode(schema, frame, frame_count, SKN_ORIGIN_PROCESS, scratch,
                   pool, &message, &error);
    if (status != SKN_OK) {
        cr_assert_null(message);
        cr_assert_eq(status, SKN_BAD_MESSAGE, "%s", error.text);
        cr_assert_neq(error.text[0], '\0');
        return NULL;
    }
    cr_assert_eq(skn_validate(schema, message, &error), SKN_OK, "%s",
                 error.text);
    return message;
}

/* Calls `check` for a few messages of every schema of every list. */
static void
for_each_message(uint64_t seed_count,
                 void (*check)(const skn_schema_t *schema, const void *message))
{
    for (size_t list = 0; list < LIST_COUNT; list++)
        for (size_t k = 0; lists[list][k]; k++)
            for (uint64_t seed = 1; seed <= seed_count; seed++) {
                void *message = random_message(lists[list][k], seed);
                check(lists[list][k], message);
                skn_payload_drop(message);
            }
    expect_all_home();
}

Test(messages, every_table_is_sane_and_no_id_or_name_occurs_twice)
{
    for (size_t list = 0; list < LIST_COUNT; list++)
        for (size_t k = 0; lists[list][k]; k++) {
            const skn_schema_t *schema = lists[list][k];
            skn_error_t error = { SKN_OK, "", "" };
            cr_expect_eq(skn_schema_check(schema, &error), SKN_OK, "%s",
                         error.text);
            for (size_t before = 0; before < k; before++) {
                const skn_schema_t *other = lists[list][before];
                cr_expect_neq(other->id, schema->id, "%s", schema->name);
                cr_expect_str_neq(other->name, schema->name);
            }
        }
}

static void
check_round_trip(const skn_schema_t *schema, const void *message)
{
    frames_t frames = frames_new(schema, message);
    void *copy = decode(schema, frames.at, frames.count);
    cr_assert(copy, "%s", schema->name);
    cr_assert(is_equal(schema, message, copy), "%s", schema->name);
    void *second = skn_payload_copy(pool, schema, copy, NULL);
    cr_assert(second);
    cr_assert(is_equal(schema, message, second), "%s", schema->name);
    frames_t again = frames_new(schema, second);
    for (size_t k = 0; k < frames.count; k++) {
        cr_assert_eq(again.at[k].bytes, frames.at[k].bytes);
        cr_assert_arr_eq(again.at[k].at, frames.at[k].at, again.at[k].bytes);
    }
    frames_free(&again);
    frames_free(&frames);
    skn_payload_drop(second);
    skn_payload_drop(copy);
}

Test(messages, a_round_trip_changes_nothing)
{
    for_each_message(200, check_round_trip);
}

static void
check_truncation(const skn_schema_t *schema, const void *message)
{
    frames_t frames = frames_new(schema, message);
    for (size_t k = 0; k < frames.count; k++) {
        skn_frame_t whole = frames.at[k];
        for (size_t cut = 0; cut < whole.bytes; cut++) {
            frames.at[k] = frame_copy(whole.at, cut);
            cr_assert_null(decode(schema, frames.at, frames.count),
                           "%s: frame %zu cut to %zu bytes", schema->name, k,
                           cut);
            frame_free(frames.at[k]);
        }
        char longer[4096] = { 0 };
        cr_assert_lt(whole.bytes, sizeof(longer));
        if (whole.bytes > 0)
            memcpy(longer, whole.at, whole.bytes);
        frames.at[k] = frame_copy(longer, whole.bytes + 1);
        cr_assert_null(decode(schema, frames.at, frames.count));
        frame_free(frames.at[k]);
        frames.at[k] = whole;
    }
    frames_free(&frames);
}

Test(messages, a_frame_of_any_other_length_is_refused)
{
    for_each_message(10, check_truncation);
}

static void
check_frame_counts(const skn_schema_t *schema, const void *message)
{
    frames_t frames = frames_new(schema, message);
    skn_frame_t more[2 * SKN_FRAMES_MAX];
    for (size_t count = 0; count < 2 * SKN_FRAMES_MAX; count++) {
        for (size_t k = 0; k < count; k++)
            more[k] = frames.at[k % frames.count];
        void *got = decode(schema, more, count);
        cr_assert_eq(got != NULL, count == frames.count);
        skn_payload_drop(got);
    }
    frames_free(&frames);
}

Test(messages, any_other_number_of_frames_is_refused)
{
    for_each_message(1, check_frame_counts);
}

/* What a run that is one too long points at, if it is not vast. */
static uint8_t spare[MIB];

/* One past the limit of `field`, where a limit can be passed. */
static bool
spoil(const skn_field_t *field, void *copy, char *long_text)
{
    uint64_t number = field->max + 1;
    uint32_t narrow = (uint32_t)number;
    skn_run_t run = { spare, (size_t)number };
    switch (field->kind) {
    case SKN_FIELD_f64:
    case SKN_FIELD_loan:
        return false;
    case SKN_FIELD_u32:
        skn_field_set(field, copy, &narrow, sizeof(narrow));
        return field->max < UINT32_MAX;
    case SKN_FIELD_u64:
        skn_field_set(field, copy, &number, sizeof(number));
        return field->max < UINT64_MAX;
    case SKN_FIELD_str:
        memset(long_text, 'x', (size_t)number);
        long_text[number] = '\0';
        skn_field_set(field, copy, &long_text, sizeof(long_text));
        return true;
    default:
        skn_field_set(field, copy, &run, sizeof(run));
        return true;
    }
}

static void
check_limits(const skn_schema_t *schema, const void *message)
{
    static char long_text[SKN_TEXT_MAX + 2];
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        skn_wire_t wire;
        skn_error_t error = { SKN_OK, "", "" };
        char start[2 * SKN_NAME_MAX + 2];
        void *copy = skn_payload_copy(pool, schema, message, NULL);
        cr_assert(copy);
        if (spoil(field, copy, long_text)) {
            cr_expect_eq(skn_validate(schema, copy, &error), SKN_BAD_MESSAGE);
            (void)snprintf(start, sizeof(start), "%s.%s ", schema->name,
                           field->name);
            cr_expect_eq(strncmp(error.text, start, strlen(start)), 0, "%s",
                         error.text);
            cr_expect_eq(skn_encode(schema, copy, scratch, &wire, NULL),
                         SKN_BAD_MESSAGE);
            if (skn_field_has_room(field->kind))
                cr_expect_null(skn_payload_copy(pool, schema, copy, NULL));
        }
        skn_payload_drop(copy);
    }
}

Test(messages, one_past_any_limit_is_refused)
{
    for_each_message(3, check_limits);
}

/* A peer whose table is laxer than ours, in one field. */
static void
check_lax_peer(const skn_schema_t *schema, const void *message)
{
    static char long_text[SKN_TEXT_MAX + 2];
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        skn_field_t fields[SKN_FIELDS_MAX];
        skn_schema_t lax = *schema;
        skn_error_t error = { SKN_OK, "", "" };
        char start[2 * SKN_NAME_MAX + 2];
        size_t item_bytes = skn_field_item_bytes(field->kind);
        if (item_bytes > 0 && field->max >= sizeof(spare) / item_bytes)
            continue; /* too many bytes for a test */
        memcpy(fields, schema->fields, schema->field_count * sizeof(*fields));
        fields[k].max++;
        lax.fields = fields;
        void *copy = skn_payload_copy(pool, schema, message, NULL);
        cr_assert(copy);
        if (spoil(field, copy, long_text)) {
            frames_t frames = frames_new(&lax, copy);
            void *got = &error;
            cr_expect_eq(skn_decode(schema, frames.at, frames.count,
                                    SKN_ORIGIN_PROCESS, scratch, pool, &got,
                                    &error),
                         SKN_BAD_MESSAGE);
            cr_expect_null(got);
            (void)snprintf(start, sizeof(start), "%s.%s ", schema->name,
                           field->name);
            cr_expect_eq(strncmp(error.text, start, strlen(start)), 0, "%s",
                         error.text);
            frames_free(&frames);
        }
        skn_payload_drop(copy);
    }
}

Test(messages, a_peer_with_laxer_limits_is_refused)
{
    for_each_message(3, check_lax_peer);
}

/* A header in another schema's place, and frames of the right size. */
Test(messages, no_message_is_taken_for_another)
{
    for (size_t list = 0; list < LIST_COUNT; list++)
        for (size_t k = 0; lists[list][k]; k++)
            for (size_t other = 0; lists[list][other]; other++) {
                void *message = random_message(lists[list][k], 1);
                frames_t frames = frames_new(lists[list][k], message);
                void *got = decode(lists[list][other], frames.at, frames.count);
                cr_expect_eq(got != NULL, k == other, "%s taken for %s",
                             lists[list][k]->name, lists[list][other]->name);
                skn_payload_drop(got);
                frames_free(&frames);
                skn_payload_drop(message);
            }
    expect_all_home();
}

/* Every bit of every frame, one at a time; and every byte to 0 and 255. */
static void
check_flips(const skn_schema_t *schema, const void *message)
{
    frames_t frames = frames_new(schema, message);
    for (size_t k = 0; k < frames.count; k++)
        for (size_t at = 0; at < frames.at[k].bytes; at++) {
            uint8_t *byte = (uint8_t *)(uintptr_t)frames.at[k].at + at;
            uint8_t was = *byte;
            for (unsigned flip = 0; flip < 10; flip++) {
                uint32_t now = flip < 8 ? was ^ 1u << flip : flip < 9 ? 0 : 255;
                *byte = (uint8_t)now;
                skn_payload_drop(decode(schema, frames.at, frames.count));
            }
            *byte = was;
        }
    frames_free(&frames);
}

Test(messages, flipped_bits_are_refused_or_give_a_valid_message)
{
    for_each_message(20, check_flips);
}

/* Several random bytes at once, in the flat form. */
static void
check_noise(const skn_schema_t *schema, const void *message)
{
    skn_wire_t wire, noisy;
    cr_assert_eq(skn_encode(schema, message, scratch, &wire, NULL), SKN_OK);
    size_t flat_bytes = flat_bytes_of(&wire);
    uint8_t *flat = malloc(flat_bytes), *noise = malloc(flat_bytes);
    cr_assert(flat && noise);
    flat_write(&wire, flat);
    for (uint64_t seed = 1; seed <= 500; seed++) {
        oracle_random_t random = { seed };
        memcpy(noise, flat, flat_bytes);
        for (unsigned k = 0; k <= seed % 5; k++)
            noise[oracle_next(&random) % flat_bytes] =
                (uint8_t)oracle_next(&random);
        if (skn_wire_split(noise, flat_bytes, &noisy, NULL) == SKN_OK)
            skn_payload_drop(decode(schema, noisy.frame, noisy.frame_count));
    }
    free(noise);
    free(flat);
}

Test(messages, noise_is_refused_or_gives_a_valid_message)
{
    for_each_message(20, check_noise);
}
