/* test_system_figures.c - tests what a host sees of its actors during a run.
 *
 * A loop over skn_topology_actor ends when the actors have got where the test
 * wants them. The figures after a run are tested by test_report.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "skein/topology.h"

TestSuite(system_figures, .timeout = 60);

#define FIELDS_number(F, M) F(M, u64, value, UINT64_MAX, "any number")
SKN_MESSAGE_STRUCT(number, FIELDS_number)
SKN_MESSAGE_SCHEMA(number, "number", 1000, FIELDS_number, "a number")

/* --- kinds ---------------------------------------------------------------- */

/* feed: sends the numbers below `n`. */
static skn_status_t
produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    uint64_t *next = state;
    number_t number = { *next };
    if (*next == (uint64_t)skn_actor_option_int(actor, "n")) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    ++*next;
    return skn_actor_send(actor, &number_schema, &number, error);
}

/* holder: waits for a byte of this pipe in its handler of each number. */
static int held[2];

static skn_status_t
hold(skn_actor_t *actor, void *state, const void *message, skn_error_t *error)
{
    char byte;
    (void)state, (void)message;
    return read(held[0], &byte, 1) == 1
               ? SKN_OK
               : skn_fail(error, SKN_STORAGE, "%s reads nothing",
                          skn_actor_name(actor));
}

/* faller: fails at number 3, and may be restarted. */
static skn_status_t
fall(skn_actor_t *actor, void *state, const void *message, skn_error_t *error)
{
    const number_t *number = message;
    (void)state;
    return number->value != 3 ? SKN_OK
                              : skn_fail(error, SKN_BAD_DATA, "%s dislikes it",
                                         skn_actor_name(actor));
}

static skn_status_t
swallow(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    (void)actor, (void)state, (void)message, (void)error;
    return SKN_OK;
}

static const skn_schema_t *const sends[] = { &number_schema, NULL };
static const skn_option_t options[] = {
    { "n", SKN_OPTION_INT, "0", 0, 1e18, NULL, "how many" },
    { 0 },
};
#define SINK(kind, handler)                                                    \
    static const skn_handler_t kind##_handlers[] = {                           \
        { &number_schema, handler, NULL },                                     \
        { 0 },                                                                 \
    };
SINK(holder, hold)
SINK(faller, fall)
SINK(sink, swallow)
static const skn_kind_t feed =
    SKN_KIND(.name = "feed", .state_bytes = sizeof(uint64_t),
             .options = options, .sends = sends, .produce = produce);
static const skn_kind_t holder =
    SKN_KIND(.name = "holder", .handlers = holder_handlers);
static const skn_kind_t faller =
    SKN_KIND(.name = "faller", .handlers = faller_handlers, .restarts = true);
static const skn_kind_t sink =
    SKN_KIND(.name = "sink", .handlers = sink_handlers);
static const skn_kind_t *const kinds[] = { &feed, &holder, &faller, &sink,
                                           NULL };

/* --- a topology ----------------------------------------------------------- */

static skn_error_t error;
static skn_topology_t *topology;

/* `receivers` is a list of actors, and `to` the ones that get numbers. */
static void
start(int n, const char *receivers, const char *to)
{
    char text[512];
    (void)snprintf(text, sizeof(text),
                   "skein: 1\ntopology:\n  name: t\n  actors:\n"
                   "    - { name: a, kind: feed, options: { n: %d } }\n%s"
                   "  pipes:\n    - { from: a, message: number, credit: 4, "
                   "%s }\n",
                   n, receivers, to);
    topology = skn_topology_new(text, "t", kinds, &error);
    cr_assert(topology, "%s", error.text);
    cr_expect_null(skn_topology_actor(topology, 0), "it is not started");
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK, "%s",
                 error.text);
}

/* A copy: two of them can be compared. */
static skn_actor_info_t
info_of(size_t index)
{
    const skn_actor_info_t *info = skn_topology_actor(topology, index);
    cr_assert(info);
    cr_assert_eq(info->struct_bytes, sizeof(*info));
    return *info;
}

static void
end(void)
{
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK, "%s", error.text);
}

/* --- the tests ------------------------------------------------------------ */

Test(system_figures, a_handler_and_its_blocked_sender_are_seen)
{
    cr_assert_eq(pipe(held), 0);
    start(10, "    - { name: b, kind: holder }\n", "to: b");
    while (!info_of(0).is_blocked || !info_of(1).is_busy)
        continue;
    skn_actor_info_t a = info_of(0), b = info_of(1);
    cr_expect_null(skn_topology_actor(topology, 2));
    cr_expect_str_eq(a.name, "a");
    cr_expect_str_eq(a.kind, "feed");
    cr_expect_eq(a.messages_out, 4u);
    cr_expect_eq(a.outbox_messages, 1u);
    cr_expect_str_eq(a.fullest, "number");
    cr_expect_eq(a.credit, 4u);
    cr_expect_eq(a.credit_left, 0u);
    cr_expect_str_eq(a.hook, "");
    cr_expect_not(a.is_busy);
    cr_expect_gt(a.since_ns, 0u);
    cr_expect_str_eq(b.name, "b");
    cr_expect_eq(b.messages_in, 1u);
    cr_expect_eq(b.inbox_messages, 3u);
    cr_expect_null(b.fullest);
    cr_expect_str_eq(b.hook, "handler");
    cr_expect_str_eq(b.hook_of, "number");
    cr_expect_gt(b.since_ns, 0u);
    cr_expect_not(b.is_blocked);
    cr_assert_eq(write(held[1], "0123456789", 10), 10);
    end();
    a = info_of(0);
    b = info_of(1);
    cr_expect_eq(a.messages_out, 10u);
    cr_expect_gt(a.blocked_ns, 0u);
    cr_expect_eq(b.messages_in, 10u);
    cr_expect_eq(b.inbox_messages, 0u);
    cr_expect_gt(b.busy_ns, 0u);
    cr_expect_not(b.is_busy);
    cr_expect_eq(b.since_ns, 0u);
    skn_topology_destroy(&topology);
}

Test(system_figures, a_pipe_to_any_is_as_full_as_its_emptiest_receiver)
{
    cr_assert_eq(pipe(held), 0);
    start(6, "    - { name: b, kind: holder, replicate: 2 }\n",
          "to: b, pattern: any");
    while (info_of(0).messages_out < 6 || info_of(0).is_busy)
        continue;
    skn_actor_info_t a = info_of(0);
    cr_expect_eq(a.credit, 4u);
    cr_expect_eq(a.credit_left, 1u);
    cr_assert_eq(write(held[1], "012345", 6), 6);
    end();
    skn_topology_destroy(&topology);
}

Test(system_figures, restarts_are_counted)
{
    start(5, "    - { name: b, kind: faller }\n", "to: b");
    end();
    cr_expect_eq(info_of(1).restarts, 1u);
    cr_expect_eq(info_of(0).restarts, 0u);
    skn_topology_destroy(&topology);
}

/* Also what the thread sanitizer looks at. */
Test(system_figures, counters_never_decrease_while_the_actors_work)
{
    skn_actor_info_t before[2], now[2];
    start(200000, "    - { name: b, kind: sink }\n", "to: b");
    for (size_t k = 0; k < 2; k++)
        before[k] = info_of(k);
    while (skn_topology_wait_for(topology, 0, &error) == SKN_BUSY)
        for (size_t k = 0; k < 2; k++) {
            now[k] = info_of(k);
            cr_assert_geq(now[k].messages_in, before[k].messages_in);
            cr_assert_geq(now[k].messages_out, before[k].messages_out);
            cr_assert_geq(now[k].busy_ns, before[k].busy_ns);
            cr_assert_geq(now[k].waiting_ns, before[k].waiting_ns);
            cr_assert_geq(now[k].blocked_ns, before[k].blocked_ns);
            cr_assert_leq(now[k].credit_left, 4u);
            cr_assert_leq(now[k].inbox_messages, 200000u);
            before[k] = now[k];
        }
    cr_expect_eq(info_of(1).messages_in, 200000u);
    end();
    skn_topology_destroy(&topology);
}
