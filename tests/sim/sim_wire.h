/* sim_wire.h - a simulated network from a seed, for sim_world.h.
 *
 * Packets in a heap by their time of arrival; lanes that lose, repeat, delay,
 * reorder and are slow; and fragments of strangers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_SIM_WIRE_H
#define TESTS_SIM_SIM_WIRE_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/link/fragment.h"
#include "transport/link/link.h"

#define SIM_MS UINT64_C(1000000)
#define SIM_S UINT64_C(1000000000)

/* A fragment under way; a heap by (time, number). */
typedef struct sim_packet {
    uint64_t at_ns, number;
    unsigned to;
    bool pulse;
    size_t header_bytes, body_bytes;
    uint8_t *bytes; /* header, then body */
} sim_packet_t;

typedef struct sim_lane { /* from one node to the other */
    bool up;              /* cut otherwise, and the sender was told */
    uint64_t dark_until;  /* a partition: nobody is told */
    uint64_t cut_until;
    uint64_t free_ns; /* when what was sent has left */
} sim_lane_t;

typedef struct sim_node {
    skn_link_options_t options;
    skn_link_t *link;
    sim_lane_t data, pulse; /* what leaves this node */
    uint64_t start, former; /* numbers of its starts; part of what it sends */
    uint32_t sent, wanted;  /* records */
    bool finished;
    uint32_t taken;      /* records, of this start */
    uint64_t peer_start; /* whose records came first; 0: none yet */
    uint64_t paused_until, reads_ns;
    skn_link_state_t state; /* last seen */
} sim_node_t;

typedef struct sim_world {
    uint64_t seed, random, now_ns, heal_ns, end_ns;
    /* The network. Chances are of 2^16. */
    uint32_t drop, twice, late, garbage, cut, dark, pause, slow;
    uint64_t delay_ns, jitter_ns, late_ns;
    double bytes_per_ns; /* 0: no limit */
    uint64_t buffer_ns;  /* a lane takes no more when it is so far behind */
    uint64_t fault_ns, fault_every_ns; /* the next fault, and between two */
    uint64_t restart_ns;               /* 0: none */
    unsigned misfit; /* 0 none, 1 config, 2 schemas, 3 data, 4 run */
    bool mortal;     /* silence can kill */
    uint32_t record_max;
    sim_node_t node[2];
    sim_packet_t *heap;
    size_t packet_count, packet_slots;
    uint64_t packets, steps, strangers;
    bool verbose;
    const char *wrong; /* the first invariant that broke */
} sim_world_t;

typedef struct sim_tally {
    uint64_t runs, done, dead, packets, steps, resent, duplicates, disorder;
    uint64_t timeouts, refused, restarts, seconds;
} sim_tally_t;

/* splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t
sim_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline uint64_t
sim_draw(sim_world_t *world)
{
    world->random += 0x9e3779b97f4a7c15u;
    return sim_mix(world->random);
}

/* Uniform in [0, n). */
static inline uint64_t
sim_below(sim_world_t *world, uint64_t n)
{
    return n ? sim_draw(world) % n : 0;
}

/* Uniform in its logarithm, in [low, high]. */
static inline uint64_t
sim_scale(sim_world_t *world, uint64_t low, uint64_t high)
{
    unsigned bits = 0;
    while (low << bits < high && bits < 62)
        bits++;
    uint64_t top = low << sim_below(world, bits + 1);
    uint64_t value = top / 2 + sim_below(world, top / 2 + 1);
    return value < low ? low : value > high ? high : value;
}

static inline bool
sim_chance(sim_world_t *world, uint32_t of_65536)
{
    return (sim_draw(world) & 0xffff) < of_65536;
}

__attribute__((format(printf, 2, 3))) static inline void
sim_say(const sim_world_t *world, const char *format, ...)
{
    if (!world->verbose)
        return;
    va_list arguments;
    va_start(arguments, format);
    (void)printf("%12.6f  ", (double)world->now_ns / 1e9);
    (void)vprintf(format, arguments);
    (void)printf("\n");
    va_end(arguments);
}

static inline void
sim_wrong(sim_world_t *world, const char *what)
{
    if (!world->wrong)
        world->wrong = what;
    sim_say(world, "WRONG: %s", what);
}

/* --- records ------------------------------------------------------------- */

static inline uint32_t
sim_record_bytes(const sim_world_t *world, uint64_t start, uint32_t number)
{
    uint64_t draw = sim_mix(world->seed * 31 + start * 7 + number);
    uint32_t most = world->record_max;
    if (draw % 4 == 0)
        most = most < 16 ? most : 16;
    else if (draw % 4 == 1)
        most = most / 8 + 1;
    return 1 + (uint32_t)(sim_mix(draw) % most);
}

static inline void
sim_record_write(const sim_world_t *world, uint64_t start, uint32_t number,
                 uint8_t *bytes, uint32_t byte_count)
{
    uint64_t word = 0;
    for (uint32_t k = 0; k < byte_count; k++) {
        if (k % 8 == 0)
            word = sim_mix(world->seed + start * 65537 +
                           (uint64_t)number * 8191 + k);
        bytes[k] = (uint8_t)(word >> 8 * (k % 8));
    }
}

/* --- the network --------------------------------------------------------- */

static inline bool
sim_before(const sim_packet_t *a, const sim_packet_t *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->number < b->number;
}

static inline void
sim_push(sim_world_t *world, sim_packet_t packet)
{
    if (world->packet_count == world->packet_slots) {
        world->packet_slots = world->packet_slots * 2 + 64;
        sim_packet_t *heap =
            realloc(world->heap, world->packet_slots * sizeof(*heap));
        if (!heap) {
            sim_wrong(world, "the simulator has no memory");
            free(packet.bytes);
            return;
        }
        world->heap = heap;
    }
    size_t at = world->packet_count++;
    packet.number = world->packets++;
    while (at > 0 && sim_before(&packet, &world->heap[(at - 1) / 2])) {
        world->heap[at] = world->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    world->heap[at] = packet;
}

static inline sim_packet_t
sim_pop(sim_world_t *world)
{
    sim_packet_t first = world->heap[0];
    sim_packet_t last = world->heap[--world->packet_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= world->packet_count)
            break;
        if (child + 1 < world->packet_count &&
            sim_before(&world->heap[child + 1], &world->heap[child]))
            child++;
        if (!sim_before(&world->heap[child], &last))
            break;
        world->heap[at] = world->heap[child];
        at = child;
    }
    if (world->packet_count > 0)
        world->heap[at] = last;
    return first;
}

static inline void
sim_put(sim_world_t *world, uint64_t at_ns, unsigned to, bool pulse,
        const skn_fragment_t *fragment)
{
    sim_packet_t packet = { .at_ns = at_ns, .to = to, .pulse = pulse };
    packet.header_bytes = fragment->header.bytes;
    packet.body_bytes = fragment->body.bytes;
    packet.bytes = malloc(packet.header_bytes + packet.body_bytes + 1);
    if (!packet.bytes) {
        sim_wrong(world, "the simulator has no memory");
        return;
    }
    memcpy(packet.bytes, fragment->header.at, packet.header_bytes);
    if (packet.body_bytes > 0)
        memcpy(packet.bytes + packet.header_bytes, fragment->body.at,
               packet.body_bytes);
    sim_push(world, packet);
}

static inline bool
sim_writable(const sim_world_t *world, const sim_lane_t *lane)
{
    return lane->free_ns <= world->now_ns + world->buffer_ns;
}

/* What a fragment says, for --verbose. */
static inline void
sim_tell(const sim_world_t *world, unsigned from, bool pulse,
         const skn_fragment_t *fragment, const char *fate)
{
    static const char *const types[] = { "?",     "hello",  "data",  "ack",
                                         "pulse", "answer", "refuse" };
    skn_fragment_header_t header;
    skn_link_reason_t reason;
    if (!world->verbose)
        return;
    (void)skn_fragment_read(fragment->header, fragment->body.bytes, &header,
                            &reason, NULL);
    sim_say(world,
            "%u%s %-6s at %" PRIu64 "+%zu ack %" PRIu64 " held %" PRIu64
            " credit %" PRIu64 " %s",
            from, pulse ? "p" : " ", types[header.type % 7], header.offset,
            fragment->body.bytes, header.ack, header.held, header.credit, fate);
}

static inline void
sim_send(sim_world_t *world, unsigned from, bool pulse,
         const skn_fragment_t *fragment)
{
    sim_node_t *node = &world->node[from];
    sim_lane_t *lane = pulse ? &node->pulse : &node->data;
    size_t bytes = fragment->header.bytes + fragment->body.bytes + 40;
    if (lane->free_ns < world->now_ns)
        lane->free_ns = world->now_ns;
    if (world->bytes_per_ns > 0.0)
        lane->free_ns += (uint64_t)((double)bytes / world->bytes_per_ns);
    uint64_t at_ns = lane->free_ns + world->delay_ns +
                     sim_below(world, world->jitter_ns + 1);
    if (sim_chance(world, world->late))
        at_ns += sim_below(world, world->late_ns + 1);
    if (!lane->up || lane->dark_until > world->now_ns ||
        sim_chance(world, world->drop)) {
        sim_tell(world, from, pulse, fragment, "LOST");
        return;
    }
    sim_tell(world, from, pulse, fragment, "");
    sim_put(world, at_ns, 1 - from, pulse, fragment);
    if (sim_chance(world, world->twice))
        sim_put(world, at_ns + sim_below(world, world->late_ns + 1), 1 - from,
                pulse, fragment);
}

/* A fragment that no link may use: bytes at random, or one that was sent with
 * a field of its header spoilt. */
static inline void
sim_stranger(sim_world_t *world, const sim_packet_t *packet)
{
    uint8_t header[SKN_FRAGMENT_HEADER_BYTES_MAX + 16];
    uint8_t body[64];
    skn_link_t *link = world->node[packet->to].link;
    skn_fragment_header_t real, spoilt;
    skn_link_reason_t reason;
    size_t bytes = packet->header_bytes;
    skn_frame_t frame = { packet->bytes, bytes };
    (void)skn_fragment_read(frame, packet->body_bytes, &real, &reason, NULL);
    memcpy(header, packet->bytes, bytes);
    uint64_t kind = sim_below(world, 3);
    if (kind == 0)
        bytes = sim_below(world, sizeof(header));
    for (uint64_t k = sim_below(world, 4); k > 0 && kind == 1 && bytes > 0; k--)
        header[sim_below(world, bytes)] = (uint8_t)sim_draw(world);
    for (size_t k = packet->header_bytes; k < bytes; k++)
        header[k] = (uint8_t)sim_draw(world);
    memset(body, 0x5a, sizeof(body));
    frame = (skn_frame_t){ header, bytes };
    skn_frame_t other = { body, sim_below(world, sizeof(body) + 1) };
    bool sound =
        skn_fragment_read(frame, other.bytes, &spoilt, &reason, NULL) == SKN_OK;
    /* It would be the peer's own word. */
    if (sound && spoilt.incarnation == real.incarnation &&
        (spoilt.peer == real.peer || spoilt.peer == 0) &&
        memcmp(spoilt.run, real.run, sizeof(real.run)) == 0 &&
        spoilt.node == real.node)
        return;
    if (sound && spoilt.type == SKN_FRAGMENT_REFUSE &&
        skn_link_state(link) == SKN_LINK_NEW)
        return; /* believed before the hello */
    if (!sound && reason == SKN_LINK_REASON_VERSION &&
        skn_link_state(link) == SKN_LINK_NEW)
        return; /* the same */
    if (sound && spoilt.type == SKN_FRAGMENT_HELLO)
        return; /* another start of the peer, as far as anybody can tell */
    world->strangers++;
    if (skn_link_take(link, world->now_ns, frame, other, NULL) == SKN_OK)
        sim_wrong(world, "a stranger's fragment was used");
}

#endif
