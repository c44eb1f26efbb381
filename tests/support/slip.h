/* slip.h - a test conversation with one actor, in which one message is wrong.
 *
 *     { "batch", 1, "rows=5 offset[2]=9 value#2", SKN_BAD_MESSAGE, "..." }
 *
 * A test plays the peers of an actor correctly (tests/support/actor_probe.h)
 * and posts every message through slip_post. A row of its table names a type of
 * message, the number of the one to change (from 0), the change, and how the
 * run must end: with a status and exactly this message, or without an error.
 * Parts of an edit:
 *
 *     name=NUMBER     a number of the message      name[K]=NUMBER   an item
 *     name#COUNT      items of a run               twice            again
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SLIP_H
#define TESTS_SUPPORT_SLIP_H

#include "tests/support/actor_probe.h"
#include "transport/message/field.h"
#include "transport/message/payload.h"

/* Room behind each run, so that an edit may make it longer. */
#define SLIP_SPARE_ITEMS 8

typedef struct slip {
    const char *message;
    uint32_t turn;
    const char *edit;
    skn_status_t status;
    const char *says;
} slip_t;

static struct {
    const slip_t *row; /* NULL: all goes well */
    uint32_t turn;     /* messages of its name that were posted */
} slip;

/* The probe stands around an actor of `kind`: messages to it, and from it; both
 * lists end with NULL. */
static inline void
take_part(const skn_kind_t *kind, const char *const *to,
          const char *const *from)
{
    probe.kind = kind;
    for (size_t k = 0; to[k]; k++)
        probe.to[k] = to[k];
    for (size_t k = 0; from[k]; k++)
        probe.from[k] = from[k];
}

/* A message with room to spare, whose spare items are 0. */
static inline void *
slip_message(skn_actor_t *actor, const skn_schema_t *schema,
             const size_t *counts, skn_error_t *error)
{
    size_t rooms[SKN_FIELDS_MAX] = { 0 };
    size_t room = 0;
    for (size_t k = 0; k < schema->field_count; k++)
        if (skn_field_has_room(schema->fields[k].kind)) {
            rooms[room] = counts[room] + SLIP_SPARE_ITEMS;
            room++;
        }
    void *message = skn_actor_message(actor, schema, rooms, error);
    room = 0;
    for (size_t k = 0; message && k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        size_t item_bytes = skn_field_item_bytes(field->kind);
        if (item_bytes > 0) {
            skn_run_t run = skn_field_run(field, message);
            memset(run.at, 0, run.count * item_bytes);
            run.count = counts[room];
            skn_field_set(field, message, &run, sizeof(run));
        }
        room += skn_field_has_room(field->kind);
    }
    return message;
}

static inline void
slip_set_item(const skn_field_t *field, void *message, size_t item,
              const char *number)
{
    skn_run_t run = skn_field_run(field, message);
    uint32_t whole = (uint32_t)strtoul(number, NULL, 0);
    float real = strtof(number, NULL);
    uint8_t byte = (uint8_t)whole;
    char *at = (char *)run.at + item * skn_field_item_bytes(field->kind);
    if (field->kind == SKN_FIELD_f32s)
        memcpy(at, &real, sizeof(real));
    else if (field->kind == SKN_FIELD_bytes)
        memcpy(at, &byte, sizeof(byte));
    else
        memcpy(at, &whole, sizeof(whole));
}

static inline void
slip_set_number(const skn_field_t *field, void *message, const char *number)
{
    uint64_t whole = strtoull(number, NULL, 0);
    uint32_t narrow = (uint32_t)whole;
    double real = strtod(number, NULL);
    if (field->kind == SKN_FIELD_u32)
        skn_field_set(field, message, &narrow, sizeof(narrow));
    else if (field->kind == SKN_FIELD_f64)
        skn_field_set(field, message, &real, sizeof(real));
    else
        skn_field_set(field, message, &whole, sizeof(whole));
}

static inline void
slip_edit_word(const skn_schema_t *schema, void *message, const char *word)
{
    size_t letters = strcspn(word, "=[#");
    const skn_field_t *field = NULL;
    for (size_t k = 0; k < schema->field_count; k++)
        if (strlen(schema->fields[k].name) == letters &&
            strncmp(schema->fields[k].name, word, letters) == 0)
            field = &schema->fields[k];
    cr_assert(field, "%s has no field for '%s'", schema->name, word);
    const char *rest = word + letters;
    if (*rest == '=') {
        slip_set_number(field, message, rest + 1);
    } else if (*rest == '#') {
        skn_run_t run = skn_field_run(field, message);
        size_t count = strtoul(rest + 1, NULL, 10);
        cr_assert_leq(count, run.count + SLIP_SPARE_ITEMS, "%s", word);
        run.count = count;
        skn_field_set(field, message, &run, sizeof(run));
    } else {
        char *end = NULL;
        size_t item = strtoul(rest + 1, &end, 10);
        slip_set_item(field, message, item, end + strlen("]="));
    }
}

/* Posts `message`, changed and repeated as the row in work says. */
static inline skn_status_t
slip_post(skn_actor_t *actor, void *message, skn_error_t *error)
{
    if (!message)
        return error->status;
    const skn_schema_t *schema = skn_payload_of(message)->schema;
    const slip_t *row = slip.row;
    char words[256];
    char *rest = NULL;
    if (!row || strcmp(row->message, schema->name) != 0 ||
        slip.turn++ != row->turn)
        return skn_actor_post(actor, message, error);
    (void)snprintf(words, sizeof(words), "%s", row->edit);
    for (char *word = strtok_r(words, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        if (strcmp(word, "twice") == 0) {
            skn_status_t status = skn_actor_send(actor, schema, message, error);
            if (status != SKN_OK)
                return status;
        } else {
            slip_edit_word(schema, message, word);
        }
    }
    return skn_actor_post(actor, message, error);
}

/* Runs the conversation once well and once for each row. `reset` brings the
 * test's own state back to its start. */
static inline void
slip_run_all(const slip_t *rows, size_t row_count, void (*reset)(void))
{
    for (size_t k = 0; k <= row_count; k++) {
        const slip_t *row = k > 0 ? &rows[k - 1] : NULL;
        slip.row = row;
        slip.turn = 0;
        memset(&probe.error, 0, sizeof(probe.error));
        reset();
        probe_run();
        skn_status_t want = row ? row->status : SKN_OK;
        const char *says = row && row->says ? row->says : "";
        cr_expect_eq(probe.status, want, "%s %u: %s: status %d, '%s'",
                     row ? row->message : "well", row ? row->turn : 0,
                     row ? row->edit : "", (int)probe.status, probe.error.text);
        cr_expect_str_eq(probe_said(says), says, "%s %u: %s: says\n%s\nnot\n%s",
                         row ? row->message : "well", row ? row->turn : 0,
                         row ? row->edit : "", probe.error.text, says);
        cr_expect(!row || slip.turn > row->turn, "%s %u was never posted",
                  row ? row->message : "", row ? row->turn : 0);
    }
}

#define SLIP_RUN(rows, reset)                                                  \
    slip_run_all(rows, sizeof(rows) / sizeof((rows)[0]), reset)

#endif
