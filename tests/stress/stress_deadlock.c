/* stress_deadlock.c - runs random topologies to their end, and accounts for
 * every message. Also for the thread sanitizer.
 *
 *     maker or gate ─▶ lockstep stages ─▶ free stages
 * In a lockstep stage every actor handles every batch once, so that parts can
 * be collected; a free stage takes anything and collects nothing. Such graphs
 * cannot deadlock with any credit from 1 up: the actor that is furthest behind
 * can always continue. Each stage may send among its own actors (peer pipes,
 * collected or not); a gated topology is a loop, closed by the last stage or by
 * answers. Later stages may answer earlier ones, and those the next; messages
 * that an answer causes end in a sink, if its pipe ends late
 * (actors/runtime/endings.h).
 *
 * Usage: stress_deadlock [SEED [COUNT]]; prints the seed; a watchdog prints a
 * topology that is stuck. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "actors/runtime/endings.h"
#include "transport/socket/clock.h"
#include "tests/support/flow_fixture.h"
#include "tests/support/sanitized.h"
#include "tests/support/tsan_libzmq.h"

#define TOPOLOGIES (is_spared(1) ? 100u : 300u)
/* Without a single message: some topologies have a million, and machines are
 * slow. */
#define STUCK_NS (UINT64_C(30) * 1000000000)
#define STAGES_MAX 7u
#define WIDTH_MAX 4u
#define PIPES_MAX 32u
#define KEYS 64u

/* What a pipe is fed by, and how: known to all actors, written before start. */
typedef struct lane {
    bool peer, split;
    uint32_t from, to; /* stages */
    uint32_t trigger;  /* lane whose messages make it send; PIPES_MAX: any */
    uint32_t fan;      /* messages sent for each */
    uint32_t copies;   /* received for each */
    uint64_t bounds[WIDTH_MAX + 1];
} lane_t;

/* One for each actor and lane; written by the actor's thread only. */
typedef struct tally {
    uint64_t posts, posted_sum, posted_keys;
    uint64_t got, got_sum, got_keys;
} tally_t;

typedef struct stage {
    uint32_t first, width;
    bool lockstep;
    uint32_t feed; /* the lane that feeds a lockstep stage */
} stage_t;

static flow_t flow;
static _Atomic uint64_t accounted; /* messages of all actors: the watchdog's */
static lane_t lanes[PIPES_MAX];
static stage_t stages[STAGES_MAX];
static uint32_t lane_count, stage_count;
static tally_t tallies[FLOW_ACTORS_MAX][PIPES_MAX];
static uint32_t stage_of[FLOW_ACTORS_MAX], spins[FLOW_ACTORS_MAX];
static skn_schema_t schemas[PIPES_MAX];
static uint64_t batch_count, window, answers_each;
static uint64_t random_state, reactions;

static uint32_t
below(uint32_t bound)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695041;
    return (uint32_t)((random_state >> 33) % bound);
}

/* --- the kinds ------------------------------------------------------------ */

static void
spin(const skn_actor_t *actor, uint64_t salt)
{
    uint32_t turns = spins[actor->number];
    turns = turns ? (uint32_t)(salt * 2654435761u) % turns : 0;
    for (volatile uint32_t k = 0; k < turns; k++)
        ;
    if (turns % 7 == 1)
        (void)sched_yield();
}

static skn_status_t
post(skn_actor_t *actor, uint32_t number, uint64_t batch, skn_error_t *error)
{
    const lane_t *lane = &lanes[number];
    tally_t *tally = &tallies[actor->number][number];
    uint64_t value = batch * 31 + actor->number + tally->posts;
    size_t count = lane->split ? (batch * 5 + actor->number) % KEYS : 0;
    size_t counts[] = { count, 0, 3 };
    token_t *token = skn_actor_message(actor, &schemas[number], counts, error);
    if (!token)
        return error->status;
    token->batch = batch;
    token->key = (uint32_t)(value % KEYS);
    token->value = lane->split ? 0 : value; /* slices repeat it */
    for (uint32_t k = 0; k < count; k++)
        token->run.at[k] = k + (uint32_t)(KEYS - count);
    tally->posts++;
    tally->posted_sum += token->value;
    for (uint32_t k = 0; k < count; k++)
        tally->posted_keys += token->run.at[k];
    return skn_actor_post(actor, token, error);
}

static uint32_t
lane_of(const void *message)
{
    return (uint32_t)(skn_payload_of(message)->schema - schemas);
}

/* Everything that a message of lane `cause` for `batch` makes an actor send. */
static skn_status_t
react(skn_actor_t *actor, uint32_t cause, uint64_t batch, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < lane_count; k++) {
        const lane_t *lane = &lanes[k];
        if (lane->from != stage_of[actor->number] ||
            (lane->trigger != cause && lane->trigger != PIPES_MAX) ||
            (lane->trigger == PIPES_MAX && lanes[cause].peer))
            continue;
        for (uint32_t i = 0; i < lane->fan && status == SKN_OK; i++)
            status = post(actor, k, batch, error);
    }
    return status;
}

static void
account(skn_actor_t *actor, uint32_t number, const token_t *token)
{
    tally_t *tally = &tallies[actor->number][number];
    tally->got++;
    tally->got_sum += token->value;
    for (size_t k = 0; k < token->run.count; k++)
        tally->got_keys += token->run.at[k];
    atomic_fetch_add_explicit(&accounted, 1, memory_order_relaxed);
}

static skn_status_t
on_parts(skn_actor_t *actor, const skn_parts_t *parts, skn_error_t *error)
{
    const token_t *first = parts->at[0];
    uint32_t number = lane_of(first);
    for (size_t k = 0; k < parts->count; k++) {
        const token_t *token = parts->at[k];
        if (token->batch != first->batch)
            return skn_fail(error, SKN_INTERNAL, "parts of two batches");
        account(actor, number, token);
    }
    spin(actor, first->batch);
    return react(actor, number, first->batch, error);
}

/* Which of the two it is, the pipe says. */
static skn_status_t
on_message(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *error)
{
    (void)state;
    const token_t *token = message;
    account(actor, lane_of(token), token);
    spin(actor, token->batch);
    return react(actor, lane_of(token), token->batch, error);
}

static skn_status_t
on_gathered(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *error)
{
    (void)state;
    return on_parts(actor, message, error);
}

static skn_handler_t handlers[STAGES_MAX][PIPES_MAX + 1];
static const skn_schema_t *sends[PIPES_MAX + 1];
static skn_kind_t kinds[STAGES_MAX];

/* Stage 0: the maker sends what it can; the gate keeps `window` in flight. */
typedef struct origin {
    uint64_t made, answers;
} origin_t;

static skn_status_t
origin_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    origin_t *origin = state;
    if (origin->made == batch_count &&
        origin->answers == batch_count * answers_each) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    if (origin->made == batch_count ||
        (answers_each > 0 && origin->made * answers_each >=
                                 origin->answers + window * answers_each)) {
        skn_actor_rest(actor);
        return SKN_OK;
    }
    spin(actor, origin->made);
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < lane_count && status == SKN_OK; k++)
        for (uint32_t i = 0; lanes[k].from == 0 && i < lanes[k].fan; i++)
            if (status == SKN_OK)
                status = post(actor, k, origin->made, error);
    origin->made++;
    return status;
}

static skn_status_t
on_answer(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *error)
{
    (void)error;
    account(actor, lane_of(message), message);
    ((origin_t *)state)->answers++;
    return SKN_OK;
}

/* --- random topologies ---------------------------------------------------- */

static void
add_stage(bool lockstep, uint32_t width, bool gated)
{
    uint32_t number = stage_count++;
    skn_kind_t *kind = &kinds[number];
    *kind =
        (skn_kind_t)SKN_KIND(.name = "stage", .state_bytes = sizeof(origin_t),
                             .options = flow_options,
                             .handlers = handlers[number], .sends = sends);
    if (number == 0) {
        kind->produce = origin_produce;
        kind->gate = gated;
    }
    stages[number] = (stage_t){ .width = width, .lockstep = lockstep };
    stages[number].first = flow_actors(&flow, kind, width, 0, 0);
    for (uint32_t k = 0; k < width; k++) {
        uint32_t actor = stages[number].first + k;
        (void)snprintf(flow.names[actor], sizeof(flow.names[actor]),
                       "stage%u.%u", number, k);
        stage_of[actor] = number;
        spins[actor] = below(3) ? below(3000) : 0;
    }
}

static void
set_bounds(lane_t *lane, uint32_t width)
{
    for (uint32_t k = 0; k <= width; k++)
        lane->bounds[k] = k * KEYS / width;
    if (width > 1 && below(3) == 0)
        lane->bounds[1] = lane->bounds[0]; /* somebody owns nothing */
}

static skn_wired_pipe_t *
add_lane(uint32_t from, uint32_t to, skn_pattern_t pattern, bool split,
         skn_collect_t collect, uint32_t credit)
{
    uint32_t number = lane_count++;
    lane_t *lane = &lanes[number];
    *lane = (lane_t){ .from = from, .to = to, .fan = 1, .split = split };
    lane->trigger = stages[from].lockstep ? stages[from].feed : PIPES_MAX;
    lane->copies = pattern == SKN_PATTERN_BROADCAST ? stages[to].width : 1;
    set_bounds(lane, stages[to].width);
    skn_wired_pipe_t *pipe =
        flow_pipe(&flow, &schemas[number], pattern, credit, stages[from].first,
                  stages[from].width, stages[to].first, stages[to].width);
    pipe->collect = collect;
    pipe->bounds = lane->bounds;
    pipe->key = flow_field(&schemas[number], split ? "run" : "key");
    handlers[to][number].handle =
        collect == SKN_COLLECT_GATHER ? on_gathered : on_message;
    return pipe;
}

static bool
fits_one(uint32_t from, uint32_t to)
{
    return stages[to].width == 1 || stages[to].width == stages[from].width;
}

/* To a lockstep stage: each of its actors gets a part of each sender. */
static void
add_feed(uint32_t to, uint32_t credit)
{
    uint32_t choice = below(3), number = lane_count;
    skn_collect_t gather = stages[to - 1].width > 1 || below(2)
                               ? SKN_COLLECT_GATHER
                               : SKN_COLLECT_NONE;
    if (choice == 0 && fits_one(to - 1, to) &&
        (stages[to].width > 1 || stages[to - 1].width == 1))
        gather = below(2) ? SKN_COLLECT_GATHER : SKN_COLLECT_NONE;
    if (choice == 0 && fits_one(to - 1, to))
        (void)add_lane(to - 1, to, SKN_PATTERN_ONE, false, gather, credit);
    else if (choice == 1)
        (void)add_lane(to - 1, to, SKN_PATTERN_SCATTER, true,
                       SKN_COLLECT_GATHER, credit);
    else
        (void)add_lane(to - 1, to, SKN_PATTERN_BROADCAST, false, gather,
                       credit);
    stages[to].feed = number;
}

static void
add_free(uint32_t from, uint32_t to, uint32_t credit, uint32_t fan)
{
    static const skn_pattern_t patterns[] = { SKN_PATTERN_ANY,
                                              SKN_PATTERN_BROADCAST,
                                              SKN_PATTERN_SCATTER,
                                              SKN_PATTERN_SCATTER };
    uint32_t choice = below(5), number = lane_count;
    if (choice == 4 && fits_one(from, to))
        (void)add_lane(from, to, SKN_PATTERN_ONE, false, SKN_COLLECT_NONE,
                       credit);
    else
        (void)add_lane(from, to, patterns[choice % 4], choice % 4 == 3,
                       SKN_COLLECT_NONE, credit);
    lanes[number].fan = fan;
}

static void
add_peers(uint32_t stage, uint32_t credit)
{
    bool gather = stages[stage].lockstep && below(2);
    uint32_t number = lane_count;
    add_lane(stage, stage, SKN_PATTERN_BROADCAST, false,
             gather ? SKN_COLLECT_GATHER : SKN_COLLECT_NONE, credit)
        ->peer = true;
    lanes[number].peer = true;
}

/* A loop: the last lockstep stage answers the gate itself, or the first one
 * does when the last has answered it on a peer pipe. */
static void
close_loop(uint32_t last, uint32_t credit)
{
    uint32_t answer = lane_count;
    if (last > 1 && below(2)) {
        add_lane(last, 1, SKN_PATTERN_BROADCAST, false, SKN_COLLECT_NONE,
                 credit)
            ->peer = true;
        lanes[answer].peer = true;
        (void)add_lane(1, 0, SKN_PATTERN_ONE, false, SKN_COLLECT_NONE,
                       credit * WIDTH_MAX);
        lanes[lane_count - 1].trigger = answer;
        answers_each = stages[last].width * stages[1].width;
    } else {
        (void)add_lane(last, 0, SKN_PATTERN_ONE, false, SKN_COLLECT_NONE,
                       credit);
        answers_each = stages[last].width;
    }
    handlers[0][lane_count - 1].handle = on_answer;
}

/* A later stage answers an earlier one; `cause` is what makes it. */
static uint32_t
add_answer(uint32_t from, uint32_t to, uint32_t cause)
{
    uint32_t number = lane_count, credit = 1 + below(3);
    skn_pattern_t pattern = below(2) ? SKN_PATTERN_ANY : SKN_PATTERN_BROADCAST;
    if (fits_one(from, to) && below(2))
        pattern = SKN_PATTERN_ONE;
    add_lane(from, to, pattern, false, SKN_COLLECT_NONE, credit)->peer = true;
    lanes[number].peer = true;
    lanes[number].fan = 1 + below(2);
    if (cause != PIPES_MAX)
        lanes[number].trigger = cause;
    return number;
}

static void
add_reaction(uint32_t answer, uint32_t to)
{
    uint32_t number = lane_count;
    add_free(lanes[answer].to, to, 1 + below(4), 1 + below(3));
    lanes[number].trigger = answer;
}

/* Answers, answers to answers, and what they set in motion. */
static void
add_answers(bool gated)
{
    uint32_t last = stage_count - 1, first = gated ? 1 : 0;
    if (last <= first)
        return;
    uint32_t to = first + below(last - first);
    uint32_t answer = add_answer(to + 1 + below(last - to), to, PIPES_MAX);
    add_stage(false, 1 + below(WIDTH_MAX), gated);
    add_reaction(answer, last + 1);
    if (to == first || below(2))
        return;
    answer = add_answer(to, first + below(to - first), answer);
    add_reaction(answer, last + 1);
}

/* What ends early is not sent on by the handlers of answers. */
static void
hold_back_reactions(void)
{
    bool late[FLOW_PIPES_MAX + 1] = { false };
    (void)skn_endings_find(&flow.wiring, late, NULL);
    for (uint32_t k = 0; k < lane_count; k++) {
        uint32_t cause = lanes[k].trigger;
        bool reacts = cause < PIPES_MAX && lanes[cause].peer;
        bool counted = lanes[k].to == 0 && kinds[0].gate; /* it waits */
        if (reacts && !late[k] && !counted)
            lanes[k].fan = 0;
        reactions += reacts && lanes[k].fan > 0;
    }
}

static void
start_over(void)
{
    memset(&flow, 0, sizeof(flow));
    memset(tallies, 0, sizeof(tallies));
    memset(handlers, 0, sizeof(handlers));
    lane_count = stage_count = 0;
    answers_each = 0;
    for (uint32_t k = 0; k < PIPES_MAX; k++) {
        schemas[k] = token_schema;
        schemas[k].id = 1000 + k;
        sends[k] = &schemas[k];
        for (uint32_t s = 0; s < STAGES_MAX; s++)
            handlers[s][k] = (skn_handler_t){ &schemas[k], on_message, NULL };
    }
}

static void
draw_topology(void)
{
    start_over();
    bool gated = below(2);
    uint32_t lockstep = below(3) + (gated ? 1 : 0), free_count = below(3);
    if (lockstep + free_count == 0)
        free_count = 1;
    batch_count = 1 + below(50);
    window = 1 + below(5);
    /* In a loop, as the check of topologies wants it; else from 1 up. */
    uint32_t least = gated ? (uint32_t)window : 1;
    add_stage(true, gated || lockstep ? 1 : 1 + below(WIDTH_MAX), gated);
    stages[0].feed = PIPES_MAX;
    for (uint32_t k = 1; k <= lockstep + free_count; k++)
        add_stage(k <= lockstep, 1 + below(WIDTH_MAX), gated);
    for (uint32_t k = 1; k <= lockstep; k++) {
        add_feed(k, least + below(4));
        if (below(2))
            add_peers(k, least + below(2));
    }
    for (uint32_t to = lockstep + 1; to < stage_count; to++) {
        for (uint32_t from = 0; from < to; from++)
            if (from + 1 == to || below(3) == 0)
                add_free(from, to, 1 + below(4), 1 + below(3));
        if (below(4) == 0)
            add_peers(to, 1 + below(2));
    }
    if (gated)
        close_loop(lockstep, least * WIDTH_MAX);
    if (below(2))
        add_answers(gated);
    hold_back_reactions();
}

/* --- running ------------------------------------------------------------ */

static void
print_topology(const skn_system_t *system)
{
    static const char *const phases[] = { "opening",  "ready",  "running",
                                          "draining", "ending", "ended",
                                          "failed" };
    for (uint32_t k = 0; k < system->actor_count; k++) {
        const skn_actor_t *actor = &system->actors[k];
        fprintf(stderr, "  %s %s, %" PRIu64 " unsent, open %u + %u\n",
                actor->wired->name, phases[actor->phase], actor->unsent,
                actor->open_edges, actor->open_peers);
        for (uint32_t e = 0; e < actor->out_edge_count; e++)
            fprintf(
                stderr, "    to %s: credit %u, outbox %u, sent %" PRIu64 "\n",
                flow.names[actor->out_edges[e].receiver],
                actor->out_edges[e].credit, actor->out_edges[e].outbox.count,
                actor->out_edges[e].counters.messages);
    }
    for (uint32_t k = 0; k < lane_count; k++)
        fprintf(stderr, "  pipe %u: stage %u to %u, pattern %d, collect %d%s\n",
                k, lanes[k].from, lanes[k].to, (int)flow.pipes[k].pattern,
                (int)flow.pipes[k].collect, lanes[k].peer ? ", peer" : "");
}

static bool
lane_adds_up(uint32_t number)
{
    const lane_t *lane = &lanes[number];
    tally_t sum = { 0 };
    for (uint32_t k = 0; k < flow.wiring.actor_count; k++) {
        const tally_t *tally = &tallies[k][number];
        sum.posts += tally->posts;
        sum.posted_sum += tally->posted_sum;
        sum.posted_keys += tally->posted_keys;
        sum.got += tally->got;
        sum.got_sum += tally->got_sum;
        sum.got_keys += tally->got_keys;
    }
    bool right = sum.got_sum == lane->copies * sum.posted_sum &&
                 sum.got_keys == sum.posted_keys &&
                 (lane->split || sum.got == lane->copies * sum.posts);
    if (!right)
        fprintf(stderr,
                "pipe %u: posted %" PRIu64 " (sum %" PRIu64 ", keys %" PRIu64
                "), %u copies each, got %" PRIu64 " (%" PRIu64 ", %" PRIu64
                ")\n",
                number, sum.posts, sum.posted_sum, sum.posted_keys,
                lane->copies, sum.got, sum.got_sum, sum.got_keys);
    return right;
}

/* Every actor of a lockstep stage handled every batch. */
static bool
adds_up(void)
{
    bool right = true;
    for (uint32_t k = 0; k < lane_count; k++)
        right = lane_adds_up(k) && right;
    for (uint32_t s = 1; s < stage_count; s++)
        for (uint32_t k = 0; stages[s].lockstep && k < stages[s].width; k++) {
            uint32_t feed = stages[s].feed;
            const skn_wired_pipe_t *pipe = &flow.pipes[feed];
            uint64_t parts =
                pipe->pattern == SKN_PATTERN_ONE && pipe->to_count > 1
                    ? 1
                    : pipe->from_count;
            if (tallies[stages[s].first + k][feed].got != batch_count * parts) {
                fprintf(stderr, "stage %u.%u missed batches\n", s, k);
                right = false;
            }
        }
    return right;
}

static bool
run_topology(uint32_t number)
{
    char line[256];
    skn_error_t error = { 0 };
    skn_start_options_t options =
        SKN_START_OPTIONS(.no_binding = true, .wire = !below(4));
    skn_system_t *system = skn_system_new(&flow.wiring, &options, &error);
    skn_status_t status =
        system ? skn_system_start(system, NULL, NULL, &error) : error.status;
    uint64_t end_ns = skn_monotonic_ns() + STUCK_NS, before = 0;
    while (status == SKN_OK || status == SKN_BUSY) {
        status = skn_system_event(system, 1000, line, sizeof(line), NULL);
        uint64_t now = atomic_load_explicit(&accounted, memory_order_relaxed);
        if (now != before)
            end_ns = skn_monotonic_ns() + STUCK_NS;
        before = now;
        if (skn_monotonic_ns() < end_ns)
            continue;
        fprintf(stderr, "topology %u is stuck:\n", number);
        print_topology(system);
        return false;
    }
    if (system)
        status = skn_system_wait(system, &error);
    bool right = status == SKN_OK && adds_up();
    if (!right) {
        fprintf(stderr, "topology %u: %s\n", number, error.text);
        if (system)
            print_topology(system);
    }
    skn_system_destroy(&system);
    return right;
}

int
main(int count, char **words)
{
    uint64_t seed = count > 1 ? strtoull(words[1], NULL, 0)
                              : skn_monotonic_ns() % 1000000000;
    uint64_t topologies = count > 2 ? strtoull(words[2], NULL, 0) : TOPOLOGIES;
    uint64_t messages = 0;
    printf("seed %" PRIu64 "\n", seed);
    fflush(stdout);
    for (uint32_t k = 0; k < topologies; k++) {
        random_state = seed * 1000003 + k;
        (void)below(2);
        draw_topology();
        if (!run_topology(k))
            return 1;
        for (uint32_t a = 0; a < flow.wiring.actor_count; a++)
            for (uint32_t p = 0; p < lane_count; p++)
                messages += tallies[a][p].got;
    }
    printf("%" PRIu64 " topologies, %" PRIu64
           " messages accounted for, %" PRIu64 " pipes sent on by answers\n",
           topologies, messages, reactions);
    return 0;
}
