/* nodes.h - checks the nodes of a run: names, addresses, keys.
 *
 * One checker for model files and topology files, so that both report the same
 * mistake in the same words. Pure; any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CONFIG_NODES_H
#define TOPOLOGY_CONFIG_NODES_H

#include <stdbool.h>

#include "actors/runtime/wiring.h"
#include "topology/config/document.h"

/* True if `text` is tcp://host:port with a port of 1..65535 and a host that
 * others can reach: a name, an IPv4 address, or an IPv6 address in brackets; no
 * wildcard. */
bool skn_address_is_good(const char *text);
/* True if a good address stays on its machine: 127.0.0.0/8, [::1],
 * localhost. */
bool skn_address_is_loopback(const char *text);

/* Adds to `problems` the faults of the nodes, together and one by one: repeated
 * names, keys and addresses; missing or bad addresses; nodes without a key if
 * one has an address beyond this machine or no address; a `via` that is not a
 * node with an address. `list` has one mapping for each node, in order, for the
 * marks. A name or address of "" was already reported, or is absent. */
void skn_nodes_check(const skn_wired_node_t *nodes, uint32_t node_count,
                     const skn_node_t *list, skn_problems_t *problems);

#endif
