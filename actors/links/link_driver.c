/* link_driver.c - the thread between a node's actors and its sockets.
 *
 *   waiting ─all nodes ready─▶ running ─actors ended─▶ finishing ─links done─▶
 *      └──────────── a failure, here or there ──────────▶ telling ─▶ closed
 *
 * The order of one turn is: parcels, arrivals of the sockets, credit,
 * fragments, phases; then it waits, unless one of these was cut off. No actor
 * waits for it, and it waits for no actor. This file owns: the phases, the
 * wait, the fragments. Not here: what a parcel or a record means
 * (link_crossings.c), the protocol (transport/link/link.c), sockets
 * (transport/endpoint/endpoint.c).  SPDX-License-Identifier: Apache-2.0 */
#include "actors/links/links.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/runtime/crash.h"
#include "actors/links/links_internal.h"
#include "transport/link/fragment.h"
#include "transport/socket/clock.h"
#include "transport/socket/thread_start.h"

/* The most parcels, and the most arrivals, of a turn. */
#define TURN_MAX 64
/* The bytes encoded and not yet acknowledged by one peer, above which no more
 * parcels are taken. Credit is a limit, too; this one bounds memory. */
#define QUEUED_BYTES_MAX ((size_t)64 << 20)
/* The interval of reports about the nodes that the run waits for. */
#define WAITING_TOLD_NS UINT64_C(5000000000)
/* The time after which a node that never connected counts as silent. For a node
 * that did connect, the link reports it by SUSPECT. */
#define NEVER_CAME_NS UINT64_C(4000000000)
/* The time after the start in which failed handshakes are not reported. */
#define HANDSHAKES_NS UINT64_C(2000000000)
/* The time after a failure for sending the others its cause. */
#define LEAVE_NS UINT64_C(2000000000)
/* The number of a CLOSE that need not be announced to the others. */
#define AT_ONCE 1u
/* The time after the end in which nodes that this one relays between may still
 * finish. */
#define RELAY_NS UINT64_C(10000000000)
#define RELAY_LOOK_NS UINT64_C(20000000)
/* The time after the end for a delayed acknowledgement (5 ms) to be sent. */
#define LAST_ACK_NS UINT64_C(20000000)
/* The longest time between two checks of a closed bucket. */
#define BUCKET_WAIT_NS UINT64_C(100000000)
/* Bytes per second, in both directions, that are more than clocks and
 * credit. */
#define BUSY_BYTES 4096u

static skn_link_peer_t *
peer_of(skn_links_t *links, uint32_t number)
{
    return number < links->node_count && number != links->node
               ? &links->peers[number]
               : NULL;
}

void
skn_links_report(skn_links_t *links, skn_parcel_type_t type, void *pointer)
{
    skn_parcel_t parcel = { .type = type,
                            .slot = links->system->actor_count,
                            .pointer = pointer };
    skn_host_report(links->host, links->system->wake_descriptor, &parcel);
}

/* --- records ------------------------------------------------------------- */

skn_status_t
skn_links_send(skn_link_peer_t *peer, const skn_record_t *record,
               const skn_wire_t *wire, skn_error_t *error)
{
    uint8_t lead[SKN_RECORD_LEAD_BYTES];
    skn_frame_t frame[SKN_FRAMES_MAX + 1];
    size_t count = skn_record_write(record, wire, lead, frame);
    /* A dead link is reported once, where its state is checked. */
    if (skn_link_state(peer->link) == SKN_LINK_DEAD)
        return SKN_OK;
    return skn_link_send(peer->link, frame, count, error);
}

skn_status_t
skn_links_send_all(skn_links_t *links, const skn_record_t *record,
                   const skn_wire_t *wire, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < links->node_count; k++) {
        skn_error_t *first = status == SKN_OK ? error : NULL;
        if (k == links->node)
            continue;
        skn_status_t sent =
            skn_links_send(&links->peers[k], record, wire, first);
        status = status == SKN_OK ? sent : status;
    }
    return status;
}

/* Sends a record that has only a kind. */
static skn_status_t
say_to_all(skn_links_t *links, skn_record_kind_t kind, skn_error_t *error)
{
    return skn_links_send_all(links, &(skn_record_t){ .kind = kind }, NULL,
                              error);
}

/* Ends this node's part for a reason, and reports it to the other nodes unless
 * one of them reported it. */
static void
fail(skn_links_t *links, const skn_error_t *cause)
{
    if (links->failed)
        return;
    links->failed = true;
    skn_record_t record = { SKN_RECORD_FAIL, 0, (uint64_t)cause->status };
    skn_wire_t wire = { .frame_count = 1 };
    wire.frame[0] = (skn_frame_t){ cause->text, strlen(cause->text) };
    if (!links->failed_elsewhere)
        (void)skn_links_send_all(links, &record, &wire, NULL);
}

/* Handles a failure of the driver itself or of another node: the host ends
 * all. */
static void
fail_and_report(skn_links_t *links, const skn_error_t *cause)
{
    if (links->failed)
        return;
    fail(links, cause);
    skn_links_report(links, SKN_PARCEL_FAILED, skn_error_copy(cause));
    skn_system_alarm(links->system);
}

/* --- parcels of the host and the actors ---------------------------------- */

/* Takes a parcel. Orders of the host are parcels of types that actors do not
 * send. */
static skn_status_t
take_order(skn_links_t *links, const skn_parcel_t *parcel, skn_error_t *error)
{
    switch (parcel->type) {
    case SKN_PARCEL_READY:
        links->ready_here = true;
        links->ready_ns = links->now_ns;
        return say_to_all(links, SKN_RECORD_READY, error);
    case SKN_PARCEL_ENDED:
        links->ended_here = true;
        return say_to_all(links, SKN_RECORD_ENDED, error);
    case SKN_PARCEL_FAILED:
        if (parcel->pointer)
            fail(links, parcel->pointer);
        free(parcel->pointer);
        return SKN_OK;
    case SKN_PARCEL_STOP:
        /* Where all actors have ended, there is nothing to stop. */
        return links->finishing ? SKN_OK
                                : say_to_all(links, SKN_RECORD_STOP, error);
    case SKN_PARCEL_CLOSE:
        if (!links->closing)
            links->leave_ns = links->now_ns + (parcel->number == AT_ONCE ? 0
                                               : links->finished ? RELAY_NS
                                                                 : LEAVE_NS);
        links->closing = true;
        return SKN_OK;
    default:
        return skn_links_take_parcel(links, parcel, error);
    }
}

static bool
has_room(const skn_links_t *links)
{
    for (uint32_t k = 0; k < links->node_count; k++)
        if (k != links->node &&
            skn_link_queued_bytes(links->peers[k].link) > QUEUED_BYTES_MAX)
            return false;
    return true;
}

static bool
take_parcels(skn_links_t *links)
{
    skn_parcel_t parcel;
    int taken = 0;
    while (taken < TURN_MAX && (has_room(links) || links->failed) &&
           skn_inbox_take(links->inbox, &parcel)) {
        skn_error_t error;
        skn_error_clear(&error);
        taken++;
        if (links->failed && parcel.type == SKN_PARCEL_MESSAGE)
            skn_message_drop(parcel.pointer);
        else if (take_order(links, &parcel, &error) != SKN_OK)
            fail_and_report(links, &error);
    }
    return taken == TURN_MAX;
}

/* --- arrivals of the sockets --------------------------------------------- */

/* The sending node that a fragment names, for connections without a key. */
static uint32_t
sender_of(const skn_endpoint_event_t *arrival)
{
    skn_fragment_header_t fragment;
    skn_link_reason_t reason;
    skn_status_t status = skn_fragment_read(
        arrival->header, arrival->body.bytes, &fragment, &reason, NULL);
    /* Accept another version, too, to inform the sender. */
    return status == SKN_OK || reason == SKN_LINK_REASON_VERSION
               ? fragment.node
               : SKN_PEER_UNKNOWN;
}

static void
take_fragment(skn_links_t *links, const skn_endpoint_event_t *arrival)
{
    uint32_t number = arrival->peer;
    if (number == SKN_PEER_UNKNOWN)
        number = sender_of(arrival);
    skn_link_peer_t *peer = peer_of(links, number);
    if (!peer) {
        links->nobodys_fragments++;
        return;
    }
    skn_frame_t record;
    links->body_bytes += arrival->body.bytes;
    (void)skn_link_take(peer->link, links->now_ns, arrival->header,
                        arrival->body, NULL); /* counted, or it is DEAD */
    while (!links->failed && skn_link_record(peer->link, &record)) {
        skn_error_t error;
        skn_error_clear(&error);
        if (skn_links_take_record(links, peer, record, &error) != SKN_OK)
            fail_and_report(links, &error);
    }
}

static void
take_arrival(skn_links_t *links, const skn_endpoint_event_t *arrival)
{
    skn_link_peer_t *peer = peer_of(links, arrival->peer);
    bool data = arrival->lane == SKN_LANE_DATA;
    switch (arrival->kind) {
    case SKN_ARRIVAL_FRAGMENT:
        take_fragment(links, arrival);
        break;
    case SKN_ARRIVAL_CONNECTED:
        if (peer && data)
            skn_link_connected(peer->link, links->now_ns);
        else if (peer)
            peer->has_pulse_lane = true;
        break;
    case SKN_ARRIVAL_DISCONNECTED:
        if (peer && !data)
            peer->has_pulse_lane = false;
        if (peer && data) {
            peer->has_held = false; /* the link will repeat it */
            skn_link_disconnected(peer->link, links->now_ns);
            /* The peer leaves when it has everything from us; only its last
             * acknowledgement was lost. */
            peer->left = peer->left || skn_link_ended(peer->link);
        }
        break;
    case SKN_ARRIVAL_ROOM:
        break; /* each turn retries anyway */
    case SKN_ARRIVAL_HANDSHAKE_FAILED:
        /* A connection cut during a handshake looks like a wrong key. */
        if (peer && !peer->joined && !links->failed &&
            links->now_ns - links->begin_ns > HANDSHAKES_NS)
            skn_links_warn(links, arrival->sentence);
        break;
    default:
        skn_links_warn(links, arrival->sentence);
        break;
    }
}

static bool
take_arrivals(skn_links_t *links)
{
    skn_endpoint_event_t arrival;
    int taken = 0;
    while (taken < TURN_MAX && skn_endpoint_take(links->endpoint, &arrival)) {
        taken++;
        take_arrival(links, &arrival);
    }
    return taken == TURN_MAX;
}

/* --- fragments ----------------------------------------------------------- */

/* Keeps a fragment that the socket does not accept now, since the link counts
 * it as sent. */
static void
hold(skn_link_peer_t *peer, const skn_fragment_t *fragment)
{
    peer->has_held = true;
    peer->held_header_bytes = fragment->header.bytes;
    peer->held_body_bytes = fragment->body.bytes;
    memcpy(peer->held, fragment->header.at, fragment->header.bytes);
    if (fragment->body.bytes > 0)
        memcpy(peer->held + SKN_ENDPOINT_HEADER_BYTES_MAX, fragment->body.at,
               fragment->body.bytes);
}

static bool
put_data(skn_links_t *links, skn_link_peer_t *peer,
         const skn_fragment_t *fragment)
{
    return skn_endpoint_send(links->endpoint, peer->number, SKN_LANE_DATA,
                             fragment->header, fragment->body, NULL) == SKN_OK;
}

static void
send_fragments(skn_links_t *links, skn_link_peer_t *peer)
{
    skn_fragment_t fragment;
    skn_link_tick(peer->link, links->now_ns);
    if (peer->has_held) {
        fragment.header = (skn_frame_t){ peer->held, peer->held_header_bytes };
        fragment.body =
            (skn_frame_t){ peer->held + SKN_ENDPOINT_HEADER_BYTES_MAX,
                           peer->held_body_bytes };
        peer->has_held = !put_data(links, peer, &fragment);
    }
    while (!peer->has_held &&
           skn_bucket_is_open(&links->bucket, links->now_ns) &&
           skn_link_next(peer->link, links->now_ns, &fragment)) {
        skn_bucket_take(&links->bucket,
                        fragment.header.bytes + fragment.body.bytes);
        if (!put_data(links, peer, &fragment))
            hold(peer, &fragment);
    }
    /* A pulse that becomes due while its lane is down is sent when the lane is
     * up again, and not one pulse later. */
    while (peer->has_pulse_lane &&
           skn_link_next_pulse(peer->link, links->now_ns, &fragment))
        (void)skn_endpoint_send(links->endpoint, peer->number, SKN_LANE_PULSE,
                                fragment.header, fragment.body, NULL);
}

void
skn_links_bytes(const skn_links_t *links, uint64_t *sent, uint64_t *received)
{
    *sent = *received = 0;
    for (uint32_t k = 0; k < links->node_count; k++) {
        skn_link_counts_t counts;
        if (k == links->node)
            continue;
        skn_link_count(links->peers[k].link, &counts);
        *sent += counts.header_bytes_sent + counts.body_bytes_sent;
        *received += counts.header_bytes_taken + counts.body_bytes_taken;
    }
}

/* --- phases -------------------------------------------------------------- */

/* All nodes take the run id of the first node. */
static void
pass_on_run(skn_links_t *links, const skn_link_peer_t *from)
{
    uint8_t run[SKN_LINK_RUN_BYTES];
    if (!skn_link_run(from->link, run))
        return;
    for (uint32_t k = 0; k < links->node_count; k++)
        if (k != links->node)
            skn_link_set_run(links->peers[k].link, run);
}

static void
look_at_peer(skn_links_t *links, skn_link_peer_t *peer)
{
    skn_link_state_t state = skn_link_state(peer->link);
    skn_error_t error;
    if (state == SKN_LINK_DEAD && !peer->left) {
        peer->left = true;
        skn_links_why_dead(links, peer, &error);
        fail_and_report(links, &error);
        return;
    }
    if (state == SKN_LINK_LIVE && !peer->joined) {
        skn_links_tell_joined(links, peer);
        pass_on_run(links, peer);
    }
    peer->left = peer->left || state == SKN_LINK_DONE;
}

/* Finishes when all actors of all nodes have ended, so that no more requests
 * can arrive. */
static void
finish(skn_links_t *links)
{
    bool all = links->ended_here;
    for (uint32_t k = 0; k < links->node_count; k++)
        all = all && (k == links->node || links->peers[k].has_ended);
    if (!all)
        return;
    links->finishing = true;
    for (uint32_t k = 0; k < links->node_count; k++)
        if (k != links->node)
            skn_link_finish(links->peers[k].link);
}

/* Waits for all nodes, so that no node runs alone by accident. */
static void
wait_for_nodes(skn_links_t *links)
{
    char missing[400];
    uint64_t waited_ns = links->now_ns - links->begin_ns;
    bool all = links->ready_here;
    for (uint32_t k = 0; k < links->node_count; k++)
        all = all && (k == links->node || links->peers[k].is_ready);
    if (all) {
        links->ready_all = true;
        skn_links_report(links, SKN_PARCEL_READY, NULL);
    } else if (waited_ns > links->wait_ns) {
        skn_error_t error;
        skn_error_clear(&error);
        skn_links_missing(links, missing, sizeof(missing));
        (void)skn_fail(&error, SKN_UNAVAILABLE, "waited %" PRIu64 " s for %s",
                       waited_ns / SKN_SECOND_NS, missing);
        (void)skn_fail_hint(&error, SKN_UNAVAILABLE,
                            "start these nodes; check their addresses under "
                            "nodes: and the firewalls");
        fail_and_report(links, &error);
    } else if (links->ready_here &&
               links->now_ns - links->told_waiting_ns > WAITING_TOLD_NS) {
        skn_links_tell_waiting(links);
    }
}

static bool
is_silent(const skn_links_t *links, const skn_link_peer_t *peer)
{
    skn_link_state_t state = skn_link_state(peer->link);
    if (state == SKN_LINK_NEW)
        return links->ready_here && !peer->joined &&
               links->now_ns - links->ready_ns > NEVER_CAME_NS;
    return state == SKN_LINK_SUSPECT ||
           (state == SKN_LINK_DEAD && peer->is_silent);
}

/* Updates which peers are silent; not after a failure, since peers may be
 * silent because they have ended. */
static void
look_for_silent(skn_links_t *links)
{
    bool news = false;
    for (uint32_t k = 0; k < links->node_count && !links->failed; k++) {
        skn_link_peer_t *peer = &links->peers[k];
        if (k == links->node || peer->left)
            continue;
        bool silent = is_silent(links, peer) &&
                      skn_links_silent_relay(links, peer) == NULL;
        news = news || silent != peer->is_silent;
        peer->is_silent = silent;
    }
    if (news)
        skn_links_tell_silent(links);
}

static void
advance(skn_links_t *links)
{
    bool all_left = true;
    look_for_silent(links);
    for (uint32_t k = 0; k < links->node_count; k++) {
        if (k == links->node)
            continue;
        look_at_peer(links, &links->peers[k]);
        all_left = all_left && links->peers[k].left;
    }
    if (!links->ready_all && !links->failed)
        wait_for_nodes(links);
    if (!links->finishing && !links->failed)
        finish(links);
    if (links->finishing && all_left && !links->finished && !links->failed) {
        links->finished = true;
        links->finished_ns = links->now_ns;
        skn_links_report(links, SKN_PARCEL_ENDED, NULL);
    }
}

/* Records when links last carried data, for actors that wait for a message that
 * is still on its way. */
static void
note_busy(skn_links_t *links)
{
    uint64_t bytes = links->body_bytes;
    if (links->now_ns - links->busy_ns < SKN_SECOND_NS)
        return;
    for (uint32_t k = 0; k < links->node_count; k++)
        if (k != links->node)
            bytes += skn_link_acked_end(links->peers[k].link);
    if (bytes - links->busy_bytes >= BUSY_BYTES)
        atomic_store(&links->system->carried_ns, links->now_ns);
    links->busy_bytes = bytes;
    links->busy_ns = links->now_ns;
    skn_links_tell_traffic(links);
}

static bool
is_between(const skn_links_t *links)
{
    return links->tunnels && skn_tunnels_relay(links->tunnels);
}

/* Whether all peers that can still be informed have been. A relay leaves after
 * the nodes that it relays between: an end, or a failure, may still be on its
 * way. */
static bool
may_leave(const skn_links_t *links)
{
    if (!links->closing)
        return false;
    if (links->now_ns >= links->leave_ns || !links->endpoint)
        return true;
    if (is_between(links))
        return false;
    if (links->finished)
        return links->now_ns >= links->finished_ns + LAST_ACK_NS;
    for (uint32_t k = 0; k < links->node_count; k++) {
        const skn_link_peer_t *peer = &links->peers[k];
        if (k != links->node && peer->joined && !peer->left &&
            skn_link_queued_bytes(peer->link) > 0)
            return false;
    }
    return true;
}

/* --- the thread ---------------------------------------------------------- */

static int
wait_ms(skn_links_t *links)
{
    uint64_t soonest_ns = links->now_ns + SKN_SECOND_NS;
    for (uint32_t k = 0; k < links->node_count; k++) {
        if (k == links->node)
            continue;
        uint64_t due_ns = skn_link_due_ns(links->peers[k].link, links->now_ns);
        if (due_ns < soonest_ns)
            soonest_ns = due_ns;
    }
    /* Due fragments wait for the bucket, but pulses not for long. */
    uint64_t open_ns = skn_bucket_due_ns(&links->bucket, links->now_ns);
    if (open_ns > links->now_ns + BUCKET_WAIT_NS)
        open_ns = links->now_ns + BUCKET_WAIT_NS;
    if (soonest_ns < open_ns)
        soonest_ns = open_ns;
    if (links->closing && links->leave_ns < soonest_ns)
        soonest_ns = links->leave_ns;
    if (links->closing && is_between(links))
        return (int)(RELAY_LOOK_NS / 1000000u);
    if (links->finished && links->finished_ns + LAST_ACK_NS < soonest_ns)
        soonest_ns = links->finished_ns + LAST_ACK_NS;
    if (soonest_ns <= links->now_ns)
        return 0;
    return (int)((soonest_ns - links->now_ns + 999999u) / 1000000u);
}

static void
wait(skn_links_t *links)
{
    int timeout_ms = wait_ms(links);
    bool takes = has_room(links) || links->failed;
    if (timeout_ms <= 0 || (takes && !skn_inbox_is_empty(links->inbox)))
        return;
    bool capped = !skn_bucket_is_open(&links->bucket, links->now_ns);
    uint64_t begin_ns = capped ? skn_monotonic_ns() : 0;
    /* The inbox is the last descriptor, left out while no parcels are taken. */
    (void)poll(links->polled, takes ? 2 : 1, timeout_ms);
    if (capped)
        links->capped_ns += skn_monotonic_ns() - begin_ns;
}

/* The peers take turns at being first: later ones only get what the first ones
 * leave of the bucket. */
static void
send_to_all(skn_links_t *links)
{
    for (uint32_t k = 0; k < links->node_count; k++) {
        uint32_t peer = (links->first_peer + k) % links->node_count;
        if (peer != links->node)
            send_fragments(links, &links->peers[peer]);
    }
    links->first_peer = (links->first_peer + 1) % links->node_count;
}

static void
turn(skn_links_t *links)
{
    skn_error_t error;
    skn_error_clear(&error);
    links->now_ns = skn_monotonic_ns();
    bool more = take_parcels(links);
    more = take_arrivals(links) || more;
    if (skn_links_give_credit(links, &error) != SKN_OK)
        fail_and_report(links, &error);
    send_to_all(links);
    advance(links);
    note_busy(links);
    skn_links_hear_tunnels(links);
    /* A send may have consumed the edge-triggered event of an arrival. */
    more = take_arrivals(links) || more;
    if (!more && !may_leave(links))
        wait(links);
}

/* Waits for the close after the driver could not begin. */
static void
wait_for_close(skn_links_t *links)
{
    skn_parcel_t parcel;
    while (!links->closing) {
        while (skn_inbox_take(links->inbox, &parcel)) {
            links->closing = links->closing || parcel.type == SKN_PARCEL_CLOSE;
            skn_links_drop(&parcel);
        }
        if (!links->closing)
            skn_inbox_wait(&links->inbox, 1, NULL, -1);
    }
}

static void *
thread_main(void *argument)
{
    skn_links_t *links = argument;
    skn_error_t error;
    skn_crash_thread_t crash;
    skn_error_clear(&error);
    skn_crash_enter(&crash, NULL, "the thread of the links to other nodes");
    (void)skn_placement_bind(links->system->placement,
                             links->system->placement ? SKN_CORE_FLOAT
                                                      : SKN_UNIT_UNBOUND,
                             "link", 0, &error);
    error = (skn_error_t){ 0 };
    links->begin_ns = links->now_ns = skn_monotonic_ns();
    skn_bucket_init(&links->bucket, links->system->options.send_bytes_per_s,
                    links->now_ns);
    links->told_waiting_ns = links->begin_ns;
    skn_status_t status = skn_links_open_endpoint(links, &error);
    if (status != SKN_OK) {
        fail_and_report(links, &error);
        wait_for_close(links);
    } else {
        skn_links_tell_unknown(links);
        while (!may_leave(links))
            turn(links);
        skn_links_tell_traffic(links);
        skn_links_tell_end(links);
    }
    skn_endpoint_close(&links->endpoint);
    skn_tunnels_close(&links->tunnels);
    skn_crash_leave(&crash);
    skn_system_leave(links->system);
    return NULL;
}

/* --- for the host -------------------------------------------------------- */

static void
order(skn_links_t *links, skn_parcel_type_t type, void *pointer)
{
    skn_parcel_t parcel = { .type = type, .pointer = pointer };
    if (skn_outlet_put(links->orders, &parcel, NULL) != SKN_OK)
        free(pointer);
}

static void
order_ready(skn_links_t *links)
{
    order(links, SKN_PARCEL_READY, NULL);
}

static void
order_end(skn_links_t *links)
{
    order(links, SKN_PARCEL_ENDED, NULL);
}

static void
order_failure(skn_links_t *links, const skn_error_t *cause)
{
    order(links, SKN_PARCEL_FAILED, skn_error_copy(cause));
}

static void
order_stop(skn_links_t *links)
{
    order(links, SKN_PARCEL_STOP, NULL);
}

static void
order_close(skn_links_t *links)
{
    order(links, SKN_PARCEL_CLOSE, NULL);
}

static void
order_leave(skn_links_t *links)
{
    const skn_parcel_t parcel = { .type = SKN_PARCEL_CLOSE, .number = AT_ONCE };
    (void)skn_outlet_put(links->orders, &parcel, NULL);
}

static int
start(skn_links_t *links)
{
    int refused = skn_thread_start(&links->thread, NULL, thread_main, links);
    links->has_thread = refused == 0;
    return refused;
}

static bool
has_thread(const skn_links_t *links)
{
    return links->has_thread;
}

static void
join(skn_links_t *links)
{
    if (links->has_thread)
        (void)pthread_join(links->thread, NULL);
    links->has_thread = false;
}

const skn_link_driver_t skn_link_driver = {
    .make = skn_links_make,
    .destroy = skn_links_destroy,
    .start = start,
    .join = join,
    .has_thread = has_thread,
    .ready = order_ready,
    .finish = order_end,
    .fail = order_failure,
    .stop = order_stop,
    .close = order_close,
    .leave = order_leave,
    .add_figures = skn_links_add_figures,
};
