/* test_waiting.c - tests the reports of actors that wait: they name the awaited
 * actors, and are rare. Across links, and during a stop: test_links.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "actors/runtime/waiting.h"
#include "tests/support/flow_fixture.h"

TestSuite(waiting, .timeout = 60);

#define SECOND_NS UINT64_C(1000000000)

static flow_t flow;

/* --- for whom ------------------------------------------------------------ */

static const skn_wired_node_t nodes[] = { { .name = "a" }, { .name = "b" } };
static const skn_kind_t some = { .name = "some", .options = flow_options };
static skn_system_t fake = { .wiring = &flow.wiring,
                             .patience_ns = SKN_WAITING_PATIENCE_NS };
static skn_in_pipe_t in;
static skn_in_edge_t in_edges[4];
static skn_part_set_t sets[2];
static const void *parts[2][4];
static skn_out_pipe_t out;
static skn_out_edge_t out_edges[2];
static skn_actor_t actor;

/* some.0 gathers from some.0 to some.3; the last is on the other node. */
static void
gather_of_four(void)
{
    (void)flow_actors(&flow, &some, 4, 0, 0);
    flow.wiring.nodes = nodes;
    flow.wiring.node_count = 2;
    flow.actors[3].node = 1;
    in = (skn_in_pipe_t){
        .wired =
            flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 1, 0, 4, 0, 1),
        .sender_count = 4,
        .sets = sets,
        .set_count = 2,
    };
    out = (skn_out_pipe_t){ .wired = in.wired,
                            .edges = out_edges,
                            .edge_count = 2 };
    for (uint32_t k = 0; k < 4; k++)
        in_edges[k] = (skn_in_edge_t){ .pipe = &in, .part = k, .sender = k };
    for (uint32_t k = 0; k < 2; k++) {
        sets[k].part = parts[k];
        out_edges[k].receiver = 1 + k;
    }
    actor = (skn_actor_t){ .wired = &flow.actors[0],
                           .system = &fake,
                           .in_pipes = &in,
                           .in_pipe_count = 1,
                           .in_edges = in_edges,
                           .in_edge_count = 4,
                           .out_pipes = &out,
                           .out_pipe_count = 1,
                           .phase = SKN_PHASE_RUNNING };
}

static void
have_parts(uint32_t set, uint64_t key, uint32_t which)
{
    sets[set].key = key;
    sets[set].arrived = 0;
    for (uint32_t k = 0; k < 4; k++) {
        bool here = (which >> k & 1) != 0;
        parts[set][k] = here ? &sets : NULL;
        sets[set].arrived += here;
    }
}

static void
expect_for(const char *text)
{
    char told[512] = "";
    cr_expect_eq(skn_waiting_for(&actor, told, sizeof(told)), text != NULL);
    cr_expect_str_eq(told, text ? text : "");
}

Test(waiting, a_missing_part_is_named_with_its_sender)
{
    gather_of_four();
    expect_for(NULL);
    have_parts(0, 12, 0x7);
    expect_for("token of batch 12 from some.3 of node 'b'");
    have_parts(0, 12, 0xb);
    expect_for("token of batch 12 from some.2");
    have_parts(0, 12, 0x1); /* the other node first */
    expect_for("token of batch 12 from some.3 of node 'b' and 2 more");
    have_parts(1, 11, 0xe); /* the oldest set */
    expect_for("token of batch 11 from some.0");
    have_parts(0, 0, 0);
    have_parts(1, 0, 0);
    expect_for(NULL);
}

/* Of a pipe that puts nothing together the actor says what it lacks. */
Test(waiting, parts_that_an_actor_puts_together_are_named)
{
    static const bool here[] = { true, false, true, false };
    static const bool all[] = { true, true, true, true };
    gather_of_four();
    skn_actor_report_blocked(&actor, &token_schema, 12, here, 4);
    expect_for(NULL); /* this pipe has sets of its own */
    flow.pipes[0].collect = SKN_COLLECT_PARTS;
    expect_for("token of batch 12 from some.1 and 1 more");
    skn_actor_report_blocked(&actor, &token_schema, 13, here + 2, 2);
    expect_for("token of batch 13 from some.1");
    skn_actor_report_blocked(&actor, &token_schema, 13, all, 4);
    expect_for(NULL);
    skn_actor_report_blocked(&actor, &token_schema, 14, here, 4);
    skn_actor_report_blocked(&actor, &token_schema, 14, NULL, 0);
    expect_for(NULL);
}

Test(waiting, an_actor_that_has_no_credit_waits_for_room)
{
    gather_of_four();
    have_parts(0, 12, 0x7);
    actor.unsent = 1;
    out_edges[1].outbox.count = 1;
    expect_for("room for token at some.2");
    out_edges[1].outbox.count = 0;
    out.shared.count = 1; /* whoever has room first */
    expect_for("room for token at some.1");
}

/* --- when ---------------------------------------------------------------- */

Test(waiting, the_time_to_the_next_word_doubles)
{
    gather_of_four();
    actor.quiet_ns = 5 * SECOND_NS;
    for (uint32_t k = 0; k < 4; k++) {
        int due_ms = 30000 << k;
        actor.told_count = k;
        cr_expect_eq(skn_waiting_timeout_ms(&actor, 5 * SECOND_NS), due_ms + 1);
        cr_expect_eq(skn_waiting_timeout_ms(&actor, 6 * SECOND_NS),
                     due_ms - 999);
        cr_expect_eq(
            skn_waiting_timeout_ms(&actor, (5 + (30u << k)) * SECOND_NS), 0);
    }
}

Test(waiting, an_actor_that_has_not_begun_or_has_ended_waits_for_none)
{
    static const skn_phase_t phases[] = { SKN_PHASE_OPENING, SKN_PHASE_READY,
                                          SKN_PHASE_ENDED, SKN_PHASE_FAILED };
    gather_of_four();
    actor.quiet_ns = 1;
    for (size_t k = 0; k < sizeof(phases) / sizeof(phases[0]); k++) {
        actor.phase = phases[k];
        cr_expect_eq(skn_waiting_timeout_ms(&actor, 10 * SECOND_NS), -1);
    }
}

Test(waiting, a_parcel_restarts_the_clock)
{
    gather_of_four();
    have_parts(0, 12, 0x7);
    skn_waiting_check(&actor, 7 * SECOND_NS);
    cr_expect_eq(actor.quiet_ns, 7 * SECOND_NS);
    skn_waiting_check(&actor, 36 * SECOND_NS); /* not yet */
    cr_expect_eq(actor.quiet_ns, 7 * SECOND_NS);
    actor.moved = true;
    actor.told_count = 3;
    skn_waiting_check(&actor, 40 * SECOND_NS);
    cr_expect_eq(actor.quiet_ns, 40 * SECOND_NS);
    cr_expect_eq(actor.told_count, 0);
    cr_expect_not(actor.moved);
    have_parts(0, 0, 0); /* nobody owes it anything: nothing is told */
    skn_waiting_check(&actor, 70 * SECOND_NS);
    cr_expect_eq(actor.quiet_ns, 70 * SECOND_NS);
    cr_expect_eq(actor.told_count, 0);
}

/* The seconds at which an actor that waits from 0 on says so, as the sum of
 * their powers of two of the patience, where another is in a handler from
 * `since_s` on. */
static uint32_t
told_beside(uint32_t since_s)
{
    skn_parcel_t parcel;
    skn_error_t error = { 0 };
    uint32_t told = 0;
    char host[SKN_INBOX_ADDRESS_BYTES]; /* a name is free only later */
    (void)snprintf(host, sizeof(host), "inproc://host-%u", since_s);
    skn_inbox_t *inbox = skn_inbox_open(host, &error);
    cr_assert(inbox, "%s", error.text);
    gather_of_four();
    have_parts(0, 12, 0x7);
    skn_actor_t both[2] = { actor, actor };
    both[0].host = skn_outlet_open(host, &error);
    cr_assert(both[0].host, "%s", error.text);
    both[0].wake_descriptor = -1;
    both[0].quiet_ns = 1;
    fake.actors = both;
    fake.actor_count = 2;
    skn_place_enter(&both[1].place, SKN_PLACE_HANDLER, "token",
                    since_s * SECOND_NS);
    for (uint32_t s = 30; s <= 240; s *= 2) {
        skn_waiting_check(&both[0], s * SECOND_NS + 1);
        if (!skn_inbox_take(inbox, &parcel))
            continue;
        told += s / 30;
        free(parcel.pointer);
    }
    skn_outlet_close(&both[0].host);
    skn_inbox_close(&inbox);
    return told;
}

Test(waiting, only_a_handler_as_old_as_half_of_the_wait_takes_the_blame)
{
    cr_expect_eq(told_beside(0), 0);
    cr_expect_eq(told_beside(15), 0);
    cr_expect_eq(told_beside(20), 1);
    cr_expect_eq(told_beside(40), 1 + 2);
    cr_expect_eq(told_beside(500), 1 + 2 + 4 + 8);
}

/* --- in a run ------------------------------------------------------------ */

/* Keeps its part back until the run is to stop. */
static skn_status_t
holder_produce(skn_actor_t *at, void *state, skn_error_t *error)
{
    (void)state;
    if (!skn_actor_stop_wanted(at)) {
        skn_actor_rest(at);
        return SKN_OK;
    }
    skn_actor_finish(at);
    return flow_send(at, &token_schema, 0, 5, error);
}
static const skn_kind_t holder = { .name = "holder",
                                   .options = flow_options,
                                   .sends = token_sends,
                                   .gate = true,
                                   .produce = holder_produce };

/* Puts its parts together itself. */
static skn_status_t
joiner_take(skn_actor_t *at, void *state, const void *message,
            skn_error_t *error)
{
    bool *here = state;
    const skn_parts_t *come = message;
    (void)error;
    here[come->place] = true;
    flow_note(at, come->place);
    skn_actor_report_blocked(at, &token_schema, 0, here, come->senders);
    return SKN_OK;
}
static const skn_handler_t joiner_handlers[] = { { &token_schema, joiner_take,
                                                   NULL },
                                                 { NULL, NULL, NULL } };
static const skn_schema_t *const joiner_gathers[] = { &token_schema, NULL };
static const skn_kind_t joiner = { .name = "gatherer",
                                   .state_bytes = 2 * sizeof(bool),
                                   .options = flow_options,
                                   .handlers = joiner_handlers,
                                   .gathers = joiner_gathers };

static void
expect_words(const skn_kind_t *kind, skn_collect_t collect)
{
    skn_error_t error = { 0 };
    char line[2048];
    uint32_t told = 0;
    skn_start_options_t options = { .no_binding = true };
    flow_actors(&flow, &maker, 1, 1, 0);
    flow_actors(&flow, &holder, 1, 0, 0);
    uint32_t to = flow_actors(&flow, kind, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 2, 0, 2, to, 1)->collect =
        collect;
    skn_system_t *system = skn_system_new(&flow.wiring, &options, &error);
    cr_assert(system, "%s", error.text);
    system->patience_ns = 20000000;
    cr_assert_eq(skn_system_start(system, NULL, NULL, &error), SKN_OK, "%s",
                 error.text);
    while (skn_system_event(system, -1, line, sizeof(line), NULL) == SKN_OK) {
        cr_expect_str_eq(line,
                         "{\"event\":\"waiting\",\"actor\":\"gatherer.0\","
                         "\"for\":\"token of batch 0 from holder.0\","
                         "\"seconds\":0}");
        if (++told == 2)
            skn_system_stop(system);
    }
    cr_expect_geq(told, 2);
    cr_expect_eq(skn_system_wait(system, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(flow_logs[to].count, 2);
    skn_system_destroy(&system);
}

Test(waiting, an_actor_reports_what_it_waits_for_and_continues)
{
    expect_words(&gatherer, SKN_COLLECT_GATHER);
}

Test(waiting, one_that_puts_parts_together_says_it_too)
{
    expect_words(&joiner, SKN_COLLECT_PARTS);
}
