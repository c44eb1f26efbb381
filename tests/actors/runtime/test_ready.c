/* test_ready.c - tests actors that wait for a descriptor, and the pointer that
 * a host gives to its actors.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "skein/port.h"

TestSuite(ready, .timeout = 60);

#define FIELDS_byte(F, M) F(M, u32, value, 255, "what was read")
SKN_MESSAGE_STRUCT(byte, FIELDS_byte)
SKN_MESSAGE_SCHEMA(byte, "byte", 1000, FIELDS_byte, "a byte")

static skn_error_t error;
static int ends[2];

static skn_status_t
watch_it(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)state, (void)wrong;
    skn_actor_watch(actor, *(const int *)skn_actor_host(actor), POLLIN);
    return SKN_OK;
}

/* Reads one byte a time, so that level triggering shows. */
static skn_status_t
read_one(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    const int *descriptor = skn_actor_host(actor);
    unsigned char value;
    ssize_t bytes = read(*descriptor, &value, 1);
    byte_t byte = { value };
    (void)state;
    if (bytes == 0 || (bytes < 0 && skn_actor_stop_wanted(actor))) {
        skn_actor_watch(actor, -1, 0);
        skn_actor_finish(actor);
    }
    return bytes == 1 ? skn_actor_send(actor, &byte_schema, &byte, wrong)
                      : SKN_OK;
}

static const skn_schema_t *const sends[] = { &byte_schema, NULL };
static const skn_kind_t reader = SKN_KIND(SKN_SET(name, "byte_reader") SKN_SET(
    sends, sends) SKN_SET(start, watch_it) SKN_SET(ready, read_one));
static const skn_kind_t deaf = SKN_KIND(
    SKN_SET(name, "deaf") SKN_SET(sends, sends) SKN_SET(start, watch_it));
static const skn_kind_t *const kinds[] = { &reader, &deaf, NULL };

static skn_topology_t *
start(const char *kind, int *descriptor)
{
    char text[512];
    (void)snprintf(text, sizeof(text),
                   "skein: 1\ntopology:\n  name: t\n  actors:\n"
                   "    - { name: r, kind: %s }\n"
                   "    - { name: out, kind: port }\n"
                   "  pipes: [ { from: r, to: out, message: byte, credit: 2 } "
                   "]\n",
                   kind);
    const skn_start_options_t options =
        SKN_START_OPTIONS(SKN_SET(host, descriptor));
    cr_assert_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    skn_topology_t *topology = skn_topology_new(text, "t", kinds, &error);
    cr_assert(topology, "%s", error.text);
    cr_assert_eq(skn_topology_start(topology, &options, &error), SKN_OK, "%s",
                 error.text);
    return topology;
}

static int
take(skn_port_t *port)
{
    const byte_t *byte;
    while (!(byte = skn_port_take(port, NULL, &error))) {
        struct pollfd item = { skn_port_fd(port), POLLIN, 0 };
        if (error.status == SKN_UNAVAILABLE)
            return -1;
        cr_assert_eq(poll(&item, 1, -1), 1);
    }
    int value = (int)byte->value;
    skn_message_drop(byte);
    return value;
}

Test(ready, an_actor_reads_what_comes_and_ends_with_it)
{
    skn_topology_t *topology = start("byte_reader", &ends[0]);
    skn_port_t *out = skn_topology_port(topology, "out", &error);
    for (int round = 0; round < 100; round++) {
        cr_assert_eq(write(ends[1], "abcdefgh", 8), 8);
        for (int k = 0; k < 8; k++)
            cr_expect_eq(take(out), 'a' + k);
    }
    (void)close(ends[1]);
    cr_expect_eq(take(out), -1);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK, "%s", error.text);
    skn_topology_destroy(&topology);
    (void)close(ends[0]);
}

Test(ready, a_stop_reaches_an_actor_that_waits_for_its_descriptor)
{
    skn_topology_t *topology = start("byte_reader", &ends[0]);
    skn_topology_stop(topology);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK, "%s", error.text);
    skn_topology_destroy(&topology);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

Test(ready, a_descriptor_that_is_not_open_fails_the_actor)
{
    int closed = 1000;
    skn_topology_t *topology = start("byte_reader", &closed);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_USAGE);
    cr_expect(
        strstr(error.text,
               "r (byte_reader) watches descriptor 1000, which is not open"),
        "%s", error.text);
    skn_topology_destroy(&topology);
}

Test(ready, a_kind_without_the_hook_may_not_watch)
{
    skn_topology_t *topology = start("deaf", &ends[0]);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_USAGE);
    cr_expect(strstr(error.text, "its kind has no hook 'ready'"), "%s",
              error.text);
    skn_topology_destroy(&topology);
}
