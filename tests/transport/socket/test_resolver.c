/* test_resolver.c - tests that names are resolved without waiting for a name
 * server. Covers transport/socket/resolver.c and, with test_reachability.c,
 * transport/socket/background.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <string.h>

#include "transport/socket/resolver.h"
#include "transport/tunnel/tunnels.h"

#define PATIENCE_MS 20000

TestSuite(resolver, .timeout = 60);

/* The name server: of "slow.test" it says nothing until it may. */
static sem_t may_answer, asked;

int __real_getaddrinfo(const char *host, const char *port,
                       const struct addrinfo *how, struct addrinfo **list);
int __wrap_getaddrinfo(const char *host, const char *port,
                       const struct addrinfo *how, struct addrinfo **list);

int
__wrap_getaddrinfo(const char *host, const char *port,
                   const struct addrinfo *how, struct addrinfo **list)
{
    if (strcmp(host, "slow.test") == 0) {
        if (how->ai_flags & AI_NUMERICHOST)
            return EAI_NONAME;
        (void)sem_post(&asked);
        (void)sem_wait(&may_answer);
        host = "127.0.0.1";
    }
    return __real_getaddrinfo(host, port, how, list);
}

static void
await_asked(void)
{
    int code;
    do
        code = sem_wait(&asked);
    while (code != 0);
}

static uint16_t
await_port(skn_resolver_t *resolver, uint32_t k)
{
    skn_byte_socket_place_t place;
    for (int tries = 0; tries < PATIENCE_MS / 10; tries++) {
        if (skn_resolver_found(resolver, k, &place))
            return ntohs(((struct sockaddr_in *)&place.at)->sin_port);
        (void)poll(NULL, 0, 10);
    }
    cr_assert_fail("number %u is not found", k);
    return 0;
}

static const char *const addresses[] = { "tcp://127.0.0.1:7",
                                         "tcp://slow.test:8",
                                         "tcp://no-such-host.invalid:9" };

Test(resolver, a_name_that_nobody_knows_is_known_to_be_so)
{
    skn_byte_socket_place_t place;
    skn_resolver_t *resolver = skn_resolver_new(addresses, 3, NULL);
    cr_assert(resolver);
    cr_expect_not(skn_resolver_is_unknown(resolver, 2));
    skn_resolver_ask(resolver, 2);
    for (int tries = 0; tries < PATIENCE_MS / 10; tries++) {
        if (skn_resolver_is_unknown(resolver, 2))
            break;
        (void)poll(NULL, 0, 10);
    }
    cr_expect(skn_resolver_is_unknown(resolver, 2));
    cr_expect_not(skn_resolver_found(resolver, 2, &place));
    skn_resolver_ask(resolver, 0);
    (void)await_port(resolver, 0);
    cr_expect_not(skn_resolver_is_unknown(resolver, 0));
    skn_resolver_destroy(&resolver);
}

Test(resolver, what_is_asked_for_is_found)
{
    skn_byte_socket_place_t place;
    skn_resolver_t *resolver = skn_resolver_new(addresses, 3, NULL);
    cr_assert(resolver);
    cr_expect_not(skn_resolver_found(resolver, 0, &place), "nobody asked");
    skn_resolver_ask(resolver, 0);
    cr_expect_eq(await_port(resolver, 0), 7u);
    (void)sem_post(&may_answer);
    skn_resolver_ask(resolver, 1);
    cr_expect_eq(await_port(resolver, 1), 8u);
    cr_expect_not(skn_resolver_found(resolver, 2, &place));
    skn_resolver_destroy(&resolver);
    cr_expect_null(resolver);
}

Test(resolver, the_caller_does_not_wait_and_may_close_at_any_time)
{
    skn_byte_socket_place_t place;
    skn_resolver_t *resolver = skn_resolver_new(addresses, 3, NULL);
    cr_assert(resolver);
    skn_resolver_ask(resolver, 1);
    await_asked();
    skn_resolver_ask(resolver, 1);
    cr_expect_not(skn_resolver_found(resolver, 1, &place));
    skn_resolver_destroy(&resolver);
    (void)sem_post(&may_answer);
}

/* A node without an address, whose hub has a name: nothing of it waits. */
Test(resolver, tunnels_do_not_wait_for_a_name_server)
{
    skn_keys_t *keys[2];
    skn_error_t error = { 0 };
    for (size_t k = 0; k < 2; k++)
        cr_assert(keys[k] = skn_keys_new(&error));
    const skn_tunnel_node_t nodes[] = {
        { "a", "tcp://slow.test:7001", skn_keys_public(keys[0]), 0 },
        { "c", "", skn_keys_public(keys[1]), 0 },
    };
    const skn_tunnels_options_t options = {
        .nodes = nodes, .node_count = 2, .node = 1, .keys = keys[1]
    };
    skn_tunnels_t *tunnels = skn_tunnels_open(&options, &error);
    cr_assert(tunnels, "%s", error.text);
    cr_assert_eq(skn_tunnels_start(tunnels, "tcp://127.0.0.1:9", &error),
                 SKN_OK);
    await_asked(); /* whose thread it is that waits now */
    (void)poll(NULL, 0, 200);
    skn_tunnels_close(&tunnels);
    cr_expect_null(tunnels, "it was not waited for");
    for (size_t k = 0; k < 2; k++)
        skn_keys_destroy(&keys[k]);
}
