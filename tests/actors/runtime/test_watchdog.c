/* test_watchdog.c - tests that a handler that does not return is reported, and
 * actors that wait for it are not.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/runtime/watchdog.h"
#include "tests/support/flow_fixture.h"

TestSuite(watchdog, .timeout = 60);

static flow_t flow;
static skn_error_t error;
static atomic_bool may_return;

/* Takes its message and stays there until the test has seen enough. */
static skn_status_t
sleeper_take(skn_actor_t *actor, void *state, const void *message,
             skn_error_t *wrong)
{
    (void)actor, (void)state, (void)message, (void)wrong;
    while (!atomic_load(&may_return))
        (void)sched_yield();
    return SKN_OK;
}
static const skn_handler_t sleeper_handlers[] = { { &token_schema, sleeper_take,
                                                    NULL },
                                                  { 0 } };
static const skn_kind_t sleeper =
    SKN_KIND(.name = "sleeper", .options = flow_options,
             .handlers = sleeper_handlers);

static skn_status_t
sleeper_open(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    return sleeper_take(actor, state, NULL, wrong);
}
static skn_status_t
sleeper_start(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)state, (void)wrong;
    skn_actor_finish(actor);
    return SKN_OK;
}
static const skn_kind_t opener =
    SKN_KIND(.name = "opener", .options = flow_options, .open = sleeper_open,
             .start = sleeper_start);

static skn_system_t *
new_system(void)
{
    const skn_start_options_t options =
        SKN_START_OPTIONS(.no_binding = true, .patience_ms = 50);
    skn_system_t *system = skn_system_new(&flow.wiring, &options, &error);
    cr_assert(system, "%s", error.text);
    return system;
}

static bool
begins(const char *line, const char *text)
{
    return strncmp(line, text, strlen(text)) == 0;
}

Test(watchdog, a_handler_that_does_not_return_is_reported_not_those_that_wait)
{
    char line[2048];
    int reports = 0;
    flow_actors(&flow, &maker, 1, 20, 0);
    flow_actors(&flow, &sleeper, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 1, 0, 1, 1, 1);
    flow.actors[1].plugin = "./sleeper.so";
    skn_system_t *system = new_system();
    cr_assert_eq(skn_system_start(system, NULL, NULL, &error), SKN_OK, "%s",
                 error.text);
    while (skn_system_event(system, -1, line, sizeof(line), NULL) == SKN_OK) {
        /* On a busy machine the maker may be kept from its core for longer
         * than the patience, before it waits. If it were reported while it
         * waits, the sleeper, which stays for less long, never would be. */
        if (begins(line, "{\"event\":\"stuck\",\"actor\":\"maker."))
            continue;
        cr_expect(begins(line,
                         "{\"event\":\"stuck\",\"actor\":\"sleeper.0\","
                         "\"kind\":\"sleeper\",\"plugin\":\"./sleeper.so\","
                         "\"in\":\"its handler of 'token'\",\"seconds\":"),
                  "%s", line);
        if (++reports == 3)
            atomic_store(&may_return, true);
    }
    cr_expect_geq(reports, 3);
    cr_expect_eq(skn_system_wait(system, &error), SKN_OK, "%s", error.text);
    skn_system_destroy(&system);
}

/* Stays once, and tells an event with each message. */
static skn_status_t
teller_take(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *wrong)
{
    (void)sleeper_take(actor, state, message, wrong);
    return skn_actor_send_event(actor, wrong, "{\"event\":\"taken\"}");
}
static const skn_handler_t teller_handlers[] = { { &token_schema, teller_take,
                                                   NULL },
                                                 { 0 } };
static const skn_kind_t teller =
    SKN_KIND(.name = "teller", .options = flow_options,
             .handlers = teller_handlers);

Test(watchdog, reports_take_no_room_from_the_events_of_actors)
{
    char line[2048];
    int reports = 0, taken = 0;
    flow_actors(&flow, &maker, 1, 20, 0);
    flow_actors(&flow, &teller, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 1, 0, 1, 1, 1);
    skn_system_t *system = new_system();
    cr_assert_eq(skn_system_start(system, NULL, NULL, &error), SKN_OK, "%s",
                 error.text);
    while (skn_system_event(system, -1, line, sizeof(line), NULL) == SKN_OK) {
        if (begins(line, "{\"event\":\"stuck\"")) {
            reports++;
            atomic_store(&may_return, true);
        }
        taken += begins(line, "{\"event\":\"taken\"");
    }
    cr_expect_geq(reports, 1);
    cr_expect_eq(taken, 20);
    cr_expect_eq(skn_system_wait(system, &error), SKN_OK, "%s", error.text);
    skn_system_destroy(&system);
}

static int told;

static void
take_early(void *job, const char *line)
{
    (void)job;
    cr_expect(begins(line, "{\"event\":\"stuck\",\"actor\":\"opener."), "%s",
              line);
    cr_expect(strstr(line, "\"in\":\"its open\""), "%s", line);
    told += 1 + (strstr(line, "\"more\":1") ? 1 : 0) +
            (strstr(line, "\"more\":2") ? 2 : 0);
    if (told >= 3)
        atomic_store(&may_return, true);
}

Test(watchdog, replicas_are_one_report_while_the_run_starts_too)
{
    flow_actors(&flow, &opener, 3, 0, 0);
    skn_system_t *system = new_system();
    cr_assert_eq(skn_system_start(system, take_early, NULL, &error), SKN_OK,
                 "%s", error.text);
    cr_expect_geq(told, 3);
    cr_expect_eq(skn_system_wait(system, &error), SKN_OK, "%s", error.text);
    skn_system_destroy(&system);
}

Test(watchdog, the_longest_stay_is_found)
{
    skn_stay_t stay;
    flow_actors(&flow, &sleeper, 3, 0, 0);
    skn_system_t *system = new_system();
    cr_expect_null(skn_watchdog_longest(system, 1000, 0, &stay));
    skn_place_enter(&system->actors[0].place, SKN_PLACE_HANDLER, "token", 500);
    skn_place_enter(&system->actors[2].place, SKN_PLACE_DRAIN, NULL, 300);
    cr_expect_eq(skn_watchdog_longest(system, 1000, 0, &stay),
                 &system->actors[2]);
    cr_expect_eq(stay.type, SKN_PLACE_DRAIN);
    cr_expect_eq(stay.since_ns, 300);
    cr_expect_null(skn_watchdog_longest(system, 1000, 701, &stay));
    skn_place_leave(&system->actors[2].place);
    cr_expect_eq(skn_watchdog_longest(system, 1000, 500, &stay),
                 &system->actors[0]);
    cr_expect_str_eq(stay.name, "token");
    skn_system_destroy(&system);
}
