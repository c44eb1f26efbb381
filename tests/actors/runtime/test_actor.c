/* test_actor.c - tests the life of an actor: hooks, timers, clock, restarts,
 * and its calls to the runtime (actors/runtime/self.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <jansson.h>

#include "tests/support/flow_fixture.h"

TestSuite(actor, .timeout = 60);

static flow_t flow;
static skn_error_t error;

/* --- a chain, and its last word ------------------------------------------ */

static skn_status_t
last_word(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)state;
    skn_status_t status = SKN_OK;
    for (uint64_t k = 0; k < 20 && status == SKN_OK; k++)
        status = flow_send(actor, &token_schema, k, 1000000, wrong);
    return status;
}
static const skn_kind_t speaker =
    SKN_KIND(.name = "speaker", .options = flow_options,
             .handlers = relay_handlers, .sends = token_sends,
             .drain = last_word);

Test(actor, a_chain_loses_no_message_at_either_end)
{
    uint32_t from = flow_actors(&flow, &maker, 1, 100000, 0);
    uint32_t middle = flow_actors(&flow, &relay, 3, 1, 0);
    uint32_t to = flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 64, from, 1, middle, 1);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 7, middle, 1, middle + 1,
              1);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 64, middle + 1, 1,
              middle + 2, 1);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 64, middle + 2, 1, to, 1);
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    for (uint32_t k = middle; k <= to; k++) {
        cr_expect_eq(flow_logs[k].count, 100000);
        cr_expect_eq(flow_logs[k].sum, UINT64_C(99999) * 100000 / 2);
        for (uint32_t i = 0; i < FLOW_LOG_MAX; i++)
            cr_assert_eq(flow_logs[k].entry[i], i);
    }
}

Test(actor, what_drain_sends_arrives)
{
    flow_actors(&flow, &maker, 1, 5, 0);
    flow_actors(&flow, &speaker, 1, 1, 0);
    flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 1, 0, 1, 1, 1);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 1, 1, 1, 2, 1);
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(flow_logs[2].count, 25);
    cr_expect_eq(flow_logs[2].entry[24], 1000000);
}

/* --- what an actor knows of itself --------------------------------------- */

static skn_status_t
introduce(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)state;
    skn_actor_finish(actor);
    return skn_actor_send_event(
        actor, wrong, "{\"name\":\"%s\",\"at\":[%u,%u],\"receivers\":[%u,%u]}",
        skn_actor_name(actor), skn_actor_index(actor), skn_actor_peers(actor),
        skn_actor_receivers(actor, &token_schema),
        skn_actor_receivers(actor, &reply_schema));
}
static const skn_kind_t guest =
    SKN_KIND(.name = "guest", .options = flow_options, .sends = token_sends,
             .start = introduce);

Test(actor, an_actor_knows_its_name_its_place_and_its_receivers)
{
    flow_actors(&flow, &guest, 1, 0, 0);
    flow.actors[0].index = 3;
    flow.actors[0].peers = 7;
    flow_actors(&flow, &sink, 5, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_BROADCAST, 1, 0, 1, 1, 5);
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(flow_event_count, 1);
    cr_expect_str_eq(flow_events[0],
                     "{\"name\":\"guest.0\",\"at\":[3,7],\"receivers\":[5,0]}");
}

/* --- produce ------------------------------------------------------------- */

/* Rests after each token until an echo wakes it: exactly one is in flight. */
typedef struct pacer {
    uint64_t sent, heard, most;
} pacer_t;

static skn_status_t
pacer_produce(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    pacer_t *pacer = state;
    uint64_t n = (uint64_t)skn_actor_option_int(actor, "n");
    if (pacer->heard == n) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    if (pacer->sent > pacer->heard || pacer->sent == n) {
        skn_actor_rest(actor);
        return SKN_OK;
    }
    pacer->sent++;
    flow_note(actor, pacer->sent - pacer->heard);
    return flow_send(actor, &token_schema, pacer->sent, pacer->sent, wrong);
}
static skn_status_t
pacer_reply(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *wrong)
{
    (void)actor, (void)message, (void)wrong;
    ((pacer_t *)state)->heard++;
    return SKN_OK;
}
static const skn_handler_t pacer_handlers[] = { { &reply_schema, pacer_reply,
                                                  NULL },
                                                { 0 } };
static const skn_kind_t pacer =
    SKN_KIND(.name = "pacer", .state_bytes = sizeof(pacer_t),
             .options = flow_options, .handlers = pacer_handlers,
             .sends = token_sends, .produce = pacer_produce, .gate = true);

static skn_status_t
echo_token(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *wrong)
{
    const token_t *token = message;
    (void)state;
    return flow_send(actor, &reply_schema, token->batch, token->value, wrong);
}
static const skn_schema_t *const echo_sends[] = { &reply_schema, NULL };
static const skn_handler_t echo_handlers[] = { { &token_schema, echo_token,
                                                 NULL },
                                               { 0 } };
static const skn_kind_t echo =
    SKN_KIND(.name = "echo", .options = flow_options, .handlers = echo_handlers,
             .sends = echo_sends);

Test(actor, a_gate_rests_and_is_woken_by_messages)
{
    flow_actors(&flow, &pacer, 1, 1000, 0);
    flow_actors(&flow, &echo, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 1, 0, 1, 1, 1);
    flow_pipe(&flow, &reply_schema, SKN_PATTERN_ONE, 1, 1, 1, 0, 1);
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(flow_logs[0].count, 1000);
    cr_expect_eq(flow_logs[0].sum, 1000); /* never more than one in flight */
}

/* tailed: asked once, it makes n tokens one by one; its input ends at once. */
static skn_status_t
tailed_token(skn_actor_t *actor, void *state, const void *message,
             skn_error_t *wrong)
{
    (void)message, (void)wrong;
    *(uint64_t *)state += (uint64_t)skn_actor_option_int(actor, "n");
    return SKN_OK;
}
static skn_status_t
tailed_produce(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    uint64_t *left = state;
    if (*left == 0) {
        skn_actor_rest(actor);
        return SKN_OK;
    }
    --*left;
    return flow_send(actor, &token_schema, *left, 1, wrong);
}
static const skn_handler_t tailed_handlers[] = { { &token_schema, tailed_token,
                                                   NULL },
                                                 { 0 } };
static const skn_kind_t tailed =
    SKN_KIND(.name = "tailed", .state_bytes = sizeof(uint64_t),
             .options = flow_options, .handlers = tailed_handlers,
             .sends = token_sends, .produce = tailed_produce);

Test(actor, a_producer_makes_the_rest_after_its_input_has_ended)
{
    flow_actors(&flow, &maker, 1, 1, 0);
    flow_actors(&flow, &tailed, 1, 500, 0);
    flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 1, 0, 1, 1, 1);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 1, 1, 1, 2, 1);
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(flow_logs[2].count, 500);
}

/* --- time ---------------------------------------------------------------- */

static skn_status_t
tick(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    uint64_t *ticks = state;
    (void)wrong;
    flow_note(actor, skn_actor_time_ns(actor));
    if (++*ticks == (uint64_t)skn_actor_option_int(actor, "n"))
        skn_actor_finish(actor);
    return SKN_OK;
}
static const skn_timer_t ticks[] = { { "tick", 1, tick }, { 0 } };
static const skn_kind_t ticker =
    SKN_KIND(.name = "ticker", .state_bytes = sizeof(uint64_t),
             .options = flow_options, .timers = ticks);

Test(actor, timers_fire_no_sooner_than_their_interval)
{
    flow_actors(&flow, &ticker, 1, 20, 0);
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(flow_logs[0].count, 20);
    for (uint32_t k = 1; k < 20; k++)
        cr_expect_geq(flow_logs[0].entry[k],
                      flow_logs[0].entry[k - 1] + 1000000);
}

/* An alarm that is put off fires once, at the later time; then the next one. */
static skn_status_t
alarm_start(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)state, (void)wrong;
    skn_actor_alarm(actor, 0, skn_actor_time_ns(actor));
    skn_actor_alarm(actor, 0, skn_actor_time_ns(actor) + 3000000);
    flow_note(actor, skn_actor_time_ns(actor));
    return SKN_OK;
}
static skn_status_t
alarm_fire(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    uint64_t *fired = state;
    (void)wrong;
    flow_note(actor, skn_actor_time_ns(actor));
    if (++*fired == 2)
        skn_actor_finish(actor);
    else
        skn_actor_alarm(actor, 0, skn_actor_time_ns(actor) + 2000000);
    return SKN_OK;
}
static const skn_timer_t alarms[] = { { "alarm", 0, alarm_fire }, { 0 } };
static const skn_kind_t sleeper =
    SKN_KIND(.name = "sleeper", .state_bytes = sizeof(uint64_t),
             .options = flow_options, .timers = alarms, .start = alarm_start);

Test(actor, an_alarm_fires_once_when_it_was_asked_for)
{
    flow_actors(&flow, &sleeper, 1, 0, 0);
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    cr_assert_eq(flow_logs[0].count, 3);
    cr_expect_geq(flow_logs[0].entry[1], flow_logs[0].entry[0] + 3000000);
    cr_expect_geq(flow_logs[0].entry[2], flow_logs[0].entry[1] + 2000000);
}

/* Asks again from its answer, and from start twice. */
static skn_status_t
watch_start(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)state;
    skn_status_t status = skn_actor_ask_clock(actor, 10, wrong);
    return status == SKN_OK ? skn_actor_ask_clock(actor, 20, wrong) : status;
}
static skn_status_t
watch_clock(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *wrong)
{
    const skn_clock_t *clock = message;
    uint64_t *answers = state;
    flow_note(actor, clock->tag);
    flow_note(actor, clock->wall_ns > 0 && clock->rss_bytes > 0);
    if (++*answers < (uint64_t)skn_actor_option_int(actor, "n"))
        return skn_actor_ask_clock(actor, clock->tag + 1, wrong);
    if (*answers > (uint64_t)skn_actor_option_int(actor, "n"))
        skn_actor_finish(actor);
    return SKN_OK;
}
static const skn_handler_t watch_handlers[] = { { &skn_clock_schema,
                                                  watch_clock, NULL },
                                                { 0 } };
static const skn_kind_t watch =
    SKN_KIND(.name = "watch", .state_bytes = sizeof(uint64_t),
             .options = flow_options, .handlers = watch_handlers,
             .start = watch_start);

Test(actor, the_clock_answers_every_question_in_order)
{
    static const uint64_t tags[] = { 10, 20, 11, 21, 12, 22 };
    flow_actors(&flow, &watch, 1, 5, 0);
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(flow_logs[0].count, 12);
    for (uint32_t k = 0; k < 6; k++) {
        cr_expect_eq(flow_logs[0].entry[2 * k], tags[k]);
        cr_expect_eq(flow_logs[0].entry[2 * k + 1], 1);
    }
}

/* Sends more than the receiver's credit allows, and asks for the clock. */
static skn_status_t
flood_start(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    const token_t token = { .batch = 1, .text = "" };
    (void)state;
    for (int k = 0; k < 3; k++)
        if (skn_actor_send(actor, &token_schema, &token, wrong) != SKN_OK)
            return wrong->status;
    return skn_actor_ask_clock(actor, 1, wrong);
}
static skn_status_t
flood_clock(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *wrong)
{
    (void)state, (void)message, (void)wrong;
    flow_note(actor, 1);
    skn_actor_finish(actor);
    return SKN_OK;
}
static const skn_handler_t flood_handlers[] = { { &skn_clock_schema,
                                                  flood_clock, NULL },
                                                { 0 } };
static const skn_schema_t *const flood_sends[] = { &token_schema, NULL };
static const skn_kind_t flood =
    SKN_KIND(.name = "flood", .options = flow_options,
             .handlers = flood_handlers, .sends = flood_sends,
             .start = flood_start);

/* Handles nothing until the sender sleeps. */
static skn_status_t
dam_token(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *wrong)
{
    const skn_actor_t *sender = &actor->system->actors[0];
    (void)state, (void)message, (void)wrong;
    while (flow_logs[1].count == 0 &&
           SKN_COUNTED(sender->counters.blocked_since_ns) == 0)
        (void)sched_yield();
    flow_note(actor, 1);
    return SKN_OK;
}
static const skn_handler_t dam_handlers[] = { { &token_schema, dam_token,
                                                NULL },
                                              { 0 } };
static const skn_kind_t dam =
    SKN_KIND(.name = "dam", .options = flow_options, .handlers = dam_handlers);

Test(actor, a_blocked_actor_that_asked_for_the_clock_sleeps)
{
    flow_actors(&flow, &flood, 1, 0, 0);
    flow_actors(&flow, &dam, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 1, 0, 1, 1, 1);
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(flow_logs[0].count, 1);
    cr_expect_eq(flow_logs[1].count, 3);
}

static const skn_kind_t deaf =
    SKN_KIND(.name = "deaf", .options = flow_options, .start = watch_start);

Test(actor, an_actor_without_a_clock_handler_may_not_ask_for_the_clock)
{
    flow_actors(&flow, &deaf, 1, 0, 0);
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_USAGE);
    cr_expect_str_eq(
        error.text,
        "deaf.0 (in its start) asks for the clock, but has no handler of "
        "'clock'");
}

/* --- failure and restart ------------------------------------------------- */

/* Fails at every m-th token since it was opened. */
static skn_status_t
fragile_token(skn_actor_t *actor, void *state, const void *message,
              skn_error_t *wrong)
{
    const token_t *token = message;
    uint64_t *seen = state;
    if (++*seen == (uint64_t)skn_actor_option_int(actor, "m"))
        return skn_fail(wrong, SKN_BAD_MESSAGE,
                        "token \"%llu\" is one too many",
                        (unsigned long long)token->batch);
    flow_note(actor, token->batch);
    return SKN_OK;
}
static const skn_handler_t fragile_handlers[] = { { &token_schema,
                                                    fragile_token, NULL },
                                                  { 0 } };
static const skn_kind_t fragile =
    SKN_KIND(.name = "fragile", .state_bytes = sizeof(uint64_t),
             .options = flow_options, .handlers = fragile_handlers);
static const skn_kind_t robust =
    SKN_KIND(.name = "robust", .state_bytes = sizeof(uint64_t),
             .options = flow_options, .handlers = fragile_handlers,
             .restarts = true);

Test(actor, a_failed_handler_ends_the_run_with_its_sentence)
{
    flow_actors(&flow, &maker, 1, 100, 0);
    flow_actors(&flow, &fragile, 1, 0, 4);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 3, 0, 1, 1, 1);
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text,
                     "fragile.0 (in its handler of 'token'): token \"3\" "
                     "is one too many");
    cr_expect_eq(flow_logs[1].count, 3);
}

/* Asks for an option that it does not have. */
static skn_status_t
wrong_token(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *wrong)
{
    const token_t *token = message;
    (void)state, (void)wrong;
    flow_note(actor, token->batch);
    (void)skn_actor_option_int(actor, "none");
    return SKN_OK;
}
static const skn_handler_t wrong_handlers[] = { { &token_schema, wrong_token,
                                                  NULL },
                                                { 0 } };
static const skn_kind_t wrongly_robust =
    SKN_KIND(.name = "robust", .options = flow_options,
             .handlers = wrong_handlers, .restarts = true);

Test(actor, a_mistake_of_the_kind_is_not_mended_by_a_restart)
{
    flow_actors(&flow, &maker, 1, 100, 0);
    flow_actors(&flow, &wrongly_robust, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 3, 0, 1, 1, 1);
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_USAGE);
    cr_expect(strstr(error.text, "robust.0 (in its handler of 'token')"), "%s",
              error.text);
    cr_expect_eq(flow_logs[1].count, 1);
}

/* Hooks that give a status back and make no sentence. */
static skn_status_t
mute_token(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *wrong)
{
    (void)actor, (void)state, (void)message, (void)wrong;
    return SKN_BAD_DATA;
}
static skn_status_t
mute_hook(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)actor, (void)state, (void)wrong;
    return (skn_status_t)9999;
}
static const skn_handler_t mute_handlers[] = { { &token_schema, mute_token,
                                                 NULL },
                                               { 0 } };
static const skn_kind_t mute = SKN_KIND(.name = "mute", .options = flow_options,
                                        .handlers = mute_handlers);
static const skn_kind_t closed =
    SKN_KIND(.name = "closed", .options = flow_options,
             .handlers = mute_handlers, .open = mute_hook);

Test(actor, a_handler_that_fails_without_a_sentence_fails_the_run)
{
    flow_actors(&flow, &maker, 1, 10, 0);
    flow_actors(&flow, &mute, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 3, 0, 1, 1, 1);
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.text,
                     "mute.0 (in its handler of 'token') failed without "
                     "giving a reason: a data file or a checkpoint is refused "
                     "(status 2)");
}

Test(actor, an_open_that_fails_without_a_sentence_ends_the_run)
{
    flow_actors(&flow, &maker, 1, 10, 0);
    flow_actors(&flow, &closed, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 3, 0, 1, 1, 1);
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_INTERNAL);
    cr_expect_str_eq(error.text,
                     "closed.0 (in its open) failed without giving a reason: "
                     "unknown status (status 9999)");
}

Test(actor, an_actor_without_state_is_started_again_within_its_budget)
{
    flow_actors(&flow, &maker, 1, 29, 0);
    flow_actors(&flow, &robust, 1, 0, 5);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 3, 0, 1, 1, 1);
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(flow_logs[1].count, 24); /* 5 of 29 failed */
    cr_expect_eq(flow_event_count, 5);
    json_t *event = json_loads(flow_events[0], 0, NULL);
    cr_assert(event, "%s", flow_events[0]);
    cr_expect_str_eq(json_string_value(json_object_get(event, "message")),
                     "robust.0 (in its handler of 'token'): token \"4\" "
                     "is one too many");
    cr_expect_str_eq(json_string_value(json_object_get(event, "actor")),
                     "robust.0");
    json_decref(event);
}

Test(actor, the_sixth_restart_in_a_minute_is_a_failure)
{
    flow_actors(&flow, &maker, 1, 30, 0);
    flow_actors(&flow, &robust, 1, 0, 5);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 3, 0, 1, 1, 1);
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text,
                     "robust.0 (in its handler of 'token'): token \"29\" "
                     "is one too many");
}

/* --- stop ---------------------------------------------------------------- */

static skn_status_t
endless_produce(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    uint64_t *next = state;
    if (skn_actor_stop_wanted(actor)) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    if (*next == 10 && skn_actor_option_int(actor, "m") == 1) {
        skn_actor_rest(actor); /* only the stop wakes it */
        return *next == 10 ? skn_actor_send_event(actor, wrong, "{\"at\":10}")
                           : SKN_OK;
    }
    return flow_send(actor, &token_schema, (*next)++, 1, wrong);
}
static const skn_kind_t endless =
    SKN_KIND(.name = "endless", .state_bytes = sizeof(uint64_t),
             .options = flow_options, .sends = token_sends,
             .produce = endless_produce);

Test(actor, a_stop_wakes_an_actor_that_rests)
{
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    char line[256];
    flow_actors(&flow, &endless, 1, 0, 1);
    flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 3, 0, 1, 1, 1);
    skn_system_t *system = skn_system_new(&flow.wiring, &options, &error);
    cr_assert(system, "%s", error.text);
    cr_assert_eq(skn_system_start(system, NULL, NULL, &error), SKN_OK);
    cr_expect_eq(skn_system_event(system, -1, line, sizeof(line), &error),
                 SKN_OK);
    cr_expect_str_eq(line, "{\"at\":10}");
    skn_system_stop(system);
    cr_expect_eq(skn_system_wait(system, &error), SKN_OK, "%s", error.text);
    skn_system_destroy(&system);
    cr_expect_eq(flow_logs[1].count, 10);
}

Test(actor, a_stop_before_the_start_is_not_forgotten)
{
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    flow_actors(&flow, &endless, 1, 0, 0);
    flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 3, 0, 1, 1, 1);
    skn_system_t *system = skn_system_new(&flow.wiring, &options, &error);
    cr_assert(system, "%s", error.text);
    skn_system_stop(system);
    cr_assert_eq(skn_system_start(system, NULL, NULL, &error), SKN_OK);
    cr_expect_eq(skn_system_wait(system, &error), SKN_OK);
    skn_system_destroy(&system);
}
