/* contract_words.c - tests the printed line and the bytes of every message of
 * the pipelines.
 *
 * Compares the line that a log shows for each message, letter for letter: for
 * an empty one, and for one with a value in every field. Then each bit of its
 * flat form is changed: a result that is not refused is a valid message. A
 * message that is added to actors/protocol/messages.h needs its lines here.
 * Covers transport/message/describe.c, transport/message/flat.c,
 * transport/message/walk.c and transport/message/codec.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/messages.h"
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

static char *
printed(const skn_schema_t *schema, const void *message)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    cr_assert(file);
    skn_print(schema, message, file);
    cr_assert_eq(fclose(file), 0);
    return text;
}

static const struct {
    const char *name, *empty, *full;
} lines[] = {
    { "batch",
      "batch{batch 0, floor 0, horizon 0, purpose 0, rows 0, offset[0], "
      "feature[0], value[0], distinct[0], distinct_offset[0], sample[0], "
      "weight[0]}",
      "batch{batch 1, floor 2, horizon 3, purpose 2, rows 5, offset[2] 7 8, "
      "feature[2] 7 8, value[2] 0.5 1, distinct[2] 7 8, distinct_offset[2] 7 "
      "8, sample[2] 7 8, weight[2] 0.5 1}" },
    { "labels",
      "labels{batch 0, floor 0, horizon 0, purpose 0, rows 0, offset[0], "
      "label[0], distinct[0]}",
      "labels{batch 1, floor 2, horizon 3, purpose 2, rows 5, offset[2] 7 8, "
      "label[2] 7 8, distinct[2] 7 8}" },
    { "activation",
      "activation{batch 0, floor 0, horizon 0, shard 0, purpose 0, rows 0, "
      "column_first 0, columns 0, value[0]}",
      "activation{batch 1, floor 2, horizon 3, shard 4, purpose 2, rows 6, "
      "column_first 7, columns 8, value[2] 0.5 1}" },
    { "partition",
      "partition{batch 0, shard 0, rows 0, node[0], greatest[0], sum[0]}",
      "partition{batch 1, shard 2, rows 3, node[2] 7 8, greatest[2] 0.5 1, "
      "sum[2] 0.5 1}" },
    { "output_gradient",
      "output_gradient{batch 0, shard 0, rows 0, column_first 0, columns 0, "
      "normalised 0, open[0], pushed[0], node[0], pull[0], push[0], "
      "changed[0]}",
      "output_gradient{batch 1, shard 2, rows 3, column_first 4, columns 5, "
      "normalised 1, open[2] 7 8, pushed[2] 7 8, node[2] 7 8, pull[2] 0.5 1, "
      "push[2] 0.5 1, changed[2] 0.5 1}" },
    { "hidden_gradient",
      "hidden_gradient{batch 0, shard 0, rows 0, column_first 0, columns 0, "
      "open[0], node[0], value[0], changed[0]}",
      "hidden_gradient{batch 1, shard 2, rows 3, column_first 4, columns 5, "
      "open[2] 7 8, node[2] 7 8, value[2] 0.5 1, changed[2] 0.5 1}" },
    { "gradient",
      "gradient{batch 0, unit[0], value[0], rows none, "
      "changed 0, square 0}",
      "gradient{batch 1, unit[2] 7 8, value[2] 0.5 1, rows lent, changed 1.25, "
      "square 1.5}" },
    { "lease", "lease{batch 0, rows none, unit[0], value[0], half[0], more 0}",
      "lease{batch 1, rows lent, unit[2] 7 8, value[2] 0.5 1, half[2] 300 "
      "301, more 1}" },
    { "applied", "applied{batch 0, purpose 0, shard 0, changed 0, square 0}",
      "applied{batch 1, purpose 2, shard 3, changed 1, square 1.25}" },
    { "result",
      "result{batch 0, shard 0, rows 0, loss 0, active 0, distinct 0, owned "
      "0, listed 0, capped 0, mass 0, recall 0}",
      "result{batch 1, shard 2, rows 3, loss 1, active 5, distinct 6, owned "
      "7, listed 8, capped 9, mass 2.5, recall 2.75}" },
    { "ranking",
      "ranking{batch 0, shard 0, purpose 0, rows 0, k 0, label[0], score[0], "
      "greatest[0], sum[0]}",
      "ranking{batch 1, shard 2, purpose 2, rows 4, k 5, label[2] 7 8, "
      "score[2] 0.5 1, greatest[2] 0.5 1, sum[2] 0.5 1}" },
    { "metrics",
      "metrics{purpose 0, rows 0, p1 0, p3 0, p5 0, psp1 0, psp3 0, psp5 0, "
      "ndcg3 0, ndcg5 0}",
      "metrics{purpose 1, rows 2, p1 0.75, p3 1, p5 1.25, psp1 1.5, psp3 "
      "1.75, psp5 2, ndcg3 2.25, ndcg5 2.5}" },
    { "go", "go{first 0, end 0, purpose 0}", "go{first 1, end 2, purpose 3}" },
    { "halt", "halt{batch 0}", "halt{batch 1}" },
    { "reached", "reached{batch 0, purpose 0, changed 0, square 0}",
      "reached{batch 1, purpose 2, changed 0.75, square 1}" },
    { "save", "save{batch 0, best 0, hash 0, metadata[0]}",
      "save{batch 1, best 1, hash 1, metadata[2] a5 a5}" },
    { "chunk",
      "chunk{batch 0, file \"\", tensor 0, offset_bytes 0, last 0, bytes[0]}",
      "chunk{batch 1, file \"a b\", tensor 3, offset_bytes 4, last 1, "
      "bytes[2] a5 a5}" },
    { "saved",
      "saved{batch 0, path \"\", weights_sha256 \"\", ledger 0, lost 0, "
      "applied_twice 0}",
      "saved{batch 1, path \"a b\", weights_sha256 \"a b\", ledger 1, lost 5, "
      "applied_twice 6}" },
    { "dirty", "dirty{batch 0, unit[0], value[0], rows none, last 0}",
      "dirty{batch 1, unit[2] 7 8, value[2] 0.5 1, rows lent, last 1}" },
    { "index", "index{batch 0, kind 0, shape[0], offset[0], unit[0]}",
      "index{batch 1, kind 2, shape[2] 7 8, offset[2] 7 8, unit[2] 7 8}" },
    { "tensor",
      "tensor{batch 0, file \"\", name \"\", dtype 0, dims 0, rows 0, "
      "columns 0, global_rows 0, global_columns 0, row_first 0, column_first "
      "0}",
      "tensor{batch 1, file \"a b\", name \"a b\", dtype 4, dims 2, rows 6, "
      "columns 7, global_rows 8, global_columns 9, row_first 10, "
      "column_first 11}" },
    { "issue", "issue{batch 0, floor 0, horizon 0, purpose 0, data 0}",
      "issue{batch 1, floor 2, horizon 3, purpose 2, data 5}" },
    { "want",
      "want{owner 0, name \"\", rows 0, columns 0, row_first 0, column_first "
      "0}",
      "want{owner 1, name \"a b\", rows 3, columns 4, row_first 5, "
      "column_first 6}" },
    { "restored",
      "restored{owner 0, batch 0, begun 0, begin 0, dtype 0, rows 0, columns "
      "0, row 0, bytes[0]}",
      "restored{owner 1, batch 2, begun 1, begin 1, dtype 5, rows 6, columns "
      "7, row 8, bytes[2] a5 a5}" },
    { "keep",
      "keep{step 0, batch 0, generation 0, best 0, restores 0, run \"\", "
      "manifest[0]}",
      "keep{step 1, batch 2, generation 3, best 1, restores 1, run \"a b\", "
      "manifest[2] a5 a5}" },
    { "kept", "kept{node 0, step 0, batch 0, failure \"\", list[0]}",
      "kept{node 1, step 2, batch 3, failure \"a b\", list[2] a5 a5}" },
    { "holding", "holding{node 0, file[0]}", "holding{node 1, file[2] 7 8}" },
    { "fetch",
      "fetch{to 0, from 0, ticket 0, sealed 0, piece 0, row 0, rows 0, column "
      "0, columns 0}",
      "fetch{to 1, from 2, ticket 3, sealed 1, piece 5, row 6, rows 7, column "
      "8, columns 9}" },
    { "fetched", "fetched{to 0, ticket 0, hash 0, failure \"\", bytes[0]}",
      "fetched{to 1, ticket 2, hash 3, failure \"a b\", bytes[2] a5 a5}" },
    { "clock",
      "clock{tag 0, wall_ns 0, cpu_ns 0, rss_bytes 0, wire_sent_bytes 0, "
      "wire_received_bytes 0}",
      "clock{tag 1, wall_ns 2, cpu_ns 3, rss_bytes 4, wire_sent_bytes 5, "
      "wire_received_bytes 6}" },
};

static const char *
line_of(const skn_schema_t *schema, bool full)
{
    for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++)
        if (strcmp(lines[k].name, schema->name) == 0)
            return full ? lines[k].full : lines[k].empty;
    return "a message without lines here";
}

Test(words, every_message_is_the_line_that_is_on_file)
{
    size_t count = 0;
    for (; skn_messages[count]; count++) {
        const skn_schema_t *schema = skn_messages[count];
        void *empty = skn_payload_new(pool, schema, NULL, NULL);
        void *full = full_message(schema);
        char *short_line = printed(schema, empty);
        char *long_line = printed(schema, full);
        cr_expect_str_eq(short_line, line_of(schema, false), "%s", short_line);
        cr_expect_str_eq(long_line, line_of(schema, true), "%s", long_line);
        free(short_line);
        free(long_line);
        skn_payload_drop(empty);
        skn_payload_drop(full);
    }
    cr_expect_eq(count, sizeof(lines) / sizeof(lines[0]));
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
    flat_t flat = { skn_wire_flat_bytes(&wire), NULL };
    flat.at = malloc(flat.bytes);
    cr_assert(flat.at);
    skn_wire_flatten(&wire, flat.at);
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

Test(words, an_id_is_read_back_from_every_header)
{
    for (size_t k = 0; skn_messages[k]; k++) {
        void *message = full_message(skn_messages[k]);
        skn_wire_t wire;
        uint32_t id = 0;
        cr_assert_eq(skn_encode(skn_messages[k], message, scratch, &wire, NULL),
                     SKN_OK);
        cr_expect_eq(skn_decode_id(wire.frame[0], &id, NULL), SKN_OK);
        cr_expect_eq(id, skn_messages[k]->id);
        cr_expect_eq(skn_schema_find(skn_messages, id, NULL), skn_messages[k]);
        skn_payload_drop(message);
    }
}
