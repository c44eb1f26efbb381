/* test_port.c - tests the ends of pipes that a host program holds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <poll.h>
#include <sys/resource.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "skein/port.h"
#include "tests/support/settle.h"

TestSuite(port, .timeout = 60);

#define FIELDS_number(F, M) F(M, u64, value, UINT64_MAX, "any number")
SKN_MESSAGE_STRUCT(number, FIELDS_number)
SKN_MESSAGE_SCHEMA(number, "number", 1000, FIELDS_number, "a number")
#define FIELDS_other(F, M) F(M, u64, value, UINT64_MAX, "any number")
SKN_MESSAGE_STRUCT(other, FIELDS_other)
SKN_MESSAGE_SCHEMA(other, "other", 1001, FIELDS_other, "another number")

#define FIELDS_note(F, M)                                                      \
    F(M, u64, value, UINT64_MAX, "any number")                                 \
    F(M, str, text, 100, "any text")
SKN_MESSAGE_STRUCT(note, FIELDS_note)
SKN_MESSAGE_SCHEMA(note, "note", 1002, FIELDS_note, "a text")

/* The number at which a doubler fails. */
#define DISLIKED (UINT64_C(1) << 40)

/* --- kinds ---------------------------------------------------------------- */

static skn_status_t
pass_double(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *error)
{
    number_t twice = { 2 * ((const number_t *)message)->value };
    (void)state;
    if (twice.value == 2 * DISLIKED)
        return skn_fail(error, SKN_BAD_DATA, "%s dislikes it",
                        skn_actor_name(actor));
    return skn_actor_send(actor, &number_schema, &twice, error);
}

static const skn_schema_t *const sends[] = { &number_schema, NULL };
static const skn_handler_t handlers[] = { { &number_schema, pass_double, NULL },
                                          { 0 } };
static const skn_kind_t doubler =
    SKN_KIND(.name = "doubler", .handlers = handlers, .sends = sends);
static skn_status_t
read_note(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *why)
{
    (void)actor, (void)state, (void)why;
    cr_assert_str_eq(((const note_t *)message)->text, "ab");
    return SKN_OK;
}

static const skn_handler_t note_handlers[] = { { &note_schema, read_note,
                                                 NULL },
                                               { 0 } };
static const skn_kind_t reader =
    SKN_KIND(.name = "note_reader", .handlers = note_handlers);
static const skn_kind_t *const kinds[] = { &doubler, &reader, NULL };

/* --- a topology with ports ------------------------------------------------ */

static skn_error_t error;
static skn_topology_t *topology;
static skn_port_t *in, *out;

#define HEAD "skein: 1\ntopology:\n  name: t\n  actors:\n"

static const char chain[] =
    HEAD "    - { name: in, kind: port }\n"
         "    - { name: a, kind: doubler }\n"
         "    - { name: b, kind: doubler }\n"
         "    - { name: out, kind: port }\n"
         "  pipes:\n"
         "    - { from: in, to: a, message: number, credit: 4 }\n"
         "    - { from: a, to: b, message: number, credit: 4 }\n"
         "    - { from: b, to: out, message: number, credit: 4 }\n";

static void
start(const char *text)
{
    topology = skn_topology_new(text, "t", kinds, &error);
    cr_assert(topology, "%s", error.text);
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK, "%s",
                 error.text);
    in = skn_topology_port(topology, "in", &error);
    cr_assert(in, "%s", error.text);
    out = skn_topology_port(topology, "out", NULL);
}

static bool
is_readable(const skn_port_t *port, int timeout_ms)
{
    struct pollfd item = { skn_port_fd(port), POLLIN, 0 };
    return poll(&item, 1, timeout_ms) == 1 && (item.revents & POLLIN);
}

/* Sends when the port takes it. */
static void
send_after(skn_port_t *port, uint64_t value, int timeout_ms)
{
    const number_t number = { value };
    skn_status_t status;
    while ((status = skn_port_send(port, &number_schema, &number, NULL)) ==
           SKN_BUSY)
        (void)is_readable(port, timeout_ms);
    cr_assert_eq(status, SKN_OK);
}

static void
send(skn_port_t *port, uint64_t value)
{
    send_after(port, value, -1);
}

/* Takes the next number when it has come; UINT64_MAX: none will. */
static uint64_t
take(skn_port_t *port)
{
    const skn_schema_t *schema = NULL;
    const number_t *number;
    while (!(number = skn_port_take(port, &schema, &error))) {
        if (error.status == SKN_UNAVAILABLE)
            return UINT64_MAX;
        cr_assert_eq(error.status, SKN_BUSY);
        cr_assert(is_readable(port, -1));
    }
    cr_assert_eq(schema->id, number_schema.id);
    uint64_t value = number->value;
    skn_message_drop(number);
    return value;
}

static skn_status_t
end(void)
{
    skn_status_t status = skn_topology_wait(topology, &error);
    skn_topology_destroy(&topology);
    return status;
}

/* --- messages ------------------------------------------------------------- */

Test(port, messages_go_in_through_actors_and_out)
{
    start(chain);
    cr_expect(!is_readable(out, 0));
    for (uint64_t k = 0; k < 1000; k++) {
        send(in, k);
        cr_expect_eq(take(out), 4 * k);
    }
    skn_port_finish(in);
    cr_expect_eq(take(out), UINT64_MAX);
    cr_expect(is_readable(out, -1));
    cr_expect_eq(end(), SKN_OK, "%s", error.text);
}

/* Some more than the credit of all three pipes fit in between. */
Test(port, a_send_without_credit_is_refused_and_possible_again_later)
{
    number_t *number = NULL;
    uint64_t sent = 0;
    start(chain);
    for (;;) {
        number = skn_port_message(in, &number_schema, NULL, &error);
        cr_assert(number);
        number->value = sent;
        skn_status_t status = skn_port_post(in, number, &error);
        if (status == SKN_BUSY && !is_readable(in, 100))
            break;
        if (status == SKN_BUSY) {
            skn_message_drop(number);
            (void)skn_port_take(in, NULL, NULL); /* nothing: it only sends */
            continue;
        }
        cr_assert_eq(status, SKN_OK, "%s", error.text);
        cr_assert_lt(++sent, 100);
    }
    cr_expect_geq(sent, 12);
    cr_expect(strstr(error.text, "take no more at the moment"));
    cr_expect_eq(number->value, sent); /* it is still ours */
    for (uint64_t k = 0; k < sent; k++)
        cr_expect_eq(take(out), 4 * k);
    cr_expect(is_readable(in, -1));
    cr_expect_eq(skn_port_post(in, number, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(take(out), 4 * sent);
    skn_port_finish(in);
    cr_expect_eq(end(), SKN_OK, "%s", error.text);
}

/* The receiver would die of it. */
Test(port, a_text_that_is_null_is_refused)
{
    const note_t none = { 1, NULL }, good = { 2, "ab" };
    const size_t letters = 2;
    start(HEAD "    - { name: in, kind: port }\n"
               "    - { name: a, kind: note_reader }\n"
               "  pipes: [{ from: in, to: a, message: note }]\n");
    note_t *note = skn_port_message(in, &note_schema, &letters, &error);
    cr_assert(note);
    note->text = NULL;
    cr_expect_eq(skn_port_post(in, note, &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "note.text is NULL and must be a text");
    cr_expect_eq(skn_port_send(in, &note_schema, &none, &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "note.text is NULL and must be a text");
    cr_expect_eq(skn_port_send(in, &note_schema, &good, &error), SKN_OK);
    note = skn_port_message(in, &note_schema, &letters, &error);
    cr_assert(note);
    memcpy((char *)(uintptr_t)note->text, "ab", 2);
    cr_expect_eq(skn_port_post(in, note, &error), SKN_OK, "%s", error.text);
    skn_port_finish(in);
    cr_expect_eq(end(), SKN_OK, "%s", error.text);
}

Test(port, the_descriptor_is_level_triggered)
{
    start(chain);
    for (uint64_t k = 0; k < 4; k++)
        send(in, k);
    for (uint64_t k = 0; k < 4; k++) {
        cr_expect(is_readable(out, -1));
        cr_expect(is_readable(out, -1));
        cr_expect_eq(take(out), 4 * k);
    }
    cr_expect_null(skn_port_take(out, NULL, &error));
    cr_expect_eq(error.status, SKN_BUSY);
    cr_expect(!is_readable(out, 0));
    skn_port_finish(in);
    cr_expect(is_readable(out, -1));
    cr_expect_eq(take(out), UINT64_MAX);
    cr_expect(is_readable(out, -1));
    cr_expect_eq(end(), SKN_OK, "%s", error.text);
}

static void *
send_hundreds(void *first)
{
    for (uint64_t k = 0; k < 500; k++)
        send_after(in, (uint64_t)(uintptr_t)first + k, 1);
    return NULL;
}

Test(port, several_threads_send_at_once)
{
    pthread_t threads[4];
    bool came[2000] = { false };
    start(chain);
    for (uintptr_t k = 0; k < 4; k++)
        cr_assert_eq(
            pthread_create(&threads[k], NULL, send_hundreds, (void *)(500 * k)),
            0);
    for (uint32_t k = 0; k < 2000; k++) {
        uint64_t value = take(out) / 4;
        cr_assert_lt(value, 2000);
        cr_expect(!came[value]);
        came[value] = true;
    }
    for (uint32_t k = 0; k < 4; k++)
        cr_assert_eq(pthread_join(threads[k], NULL), 0);
    skn_port_finish(in);
    cr_expect_eq(end(), SKN_OK, "%s", error.text);
}

/* --- other ways of wiring ------------------------------------------------- */

Test(port, one_port_sends_and_takes)
{
    start(HEAD "    - { name: in, kind: port }\n"
               "    - { name: a, kind: doubler }\n"
               "  pipes:\n"
               "    - { from: in, to: a, message: number }\n"
               "    - { from: a, to: in, message: number }\n");
    for (uint64_t k = 0; k < 100; k++) {
        send(in, k);
        cr_expect_eq(take(in), 2 * k);
    }
    skn_port_finish(in);
    cr_expect_eq(take(in), UINT64_MAX);
    cr_expect_eq(end(), SKN_OK, "%s", error.text);
}

/* Two doublers take what a port sends by `pattern`; the sum of all answers. */
static uint64_t
sum_by(const char *pattern, uint64_t messages)
{
    char text[1024];
    uint64_t sum = 0, value;
    (void)snprintf(text, sizeof(text),
                   HEAD "    - { name: in, kind: port }\n"
                        "    - { name: a, kind: doubler, replicate: 2 }\n"
                        "    - { name: out, kind: port }\n"
                        "  pipes:\n"
                        "    - { from: in, to: a, message: number, %s }\n"
                        "    - { from: a, to: out, message: number }\n",
                   pattern);
    start(text);
    for (uint64_t k = 0; k < messages; k++)
        send(in, k);
    skn_port_finish(in);
    while ((value = take(out)) != UINT64_MAX)
        sum += value;
    cr_expect_eq(end(), SKN_OK, "%s", error.text);
    return sum;
}

Test(port, every_pattern_serves_a_port)
{
    cr_expect_eq(sum_by("pattern: broadcast", 10), 2 * 2 * 45);
    cr_expect_eq(sum_by("pattern: any", 10), 2 * 45);
    cr_expect_eq(sum_by("pattern: scatter, key: value, bounds: [0, 5, 10]", 10),
                 2 * 45);
}

Test(port, a_key_that_no_receiver_owns_is_refused)
{
    const number_t number = { 10 };
    start(HEAD "    - { name: in, kind: port }\n"
               "    - { name: a, kind: doubler, replicate: 2 }\n"
               "    - { name: out, kind: port }\n"
               "  pipes:\n"
               "    - { from: in, to: a, message: number, pattern: scatter, "
               "key: value, bounds: [0, 5, 10] }\n"
               "    - { from: a, to: out, message: number }\n");
    cr_expect_eq(skn_port_send(in, &number_schema, &number, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text, "in sends number with value 10; its receivers "
                                 "own 0 to 9");
    send(in, 9);
    cr_expect_eq(take(out), 18);
    skn_port_finish(in);
    cr_expect_eq(end(), SKN_OK, "%s", error.text);
}

Test(port, messages_may_pass_through_the_wire)
{
    const skn_start_options_t options = SKN_START_OPTIONS(.wire = true);
    topology = skn_topology_new(chain, "t", kinds, &error);
    cr_assert_eq(skn_topology_start(topology, &options, &error), SKN_OK);
    in = skn_topology_port(topology, "in", &error);
    out = skn_topology_port(topology, "out", &error);
    send(in, 5);
    cr_expect_eq(take(out), 20);
    skn_port_finish(in);
    cr_expect_eq(end(), SKN_OK, "%s", error.text);
}

Test(port, a_port_takes_no_parts)
{
    static const char text[] =
        HEAD "    - { name: a, kind: doubler }\n"
             "    - { name: out, kind: port }\n"
             "  pipes:\n"
             "    - { from: a, to: out, message: number, pattern: gather, by: "
             "value }\n";
    cr_expect_null(skn_topology_new(text, "t", kinds, &error));
    cr_expect(strstr(error.text, "port out takes 'number' one by one"), "%s",
              error.text);
}

/* --- ends ----------------------------------------------------------------- */

Test(port, a_host_that_waits_finds_all_messages_afterwards)
{
    start(chain);
    for (uint64_t k = 0; k < 8; k++)
        send(in, k);
    cr_expect_eq(take(out), 0);
    skn_port_finish(in);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK, "%s", error.text);
    for (uint64_t k = 1; k < 8; k++)
        cr_expect_eq(take(out), 4 * k);
    cr_expect_eq(take(out), UINT64_MAX);
    cr_expect_eq(end(), SKN_OK);
}

static const skn_actor_info_t *
info_of(size_t index)
{
    const skn_actor_info_t *info = skn_topology_actor(topology, index);
    cr_assert(info);
    return info;
}

/* The second loop ends only if the bound holds again. */
Test(port, a_wait_with_a_limit_lifts_the_bound_and_restores_it)
{
    uint64_t sent = 0;
    start(chain);
    for (; sent < 8; sent++)
        send(in, sent);
    while (info_of(3)->inbox_messages < 8) /* the credit is 4 */
        cr_assert_eq(skn_topology_wait_for(topology, 1, &error), SKN_BUSY);
    cr_expect_str_eq(info_of(3)->kind, "port");
    cr_expect_eq(info_of(3)->since_ns, 0u);
    cr_expect_not(info_of(0)->is_busy);
    while (!info_of(2)->is_blocked) {
        const number_t number = { sent };
        sent += skn_port_send(in, &number_schema, &number, NULL) == SKN_OK;
    }
    cr_expect_eq(info_of(0)->messages_out, sent);
    skn_port_finish(in);
    for (uint64_t k = 0; k < sent; k++)
        cr_expect_eq(take(out), 4 * k);
    cr_expect_eq(take(out), UINT64_MAX);
    cr_expect_eq(info_of(3)->messages_in, sent);
    cr_expect_eq(info_of(3)->inbox_messages, 0u);
    cr_expect_eq(end(), SKN_OK, "%s", error.text);
}

Test(port, a_stop_finishes_ports)
{
    const number_t number = { 1 };
    start(chain);
    send(in, 1);
    skn_topology_stop(topology);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(skn_port_send(in, &number_schema, &number, &error),
                 SKN_UNAVAILABLE);
    cr_expect_eq(take(out), 4);
    cr_expect_eq(take(out), UINT64_MAX);
    cr_expect_eq(end(), SKN_OK);
}

Test(port, a_failure_ends_the_ports)
{
    const number_t number = { 1 };
    start(chain);
    send(in, DISLIKED);
    cr_expect(is_readable(in, -1));
    cr_expect(is_readable(out, -1));
    cr_expect_eq(skn_port_send(in, &number_schema, &number, &error),
                 SKN_UNAVAILABLE);
    cr_expect_eq(take(out), UINT64_MAX);
    skn_port_finish(in);
    cr_expect_eq(end(), SKN_BAD_DATA);
    cr_expect(strstr(error.text,
                     "a (doubler, in its handler of 'number') dislikes it"),
              "%s", error.text);
}

Test(port, a_topology_is_destroyed_over_messages_that_nobody_took)
{
    start(chain);
    for (uint64_t k = 0; k < 12; k++)
        send(in, k);
    cr_expect_eq(take(out), 0);
    skn_topology_destroy(&topology);
}

Test(port, cycles_leave_nothing_behind)
{
    size_t descriptors = 0, threads = 0;
    for (int k = 0; k < 200; k++) {
        start(chain);
        send(in, 1);
        cr_expect_eq(take(out), 4);
        skn_port_finish(in);
        cr_assert_eq(end(), SKN_OK, "%s", error.text);
        if (k == 0) {
            descriptors = settle_stable(SETTLE_DESCRIPTORS);
            threads = settle_stable(SETTLE_THREADS);
        }
    }
    cr_expect_eq(settle_at_most(SETTLE_DESCRIPTORS, descriptors), descriptors);
    cr_expect_eq(settle_at_most(SETTLE_THREADS, threads), threads);
}

/* --- mistakes ------------------------------------------------------------- */

Test(port, mistakes_are_told)
{
    const other_t other = { 1 };
    topology = skn_topology_new(chain, "t", kinds, &error);
    cr_expect_null(skn_topology_port(topology, "in", &error));
    cr_expect_str_eq(error.text, "the topology is not started");
    skn_topology_destroy(&topology);
    start(chain);
    cr_expect_null(skn_topology_port(topology, "no", &error));
    cr_expect_str_eq(error.text, "the topology has no port 'no'");
    cr_expect_null(skn_topology_port(topology, "a", &error));
    cr_expect_str_eq(error.text, "'a' is not a port: its kind is 'doubler'");
    cr_expect_null(skn_topology_port(topology, NULL, &error));
    cr_expect_eq(error.status, SKN_USAGE);
    cr_expect_eq(skn_port_send(in, &other_schema, &other, &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "port in has no pipe for 'other'");
    cr_expect_null(skn_port_take(in, NULL, &error));
    cr_expect_eq(error.status, SKN_USAGE);
    cr_expect_str_eq(error.text, "port in has no pipes into it");
    cr_expect_eq(skn_port_send(out, &number_schema, &other, &error), SKN_USAGE);
    skn_port_finish(out);
    skn_port_finish(in);
    skn_port_finish(in);
    cr_expect_eq(end(), SKN_OK, "%s", error.text);
}

/* --- what a service developer met ---------------------------------------- */

/* A watcher of a port that only sends must not be called for nothing. */
Test(port, a_sending_port_is_readable_only_after_a_refusal)
{
    start(chain);
    for (uint64_t k = 0; k < 1000; k++) {
        send(in, k);
        cr_expect_eq(take(out), 4 * k);
    }
    cr_expect(!is_readable(in, 50));
    skn_port_finish(in);
    cr_expect(!is_readable(in, 0));
    cr_expect_eq(end(), SKN_OK, "%s", error.text);
}

Test(port, a_stop_ends_the_ports_of_a_host_that_looks_at_nothing_else)
{
    const number_t number = { 1 };
    start(chain);
    for (uint64_t k = 0; k < 4; k++)
        send(in, k);
    skn_topology_stop(topology);
    cr_expect(is_readable(in, -1));
    cr_expect_eq(skn_port_send(in, &number_schema, &number, &error),
                 SKN_UNAVAILABLE);
    cr_expect_not(is_readable(in, 0)); /* it knows */
    for (uint64_t k = 0; k < 4; k++)
        cr_expect_eq(take(out), 4 * k);
    cr_expect_eq(take(out), UINT64_MAX);
    cr_expect_eq(end(), SKN_OK, "%s", error.text);
}

/* libzmq itself ends a process that has next to none. */
Test(port, a_start_without_enough_descriptors_is_refused)
{
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    uint32_t refused = 0, started = 0;
    for (limit.rlim_cur = 70; limit.rlim_cur >= 30; limit.rlim_cur--) {
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        topology = skn_topology_new(chain, "t", kinds, &error);
        cr_assert(topology, "%s", error.text);
        skn_status_t status = skn_topology_start(topology, NULL, &error);
        if (status == SKN_OK) {
            started++;
        } else {
            cr_expect_eq(status, SKN_NO_MEMORY, "%d descriptors: %s",
                         (int)limit.rlim_cur, error.text);
            refused++;
        }
        skn_topology_destroy(&topology);
    }
    cr_expect(started > 0 && refused > 0, "%u, %u", started, refused);
}

Test(port, a_child_made_by_fork_is_told_that_the_port_is_not_its_own)
{
    start(chain);
    send(in, 1);
    pid_t child = fork();
    if (child == 0) {
        const number_t number = { 1 };
        bool is_told =
            skn_port_send(in, &number_schema, &number, &error) == SKN_USAGE &&
            strstr(error.text, "fork()") && !skn_port_take(out, NULL, &error) &&
            error.status == SKN_USAGE &&
            !skn_port_message(in, &number_schema, NULL, NULL);
        skn_port_finish(in);
        skn_topology_destroy(&topology);
        _exit(is_told ? 7 : 1);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    cr_expect_eq(take(out), 4);
    skn_port_finish(in);
    cr_expect_eq(end(), SKN_OK, "%s", error.text);
}
