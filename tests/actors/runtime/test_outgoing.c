/* test_outgoing.c - tests patterns, credit and outboxes of a sender.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "tests/support/flow_fixture.h"

TestSuite(outgoing, .timeout = 60);

static flow_t flow;
static skn_error_t error;

#define expect_log(actor, index, want)                                         \
    cr_expect_eq(flow_logs[actor].entry[index], (uint64_t)(want),              \
                 "actor %u, entry %u: got %llu, want %llu", (unsigned)(actor), \
                 (unsigned)(index),                                            \
                 (unsigned long long)flow_logs[actor].entry[index],            \
                 (unsigned long long)(want))
#define expect_count(actor, want)                                              \
    cr_expect_eq(flow_logs[actor].count, (uint64_t)(want),                     \
                 "actor %u handled %llu, want %llu", (unsigned)(actor),        \
                 (unsigned long long)flow_logs[actor].count,                   \
                 (unsigned long long)(want))
#define expect_run()                                                           \
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text)

Test(outgoing, one_joins_the_kth_sender_to_the_kth_receiver)
{
    uint32_t from = flow_actors(&flow, &maker, 3, 50, 1);
    uint32_t to = flow_actors(&flow, &sink, 3, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 4, from, 3, to, 3);
    expect_run();
    for (uint32_t k = 0; k < 3; k++) {
        expect_count(to + k, 50);
        for (uint32_t i = 0; i < 50; i++)
            expect_log(to + k, i, 1000 * k + i);
    }
}

Test(outgoing, one_joins_all_senders_to_a_single_receiver)
{
    uint32_t from = flow_actors(&flow, &maker, 5, 40, 1);
    uint32_t to = flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 1, from, 5, to, 1);
    expect_run();
    expect_count(to, 200);
    cr_expect_eq(flow_logs[to].sum, 5 * (39 * 40 / 2) + 40 * 1000 * 10);
}

Test(outgoing, broadcast_reaches_every_receiver_in_order)
{
    uint32_t from = flow_actors(&flow, &maker, 1, 100, 1);
    uint32_t to = flow_actors(&flow, &sink, 7, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_BROADCAST, 2, from, 1, to, 7);
    expect_run();
    for (uint32_t k = to; k < to + 7; k++)
        for (uint32_t i = 0; i < 100; i++)
            expect_log(k, i, i);
}

Test(outgoing, any_gives_each_message_to_exactly_one_receiver)
{
    uint32_t from = flow_actors(&flow, &maker, 2, 500, 1);
    uint32_t to = flow_actors(&flow, &sink, 3, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ANY, 2, from, 2, to, 3);
    expect_run();
    cr_expect_eq(flow_logs[to].count + flow_logs[to + 1].count +
                     flow_logs[to + 2].count,
                 1000);
    cr_expect_eq(flow_logs[to].sum + flow_logs[to + 1].sum +
                     flow_logs[to + 2].sum,
                 2 * (499 * 500 / 2) + 500 * 1000);
}

/* --- scatter ------------------------------------------------------------- */

static const uint64_t bounds[] = { 0, 3, 3, 7, 10 };

Test(outgoing, scatter_goes_to_the_owner_of_the_key)
{
    uint32_t from = flow_actors(&flow, &maker, 1, 30, 10);
    uint32_t to = flow_actors(&flow, &sink, 4, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_SCATTER, 2, from, 1, to, 4)
        ->bounds = bounds;
    expect_run();
    expect_count(to, 9);      /* keys 0, 1, 2 */
    expect_count(to + 1, 0);  /* an empty range */
    expect_count(to + 2, 12); /* keys 3 to 6 */
    expect_count(to + 3, 9);  /* keys 7, 8, 9 */
    expect_log(to, 3, 10);
    expect_log(to + 2, 0, 3);
    expect_log(to + 3, 8, 29);
}

Test(outgoing, scatter_refuses_a_key_that_nobody_owns)
{
    static const uint64_t narrow[] = { 1, 5, 9 };
    uint32_t from = flow_actors(&flow, &maker, 1, 30, 10);
    uint32_t to = flow_actors(&flow, &sink, 2, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_SCATTER, 2, from, 1, to, 2)
        ->bounds = narrow;
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text,
                     "maker.0 (in its produce) sends token with key 0; its "
                     "receivers own 1 to 8");
}

/* splitter: runs of keys that begin at n and have m items. */
static skn_status_t
splitter_start(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    uint32_t first = (uint32_t)skn_actor_option_int(actor, "n");
    size_t count = (size_t)skn_actor_option_int(actor, "m");
    size_t counts[] = { count, count, 4 };
    (void)state;
    token_t *token = skn_actor_message(actor, &token_schema, counts, wrong);
    if (!token)
        return wrong->status;
    for (uint32_t k = 0; k < count; k++) {
        token->run.at[k] = first + k;
        token->weight.at[k] = first + k + 0.5;
    }
    skn_actor_finish(actor);
    return skn_actor_post(actor, token, wrong);
}
static const skn_kind_t splitter =
    SKN_KIND(.name = "splitter", .options = flow_options, .sends = token_sends,
             .start = splitter_start);

/* Logs the length of the run, then its keys; weights must fit. */
static void
note_slice(skn_actor_t *actor, const token_t *token)
{
    flow_note(actor, token->run.count);
    for (size_t k = 0; k < token->run.count; k++)
        flow_note(actor, token->weight.count == token->run.count &&
                                 token->weight.at[k] == token->run.at[k] + 0.5
                             ? token->run.at[k]
                             : UINT64_MAX);
}
static skn_status_t
on_slice(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *wrong)
{
    (void)state, (void)wrong;
    note_slice(actor, message);
    return SKN_OK;
}
static const skn_handler_t slice_handlers[] = { { &token_schema, on_slice,
                                                  NULL },
                                                { 0 } };
static const skn_kind_t slice_sink =
    SKN_KIND(.name = "slices", .options = flow_options,
             .handlers = slice_handlers);

static void
split_pipe(int64_t first, int64_t count, const skn_kind_t *kind,
           skn_collect_t collect)
{
    uint32_t from = flow_actors(&flow, &splitter, 1, first, count);
    uint32_t to = flow_actors(&flow, kind, 4, 0, 0);
    skn_wired_pipe_t *pipe =
        flow_pipe(&flow, &token_schema, SKN_PATTERN_SCATTER, 1, from, 1, to, 4);
    pipe->bounds = bounds;
    pipe->key = flow_field(&token_schema, "run");
    pipe->collect = collect;
}

Test(outgoing, scatter_cuts_a_run_of_keys_at_the_bounds)
{
    split_pipe(1, 7, &slice_sink, SKN_COLLECT_NONE); /* keys 1 to 7 */
    expect_run();
    expect_count(1, 3);
    expect_log(1, 0, 2);
    expect_log(1, 1, 1);
    expect_log(1, 2, 2);
    expect_count(2, 0); /* owns nothing, gets nothing */
    expect_log(3, 0, 4);
    expect_log(3, 4, 6);
    expect_log(4, 0, 1);
    expect_log(4, 1, 7);
}

Test(outgoing, scatter_of_a_whole_slice_leaves_the_others_out)
{
    split_pipe(3, 4, &slice_sink, SKN_COLLECT_NONE); /* exactly one owner's */
    expect_run();
    expect_count(1, 0);
    expect_count(3, 5);
    expect_count(4, 0);
}

Test(outgoing, scatter_of_an_empty_run_sends_nothing)
{
    split_pipe(0, 0, &slice_sink, SKN_COLLECT_NONE);
    expect_run();
    for (uint32_t k = 1; k <= 4; k++)
        expect_count(k, 0);
}

static skn_status_t
on_slice_parts(skn_actor_t *actor, void *state, const void *message,
               skn_error_t *wrong)
{
    const skn_parts_t *parts = message;
    (void)state, (void)wrong;
    for (size_t k = 0; k < parts->count; k++)
        note_slice(actor, parts->at[k]);
    return SKN_OK;
}
static const skn_handler_t slice_gather_handlers[] = {
    { &token_schema, on_slice_parts, NULL },
    { 0 },
};
static const skn_kind_t slice_gatherer =
    SKN_KIND(.name = "slices", .options = flow_options,
             .handlers = slice_gather_handlers);

Test(outgoing, scatter_to_gatherers_sends_empty_slices_too)
{
    split_pipe(4, 2, &slice_gatherer, SKN_COLLECT_GATHER);
    expect_run();
    for (uint32_t k = 1; k <= 4; k++)
        expect_count(k, k == 3 ? 3 : 1);
    expect_log(1, 0, 0);
    expect_log(3, 1, 4);
}

Test(outgoing, scatter_refuses_a_run_that_leaves_the_bounds)
{
    split_pipe(8, 3, &slice_sink, SKN_COLLECT_NONE); /* 8, 9, 10 */
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text,
                     "splitter.0 (in its start) sends token with run 10; its "
                     "receivers own 0 to 9");
}

/* --- credit -------------------------------------------------------------- */

#define CREDIT 5u
static atomic_uint sent_count, most_unhandled;

static skn_status_t
counting_produce(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    if (*(uint64_t *)state < 1000)
        atomic_fetch_add(&sent_count, 1);
    return maker_produce(actor, state, wrong);
}
static const skn_kind_t counting_maker =
    SKN_KIND(.name = "maker", .state_bytes = sizeof(uint64_t),
             .options = flow_options, .sends = token_sends,
             .produce = counting_produce);

/* Holds its first message until the sender can go no further: it has used up
 * its credit and one message waits in its outbox. */
static skn_status_t
slow_token(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *wrong)
{
    uint32_t handled = (uint32_t)flow_logs[actor->number].count;
    while (handled == 0 && atomic_load(&sent_count) < CREDIT + 1)
        (void)sched_yield();
    for (int k = 0; handled == 0 && k < 1000; k++)
        (void)sched_yield(); /* room for a sender that goes too far */
    uint32_t unhandled = atomic_load(&sent_count) - handled;
    if (unhandled > atomic_load(&most_unhandled))
        atomic_store(&most_unhandled, unhandled);
    return sink_token(actor, state, message, wrong);
}
static const skn_handler_t slow_handlers[] = { { &token_schema, slow_token,
                                                 NULL },
                                               { 0 } };
static const skn_kind_t slow_sink =
    SKN_KIND(.name = "slow", .options = flow_options,
             .handlers = slow_handlers);

Test(outgoing, credit_bounds_what_waits_at_a_slow_receiver)
{
    flow_actors(&flow, &counting_maker, 1, 1000, 1);
    flow_actors(&flow, &slow_sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, CREDIT, 0, 1, 1, 1);
    expect_run();
    expect_count(1, 1000);
    /* All of its credit, and the one message in its outbox. */
    cr_expect_eq(atomic_load(&most_unhandled), CREDIT + 1);
}

Test(outgoing, an_outbox_holds_at_most_what_one_handler_sends)
{
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    flow_actors(&flow, &maker, 1, 300, 1);
    flow_actors(&flow, &relay, 1, 9, 0);
    flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 3, 0, 1, 1, 1);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 2, 1, 1, 2, 1);
    skn_system_t *system = skn_system_new(&flow.wiring, &options, &error);
    cr_assert(system, "%s", error.text);
    cr_expect_eq(flow_follow(system, &error), SKN_OK);
    cr_expect_eq(system->actors[1].out_edges[0].counters.messages, 2700);
    cr_expect_leq(system->actors[1].out_edges[0].counters.queue_max, 9);
    cr_expect_leq(system->actors[0].out_edges[0].counters.queue_max, 1);
    for (uint32_t k = 0; k < 3; k++)
        cr_expect_eq(system->actors[k].unsent, 0);
    skn_system_destroy(&system);
    expect_count(2, 2700);
}

/* --- posting ------------------------------------------------------------- */

Test(outgoing, a_message_that_goes_nowhere_is_dropped_and_counted)
{
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    flow_actors(&flow, &maker, 1, 12, 1);
    skn_system_t *system = skn_system_new(&flow.wiring, &options, &error);
    cr_assert(system, "%s", error.text);
    cr_expect_eq(flow_follow(system, &error), SKN_OK);
    cr_expect_eq(system->actors[0].counters.dropped, 12);
    skn_system_destroy(&system);
}

/* Keeps each message and posts the one before. */
static skn_status_t
late_token(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *wrong)
{
    const void **kept = state;
    const void *before = *kept;
    *kept = skn_message_keep(message);
    return before ? skn_actor_post(actor, before, wrong) : SKN_OK;
}
static skn_status_t
late_drain(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    const void **kept = state;
    const void *last = *kept;
    *kept = NULL;
    return last ? skn_actor_post(actor, last, wrong) : SKN_OK;
}
static const skn_handler_t late_handlers[] = { { &token_schema, late_token,
                                                 NULL },
                                               { 0 } };
static const skn_kind_t late =
    SKN_KIND(.name = "late", .state_bytes = sizeof(void *),
             .options = flow_options, .handlers = late_handlers,
             .sends = token_sends, .drain = late_drain);

Test(outgoing, a_kept_message_can_be_posted_again)
{
    flow_actors(&flow, &maker, 1, 200, 1);
    flow_actors(&flow, &late, 2, 0, 0);
    flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_BROADCAST, 3, 0, 1, 1, 2);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 3, 1, 2, 3, 1);
    expect_run();
    expect_count(3, 400);
    cr_expect_eq(flow_logs[3].sum, 199 * 200);
}

static skn_status_t
early_open(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)state;
    return flow_send(actor, &token_schema, 0, 0, wrong);
}
static const skn_kind_t early =
    SKN_KIND(.name = "early", .options = flow_options, .sends = token_sends,
             .open = early_open);

Test(outgoing, a_message_before_the_start_is_refused)
{
    flow_actors(&flow, &early, 1, 0, 0);
    flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 1, 0, 1, 1, 1);
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_USAGE);
    cr_expect_str_eq(error.text,
                     "early.0 (in its open) sends token before the start");
}
