/* nodes.c - checks names, addresses and keys of the nodes of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/config/nodes.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "formats/text/text.h"
#include "skein/limits.h"
#include "topology/config/nearest.h"
#include "topology/config/values.h"

#define NODE_SCHEME "tcp://"
/* RFC 1035, section 2.3.4: a name has at most 255 octets. */
#define HOST_BYTES 256

/* --- addresses ----------------------------------------------------------- */

/* Copies the host of tcp://host:port, including brackets. */
static bool
split_address(const char *text, char *host)
{
    uint64_t port = 0;
    if (strncmp(text, NODE_SCHEME, strlen(NODE_SCHEME)) != 0)
        return false;
    text += strlen(NODE_SCHEME);
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || colon - text >= HOST_BYTES ||
        !skn_text_is_digit(colon[1]) || !skn_value_unsigned(colon + 1, &port) ||
        port < 1 || port > 65535)
        return false;
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    return true;
}

/* Reads an IPv6 address in brackets. */
static bool
read_ipv6(const char *host, struct in6_addr *address)
{
    char inside[HOST_BYTES];
    size_t bytes = strlen(host);
    if (bytes < 3 || host[0] != '[' || host[bytes - 1] != ']')
        return false;
    memcpy(inside, host + 1, bytes - 2);
    inside[bytes - 2] = '\0';
    return inet_pton(AF_INET6, inside, address) == 1;
}

bool
skn_address_is_good(const char *text)
{
    char host[HOST_BYTES];
    struct in_addr number;
    struct in6_addr wide;
    bool letters = false;
    if (!split_address(text, host))
        return false;
    if (host[0] == '[')
        return read_ipv6(host, &wide) && !IN6_IS_ADDR_UNSPECIFIED(&wide);
    if (inet_pton(AF_INET, host, &number) == 1)
        return number.s_addr != htonl(INADDR_ANY);
    for (const char *at = host; *at; at++) {
        if (!skn_text_is_letter(*at) && !skn_text_is_digit(*at) && *at != '-' &&
            *at != '.' && *at != '_')
            return false;
        letters |= skn_text_is_letter(*at);
    }
    /* A name of digits and dots is a mistyped address. */
    return letters && host[0] != '.' && host[0] != '-';
}

bool
skn_address_is_loopback(const char *text)
{
    char host[HOST_BYTES];
    struct in_addr number;
    struct in6_addr wide;
    if (!split_address(text, host))
        return false;
    if (inet_pton(AF_INET, host, &number) == 1)
        return ntohl(number.s_addr) >> 24 == IN_LOOPBACKNET;
    if (read_ipv6(host, &wide))
        return IN6_IS_ADDR_LOOPBACK(&wide);
    return skn_text_same_word(host, "localhost");
}

/* --- rules --------------------------------------------------------------- */

static skn_mark_t
mark_of(const skn_node_t *item, const char *key)
{
    const skn_node_t *node = skn_node_get(item, key);
    return node ? node->mark : item->mark;
}

static void
check_address(const skn_wired_node_t *node, uint32_t node_count,
              const skn_node_t *item, skn_problems_t *problems)
{
    if (node->address[0] ? skn_address_is_good(node->address)
                         : node_count < 2 || node->via[0])
        return;
    if (node->address[0])
        (void)skn_problems_add(problems, mark_of(item, "address"),
                               "'%.80s' of node '%.64s' is not an address",
                               node->address, node->name);
    else
        (void)skn_problems_add(problems, item->mark,
                               "node '%.64s' has no address", node->name);
    (void)skn_problems_hint(problems,
                            "give tcp://host:port as the other nodes reach it, "
                            "for example tcp://10.0.0.1:7001");
}

/* A node without an address cannot be dialled: a node with one relays to it. */
static void
check_via(const skn_wired_node_t *nodes, uint32_t node_count, uint32_t k,
          const skn_node_t *item, skn_problems_t *problems)
{
    const skn_wired_node_t *node = &nodes[k];
    skn_nearest_t nearest = { .wanted = node->via };
    uint32_t at = node_count;
    if (!node->via[0])
        return;
    for (uint32_t j = 0; j < node_count; j++) {
        if (strcmp(nodes[j].name, node->via) == 0)
            at = j;
        else if (nodes[j].address[0])
            skn_nearest_offer(&nearest, nodes[j].name);
    }
    skn_mark_t mark = mark_of(item, "via");
    if (node->address[0]) {
        (void)skn_problems_add(problems, mark,
                               "node '%.64s' has both an address and 'via'",
                               node->name);
        (void)skn_problems_hint(problems,
                                "'via' is for a node that cannot be dialled");
        return;
    }
    if (at < node_count && at != k && nodes[at].address[0])
        return;
    if (at == k)
        (void)skn_problems_add(
            problems, mark, "node '%.64s' is reached via itself", node->name);
    else if (at < node_count)
        (void)skn_problems_add(problems, mark,
                               "node '%.64s' is reached via '%.64s', which has "
                               "no address either",
                               node->name, node->via);
    else
        (void)skn_problems_add(problems, mark,
                               "node '%.64s' is reached via '%.64s', which is "
                               "not a node",
                               node->name, node->via);
    if (at == node_count && nearest.best)
        (void)skn_problems_hint(problems, "did you mean '%s'?", nearest.best);
    else
        (void)skn_problems_hint(problems,
                                "name a node that has an address, which the "
                                "others can dial");
}

/* ssh would take a name that begins with a dash for an option. */
static void
check_ssh(const skn_wired_node_t *node, const skn_node_t *item,
          skn_problems_t *problems)
{
    bool good = !node->ssh || node->ssh[0] != '-';
    for (const char *at = node->ssh; at && *at; at++)
        good = good && *at > ' ' && *at != 127;
    if (good)
        return;
    (void)skn_problems_add(problems, mark_of(item, "ssh"),
                           "'%.80s' of node '%.64s' is not an ssh destination",
                           node->ssh, node->name);
    (void)skn_problems_hint(problems, "give host, user@host, or a name from "
                                      "the ssh config");
}

/* Reports values that node `k` and an earlier node share. */
static void
check_repeats(const skn_wired_node_t *nodes, uint32_t k, const skn_node_t *item,
              skn_problems_t *problems)
{
    bool name = false, address = false, key = false;
    const skn_wired_node_t *node = &nodes[k];
    for (uint32_t j = 0; j < k; j++) {
        const skn_wired_node_t *other = &nodes[j];
        if (!name && node->name[0] && strcmp(node->name, other->name) == 0) {
            (void)skn_problems_add(problems, mark_of(item, "name"),
                                   "there are two nodes named '%.64s'",
                                   node->name);
            name = true;
        }
        if (!address && node->address[0] &&
            strcmp(node->address, other->address) == 0) {
            (void)skn_problems_add(problems, mark_of(item, "address"),
                                   "nodes '%.64s' and '%.64s' have the same "
                                   "address",
                                   other->name, node->name);
            address = true;
        }
        if (!key && node->key[0] && strcmp(node->key, other->key) == 0) {
            (void)skn_problems_add(problems, mark_of(item, "key"),
                                   "nodes '%.64s' and '%.64s' have the same "
                                   "key, but a node is identified by its key",
                                   other->name, node->name);
            key = true;
        }
    }
}

/* Reports why every node needs a key: because of node `beyond`, or because one
 * of them has one. */
static void
refuse_keyless(const skn_wired_node_t *node, const skn_wired_node_t *beyond,
               const skn_wired_node_t *keyed, skn_mark_t mark,
               skn_problems_t *problems)
{
    if (beyond && beyond->via[0])
        (void)skn_problems_add(problems, mark,
                               "node '%.64s' has no key, and node '%.64s', "
                               "which has no address, needs links with CURVE",
                               node->name, beyond->name);
    else if (beyond)
        (void)skn_problems_add(
            problems, mark,
            "node '%.64s' has no key, and node '%.64s' is at %s, beyond "
            "this machine, where links need CURVE",
            node->name, beyond->name, beyond->address);
    else
        (void)skn_problems_add(problems, mark,
                               "node '%.64s' has no key, but node '%.64s' has "
                               "one",
                               node->name, keyed->name);
    (void)skn_problems_hint(problems,
                            "run `skein keygen` for each node, and give it "
                            "`key: keys/%.64s.key`",
                            node->name);
}

/* Links are encrypted for all nodes or for none; if a node is on another
 * machine, for all. */
static void
check_keys(const skn_wired_node_t *nodes, uint32_t node_count,
           const skn_node_t *list, skn_problems_t *problems)
{
    const skn_wired_node_t *beyond = NULL, *keyed = NULL;
    for (uint32_t k = 0; k < node_count; k++) {
        bool far =
            nodes[k].via[0] || (skn_address_is_good(nodes[k].address) &&
                                !skn_address_is_loopback(nodes[k].address));
        beyond = !beyond && far ? &nodes[k] : beyond;
        keyed = !keyed && nodes[k].key[0] ? &nodes[k] : keyed;
    }
    if (node_count < 2 || (!beyond && !keyed))
        return;
    const skn_node_t *item = list->first;
    for (uint32_t k = 0; k < node_count; k++, item = item->next) {
        if (nodes[k].key[0])
            continue;
        refuse_keyless(&nodes[k], beyond, keyed, item->mark, problems);
    }
}

void
skn_nodes_check(const skn_wired_node_t *nodes, uint32_t node_count,
                const skn_node_t *list, skn_problems_t *problems)
{
    const skn_node_t *item = list->first;
    for (uint32_t k = 0; k < node_count; k++, item = item->next) {
        check_address(&nodes[k], node_count, item, problems);
        check_via(nodes, node_count, k, item, problems);
        check_ssh(&nodes[k], item, problems);
        check_repeats(nodes, k, item, problems);
    }
    check_keys(nodes, node_count, list, problems);
}
