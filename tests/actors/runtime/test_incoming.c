/* test_incoming.c - tests gathered parts, returned credit and ends at a
 * receiver.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/runtime/actor.h"
#include "tests/support/flow_fixture.h"
#include "transport/socket/clock.h"

TestSuite(incoming, .timeout = 60);

static flow_t flow;
static skn_error_t error;

/* shuffled: n tokens whose values are its index + 1, sent in an order of its
 * own, in which no token is more than one place from home. */
static skn_status_t
shuffled_produce(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    uint64_t *next = state;
    uint64_t n = (uint64_t)skn_actor_option_int(actor, "n");
    if (*next == n) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    uint64_t batch = (*next)++;
    if (skn_actor_index(actor) % 2 == 1 && (batch ^ 1u) < n)
        batch ^= 1u;
    return flow_send(actor, &token_schema, batch, skn_actor_index(actor) + 1,
                     wrong);
}
static const skn_kind_t shuffled =
    SKN_KIND(.name = "shuffled", .state_bytes = sizeof(uint64_t),
             .options = flow_options, .sends = token_sends,
             .produce = shuffled_produce);

Test(incoming, gather_gives_one_part_of_each_sender_in_their_order)
{
    uint32_t from = flow_actors(&flow, &shuffled, 4, 40, 0);
    uint32_t to = flow_actors(&flow, &gatherer, 2, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_BROADCAST, 2, from, 4, to, 2)
        ->collect = SKN_COLLECT_GATHER;
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    for (uint32_t k = to; k < to + 2; k++) {
        cr_expect_eq(flow_logs[k].count, 160);
        for (uint32_t i = 0; i < 160; i++)
            cr_assert_eq(flow_logs[k].entry[i], i % 4 + 1);
    }
}

/* Notes whose part it is, of how many, and whether there is one alone. */
static skn_status_t
take_single(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *wrong)
{
    const skn_parts_t *parts = message;
    const token_t *token = parts->at[0];
    (void)state, (void)wrong;
    flow_note(actor, parts->count == 1 && parts->senders == 4 &&
                         token->value == parts->place + 1);
    return SKN_OK;
}
static const skn_handler_t single_handlers[] = {
    { &token_schema, take_single, NULL },
    { 0 },
};
static const skn_kind_t single =
    SKN_KIND(.name = "single", .options = flow_options,
             .handlers = single_handlers);

Test(incoming, parts_come_one_by_one_with_their_senders_place)
{
    uint32_t from = flow_actors(&flow, &shuffled, 4, 40, 0);
    uint32_t to = flow_actors(&flow, &single, 2, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_BROADCAST, 2, from, 4, to, 2)
        ->collect = SKN_COLLECT_PARTS;
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    for (uint32_t k = to; k < to + 2; k++) {
        cr_expect_eq(flow_logs[k].count, 160);
        cr_expect_eq(flow_logs[k].sum, 160);
    }
}

Test(incoming, reduce_combines_in_the_order_of_the_senders)
{
    uint32_t from = flow_actors(&flow, &shuffled, 3, 500, 0);
    uint32_t to = flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 3, from, 3, to, 1)
        ->collect = SKN_COLLECT_REDUCE;
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(flow_logs[to].count, 500);
    for (uint32_t i = 0; i < 500; i++)
        cr_assert_eq(flow_logs[to].entry[i], 10203);
}

Test(incoming, reduce_of_a_single_sender_leaves_it_alone)
{
    flow_actors(&flow, &maker, 1, 20, 0);
    flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 1, 0, 1, 1, 1)->collect =
        SKN_COLLECT_REDUCE;
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    for (uint32_t i = 0; i < 20; i++)
        cr_assert_eq(flow_logs[1].entry[i], i);
}

/* Batches far from each other and in one class of their remainder: no set
 * stands at home but the first. */
static skn_status_t
sparse_produce(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    uint64_t *next = state;
    if (*next == 30) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    uint64_t batch = (*next)++ * 8 * 1000003u;
    return flow_send(actor, &token_schema, batch, batch, wrong);
}
static const skn_kind_t sparse =
    SKN_KIND(.name = "sparse", .state_bytes = sizeof(uint64_t),
             .options = flow_options, .sends = token_sends,
             .produce = sparse_produce);

Test(incoming, sets_find_a_place_though_their_keys_collide)
{
    uint32_t from = flow_actors(&flow, &sparse, 3, 0, 0);
    uint32_t to = flow_actors(&flow, &gatherer, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 4, from, 3, to, 1)
        ->collect = SKN_COLLECT_GATHER;
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(flow_logs[to].count, 90);
    for (uint32_t i = 0; i < 90; i++)
        cr_assert_eq(flow_logs[to].entry[i], i / 3 * 8 * 1000003u);
}

/* --- what breaks a set --------------------------------------------------- */

/* Sends batch 7 `n` times, from its start. */
static skn_status_t
repeat_start(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    int64_t n = skn_actor_option_int(actor, "n");
    skn_status_t status = SKN_OK;
    (void)state;
    for (int64_t k = 0; k < n && status == SKN_OK; k++)
        status = flow_send(actor, &token_schema, 7, 1, wrong);
    skn_actor_finish(actor);
    return status;
}
static const skn_kind_t repeat =
    SKN_KIND(.name = "repeat", .options = flow_options, .sends = token_sends,
             .start = repeat_start);

Test(incoming, a_part_that_comes_twice_is_refused)
{
    flow_actors(&flow, &repeat, 1, 2, 0);
    flow_actors(&flow, &maker, 1, 0, 0);
    flow_actors(&flow, &gatherer, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 2, 0, 2, 2, 1)->collect =
        SKN_COLLECT_GATHER;
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_BAD_MESSAGE);
    /* Either is seen first: that it repeats, or that the other has ended. */
    cr_expect(
        strcmp(error.text,
               "gatherer.0 got token for batch 7 twice from repeat.0") == 0 ||
            strcmp(error.text, "gatherer.0: the token of maker.0 ended before "
                               "its part for batch 7") == 0,
        "%s", error.text);
}

/* Behind a set that was complete: nobody else is to blame. */
Test(incoming, a_part_of_a_complete_set_is_reported_as_such)
{
    flow_actors(&flow, &repeat, 2, 2, 0);
    flow.values[1][0].number = 1;
    flow_actors(&flow, &gatherer, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 1, 0, 2, 2, 1)->collect =
        SKN_COLLECT_GATHER;
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text,
                     "gatherer.0 got token for batch 7 again from repeat.0, "
                     "which had already sent it, and not from repeat.1, "
                     "which has ended");
    cr_expect_eq(flow_logs[2].count, 2);
}

Test(incoming, a_sender_that_ends_without_its_part_is_named)
{
    flow_actors(&flow, &repeat, 1, 1, 0);
    flow_actors(&flow, &maker, 1, 0, 0); /* ends at once */
    flow_actors(&flow, &gatherer, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 2, 0, 2, 2, 1)->collect =
        SKN_COLLECT_GATHER;
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text, "gatherer.0: the token of maker.0 ended "
                                 "before its part for batch 7");
}

/* Sender 0 counts up, sender 1 down: too far apart to be put together. */
static skn_status_t
opposite_produce(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    uint64_t *next = state;
    uint64_t n = (uint64_t)skn_actor_option_int(actor, "n");
    if (*next == n) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    uint64_t batch = (*next)++;
    return flow_send(actor, &token_schema,
                     (batch + skn_actor_index(actor) * n / 3) % n, 1, wrong);
}
static const skn_kind_t opposite =
    SKN_KIND(.name = "opposite", .state_bytes = sizeof(uint64_t),
             .options = flow_options, .sends = token_sends,
             .produce = opposite_produce);

Test(incoming, orders_that_lie_too_far_apart_are_refused)
{
    flow_actors(&flow, &opposite, 3, 90, 0);
    flow_actors(&flow, &gatherer, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 4, 0, 3, 3, 1)->collect =
        SKN_COLLECT_GATHER;
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text,
                     "gatherer.0 waits for parts of 8 sets of token: its "
                     "senders send in orders that differ too much");
}

/* --- answers -------------------------------------------------------------- */

/* talker: on each token it sends a reply to all talkers, itself among them,
 * and logs all that it hears. */
static skn_status_t
talker_token(skn_actor_t *actor, void *state, const void *message,
             skn_error_t *wrong)
{
    const token_t *token = message;
    (void)state;
    return flow_send(actor, &reply_schema, token->batch, token->batch, wrong);
}
static const skn_schema_t *const reply_sends[] = { &reply_schema, NULL };
static const skn_handler_t talker_handlers[] = {
    { &token_schema, talker_token, NULL },
    { &reply_schema, sink_token, NULL },
    { 0 },
};
static const skn_kind_t talker =
    SKN_KIND(.name = "talker", .options = flow_options,
             .handlers = talker_handlers, .sends = reply_sends);
static const skn_handler_t hearer_handlers[] = {
    { &token_schema, talker_token, NULL },
    { &reply_schema, gather_token, NULL },
    { 0 },
};
static const skn_kind_t hearer =
    SKN_KIND(.name = "hearer", .options = flow_options,
             .handlers = hearer_handlers, .sends = reply_sends);

/* With credit 1 everybody waits for everybody's credit, and for its own. */
Test(incoming, actors_that_answer_each_other_never_wait_for_ever)
{
    for (uint32_t count = 1; count <= 4; count++) {
        memset(&flow, 0, sizeof(flow));
        memset(flow_logs, 0, sizeof(flow_logs));
        uint32_t from = flow_actors(&flow, &maker, 1, 400, 0);
        uint32_t to = flow_actors(&flow, &talker, count, 0, 0);
        flow_pipe(&flow, &token_schema, SKN_PATTERN_BROADCAST, 3, from, 1, to,
                  count);
        flow_pipe(&flow, &reply_schema, SKN_PATTERN_BROADCAST, 1, to, count, to,
                  count)
            ->peer = true;
        cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
        for (uint32_t k = to; k < to + count; k++)
            cr_expect_eq(flow_logs[k].count, 400 * count);
    }
}

/* slow: sends itself a reply on each token, and then works for so long that the
 * reply is handled before the next token. */
static skn_status_t
slow_token(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *wrong)
{
    uint64_t begin_ns = skn_monotonic_ns();
    skn_status_t status = talker_token(actor, state, message, wrong);
    flow_note(actor, ((const token_t *)message)->batch);
    while (skn_monotonic_ns() - begin_ns < SKN_UNCHECKED_NS)
        continue;
    return status;
}
static const skn_handler_t slow_handlers[] = {
    { &token_schema, slow_token, NULL },
    { &reply_schema, sink_token, NULL },
    { 0 },
};
static const skn_kind_t slow =
    SKN_KIND(.name = "slow", .options = flow_options, .handlers = slow_handlers,
             .sends = reply_sends);

Test(incoming, an_answer_is_handled_before_work_that_came_earlier)
{
    flow_actors(&flow, &maker, 1, 100, 0);
    flow_actors(&flow, &slow, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 64, 0, 1, 1, 1);
    flow_pipe(&flow, &reply_schema, SKN_PATTERN_ONE, 2, 1, 1, 1, 1)->peer =
        true;
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(flow_logs[1].count, 200);
    for (uint32_t i = 0; i < 200; i++)
        cr_assert_eq(flow_logs[1].entry[i], i / 2);
}

Test(incoming, answers_are_gathered_too)
{
    uint32_t from = flow_actors(&flow, &maker, 1, 400, 0);
    uint32_t to = flow_actors(&flow, &hearer, 3, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_BROADCAST, 5, from, 1, to, 3);
    skn_wired_pipe_t *pipe =
        flow_pipe(&flow, &reply_schema, SKN_PATTERN_BROADCAST, 1, to, 3, to, 3);
    pipe->peer = true;
    pipe->collect = SKN_COLLECT_GATHER;
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    for (uint32_t k = to; k < to + 3; k++) {
        cr_expect_eq(flow_logs[k].count, 1200);
        for (uint32_t i = 0; i < 1200; i++)
            cr_assert_eq(flow_logs[k].entry[i], i / 3);
    }
}

Test(incoming, an_actor_that_gets_only_answers_ends_with_them)
{
    flow_actors(&flow, &maker, 1, 100, 0);
    flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 2, 0, 1, 1, 1)->peer =
        true;
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(flow_logs[1].count, 100);
}

/* --- the wire ------------------------------------------------------------ */

/* Logs every byte that a message means. */
static skn_status_t
note_all(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *wrong)
{
    const token_t *token = message;
    (void)state, (void)wrong;
    flow_note(actor, token->batch);
    flow_note(actor, token->key);
    flow_note(actor, token->value);
    for (size_t k = 0; k < token->run.count; k++)
        flow_note(actor, token->run.at[k]);
    for (size_t k = 0; k < token->weight.count; k++)
        flow_note(actor, (uint64_t)(token->weight.at[k] * 1e6));
    flow_note(actor, strlen(token->text) * 256 + (uint8_t)token->text[0]);
    return SKN_OK;
}
static const skn_handler_t note_handlers[] = { { &token_schema, note_all,
                                                 NULL },
                                               { 0 } };
static const skn_kind_t noter =
    SKN_KIND(.name = "noter", .options = flow_options,
             .handlers = note_handlers);

static skn_status_t
rich_produce(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    uint64_t *next = state;
    if (*next == 40) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    uint64_t batch = (*next)++;
    uint32_t run[40];
    double weight[40];
    for (uint32_t k = 0; k < batch; k++) {
        run[k] = k * 7;
        weight[k] = 1.0 / (k + 1.0);
    }
    token_t token = { .batch = batch << 40,
                      .key = UINT32_MAX - (uint32_t)batch,
                      .value = UINT64_MAX - batch,
                      .run = { run, batch },
                      .weight = { weight, batch },
                      .text = batch % 2 ? "odd" : "" };
    return skn_actor_send(actor, &token_schema, &token, wrong);
}
static const skn_kind_t rich =
    SKN_KIND(.name = "rich", .state_bytes = sizeof(uint64_t),
             .options = flow_options, .sends = token_sends,
             .produce = rich_produce);

Test(incoming, the_wire_brings_what_the_pointer_brings)
{
    skn_start_options_t wire =
        SKN_START_OPTIONS(.wire = true, .no_binding = true);
    flow_actors(&flow, &rich, 1, 0, 0);
    flow_actors(&flow, &noter, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 3, 0, 1, 1, 1);
    cr_assert_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    static flow_log_t by_pointer;
    by_pointer = flow_logs[1];
    memset(flow_logs, 0, sizeof(flow_logs));
    cr_assert_eq(flow_run(&flow, &wire, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(by_pointer.count, 40 * 4 + 2 * (39 * 40 / 2));
    cr_expect_eq(memcmp(&by_pointer, &flow_logs[1], sizeof(by_pointer)), 0);
}
