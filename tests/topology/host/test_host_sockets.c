/* test_host_sockets.c - tests that topologies leave alone what a host does with
 * CZMQ, and with libzmq in a context of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <signal.h>

#define ZSOCK_NOCHECK
#include <czmq.h>

#include "skein/topology.h"
#include "tests/support/flow_fixture.h"

TestSuite(host_sockets, .timeout = 60);

static skn_error_t error;

static void
run_a_topology(void)
{
    static const skn_kind_t *const kinds[] = { &maker, &relay, &sink, NULL };
    static const char text[] =
        "skein: 1\ntopology:\n  name: t\n  actors:\n"
        "    - { name: a, kind: maker, options: { n: 50 } }\n"
        "    - { name: b, kind: sink }\n"
        "  pipes:\n    - { from: a, to: b, message: token }\n";
    skn_topology_t *topology = skn_topology_new(text, "t", kinds, &error);
    cr_assert(topology, "%s", error.text);
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK, "%s",
                 error.text);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK, "%s", error.text);
    skn_topology_destroy(&topology);
}

/* Its sockets carry messages before, between and after topologies, and the
 * context ends: nothing of ours is in it. */
Test(host_sockets, a_host_has_a_context_of_libzmq)
{
    char byte = 0;
    void *context = zmq_ctx_new();
    void *ends[2] = { zmq_socket(context, ZMQ_PAIR),
                      zmq_socket(context, ZMQ_PAIR) };
    cr_assert_eq(zmq_bind(ends[0], "inproc://a"), 0);
    cr_assert_eq(zmq_connect(ends[1], "inproc://a"), 0);
    cr_assert_eq(zmq_send(ends[0], "1", 1, 0), 1);
    run_a_topology();
    cr_expect_eq(zmq_recv(ends[1], &byte, 1, ZMQ_DONTWAIT), 1);
    cr_expect_eq(byte, '1');
    run_a_topology();
    cr_assert_eq(zmq_send(ends[1], "2", 1, 0), 1);
    cr_expect_eq(zmq_recv(ends[0], &byte, 1, 0), 1);
    for (int k = 0; k < 2; k++)
        cr_expect_eq(zmq_close(ends[k]), 0);
    cr_expect_eq(zmq_ctx_term(context), 0);
    run_a_topology();
}

static void
echo(zsock_t *pipe, void *argument)
{
    char *text;
    (void)argument;
    (void)zsock_signal(pipe, 0);
    while ((text = zstr_recv(pipe)) && strcmp(text, "$TERM") != 0) {
        (void)zstr_send(pipe, text);
        zstr_free(&text);
    }
    zstr_free(&text);
}

/* Its actors and sockets go on, and have the limits that CZMQ gives. */
Test(host_sockets, a_host_uses_czmq_before_and_after)
{
    zsys_handler_set(NULL);
    zsock_t *before = zsock_new(ZMQ_PAIR);
    zactor_t *actor = zactor_new(echo, NULL);
    int limit = zsock_sndhwm(before);
    for (int round = 0; round < 3; round++) {
        run_a_topology();
        cr_expect_eq(zstr_send(actor, "hello"), 0);
        char *text = zstr_recv(actor);
        cr_assert(text);
        cr_expect_str_eq(text, "hello");
        zstr_free(&text);
    }
    zsock_t *after = zsock_new(ZMQ_PAIR);
    cr_expect_eq(zsock_sndhwm(after), limit);
    zsock_destroy(&before);
    zsock_destroy(&after);
    zactor_destroy(&actor);
    run_a_topology();
}

/* A host that lets CZMQ handle signals has called zsys_init before. */
Test(host_sockets, the_handlers_of_czmq_stay)
{
    struct sigaction before, after;
    (void)zsys_init();
    cr_assert_eq(sigaction(SIGTERM, NULL, &before), 0);
    cr_assert(before.sa_handler != SIG_DFL);
    run_a_topology();
    cr_assert_eq(sigaction(SIGTERM, NULL, &after), 0);
    cr_expect(after.sa_handler == before.sa_handler);
}
