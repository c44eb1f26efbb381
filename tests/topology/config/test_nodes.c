/* test_nodes.c - tests names, addresses and keys of nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "topology/config/nodes.h"

/* --- addresses ----------------------------------------------------------- */

Test(nodes, takes_addresses_that_others_can_reach)
{
    static const char *const good[] = {
        "tcp://127.0.0.1:7001",
        "tcp://10.77.0.2:1",
        "tcp://a:65535",
        "tcp://node-1.example.org:7001",
        "tcp://worker_2:7001",
        "tcp://[::1]:7001",
        "tcp://[fe80::1:2]:80",
        "tcp://9a:7001",
        "tcp://127.0.0.1.example.org:7001",
    };
    for (size_t k = 0; k < sizeof(good) / sizeof(good[0]); k++)
        cr_expect(skn_address_is_good(good[k]), "%s", good[k]);
}

Test(nodes, refuses_what_is_no_address)
{
    static const char *const bad[] = {
        "",
        "tcp://",
        "tcp://a",
        "tcp://a:",
        "tcp://:7001",
        "tcp://a:0",
        "tcp://a:65536",
        "tcp://a:70x",
        "tcp://a:-1",
        "tcp://a:+1",
        "tcp://a: 1",
        "tcp://*:7001",
        "tcp://0.0.0.0:7001",
        "tcp://[::]:7001",
        "tcp://[]:7001",
        "tcp://[127.0.0.1]:7001",
        "tcp://::1:7001",
        "tcp://1.2.3:7001",
        "tcp://1.2.3.256:7001",
        "tcp://1.2.3.4.5:7001",
        "tcp://a b:7001",
        "tcp://a/b:7001",
        "tcp://-a:7001",
        "tcp://.a:7001",
        "ipc://a:7001",
        "inproc://a",
        "TCP://a:7001",
        "a:7001",
        "tcp://a:7001/",
        "tcp://a:7001;tcp://b:7001",
        "tcp://eth0;a:7001",
        "tcp://a:18446744073709551617",
    };
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        cr_expect_not(skn_address_is_good(bad[k]), "%s", bad[k]);
    }
    char text[400] = "tcp://";
    for (size_t host_bytes = 254; host_bytes <= 257; host_bytes++) {
        memset(text + 6, 'a', host_bytes);
        (void)snprintf(text + 6 + host_bytes, 10, ":7001");
        cr_expect_eq(skn_address_is_good(text), host_bytes <= 255, "%zu",
                     host_bytes);
    }
}

Test(nodes, knows_which_addresses_stay_on_the_machine)
{
    static const char *const near[] = {
        "tcp://127.0.0.1:1", "tcp://127.255.0.9:7001", "tcp://localhost:7001",
        "tcp://LocalHost:7001", "tcp://[::1]:7001"
    };
    static const char *const far[] = { "tcp://10.0.0.1:7001",
                                       "tcp://128.0.0.1:7001",
                                       "tcp://[::2]:7001",
                                       "tcp://127.a.org:7001",
                                       "tcp://126.255.255.255:7001",
                                       "tcp://localhost.org:7001",
                                       "nonsense",
                                       "" };
    for (size_t k = 0; k < sizeof(near) / sizeof(near[0]); k++)
        cr_expect(skn_address_is_loopback(near[k]), "%s", near[k]);
    for (size_t k = 0; k < sizeof(far) / sizeof(far[0]); k++)
        cr_expect_not(skn_address_is_loopback(far[k]), "%s", far[k]);
}

/* --- rules --------------------------------------------------------------- */

/* A list of nodes as YAML; the problems, one a line, are the caller's. */
static char *
check(const char *yaml)
{
    skn_wired_node_t nodes[8];
    uint32_t count = 0;
    char *said = NULL;
    size_t said_bytes = 0;
    FILE *file = open_memstream(&said, &said_bytes);
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_document_t *document =
        skn_document_parse(yaml, strlen(yaml), "n", problems);
    cr_assert(document && file, "%s", yaml);
    const skn_node_t *list = skn_node_get(skn_document_root(document), "nodes");
    for (const skn_node_t *item = list->first; item; item = item->next) {
        const skn_node_t *name = skn_node_get(item, "name");
        const skn_node_t *address = skn_node_get(item, "address");
        const skn_node_t *via = skn_node_get(item, "via");
        const skn_node_t *key = skn_node_get(item, "key");
        const skn_node_t *ssh = skn_node_get(item, "ssh");
        cr_assert_lt(count, 8u);
        nodes[count++] =
            (skn_wired_node_t){ .name = name ? name->text : "",
                                .address = address ? address->text : "",
                                .via = via ? via->text : "",
                                .key = key ? key->text : "",
                                .ssh = ssh ? ssh->text : "" };
    }
    skn_nodes_check(nodes, count, list, problems);
    for (size_t k = 0; skn_problems_text(problems, k); k++)
        (void)fprintf(file, "%s; %s\n", skn_problems_text(problems, k),
                      skn_problems_hint_text(problems, k));
    cr_assert_eq(fclose(file), 0);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
    return said;
}

static void
expect_said(const char *yaml, const char *want)
{
    char *said = check(yaml);
    cr_expect_str_eq(said, want, "%s\nsays\n%snot\n%s", yaml, said, want);
    free(said);
}

#define A "  - { name: a, address: 'tcp://127.0.0.1:7001' }\n"
#define B "  - { name: b, address: 'tcp://127.0.0.1:7002' }\n"
#define REACH                                                                  \
    "give tcp://host:port as the other nodes reach it, for example "           \
    "tcp://10.0.0.1:7001\n"

Test(nodes, says_nothing_about_good_ones)
{
    expect_said("nodes:\n" A B, "");
    expect_said("nodes:\n" A, "");
    expect_said("nodes:\n  - { name: a }\n", "");
    expect_said("nodes:\n"
                "  - { name: a, address: 'tcp://127.0.0.1:1', key: a.key }\n"
                "  - { name: b, address: 'tcp://10.0.0.1:1', key: b.key }\n",
                "");
    /* One node has no links, so it needs no keys. */
    expect_said("nodes:\n  - { name: a, address: 'tcp://10.0.0.1:1' }\n", "");
}

Test(nodes, refuses_what_stands_twice)
{
    expect_said("nodes:\n" A "  - { name: a, address: "
                "'tcp://127.0.0.1:7002' }\n" A,
                "n:3:13: there are two nodes named 'a'; \n"
                "n:4:13: there are two nodes named 'a'; \n"
                "n:4:25: nodes 'a' and 'a' have the same address; \n");
    expect_said("nodes:\n"
                "  - { name: a, address: 'tcp://a:1', key: x }\n"
                "  - { name: b, address: 'tcp://b:1', key: x }\n",
                "n:3:43: nodes 'a' and 'b' have the same key, but a node is "
                "identified by its key; \n");
}

Test(nodes, refuses_missing_and_bad_addresses)
{
    expect_said("nodes:\n" A "  - { name: b }\n",
                "n:3:5: node 'b' has no address; " REACH);
    expect_said("nodes:\n  - { name: b, address: a }\n",
                "n:2:25: 'a' of node 'b' is not an address; " REACH);
    expect_said("nodes:\n  - { name: b, address: 'tcp://*:1' }\n" A,
                "n:2:25: 'tcp://*:1' of node 'b' is not an address; " REACH);
}

Test(nodes, refuses_what_ssh_would_take_for_an_option)
{
    static const char *const good[] = { "b", "me@b.example", "b-1",
                                        "ssh://me@b:2222", "[::1]" };
    static const char *const bad[] = { "-oProxyCommand=ls", "-", "b c",
                                       "b\tc" };
    char yaml[256], want[256];
    for (size_t k = 0; k < sizeof(good) / sizeof(good[0]); k++) {
        (void)snprintf(yaml, sizeof(yaml),
                       "nodes:\n" A
                       "  - { name: b, address: 'tcp://127.0.0.1:7002', "
                       "ssh: \"%s\" }\n",
                       good[k]);
        expect_said(yaml, "");
    }
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        (void)snprintf(yaml, sizeof(yaml),
                       "nodes:\n" A
                       "  - { name: b, address: 'tcp://127.0.0.1:7002', "
                       "ssh: \"%s\" }\n",
                       bad[k]);
        (void)snprintf(want, sizeof(want),
                       "n:3:54: '%s' of node 'b' is not an ssh destination; "
                       "give host, user@host, or a name from the ssh "
                       "config\n",
                       bad[k]);
        expect_said(yaml, want);
    }
}

Test(nodes, refuses_links_beyond_the_machine_without_keys)
{
    expect_said(
        "nodes:\n" A "  - { name: b, address: 'tcp://10.0.0.1:7002' }\n"
        "  - { name: c, address: 'tcp://10.0.0.2:7002', key: c.key }\n",
        "n:2:5: node 'a' has no key, and node 'b' is at tcp://10.0.0.1:7002, "
        "beyond this machine, where links need CURVE; run `skein keygen` "
        "for each node, and give it `key: keys/a.key`\n"
        "n:3:5: node 'b' has no key, and node 'b' is at tcp://10.0.0.1:7002, "
        "beyond this machine, where links need CURVE; run `skein keygen` "
        "for each node, and give it `key: keys/b.key`\n");
}

Test(nodes, refuses_keys_for_some_nodes_only)
{
    expect_said(
        "nodes:\n" A
        "  - { name: b, address: 'tcp://127.0.0.1:7002', key: b.key }\n",
        "n:2:5: node 'a' has no key, but node 'b' has one; run `skein "
        "keygen` for each node, and give it `key: keys/a.key`\n");
}

#define KEYED_A "  - { name: a, address: 'tcp://127.0.0.1:7001', key: a.key }\n"
#define KEYED_C "  - { name: c, via: a, key: c.key }\n"

Test(nodes, lets_a_node_without_an_address_be_reached_via_one_that_has_one)
{
    expect_said("nodes:\n" KEYED_A KEYED_C, "");
    expect_said(
        "nodes:\n" KEYED_C KEYED_A "  - { name: d, via: a, key: d.key }\n", "");
}

Test(nodes, refuses_a_via_that_leads_nowhere)
{
#define NAME_ONE "name a node that has an address, which the others can dial\n"
    expect_said("nodes:\n" KEYED_A "  - { name: c, via: c, key: c.key }\n",
                "n:3:21: node 'c' is reached via itself; " NAME_ONE);
    expect_said("nodes:\n" KEYED_A KEYED_C
                "  - { name: d, via: c, key: d.key }\n",
                "n:4:21: node 'd' is reached via 'c', which has no address "
                "either; " NAME_ONE);
    expect_said("nodes:\n" KEYED_A "  - { name: c, via: nobody, key: c.key }\n",
                "n:3:21: node 'c' is reached via 'nobody', which is "
                "not a node; " NAME_ONE);
    expect_said(
        "nodes:\n" KEYED_A
        "  - { name: c, address: 'tcp://127.0.0.1:7002', via: a, "
        "key: c.key }\n",
        "n:3:54: node 'c' has both an address and 'via'; 'via' is for a node "
        "that cannot be dialled\n");
}

Test(nodes, refuses_nodes_without_an_address_among_nodes_without_keys)
{
    expect_said(
        "nodes:\n" A "  - { name: c, via: a, key: c.key }\n",
        "n:2:5: node 'a' has no key, and node 'c', which has "
        "no address, needs links with CURVE; run `skein keygen` for each "
        "node, and "
        "give it `key: keys/a.key`\n");
}
