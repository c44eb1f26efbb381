/* sending.c - the sending half of a link: keeps records until acknowledged.
 *
 * This file owns: the order of sending, and of sending again. There are three
 * reasons to send again: a new connection (all unacknowledged bytes), a gap
 * that the peer reports for longer than reordering would last (the gap), and a
 * timeout (from the first unacknowledged byte on, slowly at first, as in TCP;
 * RFC 5681, 6298, 8985).
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/link/sending.h"

#include <assert.h>
#include <stdlib.h>

#include "transport/link/fragment.h"

skn_status_t
skn_sending_init(skn_sending_t *sending, skn_error_t *error)
{
    sending->flight_max = UINT64_MAX;
    sending->staging = malloc(SKN_FRAGMENT_BYTES_MAX);
    if (!sending->staging)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a link");
    return SKN_OK;
}

void
skn_sending_fini(skn_sending_t *sending)
{
    skn_chunks_fini(&sending->chunks);
    free(sending->staging);
    *sending = (skn_sending_t){ 0 };
}

/* --- the queue ----------------------------------------------------------- */

static size_t
put_length(uint8_t bytes[SKN_LENGTH_BYTES_MAX], size_t length)
{
    size_t count = 0;
    for (; length >= 0x80; length >>= 7)
        bytes[count++] = (uint8_t)(length | 0x80);
    bytes[count++] = (uint8_t)length;
    return count;
}

skn_status_t
skn_sending_queue(skn_sending_t *sending, const skn_frame_t *frame,
                  size_t frame_count, size_t byte_count, skn_error_t *error)
{
    assert(!sending->finished);
    uint8_t length[SKN_LENGTH_BYTES_MAX];
    size_t length_bytes = put_length(length, byte_count);
    uint64_t end = sending->end;
    skn_status_t status = skn_chunks_reserve(
        &sending->chunks, end, end + length_bytes + byte_count, error);
    if (status != SKN_OK)
        return status;
    skn_chunks_write(&sending->chunks, end, length, length_bytes);
    end += length_bytes;
    for (size_t k = 0; k < frame_count; k++) {
        skn_chunks_write(&sending->chunks, end, frame[k].at, frame[k].bytes);
        end += frame[k].bytes;
    }
    sending->end = end;
    sending->finished = byte_count == 0;
    return SKN_OK;
}

uint64_t
skn_sending_in_flight(const skn_sending_t *sending)
{
    return sending->next - sending->acked;
}

/* --- sending ------------------------------------------------------------- */

/* All bytes from the first unacknowledged one on are to be sent again. */
static void
go_back(skn_sending_t *sending)
{
    sending->next = sending->acked;
    sending->again_from = sending->again_to = sending->again_done = 0;
    sending->gap_due_ns = 0;
    sending->timeout_due_ns = 0;
    sending->unsure_until = sending->sent;
    skn_pace_cut(&sending->pace);
}

void
skn_sending_connected(skn_sending_t *sending)
{
    go_back(sending);
    sending->connected = true;
    sending->timeouts = 0;
    sending->flight_max = UINT64_MAX;
}

void
skn_sending_disconnected(skn_sending_t *sending)
{
    go_back(sending);
    sending->connected = false;
}

/* How much of [next, end) may be sent as one piece; 0: nothing now. */
static size_t
allowed_bytes(const skn_sending_t *sending, size_t most)
{
    uint64_t in_flight = skn_sending_in_flight(sending);
    uint64_t flight_max = skn_pace_flight_bytes(&sending->pace);
    uint64_t queued = sending->end - sending->next;
    uint64_t whole = queued < most ? queued : most;
    uint64_t credit =
        sending->credit > sending->next ? sending->credit - sending->next : 0;
    if (flight_max > sending->flight_max)
        flight_max = sending->flight_max;
    if (in_flight > 0 && in_flight + whole > flight_max)
        return 0;
    /* No tiny fragment for the last bytes of credit: more will follow. */
    if (credit < whole && in_flight > 0)
        return 0;
    return (size_t)(credit < whole ? credit : whole);
}

static skn_frame_t
frame_of(skn_sending_t *sending, uint64_t offset, size_t byte_count)
{
    size_t row = 0;
    const uint8_t *at = skn_chunks_at(&sending->chunks, offset, &row);
    if (row < byte_count) {
        skn_chunks_read(&sending->chunks, offset, sending->staging, byte_count);
        at = sending->staging;
    }
    return (skn_frame_t){ at, byte_count };
}

static void
arm_timeout(skn_sending_t *sending, uint64_t now_ns)
{
    sending->timeout_due_ns =
        now_ns + skn_pace_timeout_ns(&sending->pace, sending->timeouts);
}

bool
skn_sending_next(skn_sending_t *sending, uint64_t now_ns, size_t most,
                 skn_stream_piece_t *piece)
{
    size_t bytes = 0;
    assert(most > 0 && most <= SKN_FRAGMENT_BYTES_MAX);
    if (!sending->connected)
        return false;
    if (sending->again_from < sending->again_to) {
        assert(sending->again_from >= sending->acked &&
               sending->again_to <= sending->next);
        uint64_t gap = sending->again_to - sending->again_from;
        bytes = (size_t)(gap < most ? gap : most);
        piece->offset = sending->again_from;
        piece->again_bytes = bytes;
        sending->again_from += bytes;
    } else {
        bytes = allowed_bytes(sending, most);
        if (bytes == 0)
            return false;
        if (sending->next == sending->acked &&
            sending->acked >= sending->unsure_until)
            skn_pace_busy(&sending->pace, now_ns, sending->acked);
        piece->offset = sending->next;
        uint64_t again = sending->sent - sending->next;
        piece->again_bytes = (size_t)(again < bytes ? again : bytes);
        sending->next += bytes;
        if (sending->sent < sending->next)
            sending->sent = sending->next;
    }
    assert(sending->acked <= sending->next && sending->next <= sending->sent &&
           sending->sent <= sending->end);
    if (sending->timeout_due_ns == 0)
        arm_timeout(sending, now_ns);
    piece->body = frame_of(sending, piece->offset, bytes);
    return true;
}

/* --- acks and timers ----------------------------------------------------- */

static void
progress(skn_sending_t *sending, uint64_t now_ns, uint64_t ack)
{
    sending->acked = ack;
    if (sending->next < ack)
        sending->next = ack;
    if (sending->again_from < ack)
        sending->again_from = ack;
    if (sending->again_to < sending->again_from)
        sending->again_to = sending->again_from;
    skn_chunks_trim(&sending->chunks, ack);
    uint64_t in_flight = skn_sending_in_flight(sending);
    skn_pace_acked(&sending->pace, now_ns, ack, in_flight);
    if (!sending->pace.busy && in_flight > 0 && ack >= sending->unsure_until)
        skn_pace_busy(&sending->pace, now_ns, ack);
    sending->timeouts = 0;
    if (sending->flight_max < UINT64_MAX / 2)
        sending->flight_max *= 2;
    sending->timeout_due_ns = 0;
    if (in_flight > 0)
        arm_timeout(sending, now_ns);
}

void
skn_sending_acked(skn_sending_t *sending, uint64_t now_ns, uint64_t ack,
                  uint64_t held)
{
    assert(ack <= sending->sent && held <= sending->sent);
    if (ack < sending->acked)
        return; /* an earlier one, overtaken */
    if (ack > sending->acked) {
        progress(sending, now_ns, ack);
        sending->gap_due_ns = 0;
    }
    if (held == 0) {
        sending->gap_due_ns = 0;
        return;
    }
    sending->gap_to = held;
    if (held > sending->again_done && sending->gap_due_ns == 0)
        sending->gap_due_ns = now_ns + skn_pace_disorder_ns(&sending->pace);
}

uint64_t
skn_sending_due_ns(const skn_sending_t *sending)
{
    uint64_t due_ns = UINT64_MAX;
    if (sending->timeout_due_ns != 0)
        due_ns = sending->timeout_due_ns;
    if (sending->gap_due_ns != 0 && sending->gap_due_ns < due_ns)
        due_ns = sending->gap_due_ns;
    return due_ns;
}

/* The gap counts as a loss: those of its bytes that were not sent twice are
 * sent again now. Bytes beyond `next` will be sent anyway. */
static void
fill_gap(skn_sending_t *sending)
{
    uint64_t from = sending->again_done, to = sending->gap_to;
    if (from < sending->acked)
        from = sending->acked;
    if (to > sending->next)
        to = sending->next;
    sending->gap_due_ns = 0;
    if (to <= from)
        return;
    if (sending->again_from >= sending->again_to)
        sending->again_from = from;
    sending->again_to = sending->again_done = to;
}

void
skn_sending_tick(skn_sending_t *sending, uint64_t now_ns)
{
    if (sending->gap_due_ns != 0 && now_ns >= sending->gap_due_ns)
        fill_gap(sending);
    if (sending->timeout_due_ns != 0 && now_ns >= sending->timeout_due_ns) {
        sending->timeouts++;
        sending->timeout_count++;
        go_back(sending);
        sending->flight_max = SKN_FRAGMENT_BYTES_MIN;
    }
}
