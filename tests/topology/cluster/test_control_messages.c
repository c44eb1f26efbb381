/* test_control_messages.c - tests the messages between coordinator and members:
 * every kind is written, read back and checked, and documented.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "topology/cluster/control_messages.h"
#include "formats/text/json_text.h"

static skn_status_t
read_text(const char *text, skn_control_message_t *message, skn_error_t *error)
{
    const skn_frame_t frame = { text, strlen(text) };
    return skn_control_message_read(frame, message, error);
}

/* An object with a value in each field of a kind. */
static json_t *
example_of(const skn_control_description_t *kind)
{
    static const char *const values[] = {
        [SKN_JSON_TYPE_U64] = "12",        [SKN_JSON_TYPE_REAL] = "1.5",
        [SKN_JSON_TYPE_FLAG] = "true",     [SKN_JSON_TYPE_TEXT] = "\"word\"",
        [SKN_JSON_TYPE_TEXTS] = "[\"a\"]", [SKN_JSON_TYPE_ANY] = "[1]",
        [SKN_JSON_TYPE_LIST] = "[]",
    };
    json_t *object = json_pack("{ss}", "type", kind->word);
    for (size_t k = 0; kind->record && k < kind->record->field_count; k++)
        (void)json_object_set_new(
            object, kind->record->fields[k].name,
            json_loads(values[kind->record->fields[k].type], JSON_DECODE_ANY,
                       NULL));
    return object;
}

static skn_status_t
read_object(const json_t *object, skn_control_message_t *message,
            skn_error_t *error)
{
    char *text = skn_json_write(object, JSON_COMPACT);
    cr_assert(text);
    skn_status_t status = read_text(text, message, error);
    free(text);
    return status;
}

/* Written text is parsed into an object equal to the one that was read; and a
 * field that has to be there is missed. */
Test(control_messages, every_kind_survives_the_line_and_needs_its_fields)
{
    for (skn_control_message_kind_t kind = 0; kind < SKN_CONTROL_MESSAGE_KINDS;
         kind++) {
        const skn_control_description_t *is =
            skn_control_message_describe(kind);
        if (!is) {
            cr_expect_eq(kind, SKN_CONTROL_MESSAGE_UNKNOWN);
            continue;
        }
        json_t *object = example_of(is);
        skn_control_message_t message;
        skn_error_t error = { 0 };
        cr_assert_eq(read_object(object, &message, &error), SKN_OK, "%s",
                     error.text);
        cr_expect_eq(message.kind, kind);
        char *text = skn_control_message_write(&message);
        json_t *again = skn_json_read(text);
        cr_expect(json_equal(object, again), "%s", text);
        json_decref(again);
        free(text);
        skn_control_message_fini(&message);
        for (size_t k = 0; is->record && k < is->record->field_count; k++) {
            if (is->record->fields[k].optional)
                continue;
            json_t *less = json_copy(object);
            (void)json_object_del(less, is->record->fields[k].name);
            cr_expect_eq(read_object(less, &message, &error), SKN_BAD_MESSAGE,
                         "%s without %s", is->word, is->record->fields[k].name);
            cr_expect(strstr(error.text, is->word), "%s", error.text);
            skn_control_message_fini(&message);
            json_decref(less);
        }
        json_decref(object);
    }
}

Test(control_messages, what_is_not_a_message_is_refused)
{
    static const char *const texts[] = {
        "",           "[]",
        "1",          "{",
        "{\"a\":1}x", "{\"type\":\"leaving\",\"type\":\"leaving\"}",
        "{}",         "{\"type\":5}",
        "\xff\xfe",   "{\"x\":\"leaving\"}",
    };
    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
        skn_error_t error = { 0 };
        skn_control_message_t message;
        cr_expect_eq(read_text(texts[k], &message, &error), SKN_BAD_MESSAGE,
                     "%s", texts[k]);
        skn_control_message_fini(&message);
    }
}

/* Bytes of each kind that were changed, cut and repeated: read or refused, and
 * what is read can be written. Sanitizers watch. */
Test(control_messages, damaged_messages_are_read_or_refused)
{
    uint32_t random = 1, accepted = 0;
    for (skn_control_message_kind_t kind = 1; kind < SKN_CONTROL_MESSAGE_KINDS;
         kind++) {
        json_t *object = example_of(skn_control_message_describe(kind));
        char *text = skn_json_write(object, JSON_COMPACT);
        size_t length = strlen(text);
        for (int round = 0; round < 400; round++) {
            char bytes[2048];
            cr_assert_lt(length, sizeof(bytes));
            memcpy(bytes, text, length);
            for (int k = 0; k < 1 + round % 3; k++) {
                random = random * 1664525u + 1013904223u; /* Knuth's LCG */
                bytes[(random >> 8) % length] = (char)(random >> 24);
            }
            size_t kept = round % 4 ? length : (random >> 8) % length;
            char *exact = malloc(kept + 1); /* a sanitizer sees its end */
            cr_assert(exact);
            memcpy(exact, bytes, kept);
            skn_error_t error = { 0 };
            skn_control_message_t message;
            if (skn_control_message_read((skn_frame_t){ exact, kept }, &message,
                                         &error) == SKN_OK) {
                char *again = skn_control_message_write(&message);
                accepted += again != NULL;
                free(again);
            } else {
                cr_assert_eq(error.status, SKN_BAD_MESSAGE);
            }
            skn_control_message_fini(&message);
            free(exact);
        }
        free(text);
        json_decref(object);
    }
    cr_expect_gt(accepted, 0);
}

Test(control_messages, newer_types_are_ignored_and_older_versions_named)
{
    skn_error_t error = { 0 };
    skn_control_message_t message;
    cr_expect_eq(read_text("{\"type\":\"newer\",\"x\":1}", &message, &error),
                 SKN_OK);
    cr_expect_eq(message.kind, SKN_CONTROL_MESSAGE_UNKNOWN);
    skn_control_message_fini(&message);
    cr_expect_eq(
        read_text("{\"say\":\"hello\",\"version\":2}", &message, &error),
        SKN_BAD_MESSAGE);
    cr_expect(strstr(error.text, "protocol version 2"), "%s", error.text);
    cr_expect(strstr(error.hint, "install the same version"), "%s", error.hint);
    skn_control_message_fini(&message);
}

Test(control_messages, how_a_worker_ended_is_a_word_or_a_printable_error)
{
    skn_error_t error = { 0 };
    const skn_control_ended_t done = { .how = "done", .text = "x", .hint = "" };
    cr_assert_eq(skn_control_message_ending(&done, &error), SKN_ENDING_DONE);
    cr_assert_eq(error.status, SKN_OK);
    const skn_control_ended_t failed = { .how = "failed",
                                         .code = 65,
                                         .text = "red \x1b[31m\nfake: done",
                                         .hint = "\x07" };
    cr_assert_eq(skn_control_message_ending(&failed, &error),
                 SKN_ENDING_FAILED);
    cr_assert_eq(error.status, SKN_BAD_DATA);
    cr_assert_str_eq(error.text, "red \\x1b[31m\\nfake: done");
    cr_assert_str_eq(error.hint, "\\x07");
}

Test(control_messages, sets_of_nodes_are_names)
{
    static const skn_model_node_t nodes[] = { { .name = "a" },
                                              { .name = "b" },
                                              { .name = "c" } };
    const skn_model_t model = { .nodes = nodes, .node_count = 3 };
    for (uint64_t set = 0; set < 8; set++) {
        json_t *names = skn_control_node_names(&model, set);
        cr_assert_eq(json_array_size(names), (size_t)__builtin_popcountll(set));
        cr_assert_eq(skn_control_node_set(&model, names), set);
        json_decref(names);
    }
    json_t *odd = skn_json_read("[\"c\",7,null,\"d\",\"c\"]");
    cr_assert_eq(skn_control_node_set(&model, odd), 4);
    json_decref(odd);
    cr_assert_eq(skn_control_node_set(&model, NULL), 0);
}

/* --- the page ------------------------------------------------------------- */

static void
add_fields(FILE *file, const skn_json_record_t *record)
{
    for (size_t k = 0; record && k < record->field_count; k++) {
        const skn_json_field_t *field = &record->fields[k];
        (void)fprintf(file, "| | `%s`%s | %s%s |\n", field->name,
                      field->optional ? "?" : "", field->help,
                      field->item ? ", see below" : "");
    }
}

static void
add_table(FILE *file, bool is_member)
{
    (void)fprintf(file, "| %s | Field | Meaning |\n|---|---|---|\n",
                  is_member ? "From a member" : "From the coordinator");
    for (skn_control_message_kind_t kind = 1; kind < SKN_CONTROL_MESSAGE_KINDS;
         kind++) {
        const skn_control_description_t *is =
            skn_control_message_describe(kind);
        if (is->is_member != is_member)
            continue;
        (void)fprintf(file, "| `%s` | | %s |\n", is->word, is->when);
        add_fields(file, is->record);
    }
    (void)fputc('\n', file);
}

/* The tables of the page are those of the header, in full. Where this fails,
 * the text that is wanted is written to $SKEIN_PROTOCOL_TABLES. */
Test(control_messages, the_page_has_every_message_and_field)
{
    char *want = NULL;
    static char page[200000];
    size_t bytes = 0;
    FILE *file = open_memstream(&want, &bytes);
    cr_assert(file);
    add_table(file, true);
    add_table(file, false);
    (void)fputs(
        "| An item of `checkpoints` | Field | Meaning |\n|---|---|---|\n",
        file);
    add_fields(file, &skn_control_checkpoint_record);
    (void)fputs("\n| An item of `nodes` | Field | Meaning |\n|---|---|---|\n",
                file);
    add_fields(file, &skn_control_node_record);
    cr_assert_eq(fclose(file), 0);
    file = fopen("docs/reference/elastic-protocol.md", "r");
    cr_assert(file);
    page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
    (void)fclose(file);
    const char *path = getenv("SKEIN_PROTOCOL_TABLES");
    if (path && (file = fopen(path, "w"))) {
        (void)fputs(want, file);
        (void)fclose(file);
    }
    cr_expect(strstr(page, want),
              "docs/reference/elastic-protocol.md: SKEIN_PROTOCOL_TABLES=FILE "
              "writes the tables that belong there");
    free(want);
}
