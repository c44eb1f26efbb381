/* sim_world.h - simulates two links, a clock and a network, all from a seed.
 *
 * A world is drawn from its seed: sizes, windows, delays, losses, repetitions,
 * disorder, cuts, partitions, pauses, slow readers, a restart, a peer that does
 * not fit, strangers. After `heal_ns` no more faults occur, and both links must
 * come to their end, or be dead for a reason that was planted. Checked after
 * every step: records once, in order, with equal bytes; memory within its
 * bound. SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_SIM_WORLD_H
#define TESTS_SIM_SIM_WORLD_H

#include "tests/sim/sim_wire.h"
#include "tests/support/link_states.h"
#include "transport/link/chunks.h"

/* --- nodes --------------------------------------------------------------- */

static inline void
sim_start(sim_world_t *world, unsigned which)
{
    sim_node_t *node = &world->node[which];
    skn_link_destroy(&node->link);
    node->former = node->start;
    node->start = sim_draw(world) | 1;
    node->options.incarnation = node->start;
    node->sent = node->taken = 0;
    node->peer_start = 0;
    node->finished = false;
    node->state = SKN_LINK_NEW;
    skn_error_t error = { 0 };
    node->link = skn_link_new(&node->options, &error);
    if (!node->link) {
        sim_wrong(world, "no link");
        return;
    }
    skn_link_tick(node->link, world->now_ns);
    if (node->data.up)
        skn_link_connected(node->link, world->now_ns);
}

static inline bool
sim_is_record(const sim_world_t *world, const sim_node_t *node,
              skn_frame_t record)
{
    static uint8_t want[1u << 20];
    uint32_t bytes = sim_record_bytes(world, node->peer_start, node->taken);
    sim_record_write(world, node->peer_start, node->taken, want, bytes);
    return record.bytes == bytes && memcmp(record.at, want, bytes) == 0;
}

static inline void
sim_check_record(sim_world_t *world, unsigned which, skn_frame_t record)
{
    sim_node_t *node = &world->node[which];
    const sim_node_t *peer = &world->node[1 - which];
    if (node->peer_start == 0) { /* it shows in the first record */
        node->peer_start = peer->start;
        if (!sim_is_record(world, node, record))
            node->peer_start = peer->former;
    }
    if (!sim_is_record(world, node, record))
        sim_wrong(world, "a record is not the one that was sent next");
    node->taken++;
}

static inline void
sim_check_memory(sim_world_t *world, const sim_node_t *node)
{
    skn_link_counts_t counts;
    skn_link_count(node->link, &counts);
    size_t window = node->options.window_bytes;
    size_t slots = sizeof(void *) * (8 + 2 * (counts.queue_bytes + window) /
                                             SKN_STREAM_CHUNK_BYTES);
    uint64_t bound = 8192 + SKN_FRAGMENT_BYTES_MAX + counts.queue_bytes +
                     window + 4 * SKN_STREAM_CHUNK_BYTES + world->record_max +
                     4096 + slots;
    if (counts.memory_bytes > bound)
        sim_wrong(world, "memory beyond its bound");
    if (skn_link_state(node->link) == SKN_LINK_DONE && counts.queue_bytes > 0)
        sim_wrong(world, "a link is done before all is acked");
    if (counts.arrived_bytes > window)
        sim_wrong(world, "more has arrived than the window allows");
    if (counts.queue_bytes >
        node->options.queue_bytes_max + world->record_max + 8)
        sim_wrong(world, "the queue is longer than allowed");
}

static inline void
sim_feed(sim_world_t *world, sim_node_t *node)
{
    static uint8_t bytes[1u << 20];
    while (node->sent < node->wanted) {
        uint32_t count = sim_record_bytes(world, node->start, node->sent);
        sim_record_write(world, node->start, node->sent, bytes, count);
        uint32_t half = count / 2;
        skn_frame_t frames[3] = { { bytes, half },
                                  { NULL, 0 },
                                  { bytes + half, count - half } };
        if (skn_link_send(node->link, frames, 3, NULL) != SKN_OK)
            return;
        node->sent++;
    }
    if (!node->finished)
        skn_link_finish(node->link);
    node->finished = true;
}

static inline void
sim_drive(sim_world_t *world, unsigned which)
{
    sim_node_t *node = &world->node[which];
    skn_fragment_t fragment;
    skn_frame_t record;
    if (node->paused_until > world->now_ns)
        return;
    skn_link_tick(node->link, world->now_ns);
    if (node->reads_ns <= world->now_ns)
        while (skn_link_record(node->link, &record)) {
            sim_check_record(world, which, record);
            if (world->now_ns < world->heal_ns &&
                sim_chance(world, world->slow)) {
                node->reads_ns = world->now_ns + sim_below(world, 200 * SIM_MS);
                break;
            }
        }
    sim_feed(world, node);
    while (node->data.up && sim_writable(world, &node->data) &&
           skn_link_next(node->link, world->now_ns, &fragment))
        sim_send(world, which, false, &fragment);
    while (sim_writable(world, &node->pulse) &&
           skn_link_next_pulse(node->link, world->now_ns, &fragment))
        sim_send(world, which, true, &fragment);
    sim_check_memory(world, node);
    skn_link_state_t state = skn_link_state(node->link);
    if (state != node->state) {
        const skn_error_t *why = skn_link_failure(node->link);
        sim_say(world, "%u is %s%s%s", which, link_state_name(state),
                why ? ": " : "", why ? why->text : "");
        node->state = state;
    }
}

/* --- faults -------------------------------------------------------------- */

static inline void
sim_cut(sim_world_t *world, unsigned which)
{
    sim_node_t *node = &world->node[which];
    if (!node->data.up)
        return;
    sim_say(world, "%u CUT", which);
    node->data.up = false;
    node->data.cut_until = world->now_ns + sim_scale(world, SIM_MS, 8 * SIM_S);
    skn_link_disconnected(node->link, world->now_ns);
    if (sim_chance(world, 32768))
        return; /* what is under way still arrives */
    for (size_t k = 0; k < world->packet_count; k++) {
        sim_packet_t *packet = &world->heap[k];
        if (packet->to != which && !packet->pulse)
            packet->header_bytes = 0; /* dropped when its time comes */
    }
}

static inline void
sim_fault(sim_world_t *world)
{
    unsigned which = (unsigned)sim_below(world, 2);
    sim_node_t *node = &world->node[which];
    if (sim_chance(world, world->cut))
        sim_cut(world, which);
    if (sim_chance(world, world->dark)) {
        uint64_t until = world->now_ns + sim_scale(world, SIM_MS, 8 * SIM_S);
        sim_say(world, "%u DARK until %.3f", which, (double)until / 1e9);
        node->data.dark_until = until;
        if (sim_chance(world, 32768))
            node->pulse.dark_until = until;
    }
    if (sim_chance(world, world->pause)) {
        node->paused_until =
            world->now_ns + sim_scale(world, SIM_MS, 20 * SIM_S);
        sim_say(world, "%u PAUSES until %.3f", which,
                (double)node->paused_until / 1e9);
    }
    world->fault_ns =
        world->now_ns + 1 + sim_below(world, world->fault_every_ns);
}

static inline void
sim_heal(sim_world_t *world)
{
    sim_say(world, "HEALED");
    world->drop = world->twice = world->late = world->garbage = 0;
    world->slow = 0;
    world->fault_ns = UINT64_MAX;
    for (unsigned k = 0; k < 2; k++) {
        sim_node_t *node = &world->node[k];
        node->data.dark_until = node->pulse.dark_until = 0;
        node->paused_until = node->reads_ns = 0;
        if (!node->data.up) {
            node->data.up = true;
            skn_link_connected(node->link, world->now_ns);
        }
    }
}

/* --- a run --------------------------------------------------------------- */

static inline void
sim_draw_options(sim_world_t *world)
{
    static const char *const names[] = { "a", "b" };
    for (unsigned k = 0; k < 2; k++) {
        skn_link_options_t *options = &world->node[k].options;
        *options = (skn_link_options_t){ 0 };
        options->node_name = names[k];
        options->peer_name = names[1 - k];
        options->node = k;
        options->peer = 1 - k;
        options->config_hash = options->schemas_hash = options->data_hash = 1;
        if (k == 0 || sim_chance(world, 16384))
            memset(options->run, 7, sizeof(options->run));
        options->fragment_bytes = sim_scale(world, 1, SKN_FRAGMENT_BYTES_MAX);
        options->window_bytes = sim_scale(world, 1, 1 << 20);
        options->queue_bytes_max = sim_scale(world, 1, 1 << 20);
        options->ack_delay_ns = sim_scale(world, 1000, 50 * SIM_MS);
        options->silence_ns = world->mortal ? 10 * SIM_S : UINT64_MAX;
    }
    skn_link_options_t *other = &world->node[1].options;
    other->config_hash += world->misfit == 1;
    other->schemas_hash += world->misfit == 2;
    other->data_hash += world->misfit == 3;
    if (world->misfit == 4)
        memset(other->run, 9, sizeof(other->run));
}

/* Records enough for some hundred fragments, few enough for a short run. */
static inline void
sim_draw_work(sim_world_t *world)
{
    size_t piece = UINT64_MAX;
    for (unsigned k = 0; k < 2; k++) {
        const skn_link_options_t *options = &world->node[k].options;
        piece =
            options->fragment_bytes < piece ? options->fragment_bytes : piece;
        piece = options->window_bytes < piece ? options->window_bytes : piece;
    }
    uint64_t bytes = 16 + piece * sim_scale(world, 1, 400);
    bytes = bytes < 1 << 20 ? bytes : 1 << 20;
    world->record_max = (uint32_t)sim_scale(world, 1, bytes / 2);
    for (unsigned k = 0; k < 2; k++) {
        uint64_t count = bytes / (world->record_max / 2 + 1);
        world->node[k].wanted = (uint32_t)sim_below(world, count + 2);
        if (world->node[k].wanted > 500)
            world->node[k].wanted = 500;
    }
    world->bytes_per_ns = 0.0;
    /* 4 kB/s or more, and all of it in half a minute at most: 300 bytes for
     * each header, ack and envelope. */
    if (sim_chance(world, 32768))
        world->bytes_per_ns =
            4e-6 + (double)(bytes + 300 * (bytes / piece + 10)) /
                       (double)sim_scale(world, SIM_S / 10, 30 * SIM_S);
}

static inline void
sim_open(sim_world_t *world, uint64_t seed, bool verbose)
{
    static const uint32_t chances[] = { 0, 0, 650, 6500, 20000 };
#define SIM_CHANCE() chances[sim_below(world, 5)]
    *world = (sim_world_t){ .seed = seed, .random = sim_mix(seed + 1) };
    world->verbose = verbose;
    world->now_ns = sim_below(world, UINT64_C(1) << 40);
    world->mortal = sim_chance(world, 16384);
    world->misfit =
        sim_chance(world, 3000) ? 1 + (unsigned)sim_below(world, 4) : 0;
    world->drop = SIM_CHANCE();
    world->twice = SIM_CHANCE();
    world->late = SIM_CHANCE();
    world->garbage = SIM_CHANCE() / 4;
    world->cut = SIM_CHANCE();
    world->dark = SIM_CHANCE();
    world->pause = SIM_CHANCE() / 4;
    world->slow = SIM_CHANCE();
#undef SIM_CHANCE
    world->delay_ns = sim_scale(world, 1000, 100 * SIM_MS);
    world->jitter_ns = sim_below(world, world->delay_ns + 1);
    world->late_ns = sim_scale(world, 1000, 2 * SIM_S);
    world->buffer_ns = sim_scale(world, SIM_MS, 4 * SIM_S);
    world->fault_every_ns = sim_scale(world, 10 * SIM_MS, 10 * SIM_S);
    world->fault_ns = world->now_ns + sim_below(world, world->fault_every_ns);
    world->heal_ns = world->now_ns + sim_scale(world, SIM_S, 60 * SIM_S);
    world->end_ns = world->heal_ns + 300 * SIM_S;
    sim_draw_options(world);
    sim_draw_work(world);
    if (sim_chance(world, 3000))
        world->restart_ns =
            world->now_ns + sim_below(world, world->heal_ns - world->now_ns);
    for (unsigned k = 0; k < 2; k++) {
        world->node[k].data.up = world->node[k].pulse.up = true;
        sim_start(world, k);
    }
}

static inline void
sim_close(sim_world_t *world)
{
    for (size_t k = 0; k < world->packet_count; k++)
        free(world->heap[k].bytes);
    free(world->heap);
    for (unsigned k = 0; k < 2; k++)
        skn_link_destroy(&world->node[k].link);
}

static inline uint64_t
sim_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* When a node has something to do by itself. */
static inline uint64_t
sim_node_due(const sim_world_t *world, const sim_node_t *node)
{
    uint64_t due_ns = skn_link_due_ns(node->link, world->now_ns);
    const sim_lane_t *lane = &node->data;
    if (node->reads_ns > world->now_ns)
        due_ns = sim_least(due_ns, node->reads_ns);
    for (int k = 0; k < 2; k++, lane = &node->pulse)
        if (!sim_writable(world, lane))
            due_ns = sim_least(due_ns, lane->free_ns - world->buffer_ns);
    if (node->paused_until > due_ns)
        due_ns = node->paused_until;
    if (node->paused_until > world->now_ns)
        due_ns = sim_least(due_ns, node->paused_until);
    if (!node->data.up)
        due_ns = sim_least(due_ns, node->data.cut_until);
    return due_ns;
}

static inline void
sim_arrive(sim_world_t *world)
{
    sim_packet_t packet = sim_pop(world);
    sim_node_t *node = &world->node[packet.to];
    if (packet.header_bytes > 0 && node->paused_until > world->now_ns) {
        packet.at_ns = node->paused_until;
        sim_push(world, packet);
        return;
    }
    if (packet.header_bytes > 0) {
        if (sim_chance(world, world->garbage))
            sim_stranger(world, &packet);
        skn_frame_t header = { packet.bytes, packet.header_bytes };
        skn_frame_t body = { packet.bytes + packet.header_bytes,
                             packet.body_bytes };
        (void)skn_link_take(node->link, world->now_ns, header, body, NULL);
    }
    free(packet.bytes);
}

/* Both are at their ends, one way or the other. */
static inline bool
sim_is_over(const sim_world_t *world)
{
    for (unsigned k = 0; k < 2; k++) {
        skn_link_state_t state = skn_link_state(world->node[k].link);
        if (state != SKN_LINK_DONE && state != SKN_LINK_DEAD)
            return false;
    }
    return true;
}

static inline void
sim_step(sim_world_t *world)
{
    uint64_t next_ns = sim_least(world->fault_ns, world->end_ns);
    if (world->heal_ns > world->now_ns)
        next_ns = sim_least(next_ns, world->heal_ns);
    if (world->restart_ns > world->now_ns)
        next_ns = sim_least(next_ns, world->restart_ns);
    for (unsigned k = 0; k < 2; k++)
        next_ns = sim_least(next_ns, sim_node_due(world, &world->node[k]));
    if (world->packet_count > 0)
        next_ns = sim_least(next_ns, world->heap[0].at_ns);
    if (world->steps == 0) /* what needs no time comes first */
        next_ns = world->now_ns;
    bool heals = world->now_ns < world->heal_ns && next_ns >= world->heal_ns;
    bool restarts =
        world->now_ns < world->restart_ns && next_ns >= world->restart_ns;
    if (next_ns > world->now_ns)
        world->now_ns = next_ns;
    world->steps++;
    if (world->now_ns >= world->fault_ns)
        sim_fault(world);
    if (restarts) {
        unsigned which = (unsigned)sim_below(world, 2);
        sim_say(world, "%u RESTARTS", which);
        sim_start(world, which);
    }
    if (heals)
        sim_heal(world);
    for (unsigned k = 0; k < 2; k++) {
        sim_lane_t *lane = &world->node[k].data;
        if (!lane->up && lane->cut_until <= world->now_ns) {
            lane->up = true;
            skn_link_connected(world->node[k].link, world->now_ns);
        }
    }
    while (world->packet_count > 0 && world->heap[0].at_ns <= world->now_ns)
        sim_arrive(world);
    for (unsigned k = 0; k < 2; k++)
        sim_drive(world, k);
}

/* Whether the ends are those that the world allows. */
static inline void
sim_check_ends(sim_world_t *world)
{
    bool may_die =
        world->misfit != 0 || world->restart_ns != 0 || world->mortal;
    unsigned dead = 0;
    for (unsigned k = 0; k < 2; k++) {
        sim_node_t *node = &world->node[k];
        const sim_node_t *other = &world->node[1 - k];
        if (skn_link_state(node->link) == SKN_LINK_DEAD) {
            dead++;
        } else if (node->taken != other->wanted) {
            sim_wrong(world, "a link is done without all of its records");
        }
    }
    if (dead > 0 && !may_die)
        sim_wrong(world, "a link died without a reason");
    if (world->misfit != 0 && dead < 2)
        sim_wrong(world, "a link to a peer that does not fit lives");
}

/* NULL, or what went wrong with `seed`. */
static inline const char *
sim_run(uint64_t seed, bool verbose, sim_tally_t *tally)
{
    static sim_world_t world;
    sim_open(&world, seed, verbose);
    uint64_t start_ns = world.now_ns;
    while (!world.wrong && !sim_is_over(&world)) {
        sim_step(&world);
        if (world.now_ns >= world.end_ns)
            sim_wrong(&world, "no end in time: a deadlock");
        if (world.steps > 3000000)
            sim_wrong(&world, "no end in steps: a busy loop");
    }
    if (!world.wrong)
        sim_check_ends(&world);
    tally->runs++;
    tally->packets += world.packets;
    tally->steps += world.steps;
    tally->seconds += (world.now_ns - start_ns) / SIM_S;
    tally->restarts += world.restart_ns != 0;
    for (unsigned k = 0; k < 2; k++) {
        skn_link_counts_t counts;
        skn_link_count(world.node[k].link, &counts);
        if (skn_link_state(world.node[k].link) == SKN_LINK_DONE)
            tally->done++;
        else
            tally->dead++;
        tally->resent += counts.resent_fragments;
        tally->duplicates += counts.duplicate_fragments;
        tally->disorder += counts.out_of_order_fragments;
        tally->timeouts += counts.timeouts;
        for (size_t r = 0; r < SKN_LINK_REASON_COUNT; r++)
            tally->refused += counts.refused[r];
    }
    const char *wrong = world.wrong;
    sim_close(&world);
    return wrong;
}

#endif
