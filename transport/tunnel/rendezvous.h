/* rendezvous.h - two ends that come to one place by tokens.
 *
 *     open(x, y) ─▶ two tokens, one for each ─▶ arrive ─▶ arrive ─▶ joined
 *                                          └── too late ─▶ forgotten
 *
 * The hub's book of tunnels that are being opened: who was promised to whom,
 * until both have come. Bounded in all, and for each of those who ask. Pure:
 * no socket, no clock, no random numbers; one thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_TUNNEL_RENDEZVOUS_H
#define TRANSPORT_TUNNEL_RENDEZVOUS_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/tunnel/tunnel_words.h"

/* Two lanes to each of 64 nodes, opened anew while the last try still waits;
 * and of one that asks: for all of its peers, twice. */
#define SKN_RENDEZVOUS_MAX 1024u
#define SKN_RENDEZVOUS_MAX_EACH 256u
/* A round trip or two, with packets that are lost and sent again. */
#define SKN_RENDEZVOUS_MS 10000u
/* In place of the connection of an end that has not come. */
#define SKN_RENDEZVOUS_NOBODY (-1)

typedef struct skn_rendezvous skn_rendezvous_t;

/* NULL: SKN_NO_MEMORY. */
skn_rendezvous_t *skn_rendezvous_new(skn_error_t *error);
void skn_rendezvous_destroy(skn_rendezvous_t **book);

/* Promises the two ends of a tunnel to `node` that `asker` wants, by its
 * question `number`. The tokens are random and copied. False: too many are
 * open. */
bool skn_rendezvous_open(skn_rendezvous_t *book, uint32_t asker, uint32_t node,
                         uint64_t number, const uint8_t *asker_token,
                         const uint8_t *node_token, uint64_t now_ms);
/* The asker's token of a question that is asked again, as what was said once
 * may be lost; false: it is a new one, or was answered by both ends. */
bool skn_rendezvous_again(const skn_rendezvous_t *book, uint32_t asker,
                          uint32_t node, uint64_t number, uint8_t *asker_token);
/* Who wants `node`, whose end has not come, with the token for it: one after
 * the other, from *at (0 at first), which moves on; false: nobody more. */
bool skn_rendezvous_wants(const skn_rendezvous_t *book, uint32_t node,
                          uint32_t *at, uint32_t *asker, uint8_t *node_token);

typedef enum skn_rendezvous_fate {
    SKN_RENDEZVOUS_UNKNOWN, /* no such token, or it came too late, or twice */
    SKN_RENDEZVOUS_WAITS,
    SKN_RENDEZVOUS_JOINED /* forgotten here; *other is the connection */
} skn_rendezvous_fate_t;

/* A connection (a number of the caller's, not negative) came with a token,
 * which serves once. */
skn_rendezvous_fate_t skn_rendezvous_arrive(skn_rendezvous_t *book,
                                            const uint8_t *token,
                                            int connection, uint64_t now_ms,
                                            int *other);
/* The connection of a token has ended before the other came. */
void skn_rendezvous_leave(skn_rendezvous_t *book, int connection);
/* Forgets one that is too old; false: there is none. *connection: of the end
 * that had come, to be closed, or SKN_RENDEZVOUS_NOBODY. */
bool skn_rendezvous_expire(skn_rendezvous_t *book, uint64_t now_ms,
                           int *connection);
/* How many are open. */
uint32_t skn_rendezvous_count(const skn_rendezvous_t *book);

#endif
