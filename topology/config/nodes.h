/* nodes.h - what must hold of the nodes of a run: names, addresses, keys.
 *
 * One checker for model files and for topology files, so that both say the
 * same of the same mistake. Pure; any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CONFIG_NODES_H
#define TOPOLOGY_CONFIG_NODES_H

#include <stdbool.h>

#include "actors/runtime/wiring.h"
#include "topology/config/document.h"

/* Whether `text` is tcp://host:port with a port of 1..65535 and a host that
 * others can reach: a name, an IPv4 address, or an IPv6 address in brackets;
 * no wildcard. */
bool skn_address_is_good(const char *text);
/* Whether a good address stays on its machine: 127.0.0.0/8, [::1], localhost.
 */
bool skn_address_is_loopback(const char *text);

/* Adds to `problems` what is wrong with the nodes together and one by one:
 * names, keys and addresses that stand twice, missing or bad addresses, an
 * address beyond this machine, or a node without one, without a key on every
 * node; a `via` that is no node with an address. `list` has one mapping for
 * each node, in order: the marks. A name or address of "" was complained about,
 * or is not there. */
void skn_nodes_check(const skn_wired_node_t *nodes, uint32_t node_count,
                     const skn_node_t *list, skn_problems_t *problems);

#endif
