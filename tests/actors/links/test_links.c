/* test_links.c - tests edges between nodes: several systems in one process,
 * connected by loopback sockets. Covers actors/links/link_driver.c,
 * actors/links/link_crossings.c, actors/links/link_open.c,
 * actors/links/link_clock.c, actors/links/link_events.c and
 * actors/runtime/system_edges.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actors/links/links.h"

#include "tests/support/flow_fixture.h"
#include "tests/support/held_port.h"
#include "transport/socket/clock.h"

TestSuite(links, .timeout = 120);

#define NODES_MAX 4u

static flow_t flow;
static skn_wired_node_t nodes[NODES_MAX];
static char addresses[NODES_MAX][32];
static skn_system_t *systems[NODES_MAX];
static skn_error_t errors[NODES_MAX];
static char events[NODES_MAX][32][2048];
static uint32_t event_counts[NODES_MAX];
static uint64_t patience_ns; /* 0: as it is */

static void
have_nodes(uint32_t count)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    for (uint32_t k = 0; k < count; k++) {
        (void)snprintf(addresses[k], sizeof(addresses[k]), "tcp://127.0.0.1:%u",
                       held_port());
        nodes[k] = (skn_wired_node_t){
            .name = names[k], .address = addresses[k], .key = "", .ssh = ""
        };
    }
    flow.wiring.nodes = nodes;
    flow.wiring.node_count = count;
    flow.wiring.link_driver = &skn_link_driver;
}

static void
on_node(uint32_t actor, uint32_t count, uint32_t node)
{
    for (uint32_t k = actor; k < actor + count; k++)
        flow.actors[k].node = node;
}

static void
start(uint32_t node, const skn_start_options_t *more)
{
    skn_start_options_t options = SKN_START_OPTIONS();
    if (more)
        options = *more;
    options.no_binding = true;
    options.node = node;
    systems[node] = skn_system_new(&flow.wiring, &options, &errors[node]);
    cr_assert(systems[node], "%s", errors[node].text);
    if (patience_ns > 0)
        systems[node]->patience_ns = patience_ns;
    cr_assert_eq(skn_system_start(systems[node], NULL, NULL, &errors[node]),
                 SKN_OK, "%s", errors[node].text);
}

/* Whether the system's run has ended. */
static bool
follow(uint32_t node)
{
    char line[2048];
    skn_status_t status;
    while ((status = skn_system_event(systems[node], 0, line, sizeof(line),
                                      NULL)) == SKN_OK)
        if (event_counts[node] < 32)
            memcpy(events[node][event_counts[node]++], line, sizeof(line));
    return status == SKN_UNAVAILABLE;
}

/* It must still run: says why it does not. */
static void
follow_running(uint32_t node)
{
    if (!follow(node))
        return;
    skn_status_t status = skn_system_wait(systems[node], &errors[node]);
    cr_assert_fail("node %u ended with %d: %s", node, (int)status,
                   errors[node].text);
}

static void
follow_all(uint32_t count)
{
    uint32_t ended = 0;
    bool over[NODES_MAX] = { false };
    while (ended < count) {
        struct pollfd polled[NODES_MAX];
        for (uint32_t k = 0; k < count; k++)
            polled[k] =
                (struct pollfd){ over[k] ? -1 : skn_system_fd(systems[k]),
                                 POLLIN, 0 };
        (void)poll(polled, count, 1000);
        for (uint32_t k = 0; k < count; k++)
            if (!over[k] && follow(k)) {
                over[k] = true;
                ended++;
            }
    }
}

static skn_status_t
end(uint32_t node)
{
    skn_status_t status = skn_system_wait(systems[node], &errors[node]);
    skn_system_destroy(&systems[node]);
    return status;
}

static void
run_all(uint32_t count)
{
    have_nodes(count);
    for (uint32_t k = 0; k < count; k++)
        start(k, NULL);
    follow_all(count);
    for (uint32_t k = 0; k < count; k++)
        cr_expect_eq(end(k), SKN_OK, "%s", errors[k].text);
}

static bool
has_told(uint32_t node, const char *name)
{
    bool found = false;
    for (uint32_t k = 0; k < event_counts[node]; k++) {
        json_t *event = json_loads(events[node][k], 0, NULL);
        const char *told = json_string_value(json_object_get(event, "event"));
        found = found || (told && strcmp(told, name) == 0);
        json_decref(event);
    }
    return found;
}

static int64_t
number_of(const json_t *event, const char *key)
{
    return json_integer_value(json_object_get(event, key));
}

/* --- patterns ------------------------------------------------------------ */

Test(links, messages_come_once_and_in_order)
{
    uint32_t from = flow_actors(&flow, &maker, 1, 2000, 0);
    uint32_t to = flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 8, from, 1, to, 1);
    on_node(to, 1, 1);
    run_all(2);
    cr_assert_eq(flow_logs[to].count, 2000);
    for (uint64_t k = 0; k < 2000; k++)
        cr_assert_eq(flow_logs[to].entry[k], k);
}

Test(links, credit_of_one_is_enough)
{
    uint32_t from = flow_actors(&flow, &maker, 1, 50, 0);
    uint32_t to = flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 1, from, 1, to, 1);
    on_node(to, 1, 1);
    run_all(2);
    cr_assert_eq(flow_logs[to].count, 50);
}

Test(links, a_broadcast_crosses_once_and_reaches_all)
{
    uint32_t from = flow_actors(&flow, &maker, 1, 500, 0);
    uint32_t to = flow_actors(&flow, &sink, 6, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_BROADCAST, 4, from, 1, to, 6);
    on_node(to + 1, 3, 1);
    on_node(to + 4, 2, 2);
    run_all(3);
    for (uint32_t k = 0; k < 6; k++) {
        cr_assert_eq(flow_logs[to + k].count, 500, "receiver %u", k);
        for (uint64_t n = 0; n < 500; n++)
            cr_assert_eq(flow_logs[to + k].entry[n], n);
    }
    /* Two peers; a few records of the run's own beside the messages. */
    for (uint32_t k = 0; k < event_counts[0]; k++) {
        json_t *event = json_loads(events[0][k], 0, NULL);
        if (strstr(events[0][k], "\"link\"")) {
            cr_expect_geq(number_of(event, "records_sent"), 501);
            cr_expect_leq(number_of(event, "records_sent"), 520);
        }
        json_decref(event);
    }
}

Test(links, keys_find_their_receivers_on_any_node)
{
    static const uint64_t bounds[] = { 0, 10, 20, 30, 40 };
    uint32_t from = flow_actors(&flow, &maker, 2, 400, 40);
    uint32_t to = flow_actors(&flow, &sink, 4, 0, 0);
    skn_wired_pipe_t *pipe =
        flow_pipe(&flow, &token_schema, SKN_PATTERN_SCATTER, 4, from, 2, to, 4);
    pipe->bounds = bounds;
    on_node(from + 1, 1, 1);
    on_node(to, 2, 1);
    on_node(to + 2, 1, 2);
    run_all(3);
    for (uint32_t k = 0; k < 4; k++) {
        cr_assert_eq(flow_logs[to + k].count, 200, "receiver %u", k);
        for (uint64_t n = 0; n < 200; n++)
            cr_assert_eq(flow_logs[to + k].entry[n] % 1000 % 40 / 10, k);
    }
}

Test(links, a_receiver_with_credit_gets_the_message)
{
    uint32_t from = flow_actors(&flow, &maker, 1, 600, 0);
    uint32_t to = flow_actors(&flow, &sink, 3, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ANY, 2, from, 1, to, 3);
    on_node(to + 1, 2, 1);
    run_all(2);
    uint64_t sum = 0;
    for (uint32_t k = 0; k < 3; k++)
        sum += flow_logs[to + k].sum;
    cr_expect_eq(sum, 599 * 600 / 2);
}

Test(links, parts_are_gathered_from_all_nodes)
{
    uint32_t from = flow_actors(&flow, &maker, 4, 200, 0);
    uint32_t to = flow_actors(&flow, &gatherer, 2, 0, 0);
    skn_wired_pipe_t *pipe = flow_pipe(
        &flow, &token_schema, SKN_PATTERN_BROADCAST, 4, from, 4, to, 2);
    pipe->collect = SKN_COLLECT_GATHER;
    for (uint32_t k = 0; k < 4; k++)
        on_node(from + k, 1, k);
    on_node(to, 1, 1);
    on_node(to + 1, 1, 3);
    run_all(4);
    for (uint32_t t = to; t < to + 2; t++) {
        cr_assert_eq(flow_logs[t].count, 800);
        for (uint64_t n = 0; n < 800; n++)
            cr_assert_eq(flow_logs[t].entry[n], 1000 * (n % 4) + n / 4);
    }
}

Test(links, parts_are_combined_in_the_order_of_senders)
{
    uint32_t from = flow_actors(&flow, &maker, 3, 20, 0);
    uint32_t to = flow_actors(&flow, &sink, 1, 0, 0);
    skn_wired_pipe_t *pipe =
        flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 2, from, 3, to, 1);
    pipe->collect = SKN_COLLECT_REDUCE;
    on_node(from, 1, 1);
    on_node(from + 2, 1, 2);
    run_all(3);
    cr_assert_eq(flow_logs[to].count, 20);
    for (uint64_t n = 0; n < 20; n++)
        cr_expect_eq(flow_logs[to].entry[n],
                     (n * 100 + 1000 + n) * 100 + 2000 + n);
}

Test(links, a_chain_over_all_nodes_and_back_ends_well)
{
    uint32_t first = flow_actors(&flow, &maker, 1, 300, 0);
    uint32_t middle = flow_actors(&flow, &relay, 6, 1, 0);
    uint32_t last = flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 3, first, 1, middle, 1);
    for (uint32_t k = 0; k < 6; k++) {
        on_node(middle + k, 1, (k + 1) % 3);
        flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 1 + k, middle + k, 1,
                  middle + k + 1, 1);
    }
    (void)last;
    run_all(3);
    cr_assert_eq(flow_logs[last].count, 300);
    for (uint64_t n = 0; n < 300; n++)
        cr_assert_eq(flow_logs[last].entry[n], n);
}

/* --- course of a run ----------------------------------------------------- */

Test(links, no_node_begins_before_all_are_ready)
{
    uint32_t from = flow_actors(&flow, &maker, 1, 10, 0);
    uint32_t to = flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 100, from, 1, to, 1);
    on_node(to, 1, 1);
    have_nodes(2);
    start(0, NULL);
    for (int k = 0; k < 20; k++) {
        struct pollfd polled = { skn_system_fd(systems[0]), POLLIN, 0 };
        (void)poll(&polled, 1, 50);
        follow_running(0);
    }
    cr_assert_eq(systems[0]->actors[from].counters.handling_ns, 0);
    start(1, NULL);
    follow_all(2);
    cr_expect_eq(end(0), SKN_OK);
    cr_expect_eq(end(1), SKN_OK);
    cr_assert_eq(flow_logs[to].count, 10);
}

Test(links, a_node_that_waits_in_vain_gives_up_and_names_the_other)
{
    uint32_t from = flow_actors(&flow, &maker, 1, 10, 0);
    uint32_t to = flow_actors(&flow, &sink, 1, 0, 0);
    skn_start_options_t options = SKN_START_OPTIONS(.wait_s = 1);
    char sentence[128];
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 100, from, 1, to, 1);
    on_node(to, 1, 1);
    have_nodes(2);
    start(0, &options);
    follow_all(1);
    cr_expect_eq(end(0), SKN_UNAVAILABLE);
    (void)snprintf(sentence, sizeof(sentence), "waited 1 s for b (%s)",
                   addresses[1]);
    cr_expect_str_eq(errors[0].text, sentence);
}

Test(links, a_failure_on_one_node_is_reported_on_all)
{
    uint32_t from = flow_actors(&flow, &maker, 1, 1000000, 0);
    uint32_t to = flow_actors(&flow, &relay, 1, 1, 0);
    uint32_t bystander = flow_actors(&flow, &sink, 1, 0, 0);
    /* The relay's tokens go nowhere; one of them has an overlong text. */
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 8, from, 1, to, 1);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 8, to, 1, bystander, 1);
    on_node(to, 1, 1);
    on_node(bystander, 1, 2);
    have_nodes(3);
    for (uint32_t k = 0; k < 3; k++)
        start(k, NULL);
    while (flow_logs[bystander].count < 10)
        for (uint32_t k = 0; k < 3; k++)
            follow_running(k);
    skn_error_t broken = { 0 };
    skn_error_t *copy = malloc(sizeof(*copy));
    (void)skn_fail(&broken, SKN_STORAGE, "the disk of b is full");
    *copy = broken;
    /* As an actor of b would report it. */
    skn_parcel_t parcel = { .type = SKN_PARCEL_FAILED,
                            .slot = to,
                            .pointer = copy };
    skn_outlet_t *outlet =
        skn_system_outlet(systems[1], skn_system_host_number(systems[1]), NULL);
    cr_assert_eq(skn_outlet_put(outlet, &parcel, NULL), SKN_OK);
    follow_all(3);
    skn_outlet_close(&outlet);
    cr_expect_eq(end(1), SKN_STORAGE);
    cr_expect_str_eq(errors[1].text, "the disk of b is full");
    cr_expect_eq(end(0), SKN_STORAGE);
    cr_expect_str_eq(errors[0].text, "node 'b': the disk of b is full");
    cr_expect_eq(end(2), SKN_STORAGE);
    cr_expect_str_eq(errors[2].text, "node 'b': the disk of b is full");
}

/* --- who sent what is refused -------------------------------------------- */

static skn_status_t
refuse_one(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *error)
{
    (void)actor, (void)state, (void)message;
    return skn_fail(error, SKN_BAD_MESSAGE, "no token");
}

static skn_status_t
refuse_last(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *error)
{
    const skn_parts_t *parts = message;
    (void)actor, (void)state;
    skn_parts_refuse(parts, parts->count - 1);
    return skn_fail(error, SKN_BAD_MESSAGE, "no tokens");
}

static const skn_handler_t of_one[] = { { &token_schema, refuse_one, NULL },
                                        { NULL, NULL, NULL } };
static const skn_handler_t of_parts[] = { { &token_schema, refuse_last, NULL },
                                          { NULL, NULL, NULL } };
static const skn_kind_t picky =
    SKN_KIND(.name = "picky", .options = flow_options, .handlers = of_one);
static const skn_kind_t choosy =
    SKN_KIND(.name = "choosy", .options = flow_options, .handlers = of_parts);

/* A maker on each of two nodes, and one on b that refuses what they send. */
static void
expect_refusal(const skn_kind_t *kind, uint32_t senders, const char *text)
{
    uint32_t from = flow_actors(&flow, &maker, 2, 1, 0);
    uint32_t to = flow_actors(&flow, kind, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 2, from + 2 - senders,
              senders, to, 1)
        ->collect = senders == 1 ? SKN_COLLECT_NONE : SKN_COLLECT_GATHER;
    on_node(from, 1, 1);
    on_node(to, 1, 1);
    have_nodes(2);
    start(0, NULL);
    start(1, NULL);
    follow_all(2);
    cr_expect_eq(end(1), SKN_BAD_MESSAGE);
    cr_expect_str_eq(errors[1].text, text);
    cr_expect_eq(end(0), SKN_BAD_MESSAGE);
    cr_expect(strstr(errors[0].text, text), "%s", errors[0].text);
}

Test(links, a_refused_message_is_reported_with_its_sender_and_node)
{
    expect_refusal(&picky, 1,
                   "picky.0 (in its handler of 'token'): no token (token from "
                   "maker.1 of node 'a')");
}

Test(links, a_refused_part_is_reported_with_its_sender_and_node)
{
    expect_refusal(
        &choosy, 2,
        "choosy.0 (in its handler of 'token'): no tokens (token from "
        "maker.1 of node 'a')");
}

Test(links, another_config_is_refused_at_both_ends)
{
    uint32_t from = flow_actors(&flow, &maker, 1, 10, 0);
    uint32_t to = flow_actors(&flow, &sink, 1, 0, 0);
    skn_start_options_t one = SKN_START_OPTIONS(.config_hash = 1),
                        two = SKN_START_OPTIONS(.config_hash = 2);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 100, from, 1, to, 1);
    on_node(to, 1, 1);
    have_nodes(2);
    start(0, &one);
    start(1, &two);
    follow_all(2);
    cr_expect_neq(end(0), SKN_OK);
    cr_expect_neq(end(1), SKN_OK);
    cr_expect(strstr(errors[0].text, "config"), "%s", errors[0].text);
    cr_expect(strstr(errors[1].text, "config"), "%s", errors[1].text);
}

Test(links, a_stop_on_any_node_reaches_all)
{
    uint32_t from = flow_actors(&flow, &maker, 1, 1000000000, 0);
    uint32_t to = flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 100, from, 1, to, 1);
    on_node(to, 1, 1);
    have_nodes(2);
    start(0, NULL);
    start(1, NULL);
    /* Before it has begun a run that is stopped just ends. */
    while (flow_logs[to].count < 10)
        for (uint32_t k = 0; k < 2; k++)
            follow_running(k);
    cr_expect(has_told(0, "joined") && has_told(1, "joined"));
    skn_system_stop(systems[1]);
    while (!skn_actor_stop_wanted(&systems[0]->actors[from]))
        for (uint32_t k = 0; k < 2; k++)
            follow_running(k);
    skn_system_destroy(&systems[0]); /* the maker knows no stop */
    skn_system_destroy(&systems[1]);
}

/* Stops two nodes `wait_us` after the last message has come: their links may be
 * finishing, where nothing is sent any more. */
static void
stop_at_the_end(uint32_t to, uint64_t wait_us)
{
    uint64_t end_ns = 0;
    for (uint32_t k = 0; k < 2; k++) {
        event_counts[k] = 0;
        start(k, NULL);
    }
    flow_logs[to].count = 0;
    while (flow_logs[to].count < 20 || skn_monotonic_ns() < end_ns) {
        if (flow_logs[to].count < 20)
            end_ns = skn_monotonic_ns() + 1000 * wait_us;
        for (uint32_t k = 0; k < 2; k++)
            (void)follow(k);
    }
    for (uint32_t k = 0; k < 2; k++)
        skn_system_stop(systems[k]);
    follow_all(2);
    for (uint32_t k = 0; k < 2; k++)
        cr_expect_eq(end(k), SKN_OK, "%u us: %s", (unsigned)wait_us,
                     errors[k].text);
}

Test(links, a_stop_while_links_finish_is_no_failure)
{
    uint32_t from = flow_actors(&flow, &maker, 1, 20, 0);
    uint32_t to = flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 100, from, 1, to, 1);
    on_node(to, 1, 1);
    have_nodes(2);
    for (uint64_t k = 0; k < 40; k++)
        stop_at_the_end(to, 100 * k);
}

/* --- clocks -------------------------------------------------------------- */

static skn_clock_t clocks[4];
static uint32_t clock_count;

static skn_status_t
ask(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)state;
    skn_status_t status = skn_actor_ask_clock(actor, 7, wrong);
    return status == SKN_OK ? skn_actor_ask_clock(actor, 8, wrong) : status;
}
static skn_status_t
on_clock(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *wrong)
{
    (void)state;
    clocks[clock_count++] = *(const skn_clock_t *)message;
    return flow_send(actor, &token_schema, clock_count, clock_count, wrong);
}
static const skn_handler_t asker_handlers[] = { { &skn_clock_schema, on_clock,
                                                  NULL },
                                                { 0 } };
static const skn_kind_t asker =
    SKN_KIND(.name = "asker", .options = flow_options,
             .handlers = asker_handlers, .sends = token_sends, .start = ask);

/* Keeps back what is due, also when it is asked to stop. */
static skn_status_t
stubborn_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    (void)state, (void)error;
    skn_actor_rest(actor);
    return SKN_OK;
}
static const skn_kind_t stubborn =
    SKN_KIND(.name = "stubborn", .options = flow_options, .sends = token_sends,
             .gate = true, .produce = stubborn_produce);

Test(links, a_stop_ends_a_run_that_a_node_keeps_waiting)
{
    static const char sentence[] =
        "gatherer.0 has waited 0 s for token of batch 0 from stubborn.0 of "
        "node 'b', and the run was asked to stop";
    uint32_t from = flow_actors(&flow, &maker, 1, 1, 0);
    uint32_t other = flow_actors(&flow, &stubborn, 1, 0, 0);
    uint32_t to = flow_actors(&flow, &gatherer, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 2, from, 2, to, 1)
        ->collect = SKN_COLLECT_GATHER;
    on_node(other, 1, 1);
    have_nodes(2);
    patience_ns = 30000000;
    start(0, NULL);
    start(1, NULL);
    while (!has_told(0, "waiting")) {
        struct pollfd polled = { skn_system_fd(systems[0]), POLLIN, 0 };
        (void)poll(&polled, 1, 100);
        follow_running(0);
        follow_running(1);
    }
    skn_system_stop(systems[1]);
    follow_all(2);
    cr_expect_eq(end(0), SKN_UNAVAILABLE);
    cr_expect_str_eq(errors[0].text, sentence);
    cr_expect(strstr(errors[0].hint, "--resume"), "%s", errors[0].hint);
    cr_expect_eq(end(1), SKN_UNAVAILABLE);
    cr_expect(strstr(errors[1].text, sentence), "%s", errors[1].text);
}

/* Polls both until node 0 has told `line` as often as `count`. */
static void
await_line(const char *line, uint32_t count, uint32_t running)
{
    uint32_t told = 0;
    while (told < count) {
        struct pollfd polled = { skn_system_fd(systems[0]), POLLIN, 0 };
        (void)poll(&polled, 1, 100);
        for (uint32_t k = 0; k < running; k++)
            follow_running(k);
        told = 0;
        for (uint32_t k = 0; k < event_counts[0]; k++)
            told += strcmp(events[0][k], line) == 0;
    }
}

/* Nothing is said of one that is slow for less than 4 s: see the other tests,
 * which run in less. */
Test(links, one_that_does_not_come_is_silent_until_it_does)
{
    uint32_t from = flow_actors(&flow, &stubborn, 1, 0, 0);
    uint32_t to = flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 4, from, 1, to, 1);
    on_node(to, 1, 1);
    have_nodes(2);
    start(0, NULL);
    await_line("{\"event\":\"silent\",\"node\":\"a\",\"peers\":[\"b\"]}", 1, 1);
    start(1, NULL);
    await_line("{\"event\":\"silent\",\"node\":\"a\",\"peers\":[]}", 1, 2);
    while (!has_told(0, "joined"))
        follow_running(0);
    skn_system_destroy(&systems[0]);
    skn_system_destroy(&systems[1]);
}

Test(links, a_clock_is_that_of_all_nodes)
{
    uint32_t from = flow_actors(&flow, &asker, 1, 0, 0);
    uint32_t gate = flow_actors(&flow, &maker, 1, 1, 0);
    uint32_t to = flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 4, from, 1, to, 1);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 4, gate, 1, to, 1);
    on_node(to, 1, 1);
    (void)gate;
    have_nodes(2);
    start(0, NULL);
    start(1, NULL);
    while (clock_count < 2)
        for (uint32_t k = 0; k < 2; k++)
            (void)follow(k);
    cr_expect_eq(clocks[0].tag, 7);
    cr_expect_eq(clocks[1].tag, 8);
    cr_expect_gt(clocks[0].cpu_ns, 0);
    cr_expect_gt(clocks[0].wire_sent_bytes, 0);
    cr_expect_geq(clocks[1].cpu_ns, clocks[0].cpu_ns);
    skn_system_destroy(&systems[0]);
    skn_system_destroy(&systems[1]);
}
