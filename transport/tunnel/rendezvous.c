/* rendezvous.c - the hub's table of tunnels being opened, by token.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/tunnel/rendezvous.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct promise {
    uint32_t asker, node;
    uint64_t number, until_ms;
    uint8_t token[2][SKN_TUNNEL_TOKEN_BYTES];
    int connection[2];
} promise_t;

struct skn_rendezvous {
    promise_t promise[SKN_RENDEZVOUS_MAX]; /* unordered */
    uint32_t count;
};

skn_rendezvous_t *
skn_rendezvous_new(skn_error_t *error)
{
    skn_rendezvous_t *rendezvous = calloc(1, sizeof(*rendezvous));
    if (!rendezvous)
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for tunnels");
    return rendezvous;
}

void
skn_rendezvous_destroy(skn_rendezvous_t **rendezvous)
{
    free(*rendezvous);
    *rendezvous = NULL;
}

uint32_t
skn_rendezvous_count(const skn_rendezvous_t *rendezvous)
{
    return rendezvous->count;
}

static void
forget(skn_rendezvous_t *rendezvous, uint32_t k)
{
    assert(k < rendezvous->count);
    rendezvous->promise[k] = rendezvous->promise[--rendezvous->count];
}

bool
skn_rendezvous_open(skn_rendezvous_t *rendezvous, uint32_t asker, uint32_t node,
                    uint64_t number, const uint8_t *asker_token,
                    const uint8_t *node_token, uint64_t now_ms)
{
    uint32_t own = 0;
    for (uint32_t k = 0; k < rendezvous->count; k++)
        own += rendezvous->promise[k].asker == asker;
    if (rendezvous->count == SKN_RENDEZVOUS_MAX ||
        own == SKN_RENDEZVOUS_MAX_EACH)
        return false;
    promise_t *promise = &rendezvous->promise[rendezvous->count++];
    promise->asker = asker;
    promise->node = node;
    promise->number = number;
    promise->until_ms = now_ms + SKN_RENDEZVOUS_MS;
    memcpy(promise->token[0], asker_token, SKN_TUNNEL_TOKEN_BYTES);
    memcpy(promise->token[1], node_token, SKN_TUNNEL_TOKEN_BYTES);
    promise->connection[0] = promise->connection[1] = SKN_RENDEZVOUS_NOBODY;
    return true;
}

bool
skn_rendezvous_again(const skn_rendezvous_t *rendezvous, uint32_t asker,
                     uint32_t node, uint64_t number, uint8_t *asker_token)
{
    for (uint32_t k = 0; k < rendezvous->count; k++) {
        const promise_t *promise = &rendezvous->promise[k];
        if (promise->asker != asker || promise->node != node ||
            promise->number != number)
            continue;
        memcpy(asker_token, promise->token[0], SKN_TUNNEL_TOKEN_BYTES);
        return true;
    }
    return false;
}

bool
skn_rendezvous_wants(const skn_rendezvous_t *rendezvous, uint32_t node,
                     uint32_t *at, uint32_t *asker, uint8_t *node_token)
{
    while (*at < rendezvous->count) {
        const promise_t *promise = &rendezvous->promise[(*at)++];
        if (promise->node != node ||
            promise->connection[1] != SKN_RENDEZVOUS_NOBODY)
            continue;
        *asker = promise->asker;
        memcpy(node_token, promise->token[1], SKN_TUNNEL_TOKEN_BYTES);
        return true;
    }
    return false;
}

static bool
find(const skn_rendezvous_t *rendezvous, const uint8_t *token, uint32_t *at,
     uint32_t *end)
{
    for (uint32_t k = 0; k < rendezvous->count; k++)
        for (uint32_t side = 0; side < 2; side++)
            if (memcmp(rendezvous->promise[k].token[side], token,
                       SKN_TUNNEL_TOKEN_BYTES) == 0) {
                *at = k;
                *end = side;
                return true;
            }
    return false;
}

skn_rendezvous_fate_t
skn_rendezvous_arrive(skn_rendezvous_t *rendezvous, const uint8_t *token,
                      int connection, uint64_t now_ms, int *other)
{
    uint32_t k, side;
    *other = SKN_RENDEZVOUS_NOBODY;
    if (!find(rendezvous, token, &k, &side))
        return SKN_RENDEZVOUS_UNKNOWN;
    promise_t *promise = &rendezvous->promise[k];
    if (now_ms >= promise->until_ms ||
        promise->connection[side] != SKN_RENDEZVOUS_NOBODY)
        return SKN_RENDEZVOUS_UNKNOWN;
    promise->connection[side] = connection;
    *other = promise->connection[1 - side];
    if (*other == SKN_RENDEZVOUS_NOBODY)
        return SKN_RENDEZVOUS_WAITS;
    forget(rendezvous, k);
    return SKN_RENDEZVOUS_JOINED;
}

void
skn_rendezvous_leave(skn_rendezvous_t *rendezvous, int connection)
{
    for (uint32_t k = 0; k < rendezvous->count; k++)
        if (rendezvous->promise[k].connection[0] == connection ||
            rendezvous->promise[k].connection[1] == connection) {
            forget(rendezvous, k);
            return;
        }
}

bool
skn_rendezvous_expire(skn_rendezvous_t *rendezvous, uint64_t now_ms,
                      int *connection)
{
    for (uint32_t k = 0; k < rendezvous->count; k++) {
        const promise_t *promise = &rendezvous->promise[k];
        if (now_ms < promise->until_ms)
            continue;
        *connection = promise->connection[0] != SKN_RENDEZVOUS_NOBODY
                          ? promise->connection[0]
                          : promise->connection[1];
        forget(rendezvous, k);
        return true;
    }
    return false;
}
