/* tunnels_hub.c - the hub's side of tunnels: accepts and joins streams.
 *
 * Here are its listener, the control connections of nodes without an address,
 * and the joining of streams. A stranger gets no further than its first bytes,
 * or the handshake of a socket that requires a key. A token is random, serves
 * once, and is sent to two nodes of the run, so that a connection that has one
 * may join its end; the bytes are opaque.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "transport/tunnel/tunnels_internal.h"

/* --- the listener -------------------------------------------------------- */

/* Makes room by closing the oldest that has not sent its preface. */
static void
make_room(skn_tunnels_t *tunnels)
{
    passage_t *oldest = NULL;
    size_t count = 0;
    for (size_t k = 0; k < tunnels->passage_max; k++) {
        passage_t *passage = &tunnels->passage[k];
        if (passage->state != PASSAGE_GREETING)
            continue;
        count++;
        if (!oldest || passage->until_ms < oldest->until_ms)
            oldest = passage;
    }
    if (count < GREETINGS_MAX)
        return;
    skn_tunnels_add(tunnels, &tunnels->counts.strangers, 1);
    skn_passage_end(tunnels, oldest);
}

void
skn_hub_accept(skn_tunnels_t *tunnels)
{
    for (uint32_t k = 0; k < TUNNEL_TURN_MAX; k++) {
        int descriptor =
            skn_byte_socket_accept(tunnels->listener, tunnels->service);
        if (descriptor < 0) {
            skn_tunnels_deaf(tunnels, errno);
            return;
        }
        make_room(tunnels);
        (void)skn_passage_new(tunnels, PASSAGE_GREETING, descriptor,
                              GREETING_MS);
    }
}

static void
refuse(skn_tunnels_t *tunnels, passage_t *passage, const char *why)
{
    (void)skn_tunnels_say(tunnels, "refused a connection %s", why);
    skn_tunnels_add(tunnels, &tunnels->counts.strangers, 1);
    skn_passage_end(tunnels, passage);
}

static void
lead_to(skn_tunnels_t *tunnels, passage_t *passage,
        const skn_byte_socket_place_t *place, size_t count)
{
    skn_passage_join(tunnels, passage, skn_byte_socket_dial(place, 0),
                     passage->bytes, count);
}

/* One end has connected. When the other has too, they are joined. */
static void
meet(skn_tunnels_t *tunnels, passage_t *passage, const uint8_t *token)
{
    int other;
    int own = (int)(passage - tunnels->passage);
    switch (skn_rendezvous_arrive(tunnels->book, token, own, tunnels->now_ms,
                                  &other)) {
    case SKN_RENDEZVOUS_UNKNOWN:
        skn_tunnels_add(tunnels, &tunnels->counts.unknown_tokens, 1);
        skn_passage_end(tunnels, passage);
        return;
    case SKN_RENDEZVOUS_WAITS:
        passage->state = PASSAGE_MEETING;
        passage->until_ms = tunnels->now_ms + SKN_RENDEZVOUS_MS;
        return;
    case SKN_RENDEZVOUS_JOINED:
        break;
    }
    passage_t *first = &tunnels->passage[other];
    assert(first != passage && first->state == PASSAGE_MEETING);
    int descriptor = first->descriptor;
    passage->relays =
        passage->node == tunnels->node && first->node == tunnels->node;
    first->descriptor = -1;
    skn_passage_end(tunnels, first);
    if (passage->relays)
        skn_tunnels_add(tunnels, &tunnels->counts.joined, 1);
    skn_passage_join(tunnels, passage, descriptor, NULL, 0);
}

void
skn_hub_greet(skn_tunnels_t *tunnels, passage_t *passage)
{
    uint8_t token[SKN_TUNNEL_TOKEN_BYTES];
    ssize_t got = recv(passage->descriptor, passage->bytes + passage->count,
                       sizeof(passage->bytes) - passage->count, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) { /* a port scan, or a peer that closed again */
        skn_tunnels_add(tunnels, &tunnels->counts.strangers, 1);
        skn_passage_end(tunnels, passage);
        return;
    }
    passage->count += (size_t)got;
    switch (skn_preface_read(passage->bytes, passage->count, token)) {
    case SKN_PREFACE_MORE:
        return;
    case SKN_PREFACE_ZMTP:
        lead_to(tunnels, passage, &tunnels->router_at, passage->count);
        return;
    case SKN_PREFACE_CONTROL:
        lead_to(tunnels, passage, &tunnels->hub_at, 0);
        return;
    case SKN_PREFACE_TUNNEL:
        meet(tunnels, passage, token);
        return;
    case SKN_PREFACE_NONE:
        refuse(tunnels, passage, "that uses another protocol");
        return;
    }
}

/* --- control connections ------------------------------------------------- */

static uint32_t
member_of(const skn_tunnels_t *tunnels, uint32_t node)
{
    uint32_t k = 0;
    while (k < tunnels->member_count && tunnels->member[k] != node)
        k++;
    return k;
}

static bool
tell(skn_tunnels_t *tunnels, uint32_t node, const skn_tunnel_word_t *word)
{
    uint8_t bytes[SKN_TUNNEL_WORD_BYTES];
    skn_tunnel_word_write(word, bytes);
    return skn_control_send(tunnels->hub, member_of(tunnels, node),
                            (skn_frame_t){ bytes, sizeof(bytes) },
                            NULL) == SKN_OK;
}

static bool
draw(uint8_t *token)
{
    return getrandom(token, SKN_TUNNEL_TOKEN_BYTES, 0) ==
           SKN_TUNNEL_TOKEN_BYTES;
}

/* Promises `asker` a tunnel to `node`, and asks that node for its end; for a
 * repeated request the promise still holds. `token` is the asker's. */
static bool
promise(skn_tunnels_t *tunnels, uint32_t asker, uint32_t node, uint64_t number,
        uint8_t *token)
{
    skn_tunnel_word_t word = { .kind = SKN_TUNNEL_OPEN, .node = asker };
    if (node >= tunnels->node_count || node == asker ||
        !tunnels->place[node].here)
        return false;
    if (skn_rendezvous_again(tunnels->book, asker, node, number, token))
        return true;
    return draw(token) && draw(word.token) &&
           skn_rendezvous_open(tunnels->book, asker, node, number, token,
                               word.token, tunnels->now_ms) &&
           tell(tunnels, node, &word);
}

/* Repeats the pending messages: those sent on an earlier connection may be
 * lost. */
static void
greet(skn_tunnels_t *tunnels, uint32_t node)
{
    skn_tunnel_word_t word = { .kind = SKN_TUNNEL_OPEN };
    uint32_t at = 0;
    while (
        skn_rendezvous_wants(tunnels->book, node, &at, &word.node, word.token))
        (void)tell(tunnels, node, &word);
    skn_passages_ask(tunnels, node);
}

static void
answer(skn_tunnels_t *tunnels, uint32_t asker, const skn_tunnel_word_t *asked)
{
    skn_tunnel_word_t word = { .kind = SKN_TUNNEL_OPEN,
                               .node = asked->node,
                               .number = asked->number };
    if (!promise(tunnels, asker, asked->node, asked->number, word.token))
        word = (skn_tunnel_word_t){ .kind = SKN_TUNNEL_NONE,
                                    .node = asked->node,
                                    .number = asked->number };
    (void)tell(tunnels, asker, &word);
}

static void
set_here(skn_tunnels_t *tunnels, uint32_t node, bool here)
{
    tunnel_place_t *place = &tunnels->place[node];
    if (place->here == here)
        return;
    place->here = here;
    (void)pthread_mutex_lock(&tunnels->lock);
    assert(here || tunnels->here_count > 0);
    tunnels->here_count += here ? 1u : UINT32_MAX; /* -1 */
    (void)pthread_mutex_unlock(&tunnels->lock);
}

static void
take_word(skn_tunnels_t *tunnels, uint32_t from, bool fresh, skn_frame_t frame)
{
    skn_tunnel_word_t word;
    if (fresh)
        greet(tunnels, from);
    if (skn_tunnel_word_read(frame.at, frame.bytes, &word, NULL) != SKN_OK) {
        (void)skn_tunnels_say(tunnels, "node %s sent a malformed tunnel word",
                              tunnels->place[from].name);
        return;
    }
    set_here(tunnels, from, true);
    if (word.kind == SKN_TUNNEL_WANT)
        answer(tunnels, from, &word);
}

bool
skn_hub_take(skn_tunnels_t *tunnels)
{
    skn_control_arrival_t arrival;
    if (!skn_control_take(tunnels->hub, &arrival))
        return false;
    if (arrival.kind == SKN_CONTROL_STRANGER)
        (void)skn_tunnels_say(tunnels, "at the listener of tunnels: %.*s",
                              (int)arrival.frame.bytes,
                              (const char *)arrival.frame.at);
    else if (arrival.kind == SKN_CONTROL_LOST)
        set_here(tunnels, tunnels->member[arrival.member], false);
    else if (arrival.kind == SKN_CONTROL_MESSAGE)
        take_word(tunnels, tunnels->member[arrival.member], arrival.fresh,
                  arrival.frame);
    return true;
}

/* --- streams of this node ------------------------------------------------ */

void
skn_hub_ask(skn_tunnels_t *tunnels, passage_t *passage)
{
    uint8_t token[SKN_TUNNEL_TOKEN_BYTES];
    if (tunnels->now_ms < passage->again_ms)
        return;
    passage->again_ms = tunnels->now_ms + REFUSED_AGAIN_MS;
    if (passage->number == 0)
        passage->number = ++tunnels->question_count;
    if (promise(tunnels, tunnels->node, passage->node, passage->number, token))
        meet(tunnels, passage, token);
}

void
skn_hub_tick(skn_tunnels_t *tunnels)
{
    int connection;
    while (skn_rendezvous_expire(tunnels->book, tunnels->now_ms, &connection))
        if (connection != SKN_RENDEZVOUS_NOBODY)
            skn_passage_end(tunnels, &tunnels->passage[connection]);
}
