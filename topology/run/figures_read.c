/* figures_read.c - reads the figures of a run back from its `report` event.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/run/figures_read.h"

#include <stdlib.h>

static void
read_text(const json_t *object, const char *key, char *text)
{
    const char *value = skn_json_string(object, key);
    (void)snprintf(text, SKN_FIGURE_NAME_BYTES, "%.*s",
                   SKN_FIGURE_NAME_BYTES - 1, value ? value : "");
}

static void
read_handler(const json_t *object, skn_handler_figures_t *handler)
{
    read_text(object, "message", handler->message);
    (void)skn_json_u64(object, "count", &handler->count);
    (void)skn_json_u64(object, "sum_ns", &handler->sum_ns);
    (void)skn_json_u64(object, "p50_ns", &handler->p50_ns);
    (void)skn_json_u64(object, "p99_ns", &handler->p99_ns);
    (void)skn_json_u64(object, "max_ns", &handler->max_ns);
}

static void
read_actor(const json_t *object, skn_actor_figures_t *actor)
{
    const json_t *handlers = json_object_get(object, "handlers");
    read_text(object, "name", actor->name);
    read_text(object, "kind", actor->kind);
    read_text(object, "full_message", actor->full_message);
    read_text(object, "full_receiver", actor->full_receiver);
    actor->core = (int)json_integer_value(json_object_get(object, "core"));
#define N(number) (void)skn_json_u64(object, #number, &actor->number);
    SKN_ACTOR_FIGURES(N)
#undef N
    for (size_t k = 0; k < json_array_size(handlers) &&
                       actor->handler_count < SKN_FIGURE_HANDLERS_MAX;
         k++)
        read_handler(json_array_get(handlers, k),
                     &actor->handler[actor->handler_count++]);
}

static void
read_link(const json_t *object, skn_link_figures_t *link)
{
    read_text(object, "peer", link->peer);
#define N(number) (void)skn_json_u64(object, #number, &link->number);
    SKN_LINK_FIGURES(N)
#undef N
}

skn_status_t
skn_figures_read(const json_t *event, skn_figures_t *figures,
                 skn_error_t *error)
{
    const json_t *actors = json_object_get(event, "actors");
    const json_t *links = json_object_get(event, "links");
    *figures = (skn_figures_t){
        .others_known = json_is_true(json_object_get(event, "others_known")),
        .actor_count = json_array_size(actors),
        .link_count = json_array_size(links),
    };
    read_text(event, "node", figures->node);
#define N(number) (void)skn_json_u64(event, #number, &figures->number);
    SKN_NODE_FIGURES(N)
#undef N
    figures->actors =
        calloc(figures->actor_count + 1, sizeof(*figures->actors));
    figures->links = calloc(figures->link_count + 1, sizeof(*figures->links));
    if (!figures->actors || !figures->links) {
        skn_figures_fini(figures);
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a report");
    }
    for (size_t k = 0; k < figures->actor_count; k++)
        read_actor(json_array_get(actors, k), &figures->actors[k]);
    for (size_t k = 0; k < figures->link_count; k++)
        read_link(json_array_get(links, k), &figures->links[k]);
    return SKN_OK;
}
