/* link_lanes.c - sends and receives the fragments of a link on its two lanes.
 *
 * This file owns: the order in which fragments leave, and the checks of a
 * received fragment before it is used.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "transport/link/link_internal.h"

/* --- sending ------------------------------------------------------------- */

uint64_t
skn_link_stamp(const skn_link_t *link)
{
    return (link->now_ns - link->birth_ns) / 1000 + 1;
}

skn_fragment_header_t
skn_link_header(const skn_link_t *link, skn_fragment_type_t type, uint64_t to)
{
    skn_fragment_header_t header = {
        .version = SKN_LINK_VERSION,
        .type = type,
        .node = link->options.node,
        .incarnation = link->options.incarnation,
        .peer = to,
    };
    memcpy(header.run, link->options.run, SKN_LINK_RUN_BYTES);
    return header;
}

/* Adds the fields that both lanes send. */
static void
add_credit(skn_link_t *link, skn_fragment_header_t *header)
{
    skn_receiving_t *receiving = &link->receiving;
    header->ack = receiving->arrived;
    header->credit = skn_receiving_credit(receiving);
    assert(header->credit >= receiving->granted);
    if (receiving->held_count > 0)
        header->held = receiving->held[0].from;
    receiving->granted = header->credit;
}

void
skn_link_add_acks(skn_link_t *link, skn_fragment_header_t *header)
{
    add_credit(link, header);
    link->said_ack = header->ack;
    link->said_credit = header->credit;
    link->ack_now = false;
    link->ack_at_ns = 0;
    if (link->stamp != 0)
        header->echo = link->stamp + (link->now_ns - link->stamp_ns) / 1000;
    link->stamp = 0;
}

void
skn_link_leave(skn_link_t *link, const skn_fragment_header_t *header,
               skn_frame_t body, skn_fragment_t *fragment)
{
    assert(body.bytes <= SKN_FRAGMENT_BYTES_MAX);
    fragment->header.at = link->header;
    fragment->header.bytes = skn_fragment_write(header, link->header);
    fragment->body = body;
    link->counts.fragments_sent++;
    link->counts.header_bytes_sent += fragment->header.bytes;
    link->counts.body_bytes_sent += body.bytes;
}

static void
say_data(skn_link_t *link, const skn_stream_piece_t *piece,
         skn_fragment_t *fragment)
{
    skn_fragment_header_t header =
        skn_link_header(link, SKN_FRAGMENT_DATA, link->peer_incarnation);
    header.offset = piece->offset;
    header.stamp = skn_link_stamp(link);
    if (link->ack_now || link->said_ack != link->receiving.arrived ||
        link->said_credit != skn_receiving_credit(&link->receiving))
        skn_link_add_acks(link, &header);
    if (piece->again_bytes > 0) {
        link->counts.resent_fragments++;
        link->counts.resent_bytes += piece->again_bytes;
    }
    skn_link_leave(link, &header, piece->body, fragment);
}

bool
skn_link_next(skn_link_t *link, uint64_t now_ns, skn_fragment_t *fragment)
{
    skn_stream_piece_t piece;
    skn_link_tick(link, now_ns);
    if (!link->connected)
        return false;
    if (link->refusal_due) {
        skn_link_say_refusal(link, fragment);
        return true;
    }
    if (skn_link_hello_may(link)) {
        skn_link_say_hello(link, fragment);
        return true;
    }
    if (!link->established || link->state == SKN_LINK_DEAD)
        return false;
    size_t most = skn_pace_fragment_bytes(&link->sending.pace,
                                          link->options.fragment_bytes);
    if (skn_sending_next(&link->sending, link->now_ns, most, &piece)) {
        say_data(link, &piece, fragment);
        return true;
    }
    if (!link->ack_now)
        return false;
    skn_fragment_header_t header =
        skn_link_header(link, SKN_FRAGMENT_ACK, link->peer_incarnation);
    skn_link_add_acks(link, &header);
    skn_link_leave(link, &header, (skn_frame_t){ NULL, 0 }, fragment);
    return true;
}

bool
skn_link_next_pulse(skn_link_t *link, uint64_t now_ns, skn_fragment_t *fragment)
{
    skn_link_tick(link, now_ns);
    bool must_answer = link->answer_due && link->state != SKN_LINK_DEAD;
    if (!must_answer && !(link->pulse_due && skn_link_is_open(link)))
        return false;
    skn_fragment_header_t header = skn_link_header(
        link, must_answer ? SKN_FRAGMENT_ANSWER : SKN_FRAGMENT_PULSE,
        link->peer_incarnation);
    add_credit(link, &header);
    if (must_answer) {
        header.echo =
            link->pulse_stamp + (link->now_ns - link->pulse_stamp_ns) / 1000;
        link->answer_due = false;
    } else {
        header.stamp = skn_link_stamp(link);
        link->pulse_due = false;
        link->pulse_at_ns = link->now_ns + link->options.pulse_ns;
    }
    fragment->header.at = link->pulse_header;
    fragment->header.bytes = skn_fragment_write(&header, link->pulse_header);
    fragment->body = (skn_frame_t){ NULL, 0 };
    link->counts.fragments_sent++;
    link->counts.header_bytes_sent += fragment->header.bytes;
    return true;
}

/* --- receiving ----------------------------------------------------------- */

/* An echo shows a time at which the peer was alive, and gives the round
 * trip. */
static void
take_echo(skn_link_t *link, const skn_fragment_header_t *header)
{
    uint64_t now = skn_link_stamp(link);
    if (header->echo == 0 || header->echo > now)
        return;
    uint64_t rtt_ns = (now - header->echo) * 1000;
    uint64_t heard_ns =
        link->now_ns - (link->now_ns - link->birth_ns) % 1000 - rtt_ns;
    if (heard_ns > link->heard_ns && heard_ns <= link->now_ns)
        link->heard_ns = heard_ns;
    if (header->type == SKN_FRAGMENT_ANSWER)
        link->pulse_rtt_ns = rtt_ns > 0 ? rtt_ns : 1;
    else
        skn_pace_round_trip(&link->sending.pace, rtt_ns);
}

bool
skn_link_take_acks(skn_link_t *link, const skn_fragment_header_t *header)
{
    skn_sending_t *sending = &link->sending;
    if (header->ack > sending->sent || header->held > sending->sent)
        return false;
    take_echo(link, header);
    if (header->credit > sending->credit)
        sending->credit = header->credit;
    if (header->credit != 0) /* the header has acks */
        skn_sending_acked(sending, link->now_ns, header->ack, header->held);
    return true;
}

static void
note_stamp(skn_link_t *link, const skn_fragment_header_t *header)
{
    if (header->type == SKN_FRAGMENT_PULSE) {
        if (link->answer_due && header->stamp < link->pulse_stamp)
            return;
        link->pulse_stamp = header->stamp;
        link->pulse_stamp_ns = link->now_ns;
        link->answer_due = true;
    } else if (header->stamp > link->stamp) {
        link->stamp = header->stamp;
        link->stamp_ns = link->now_ns;
    }
}

static skn_status_t
take_data(skn_link_t *link, const skn_fragment_header_t *header,
          skn_frame_t body, skn_link_reason_t *reason, skn_error_t *error)
{
    skn_error_t broken;
    uint64_t pending = 0;
    bool has_gaps = link->receiving.held_count > 0;
    skn_error_clear(&broken);
    switch (skn_receiving_take(&link->receiving, header->offset, body)) {
    case SKN_STRETCH_NEXT:
        pending = link->receiving.arrived - link->said_ack;
        if (pending >= link->options.window_bytes / 4 || has_gaps)
            link->ack_now = true;
        if (link->ack_at_ns == 0)
            link->ack_at_ns = link->now_ns + link->options.ack_delay_ns;
        break;
    case SKN_STRETCH_EARLY:
        link->counts.out_of_order_fragments++;
        link->ack_now = true;
        break;
    case SKN_STRETCH_DUPLICATE:
        link->counts.duplicate_fragments++;
        link->ack_now = true;
        break;
    case SKN_STRETCH_CREDIT:
        *reason = SKN_LINK_REASON_CREDIT;
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "node '%s': sent more bytes than it has credit for",
                        link->peer_name);
    case SKN_STRETCH_GAPS:
        *reason = SKN_LINK_REASON_GAPS;
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "node '%s': its stream has more than %u gaps",
                        link->peer_name, SKN_STRETCHES_MAX);
    case SKN_STRETCH_FAILED:
        return skn_fail(error, SKN_NO_MEMORY,
                        "node '%s': no memory for a fragment of %zu bytes",
                        link->peer_name, body.bytes);
    }
    skn_link_moved(link, skn_receiving_fill(&link->receiving, &broken),
                   &broken);
    return SKN_OK;
}

static skn_status_t
refuse(const skn_link_t *link, skn_link_reason_t *reason, skn_link_reason_t why,
       skn_error_t *error)
{
    *reason = why;
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "node '%s': a fragment is refused: "
                    "%s",
                    link->peer_name, skn_link_reason_text(why));
}

/* Takes a fragment that is neither hello nor refusal. */
static skn_status_t
take_other(skn_link_t *link, const skn_fragment_header_t *header,
           skn_frame_t body, skn_link_reason_t *reason, skn_error_t *error)
{
    if (link->has_run &&
        memcmp(header->run, link->options.run, SKN_LINK_RUN_BYTES) != 0)
        return refuse(link, reason, SKN_LINK_REASON_RUN, error);
    if (header->peer != link->options.incarnation)
        return refuse(link, reason, SKN_LINK_REASON_INCARNATION, error);
    if (!link->established)
        return refuse(link, reason, SKN_LINK_REASON_EARLY, error);
    if (header->incarnation != link->peer_incarnation) {
        /* Another start of the peer, which knows ours: its hello was lost. */
        skn_link_want_hello(link, header->incarnation, true);
        return refuse(link, reason, SKN_LINK_REASON_INCARNATION, error);
    }
    if (!skn_link_take_acks(link, header))
        return refuse(link, reason, SKN_LINK_REASON_ACK, error);
    if (header->stamp != 0)
        note_stamp(link, header);
    if (header->type != SKN_FRAGMENT_DATA)
        return SKN_OK;
    return take_data(link, header, body, reason, error);
}

static skn_status_t
take(skn_link_t *link, const skn_fragment_header_t *header, skn_frame_t body,
     skn_link_reason_t *reason, skn_error_t *error)
{
    if (header->node != link->options.peer)
        return refuse(link, reason, SKN_LINK_REASON_NODE, error);
    if (link->state == SKN_LINK_DEAD) {
        skn_link_take_dead(link, header);
        return refuse(link, reason, SKN_LINK_REASON_DEAD, error);
    }
    if (header->type == SKN_FRAGMENT_REFUSE)
        return skn_link_take_refusal(link, header, skn_refusal_read(body.at),
                                     reason, error);
    if (header->type != SKN_FRAGMENT_HELLO)
        return take_other(link, header, body, reason, error);
    skn_status_t status =
        skn_link_take_hello(link, header, body.at, reason, error);
    if (status == SKN_OK && header->stamp != 0 &&
        (!link->established || header->incarnation == link->peer_incarnation))
        note_stamp(link, header);
    return status;
}

skn_status_t
skn_link_take(skn_link_t *link, uint64_t now_ns, skn_frame_t frame,
              skn_frame_t body, skn_error_t *error)
{
    skn_fragment_header_t header;
    skn_link_reason_t reason = SKN_LINK_REASON_HEADER;
    skn_link_tick(link, now_ns);
    bool dead = link->state == SKN_LINK_DEAD;
    skn_status_t status =
        skn_fragment_read(frame, body.bytes, &header, &reason, error);
    if (status == SKN_OK)
        status = take(link, &header, body, &reason, error);
    else if (reason == SKN_LINK_REASON_VERSION && !dead)
        skn_link_take_other_version(link, &header);
    if (status == SKN_OK) {
        link->counts.fragments_taken++;
        link->counts.header_bytes_taken += frame.bytes;
        link->counts.body_bytes_taken += body.bytes;
        skn_link_settle(link);
    } else if (status == SKN_BAD_MESSAGE) {
        link->counts.refused[reason]++;
    }
    if (!dead && link->state == SKN_LINK_DEAD) {
        if (error)
            *error = link->failure;
        status = link->failure.status;
    }
    return status;
}
