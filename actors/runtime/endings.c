/* endings.c - decides which pipes of a topology end early and which late.
 *
 * The end of pipe q waits for the work pipes into its senders and, if q is
 * late, for the peer pipes into them. For an actor that receives only answers,
 * these count as its work. Gates, and actors that receive nothing, wait for
 * nothing.  SPDX-License-Identifier: Apache-2.0 */
#include "actors/runtime/endings.h"

#include <stdlib.h>
#include <string.h>

typedef struct endings_walk {
    const skn_wiring_t *wiring;
    bool *answered;      /* [actors] has peer pipes into it */
    bool *works;         /* [actors] has other pipes into it */
    uint32_t *out_first; /* [actors + 1] */
    uint32_t *out;       /* pipes that an actor sends on */
    bool *seen;          /* [pipes] */
    uint32_t *stack;     /* [pipes] */
} endings_walk_t;

static void
walk_fini(endings_walk_t *walk)
{
    free(walk->answered);
    free(walk->works);
    free(walk->out_first);
    free(walk->out);
    free(walk->seen);
    free(walk->stack);
}

static void
list_pipes(endings_walk_t *walk)
{
    const skn_wiring_t *wiring = walk->wiring;
    uint32_t *first = walk->out_first;
    for (uint32_t p = 0; p < wiring->pipe_count; p++) {
        const skn_wired_pipe_t *pipe = &wiring->pipes[p];
        for (uint32_t t = 0; t < pipe->to_count; t++)
            (pipe->peer ? walk->answered : walk->works)[pipe->to[t]] = true;
        for (uint32_t f = 0; f < pipe->from_count; f++)
            first[pipe->from[f] + 1]++;
    }
    for (uint32_t a = 0; a < wiring->actor_count; a++)
        first[a + 1] += first[a];
    for (uint32_t p = 0; p < wiring->pipe_count; p++)
        for (uint32_t f = 0; f < wiring->pipes[p].from_count; f++)
            walk->out[first[wiring->pipes[p].from[f]]++] = p;
    /* Filling has moved each entry of `first` to the value of the next. */
    memmove(first + 1, first, wiring->actor_count * sizeof(*first));
    first[0] = 0;
}

static skn_status_t
walk_init(endings_walk_t *walk, const skn_wiring_t *wiring, skn_error_t *error)
{
    size_t actors = (size_t)wiring->actor_count + 1;
    size_t pipes = (size_t)wiring->pipe_count + 1, ends = 1;
    for (uint32_t p = 0; p < wiring->pipe_count; p++)
        ends += wiring->pipes[p].from_count;
    *walk = (endings_walk_t){ .wiring = wiring };
    walk->answered = calloc(actors, sizeof(bool));
    walk->works = calloc(actors, sizeof(bool));
    walk->out_first = calloc(actors + 1, sizeof(uint32_t));
    walk->out = calloc(ends, sizeof(uint32_t));
    walk->seen = calloc(pipes, sizeof(bool));
    walk->stack = calloc(pipes, sizeof(uint32_t));
    if (!walk->answered || !walk->works || !walk->out_first || !walk->out ||
        !walk->seen || !walk->stack)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u pipes",
                        wiring->pipe_count);
    list_pipes(walk);
    return SKN_OK;
}

/* Whether the end of pipe `q` may have to wait for answers. */
static bool
may_be_late(const endings_walk_t *walk, uint32_t q)
{
    const skn_wired_pipe_t *pipe = &walk->wiring->pipes[q];
    bool answered = false;
    for (uint32_t f = 0; f < pipe->from_count; f++) {
        if (walk->wiring->actors[pipe->from[f]].kind->gate)
            return false;
        answered = answered || walk->answered[pipe->from[f]];
    }
    return answered;
}

/* Whether `p` goes into a sender of `q`. */
static bool
feeds(const endings_walk_t *walk, uint32_t p, uint32_t q)
{
    const skn_wired_pipe_t *from = &walk->wiring->pipes[p];
    const skn_wired_pipe_t *to = &walk->wiring->pipes[q];
    for (uint32_t t = 0; t < from->to_count; t++)
        for (uint32_t f = 0; f < to->from_count; f++)
            if (from->to[t] == to->from[f])
                return true;
    return false;
}

/* Pushes the pipes whose end waits for the end of `p`. */
static uint32_t
push_waiting(endings_walk_t *walk, uint32_t p, const bool *late, uint32_t q,
             uint32_t depth)
{
    const skn_wired_pipe_t *pipe = &walk->wiring->pipes[p];
    for (uint32_t t = 0; t < pipe->to_count; t++) {
        uint32_t actor = pipe->to[t];
        if (walk->wiring->actors[actor].kind->gate)
            continue;
        for (uint32_t k = walk->out_first[actor];
             k < walk->out_first[actor + 1]; k++) {
            uint32_t next = walk->out[k];
            bool is_waiting =
                !pipe->peer || !walk->works[actor] || late[next] || next == q;
            if (is_waiting && !walk->seen[next]) {
                walk->seen[next] = true;
                walk->stack[depth++] = next;
            }
        }
    }
    return depth;
}

/* Whether answers to the senders of `q` would wait for its end, if those in
 * `late` and q itself ended late. */
static bool
waits_for_itself(endings_walk_t *walk, uint32_t q, const bool *late)
{
    uint32_t depth = 1;
    memset(walk->seen, 0, walk->wiring->pipe_count * sizeof(bool));
    walk->stack[0] = q;
    while (depth > 0) {
        uint32_t p = walk->stack[--depth];
        if (walk->wiring->pipes[p].peer && feeds(walk, p, q))
            return true;
        depth = push_waiting(walk, p, late, q, depth);
    }
    return false;
}

skn_status_t
skn_endings_find(const skn_wiring_t *wiring, bool *late, skn_error_t *error)
{
    endings_walk_t walk;
    size_t bytes = (wiring->pipe_count + (size_t)1) * sizeof(bool);
    bool *alone = calloc(1, bytes), *none = calloc(1, bytes);
    skn_status_t status = walk_init(&walk, wiring, error);
    if (status == SKN_OK && (!alone || !none))
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for %u pipes",
                          wiring->pipe_count);
    /* First find the pipes that could each be late alone, then those of them
     * that can be late together: any cycle that is left contains one of the
     * former. */
    for (uint32_t q = 0; q < wiring->pipe_count && status == SKN_OK; q++)
        alone[q] = may_be_late(&walk, q) && !waits_for_itself(&walk, q, none);
    for (uint32_t q = 0; q < wiring->pipe_count && status == SKN_OK; q++)
        late[q] = alone[q] && !waits_for_itself(&walk, q, alone);
    walk_fini(&walk);
    free(alone);
    free(none);
    return status;
}
