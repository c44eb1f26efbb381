/* tunnels.c - the thread that moves the bytes of tunnels.
 *
 * This file owns: its poll loop, streams that wait for their tunnel, sentences.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/tunnel/tunnels.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "transport/socket/clock.h"
#include "transport/socket/thread_start.h"
#include "transport/tunnel/tunnels_internal.h"

/* While a passage waits for a timeout, and otherwise. */
#define TUNNEL_TICK_MS 50
#define IDLE_MS 500
/* Time until a name is resolved again, when its node is dialled: if it is
 * known, and if not. Meanwhile its last address is used. */
#define FIND_AGAIN_MS 30000u
#define FIND_MS 1000u
/* Descriptors other than those of passages: stop and front; for each node its
 * two listeners and two of its control connection. */
#define POLLED_OWN 4u
#define POLLED_PER_NODE 4u
#define NOT_POLLED SIZE_MAX

/* --- sentences ----------------------------------------------------------- */

void
skn_tunnels_add(skn_tunnels_t *tunnels, uint64_t *counter, uint64_t amount)
{
    (void)pthread_mutex_lock(&tunnels->lock);
    *counter += amount;
    (void)pthread_mutex_unlock(&tunnels->lock);
}

void
skn_tunnels_count(skn_tunnels_t *tunnels, skn_tunnel_counts_t *counts)
{
    (void)pthread_mutex_lock(&tunnels->lock);
    *counts = tunnels->counts;
    (void)pthread_mutex_unlock(&tunnels->lock);
}

bool
skn_tunnels_relay(skn_tunnels_t *tunnels)
{
    (void)pthread_mutex_lock(&tunnels->lock);
    bool two = tunnels->here_count >= 2;
    (void)pthread_mutex_unlock(&tunnels->lock);
    return tunnels->relays && two;
}

/* Returns whether there was room; without room a sentence is dropped. */
bool
skn_tunnels_say(skn_tunnels_t *tunnels, const char *format, ...)
{
    va_list arguments;
    (void)pthread_mutex_lock(&tunnels->lock);
    bool has_room = tunnels->text_count < SENTENCES_MAX &&
                    (tunnels->text_ms == 0 ||
                     tunnels->now_ms - tunnels->text_ms >= TUNNEL_SENTENCE_MS);
    if (has_room) {
        char *text =
            tunnels->text[(tunnels->text_first + tunnels->text_count++) %
                          SENTENCES_MAX];
        tunnels->text_ms = tunnels->now_ms;
        va_start(arguments, format);
        (void)skn_text_write_list(text, SKN_TUNNEL_TEXT_BYTES, format,
                                  arguments);
        va_end(arguments);
    }
    (void)pthread_mutex_unlock(&tunnels->lock);
    return has_room;
}

bool
skn_tunnels_take(skn_tunnels_t *tunnels, char text[SKN_TUNNEL_TEXT_BYTES])
{
    (void)pthread_mutex_lock(&tunnels->lock);
    bool any = tunnels->text_count > 0;
    if (any) {
        memcpy(text, tunnels->text[tunnels->text_first], SKN_TUNNEL_TEXT_BYTES);
        tunnels->text_first = (tunnels->text_first + 1) % SENTENCES_MAX;
        tunnels->text_count--;
    }
    (void)pthread_mutex_unlock(&tunnels->lock);
    return any;
}

/* --- passages ------------------------------------------------------------ */

/* A free passage, or the oldest of those that are ending; NULL: none. */
static passage_t *
find_room(skn_tunnels_t *tunnels)
{
    passage_t *ending = NULL;
    for (size_t k = 0; k < tunnels->passage_max; k++) {
        passage_t *passage = &tunnels->passage[k];
        if (passage->state == PASSAGE_FREE)
            return passage;
        if (passage->state == PASSAGE_JOINED && passage->until_ms > 0 &&
            (!ending || passage->until_ms < ending->until_ms))
            ending = passage;
    }
    if (ending)
        skn_passage_end(tunnels, ending);
    return ending;
}

passage_t *
skn_passage_new(skn_tunnels_t *tunnels, passage_state_t state, int descriptor,
                uint64_t wait_ms)
{
    passage_t *passage = find_room(tunnels);
    if (!passage) {
        (void)skn_tunnels_say(tunnels,
                              "no memory for another stream beside %zu",
                              tunnels->passage_max);
        skn_tunnels_add(tunnels, &tunnels->counts.full, 1);
        (void)close(descriptor);
        return NULL;
    }
    *passage = (passage_t){
        .state = state,
        .descriptor = descriptor,
        .node = tunnels->node,
        .until_ms = tunnels->now_ms + wait_ms,
        .polled = NOT_POLLED,
    };
    return passage;
}

void
skn_passage_end(skn_tunnels_t *tunnels, passage_t *passage)
{
    if (passage->state == PASSAGE_MEETING)
        skn_rendezvous_leave(tunnels->book, (int)(passage - tunnels->passage));
    skn_stream_pair_destroy(&passage->pair);
    if (passage->descriptor >= 0)
        (void)close(passage->descriptor);
    passage->descriptor = -1;
    passage->state = PASSAGE_FREE;
}

void
skn_passage_join(skn_tunnels_t *tunnels, passage_t *passage, int other,
                 const uint8_t *bytes, size_t count)
{
    if (other >= 0)
        passage->pair = skn_stream_pair_new(passage->descriptor, other, NULL);
    if (!passage->pair) {
        if (other >= 0)
            (void)close(other);
        skn_passage_end(tunnels, passage);
        return;
    }
    passage->descriptor = -1;
    passage->state = PASSAGE_JOINED;
    passage->until_ms = 0;
    passage->polled = NOT_POLLED; /* the polled events no longer apply */
    if (count > 0)
        skn_stream_pair_say(passage->pair, 1, bytes, count);
}

void
skn_passages_ask(skn_tunnels_t *tunnels, uint32_t node)
{
    for (size_t k = 0; k < tunnels->passage_max; k++) {
        passage_t *passage = &tunnels->passage[k];
        if (passage->state == PASSAGE_ASKING &&
            (passage->node == node ||
             tunnels->place[passage->node].via == node))
            passage->again_ms = 0;
    }
}

int
skn_tunnels_dial(skn_tunnels_t *tunnels, uint32_t node)
{
    tunnel_place_t *place = &tunnels->place[node];
    if (place->named) {
        bool found = skn_resolver_found(tunnels->resolver, node, &place->at);
        if (tunnels->now_ms - place->sought_ms >=
            (found ? FIND_AGAIN_MS : FIND_MS)) {
            place->sought_ms = tunnels->now_ms;
            skn_resolver_ask(tunnels->resolver, node);
        }
        if (!found && !place->told_unknown &&
            skn_resolver_is_unknown(tunnels->resolver, node))
            place->told_unknown = skn_tunnels_say(
                tunnels,
                "node '%s': the host name in %.160s cannot be resolved; still "
                "trying",
                place->name, place->address);
    }
    return skn_byte_socket_dial(&place->at, tunnels->service);
}

void
skn_tunnels_deaf(skn_tunnels_t *tunnels, int code)
{
    if (code != EAGAIN && code != EWOULDBLOCK)
        tunnels->deaf_ms = tunnels->now_ms + DEAF_MS;
}

static void
accept_local(skn_tunnels_t *tunnels, uint32_t node)
{
    for (uint32_t k = 0; k < TUNNEL_TURN_MAX; k++) {
        int descriptor =
            skn_byte_socket_accept_local(tunnels->place[node].listener);
        if (descriptor < 0) {
            skn_tunnels_deaf(tunnels, errno);
            return;
        }
        passage_t *passage =
            skn_passage_new(tunnels, PASSAGE_ASKING, descriptor, ASKING_MS);
        if (passage)
            passage->node = node;
    }
}

static void
count_moved(skn_tunnels_t *tunnels, passage_t *passage)
{
    uint64_t moved_bytes = skn_stream_pair_bytes(passage->pair);
    if (passage->relays && moved_bytes > passage->moved_bytes)
        skn_tunnels_add(tunnels, &tunnels->counts.relayed_bytes,
                        moved_bytes - passage->moved_bytes);
    passage->moved_bytes = moved_bytes;
}

static void
turn_passage(skn_tunnels_t *tunnels, passage_t *passage)
{
    const struct pollfd *polled = passage->polled == NOT_POLLED
                                      ? NULL
                                      : &tunnels->polled[passage->polled];
    if (!polled || passage->state == PASSAGE_FREE)
        return;
    if (passage->state == PASSAGE_JOINED) {
        if (!polled[0].revents && !polled[1].revents)
            return;
        bool goes_on = skn_stream_pair_turn(passage->pair, polled);
        count_moved(tunnels, passage);
        if (!goes_on)
            skn_passage_end(tunnels, passage);
        else if (passage->until_ms == 0 &&
                 skn_stream_pair_ending(passage->pair))
            passage->until_ms = tunnels->now_ms + ENDING_MS;
    } else if (polled->revents & (POLLERR | POLLHUP | POLLRDHUP)) {
        skn_passage_end(tunnels, passage);
    } else if (passage->state == PASSAGE_GREETING && polled->revents) {
        skn_hub_greet(tunnels, passage);
    }
}

static void
end_late(skn_tunnels_t *tunnels, passage_t *passage)
{
    if (passage->state == PASSAGE_GREETING)
        skn_tunnels_add(tunnels, &tunnels->counts.strangers, 1);
    skn_passage_end(tunnels, passage);
}

/* Runs the timers: requests, and passages that have waited too long. True: a
 * passage waits. */
static bool
tick(skn_tunnels_t *tunnels)
{
    bool waits = false;
    if (tunnels->is_hub)
        skn_hub_tick(tunnels);
    else
        skn_out_tick(tunnels);
    for (size_t k = 0; k < tunnels->passage_max; k++) {
        passage_t *passage = &tunnels->passage[k];
        if (passage->state == PASSAGE_FREE || passage->until_ms == 0)
            continue;
        waits = true;
        if (tunnels->now_ms >= passage->until_ms)
            end_late(tunnels, passage);
        else if (passage->state == PASSAGE_ASKING && tunnels->is_hub)
            skn_hub_ask(tunnels, passage);
        else if (passage->state == PASSAGE_ASKING)
            skn_out_ask(tunnels, passage);
    }
    return waits;
}

/* --- the thread ---------------------------------------------------------- */

static size_t
add(skn_tunnels_t *tunnels, size_t *count, int descriptor, short events)
{
    tunnels->polled[*count] = (struct pollfd){ descriptor, events, 0 };
    return (*count)++;
}

static void
add_passage(skn_tunnels_t *tunnels, passage_t *passage, size_t *count)
{
    passage->polled = NOT_POLLED;
    switch (passage->state) {
    case PASSAGE_FREE:
        break;
    case PASSAGE_JOINED:
        passage->polled = *count;
        skn_stream_pair_wait(passage->pair, &tunnels->polled[*count]);
        *count += 2;
        break;
    case PASSAGE_GREETING:
        passage->polled =
            add(tunnels, count, passage->descriptor, POLLIN | POLLRDHUP);
        break;
    case PASSAGE_ASKING:
    case PASSAGE_MEETING:
        passage->polled = add(tunnels, count, passage->descriptor, POLLRDHUP);
        break;
    }
}

/* The first entry is the stop, the second the front. */
static size_t
add_all(skn_tunnels_t *tunnels)
{
    size_t count = 0;
    bool deaf = tunnels->now_ms < tunnels->deaf_ms;
    (void)add(tunnels, &count, tunnels->stop_event, POLLIN);
    (void)add(tunnels, &count, deaf ? -1 : tunnels->listener, POLLIN);
    if (tunnels->hub) {
        skn_control_polled(tunnels->hub, &tunnels->polled[count]);
        count += 2;
    }
    for (uint32_t k = 0; k < tunnels->node_count; k++) {
        tunnel_place_t *place = &tunnels->place[k];
        place->polled = count;
        (void)add(tunnels, &count, deaf ? -1 : place->listener, POLLIN);
        (void)add(tunnels, &count, deaf ? -1 : place->line_listener, POLLIN);
        if (place->line) {
            skn_control_polled(place->line, &tunnels->polled[count]);
            count += 2;
        }
    }
    for (size_t k = 0; k < tunnels->passage_max; k++)
        add_passage(tunnels, &tunnels->passage[k], &count);
    assert(count <= skn_tunnels_polled_max(tunnels));
    return count;
}

static void
look(skn_tunnels_t *tunnels)
{
    /* Streams first: passages accepted below have no entry yet. */
    for (size_t k = 0; k < tunnels->passage_max; k++)
        turn_passage(tunnels, &tunnels->passage[k]);
    if (tunnels->polled[1].revents)
        skn_hub_accept(tunnels);
    for (uint32_t k = 0; k < tunnels->node_count; k++) {
        const tunnel_place_t *place = &tunnels->place[k];
        if (tunnels->polled[place->polled].revents)
            accept_local(tunnels, k);
        if (tunnels->polled[place->polled + 1].revents)
            skn_out_accept_line(tunnels, k);
    }
}

static void *
thread_main(void *argument)
{
    skn_tunnels_t *tunnels = argument;
    bool stopped = false;
    while (!stopped) {
        tunnels->now_ms = skn_monotonic_ms();
        bool waits = tick(tunnels);
        /* A send may have consumed the edge of a received message. */
        uint32_t taken = 0;
        while (
            taken < TUNNEL_TURN_MAX &&
            (tunnels->is_hub ? skn_hub_take(tunnels) : skn_out_take(tunnels)))
            taken++;
        size_t count = add_all(tunnels);
        (void)poll(tunnels->polled, count,
                   taken == TUNNEL_TURN_MAX ? 0
                   : waits                  ? TUNNEL_TICK_MS
                                            : IDLE_MS);
        tunnels->now_ms = skn_monotonic_ms();
        stopped = tunnels->polled[0].revents != 0;
        if (!stopped)
            look(tunnels);
    }
    return NULL;
}

size_t
skn_tunnels_polled_max(const skn_tunnels_t *tunnels)
{
    return POLLED_OWN + POLLED_PER_NODE * tunnels->node_count +
           2 * tunnels->passage_max;
}

skn_status_t
skn_tunnels_start(skn_tunnels_t *tunnels, const char *router,
                  skn_error_t *error)
{
    char address[SKN_ADDRESS_BYTES];
    skn_address_to_dial(router, address);
    if (!skn_byte_socket_find(address, &tunnels->router_at))
        return skn_fail(error, SKN_INTERNAL, "no route to %s", address);
    int code = skn_thread_start(&tunnels->thread, NULL, thread_main, tunnels);
    tunnels->has_thread = code == 0;
    return code == 0 ? SKN_OK
                     : skn_fail(error, SKN_NO_MEMORY,
                                "cannot start the thread of tunnels: %s",
                                strerror(code));
}
