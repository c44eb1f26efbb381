/* waiting.c - reports what an idle actor waits for, and gives up after a stop.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/runtime/waiting.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>

#include "actors/runtime/sender.h"
#include "actors/runtime/system_internal.h"
#include "actors/runtime/watchdog.h"
#include "formats/text/json_write.h"
#include "transport/socket/clock.h"

#define FOR_BYTES 512
/* Reports after 30 s, 60 s, ... up to a year. */
#define TOLD_MAX 20u

/* --- what it waits for --------------------------------------------------- */

/* The oldest set of the pipe that waits for parts; NULL if none does. */
static const skn_part_set_t *
oldest_set(const skn_in_pipe_t *pipe)
{
    const skn_part_set_t *oldest = NULL;
    for (uint32_t k = 0; k < pipe->set_count; k++) {
        const skn_part_set_t *set = &pipe->sets[k];
        if (set->arrived > 0 && (!oldest || set->key < oldest->key))
            oldest = set;
    }
    return oldest;
}

static void
name_part(const skn_actor_t *actor, const skn_in_pipe_t *pipe,
          const skn_part_set_t *set, char *text, size_t text_bytes)
{
    const skn_in_edge_t *missing = NULL;
    char name[SKN_SENDER_TEXT_BYTES], others[32] = "";
    uint32_t left = pipe->sender_count - set->arrived;
    for (uint32_t k = 0; k < pipe->sender_count; k++) {
        const skn_in_edge_t *edge = &actor->in_edges[pipe->first_slot + k];
        if (!set->part[k] &&
            (!missing || (!skn_actor_is_elsewhere(actor, missing->sender) &&
                          skn_actor_is_elsewhere(actor, edge->sender))))
            missing = edge;
    }
    assert(missing); /* a set that is whole is handled at once */
    if (left > 1)
        (void)snprintf(others, sizeof(others), " and %" PRIu32 " more",
                       left - 1);
    (void)snprintf(text, text_bytes, "%s of %s %" PRIu64 " from %s%s",
                   pipe->wired->schema->name, pipe->wired->by->name, set->key,
                   skn_actor_text(actor, missing->sender, name), others);
}

/* Names the missing part of a pipe whose parts the actor assembles itself. */
static bool
name_awaited(const skn_actor_t *actor, const skn_in_pipe_t *pipe, char *text,
             size_t text_bytes)
{
    const skn_awaited_t *awaited = &actor->awaited;
    char name[SKN_SENDER_TEXT_BYTES], others[32] = "";
    if (pipe->wired->collect != SKN_COLLECT_PARTS || !awaited->schema ||
        pipe->wired->schema->id != awaited->schema->id ||
        awaited->place >= pipe->sender_count)
        return false;
    if (awaited->more > 0)
        (void)snprintf(others, sizeof(others), " and %" PRIu32 " more",
                       awaited->more);
    const skn_in_edge_t *edge =
        &actor->in_edges[pipe->first_slot + awaited->place];
    (void)snprintf(text, text_bytes, "%s of batch %" PRIu64 " from %s%s",
                   awaited->schema->name, awaited->batch,
                   skn_actor_text(actor, edge->sender, name), others);
    return true;
}

static bool
waits_for_part(const skn_actor_t *actor, char *text, size_t text_bytes)
{
    for (uint32_t k = 0; k < actor->in_pipe_count; k++) {
        const skn_in_pipe_t *pipe = &actor->in_pipes[k];
        if (name_awaited(actor, pipe, text, text_bytes))
            return true;
        const skn_part_set_t *set = oldest_set(pipe);
        if (!set)
            continue;
        name_part(actor, pipe, set, text, text_bytes);
        return true;
    }
    return false;
}

static bool
waits_for_room(const skn_actor_t *actor, char *text, size_t text_bytes)
{
    char name[SKN_SENDER_TEXT_BYTES];
    for (uint32_t p = 0; p < actor->out_pipe_count; p++) {
        const skn_out_pipe_t *pipe = &actor->out_pipes[p];
        for (uint32_t k = 0; k < pipe->edge_count; k++) {
            const skn_out_edge_t *edge = &pipe->edges[k];
            if (edge->outbox.count == 0 && pipe->shared.count == 0)
                continue;
            (void)snprintf(text, text_bytes, "room for %s at %s",
                           pipe->wired->schema->name,
                           skn_actor_text(actor, edge->receiver, name));
            return true;
        }
    }
    return false;
}

bool
skn_waiting_for(const skn_actor_t *actor, char *text, size_t text_bytes)
{
    if (actor->sends_events && skn_system_has_many_events(actor->system))
        return false; /* its host reads no events */
    if (actor->unsent > 0)
        return waits_for_room(actor, text, text_bytes);
    return waits_for_part(actor, text, text_bytes);
}

/* --- when to report ------------------------------------------------------ */

static bool
may_wait(const skn_actor_t *actor)
{
    return actor->phase >= SKN_PHASE_RUNNING && actor->phase < SKN_PHASE_ENDED;
}

/* Whether the run was asked to stop and another node may be what delays it. */
static bool
has_to_stop(const skn_actor_t *actor)
{
    return actor->system->links && skn_system_stops(actor->system);
}

static uint64_t
due_ns(const skn_actor_t *actor)
{
    uint64_t patience_ns = actor->system->patience_ns;
    if (!has_to_stop(actor))
        return actor->quiet_ns + (patience_ns << actor->told_count);
    /* A large message takes long over a slow link. */
    uint64_t carried_ns = skn_system_carried_ns(actor->system);
    return (carried_ns > actor->quiet_ns ? carried_ns : actor->quiet_ns) +
           2 * patience_ns;
}

int
skn_waiting_timeout_ms(const skn_actor_t *actor, uint64_t now_ns)
{
    if (!may_wait(actor))
        return -1;
    uint64_t due = due_ns(actor);
    uint64_t left_ms = due <= now_ns ? 0 : (due - now_ns) / 1000000u + 1;
    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

static void
tell(skn_actor_t *actor, const char *what, uint64_t seconds)
{
    skn_json_text_t text = { 0 };
    skn_json_text_add(&text, "{\"event\":\"waiting\",\"actor\":");
    skn_json_text_add_string(&text, actor->wired->name);
    skn_json_text_add(&text, ",\"for\":");
    skn_json_text_add_string(&text, what);
    skn_json_text_add(&text, ",\"seconds\":%" PRIu64 "}", seconds);
    skn_actor_notice(actor, &text);
}

/* The actor of this process that has been in a handler for at least half of our
 * wait, and may delay us: one that entered its handler later does not. */
static const skn_actor_t *
culprit(const skn_actor_t *actor, uint64_t now_ns, skn_stay_t *stay)
{
    return skn_watchdog_longest(actor->system, now_ns,
                                (now_ns - actor->quiet_ns) / 2, stay);
}

static void
give_up(skn_actor_t *actor, const char *what, uint64_t now_ns)
{
    char where[SKN_PLACE_TEXT_BYTES];
    skn_error_t error = { 0 };
    skn_stay_t stay;
    const skn_actor_t *stuck = culprit(actor, now_ns, &stay);
    if (stuck)
        (void)skn_fail(
            &error, SKN_UNAVAILABLE,
            "%s waits for %s, %s has been in %s for %" PRIu64 " s, and the run "
            "was asked to stop",
            actor->wired->name, what, stuck->wired->name,
            skn_place_text(stay.type, stay.name, where, sizeof(where)),
            (now_ns - stay.since_ns) / SKN_SECOND_NS);
    else
        (void)skn_fail(&error, SKN_UNAVAILABLE,
                       "%s has waited %" PRIu64 " s for %s, and the run was "
                       "asked to stop",
                       actor->wired->name,
                       (now_ns - actor->quiet_ns) / SKN_SECOND_NS, what);
    (void)skn_fail_hint(&error, SKN_UNAVAILABLE,
                        "find out what blocks the latter, then continue with "
                        "--resume");
    skn_actor_fail(actor, &error);
}

void
skn_waiting_check(skn_actor_t *actor, uint64_t now_ns)
{
    char what[FOR_BYTES];
    if (actor->moved || actor->quiet_ns == 0) {
        actor->moved = false;
        actor->quiet_ns = now_ns;
        actor->told_count = 0;
        return;
    }
    if (!may_wait(actor) || now_ns < due_ns(actor))
        return;
    if (!skn_waiting_for(actor, what, sizeof(what))) {
        actor->quiet_ns = now_ns; /* nothing is owed to it */
        return;
    }
    skn_stay_t stay;
    if (has_to_stop(actor)) {
        give_up(actor, what, now_ns);
        return;
    }
    /* If a handler of this process does not return, the watchdog reports that;
     * the actors that wait for it need no report. */
    if (!culprit(actor, now_ns, &stay))
        tell(actor, what, (now_ns - actor->quiet_ns) / SKN_SECOND_NS);
    actor->told_count += actor->told_count < TOLD_MAX;
}
