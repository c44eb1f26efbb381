/* test_misuse_kinds.c - tests wrong calls and wrong tables of a kind: the actor
 * or the topology fails with the place, and nothing crashes.
 *
 * Covers actors/kinds/kind_check.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "skein/topology.h"

TestSuite(misuse_kinds, .timeout = 60);

static skn_error_t error;

#define FIELDS_note(F, M)                                                      \
    F(M, u64, batch, UINT64_MAX, "a number")                                   \
    F(M, str, text, 16, "a text")
SKN_MESSAGE_STRUCT(note, FIELDS_note)
SKN_MESSAGE_SCHEMA(note, "note", 1000, FIELDS_note, "goes nowhere")

/* --- functions for kinds -------------------------------------------------- */

typedef skn_status_t abuse_t(skn_actor_t *actor, skn_error_t *e);

static skn_status_t
unknown_bool(skn_actor_t *actor, skn_error_t *e)
{
    (void)e;
    return skn_actor_option_bool(actor, "nosuch") ? SKN_INTERNAL : SKN_OK;
}

static skn_status_t
unknown_int(skn_actor_t *actor, skn_error_t *e)
{
    (void)e;
    return skn_actor_option_int(actor, "nosuch") ? SKN_INTERNAL : SKN_OK;
}

static skn_status_t
unknown_real(skn_actor_t *actor, skn_error_t *e)
{
    (void)e;
    return skn_actor_option_real(actor, "nosuch") != 0 ? SKN_INTERNAL : SKN_OK;
}

static skn_status_t
unknown_text(skn_actor_t *actor, skn_error_t *e)
{
    (void)e;
    return skn_actor_option_text(actor, "")[0] ? SKN_INTERNAL : SKN_OK;
}

static skn_status_t
null_option(skn_actor_t *actor, skn_error_t *e)
{
    (void)e;
    return skn_actor_option_text(actor, NULL)[0] ? SKN_INTERNAL : SKN_OK;
}

static skn_status_t
text_as_int(skn_actor_t *actor, skn_error_t *e)
{
    (void)e;
    return skn_actor_option_int(actor, "call") ? SKN_INTERNAL : SKN_OK;
}

static skn_status_t
int_as_text(skn_actor_t *actor, skn_error_t *e)
{
    (void)e;
    return skn_actor_option_text(actor, "number")[0] ? SKN_INTERNAL : SKN_OK;
}

/* A failure of its own comes from the misuse: that is what is told. */
static skn_status_t
int_as_real(skn_actor_t *actor, skn_error_t *e)
{
    return skn_actor_option_real(actor, "number") != 0
               ? SKN_OK
               : skn_fail(e, SKN_BAD_DATA, "the number is 0");
}

static skn_status_t
no_timer(skn_actor_t *actor, skn_error_t *e)
{
    (void)e;
    skn_actor_alarm(actor, 7, 1);
    return SKN_OK;
}

static skn_status_t
periodic_timer(skn_actor_t *actor, skn_error_t *e)
{
    (void)e;
    skn_actor_alarm(actor, 0, 1);
    return SKN_OK;
}

static skn_status_t
await_null(skn_actor_t *actor, skn_error_t *e)
{
    (void)e;
    skn_actor_report_blocked(actor, NULL, 1, NULL, 2);
    return SKN_OK;
}

static skn_status_t
message_of_null(skn_actor_t *actor, skn_error_t *e)
{
    return skn_actor_message(actor, NULL, NULL, e) ? SKN_OK : e->status;
}

static skn_status_t
message_without_counts(skn_actor_t *actor, skn_error_t *e)
{
    return skn_actor_message(actor, &note_schema, NULL, e) ? SKN_OK : e->status;
}

static skn_status_t
post_null(skn_actor_t *actor, skn_error_t *e)
{
    return skn_actor_post(actor, NULL, e);
}

static skn_status_t
send_null(skn_actor_t *actor, skn_error_t *e)
{
    return skn_actor_send(actor, &note_schema, NULL, e);
}

static skn_status_t
clock_not_handled(skn_actor_t *actor, skn_error_t *e)
{
    return skn_actor_ask_clock(actor, 1, e);
}

static skn_status_t
tell_null(skn_actor_t *actor, skn_error_t *e)
{
    const char *volatile none = NULL;
    return skn_actor_send_event(actor, e, none, 0);
}

static skn_status_t
tell_words(skn_actor_t *actor, skn_error_t *e)
{
    return skn_actor_send_event(actor, e, "not json at all\nsecond line");
}

static skn_status_t
tell_two_lines(skn_actor_t *actor, skn_error_t *e)
{
    return skn_actor_send_event(actor, e, "{\"a\":1}\n{\"b\":2}");
}

static skn_status_t
tell_too_much(skn_actor_t *actor, skn_error_t *e)
{
    return skn_actor_send_event(actor, e, "{\"a\":\"%070000d\"}", 1);
}

static const struct {
    const char *name, *sentence;
    abuse_t *abuse;
} abuses[] = {
    { "unknown_bool",
      "calls skn_actor_option_bool for option "
      "'nosuch', which the kind does not have",
      unknown_bool },
    { "unknown_int", "skn_actor_option_int for option 'nosuch'", unknown_int },
    { "unknown_real", "skn_actor_option_real for option 'nosuch'",
      unknown_real },
    { "unknown_text", "skn_actor_option_text for option ''", unknown_text },
    { "null_option", "skn_actor_option_text without an option's name",
      null_option },
    { "text_as_int",
      "skn_actor_option_int for option 'call', which is a text: use "
      "skn_actor_option_text",
      text_as_int },
    { "int_as_text",
      "option 'number', which is an integer: use skn_actor_option_int",
      int_as_text },
    { "int_as_real",
      "calls skn_actor_option_real for option 'number', which is an integer",
      int_as_real },
    { "no_timer", "calls skn_actor_alarm for timer 7", no_timer },
    { "periodic_timer", "calls skn_actor_alarm for timer 0", periodic_timer },
    { "await_null", "calls skn_actor_report_blocked with NULL", await_null },
    { "message_of_null", "skn_actor_message: the schema is NULL",
      message_of_null },
    { "message_without_counts",
      "makes a message 'note' without counts, and field 'text' needs one",
      message_without_counts },
    { "post_null", "skn_actor_post: the message is NULL", post_null },
    { "send_null", "skn_actor_send: the message is NULL", send_null },
    { "clock_not_handled", "asks for the clock, but has no handler of 'clock'",
      clock_not_handled },
    { "tell_null", "skn_actor_send_event: the format is NULL", tell_null },
    { "tell_words",
      "sent an event that is not one JSON object "
      "on one line; it has no '{' at its start, at byte 0: not json at all",
      tell_words },
    { "tell_two_lines", "it has more after its object, at byte 7: {\"a\":1}",
      tell_two_lines },
    { "tell_too_much", "sent an event of 70008 bytes, at most 65535 allowed",
      tell_too_much },
};
#define ABUSES (sizeof(abuses) / sizeof(abuses[0]))

static skn_status_t
abuse(skn_actor_t *actor, skn_error_t *e)
{
    for (size_t k = 0; k < ABUSES; k++)
        if (strcmp(abuses[k].name, skn_actor_option_text(actor, "call")) == 0)
            return abuses[k].abuse(actor, e);
    return SKN_OK;
}

/* In which of its hooks the actor calls: 0 open, 1 start, 2 produce, 3 timer,
 * 4 drain. */
static skn_status_t
abuse_in(int64_t hook, skn_actor_t *actor, skn_error_t *e)
{
    return skn_actor_option_int(actor, "number") == hook ? abuse(actor, e)
                                                         : SKN_OK;
}

static skn_status_t
abuse_open(skn_actor_t *actor, void *state, skn_error_t *e)
{
    (void)state;
    return abuse_in(0, actor, e);
}

static skn_status_t
abuse_start(skn_actor_t *actor, void *state, skn_error_t *e)
{
    (void)state;
    return abuse_in(1, actor, e);
}

static skn_status_t
abuse_produce(skn_actor_t *actor, void *state, skn_error_t *e)
{
    (void)state;
    if (skn_actor_option_int(actor, "number") == 3)
        skn_actor_rest(actor); /* until the timer */
    else
        skn_actor_finish(actor);
    return abuse_in(2, actor, e);
}

static skn_status_t
abuse_tick(skn_actor_t *actor, void *state, skn_error_t *e)
{
    (void)state;
    if (skn_actor_option_int(actor, "number") == 3)
        skn_actor_finish(actor); /* else it may be due before the first turn */
    return abuse_in(3, actor, e);
}

static skn_status_t
abuse_drain(skn_actor_t *actor, void *state, skn_error_t *e)
{
    (void)state;
    return abuse_in(4, actor, e);
}

static void
abuse_close(skn_actor_t *actor, void *state)
{
    skn_error_t e = { 0 };
    (void)state;
    (void)abuse_in(5, actor, &e);
}

static const skn_option_t abuser_options[] = {
    { "call", SKN_OPTION_TEXT, "", 0, 0, NULL, "what it does wrongly" },
    { "number", SKN_OPTION_INT, "0", 0, 9, NULL, "in which hook" },
    { 0 },
};
static const skn_timer_t abuser_timers[] = { { "tick", 1, abuse_tick }, { 0 } };
static const skn_kind_t abuser =
    SKN_KIND(.name = "abuser", .options = abuser_options,
             .timers = abuser_timers, .open = abuse_open, .start = abuse_start,
             .produce = abuse_produce, .drain = abuse_drain,
             .close = abuse_close);

/* Runs kinds; the status of new, start or wait, whichever fails first. */
static skn_status_t
run(const skn_kind_t *kind, const char *options)
{
    const skn_kind_t *const kinds[] = { kind, NULL };
    char yaml[512];
    (void)snprintf(yaml, sizeof(yaml),
                   "skein: 1\ntopology:\n  name: t\n  actors:\n"
                   "    - { name: a, kind: %s%s%s }\n",
                   kind->name, options ? ", options: " : "",
                   options ? options : "");
    error = (skn_error_t){ 0 };
    skn_topology_t *topology = skn_topology_new(yaml, "t", kinds, &error);
    if (!topology)
        return error.status;
    skn_status_t status = skn_topology_start(topology, NULL, &error);
    if (status == SKN_OK)
        status = skn_topology_wait(topology, &error);
    skn_topology_destroy(&topology);
    return status;
}

Test(misuse_kinds, of_a_function_for_kinds_fails_the_actor_with_the_place)
{
    static const char where[] = "a (abuser, in its ";
    char options[128];
    for (size_t k = 0; k < ABUSES; k++)
        for (int hook = 0; hook < 5; hook++) {
            (void)snprintf(options, sizeof(options), "{ call: %s, number: %d }",
                           abuses[k].name, hook);
            cr_expect_eq(run(&abuser, options), SKN_USAGE, "%s", options);
            cr_expect(strstr(error.text, abuses[k].sentence), "%s: %s", options,
                      error.text);
            cr_expect_eq(strncmp(error.text, where, strlen(where)), 0, "%s",
                         error.text);
        }
    cr_expect_eq(run(&abuser, "{ call: no_timer, number: 5 }"), SKN_USAGE,
                 "in close");
    cr_expect_eq(run(&abuser, "{ number: 4 }"), SKN_OK, "%s", error.text);
}

static skn_status_t
start_alarm(skn_actor_t *actor, void *state, skn_error_t *e)
{
    (void)state, (void)e;
    skn_actor_alarm(actor, 0, 1);
    return skn_actor_option_int(actor, "nosuch") == 0 ? SKN_OK : SKN_INTERNAL;
}

/* Without any table at all. */
Test(misuse_kinds, of_a_kind_without_options_and_timers_is_refused)
{
    static const skn_kind_t bare =
        SKN_KIND(.name = "bare", .start = start_alarm);
    cr_expect_eq(run(&bare, NULL), SKN_USAGE);
    cr_expect(strstr(error.text, "skn_actor_alarm for timer 0"), "%s",
              error.text);
}

/* --- tables of kinds ------------------------------------------------------ */

static skn_status_t
nothing(skn_actor_t *actor, void *state, skn_error_t *e)
{
    (void)actor, (void)state, (void)e;
    return SKN_OK;
}

static skn_status_t
take(skn_actor_t *actor, void *state, const void *message, skn_error_t *e)
{
    (void)actor, (void)state, (void)message, (void)e;
    return SKN_OK;
}

static const skn_option_t no_type[] = { { "o", (skn_option_type_t)9, "0", 0, 0,
                                          NULL, "" },
                                        { 0 } };
static const skn_option_t no_choice[] = { { "o", SKN_OPTION_CHOICE, "a", 0, 0,
                                            NULL, "" },
                                          { 0 } };
static const skn_option_t twice[] = {
    { "o", SKN_OPTION_INT, "0", 0, 0, NULL, "" },
    { "o", SKN_OPTION_INT, "0", 0, 0, NULL, "" },
    { 0 }
};
static const skn_option_t no_default[] = { { "o", SKN_OPTION_INT, "x", 0, 0,
                                             NULL, "" },
                                           { 0 } };
static const skn_handler_t no_function[] = { { &note_schema, NULL, NULL },
                                             { 0 } };
static const skn_handler_t two_functions[] = { { &note_schema, take, NULL },
                                               { &note_schema, take, NULL },
                                               { 0 } };
static const skn_timer_t five[] = { { "a", 1, nothing }, { "b", 1, nothing },
                                    { "c", 1, nothing }, { "d", 1, nothing },
                                    { "e", 1, nothing }, { 0 } };
static const skn_timer_t no_fire[] = { { "a", 1, NULL }, { 0 } };
static const skn_schema_t nameless = { .id = 1001, .struct_bytes = 8 };
static const skn_schema_t lost = { .name = "lost",
                                   .id = 1002,
                                   .struct_bytes = 8,
                                   .help = "",
                                   .field_count = 3 };
static const skn_field_t beside[] = { { "f", SKN_FIELD_u64, 4, 1, "" } };
static const skn_schema_t short_one = { .name = "short",
                                        .id = 1003,
                                        .struct_bytes = 8,
                                        .help = "",
                                        .fields = beside,
                                        .field_count = 1 };
static const skn_coded_field_t rowless[] = {
    { "f", SKN_CODED_values, "gone", NULL, false },
    { NULL, SKN_CODED_values, NULL, NULL, false }
};
static const skn_field_t values[] = { { "f", SKN_FIELD_f32s, 0, 9, "" } };
static const skn_schema_t coded = { .name = "coded",
                                    .id = 1004,
                                    .struct_bytes = sizeof(skn_f32s_t),
                                    .help = "",
                                    .fields = values,
                                    .field_count = 1,
                                    .coded = rowless };
static const skn_schema_t *const notes[] = { &note_schema, NULL };
static const skn_schema_t *const bad[][2] = { { &nameless, NULL },
                                              { &lost, NULL },
                                              { &short_one, NULL },
                                              { &coded, NULL } };
static const struct {
    skn_kind_t kind;
    const char *sentence;
} tables[] = {
    { SKN_KIND(.name = "k", .options = no_type),
      "kind 'k': option 'o' has the unknown type 9" },
    { SKN_KIND(.name = "k", .options = no_choice),
      "kind 'k': option 'o' lists no choices" },
    { SKN_KIND(.name = "k", .options = twice),
      "kind 'k': two options are called 'o'" },
    { SKN_KIND(.name = "k", .options = no_default),
      "the fallback 'x' of option 'o'" },
    { SKN_KIND(.name = "k", .handlers = no_function),
      "kind 'k': the handler of 'note' is NULL" },
    { SKN_KIND(.name = "k", .handlers = two_functions),
      "kind 'k' has two handlers of 'note'" },
    { SKN_KIND(.name = "k", .timers = five),
      "kind 'k' has more than 4 timers" },
    { SKN_KIND(.name = "k", .timers = no_fire),
      "kind 'k': the function of timer 'a' is NULL" },
    { SKN_KIND(.name = "k", .sends = bad[0]),
      "kind 'k': the name of message id 1001 is not valid" },
    { SKN_KIND(.name = "k", .sends = bad[1]),
      "kind 'k': message lost: 3 fields, but no table" },
    { SKN_KIND(.name = "k", .sends = bad[2]),
      "kind 'k': message short: f is outside of its struct" },
    { SKN_KIND(.name = "k", .sends = bad[3]),
      "kind 'k': message coded: the rows of f are given by gone" },
    { SKN_KIND(.name = "k", .gathers = notes),
      "kind 'k': 'note' of `gathers` has no handler" },
    { SKN_KIND(.name = "k", .needs = notes),
      "kind 'k': 'note' of `needs` has no handler" },
    { SKN_KIND(.name = ""), "a kind of actor has no name" },
};

Test(misuse_kinds, of_a_table_is_refused_with_the_kind_and_the_entry)
{
    for (size_t k = 0; k < sizeof(tables) / sizeof(tables[0]); k++) {
        cr_expect_eq(run(&tables[k].kind, NULL), SKN_BAD_CONFIG, "%zu", k);
        cr_expect(strstr(error.text, tables[k].sentence), "%s: %s",
                  tables[k].sentence, error.text);
    }
}
