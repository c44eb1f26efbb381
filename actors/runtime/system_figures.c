/* system_figures.c - collects the counters of a system's actors and links.
 *
 * The host's thread reads them after the actors' threads have been joined; the
 * few of skn_actor_info_t also during the run.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/runtime/link_driver.h"
#include "actors/runtime/system.h"
#include "actors/runtime/system_internal.h"

static void
set_name(char *to, const char *from)
{
    (void)snprintf(to, SKN_FIGURE_NAME_BYTES, "%.*s", SKN_FIGURE_NAME_BYTES - 1,
                   from);
}

/* Adds up both ends of an actor's pipes. */
static void
add_edges(const skn_actor_t *actor, skn_actor_figures_t *figures)
{
    const skn_wiring_t *wiring = actor->system->wiring;
    for (uint32_t k = 0; k < actor->in_edge_count; k++) {
        figures->messages_in += actor->in_edges[k].counters.messages;
        figures->bytes_in += actor->in_edges[k].counters.bytes;
    }
    for (uint32_t p = 0; p < actor->out_pipe_count; p++) {
        const skn_out_pipe_t *pipe = &actor->out_pipes[p];
        for (uint32_t k = 0; k < pipe->edge_count; k++) {
            const skn_edge_counters_t *counters = &pipe->edges[k].counters;
            figures->messages_out += counters->messages;
            figures->bytes_out += counters->bytes;
            if (counters->queue_max > figures->outbox_max)
                figures->outbox_max = counters->queue_max;
            if (counters->full_ns <= figures->full_ns)
                continue;
            figures->full_ns = counters->full_ns;
            figures->full_credit = pipe->wired->credit;
            set_name(figures->full_message, pipe->wired->schema->name);
            set_name(figures->full_receiver,
                     wiring->actors[pipe->edges[k].receiver].name);
        }
    }
}

static void
add_handlers(const skn_actor_t *actor, skn_actor_figures_t *figures)
{
    for (uint32_t k = 0; k < actor->in_pipe_count &&
                         figures->handler_count < SKN_FIGURE_HANDLERS_MAX;
         k++) {
        const skn_histogram_t *latency = &actor->in_pipes[k].latency;
        skn_handler_figures_t *handler =
            &figures->handler[figures->handler_count++];
        set_name(handler->message, actor->in_pipes[k].wired->schema->name);
        handler->count = latency->count;
        handler->sum_ns = latency->sum_ns;
        handler->p50_ns = skn_histogram_quantile_ns(latency, 0.5);
        handler->p99_ns = skn_histogram_quantile_ns(latency, 0.99);
        handler->max_ns = latency->max_ns;
    }
}

static void
add_actor(const skn_actor_t *actor, skn_figures_t *figures)
{
    const skn_actor_counters_t *counters = &actor->counters;
    skn_actor_figures_t *into = &figures->actors[figures->actor_count++];
    set_name(into->name, actor->wired->name);
    set_name(into->kind, actor->kind->name);
    into->core = actor->system->units[actor->number];
    into->busy_ns = counters->handling_ns;
    into->waiting_ns = counters->waiting_ns;
    into->remote_ns = counters->remote_ns;
    into->blocked_ns = counters->blocked_ns;
    into->open_ns = counters->open_ns;
    into->ran_ns = counters->ran_ns;
    into->queued_ns = counters->queued_ns;
    into->wakeups = counters->wakeups;
    into->restarts = counters->restarts;
    into->dropped = counters->dropped;
    into->held_max = counters->held_max;
    figures->saving_ns += counters->saving_ns;
    figures->saves += counters->saves;
    add_edges(actor, into);
    add_handlers(actor, into);
}

skn_status_t
skn_system_figures(const skn_system_t *system, skn_figures_t *figures,
                   skn_error_t *error)
{
    const skn_wiring_t *wiring = system->wiring;
    *figures = (skn_figures_t){ .run_ns = system->end_ns - system->begin_ns,
                                .core_busy_ns = skn_system_busy_ns(system) };
    if (wiring->node_count > 0)
        set_name(figures->node, wiring->nodes[system->options.node].name);
    figures->actors =
        skn_system_array(system->here_count, sizeof(*figures->actors), error);
    figures->links =
        skn_system_array(system->node_count, sizeof(*figures->links), error);
    if (!figures->actors || !figures->links) {
        skn_figures_fini(figures);
        return SKN_NO_MEMORY;
    }
    for (uint32_t k = 0; k < system->actor_count; k++)
        if (system->actors[k].here)
            add_actor(&system->actors[k], figures);
    if (system->links)
        system->wiring->link_driver->add_figures(system->links, figures);
    return SKN_OK;
}

void
skn_figures_fini(skn_figures_t *figures)
{
    free(figures->actors);
    free(figures->links);
    figures->actors = NULL;
    figures->links = NULL;
}

/* --- during the run ------------------------------------------------------- */

/* The messages that were sent on an edge to this node, or have arrived here
 * from another one. */
static uint64_t
sent_to(const skn_system_t *system, const skn_in_edge_t *edge)
{
    const skn_actor_t *sender = &system->actors[edge->sender];
    const skn_crossings_t *crossings = &system->crossings;
    if (sender->here)
        return SKN_COUNTED(sender->out_edges[edge->out_slot].counters.messages);
    uint32_t import = crossings->landings[edge->out_slot].import;
    return SKN_COUNTED(crossings->imports[import].taken);
}

static void
look_at_inbox(const skn_actor_t *actor, skn_actor_info_t *info)
{
    for (uint32_t k = 0; k < actor->in_edge_count; k++) {
        const skn_in_edge_t *edge = &actor->in_edges[k];
        uint64_t taken = SKN_COUNTED(edge->counters.messages);
        uint64_t sent = sent_to(actor->system, edge);
        info->messages_in += taken;
        info->inbox_messages += sent > taken ? sent - taken : 0;
    }
}

/* The credit for the next message: of the fullest edge, or for pattern `any` of
 * the emptiest one. */
static uint32_t
credit_left(const skn_out_pipe_t *pipe)
{
    bool any = pipe->wired->pattern == SKN_PATTERN_ANY;
    uint32_t left = any ? 0 : UINT32_MAX;
    for (uint32_t k = 0; k < pipe->edge_count; k++) {
        uint32_t credit = SKN_COUNTED(pipe->edges[k].credit);
        if (any ? credit > left : credit < left)
            left = credit;
    }
    return left;
}

static void
look_at_pipes(const skn_actor_t *actor, skn_actor_info_t *info)
{
    for (uint32_t p = 0; p < actor->out_pipe_count; p++) {
        const skn_out_pipe_t *pipe = &actor->out_pipes[p];
        uint32_t left = credit_left(pipe);
        for (uint32_t k = 0; k < pipe->edge_count; k++)
            info->messages_out += SKN_COUNTED(pipe->edges[k].counters.messages);
        if (pipe->edge_count == 0 ||
            (info->fullest &&
             (uint64_t)left * info->credit >=
                 (uint64_t)info->credit_left * pipe->wired->credit))
            continue;
        info->fullest = pipe->wired->schema->name;
        info->credit = pipe->wired->credit;
        info->credit_left = left;
    }
    info->outbox_messages = SKN_COUNTED(actor->unsent);
}

static void
look_at_thread(const skn_actor_t *actor, skn_actor_info_t *info)
{
    const skn_actor_counters_t *counters = &actor->counters;
    skn_stay_t stay = skn_place_stay(&actor->place);
    uint64_t waiting_ns = SKN_COUNTED(counters->waiting_since_ns);
    uint64_t blocked_ns = SKN_COUNTED(counters->blocked_since_ns);
    info->busy_ns = SKN_COUNTED(counters->handling_ns);
    info->waiting_ns = SKN_COUNTED(counters->waiting_ns);
    info->blocked_ns = SKN_COUNTED(counters->blocked_ns);
    info->restarts = SKN_COUNTED(counters->restarts);
    info->is_busy = stay.type != SKN_PLACE_LOOP;
    info->is_blocked = !info->is_busy && blocked_ns > 0;
    info->since_ns = info->is_busy      ? stay.since_ns
                     : info->is_blocked ? blocked_ns
                                        : waiting_ns;
    info->hook = skn_place_word(stay.type);
    info->hook_of = stay.name ? stay.name : "";
}

bool
skn_system_actor(const skn_system_t *system, size_t index,
                 skn_actor_info_t *info)
{
    uint32_t k = 0;
    for (; k < system->actor_count; k++)
        if (system->actors[k].here && index-- == 0)
            break;
    if (k == system->actor_count)
        return false;
    const skn_actor_t *actor = &system->actors[k];
    *info = (skn_actor_info_t){ .struct_bytes = sizeof(*info),
                                .name = actor->wired->name,
                                .kind = actor->kind->name };
    look_at_inbox(actor, info);
    look_at_pipes(actor, info);
    look_at_thread(actor, info);
    return true;
}
