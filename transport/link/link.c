/* link.c - the link protocol between two nodes: life, records, time.
 *
 * This file owns: options, states, counters, timers of a link. Identity of the
 * peer: link_hello.c. Fragments: link_lanes.c. The two streams: sending.c and
 * receiving.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/link/link.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "transport/link/link_internal.h"

#define LINK_WINDOW_BYTES ((size_t)8 << 20)
#define QUEUE_BYTES ((size_t)256 << 20)
#define MS UINT64_C(1000000)

/* --- names --------------------------------------------------------------- */

const char *
skn_link_reason_text(skn_link_reason_t reason)
{
    static const char *const texts[] = {
#define R(name, word, text) text,
        SKN_LINK_REASONS(R)
#undef R
    };
    return (size_t)reason < SKN_LINK_REASON_COUNT ? texts[reason] : NULL;
}

const char *
skn_link_reason_name(skn_link_reason_t reason)
{
    static const char *const words[] = {
#define R(name, word, text) word,
        SKN_LINK_REASONS(R)
#undef R
    };
    return (size_t)reason < SKN_LINK_REASON_COUNT ? words[reason] : NULL;
}

/* --- life ---------------------------------------------------------------- */

static void
size_default(size_t *option, size_t value)
{
    *option = *option ? *option : value;
}

static void
time_default(uint64_t *option, uint64_t value)
{
    *option = *option ? *option : value;
}

static skn_status_t
check_options(const skn_link_options_t *options, skn_error_t *error)
{
    if (!options->node_name || !options->peer_name)
        return skn_fail(error, SKN_BAD_CONFIG, "link: a node has no name");
    if (options->node == options->peer)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "link: node %u cannot link to itself", options->node);
    if (options->incarnation == 0)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "link: the node has no incarnation");
    if (options->fragment_bytes > SKN_FRAGMENT_BYTES_MAX)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "link: fragments of %zu bytes, at most %zu allowed",
                        options->fragment_bytes, SKN_FRAGMENT_BYTES_MAX);
    if (options->window_bytes > SKN_RECORD_BYTES_MAX)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "link: a window of %zu bytes, at most %zu allowed",
                        options->window_bytes, SKN_RECORD_BYTES_MAX);
    if (options->record_bytes_max > SKN_RECORD_BYTES_MAX)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "link: records of %zu bytes, at most %zu allowed",
                        options->record_bytes_max, SKN_RECORD_BYTES_MAX);
    return SKN_OK;
}

static void
copy_options(skn_link_t *link, const skn_link_options_t *options)
{
    skn_link_options_t *own = &link->options;
    *own = *options;
    (void)snprintf(link->node_name, sizeof(link->node_name), "%s",
                   options->node_name);
    (void)snprintf(link->peer_name, sizeof(link->peer_name), "%s",
                   options->peer_name);
    own->node_name = link->node_name;
    own->peer_name = link->peer_name;
    size_default(&own->fragment_bytes, SKN_FRAGMENT_BYTES_MAX);
    size_default(&own->window_bytes, LINK_WINDOW_BYTES);
    size_default(&own->record_bytes_max, SKN_RECORD_BYTES_MAX);
    size_default(&own->queue_bytes_max, QUEUE_BYTES);
    time_default(&own->ack_delay_ns, 5 * MS);
    time_default(&own->pulse_ns, 1000 * MS);
    time_default(&own->suspect_ns, 4000 * MS);
    time_default(&own->silence_ns, 10000 * MS);
    link->has_run = skn_link_run_is_known(own->run);
}

skn_link_t *
skn_link_new(const skn_link_options_t *options, skn_error_t *error)
{
    if (check_options(options, error) != SKN_OK)
        return NULL;
    skn_link_t *link = calloc(1, sizeof(*link));
    if (!link) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a link");
        return NULL;
    }
    copy_options(link, options);
    skn_receiving_init(&link->receiving, link->options.window_bytes,
                       link->options.record_bytes_max);
    if (skn_sending_init(&link->sending, error) != SKN_OK) {
        free(link);
        return NULL;
    }
    return link;
}

void
skn_link_destroy(skn_link_t **link)
{
    if (!*link)
        return;
    skn_sending_fini(&(*link)->sending);
    skn_receiving_fini(&(*link)->receiving);
    free(*link);
    *link = NULL;
}

skn_link_state_t
skn_link_state(const skn_link_t *link)
{
    return link->state;
}

bool
skn_link_is_open(const skn_link_t *link)
{
    return link->state == SKN_LINK_LIVE || link->state == SKN_LINK_SUSPECT;
}

const skn_error_t *
skn_link_failure(const skn_link_t *link)
{
    return link->state == SKN_LINK_DEAD ? &link->failure : NULL;
}

void
skn_link_count(const skn_link_t *link, skn_link_counts_t *counts)
{
    const skn_sending_t *sending = &link->sending;
    const skn_receiving_t *receiving = &link->receiving;
    *counts = link->counts;
    counts->records_taken = receiving->record_count;
    counts->record_bytes_taken = receiving->record_bytes_total;
    counts->timeouts = sending->timeout_count;
    counts->queue_bytes = sending->end - sending->acked;
    counts->in_flight_bytes = skn_sending_in_flight(sending);
    counts->credit_bytes =
        sending->credit > sending->sent ? sending->credit - sending->sent : 0;
    counts->arrived_bytes = receiving->arrived - receiving->moved;
    for (size_t k = 0; k < receiving->held_count; k++)
        counts->arrived_bytes +=
            receiving->held[k].to - receiving->held[k].from;
    counts->memory_bytes = sizeof(*link) + SKN_FRAGMENT_BYTES_MAX +
                           skn_chunks_memory_bytes(&sending->chunks) +
                           skn_chunks_memory_bytes(&receiving->chunks) +
                           receiving->capacity;
    counts->fragment_bytes =
        skn_pace_fragment_bytes(&sending->pace, link->options.fragment_bytes);
    counts->rtt_ns = sending->pace.rtt_ns;
    counts->rtt_min_ns = sending->pace.rtt_min_ns;
    counts->pulse_rtt_ns = link->pulse_rtt_ns;
    counts->bytes_per_second = (uint64_t)sending->pace.bytes_per_second;
    if (link->established && link->now_ns > link->heard_ns)
        counts->silent_ns = link->now_ns - link->heard_ns;
}

bool
skn_link_run(const skn_link_t *link, uint8_t run[SKN_LINK_RUN_BYTES])
{
    memcpy(run, link->options.run, SKN_LINK_RUN_BYTES);
    return link->has_run;
}

void
skn_link_set_run(skn_link_t *link, const uint8_t run[SKN_LINK_RUN_BYTES])
{
    if (link->has_run || !skn_link_run_is_known(run))
        return;
    memcpy(link->options.run, run, SKN_LINK_RUN_BYTES);
    link->has_run = true;
    skn_link_want_hello(link, 0, true);
}

/* --- records ------------------------------------------------------------- */

static skn_status_t
check_send(const skn_link_t *link, uint64_t byte_count, skn_error_t *error)
{
    if (link->state == SKN_LINK_DEAD) {
        if (error)
            *error = link->failure;
        return link->failure.status;
    }
    if (link->finish_wanted)
        return skn_fail(error, SKN_UNAVAILABLE,
                        "the link to node '%s' is already finished",
                        link->peer_name);
    if (byte_count == 0 || byte_count > SKN_RECORD_BYTES_MAX)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "node '%s': a record of %llu bytes, 1 to %zu allowed",
                        link->peer_name, (unsigned long long)byte_count,
                        SKN_RECORD_BYTES_MAX);
    if (skn_link_queued_bytes(link) > link->options.queue_bytes_max)
        return skn_fail(error, SKN_BUSY,
                        "node '%s': %zu bytes are queued, at most %zu allowed",
                        link->peer_name, skn_link_queued_bytes(link),
                        link->options.queue_bytes_max);
    return SKN_OK;
}

skn_status_t
skn_link_send(skn_link_t *link, const skn_frame_t *frame, size_t frame_count,
              skn_error_t *error)
{
    uint64_t byte_count = 0;
    /* No single frame can overflow the sum: each adds at most the limit and
     * one. */
    for (size_t k = 0; k < frame_count; k++)
        byte_count += frame[k].bytes <= SKN_RECORD_BYTES_MAX
                          ? frame[k].bytes
                          : SKN_RECORD_BYTES_MAX + 1;
    skn_status_t status = check_send(link, byte_count, error);
    if (status == SKN_OK)
        status = skn_sending_queue(&link->sending, frame, frame_count,
                                   (size_t)byte_count, error);
    if (status != SKN_OK)
        return status;
    link->counts.records_sent++;
    link->counts.record_bytes_sent += byte_count;
    return SKN_OK;
}

size_t
skn_link_queued_bytes(const skn_link_t *link)
{
    return (size_t)(link->sending.end - link->sending.acked);
}

uint64_t
skn_link_queued_end(const skn_link_t *link)
{
    return link->sending.end;
}

uint64_t
skn_link_acked_end(const skn_link_t *link)
{
    return link->sending.acked;
}

void
skn_link_moved(skn_link_t *link, bool sound, const skn_error_t *error)
{
    assert(sound || error->status != SKN_OK);
    assert(skn_receiving_credit(&link->receiving) >= link->said_credit);
    if (!sound && link->state != SKN_LINK_DEAD) {
        skn_error_t told;
        skn_error_clear(&told);
        (void)skn_fail(&told, error->status, "node '%s': %s", link->peer_name,
                       error->text);
        skn_link_die_of(link,
                        error->status == SKN_BAD_MESSAGE ? SKN_REFUSAL_RECORD
                                                         : SKN_REFUSAL_GAVE_UP,
                        &told);
    }
    uint64_t fresh = skn_receiving_credit(&link->receiving) - link->said_credit;
    uint64_t quarter = link->options.window_bytes / 4;
    if (fresh >= (quarter > 0 ? quarter : 1))
        link->ack_now = true;
}

bool
skn_link_record(skn_link_t *link, skn_frame_t *record)
{
    skn_error_t error;
    bool found = skn_receiving_record(&link->receiving, record, &error);
    skn_error_clear(&error);
    skn_link_moved(link, found || error.status == SKN_OK, &error);
    skn_link_settle(link);
    return found;
}

/* The end is a record of no bytes; it is retried while memory is missing. */
static void
queue_end(skn_link_t *link)
{
    if (link->finish_wanted && !link->sending.finished)
        (void)skn_sending_queue(&link->sending, NULL, 0, 0, NULL);
}

void
skn_link_finish(skn_link_t *link)
{
    link->finish_wanted = true;
    queue_end(link);
}

bool
skn_link_ended(const skn_link_t *link)
{
    return link->receiving.head == SKN_NEXT_RECORD_ENDED;
}

void
skn_link_settle(skn_link_t *link)
{
    if (skn_link_is_open(link) && skn_link_ended(link) &&
        link->sending.finished && link->sending.acked == link->sending.end)
        link->state = SKN_LINK_DONE;
}

/* --- time ---------------------------------------------------------------- */

void
skn_link_connected(skn_link_t *link, uint64_t now_ns)
{
    skn_link_tick(link, now_ns);
    link->connected = true;
    link->counts.connects++;
    link->hello_said = false;
    skn_sending_connected(&link->sending);
    skn_link_want_hello(link, 0, true);
}

void
skn_link_disconnected(skn_link_t *link, uint64_t now_ns)
{
    skn_link_tick(link, now_ns);
    link->connected = false;
    skn_sending_disconnected(&link->sending);
}

/* a + b, or UINT64_MAX if that overflows. */
static uint64_t
later(uint64_t a_ns, uint64_t b_ns)
{
    return b_ns > UINT64_MAX - a_ns ? UINT64_MAX : a_ns + b_ns;
}

static uint64_t
earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

uint64_t
skn_link_due_ns(const skn_link_t *link, uint64_t now_ns)
{
    uint64_t due_ns = UINT64_MAX;
    (void)now_ns;
    if (link->connected) {
        due_ns = skn_link_hello_due_ns(link);
        due_ns = earlier(due_ns, skn_sending_due_ns(&link->sending));
        if (link->ack_at_ns != 0 && !link->ack_now)
            due_ns = earlier(due_ns, link->ack_at_ns);
    }
    if (!skn_link_is_open(link))
        return due_ns;
    if (!link->pulse_due)
        due_ns = earlier(due_ns, link->pulse_at_ns);
    if (link->state == SKN_LINK_LIVE)
        due_ns =
            earlier(due_ns, later(link->heard_ns, link->options.suspect_ns));
    return earlier(due_ns, later(link->heard_ns, link->options.silence_ns));
}

static void
watch_silence(skn_link_t *link)
{
    assert(skn_link_is_open(link));
    uint64_t silent_ns =
        link->now_ns > link->heard_ns ? link->now_ns - link->heard_ns : 0;
    if (silent_ns >= link->options.silence_ns) {
        skn_error_t error;
        skn_error_clear(&error);
        (void)skn_fail(&error, SKN_UNAVAILABLE,
                       "node '%s' has not answered for %.1f s", link->peer_name,
                       (double)silent_ns / 1e9);
        skn_link_die_of(link, SKN_REFUSAL_SILENCE, &error);
    } else {
        link->state = silent_ns >= link->options.suspect_ns ? SKN_LINK_SUSPECT
                                                            : SKN_LINK_LIVE;
    }
}

void
skn_link_tick(skn_link_t *link, uint64_t now_ns)
{
    if (!link->started) {
        link->started = true;
        link->birth_ns = link->now_ns = now_ns;
    }
    if (now_ns < link->now_ns)
        now_ns = link->now_ns;
    uint64_t passed_ns = now_ns - link->now_ns;
    link->now_ns = now_ns;
    queue_end(link);
    if (link->connected) {
        if (link->sending.timeout_due_ns != 0 || link->sending.gap_due_ns != 0)
            skn_sending_tick(&link->sending, now_ns);
        if (link->ack_at_ns != 0 && now_ns >= link->ack_at_ns)
            link->ack_now = true;
        if (link->state == SKN_LINK_NEW && now_ns >= link->hello_at_ns)
            skn_link_want_hello(link, link->hello_due ? link->hello_to : 0,
                                true);
    }
    if (!skn_link_is_open(link))
        return;
    if (now_ns >= link->pulse_at_ns)
        link->pulse_due = true;
    /* We were stopped, or the machine slept: give the peer time to answer. */
    if (passed_ns > later(link->options.pulse_ns, SKN_STALL_NS))
        link->heard_ns += passed_ns - link->options.pulse_ns;
    watch_silence(link);
}
