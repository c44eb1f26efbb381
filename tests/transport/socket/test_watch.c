/* test_watch.c - tests which connections the watch finds to misbehave.
 * SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/socket/watch.h"

TestSuite(watch, .timeout = 60);

#define QUEUE 4000000u
#define SLACK SKN_WATCH_SLACK_BYTES

static skn_error_t error;

/* One look after another at one connection. */
static skn_watch_account_t account;
static skn_watch_facts_t facts;
static skn_watch_options_t limits = { .queue_bytes_max = QUEUE };

static skn_connection_guard_verdict_t
look(uint64_t ms, uint64_t bytes, uint32_t delivered, uint32_t empties)
{
    facts.now_ms += ms;
    facts.received_bytes += bytes;
    facts.delivered += delivered;
    facts.empties += empties;
    return skn_watch_judge(&account, &facts, &limits);
}

#define FAIR(...) cr_expect_eq(look(__VA_ARGS__), SKN_VERDICT_FAIR)
#define ENDLESS(...) cr_expect_eq(look(__VA_ARGS__), SKN_VERDICT_ENDLESS)

Test(watch, a_message_that_is_delivered_may_be_endless)
{
    for (int k = 0; k < 1000; k++)
        FAIR(10, 10 * SLACK, 1, (uint32_t)k % 3);
}

Test(watch, a_receiver_that_takes_nothing_may_have_a_full_queue)
{
    FAIR(0, 0, 0, 0);
    FAIR(10, QUEUE, 0, 0);
    FAIR(10, SLACK, 0, 0);
    ENDLESS(0, 100, 0, 0);
}

Test(watch, what_comes_after_the_receiver_looked_may_be_whole)
{
    FAIR(0, 0, 0, 0);
    FAIR(10, 0, 0, 5);
    /* A burst; the receiver looked before it, or only once since. */
    FAIR(10, 10 * SLACK, 0, 5);
    FAIR(10, 0, 0, 1);
    FAIR(10, 0, 1, 1);
    FAIR(10, 0, 0, 100);
}

Test(watch, what_the_receiver_has_not_found_has_no_end)
{
    FAIR(0, 0, 0, 0);
    FAIR(10, SLACK + 100, 0, 0);
    FAIR(10, 0, 0, 2); /* sampled now */
    ENDLESS(0, 0, 0, 2);
}

Test(watch, one_message_under_way_is_no_crime)
{
    FAIR(0, 0, 0, 0);
    for (int k = 0; k < 100; k++)
        FAIR(0, k < 4 ? SLACK / 4 : 0, 0, 3);
}

/* Where messages are longer than the slack, as the coordinator's. */
Test(watch, a_long_message_under_way_is_none_either)
{
    limits.message_bytes_max = 4 * SLACK;
    FAIR(0, 0, 0, 0);
    FAIR(0, 0, 0, 3);
    for (int k = 0; k < 5; k++)
        FAIR(0, SLACK, 0, 3);
    FAIR(0, 1, 0, 3);
    ENDLESS(0, 0, 0, 3);
}

Test(watch, heartbeats_add_up_to_nothing)
{
    FAIR(0, 300, 0, 0);
    for (int hour = 0; hour < 1000; hour++)
        FAIR(3600000, 3600 * SKN_WATCH_BYTES_PER_S, 0, 100);
    FAIR(0, 0, 0, 0);
    ENDLESS(0, QUEUE + SLACK + 1, 0, 0);
}

Test(watch, a_small_message_does_not_cover_an_endless_one)
{
    FAIR(0, 0, 0, 0);
    FAIR(10, 100, 1, 2);
    FAIR(10, 2 * SLACK, 0, 2);
    ENDLESS(10, 0, 0, 2);
}

/* --- with connections ---------------------------------------------------- */

enum {
    CONNECTIONS = 8
};

static skn_watch_t *watch;
static int receiver[2]; /* stands for the ZMQ_FD of who takes */
static int listener, client[CONNECTIONS], server[CONNECTIONS];

static void
connect_one(int k)
{
    struct sockaddr_in at = { 0 };
    socklen_t bytes = sizeof(at);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &bytes), 0);
    client[k] = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(client[k], (struct sockaddr *)&at, bytes), 0);
    server[k] = accept(listener, NULL, NULL);
    cr_assert_geq(server[k], 0);
}

static void
start(void)
{
    skn_watch_options_t options = { .connections_max = 4,
                                    .queue_bytes_max = QUEUE };
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t bytes = sizeof(at);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    cr_assert_eq(pipe(receiver), 0);
    options.receiver = receiver[0];
    listener = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&at, bytes), 0);
    cr_assert_eq(listen(listener, CONNECTIONS), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &bytes), 0);
    watch = skn_watch_new(&options, &error);
    cr_assert(watch);
    skn_watch_port(watch, ntohs(at.sin_port));
    for (int k = 0; k < CONNECTIONS; k++)
        connect_one(k);
}

static void
stop(void)
{
    skn_watch_destroy(&watch);
    cr_expect_null(watch);
    skn_watch_destroy(&watch);
    for (int k = 0; k < CONNECTIONS; k++) {
        (void)close(client[k]);
        (void)close(server[k]);
    }
    (void)close(listener);
    (void)close(receiver[0]);
    (void)close(receiver[1]);
}

static bool
is_shut(int k)
{
    struct pollfd item = { client[k], POLLIN, 0 };
    char byte;
    return poll(&item, 1, 0) == 1 && read(client[k], &byte, 1) == 0;
}

static void
send_bytes(int k, size_t bytes)
{
    static char block[65536];
    while (bytes > 0) {
        size_t part = bytes < sizeof(block) ? bytes : sizeof(block);
        cr_assert_eq(write(client[k], block, part), (ssize_t)part);
        for (size_t got = 0; got < part;) {
            ssize_t once = read(server[k], block, part - got);
            cr_assert_gt(once, 0);
            got += (size_t)once;
        }
        bytes -= part;
    }
}

Test(watch, the_endless_connection_is_cut_and_no_other, .init = start,
     .fini = stop)
{
    for (int k = 0; k < 3; k++)
        cr_expect_eq(skn_watch_accept(watch, server[k]), SKN_VERDICT_FAIR);
    cr_expect_eq(skn_watch_look(watch, 10), 0);
    for (uint64_t ms = 20; ms < 100; ms += 10) {
        send_bytes(0, SLACK);
        send_bytes(1, SLACK);
        skn_watch_delivered(watch, server[1]);
        skn_watch_empty(watch);
        skn_watch_empty(watch);
        if (skn_watch_look(watch, ms) == 1)
            break;
    }
    cr_expect(is_shut(0));
    cr_expect(!is_shut(1) && !is_shut(2));
    cr_expect_eq(skn_watch_count(watch), 2);
    cr_expect_eq(skn_watch_look(watch, 200), 0);
}

Test(watch, a_receiver_that_sleeps_has_nothing_to_take, .init = start,
     .fini = stop)
{
    size_t cut_count = 0;
    (void)skn_watch_accept(watch, server[0]);
    (void)skn_watch_look(watch, 0);
    skn_watch_empty(watch);
    send_bytes(0, 3 * SLACK);
    for (uint64_t ms = 10; ms < 60; ms += 10)
        cut_count += skn_watch_look(watch, ms);
    cr_expect_eq(cut_count, 1);
    cr_expect(is_shut(0));
}

Test(watch, a_receiver_that_is_woken_may_be_late, .init = start, .fini = stop)
{
    (void)skn_watch_accept(watch, server[0]);
    (void)skn_watch_look(watch, 0);
    skn_watch_empty(watch);
    cr_assert_eq(write(receiver[1], "x", 1), 1);
    send_bytes(0, 3 * SLACK);
    for (uint64_t ms = 10; ms < 60; ms += 10)
        cr_expect_eq(skn_watch_look(watch, ms), 0);
    /* And so may one that has taken something and not looked again. */
    char byte;
    cr_assert_eq(read(receiver[0], &byte, 1), 1);
    skn_watch_delivered(watch, server[1]);
    for (uint64_t ms = 60; ms < 120; ms += 10)
        cr_expect_eq(skn_watch_look(watch, ms), 0);
    cr_expect(!is_shut(0));
}

/* It has taken the sign, and is held up before it says what it took. */
Test(watch, a_receiver_that_looks_is_not_asleep, .init = start, .fini = stop)
{
    (void)skn_watch_accept(watch, server[0]);
    (void)skn_watch_look(watch, 0);
    skn_watch_empty(watch);
    skn_watch_takes(watch);
    send_bytes(0, 3 * SLACK);
    for (uint64_t ms = 10; ms < 120; ms += 10)
        cr_expect_eq(skn_watch_look(watch, ms), 0);
    cr_expect(!is_shut(0));
}

Test(watch, what_is_not_read_yet_does_not_count, .init = start, .fini = stop)
{
    static char block[65536];
    (void)skn_watch_accept(watch, server[0]);
    (void)skn_watch_look(watch, 0);
    cr_assert_gt(write(client[0], block, sizeof(block)), 0);
    for (uint64_t ms = 10; ms < 60; ms += 10) {
        skn_watch_empty(watch);
        skn_watch_empty(watch);
        cr_expect_eq(skn_watch_look(watch, ms), 0);
    }
}

Test(watch, one_too_many_costs_the_oldest_that_delivered_nothing, .init = start,
     .fini = stop)
{
    for (int k = 0; k < 4; k++)
        cr_expect_eq(skn_watch_accept(watch, server[k]), SKN_VERDICT_FAIR);
    skn_watch_delivered(watch, server[0]); /* nobody has looked since */
    cr_expect_eq(skn_watch_accept(watch, server[4]), SKN_VERDICT_OVER);
    cr_expect(!is_shut(0), "it is a friend");
    cr_expect(is_shut(1));
    for (int k = 2; k < 5; k++)
        skn_watch_delivered(watch, server[k]);
    (void)skn_watch_look(watch, 40);
    cr_expect_eq(skn_watch_accept(watch, server[5]), SKN_VERDICT_OVER);
    cr_expect(is_shut(5), "all others are friends");
    cr_expect_eq(skn_watch_count(watch), 4);
    cr_expect(!skn_watch_close(watch, server[2]), "it brought something");
    cr_expect(!skn_watch_close(watch, server[2]), "it is gone");
    cr_expect_eq(skn_watch_count(watch), 3);
    cr_expect_eq(skn_watch_accept(watch, server[6]), SKN_VERDICT_FAIR);
}

Test(watch, a_descriptor_that_became_something_else_is_left_alone,
     .init = start, .fini = stop)
{
    int pipes[2];
    cr_assert_eq(pipe(pipes), 0);
    (void)skn_watch_accept(watch, server[0]);
    (void)skn_watch_look(watch, 0);
    send_bytes(0, 3 * SLACK);
    skn_watch_empty(watch);
    skn_watch_empty(watch);
    (void)skn_watch_look(watch, 10);
    cr_assert_eq(dup2(pipes[0], server[0]), server[0]);
    for (uint64_t ms = 20; ms < 60; ms += 10) {
        skn_watch_empty(watch);
        skn_watch_empty(watch);
        cr_expect_eq(skn_watch_look(watch, ms), 0);
    }
    cr_expect_eq(write(pipes[1], "x", 1), 1);
    /* The other end of a connection is ours, too, but was not accepted. */
    (void)skn_watch_accept(watch, client[1]);
    for (int k = 2; k < 6; k++)
        (void)skn_watch_accept(watch, server[k]);
    struct pollfd item = { server[1], POLLIN, 0 };
    cr_expect_eq(poll(&item, 1, 0), 0, "not shut down");
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

Test(watch, impossible_descriptors_are_refused, .init = start, .fini = stop)
{
    cr_expect_eq(skn_watch_accept(watch, -1), SKN_VERDICT_OVER);
    cr_expect_eq(skn_watch_accept(watch, 65536), SKN_VERDICT_OVER);
    skn_watch_delivered(watch, -1);
    skn_watch_delivered(watch, 65536);
    cr_expect(!skn_watch_close(watch, 12345));
    (void)skn_watch_accept(watch, server[0]);
    cr_expect(skn_watch_close(watch, server[0]), "it brought nothing");
    cr_expect_eq(skn_watch_count(watch), 0);
}
