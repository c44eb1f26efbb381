/* test_address.c - tests which texts are addresses of nodes, and which are on
 * loopback.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "transport/socket/address.h"

TestSuite(address, .timeout = 60);

static skn_error_t error;
static skn_address_t address;

Test(address, hosts_and_ports_are_read)
{
    const struct {
        const char *text, *host;
        uint16_t port;
    } good[] = {
        { "tcp://10.0.0.1:7001", "10.0.0.1", 7001 },
        { "tcp://node-1.example_x.org:1", "node-1.example_x.org", 1 },
        { "tcp://[::1]:65535", "::1", 65535 },
        { "tcp://[fe80::1:2]:00080", "fe80::1:2", 80 },
    };
    for (size_t k = 0; k < sizeof(good) / sizeof(good[0]); k++) {
        cr_assert_eq(skn_address_read(good[k].text, false, &address, &error),
                     SKN_OK, "%s", error.text);
        cr_expect_str_eq(address.host, good[k].host);
        cr_expect_eq(address.port, good[k].port);
        cr_expect_str_eq(address.text, good[k].text);
    }
}

Test(address, any_port_and_any_host_are_for_binding_only)
{
    const char *any[] = { "tcp://*:7001", "tcp://127.0.0.1:*",
                          "tcp://127.0.0.1:0", "tcp://*:*" };
    for (size_t k = 0; k < 4; k++) {
        cr_expect_eq(skn_address_read(any[k], true, &address, &error), SKN_OK);
        cr_expect_eq(skn_address_read(any[k], false, &address, &error),
                     SKN_BAD_CONFIG, "%s", any[k]);
    }
    cr_expect_str_eq(error.text, "address 'tcp://*:*': the port is a number "
                                 "from 1 to 65535");
}

Test(address, nothing_else_is_an_address)
{
    const char *bad[] = {
        "",
        "tcp",
        "tcp://",
        "tcp://:1",
        "tcp://a",
        "tcp://a:",
        "tcp://a:b",
        "tcp://a:65536",
        "tcp://a:99999",
        "tcp://a:100000",
        "tcp://a:-1",
        "tcp://a:+1",
        "tcp://a: 1",
        "tcp://a:1 ",
        "tcp://a b:1",
        "tcp://eth0;10.0.0.1:1",
        "tcp://a:1;b:2",
        "tcp://[::1]",
        "tcp://::1:1",
        "tcp://[]:1",
        "tcp://[::1:1",
        "tcp://[x]:1",
        "tcp://-a:1",
        "TCP://a:1",
        "tcp:/a:1",
        "ipc:///tmp/x",
        "inproc://x",
        "udp://a:1",
        "ws://a:1",
        "pgm://a:1",
        "a:1",
        "tcp://a/b:1",
        "tcp://\xc3\xa4:1",
    };
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        error = (skn_error_t){ 0 };
        cr_expect_eq(skn_address_read(bad[k], true, &address, &error),
                     SKN_BAD_CONFIG, "%s", bad[k]);
        cr_expect_str_eq(error.hint,
                         "nodes have addresses such as tcp://10.0.0.1:7001");
    }
    cr_assert_eq(skn_address_read("ipc:///tmp/x", true, &address, &error),
                 SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text,
                     "address 'ipc:///tmp/x': nodes only connect over tcp://");
}

Test(address, the_longest_name_fits_and_one_more_does_not)
{
    char text[400];
    for (size_t bytes = SKN_ADDRESS_BYTES - 1; bytes <= SKN_ADDRESS_BYTES;
         bytes++) {
        memset(text, 'a', sizeof(text));
        memcpy(text, "tcp://", 6);
        (void)snprintf(text + bytes - 2, 3, ":1");
        cr_assert_eq(strlen(text), bytes);
        cr_expect_eq(skn_address_read(text, false, &address, &error),
                     bytes < SKN_ADDRESS_BYTES ? SKN_OK : SKN_BAD_CONFIG);
    }
}

Test(address, loopback_is_told_from_the_rest)
{
    const struct {
        const char *text, *numbers;
        bool loopback, ipv6;
    } cases[] = {
        { "tcp://127.0.0.1:1", "tcp://127.0.0.1:1", true, false },
        { "tcp://127.255.255.254:*", "tcp://127.255.255.254:0", true, false },
        { "tcp://127.1:1", "tcp://127.0.0.1:1", true, false },
        { "tcp://[::1]:1", "tcp://[::1]:1", true, true },
        { "tcp://[::ffff:127.0.0.1]:1", "tcp://[::ffff:127.0.0.1]:1", true,
          true },
        { "tcp://0.0.0.0:1", "tcp://0.0.0.0:1", false, false },
        { "tcp://0:1", "tcp://0.0.0.0:1", false, false },
        { "tcp://*:1", "tcp://0.0.0.0:1", false, false },
        { "tcp://[::]:1", "tcp://[::]:1", false, true },
        { "tcp://[::ffff:10.0.0.1]:1", "tcp://[::ffff:10.0.0.1]:1", false,
          true },
        { "tcp://128.0.0.1:1", "tcp://128.0.0.1:1", false, false },
        { "tcp://126.255.255.255:1", "tcp://126.255.255.255:1", false, false },
        { "tcp://10.0.0.1:1", "tcp://10.0.0.1:1", false, false },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        cr_assert_eq(skn_address_read(cases[k].text, true, &address, &error),
                     SKN_OK, "%s", cases[k].text);
        cr_assert_eq(skn_address_resolve(&address, &error), SKN_OK, "%s",
                     error.text);
        cr_expect_eq(address.loopback, cases[k].loopback, "%s", cases[k].text);
        cr_expect_eq(address.ipv6, cases[k].ipv6, "%s", cases[k].text);
        cr_expect_str_eq(address.text, cases[k].numbers);
    }
}

Test(address, a_name_becomes_numbers)
{
    cr_assert_eq(skn_address_read("tcp://localhost:9", false, &address, &error),
                 SKN_OK);
    cr_assert_eq(skn_address_resolve(&address, &error), SKN_OK);
    cr_expect(address.loopback);
    cr_expect(!strstr(address.text, "localhost"));
}

Test(address, a_name_that_nobody_knows_is_reported)
{
    cr_assert_eq(
        skn_address_read("tcp://no.such.invalid:9", false, &address, &error),
        SKN_OK);
    cr_assert_eq(skn_address_resolve(&address, &error), SKN_BAD_CONFIG);
    cr_expect(strstr(error.text, "address 'tcp://no.such.invalid:9': "), "%s",
              error.text);
}

Test(address, what_is_bound_everywhere_is_reached_on_loopback)
{
    char text[SKN_ADDRESS_BYTES];
    skn_address_to_dial("tcp://0.0.0.0:7001", text);
    cr_expect_str_eq(text, "tcp://127.0.0.1:7001");
    skn_address_to_dial("tcp://[::]:7001", text);
    cr_expect_str_eq(text, "tcp://[::1]:7001");
    skn_address_to_dial("tcp://10.0.0.1:7001", text);
    cr_expect_str_eq(text, "tcp://10.0.0.1:7001");
}
