/* relay_flow.h - one direction of one relayed connection: a bounded queue of
 * bytes, each due at a time that follows from the link's rate and delay.
 *
 * Owns the bytes in flight. No socket and no clock: the caller passes the time.
 * A link is modelled as a line that takes bytes one after another (the rate)
 * and then carries them (the delay), with a queue of at most 50 ms before it,
 * like the token buckets of tests/e2e/hosts.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAULT_RELAY_FLOW_H
#define TESTS_FAULT_RELAY_FLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define FLOW_NEVER_NS UINT64_MAX
#define FLOW_MARKS 4096 /* 10 us apart, that is 40 ms of the tiniest reads */
#define FLOW_MERGE_NS 10000u
#define FLOW_QUEUE_NS 50000000u
#define FLOW_READ_MAX 65536u
#define FLOW_READ_MIN 1448u /* a packet of 1,500 bytes carries so many */

/* What the line does to all connections of one direction. */
typedef struct shape {
    uint64_t delay_ns;
    uint64_t rate_bytes; /* a second; 0: no limit */
    uint64_t stalled_until_ns;
    uint64_t free_ns; /* the line has taken what it was given by then */
    bool garble;      /* the next bytes read are to be spoilt */
} shape_t;

/* Bytes before `end` (counted from the first ever) go out from `due_ns` on. */
typedef struct mark {
    uint64_t end, due_ns;
} mark_t;

typedef struct flow {
    unsigned char *bytes; /* a ring of `room` bytes */
    size_t room;
    uint64_t in, ready, out; /* out <= ready <= in; how many bytes ever */
    mark_t mark[FLOW_MARKS];
    size_t mark_first, mark_count;
    bool ended;   /* its sender has closed */
    bool told;    /* and its receiver knows */
    bool blocked; /* its receiver takes nothing at the moment */
} flow_t;

static inline uint64_t
flow_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline bool
flow_init(flow_t *flow, size_t room)
{
    flow->bytes = malloc(room);
    flow->room = room;
    flow->in = flow->ready = flow->out = 0;
    flow->mark_first = flow->mark_count = 0;
    flow->ended = flow->told = flow->blocked = false;
    return flow->bytes != NULL;
}

static inline void
flow_fini(flow_t *flow)
{
    free(flow->bytes);
    flow->bytes = NULL;
}

/* How many bytes may be read now, to the place *at; 0 if none. */
static inline size_t
flow_wants(flow_t *flow, const shape_t *shape, uint64_t now_ns,
           unsigned char **at)
{
    uint64_t most = FLOW_READ_MAX;
    if (flow->ended || flow->mark_count == FLOW_MARKS ||
        now_ns < shape->stalled_until_ns ||
        shape->free_ns > now_ns + FLOW_QUEUE_NS)
        return 0;
    if (shape->rate_bytes > 0) /* 10 ms of the rate, in whole packets */
        most = flow_least(most, shape->rate_bytes / 100 < FLOW_READ_MIN
                                    ? FLOW_READ_MIN
                                    : shape->rate_bytes / 100);
    if (flow->in == flow->out) /* empty: the start of the ring is warm */
        flow->in = flow->ready = flow->out = 0;
    *at = flow->bytes + flow->in % flow->room;
    most = flow_least(most, flow->room - (flow->in - flow->out));
    return (size_t)flow_least(most, flow->room - flow->in % flow->room);
}

/* `count` bytes were read to where flow_wants said. */
static inline void
flow_put(flow_t *flow, shape_t *shape, size_t count, uint64_t now_ns)
{
    mark_t *last = NULL;
    uint64_t due_ns = now_ns;
    if (shape->rate_bytes > 0) {
        if (shape->free_ns < now_ns)
            shape->free_ns = now_ns;
        shape->free_ns += (uint64_t)count * 1000000000u / shape->rate_bytes;
        due_ns = shape->free_ns;
    }
    due_ns += shape->delay_ns;
    flow->in += count;
    if (flow->mark_count > 0) {
        last =
            &flow->mark[(flow->mark_first + flow->mark_count - 1) % FLOW_MARKS];
        if (due_ns < last->due_ns) /* the delay was made shorter */
            due_ns = last->due_ns;
    }
    if (last && due_ns - last->due_ns < FLOW_MERGE_NS) {
        last->end = flow->in; /* that little early */
        return;
    }
    flow->mark[(flow->mark_first + flow->mark_count) % FLOW_MARKS] =
        (mark_t){ flow->in, due_ns };
    flow->mark_count++;
}

/* How many bytes may be written now, from the place *at; 0 if none. */
static inline size_t
flow_offers(flow_t *flow, const shape_t *shape, uint64_t now_ns,
            const unsigned char **at)
{
    if (now_ns < shape->stalled_until_ns)
        return 0;
    while (flow->mark_count > 0 &&
           flow->mark[flow->mark_first].due_ns <= now_ns) {
        flow->ready = flow->mark[flow->mark_first].end;
        flow->mark_first = (flow->mark_first + 1) % FLOW_MARKS;
        flow->mark_count--;
    }
    *at = flow->bytes + flow->out % flow->room;
    return (size_t)flow_least(flow->ready - flow->out,
                              flow->room - flow->out % flow->room);
}

/* `count` bytes were written. */
static inline void
flow_take(flow_t *flow, size_t count)
{
    flow->out += count;
}

static inline size_t
flow_held(const flow_t *flow)
{
    return (size_t)(flow->in - flow->out);
}

/* When the flow will want, or offer, bytes though it does not now. */
static inline uint64_t
flow_wake_ns(const flow_t *flow, const shape_t *shape, uint64_t now_ns)
{
    uint64_t wake_ns = FLOW_NEVER_NS;
    if (now_ns < shape->stalled_until_ns)
        return shape->stalled_until_ns;
    if (!flow->ended && shape->free_ns > now_ns + FLOW_QUEUE_NS)
        wake_ns = shape->free_ns - FLOW_QUEUE_NS;
    if (flow->mark_count > 0 && flow->ready == flow->out)
        wake_ns = flow_least(wake_ns, flow->mark[flow->mark_first].due_ns);
    return wake_ns;
}

#endif
