/* shuffle.c - a network that repeats and reorders fragments, between the
 * decoder of a node and the state machine of its links.
 *
 * Linked into a `skein` of its own with --wrap=skn_link_take: one fragment in
 * eight comes twice, one in four is held back until up to 64 later ones of its
 * link have come. A TCP connection does neither; the queues behind it may, and
 * another transport will. Seeded by SKEIN_SHUFFLE_SEED.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "transport/link/link.h"

#define LINKS_MAX 64
#define HELD_MAX 64

skn_status_t __real_skn_link_take(skn_link_t *link, uint64_t now_ns,
                                  skn_frame_t header, skn_frame_t body,
                                  skn_error_t *error);
skn_status_t __wrap_skn_link_take(skn_link_t *link, uint64_t now_ns,
                                  skn_frame_t header, skn_frame_t body,
                                  skn_error_t *error);

typedef struct held {
    uint8_t *bytes; /* header, then body; NULL: the place is free */
    size_t header_bytes, body_bytes;
    uint64_t until; /* as many have come */
} held_t;

typedef struct lane {
    skn_link_t *link;
    uint64_t come;
    held_t held[HELD_MAX];
} lane_t;

/* The link driver's thread alone. */
static lane_t lanes[LINKS_MAX];
static uint64_t state;

static uint32_t
draw(uint32_t end)
{
    const char *seed = getenv("SKEIN_SHUFFLE_SEED");
    if (state == 0)
        state = seed ? strtoull(seed, NULL, 10) * 2 + 1 : 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % end;
}

static lane_t *
lane_of(skn_link_t *link)
{
    size_t k = 0;
    while (k + 1 < LINKS_MAX && lanes[k].link && lanes[k].link != link)
        k++;
    lanes[k].link = link;
    return &lanes[k];
}

static bool
hold(lane_t *lane, skn_frame_t header, skn_frame_t body)
{
    for (size_t k = 0; k < HELD_MAX; k++) {
        held_t *held = &lane->held[k];
        if (held->bytes)
            continue;
        held->bytes = malloc(header.bytes + body.bytes + 1);
        if (!held->bytes)
            return false;
        memcpy(held->bytes, header.at, header.bytes);
        if (body.bytes > 0)
            memcpy(held->bytes + header.bytes, body.at, body.bytes);
        held->header_bytes = header.bytes;
        held->body_bytes = body.bytes;
        /* Mostly a few: a run that waits for the last of 64 waits long. */
        held->until = lane->come + 1 + draw(draw(8) == 0 ? 64 : 4);
        return true;
    }
    return false;
}

static void
release(lane_t *lane, uint64_t now_ns)
{
    for (size_t k = 0; k < HELD_MAX; k++) {
        held_t *held = &lane->held[k];
        if (!held->bytes || held->until > lane->come)
            continue;
        uint8_t *bytes = held->bytes;
        held->bytes = NULL;
        (void)__real_skn_link_take(
            lane->link, now_ns, (skn_frame_t){ bytes, held->header_bytes },
            (skn_frame_t){ bytes + held->header_bytes, held->body_bytes },
            NULL);
        free(bytes);
    }
}

skn_status_t
__wrap_skn_link_take(skn_link_t *link, uint64_t now_ns, skn_frame_t header,
                     skn_frame_t body, skn_error_t *error)
{
    lane_t *lane = lane_of(link);
    skn_status_t status = SKN_OK;
    lane->come++;
    bool late = draw(4) == 0 && hold(lane, header, body);
    if (!late)
        status = __real_skn_link_take(link, now_ns, header, body, error);
    if (draw(8) == 0)
        (void)__real_skn_link_take(link, now_ns, header, body, NULL);
    release(lane, now_ns);
    return status;
}
