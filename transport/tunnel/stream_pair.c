/* stream_pair.c - splices two streams: copies bytes both ways, uninterpreted.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/tunnel/stream_pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bytes read at one side and not yet sent at the other. */
typedef struct way {
    size_t from, count; /* of `bytes` */
    bool ended;         /* its input has ended */
    bool told;          /* the end was passed on to the other side */
    uint8_t bytes[SKN_STREAM_PAIR_BYTES];
} way_t;

struct skn_stream_pair {
    int side[2];
    bool dead;
    uint64_t moved_bytes;
    way_t way[2]; /* way[k]: in at side k, out at side 1 - k */
};

skn_stream_pair_t *
skn_stream_pair_new(int a, int b, skn_error_t *error)
{
    skn_stream_pair_t *pair = malloc(sizeof(*pair));
    if (!pair) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a tunnel");
        return NULL;
    }
    pair->side[0] = a;
    pair->side[1] = b;
    pair->dead = false;
    pair->moved_bytes = 0;
    for (size_t k = 0; k < 2; k++) {
        pair->way[k].from = pair->way[k].count = 0;
        pair->way[k].ended = pair->way[k].told = false;
    }
    return pair;
}

void
skn_stream_pair_destroy(skn_stream_pair_t **pair)
{
    if (!*pair)
        return;
    (void)close((*pair)->side[0]);
    (void)close((*pair)->side[1]);
    free(*pair);
    *pair = NULL;
}

uint64_t
skn_stream_pair_bytes(const skn_stream_pair_t *pair)
{
    return pair->moved_bytes;
}

bool
skn_stream_pair_ending(const skn_stream_pair_t *pair)
{
    return pair->way[0].told || pair->way[1].told;
}

void
skn_stream_pair_say(skn_stream_pair_t *pair, int side, const uint8_t *bytes,
                    size_t count)
{
    way_t *way = &pair->way[1 - side];
    memcpy(way->bytes, bytes, count);
    way->from = 0;
    way->count = count;
}

/* A way reads only while it is empty: bytes read in one turn are written before
 * more are read. */
static bool
takes(const way_t *way)
{
    return !way->ended && way->count == 0;
}

void
skn_stream_pair_wait(const skn_stream_pair_t *pair, struct pollfd polled[2])
{
    for (int k = 0; k < 2; k++) {
        short events = 0;
        if (takes(&pair->way[k]))
            events |= POLLIN;
        if (pair->way[1 - k].count > 0)
            events |= POLLOUT;
        polled[k] = (struct pollfd){ events ? pair->side[k] : -1, events, 0 };
    }
}

static bool
is_later(int code)
{
    return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

static void
take_in(skn_stream_pair_t *pair, int side)
{
    way_t *way = &pair->way[side];
    if (!takes(way))
        return;
    ssize_t got = recv(pair->side[side], way->bytes, sizeof(way->bytes), 0);
    if (got > 0) {
        way->from = 0;
        way->count = (size_t)got;
        pair->moved_bytes += (uint64_t)got;
    } else if (got == 0) {
        way->ended = true;
    } else if (!is_later(errno)) {
        pair->dead = true;
    }
}

static void
put_out(skn_stream_pair_t *pair, int side)
{
    way_t *way = &pair->way[1 - side];
    if (way->count > 0) {
        ssize_t put = send(pair->side[side], way->bytes + way->from, way->count,
                           MSG_NOSIGNAL);
        if (put > 0) {
            way->from += (size_t)put;
            way->count -= (size_t)put;
        } else if (put < 0 && !is_later(errno)) {
            pair->dead = true;
        }
    }
    if (way->ended && way->count == 0 && !way->told) {
        way->told = true;
        (void)shutdown(pair->side[side], SHUT_WR);
    }
}

bool
skn_stream_pair_turn(skn_stream_pair_t *pair, const struct pollfd polled[2])
{
    for (int k = 0; k < 2; k++)
        if (polled[k].revents & (POLLIN | POLLHUP | POLLERR))
            take_in(pair, k);
    for (int k = 0; k < 2; k++)
        put_out(pair, k);
    return !pair->dead && !(pair->way[0].told && pair->way[1].told);
}
