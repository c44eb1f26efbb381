/* test_system.c - tests the host's side of a system: readiness, events,
 * failure, threads, trace. Covers actors/runtime/system_build.c and
 * actors/runtime/report.c too.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <czmq.h>
#include <dirent.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/support/flow_fixture.h"
#include "tests/support/settle.h"

TestSuite(system, .timeout = 60);

static flow_t flow;
static skn_error_t error;
static char line[2048];

/* --- failure -------------------------------------------------------------- */

static atomic_uint opened, closed;

static skn_status_t
fail_open(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)state;
    atomic_fetch_add(&opened, 1);
    if ((int64_t)skn_actor_index(actor) == skn_actor_option_int(actor, "n"))
        return skn_fail(wrong, SKN_NO_INPUT, "%s finds no file",
                        skn_actor_name(actor));
    return SKN_OK;
}
static void
count_close(skn_actor_t *actor, void *state)
{
    (void)actor, (void)state;
    atomic_fetch_add(&closed, 1);
}
static const skn_kind_t opener =
    SKN_KIND(.name = "opener", .options = flow_options, .open = fail_open,
             .close = count_close);

/* The threads of this process when CZMQ has started its own, which stay. */
static size_t
threads_of_czmq(void)
{
    skn_inbox_t *inbox = skn_inbox_open("inproc://first", &error);
    cr_assert(inbox, "%s", error.text);
    skn_inbox_close(&inbox);
    return settle_stable(SETTLE_THREADS);
}

Test(system, a_failure_in_open_is_reported_and_all_actors_are_closed)
{
    size_t before = threads_of_czmq();
    flow_actors(&flow, &opener, 8, 5, 0);
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_NO_INPUT);
    cr_expect_str_eq(error.text, "opener.5 (in its open) finds no file");
    cr_expect_eq(atomic_load(&opened), 8);
    cr_expect_eq(atomic_load(&closed), 8);
    cr_expect_eq(settle_at_most(SETTLE_THREADS, before), before);
}

static skn_status_t
tell_open(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)state;
    return skn_actor_send_event(actor, wrong, "{\"event\":\"opening\"}");
}
static const skn_kind_t greeter =
    SKN_KIND(.name = "greeter", .options = flow_options, .open = tell_open);

Test(system, asking_for_the_bytes_of_an_event_leaves_it_signalled)
{
    flow_actors(&flow, &greeter, 1, 0, 0);
    skn_system_t *system = skn_system_new(&flow.wiring, NULL, &error);
    cr_assert_eq(skn_system_start(system, NULL, NULL, &error), SKN_OK);
    struct pollfd polled = { skn_system_fd(system), POLLIN, 0 };
    while (skn_system_event_bytes(system) == 0)
        (void)poll(&polled, 1, -1);
    cr_expect_eq(poll(&polled, 1, 0), 1);
    cr_expect_eq(skn_system_wait_for(system, 0, &error), SKN_BUSY);
    cr_expect_eq(poll(&polled, 1, 0), 1);
    cr_expect_eq(skn_system_event_bytes(system),
                 sizeof("{\"event\":\"opening\"}"));
    skn_system_destroy(&system);
}

Test(system, events_from_before_a_failed_start_can_be_read)
{
    flow_actors(&flow, &opener, 1, 0, 0);
    flow_actors(&flow, &greeter, 1, 0, 0);
    skn_system_t *system = skn_system_new(&flow.wiring, NULL, &error);
    cr_assert(system, "%s", error.text);
    cr_expect_eq(skn_system_start(system, NULL, NULL, &error), SKN_NO_INPUT);
    cr_expect_eq(skn_system_event(system, -1, line, sizeof(line), NULL),
                 SKN_OK);
    cr_expect_str_eq(line, "{\"event\":\"opening\"}");
    cr_expect_eq(skn_system_event(system, -1, line, sizeof(line), NULL),
                 SKN_UNAVAILABLE);
    skn_system_destroy(&system);
}

/* Handles its first message until the run is to end. */
static atomic_uint entered;

static skn_status_t
patient_token(skn_actor_t *actor, void *state, const void *message,
              skn_error_t *wrong)
{
    (void)state, (void)message, (void)wrong;
    atomic_fetch_add(&entered, 1);
    while (!skn_actor_stop_wanted(actor))
        (void)sched_yield();
    return SKN_OK;
}
static const skn_handler_t patient_handlers[] = { { &token_schema,
                                                    patient_token, NULL },
                                                  { 0 } };
static const skn_kind_t patient =
    SKN_KIND(.name = "patient", .options = flow_options,
             .handlers = patient_handlers);

/* Fails when the patient is in its handler. */
static skn_status_t
fail_token(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *wrong)
{
    (void)actor, (void)state, (void)message;
    while (atomic_load(&entered) == 0)
        (void)sched_yield();
    return skn_fail(wrong, SKN_STORAGE, "no room today");
}
static const skn_handler_t fail_handlers[] = { { &token_schema, fail_token,
                                                 NULL },
                                               { 0 } };
static const skn_kind_t failing =
    SKN_KIND(.name = "failing", .options = flow_options,
             .handlers = fail_handlers);

Test(system, an_abort_ends_an_actor_after_its_current_handler)
{
    flow_actors(&flow, &maker, 1, 8, 1);
    flow_actors(&flow, &patient, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 8, 0, 1, 1, 1);
    skn_system_t *system = skn_system_new(&flow.wiring, NULL, &error);
    cr_assert(system, "%s", error.text);
    cr_assert_eq(skn_system_start(system, NULL, NULL, &error), SKN_OK, "%s",
                 error.text);
    while (atomic_load(&entered) == 0)
        (void)sched_yield();
    skn_system_abort(system);
    cr_expect_eq(skn_system_wait(system, &error), SKN_UNAVAILABLE);
    cr_expect_eq(atomic_load(&entered), 1);
    skn_system_destroy(&system);
}

Test(system, a_failure_ends_the_others_after_their_current_handlers)
{
    flow_actors(&flow, &maker, 1, 8, 1);
    flow_actors(&flow, &patient, 1, 0, 0);
    flow_actors(&flow, &failing, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_BROADCAST, 8, 0, 1, 1, 2);
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_STORAGE);
    cr_expect_eq(atomic_load(&entered), 1);
}

static skn_status_t
fail_start(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)actor, (void)state;
    return skn_fail(wrong, SKN_STORAGE, "no start today");
}
static const skn_kind_t unlucky =
    SKN_KIND(.name = "unlucky", .options = flow_options, .start = fail_start,
             .close = count_close);

Test(system, a_failure_in_start_ends_the_run_for_all)
{
    flow_actors(&flow, &unlucky, 1, 0, 0);
    flow_actors(&flow, &maker, 3, 1000000000, 1);
    flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 2, 1, 3, 4, 1);
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_STORAGE);
    cr_expect_str_eq(error.text, "unlucky.0 (in its start): no start today");
    cr_expect_eq(atomic_load(&closed), 1);
}

Test(system, a_system_that_never_started_is_taken_apart)
{
    flow_actors(&flow, &maker, 2, 10, 1);
    flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 2, 0, 2, 2, 1);
    skn_system_t *system = skn_system_new(&flow.wiring, NULL, &error);
    cr_assert(system, "%s", error.text);
    skn_system_destroy(&system);
    cr_expect_null(system);
    skn_system_destroy(&system);
}

Test(system, a_running_system_can_be_destroyed)
{
    size_t before = threads_of_czmq();
    flow_actors(&flow, &maker, 2, 1000000000, 1);
    flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 2, 0, 2, 2, 1);
    skn_system_t *system = skn_system_new(&flow.wiring, NULL, &error);
    cr_assert(system, "%s", error.text);
    cr_assert_eq(skn_system_start(system, NULL, NULL, &error), SKN_OK);
    cr_expect_gt(settle_entries(SETTLE_THREADS), before);
    skn_system_destroy(&system);
    cr_expect_eq(settle_at_most(SETTLE_THREADS, before), before);
}

Test(system, no_actors_end_at_once)
{
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
}

/* --- events --------------------------------------------------------------- */

static skn_status_t
tell_produce(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    uint64_t *next = state;
    if (*next == (uint64_t)skn_actor_option_int(actor, "n")) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    return skn_actor_send_event(actor, wrong, "{\"event\":%llu}",
                                (unsigned long long)(*next)++);
}
static const skn_kind_t teller =
    SKN_KIND(.name = "teller", .state_bytes = sizeof(uint64_t),
             .options = flow_options, .produce = tell_produce);

Test(system, a_host_follows_the_run_in_its_own_poll_loop)
{
    char want[64];
    uint64_t seen = 0;
    skn_status_t status = SKN_OK;
    flow_actors(&flow, &teller, 1, 1000, 0);
    skn_system_t *system = skn_system_new(&flow.wiring, NULL, &error);
    cr_assert(system, "%s", error.text);
    cr_expect_eq(skn_system_event(system, 0, line, sizeof(line), &error),
                 SKN_BUSY);
    cr_assert_eq(skn_system_start(system, NULL, NULL, &error), SKN_OK);
    while (status != SKN_UNAVAILABLE) {
        struct pollfd item = { .fd = skn_system_fd(system), .events = POLLIN };
        cr_assert_eq(poll(&item, 1, 30000), 1, "the end is never announced");
        status = skn_system_event(system, 0, line, sizeof(line), &error);
        if (status != SKN_OK)
            continue;
        (void)snprintf(want, sizeof(want), "{\"event\":%llu}",
                       (unsigned long long)seen++);
        cr_assert_str_eq(line, want);
    }
    cr_expect_eq(seen, 1000);
    cr_expect_str_eq(error.text, "the run has ended");
    cr_expect_eq(skn_system_event(system, -1, line, sizeof(line), NULL),
                 SKN_UNAVAILABLE);
    cr_expect_eq(skn_system_wait(system, &error), SKN_OK);
    skn_system_destroy(&system);
}

/* Nothing is cut, since a part of an object is no JSON. */
Test(system, an_event_that_is_too_long_for_the_buffer_stays)
{
    char exact[12], small[11] = "untouched";
    flow_actors(&flow, &teller, 1, 2, 0);
    skn_system_t *system = skn_system_new(&flow.wiring, NULL, &error);
    cr_assert_eq(skn_system_start(system, NULL, NULL, &error), SKN_OK);
    for (int k = 0; k < 2; k++)
        cr_expect_eq(skn_system_event(system, -1, small, sizeof(small), &error),
                     SKN_TOO_SMALL);
    cr_expect_str_eq(error.text,
                     "the next event needs a buffer of 12 bytes, not 11");
    cr_expect_str_eq(small, "untouched");
    cr_expect_eq(skn_system_event_bytes(system), 12);
    cr_expect_eq(skn_system_event(system, -1, exact, sizeof(exact), &error),
                 SKN_OK);
    cr_expect_str_eq(exact, "{\"event\":0}");
    cr_expect_eq(skn_system_event(system, -1, exact, sizeof(exact), &error),
                 SKN_OK);
    cr_expect_str_eq(exact, "{\"event\":1}");
    cr_expect_eq(skn_system_event(system, -1, exact, 0, &error),
                 SKN_UNAVAILABLE, "there is no event that could be too long");
    cr_expect_eq(skn_system_event_bytes(system), 0);
    skn_system_destroy(&system);
}

/* A host that does not read holds up those who send, and loses nothing. */
Test(system, events_that_are_not_read_are_bounded)
{
    uint64_t seen = 0;
    uint32_t most = 0;
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    flow_actors(&flow, &teller, 2, 3 * SKN_EVENTS_MAX, 0);
    skn_system_t *system = skn_system_new(&flow.wiring, &options, &error);
    cr_assert_eq(skn_system_start(system, NULL, NULL, &error), SKN_OK);
    while (atomic_load(&system->event_count) < SKN_EVENTS_MAX)
        sched_yield();
    while (skn_system_event(system, -1, line, sizeof(line), &error) == SKN_OK) {
        uint32_t count = atomic_load(&system->event_count);
        most = count > most ? count : most;
        seen++;
    }
    cr_expect_eq(seen, 6 * SKN_EVENTS_MAX);
    /* Each of the two may have been in the middle of a turn. */
    cr_expect_leq(most, SKN_EVENTS_MAX + 2);
    cr_expect_eq(skn_system_wait(system, &error), SKN_OK);
    skn_system_destroy(&system);
}

Test(system, a_host_that_waits_for_the_end_need_not_read)
{
    uint64_t seen = 0;
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    flow_actors(&flow, &teller, 1, 2 * SKN_EVENTS_MAX, 0);
    skn_system_t *system = skn_system_new(&flow.wiring, &options, &error);
    cr_assert_eq(skn_system_start(system, NULL, NULL, &error), SKN_OK);
    cr_expect_eq(skn_system_wait(system, &error), SKN_OK);
    while (skn_system_event(system, 0, line, sizeof(line), &error) == SKN_OK)
        seen++;
    cr_expect_eq(error.status, SKN_UNAVAILABLE);
    cr_expect_eq(seen, 2 * SKN_EVENTS_MAX);
    skn_system_destroy(&system);
}

Test(system, a_host_that_reads_nothing_can_stop_and_destroy)
{
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    flow_actors(&flow, &teller, 2, 3 * SKN_EVENTS_MAX, 0);
    skn_system_t *system = skn_system_new(&flow.wiring, &options, &error);
    cr_assert_eq(skn_system_start(system, NULL, NULL, &error), SKN_OK);
    while (atomic_load(&system->event_count) < SKN_EVENTS_MAX)
        sched_yield();
    skn_system_stop(system);
    skn_system_destroy(&system);
}

/* holder: stays in its handler until the test lets it go. */
static int held[2];

static atomic_bool holds;

static skn_status_t
hold(skn_actor_t *actor, void *state, const void *message, skn_error_t *e)
{
    char byte;
    (void)actor, (void)state, (void)message, (void)e;
    atomic_store(&holds, true);
    return read(held[0], &byte, 1) == 1 ? SKN_OK : SKN_INTERNAL;
}

static const skn_handler_t hold_handlers[] = { { &token_schema, hold, NULL },
                                               { 0 } };
static const skn_kind_t holder =
    SKN_KIND(.name = "holder", .options = flow_options,
             .handlers = hold_handlers);

static skn_status_t
fall(skn_actor_t *actor, void *state, skn_error_t *e)
{
    token_t token = { .text = "" };
    bool *sent = state;
    if (*sent && !atomic_load(&holds))
        return SKN_OK; /* an actor told to end now would never take the token */
    if (*sent)
        return skn_fail(e, SKN_BAD_DATA, "fell");
    *sent = true;
    return skn_actor_send(actor, &token_schema, &token, e);
}

static const skn_kind_t faller =
    SKN_KIND(.name = "faller", .state_bytes = sizeof(bool),
             .options = flow_options, .sends = token_sends, .produce = fall);

Test(system, an_event_without_a_wait_waits_for_no_thread)
{
    struct pollfd polled;
    cr_assert_eq(pipe(held), 0);
    flow_actors(&flow, &faller, 1, 0, 0);
    flow_actors(&flow, &holder, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 2, 0, 1, 1, 1);
    skn_system_t *system = skn_system_new(&flow.wiring, NULL, &error);
    cr_assert_eq(skn_system_start(system, NULL, NULL, &error), SKN_OK);
    while (!system->closing) /* until the failure has come */
        cr_assert_eq(skn_system_event(system, 0, line, sizeof(line), &error),
                     SKN_BUSY);
    for (int k = 0; k < 100; k++)
        cr_assert_eq(skn_system_event(system, 0, line, sizeof(line), &error),
                     SKN_BUSY);
    line[0] = '\0';
    skn_status_t after =
        skn_system_event(system, 5, line, sizeof(line), &error);
    cr_expect_eq(after, SKN_BUSY, "%d: %s", (int)after, line);
    cr_assert_eq(write(held[1], "x", 1), 1);
    skn_status_t status;
    do { /* a host sleeps in its own loop, and is woken at the end */
        polled = (struct pollfd){ skn_system_fd(system), POLLIN, 0 };
        cr_assert_eq(poll(&polled, 1, -1), 1);
        status = skn_system_event(system, 0, line, sizeof(line), &error);
    } while (status == SKN_BUSY);
    cr_expect_eq(status, SKN_UNAVAILABLE);
    cr_assert_not(system->joined);
    polled = (struct pollfd){ skn_system_fd(system), POLLIN, 0 };
    cr_expect_eq(poll(&polled, 1, 0), 1, "it stays readable at the end");
    cr_expect_eq(skn_system_wait(system, &error), SKN_BAD_DATA);
    skn_system_destroy(&system);
}

/* --- profilers ------------------------------------------------------------ */

static atomic_uint ticks;

static void
on_tick(int number)
{
    (void)number;
    atomic_fetch_add(&ticks, 1);
}

/* A profiler interrupts actors wherever they are; nothing may notice. */
Test(system, actors_are_open_to_a_profiler_and_do_not_notice)
{
    const struct itimerval often = { { 0, 500 }, { 0, 500 } };
    const struct itimerval never = { { 0, 0 }, { 0, 0 } };
    struct sigaction action = { .sa_handler = on_tick };
    cr_assert_eq(sigaction(SIGPROF, &action, NULL), 0);
    flow_actors(&flow, &maker, 2, 40000, 1);
    flow_actors(&flow, &relay, 2, 1, 1);
    flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ANY, 2, 0, 2, 2, 2);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_BROADCAST, 2, 2, 2, 4, 1);
    cr_assert_eq(setitimer(ITIMER_PROF, &often, NULL), 0);
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    cr_assert_eq(setitimer(ITIMER_PROF, &never, NULL), 0);
    cr_expect_eq(flow_logs[4].count, 80000);
    cr_expect_gt(atomic_load(&ticks), 0);
}

/* --- CZMQ ----------------------------------------------------------------- */

Test(system, two_systems_share_the_context_of_czmq)
{
    flow_actors(&flow, &maker, 2, 2000, 1);
    flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 2, 0, 2, 2, 1);
    skn_system_t *systems[2];
    for (int k = 0; k < 2; k++) {
        systems[k] = skn_system_new(&flow.wiring, NULL, &error);
        cr_assert(systems[k], "%s", error.text);
    }
    for (int k = 0; k < 2; k++) /* the logs are shared: one after the other */
        cr_expect_eq(flow_follow(systems[k], &error), SKN_OK);
    cr_expect_eq(flow_logs[2].count, 8000);
    for (int k = 0; k < 2; k++)
        skn_system_destroy(&systems[k]);
}

Test(system, a_host_that_uses_czmq_itself_keeps_its_sockets)
{
    zsock_t *pull = zsock_new_pull("@inproc://own");
    zsock_t *push = zsock_new_push(">inproc://own");
    flow_actors(&flow, &maker, 2, 2000, 1);
    flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 2, 0, 2, 2, 1);
    cr_assert_eq(zstr_send(push, "before"), 0);
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_OK, "%s", error.text);
    cr_assert_eq(zstr_send(push, "after"), 0);
    for (int k = 0; k < 2; k++) {
        char *word = zstr_recv(pull);
        cr_expect_str_eq(word, k == 0 ? "before" : "after");
        zstr_free(&word);
    }
    zsock_destroy(&push);
    zsock_destroy(&pull);
}

Test(system, a_context_without_room_for_sockets_is_refused)
{
    zsys_set_max_sockets(100);
    cr_assert_eq(skn_pipes_reserve(1, &error), SKN_OK);
    (void)zmq_ctx_set(zsys_init(), ZMQ_MAX_SOCKETS, 100);
    flow_actors(&flow, &maker, 4, 10, 1);
    flow_actors(&flow, &sink, 4, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_BROADCAST, 2, 0, 4, 4, 4);
    cr_expect_eq(flow_run(&flow, NULL, &error), SKN_NO_MEMORY);
    cr_expect_str_eq(error.text,
                     "the topology needs 101 sockets, but CZMQ's context has "
                     "room for 100 in this process, and 0 are open");
    cr_expect_neq(error.hint[0], '\0');
}

/* --- threads -------------------------------------------------------------- */

/* Name and units of the task `id` from its status file. */
static bool
read_task(const char *id, char *name, char *units)
{
    char path[64], text[256];
    (void)snprintf(path, sizeof(path), "/proc/self/task/%.16s/status", id);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    while (fgets(text, sizeof(text), file)) {
        (void)sscanf(text, "Name: %63s", name);
        (void)sscanf(text, "Cpus_allowed_list: %63s", units);
    }
    fclose(file);
    return true;
}

/* The units of the thread called `wanted`; "" when there is none. */
static void
units_of(const char *wanted, char *units)
{
    char name[64] = "", found[64] = "";
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    units[0] = '\0';
    while (tasks && (task = readdir(tasks)))
        if (task->d_name[0] != '.' && read_task(task->d_name, name, found) &&
            strcmp(name, wanted) == 0)
            (void)snprintf(units, 64, "%s", found);
    if (tasks)
        closedir(tasks);
}

static skn_status_t
idle_produce(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)state, (void)wrong;
    if (skn_actor_stop_wanted(actor))
        skn_actor_finish(actor);
    else
        skn_actor_rest(actor);
    return SKN_OK;
}
static const skn_kind_t idle =
    SKN_KIND(.name = "idle", .options = flow_options, .produce = idle_produce);
static const skn_kind_t worker =
    SKN_KIND(.name = "worker", .options = flow_options, .produce = idle_produce,
             .is_compute_bound = true);

Test(system, threads_carry_the_names_and_units_of_their_actors)
{
    char units[64], own[64], want[64], name[64];
    flow_actors(&flow, &worker, 3, 0, 0);
    flow_actors(&flow, &idle, 1, 0, 0);
    flow.actors[3].name = "a_name_longer_than_the_kernel_keeps";
    (void)read_task("self", name, own);
    skn_placement_t *placement = skn_placement_new(NULL, &error);
    skn_system_t *system = skn_system_new(&flow.wiring, NULL, &error);
    cr_assert(system && placement, "%s", error.text);
    cr_assert_eq(skn_system_start(system, NULL, NULL, &error), SKN_OK);
    for (uint32_t k = 0; k < 3; k++) {
        units_of(flow.names[k], units);
        (void)snprintf(want, sizeof(want), "%u",
                       skn_placement_os_index(placement, k));
        cr_expect_str_eq(units, want);
    }
    units_of("a_name_longer_t", units);
    char path[64], main_units[64] = "";
    (void)snprintf(path, sizeof(path), "%d", (int)getpid());
    cr_expect(read_task(path, name, main_units));
    cr_expect_str_eq(units, main_units);
    skn_system_stop(system);
    cr_expect_eq(skn_system_wait(system, &error), SKN_OK);
    skn_system_destroy(&system);
    skn_placement_destroy(&placement);
}

/* --- trace and report ----------------------------------------------------- */

static json_t *
traced_run(char *path)
{
    skn_start_options_t options = SKN_START_OPTIONS(.trace_path = path);
    flow_actors(&flow, &maker, 1, 50, 1);
    flow_actors(&flow, &relay, 2, 1, 0);
    flow_actors(&flow, &gatherer, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_BROADCAST, 3, 0, 1, 1, 2);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 3, 1, 2, 3, 1)->collect =
        SKN_COLLECT_GATHER;
    cr_assert_eq(flow_run(&flow, &options, &error), SKN_OK, "%s", error.text);
    return json_load_file(path, 0, NULL);
}

/* Whether a span of thread `thread` covers `at_us`. */
static bool
in_a_span(json_t *events, json_int_t thread, double at_us)
{
    size_t k;
    json_t *event;
    json_array_foreach(events, k, event)
    {
        const char *type = json_string_value(json_object_get(event, "ph"));
        double begin = json_number_value(json_object_get(event, "ts"));
        double last = begin + json_number_value(json_object_get(event, "dur"));
        if (strcmp(type, "X") == 0 &&
            json_integer_value(json_object_get(event, "tid")) == thread &&
            at_us >= begin - 0.0015 && at_us <= last + 0.0015)
            return true;
    }
    return false;
}

Test(system, a_trace_has_spans_and_a_taker_for_every_sender)
{
    char path[] = "/tmp/skein-trace.XXXXXX";
    int descriptor = mkstemp(path);
    json_t *trace = traced_run(path), *event, *other;
    cr_assert(trace);
    json_t *events = json_object_get(trace, "traceEvents");
    size_t k, i, spans = 0, sends = 0, takes = 0;
    json_array_foreach(events, k, event)
    {
        const char *type = json_string_value(json_object_get(event, "ph"));
        spans += strcmp(type, "X") == 0;
        takes += strcmp(type, "f") == 0;
        if (strcmp(type, "s") != 0 && strcmp(type, "f") != 0)
            continue;
        cr_expect(in_a_span(events,
                            json_integer_value(json_object_get(event, "tid")),
                            json_number_value(json_object_get(event, "ts"))));
        if (strcmp(type, "s") != 0)
            continue;
        sends++;
        size_t pairs = 0;
        json_array_foreach(events, i, other)
        {
            if (strcmp(json_string_value(json_object_get(other, "ph")), "f") ==
                    0 &&
                json_integer_value(json_object_get(other, "id")) ==
                    json_integer_value(json_object_get(event, "id")))
                pairs++;
        }
        cr_expect_eq(pairs, 1);
    }
    cr_expect_eq(sends, 200);
    cr_expect_eq(takes, 200);
    cr_expect_geq(spans, 200); /* makers' hooks, relays, parts and sets */
    json_decref(trace);
    close(descriptor);
    unlink(path);
}

Test(system, a_trace_that_cannot_be_created_is_refused_at_once)
{
    skn_start_options_t options =
        SKN_START_OPTIONS(.trace_path = "/nowhere/trace.json");
    flow_actors(&flow, &maker, 1, 1, 1);
    cr_expect_eq(flow_run(&flow, &options, &error), SKN_CANNOT_CREATE);
    cr_expect_str_eq(error.text,
                     "/nowhere/trace.json: No such file or directory");
}

Test(system, a_trace_that_cannot_be_written_is_a_warning)
{
    skn_start_options_t options = SKN_START_OPTIONS(.trace_path = "/dev/full");
    flow_actors(&flow, &maker, 1, 1, 1);
    cr_expect_eq(flow_run(&flow, &options, &error), SKN_OK);
    cr_expect_eq(flow_event_count, 1);
    cr_expect(strstr(flow_events[0], "the trace could not be written"));
}

Test(system, the_report_counts_what_the_pipes_carried)
{
    char *text = NULL;
    size_t bytes = 0;
    flow_actors(&flow, &maker, 1, 100, 1);
    flow_actors(&flow, &relay, 1, 2, 0);
    flow_actors(&flow, &sink, 1, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 3, 0, 1, 1, 1);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 3, 1, 1, 2, 1);
    skn_system_t *system = skn_system_new(&flow.wiring, NULL, &error);
    cr_assert(system, "%s", error.text);
    cr_assert_eq(flow_follow(system, &error), SKN_OK);
    FILE *file = open_memstream(&text, &bytes);
    flow_report(system, true, file);
    fclose(file);
    json_t *report = json_loads(text, 0, NULL);
    cr_assert(report, "%s", text);
    json_t *actors = json_object_get(report, "actors");
    json_t *middle = json_array_get(actors, 1);
    cr_expect_eq(json_array_size(actors), 3);
    cr_expect_eq(json_integer_value(json_object_get(middle, "messages_in")),
                 100);
    cr_expect_eq(json_integer_value(json_object_get(middle, "messages_out")),
                 200);
    json_t *handlers = json_object_get(middle, "handlers");
    json_t *handler = json_array_get(handlers, 0);
    cr_expect_eq(json_integer_value(json_object_get(handler, "count")), 100);
    json_decref(report);
    free(text);
    file = open_memstream(&text, &bytes);
    flow_report(system, false, file);
    fclose(file);
    cr_expect(strstr(text, "relay.0"), "%s", text);
    cr_expect(strstr(text, "100 handled"), "%s", text);
    free(text);
    skn_system_destroy(&system);
}
