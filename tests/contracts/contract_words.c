/* contract_words.c - tests the bytes of every message of the pipelines.
 *
 * Each bit of the flat form of a message with a value in every field is
 * changed: a result that is not refused is a valid message.
 * Covers transport/message/flat.c, transport/message/walk.c and
 * transport/message/codec.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/messages.h"
#include "tests/support/flat.h"
#include "transport/message/field.h"
#include "transport/message/schema.h"

#define ITEMS 2

static skn_pool_t *pool;
static skn_scratch_t *scratch;

static void
set_up(void)
{
    pool = skn_pool_new((size_t)1 << 20, NULL);
    scratch = skn_scratch_new(NULL);
    cr_assert(pool && scratch);
}

static void
tear_down(void)
{
    skn_pool_destroy(&pool);
    skn_scratch_destroy(&scratch);
}

TestSuite(words, .init = set_up, .fini = tear_down, .timeout = 60);

static void
fill_run(const skn_field_t *field, void *message)
{
    skn_run_t run = skn_field_run(field, message);
    for (size_t k = 0; k < run.count; k++) {
        if (field->kind == SKN_FIELD_f32s)
            ((float *)run.at)[k] = 0.5f * (float)(k + 1);
        else if (field->kind == SKN_FIELD_u32s)
            ((uint32_t *)run.at)[k] = (uint32_t)k + 7;
        else if (field->kind == SKN_FIELD_u16s)
            ((uint16_t *)run.at)[k] = (uint16_t)(k + 300);
        else
            memset(run.at, 0xa5, run.count * skn_field_item_bytes(field->kind));
    }
}

/* Field k has the value k + 1, or its greatest if that is less; a text is
 * "a b", a run has two items. */
static void *
full_message(const skn_schema_t *schema)
{
    size_t counts[SKN_FIELDS_MAX] = { 0 }, room = 0;
    skn_error_t error = { 0 };
    for (size_t k = 0; k < schema->field_count; k++)
        if (skn_field_has_room(schema->fields[k].kind))
            counts[room++] =
                schema->fields[k].kind == SKN_FIELD_str ? 3 : ITEMS;
    void *message = skn_payload_new(pool, schema, counts, &error);
    cr_assert(message, "%s", error.text);
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        uint64_t number = k + 1 < field->max ? k + 1 : field->max;
        uint32_t narrow = (uint32_t)number;
        double real = 0.25 * (double)(k + 1);
        void *address = message;
        if (field->kind == SKN_FIELD_u32)
            skn_field_set(field, message, &narrow, sizeof(narrow));
        else if (field->kind == SKN_FIELD_u64)
            skn_field_set(field, message, &number, sizeof(number));
        else if (field->kind == SKN_FIELD_f64)
            skn_field_set(field, message, &real, sizeof(real));
        else if (field->kind == SKN_FIELD_loan)
            skn_field_set(field, message, &address, sizeof(address));
        else if (field->kind == SKN_FIELD_str)
            memcpy((char *)(uintptr_t)skn_field_text(field, message), "a b", 4);
        else
            fill_run(field, message);
    }
    return message;
}

/* --- bytes --------------------------------------------------------------- */

typedef struct flat {
    size_t bytes;
    uint8_t *at;
} flat_t;

static flat_t
flat_of(const skn_schema_t *schema, const void *message)
{
    skn_wire_t wire;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_encode(schema, message, scratch, &wire, &error), SKN_OK,
                 "%s", error.text);
    flat_t flat = { flat_bytes_of(&wire), NULL };
    flat.at = malloc(flat.bytes);
    cr_assert(flat.at);
    flat_write(&wire, flat.at);
    return flat;
}

/* Takes bytes that may be anything. NULL: refused, with a sentence. */
static void *
read_flat(const skn_schema_t *schema, const uint8_t *at, size_t bytes)
{
    skn_wire_t wire;
    void *message = NULL;
    skn_error_t error = { 0 };
    skn_status_t status = skn_wire_split(at, bytes, &wire, &error);
    if (status == SKN_OK)
        status =
            skn_decode(schema, wire.frame, wire.frame_count, SKN_ORIGIN_PROCESS,
                       scratch, pool, &message, &error);
    if (status == SKN_OK) {
        cr_assert_eq(skn_validate(schema, message, &error), SKN_OK, "%s",
                     error.text);
        return message;
    }
    cr_assert_eq(status, SKN_BAD_MESSAGE, "%s", error.text);
    cr_assert_null(message);
    cr_assert_neq(error.text[0], '\0');
    return NULL;
}

Test(words, every_flipped_bit_is_refused_or_leaves_a_valid_message)
{
    size_t refused = 0, taken = 0;
    for (size_t k = 0; skn_messages[k]; k++) {
        void *message = full_message(skn_messages[k]);
        flat_t flat = flat_of(skn_messages[k], message);
        for (size_t bit = 0; bit < 8 * flat.bytes; bit++) {
            flat.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
            void *got = read_flat(skn_messages[k], flat.at, flat.bytes);
            refused += got == NULL;
            taken += got != NULL;
            skn_payload_drop(got);
            flat.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        free(flat.at);
        skn_payload_drop(message);
    }
    /* Values may change; ids, counts, lengths and limits may not. */
    cr_expect_gt(refused, 1000);
    cr_expect_gt(taken, 1000);
}

Test(words, every_flat_form_that_is_cut_or_longer_is_refused)
{
    for (size_t k = 0; skn_messages[k]; k++) {
        void *message = full_message(skn_messages[k]);
        flat_t flat = flat_of(skn_messages[k], message);
        for (size_t bytes = 0; bytes < flat.bytes; bytes++) {
            uint8_t *cut = malloc(bytes + 1); /* a sanitizer sees its end */
            cr_assert(cut);
            memcpy(cut, flat.at, bytes);
            cr_expect_null(read_flat(skn_messages[k], cut, bytes),
                           "%s cut to %zu bytes", skn_messages[k]->name, bytes);
            cut[bytes] = 0;
            free(cut);
        }
        uint8_t *longer = calloc(1, flat.bytes + 1);
        cr_assert(longer);
        memcpy(longer, flat.at, flat.bytes);
        cr_expect_null(read_flat(skn_messages[k], longer, flat.bytes + 1));
        void *whole = read_flat(skn_messages[k], longer, flat.bytes);
        cr_expect(whole, "%s", skn_messages[k]->name);
        skn_payload_drop(whole);
        free(longer);
        free(flat.at);
        skn_payload_drop(message);
    }
}

/* Every frame in the place of every other one. */
Test(words, frames_in_another_order_are_refused_unless_they_are_as_long)
{
    for (size_t k = 0; skn_messages[k]; k++) {
        void *message = full_message(skn_messages[k]);
        flat_t flat = flat_of(skn_messages[k], message);
        skn_wire_t wire;
        cr_assert_eq(skn_wire_split(flat.at, flat.bytes, &wire, NULL), SKN_OK);
        for (size_t a = 0; a < wire.frame_count; a++)
            for (size_t b = a + 1; b < wire.frame_count; b++) {
                skn_wire_t other = wire;
                void *got = NULL;
                other.frame[a] = wire.frame[b];
                other.frame[b] = wire.frame[a];
                bool same = wire.frame[a].bytes == wire.frame[b].bytes && a > 0;
                skn_status_t status =
                    skn_decode(skn_messages[k], other.frame, other.frame_count,
                               SKN_ORIGIN_PROCESS, scratch, pool, &got, NULL);
                cr_expect_eq(status == SKN_OK, same, "%s: %zu and %zu",
                             skn_messages[k]->name, a, b);
                skn_payload_drop(got);
            }
        free(flat.at);
        skn_payload_drop(message);
    }
}

/* From another process nobody can lend memory. */
Test(words, what_lends_memory_is_refused_from_a_peer)
{
    size_t lending = 0;
    for (size_t k = 0; skn_messages[k]; k++) {
        void *message = full_message(skn_messages[k]), *got = NULL;
        skn_wire_t wire;
        skn_error_t error = { 0 };
        bool lends = skn_schema_lends(skn_messages[k]);
        cr_assert_eq(
            skn_encode(skn_messages[k], message, scratch, &wire, &error),
            SKN_OK);
        flat_t header = { wire.frame[0].bytes, malloc(wire.frame[0].bytes) };
        memcpy(header.at, wire.frame[0].at, header.bytes);
        wire.frame[0].at = header.at; /* the scratch is used again */
        skn_status_t status =
            skn_decode(skn_messages[k], wire.frame, wire.frame_count,
                       SKN_ORIGIN_PEER, scratch, pool, &got, &error);
        cr_expect_eq(status, lends ? SKN_BAD_MESSAGE : SKN_OK, "%s: %s",
                     skn_messages[k]->name, error.text);
        lending += lends;
        skn_payload_drop(got);
        free(header.at);
        skn_payload_drop(message);
    }
    cr_expect_eq(lending, 3); /* gradient, lease, dirty */
}
