/* endpoint_line.c - the connections that a node makes to its peers.
 *
 * libzmq redials after a connection broke or could not be made, but not after
 * the peer refused our key or broke the protocol: then a new socket is opened,
 * after increasing delays.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "transport/endpoint/endpoint_internal.h"
#include "transport/socket/clock.h"
#include "transport/socket/socket.h"
#include "transport/socket/byte_socket.h"

#define EVENTS                                                                 \
    (ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CONNECT_DELAYED |                         \
     ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_DISCONNECTED |                      \
     ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |         \
     ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |                                     \
     ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)

/* After a refusal: 1, 2, 4, 8, 8 ... seconds. After any other failure, libzmq
 * has time to redial by itself. */
#define REFUSED_MS_MIN 1000u
#define REFUSED_DOUBLINGS_MAX 3u
#define BROKEN_MS 3000u
/* A tunnel is dialled before its other end has connected, which may take 4 s of
 * the handshake (tunnels_internal.h); the rest has as long as any other
 * handshake. */
#define LED_HANDSHAKE_MS (4000 + SKN_HANDSHAKE_MS)
/* Bytes that the system may hold unsent. More would only wait there, and
 * heartbeats behind them: at 1 Mbit/s this is one second. */
#define ENDPOINT_UNSENT_BYTES 131072

void
skn_line_close(skn_endpoint_t *endpoint, endpoint_line_t *line, int linger_ms)
{
    skn_source_remove(endpoint, &line->dealer_source);
    skn_source_remove(endpoint, &line->monitor_source);
    skn_socket_close(&line->socket, &line->monitor, linger_ms);
    line->lost = line->lost || line->standing;
    line->standing = line->busy = false;
}

skn_status_t
skn_line_dial(skn_endpoint_t *endpoint, endpoint_line_t *line,
              skn_error_t *error)
{
    const peer_t *peer = line->peer;
    skn_socket_options_t options = {
        .type = ZMQ_DEALER,
        .ipv6 = peer->ipv6,
        .frame_bytes = SKN_FRAME_OVERHEAD_BYTES,
        .fragments_max = endpoint->fragments_max,
        .keys = endpoint->keys,
        .server_key = endpoint->keys ? peer->public_key : NULL,
        .service = endpoint->service,
        .handshake_ms =
            skn_byte_socket_is_local(peer->address) ? LED_HANDSHAKE_MS : 0,
    };
    skn_line_close(endpoint, line, 0);
    line->redial_ms = 0;
    line->socket = skn_socket_open(endpoint->context, &options, error);
    if (!line->socket)
        return error ? error->status : SKN_NO_MEMORY;
    line->monitor =
        skn_socket_monitor(endpoint->context, line->socket, EVENTS, error);
    skn_status_t status = line->monitor ? SKN_OK
                          : error       ? error->status
                                        : SKN_NO_MEMORY;
    if (status == SKN_OK)
        status = skn_source_add(endpoint, &line->dealer_source,
                                skn_socket_descriptor(line->socket), error);
    if (status == SKN_OK)
        status = skn_source_add(endpoint, &line->monitor_source,
                                skn_socket_descriptor(line->monitor), error);
    if (status == SKN_OK && !skn_socket_connect(line->socket, peer->address))
        status = skn_fail(error, SKN_BAD_CONFIG, "node %s: cannot dial %s: %s",
                          peer->name, peer->address, zmq_strerror(zmq_errno()));
    if (status != SKN_OK)
        skn_line_close(endpoint, line, 0);
    return status;
}

/* --- redialling ---------------------------------------------------------- */

static void
set_timer(skn_endpoint_t *endpoint, uint64_t now, uint64_t due)
{
    struct itimerspec spec = { { 0 }, { 0 } };
    if (due > 0) {
        uint64_t wait_ms = due > now ? due - now : 1;
        spec.it_value.tv_sec = (time_t)(wait_ms / 1000);
        spec.it_value.tv_nsec = (long)(wait_ms % 1000) * 1000000;
    }
    (void)timerfd_settime(endpoint->timer, 0, &spec, NULL);
}

void
skn_lines_redial(skn_endpoint_t *endpoint)
{
    uint64_t now = skn_monotonic_ms(), next = 0;
    for (size_t k = 0; k < endpoint->peer_count * SKN_LANE_COUNT; k++) {
        endpoint_line_t *line =
            &endpoint->peer[k / SKN_LANE_COUNT].line[k % SKN_LANE_COUNT];
        if (line->redial_ms > 0 && line->redial_ms <= now &&
            skn_line_dial(endpoint, line, NULL) != SKN_OK)
            line->redial_ms = now + BROKEN_MS; /* no memory: retry later */
        if (line->redial_ms > 0 && (next == 0 || line->redial_ms < next))
            next = line->redial_ms;
    }
    set_timer(endpoint, now, next);
}

static void
redial_in(skn_endpoint_t *endpoint, endpoint_line_t *line, uint64_t wait_ms)
{
    if (line->redial_ms > 0)
        return; /* an earlier event set the time */
    line->redial_ms = skn_monotonic_ms() + wait_ms;
    skn_lines_redial(endpoint);
}

static uint64_t
refused_ms(const endpoint_line_t *line)
{
    assert(line->failures > 0);
    uint32_t doublings = line->failures - 1;
    return (uint64_t)REFUSED_MS_MIN
           << (doublings < REFUSED_DOUBLINGS_MAX ? doublings
                                                 : REFUSED_DOUBLINGS_MAX);
}

/* --- events -------------------------------------------------------------- */

static bool
arrive(const endpoint_line_t *line, skn_endpoint_event_kind_t kind,
       const char *sentence, skn_endpoint_event_t *arrival)
{
    *arrival = (skn_endpoint_event_t){ .kind = kind,
                                       .peer = line->peer->number,
                                       .lane = line->lane,
                                       .sentence = sentence };
    return true;
}

/* Limits the rate of sentences: two lanes fail together, and repeatedly. */
static bool
may_say(peer_t *peer)
{
    uint64_t now = skn_monotonic_ms();
    if (peer->sentence_ms > 0 && now - peer->sentence_ms < ENDPOINT_SENTENCE_MS)
        return false;
    peer->sentence_ms = now;
    return true;
}

static bool
on_refused(skn_endpoint_t *endpoint, endpoint_line_t *line,
           skn_endpoint_event_t *arrival)
{
    peer_t *peer = line->peer;
    endpoint->counts.refusals++;
    line->failures++;
    redial_in(endpoint, line, refused_ms(line));
    if (!may_say(peer))
        return false;
    (void)snprintf(endpoint->sentence, SENTENCE_BYTES,
                   "node %s refused our key: ask its owner to add %s",
                   peer->name, skn_keys_public(endpoint->keys));
    return arrive(line, SKN_ARRIVAL_REFUSED, endpoint->sentence, arrival);
}

/* A peer's address for a sentence; a local name would mean nothing to the
 * reader. */
static const char *
place_of(const peer_t *peer)
{
    return skn_byte_socket_is_local(peer->address) ? "the end of its tunnel"
                                                   : peer->address;
}

static bool
on_failed(skn_endpoint_t *endpoint, endpoint_line_t *line, uint16_t event,
          skn_endpoint_event_t *arrival)
{
    peer_t *peer = line->peer;
    char *text = endpoint->sentence;
    endpoint->counts.handshakes_failed_there++;
    line->failures++;
    redial_in(endpoint, line, refused_ms(line) + BROKEN_MS);
    /* A single failure is a peer that ended at that moment; and a tunnel whose
     * other end does not connect fails so every time. */
    if ((event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL &&
         (line->failures < 2 || skn_byte_socket_is_local(peer->address))) ||
        !may_say(peer))
        return false;
    if (!endpoint->keys)
        (void)snprintf(text, SENTENCE_BYTES,
                       "node %s at %s does not use the protocol of nodes "
                       "without keys: if it has a key, this node needs one, "
                       "too (skein keygen)",
                       peer->name, place_of(peer));
    else
        (void)snprintf(text, SENTENCE_BYTES,
                       "node %s at %s does not have the key %s: its key file "
                       "differs from ours, it runs without a key, or it is "
                       "another program",
                       peer->name, place_of(peer), peer->public_key);
    return arrive(line, SKN_ARRIVAL_HANDSHAKE_FAILED, text, arrival);
}

static bool
on_disconnected(skn_endpoint_t *endpoint, endpoint_line_t *line,
                skn_endpoint_event_t *arrival)
{
    redial_in(endpoint, line, BROKEN_MS);
    if (!line->standing)
        return false; /* it was never connected */
    line->standing = false;
    endpoint->counts.disconnected++;
    return arrive(line, SKN_ARRIVAL_DISCONNECTED, "", arrival);
}

static bool
on_connected(skn_endpoint_t *endpoint, endpoint_line_t *line,
             skn_endpoint_event_t *arrival)
{
    if (line->standing)
        return false;
    line->standing = true;
    line->failures = 0;
    line->peer->sentence_ms = 0;
    endpoint->counts.connected++;
    return arrive(line, SKN_ARRIVAL_CONNECTED, "", arrival);
}

bool
skn_line_event(skn_endpoint_t *endpoint, endpoint_line_t *line,
               skn_endpoint_event_t *arrival, bool *empty)
{
    uint16_t event;
    uint32_t value;
    int unsent = ENDPOINT_UNSENT_BYTES;
    *empty = false;
    if (line->lost) { /* together with the previous socket */
        line->lost = false;
        endpoint->counts.disconnected++;
        return arrive(line, SKN_ARRIVAL_DISCONNECTED, "", arrival);
    }
    if (!line->monitor || !skn_monitor_take(line->monitor, &event, &value)) {
        *empty = true;
        return false;
    }
    switch (event) {
    case ZMQ_EVENT_CONNECTED:
        (void)setsockopt((int)value, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent,
                         sizeof(unsent));
        line->redial_ms = 0;
        return false;
    case ZMQ_EVENT_CONNECT_DELAYED:
    case ZMQ_EVENT_CONNECT_RETRIED:
        line->redial_ms = 0; /* libzmq redials */
        return false;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        return on_connected(endpoint, line, arrival);
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: /* of a node without a key, too */
        return endpoint->keys ? on_refused(endpoint, line, arrival)
                              : on_failed(endpoint, line, event, arrival);
    case ZMQ_EVENT_DISCONNECTED:
        return on_disconnected(endpoint, line, arrival);
    default:
        return on_failed(endpoint, line, event, arrival);
    }
}

/* A peer sends nothing to a DEALER of ours. Messages that arrive anyway are not
 * read, and at most two (ZMQ_RCVHWM 1) are kept. */
bool
skn_line_room(endpoint_line_t *line)
{
    int events = 0;
    if (!line->socket ||
        !skn_socket_get(line->socket, ZMQ_EVENTS, &events, sizeof(events)) ||
        !line->busy || !(events & ZMQ_POLLOUT))
        return false;
    line->busy = false;
    return true;
}
