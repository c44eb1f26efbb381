/* rendezvous.h - the hub's table of tunnels being opened, by token.
 *
 *     open(x, y) ─▶ two tokens, one for each ─▶ arrive ─▶ arrive ─▶ joined
 *                                          └── too late ─▶ removed
 *
 * An entry is kept until both ends have connected. The table is bounded in all,
 * and for each node that asks. Pure: no socket, no clock, no random numbers;
 * one thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_TUNNEL_RENDEZVOUS_H
#define TRANSPORT_TUNNEL_RENDEZVOUS_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/tunnel/tunnel_words.h"

/* Two lanes to each of 64 nodes, opened again while the last attempt still
 * waits; and for one node that asks: for all of its peers, twice. */
#define SKN_RENDEZVOUS_MAX 1024u
#define SKN_RENDEZVOUS_MAX_EACH 256u
/* A round trip or two, with packets that are lost and sent again. */
#define SKN_RENDEZVOUS_MS 10000u
/* In place of the connection of an end that has not connected. */
#define SKN_RENDEZVOUS_NOBODY (-1)

typedef struct skn_rendezvous skn_rendezvous_t;

/* NULL: SKN_NO_MEMORY. */
skn_rendezvous_t *skn_rendezvous_new(skn_error_t *error);
void skn_rendezvous_destroy(skn_rendezvous_t **rendezvous);

/* Opens an entry for the tunnel to `node` that `asker` requests, with the
 * number of its request. The tokens are random and copied. False: too many are
 * open. */
bool skn_rendezvous_open(skn_rendezvous_t *rendezvous, uint32_t asker,
                         uint32_t node, uint64_t number,
                         const uint8_t *asker_token, const uint8_t *node_token,
                         uint64_t now_ms);
/* The asker's token of a request that is repeated, as the reply may have been
 * lost; false: the request is new, or both ends have answered it. */
bool skn_rendezvous_again(const skn_rendezvous_t *rendezvous, uint32_t asker,
                          uint32_t node, uint64_t number, uint8_t *asker_token);
/* Iterates over the nodes that want `node` and wait for its end, with the token
 * for it, from *at (0 at first), which advances; false: no more. */
bool skn_rendezvous_wants(const skn_rendezvous_t *rendezvous, uint32_t node,
                          uint32_t *at, uint32_t *asker, uint8_t *node_token);

typedef enum skn_rendezvous_fate {
    SKN_RENDEZVOUS_UNKNOWN, /* no such token; or presented too late, or twice */
    SKN_RENDEZVOUS_WAITS,
    SKN_RENDEZVOUS_JOINED /* the entry is removed; *other is the connection */
} skn_rendezvous_fate_t;

/* A connection (a number of the caller's, not negative) presented a token,
 * which serves once. */
skn_rendezvous_fate_t skn_rendezvous_arrive(skn_rendezvous_t *rendezvous,
                                            const uint8_t *token,
                                            int connection, uint64_t now_ms,
                                            int *other);
/* A connection that presented a token has ended before the other one
 * arrived. */
void skn_rendezvous_leave(skn_rendezvous_t *rendezvous, int connection);
/* Removes an entry that is too old; false: there is none. *connection: the end
 * that had connected, to be closed, or SKN_RENDEZVOUS_NOBODY. */
bool skn_rendezvous_expire(skn_rendezvous_t *rendezvous, uint64_t now_ms,
                           int *connection);
/* The number of entries. */
uint32_t skn_rendezvous_count(const skn_rendezvous_t *rendezvous);

#endif
