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
    skn_rendezvous_t *book = calloc(1, sizeof(*book));
    if (!book)
        (void)skn_fail(error, SKN_NO_MEMORY, "no room for tunnels");
    return book;
}

void
skn_rendezvous_destroy(skn_rendezvous_t **book)
{
    free(*book);
    *book = NULL;
}

uint32_t
skn_rendezvous_count(const skn_rendezvous_t *book)
{
    return book->count;
}

static void
forget(skn_rendezvous_t *book, uint32_t k)
{
    assert(k < book->count);
    book->promise[k] = book->promise[--book->count];
}

bool
skn_rendezvous_open(skn_rendezvous_t *book, uint32_t asker, uint32_t node,
                    uint64_t number, const uint8_t *asker_token,
                    const uint8_t *node_token, uint64_t now_ms)
{
    uint32_t own = 0;
    for (uint32_t k = 0; k < book->count; k++)
        own += book->promise[k].asker == asker;
    if (book->count == SKN_RENDEZVOUS_MAX || own == SKN_RENDEZVOUS_MAX_EACH)
        return false;
    promise_t *promise = &book->promise[book->count++];
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
skn_rendezvous_again(const skn_rendezvous_t *book, uint32_t asker,
                     uint32_t node, uint64_t number, uint8_t *asker_token)
{
    for (uint32_t k = 0; k < book->count; k++) {
        const promise_t *promise = &book->promise[k];
        if (promise->asker != asker || promise->node != node ||
            promise->number != number)
            continue;
        memcpy(asker_token, promise->token[0], SKN_TUNNEL_TOKEN_BYTES);
        return true;
    }
    return false;
}

bool
skn_rendezvous_wants(const skn_rendezvous_t *book, uint32_t node, uint32_t *at,
                     uint32_t *asker, uint8_t *node_token)
{
    while (*at < book->count) {
        const promise_t *promise = &book->promise[(*at)++];
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
find(const skn_rendezvous_t *book, const uint8_t *token, uint32_t *at,
     uint32_t *end)
{
    for (uint32_t k = 0; k < book->count; k++)
        for (uint32_t side = 0; side < 2; side++)
            if (memcmp(book->promise[k].token[side], token,
                       SKN_TUNNEL_TOKEN_BYTES) == 0) {
                *at = k;
                *end = side;
                return true;
            }
    return false;
}

skn_rendezvous_fate_t
skn_rendezvous_arrive(skn_rendezvous_t *book, const uint8_t *token,
                      int connection, uint64_t now_ms, int *other)
{
    uint32_t k, side;
    *other = SKN_RENDEZVOUS_NOBODY;
    if (!find(book, token, &k, &side))
        return SKN_RENDEZVOUS_UNKNOWN;
    promise_t *promise = &book->promise[k];
    if (now_ms >= promise->until_ms ||
        promise->connection[side] != SKN_RENDEZVOUS_NOBODY)
        return SKN_RENDEZVOUS_UNKNOWN;
    promise->connection[side] = connection;
    *other = promise->connection[1 - side];
    if (*other == SKN_RENDEZVOUS_NOBODY)
        return SKN_RENDEZVOUS_WAITS;
    forget(book, k);
    return SKN_RENDEZVOUS_JOINED;
}

void
skn_rendezvous_leave(skn_rendezvous_t *book, int connection)
{
    for (uint32_t k = 0; k < book->count; k++)
        if (book->promise[k].connection[0] == connection ||
            book->promise[k].connection[1] == connection) {
            forget(book, k);
            return;
        }
}

bool
skn_rendezvous_expire(skn_rendezvous_t *book, uint64_t now_ms, int *connection)
{
    for (uint32_t k = 0; k < book->count; k++) {
        const promise_t *promise = &book->promise[k];
        if (now_ms < promise->until_ms)
            continue;
        *connection = promise->connection[0] != SKN_RENDEZVOUS_NOBODY
                          ? promise->connection[0]
                          : promise->connection[1];
        forget(book, k);
        return true;
    }
    return false;
}
