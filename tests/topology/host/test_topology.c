/* test_topology.c - tests the public functions that run actors, from text to
 * the end.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "skein/topology.h"
#include "tests/support/flow_fixture.h"

TestSuite(topology, .timeout = 60);

static skn_error_t error;
static const skn_kind_t *const kinds[] = { &maker, &relay, &sink, NULL };

static skn_topology_t *
made_of(const char *options)
{
    char text[512];
    (void)snprintf(text, sizeof(text),
                   "skein: 1\n"
                   "topology:\n"
                   "  name: t\n"
                   "  actors:\n"
                   "    - { name: a, kind: maker, options: { %s } }\n"
                   "    - { name: b, kind: sink }\n"
                   "  pipes:\n"
                   "    - { from: a, to: b, message: token }\n",
                   options);
    return skn_topology_new(text, "test.yaml", kinds, &error);
}

Test(topology, a_text_runs_to_its_end)
{
    char line[64];
    skn_topology_t *topology = made_of("n: 100");
    cr_assert(topology, "%s", error.text);
    cr_expect_eq(skn_topology_fd(topology), -1);
    cr_expect_eq(skn_topology_event(topology, 0, line, sizeof(line), &error),
                 SKN_UNAVAILABLE);
    cr_expect_str_eq(error.text, "the topology is not started");
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK);
    cr_expect_geq(skn_topology_fd(topology), 0);
    cr_expect_eq(skn_topology_event(topology, -1, line, sizeof(line), NULL),
                 SKN_UNAVAILABLE);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK);
    cr_expect_eq(flow_logs[1].count, 100);
    cr_expect_eq(skn_topology_start(topology, NULL, &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "the topology was started already");
    skn_topology_destroy(&topology);
    cr_expect_null(topology);
    skn_topology_destroy(&topology);
}

Test(topology, a_wrong_text_is_refused_with_its_place)
{
    cr_expect_null(made_of("o: 100"));
    cr_expect_eq(error.status, SKN_BAD_CONFIG);
    cr_expect(strstr(error.text, "test.yaml:5:"), "%s", error.text);
}

Test(topology, a_topology_need_not_be_started)
{
    skn_topology_t *topology = made_of("n: 1");
    cr_assert(topology, "%s", error.text);
    skn_topology_stop(topology);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK);
    skn_topology_report(topology, true, stderr); /* nothing to say */
    skn_topology_destroy(&topology);
}

Test(topology, the_report_names_actors_and_messages)
{
    char *text = NULL;
    size_t bytes = 0;
    skn_topology_t *topology = made_of("n: 100");
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK);
    cr_assert_eq(skn_topology_wait(topology, &error), SKN_OK);
    FILE *file = open_memstream(&text, &bytes);
    skn_topology_report(topology, false, file);
    fclose(file);
    cr_expect(strstr(text, "\na "), "%s", text);
    cr_expect(strstr(text, "token"), "%s", text);
    free(text);
    skn_topology_destroy(&topology);
}

Test(topology, a_topology_can_be_destroyed_while_it_runs)
{
    skn_topology_t *topology = made_of("n: 1000000000000");
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK);
    skn_topology_destroy(&topology);
}

/* --- plug-ins that share a message ---------------------------------------- */

/* stranger: a sink that was compiled on its own, with its own copy of the
 * schema. */
typedef token_t copied_t;
SKN_MESSAGE_SCHEMA(copied, "token", 1000, FIELDS_token, "travels")

static const skn_handler_t stranger_handlers[] = {
    { &copied_schema, sink_token, NULL },
    { 0 },
};
static const skn_kind_t stranger =
    SKN_KIND(.name = "stranger", .options = flow_options,
             .handlers = stranger_handlers);
static const skn_kind_t *const shared_kinds[] = { &maker, &stranger, NULL };

Test(topology, two_plug_ins_can_each_have_a_copy_of_the_schema)
{
    skn_topology_t *topology =
        skn_topology_new("skein: 1\n"
                         "topology:\n"
                         "  name: t\n"
                         "  actors:\n"
                         "    - { name: a, kind: maker, options: { n: 100 } }\n"
                         "    - { name: b, kind: stranger }\n"
                         "  pipes:\n"
                         "    - { from: a, to: b, message: token }\n",
                         "test.yaml", shared_kinds, &error);
    cr_assert(topology, "%s", error.text);
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(flow_logs[1].count, 100);
    skn_topology_destroy(&topology);
}

/* --- stops ---------------------------------------------------------------- */

/* endless: tells of each turn until it is to stop. */
static skn_status_t
endless_produce(skn_actor_t *actor, void *state, skn_error_t *e)
{
    (void)state, (void)e;
    if (skn_actor_stop_wanted(actor))
        skn_actor_finish(actor);
    return SKN_OK;
}

static const skn_kind_t endless =
    SKN_KIND(.name = "endless", .produce = endless_produce);
static const skn_kind_t *const endless_kinds[] = { &endless, NULL };
static const char endless_text[] = "skein: 1\n"
                                   "topology:\n"
                                   "  name: t\n"
                                   "  actors:\n"
                                   "    - { name: a, kind: endless }\n"
                                   "    - { name: b, kind: endless }\n";

Test(topology, a_stop_before_the_start_is_not_lost)
{
    skn_topology_t *topology =
        skn_topology_new(endless_text, "e", endless_kinds, &error);
    cr_assert(topology, "%s", error.text);
    skn_topology_stop(topology);
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK);
    skn_topology_destroy(&topology);
}

/* Turns of a loop between the start of the thread and its stop. */
typedef struct stop_late {
    skn_topology_t *topology;
    uint64_t turns;
    pthread_barrier_t *begin;
} stop_late_t;

static void *
stop_thread(void *argument)
{
    stop_late_t *late = argument;
    (void)pthread_barrier_wait(late->begin);
    for (volatile uint64_t turn = 0; turn < late->turns; turn++)
        continue;
    skn_topology_stop(late->topology);
    return NULL;
}

/* If one is lost the run never ends. */
Test(topology, a_stop_from_another_thread_counts_at_every_moment_of_the_start)
{
    for (uint64_t round = 0; round < 60; round++) {
        pthread_barrier_t begin;
        pthread_t thread;
        skn_start_options_t options =
            SKN_START_OPTIONS(.no_binding = round % 2 == 0);
        skn_topology_t *topology =
            skn_topology_new(endless_text, "e", endless_kinds, &error);
        stop_late_t late = { topology, round * round * 2000, &begin };
        cr_assert_eq(pthread_barrier_init(&begin, NULL, 2), 0);
        cr_assert_eq(pthread_create(&thread, NULL, stop_thread, &late), 0);
        (void)pthread_barrier_wait(&begin);
        cr_assert_eq(skn_topology_start(topology, &options, &error), SKN_OK);
        cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK);
        (void)pthread_join(thread, NULL);
        (void)pthread_barrier_destroy(&begin);
        skn_topology_destroy(&topology);
    }
}

static skn_topology_t *signalled;
static atomic_bool started;

static void
on_signal(int number)
{
    (void)number;
    skn_topology_stop(signalled);
}

static void *
signal_thread(void *argument)
{
    const pthread_t *host = argument;
    for (int k = 0; k < 200 && (k == 0 || !atomic_load(&started)); k++) {
        (void)pthread_kill(*host, SIGUSR1);
        (void)sched_yield();
    }
    return NULL;
}

Test(topology, a_stop_in_a_signal_handler_counts_during_the_start)
{
    struct sigaction action = { .sa_handler = on_signal };
    pthread_t host = pthread_self(), thread;
    cr_assert_eq(sigaction(SIGUSR1, &action, NULL), 0);
    for (int round = 0; round < 40; round++) {
        signalled = skn_topology_new(endless_text, "e", endless_kinds, &error);
        cr_assert(signalled, "%s", error.text);
        atomic_store(&started, false);
        cr_assert_eq(pthread_create(&thread, NULL, signal_thread, &host), 0);
        cr_assert_eq(skn_topology_start(signalled, NULL, &error), SKN_OK, "%s",
                     error.text);
        atomic_store(&started, true);
        cr_expect_eq(skn_topology_wait(signalled, &error), SKN_OK, "%s",
                     error.text);
        (void)pthread_join(thread, NULL);
        skn_topology_destroy(&signalled);
    }
}

/* --- waits and aborts ----------------------------------------------------- */

/* deaf: does not look whether it is to stop. */
static skn_status_t
deaf_produce(skn_actor_t *actor, void *state, skn_error_t *e)
{
    (void)actor, (void)state, (void)e;
    return SKN_OK;
}

/* busy: fails with SKN_BUSY. */
static skn_status_t
busy_start(skn_actor_t *actor, void *state, skn_error_t *e)
{
    (void)actor, (void)state;
    return skn_fail(e, SKN_BUSY, "somebody else has the folder");
}

static const skn_kind_t deaf =
    SKN_KIND(.name = "deaf", .produce = deaf_produce);
static const skn_kind_t busy = SKN_KIND(.name = "busy", .start = busy_start);
static const skn_kind_t *const rude_kinds[] = { &deaf, &busy, NULL };

/* One actor of the kind. */
static skn_topology_t *
alone(const char *kind)
{
    char text[128];
    (void)snprintf(text, sizeof(text),
                   "skein: 1\n"
                   "topology: { name: t, actors: [{ name: a, kind: %s }] }\n",
                   kind);
    skn_topology_t *topology = skn_topology_new(text, "t", rude_kinds, &error);
    cr_assert(topology, "%s", error.text);
    return topology;
}

Test(topology, a_wait_may_have_a_limit)
{
    skn_topology_t *topology =
        skn_topology_new(endless_text, "e", endless_kinds, &error);
    cr_expect_eq(skn_topology_wait_for(topology, 0, &error), SKN_OK,
                 "it is not started");
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK);
    cr_expect_eq(skn_topology_wait_for(topology, 0, NULL), SKN_BUSY);
    cr_expect_eq(skn_topology_wait_for(topology, 1, &error), SKN_BUSY);
    cr_expect_str_eq(error.text, "the run has not ended yet");
    skn_topology_stop(topology);
    skn_status_t status;
    while ((status = skn_topology_wait_for(topology, 1, &error)) == SKN_BUSY)
        continue;
    cr_expect_eq(status, SKN_OK, "%s", error.text);
    cr_expect_eq(skn_topology_wait_for(topology, -1, &error), SKN_OK);
    skn_topology_destroy(&topology);
}

Test(topology, a_wait_with_a_limit_tells_a_busy_failure_from_a_busy_run)
{
    skn_topology_t *topology = alone("busy");
    (void)skn_topology_start(topology, NULL, NULL);
    skn_status_t status;
    while ((status = skn_topology_wait_for(topology, 1, &error)) == SKN_BUSY)
        continue;
    cr_expect_eq(status, SKN_UNAVAILABLE);
    cr_expect_eq(error.status, SKN_UNAVAILABLE);
    cr_expect(strstr(error.text, "somebody else"), "%s", error.text);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_BUSY);
    skn_topology_destroy(&topology);
}

Test(topology, the_descriptor_is_readable_for_events_that_a_wait_has_left)
{
    char line[64];
    skn_topology_t *topology = made_of("n: 100");
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK);
    cr_assert_eq(skn_topology_wait(topology, &error), SKN_OK);
    struct pollfd polled = { skn_topology_fd(topology), POLLIN, 0 };
    cr_expect_eq(poll(&polled, 1, 0), 1);
    cr_expect_eq(skn_topology_event_bytes(topology), 0);
    cr_expect_eq(poll(&polled, 1, 0), 1);
    cr_expect_eq(skn_topology_event(topology, 0, line, sizeof(line), NULL),
                 SKN_UNAVAILABLE);
    skn_topology_destroy(&topology);
}

static void
expect_aborted(skn_topology_t **topology, skn_status_t status)
{
    char line[64];
    cr_expect_eq(status, SKN_UNAVAILABLE);
    cr_expect_str_eq(error.text, "the run was aborted");
    cr_expect_eq(skn_topology_event(*topology, -1, line, sizeof(line), NULL),
                 SKN_UNAVAILABLE);
    cr_expect_eq(skn_topology_wait(*topology, &error), SKN_UNAVAILABLE);
    skn_topology_destroy(topology);
}

Test(topology, an_abort_ends_actors_that_do_not_look_for_a_stop)
{
    skn_topology_t *topology = alone("deaf");
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK);
    skn_topology_stop(topology);
    cr_expect_eq(skn_topology_wait_for(topology, 1, &error), SKN_BUSY);
    skn_topology_abort(topology);
    struct pollfd polled = { skn_topology_fd(topology), POLLIN, 0 };
    cr_expect_eq(poll(&polled, 1, -1), 1);
    expect_aborted(&topology, skn_topology_wait(topology, &error));
}

Test(topology, an_abort_before_the_start_is_not_lost)
{
    skn_topology_t *topology = alone("deaf");
    skn_topology_abort(topology);
    expect_aborted(&topology, skn_topology_start(topology, NULL, &error));
}

Test(topology, an_abort_of_a_run_that_has_ended_changes_nothing)
{
    skn_topology_t *topology = made_of("n: 10");
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK);
    cr_assert_eq(skn_topology_wait(topology, &error), SKN_OK);
    skn_topology_abort(topology);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK);
    skn_topology_destroy(&topology);
}

static void *
abort_thread(void *argument)
{
    skn_topology_abort(argument);
    return NULL;
}

Test(topology, an_abort_from_another_thread_ends_a_wait)
{
    for (int round = 0; round < 20; round++) {
        pthread_t thread;
        skn_topology_t *topology = alone("deaf");
        bool early = round % 2 == 0; /* during the start */
        if (early)
            cr_assert_eq(pthread_create(&thread, NULL, abort_thread, topology),
                         0);
        skn_status_t status = skn_topology_start(topology, NULL, &error);
        if (!early)
            cr_assert_eq(pthread_create(&thread, NULL, abort_thread, topology),
                         0);
        if (status == SKN_OK)
            status = skn_topology_wait(topology, &error);
        (void)pthread_join(thread, NULL);
        expect_aborted(&topology, status);
    }
}

/* --- all problems of a text ----------------------------------------------- */

static const char faulty[] = "skein: 1\n"
                             "topology:\n"
                             "  name: t\n"
                             "  actors:\n"
                             "    - { name: a, kind: maker, colour: red }\n"
                             "    - { name: b, kind: snk }\n"
                             "  pipes:\n"
                             "    - { from: a, to: c, message: token }\n";

Test(topology, a_check_finds_all_problems)
{
    skn_error_t errors[5];
    memset(errors, 0x55, sizeof(errors));
    size_t found = skn_topology_check(faulty, "f.yaml", kinds, errors, 5);
    cr_expect_gt(found, 1u);
    cr_assert_lt(found, 5u);
    for (size_t k = 0; k < 5; k++)
        cr_expect_eq(errors[k].status, k < found ? SKN_BAD_CONFIG : SKN_OK,
                     "%zu", k);
    cr_expect(strstr(errors[0].text, "f.yaml:5:"), "%s", errors[0].text);
    cr_expect(strstr(errors[1].text, "f.yaml:6:"), "%s", errors[1].text);
    cr_expect_null(strstr(errors[0].text, " more)"));
    cr_expect(strstr(errors[1].hint, "sink") || strstr(errors[1].text, "sink"));
    cr_expect_null(skn_topology_new(faulty, "f.yaml", kinds, &error));
    cr_expect_eq(strncmp(error.text, errors[0].text, strlen(errors[0].text)),
                 0);
}

Test(topology, a_check_fills_no_more_than_there_is_room)
{
    skn_error_t errors[2];
    memset(errors, 0x55, sizeof(errors));
    size_t found = skn_topology_check(faulty, NULL, kinds, errors, 1);
    cr_expect_gt(found, 1u);
    cr_expect(strstr(errors[0].text, "topology:5:"), "%s", errors[0].text);
    cr_expect_eq(errors[1].text[0], 0x55);
    cr_expect_eq(skn_topology_check(faulty, NULL, kinds, NULL, 0), found);
    cr_expect_eq(skn_topology_check(faulty, NULL, kinds, NULL, 9), found);
}

Test(topology, a_check_accepts_what_can_be_created)
{
    skn_error_t none;
    cr_expect_eq(skn_topology_check(endless_text, "e", endless_kinds, &none, 1),
                 0u);
    cr_expect_eq(none.status, SKN_OK);
    cr_expect_eq(none.text[0], '\0');
}

/* --- children ------------------------------------------------------------- */

/* Nothing of this may wait for threads that are in the parent alone. */
static void
use_in_child(skn_topology_t *topology)
{
    char line[64];
    bool refused = skn_topology_event(topology, -1, line, sizeof(line),
                                      &error) == SKN_USAGE &&
                   strstr(error.text, "fork()") &&
                   skn_topology_wait(topology, &error) == SKN_USAGE &&
                   skn_topology_wait_for(topology, 1, &error) == SKN_USAGE &&
                   !skn_topology_actor(topology, 0) &&
                   skn_topology_start(topology, NULL, &error) == SKN_USAGE &&
                   skn_topology_fd(topology) == -1;
    skn_topology_stop(topology);
    skn_topology_abort(topology);
    skn_topology_destroy(&topology);
    _exit(refused && !topology ? 0 : 1);
}

Test(topology, a_child_of_fork_is_refused_and_does_no_harm)
{
    int status = 0;
    skn_topology_t *topology =
        skn_topology_new(endless_text, "e", endless_kinds, &error);
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK);
    pid_t child = fork();
    if (child == 0)
        use_in_child(topology);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
    char line[64];
    cr_expect_eq(skn_topology_event(topology, 1, line, sizeof(line), &error),
                 SKN_BUSY, "the child's stop is not ours");
    skn_topology_stop(topology);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK);
    skn_topology_destroy(&topology);
}
