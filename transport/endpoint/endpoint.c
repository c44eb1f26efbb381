/* endpoint.c - the sockets of one node to all other nodes.
 *
 * This file owns: their context, the ROUTER that accepts, and the order in
 * which events are reported. Frames are checked as they come out of the ROUTER;
 * messages that are not fragments are dropped.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/endpoint/endpoint.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "transport/endpoint/endpoint_internal.h"
#include "transport/socket/clock.h"
#include "transport/socket/socket.h"

/* Sources that are read before epoll is asked again, so that a ROUTER that is
 * never empty does not hide the others; and messages dropped before the caller
 * has a turn. */
#define TURNS_MAX 64u
#define EVENTS_MAX 64

const char *
skn_endpoint_address(const skn_endpoint_t *endpoint)
{
    return endpoint->address;
}

int
skn_endpoint_descriptor(const skn_endpoint_t *endpoint)
{
    return endpoint->epoll; /* which covers all the others */
}

void
skn_endpoint_count(const skn_endpoint_t *endpoint,
                   skn_endpoint_counts_t *counts)
{
    skn_connection_guard_counts_t guard;
    skn_connection_guard_count(endpoint->guard, &guard);
    *counts = endpoint->counts;
    counts->accepted = guard.accepted;
    counts->strangers = guard.strangers;
    counts->handshakes_failed_here = guard.handshakes_failed;
    counts->connections_empty = guard.empty;
    counts->connections_cut = guard.cut;
    counts->connections_over = guard.over;
}

/* --- sources ------------------------------------------------------------- */

void
skn_source_ready(skn_endpoint_t *endpoint, endpoint_source_t *source)
{
    if (source->ready)
        return;
    source->ready = true;
    assert(endpoint->ring_count < endpoint->ring_room);
    endpoint->ring[(endpoint->ring_first + endpoint->ring_count++) %
                   endpoint->ring_room] = source;
}

skn_status_t
skn_source_add(skn_endpoint_t *endpoint, endpoint_source_t *source,
               int descriptor, skn_error_t *error)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = source };
    if (epoll_ctl(endpoint->epoll, EPOLL_CTL_ADD, descriptor, &event) != 0)
        return skn_fail(error, SKN_NO_MEMORY, "cannot wait for a socket: %s",
                        strerror(errno));
    source->descriptor = descriptor;
    skn_source_ready(endpoint, source);
    return SKN_OK;
}

/* It stays in the ring, if it is there: reading from it finds nothing. */
void
skn_source_remove(skn_endpoint_t *endpoint, endpoint_source_t *source)
{
    if (source->descriptor >= 0)
        (void)epoll_ctl(endpoint->epoll, EPOLL_CTL_DEL, source->descriptor,
                        NULL);
    source->descriptor = -1;
}

static void
ask_epoll(skn_endpoint_t *endpoint)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(endpoint->epoll, events, EVENTS_MAX, 0);
    for (int k = 0; k < count; k++)
        skn_source_ready(endpoint, events[k].data.ptr);
    endpoint->turn = 0;
}

/* The next source to read from, taken out of the ring; or NULL. */
static endpoint_source_t *
next_source(skn_endpoint_t *endpoint)
{
    if (endpoint->ring_count == 0 || endpoint->turn++ >= TURNS_MAX)
        ask_epoll(endpoint);
    if (endpoint->ring_count == 0)
        return NULL;
    endpoint_source_t *source = endpoint->ring[endpoint->ring_first];
    endpoint->ring_first = (endpoint->ring_first + 1) % endpoint->ring_room;
    endpoint->ring_count--;
    source->ready = false;
    return source;
}

/* --- fragments ----------------------------------------------------------- */

static void
release_fragment(skn_endpoint_t *endpoint)
{
    (void)zmq_msg_close(&endpoint->header);
    (void)zmq_msg_close(&endpoint->body);
    (void)zmq_msg_init(&endpoint->header);
    (void)zmq_msg_init(&endpoint->body);
}

static bool
receive(void *socket, zmq_msg_t *frame)
{
    int bytes;
    do
        bytes = zmq_msg_recv(frame, socket, ZMQ_DONTWAIT);
    while (bytes < 0 && errno == EINTR);
    return bytes >= 0;
}

/* Reads the number that our authenticator gave to the connection. */
static bool
peer_of(const skn_endpoint_t *endpoint, zmq_msg_t *frame, uint32_t *peer)
{
    *peer = SKN_PEER_UNKNOWN;
    if (!endpoint->keys)
        return true;
    uint64_t ends;
    return skn_authenticator_read(zmq_msg_gets(frame, "User-Id"), peer, &ends);
}

/* Reads the frames after the routing id into header and body, and drops the
 * rest. Returns how many there were. */
static size_t
read_frames(skn_endpoint_t *endpoint, zmq_msg_t *id)
{
    zmq_msg_t extra;
    zmq_msg_t *frame = id;
    size_t count = 0;
    (void)zmq_msg_init(&extra);
    while (zmq_msg_more(frame)) {
        frame = count == 0   ? &endpoint->header
                : count == 1 ? &endpoint->body
                             : &extra;
        if (!receive(endpoint->router, frame))
            break; /* impossible: messages are delivered whole */
        count++;
    }
    (void)zmq_msg_close(&extra);
    return count;
}

/* The counter of the reason why a message is not a fragment; NULL: it is
 * one. */
static uint64_t *
reason_to_drop(skn_endpoint_t *endpoint, size_t frame_count, bool known)
{
    size_t header_bytes = zmq_msg_size(&endpoint->header);
    size_t body_bytes = zmq_msg_size(&endpoint->body);
    if (!known)
        return &endpoint->counts.unknown_key;
    if (frame_count != 2 || header_bytes == 0)
        return &endpoint->counts.malformed;
    if (header_bytes > SKN_ENDPOINT_HEADER_BYTES_MAX ||
        body_bytes > endpoint->body_bytes_max)
        return &endpoint->counts.too_large;
    return NULL;
}

static bool
take_fragment(skn_endpoint_t *endpoint, skn_endpoint_event_t *arrival,
              bool *empty)
{
    zmq_msg_t id;
    uint32_t peer;
    (void)zmq_msg_init(&id);
    skn_watch_takes(endpoint->watch);
    *empty = !receive(endpoint->router, &id);
    if (*empty) {
        (void)zmq_msg_close(&id);
        skn_watch_empty(endpoint->watch);
        return false;
    }
    int descriptor = zmq_msg_get(&id, ZMQ_SRCFD);
    bool known = peer_of(endpoint, &id, &peer);
    size_t frame_count = read_frames(endpoint, &id);
    (void)zmq_msg_close(&id);
    skn_watch_delivered(endpoint->watch, descriptor);
    uint64_t *reason = reason_to_drop(endpoint, frame_count, known);
    if (reason) {
        (*reason)++;
        release_fragment(endpoint);
        return false;
    }
    endpoint->counts.fragments_taken++;
    *arrival = (skn_endpoint_event_t){
        .kind = SKN_ARRIVAL_FRAGMENT,
        .peer = peer,
        .header = { zmq_msg_data(&endpoint->header),
                    zmq_msg_size(&endpoint->header) },
        .body = { zmq_msg_data(&endpoint->body),
                  zmq_msg_size(&endpoint->body) },
        .sentence = "",
    };
    return true;
}

/* --- receiving ----------------------------------------------------------- */

static bool
take_sentence(skn_endpoint_t *endpoint, skn_endpoint_event_t *arrival,
              bool *empty)
{
    *empty = !skn_connection_guard_take(endpoint->guard, endpoint->sentence);
    *arrival = (skn_endpoint_event_t){ .kind = SKN_ARRIVAL_STRANGER,
                                       .peer = SKN_PEER_UNKNOWN,
                                       .sentence = endpoint->sentence };
    return !*empty;
}

static bool
take_room(endpoint_line_t *line, skn_endpoint_event_t *arrival)
{
    if (!skn_line_room(line))
        return false;
    *arrival = (skn_endpoint_event_t){ .kind = SKN_ARRIVAL_ROOM,
                                       .peer = line->peer->number,
                                       .lane = line->lane,
                                       .sentence = "" };
    return true;
}

/* Reads from a source. True: `arrival` is filled. `*empty`: the source had
 * nothing. */
static bool
look_into(skn_endpoint_t *endpoint, const endpoint_source_t *source,
          skn_endpoint_event_t *arrival, bool *empty)
{
    uint64_t ticks;
    *empty = true;
    switch (source->kind) {
    case SOURCE_ROUTER:
        return take_fragment(endpoint, arrival, empty);
    case SOURCE_DEALER:
        return take_room(source->line, arrival);
    case SOURCE_MONITOR:
        return skn_line_event(endpoint, source->line, arrival, empty);
    case SOURCE_DOOR:
        return take_sentence(endpoint, arrival, empty);
    case SOURCE_TIMER:
        if (read(endpoint->timer, &ticks, sizeof(ticks)) > 0)
            skn_lines_redial(endpoint);
        return false;
    case SOURCE_KICK:
        (void)eventfd_read(endpoint->kick, &ticks);
        return false;
    }
    return false;
}

bool
skn_endpoint_take(skn_endpoint_t *endpoint, skn_endpoint_event_t *arrival)
{
    uint32_t dropped = 0;
    endpoint_source_t *source;
    release_fragment(endpoint);
    while ((source = next_source(endpoint)) != NULL) {
        bool empty;
        bool taken = look_into(endpoint, source, arrival, &empty);
        if (!empty)
            skn_source_ready(endpoint, source);
        if (taken)
            return true;
        if (!empty && ++dropped >= TURNS_MAX) {
            /* Return to the caller; its next wait ends at once. */
            (void)eventfd_write(endpoint->kick, 1);
            return false;
        }
    }
    return false;
}

/* --- sending ------------------------------------------------------------- */

static peer_t *
find_peer(skn_endpoint_t *endpoint, uint32_t number)
{
    for (size_t k = 0; k < endpoint->peer_count; k++)
        if (endpoint->peer[k].number == number)
            return &endpoint->peer[k];
    return NULL;
}

static bool
put(void *socket, skn_frame_t frame, int flags)
{
    int bytes;
    do
        bytes = zmq_send(socket, frame.bytes ? frame.at : "", frame.bytes,
                         flags | ZMQ_DONTWAIT);
    while (bytes < 0 && errno == EINTR);
    return bytes >= 0;
}

skn_status_t
skn_endpoint_send(skn_endpoint_t *endpoint, uint32_t number, skn_lane_t lane,
                  skn_frame_t header, skn_frame_t body, skn_error_t *error)
{
    peer_t *peer = find_peer(endpoint, number);
    if (!peer || lane >= SKN_LANE_COUNT || header.bytes == 0 ||
        header.bytes > SKN_ENDPOINT_HEADER_BYTES_MAX ||
        body.bytes > endpoint->body_bytes_max)
        return skn_fail(error, SKN_INTERNAL,
                        "a fragment of %zu + %zu bytes to node %u",
                        header.bytes, body.bytes, number);
    endpoint_line_t *line = &peer->line[lane];
    /* Not before CONNECTED was reported, nor after DISCONNECTED: libzmq takes
     * fragments for a moment longer, and loses them.
     * If the second put finds no room, the connection ended between the two,
     * and libzmq has taken the first one back. */
    if (line->standing && put(line->socket, header, ZMQ_SNDMORE) &&
        put(line->socket, body, 0)) {
        line->busy = false;
        endpoint->counts.fragments_sent++;
        return SKN_OK;
    }
    line->busy = true;
    endpoint->counts.sends_busy++;
    return skn_fail(error, SKN_BUSY,
                    "the socket to node %s is full; try again later",
                    peer->name);
}
