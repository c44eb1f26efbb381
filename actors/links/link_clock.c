/* link_clock.c - collects the usage of all nodes for an actor that asks for it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/links/links_internal.h"
#include "actors/machine/usage.h"
#include "transport/socket/clock.h"

/* The usage of a node, as it is sent. */
typedef struct used {
    uint64_t cpu_ns, rss_bytes, sent_bytes, received_bytes;
} used_t;

static used_t
used_here(const skn_links_t *links)
{
    skn_usage_t usage;
    used_t used;
    skn_system_usage(links->system, &usage);
    used.cpu_ns = usage.cpu_ns;
    used.rss_bytes = usage.rss_bytes;
    skn_links_bytes(links, &used.sent_bytes, &used.received_bytes);
    return used;
}

static void
add(skn_clock_t *clock, const used_t *used)
{
    clock->cpu_ns += used->cpu_ns;
    clock->rss_bytes += used->rss_bytes;
    clock->wire_sent_bytes += used->sent_bytes;
    clock->wire_received_bytes += used->received_bytes;
}

/* The outlet to the inbox of an actor, made when the actor first asks. */
static skn_outlet_t *
outlet_of(skn_links_t *links, uint32_t actor, skn_error_t *error)
{
    assert(actor < links->system->actor_count);
    if (!links->askers[actor])
        links->askers[actor] = skn_system_outlet(links->system, actor, error);
    return links->askers[actor];
}

/* Sends the sum to the actor that asked, after all nodes have answered. */
static skn_status_t
answer(skn_links_t *links, skn_link_question_t *question, skn_error_t *error)
{
    skn_outlet_t *outlet = outlet_of(links, question->actor, error);
    skn_clock_t *clock = outlet ? malloc(sizeof(*clock)) : NULL;
    question->open = false;
    if (!outlet)
        return SKN_NO_MEMORY;
    if (!clock)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a clock");
    *clock = question->clock;
    clock->wall_ns = skn_monotonic_ns();
    skn_parcel_t parcel = { .type = SKN_PARCEL_CLOCK, .pointer = clock };
    return skn_outlet_put(outlet, &parcel, error);
}

skn_status_t
skn_links_ask_clock(skn_links_t *links, const skn_parcel_t *parcel,
                    skn_error_t *error)
{
    skn_link_question_t *question =
        &links->questions[links->question_count % SKN_LINK_QUESTIONS];
    if (question->open)
        return skn_fail(error, SKN_INTERNAL,
                        "more than %u clock requests at once",
                        SKN_LINK_QUESTIONS);
    used_t used = used_here(links);
    *question = (skn_link_question_t){ .open = true,
                                       .number = links->question_count++,
                                       .actor = parcel->slot,
                                       .missing = links->node_count - 1 };
    question->clock.tag = parcel->number;
    add(&question->clock, &used);
    skn_record_t record = { .kind = SKN_RECORD_ASK,
                            .number = question->number };
    return skn_links_send_all(links, &record, NULL, error);
}

/* Sends our usage to a peer. A peer that asked without taking the answers would
 * make us queue them without end, so it must not ask again before it has
 * acknowledged the answer SKN_LINK_QUESTIONS before. */
skn_status_t
skn_links_tell_usage(skn_links_t *links, skn_link_peer_t *peer, uint64_t number,
                     skn_error_t *error)
{
    uint64_t *end = &peer->answer_end[peer->answer_count % SKN_LINK_QUESTIONS];
    if (*end > skn_link_acked_end(peer->link)) {
        peer->records_refused[SKN_RECORD_REASON_QUESTION]++;
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "node '%s' made more than %u clock requests at once",
                        peer->node->name, SKN_LINK_QUESTIONS);
    }
    used_t used = used_here(links);
    skn_record_t record = { .kind = SKN_RECORD_USAGE, .number = number };
    skn_wire_t wire = { .frame_count = 1 };
    wire.frame[0] = (skn_frame_t){ &used, sizeof(used) };
    skn_status_t status = skn_links_send(peer, &record, &wire, error);
    *end = skn_link_queued_end(peer->link);
    peer->answer_count++;
    return status;
}

skn_status_t
skn_links_take_usage(skn_links_t *links, skn_link_peer_t *peer, uint64_t number,
                     skn_frame_t frame, skn_error_t *error)
{
    skn_link_question_t *question =
        &links->questions[number % SKN_LINK_QUESTIONS];
    uint64_t bit = UINT64_C(1) << (peer->number % 64);
    used_t used;
    if (!question->open || question->number != number ||
        frame.bytes != sizeof(used) ||
        (question->answered[peer->number / 64] & bit)) {
        peer->records_refused[SKN_RECORD_REASON_QUESTION]++;
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "node '%s' answered clock request %" PRIu64 ", which "
                        "was never made",
                        peer->node->name, number);
    }
    question->answered[peer->number / 64] |= bit;
    assert(question->missing > 0);
    memcpy(&used, frame.at, sizeof(used));
    add(&question->clock, &used);
    return --question->missing == 0 ? answer(links, question, error) : SKN_OK;
}
