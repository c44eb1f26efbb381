/* test_endpoint_open.c - tests the settings that a node refuses before it
 * listens.
 *
 * skn_authenticator_start is wrapped by the linker: a test can make it do
 * nothing, like a library that was built wrongly.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zmq.h>

#include "tests/support/endpoint_fixture.h"
#include "tests/support/faults.h"
#include "tests/support/settle.h"
#include "transport/socket/authenticator.h"

TestSuite(endpoint_open, .timeout = 60);

static bool asleep;

skn_status_t __real_skn_authenticator_start(skn_authenticator_t *authenticator,
                                            void *context, skn_error_t *into);
skn_status_t __wrap_skn_authenticator_start(skn_authenticator_t *authenticator,
                                            void *context, skn_error_t *into);

skn_status_t
__wrap_skn_authenticator_start(skn_authenticator_t *authenticator,
                               void *context, skn_error_t *into)
{
    return asleep
               ? SKN_OK
               : __real_skn_authenticator_start(authenticator, context, into);
}

static skn_endpoint_peer_t peers[3];
static skn_endpoint_options_t options;
static skn_keys_t *keys[3];

static void
start(void)
{
    static const char *const names[] = { "a", "b", "c" };
    for (uint32_t k = 0; k < 3; k++) {
        keys[k] = skn_keys_new(&error);
        peers[k] = (skn_endpoint_peer_t){ k, names[k], NULL,
                                          skn_keys_public(keys[k]) };
    }
    options = (skn_endpoint_options_t){ .name = "a",
                                        .address = ANY_PORT,
                                        .keys = keys[0],
                                        .peers = peers + 1,
                                        .peer_count = 2 };
}

static void
stop(void)
{
    for (int k = 0; k < 3; k++)
        skn_keys_destroy(&keys[k]);
}

static void
without_keys(void)
{
    options.keys = NULL;
    for (int k = 0; k < 3; k++)
        peers[k].public_key = NULL;
}

static void
refused(skn_status_t status, const char *text, const char *hint)
{
    error = (skn_error_t){ 0 };
    cr_assert(!skn_endpoint_open(&options, &error), "%s", text);
    cr_expect_eq(error.status, status, "%s", error.text);
    cr_expect_str_eq(error.text, text);
    cr_expect_str_eq(error.hint, hint);
    cr_expect(!skn_endpoint_open(&options, NULL));
}

#define ENDPOINT_TEST(name)                                                    \
    Test(endpoint_open, name, .init = start, .fini = stop)

ENDPOINT_TEST(an_authenticator_that_sleeps_stops_the_node)
{
    asleep = true;
    cr_assert(!skn_endpoint_open(&options, &error));
    cr_expect_eq(error.status, SKN_UNAVAILABLE);
    cr_expect(strstr(error.text, "authenticator") ||
                  strstr(error.text, "throw-away key"),
              "%s", error.text);
    asleep = false;
    skn_endpoint_t *endpoint = skn_endpoint_open(&options, &error);
    cr_expect(endpoint, "%s", error.text);
    skn_endpoint_close(&endpoint);
}

ENDPOINT_TEST(without_keys_nothing_beyond_loopback_is_bound)
{
    const char *beyond[] = { "tcp://0.0.0.0:0", "tcp://*:0",
                             "tcp://[::]:0",    "tcp://10.1.2.3:7001",
                             "tcp://0:0",       "tcp://[::ffff:10.0.0.1]:1" };
    char text[200];
    without_keys();
    for (size_t k = 0; k < sizeof(beyond) / sizeof(beyond[0]); k++) {
        options.address = beyond[k];
        (void)snprintf(
            text, sizeof(text),
            "address %s is reachable from other machines, and this node has no "
            "key: strangers could join",
            beyond[k]);
        refused(SKN_BAD_CONFIG, text,
                "links between machines are encrypted: make a key for each "
                "node with skein keygen, and list it under nodes:");
    }
    cr_expect_eq(skn_status_exit_code(error.status), 78);
}

ENDPOINT_TEST(without_keys_no_name_of_another_machine_is_bound)
{
    char host[256] = "", address[300];
    without_keys();
    cr_assert_eq(gethostname(host, sizeof(host) - 1), 0);
    (void)snprintf(address, sizeof(address), "tcp://%s:0", host);
    options.address = address;
    /* Where the machine's own name leads to loopback, it is loopback. */
    skn_endpoint_t *endpoint = skn_endpoint_open(&options, &error);
    if (endpoint)
        cr_expect(
            strncmp(skn_endpoint_address(endpoint), "tcp://127.", 10) == 0 ||
            strncmp(skn_endpoint_address(endpoint), "tcp://[::1]", 11) == 0);
    else
        cr_expect_eq(error.status, SKN_BAD_CONFIG, "%s", error.text);
    skn_endpoint_close(&endpoint);
    options.address = "tcp://no.such.invalid:1";
    cr_expect(!skn_endpoint_open(&options, &error));
    cr_expect_eq(error.status, SKN_BAD_CONFIG);
}

ENDPOINT_TEST(without_keys_nobody_beyond_loopback_is_dialled)
{
    without_keys();
    peers[2].address = "tcp://10.1.2.3:7001";
    refused(
        SKN_BAD_CONFIG,
        "node c is reachable from other machines, and this node has no key: "
        "strangers could join",
        "links between machines are encrypted: make a key for each node "
        "with skein keygen, and list it under nodes:");
    peers[2].address = NULL;
    skn_endpoint_t *endpoint = skn_endpoint_open(&options, &error);
    cr_assert(endpoint);
    cr_expect_eq(
        skn_endpoint_connect(endpoint, 2, "tcp://10.1.2.3:7001", &error),
        SKN_BAD_CONFIG);
    cr_expect_eq(skn_endpoint_connect(endpoint, 2, "tcp://*:7001", &error),
                 SKN_BAD_CONFIG);
    cr_expect_eq(
        skn_endpoint_connect(endpoint, 9, "tcp://127.0.0.1:7001", &error),
        SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text, "there is no node 9");
    cr_expect_eq(
        skn_endpoint_connect(endpoint, 2, "tcp://localhost:7001", &error),
        SKN_OK, "%s", error.text);
    skn_endpoint_close(&endpoint);
}

ENDPOINT_TEST(with_keys_all_of_the_machine_may_be_bound)
{
    const char *all[] = { "tcp://*:0", "tcp://0.0.0.0:*", "tcp://[::]:0",
                          "tcp://[::1]:0", "tcp://localhost:0" };
    for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
        options.address = all[k];
        skn_endpoint_t *endpoint = skn_endpoint_open(&options, &error);
        if (!endpoint && strchr(all[k], '[') &&
            strstr(error.text, "not an address of this machine"))
            continue; /* a machine without IPv6 */
        cr_expect(endpoint, "%s", error.text);
        skn_endpoint_close(&endpoint);
    }
}

ENDPOINT_TEST(a_port_in_use_is_told)
{
    char text[200];
    skn_endpoint_t *first = skn_endpoint_open(&options, &error);
    cr_assert(first, "%s", error.text);
    options.address = skn_endpoint_address(first);
    (void)snprintf(text, sizeof(text), "%s is in use by another program",
                   options.address);
    refused(SKN_UNAVAILABLE, text,
            "choose another port under nodes:, or stop that program");
    skn_endpoint_close(&first);
}

ENDPOINT_TEST(an_address_of_another_machine_is_told)
{
    options.address = "tcp://192.0.2.1:7001"; /* for examples, RFC 5737 */
    refused(SKN_UNAVAILABLE,
            "tcp://192.0.2.1:7001 is not an address of this machine",
            "`ip address` lists them; is this the right node?");
}

ENDPOINT_TEST(other_transports_are_refused)
{
    const char *others[] = { "ipc:///tmp/x",    "inproc://x",
                             "udp://1.2.3.4:1", "pgm://eth0;239.1.1.1:1",
                             "127.0.0.1:1",     "" };
    for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++) {
        options.address = others[k];
        cr_assert(!skn_endpoint_open(&options, &error));
        cr_expect_eq(error.status, SKN_BAD_CONFIG, "%s", error.text);
    }
    options.address = ANY_PORT;
    peers[1].address = "ipc:///tmp/x";
    refused(SKN_BAD_CONFIG,
            "address 'ipc:///tmp/x': nodes only connect over tcp://",
            "nodes have addresses such as tcp://10.0.0.1:7001");
}

ENDPOINT_TEST(keys_of_peers_are_looked_at)
{
    peers[1].public_key = NULL;
    refused(SKN_BAD_CONFIG, "node b has no key, and this node has one",
            "every node needs a key: make one with skein keygen");
    peers[1].public_key = "0000000000000000000000000000000000000000";
    refused(SKN_BAD_CONFIG, "node b has no key, and this node has one",
            "every node needs a key: make one with skein keygen");
    peers[1].public_key = skn_keys_public(keys[0]);
    refused(SKN_BAD_CONFIG, "node b has the key of this node", "");
    peers[1].public_key = peers[2].public_key;
    refused(SKN_BAD_CONFIG, "nodes b and c have the same key", "");
    options.keys = NULL;
    refused(SKN_BAD_CONFIG, "node b has a key, and this node has none",
            "make a key with skein keygen, or remove the keys of all nodes");
}

ENDPOINT_TEST(a_number_stands_for_one_node)
{
    peers[2].number = 1;
    refused(SKN_BAD_CONFIG, "nodes b and c have the same number 1", "");
    options.peer_count = SKN_PEERS_MAX + 1;
    refused(SKN_BAD_CONFIG, "257 peers, at most 256 allowed", "");
}

/* libzmq would abort in the middle of it. */
ENDPOINT_TEST(too_few_descriptors_are_told_before_anything_is_bound)
{
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlim_t enough = 0;
    for (rlim_t count = 16; count <= 512; count += 16) {
        limit.rlim_cur = count;
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        skn_endpoint_t *endpoint = skn_endpoint_open(&options, &error);
        if (endpoint) {
            enough = count;
            skn_endpoint_close(&endpoint);
            break;
        }
        cr_assert_eq(error.status, SKN_NO_MEMORY);
        cr_expect(strstr(error.text, "file descriptors are needed for 2 peers"),
                  "%s", error.text);
        cr_expect(strstr(error.hint, "ulimit -n "), "%s", error.hint);
    }
    cr_expect_gt(enough, 16);
}

ENDPOINT_TEST(signals_of_the_host_stay_its_own)
{
    const int signals[] = { SIGINT, SIGTERM, SIGPIPE };
    struct sigaction before[3], after;
    for (int k = 0; k < 3; k++)
        (void)sigaction(signals[k], NULL, &before[k]);
    skn_endpoint_t *endpoint = skn_endpoint_open(&options, &error);
    cr_assert(endpoint);
    for (int k = 0; k < 3; k++) {
        (void)sigaction(signals[k], NULL, &after);
        cr_expect_eq(after.sa_handler, before[k].sa_handler, "%d", signals[k]);
    }
    skn_endpoint_close(&endpoint);
}

/* Every allocation and system call of ours fails once. What libzmq and
 * libsodium allocate is theirs. */
static void
fail_one_by_one(fault_kind_t kind, int code)
{
    skn_endpoint_t *endpoint = skn_endpoint_open(&options, &error);
    skn_endpoint_close(&endpoint); /* libraries take what they keep */
    size_t descriptors = settle_entries(SETTLE_DESCRIPTORS);
    for (uint64_t n = 1;; n++) {
        error = (skn_error_t){ 0 };
        faults_arm(kind, n, code, false);
        endpoint = skn_endpoint_open(&options, &error);
        faults_pause(true);
        bool hit = faults_hit() > 0;
        if (!endpoint)
            cr_expect(error.status != SKN_OK && error.text[0], "%s, call %lu",
                      faults_hit_name(), n);
        else
            skn_endpoint_close(&endpoint);
        faults_pause(false);
        cr_expect_eq(faults_blocks_live(), 0, "call %lu", n);
        (void)faults_disarm();
        cr_expect_eq(settle_entries(SETTLE_DESCRIPTORS), descriptors,
                     "call %lu", n);
        if (!hit)
            break;
    }
}

ENDPOINT_TEST(no_allocation_can_fail_unnoticed)
{
    fail_one_by_one(FAULT_MEMORY, 0);
}

ENDPOINT_TEST(no_system_call_can_fail_unnoticed)
{
    fail_one_by_one(FAULT_SYSTEM, EMFILE);
}

/* Sockets of this process whose packets are of that class. */
static int
sockets_of_service(int service)
{
    int count = 0;
    for (int descriptor = 3; descriptor < 256; descriptor++) {
        int found = -1;
        socklen_t bytes = sizeof(found);
        count +=
            getsockopt(descriptor, IPPROTO_IP, IP_TOS, &found, &bytes) == 0 &&
            found == service;
    }
    return count;
}

Test(endpoint_open, packets_in_the_background_are_of_the_lower_class,
     .init = start, .fini = stop)
{
    for (int background = 0; background <= 1; background++) {
        options.background = background;
        skn_endpoint_t *endpoint = skn_endpoint_open(&options, &error);
        cr_assert(endpoint, "%s", error.text);
        cr_expect_eq(sockets_of_service(0x20) > 0, background);
        skn_endpoint_close(&endpoint);
    }
}
