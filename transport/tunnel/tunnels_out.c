/* tunnels_out.c - tunnels at a node without an address: opens streams.
 *
 * Here are its control connections to hubs, and the streams that it opens on
 * request.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "transport/tunnel/tunnels_internal.h"

/* A control connection sends HERE this often: the first may be lost. */
#define HERE_MS 1000u
/* libzmq does not redial where its key was refused: at a hub of an earlier
 * generation, which knows other nodes. */
#define REDIAL_MS 1000u

static bool
tell(tunnel_place_t *hub, const skn_tunnel_word_t *word)
{
    uint8_t bytes[SKN_TUNNEL_WORD_BYTES];
    skn_tunnel_word_write(word, bytes);
    return skn_control_send(hub->line, 0, (skn_frame_t){ bytes, sizeof(bytes) },
                            NULL) == SKN_OK;
}

/* --- control connections ------------------------------------------------- */

skn_status_t
skn_out_dial(skn_tunnels_t *tunnels, uint32_t node, skn_error_t *error)
{
    tunnel_place_t *hub = &tunnels->place[node];
    const skn_control_options_t options = {
        .address = hub->line_local,
        .keys = tunnels->keys,
        .server_key = hub->public_key,
    };
    skn_control_close(&hub->line);
    hub->here = false;
    hub->redial_ms = 0;
    hub->line = skn_control_dial(&options, error);
    return hub->line ? SKN_OK : error ? error->status : SKN_NO_MEMORY;
}

void
skn_out_accept_line(skn_tunnels_t *tunnels, uint32_t node)
{
    tunnel_place_t *hub = &tunnels->place[node];
    uint8_t preface[SKN_PREFACE_BYTES];
    skn_preface_write(SKN_PREFACE_CONTROL, NULL, preface);
    for (uint32_t k = 0; k < TUNNEL_TURN_MAX; k++) {
        int descriptor = skn_byte_socket_accept_local(hub->line_listener);
        if (descriptor < 0) {
            skn_tunnels_deaf(tunnels, errno);
            return;
        }
        passage_t *passage =
            skn_passage_new(tunnels, PASSAGE_ASKING, descriptor, ASKING_MS);
        if (passage)
            skn_passage_join(tunnels, passage, skn_tunnels_dial(tunnels, node),
                             preface, sizeof(preface));
    }
}

/* Opens a stream to a hub that is to be joined there with another one. */
static int
dial_with(skn_tunnels_t *tunnels, uint32_t hub, const uint8_t *token,
          uint8_t *preface)
{
    skn_preface_write(SKN_PREFACE_TUNNEL, token, preface);
    return skn_tunnels_dial(tunnels, hub);
}

/* A node wants a link to us: its end is at the hub, ours is our own ROUTER. */
static void
open_to_router(skn_tunnels_t *tunnels, uint32_t hub,
               const skn_tunnel_word_t *word)
{
    uint8_t preface[SKN_PREFACE_BYTES];
    int router = skn_byte_socket_dial(&tunnels->router_at, 0);
    passage_t *passage = router < 0 ? NULL
                                    : skn_passage_new(tunnels, PASSAGE_ASKING,
                                                      router, ASKING_MS);
    if (passage)
        skn_passage_join(tunnels, passage,
                         dial_with(tunnels, hub, word->token, preface), preface,
                         sizeof(preface));
}

/* The passage that waits for an answer: the one of the request, or, if that has
 * given up, another one to the same node, for which the promise serves as
 * well. */
static passage_t *
who_waits(skn_tunnels_t *tunnels, uint32_t hub, const skn_tunnel_word_t *word)
{
    passage_t *other = NULL;
    for (size_t k = 0; k < tunnels->passage_max; k++) {
        passage_t *passage = &tunnels->passage[k];
        if (passage->state != PASSAGE_ASKING || passage->node != word->node ||
            tunnels->place[passage->node].via != hub)
            continue;
        if (passage->number == word->number)
            return passage;
        other = passage;
    }
    return word->kind == SKN_TUNNEL_OPEN ? other : NULL;
}

/* Takes the hub's answer to a request of ours. */
static void
take_answer(skn_tunnels_t *tunnels, uint32_t hub, const skn_tunnel_word_t *word)
{
    uint8_t preface[SKN_PREFACE_BYTES];
    passage_t *passage = who_waits(tunnels, hub, word);
    if (!passage)
        return;
    passage->number = 0;
    passage->again_ms = tunnels->now_ms + REFUSED_AGAIN_MS;
    if (word->kind == SKN_TUNNEL_OPEN)
        skn_passage_join(tunnels, passage,
                         dial_with(tunnels, hub, word->token, preface), preface,
                         sizeof(preface));
}

static void
take_word(skn_tunnels_t *tunnels, uint32_t hub, skn_frame_t frame)
{
    skn_tunnel_word_t word;
    if (skn_tunnel_word_read(frame.at, frame.bytes, &word, NULL) != SKN_OK)
        (void)skn_tunnels_say(tunnels, "node %s sent a malformed tunnel word",
                              tunnels->place[hub].name);
    else if (word.number > 0)
        take_answer(tunnels, hub, &word);
    else if (word.kind == SKN_TUNNEL_OPEN)
        open_to_router(tunnels, hub, &word);
}

static void
say_here(const skn_tunnels_t *tunnels, tunnel_place_t *hub)
{
    static const skn_tunnel_word_t here = { .kind = SKN_TUNNEL_HERE };
    hub->said_ms = tunnels->now_ms;
    (void)tell(hub, &here);
}

static bool
take_line(skn_tunnels_t *tunnels, uint32_t node)
{
    tunnel_place_t *hub = &tunnels->place[node];
    skn_control_arrival_t arrival;
    if (!skn_control_take(hub->line, &arrival))
        return false;
    switch (arrival.kind) {
    case SKN_CONTROL_CONNECTED:
        hub->here = true;
        hub->redial_ms = 0;
        say_here(tunnels, hub);
        skn_passages_ask(tunnels, node);
        break;
    case SKN_CONTROL_LOST:
        hub->here = false;
        break;
    case SKN_CONTROL_MESSAGE:
        take_word(tunnels, node, arrival.frame);
        break;
    case SKN_CONTROL_REFUSED: /* the links report why */
        if (arrival.over && hub->redial_ms == 0)
            hub->redial_ms = tunnels->now_ms + REDIAL_MS;
        break;
    case SKN_CONTROL_STRANGER:
        break;
    }
    return true;
}

bool
skn_out_take(skn_tunnels_t *tunnels)
{
    bool any = false;
    for (uint32_t k = 0; k < tunnels->node_count; k++)
        if (tunnels->place[k].line)
            any = take_line(tunnels, k) || any;
    return any;
}

/* --- requests ------------------------------------------------------------ */

void
skn_out_ask(skn_tunnels_t *tunnels, passage_t *passage)
{
    tunnel_place_t *hub = &tunnels->place[tunnels->place[passage->node].via];
    if (tunnels->now_ms < passage->again_ms || !hub->here)
        return;
    passage->again_ms = tunnels->now_ms + ASK_AGAIN_MS;
    /* Repeats the request while there is no answer: either may have been
     * lost. */
    if (passage->number == 0)
        passage->number = ++tunnels->question_count;
    const skn_tunnel_word_t word = { .kind = SKN_TUNNEL_WANT,
                                     .node = passage->node,
                                     .number = passage->number };
    (void)tell(hub, &word);
}

void
skn_out_tick(skn_tunnels_t *tunnels)
{
    for (uint32_t k = 0; k < tunnels->node_count; k++) {
        tunnel_place_t *hub = &tunnels->place[k];
        if (hub->redial_ms > 0 && tunnels->now_ms >= hub->redial_ms &&
            skn_out_dial(tunnels, k, NULL) != SKN_OK)
            hub->redial_ms = tunnels->now_ms + REDIAL_MS;
        if (hub->line && hub->here && tunnels->now_ms - hub->said_ms >= HERE_MS)
            say_here(tunnels, hub);
    }
}
