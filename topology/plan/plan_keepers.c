/* plan_keepers.c - writes the keepers of checkpoints and their pipes, where
 * each node has its own folder.
 *
 *     owners of node n ─tensor, chunk─▶ keeper.n, keeper.n+1, ... (copies)
 *     course ─save─▶ keeper.0 ─save─▶ owners      ─saved─▶ course
 *     keeper.0 ─keep─▶ keeper.* ─kept─▶ keeper.0       the steps
 *     keeper.* ─holding, fetch, fetched─▶ keeper.*     missing files
 *
 * The nodes form a ring: the copies of the last are on the first. Nodes that
 * leave are not in it: their keepers receive nothing, and send the files that
 * they have of the checkpoint from which the run continues.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "topology/plan/plan_internal.h"

/* The names of the owners on one node, or of keepers. */
typedef struct names {
    char text[SKN_SHARD_MAX + 1][64];
    const char *at[SKN_SHARD_MAX + 2];
    uint32_t count;
} names_t;

static uint32_t
copies_of(const wire_t *wire)
{
    uint64_t copies = (uint64_t)wire->model->checkpoint.copies;
    return copies < wire->plan->keepers ? (uint32_t)copies
                                        : wire->plan->keepers;
}

static void
add_name(names_t *names, const char *stem, uint32_t number)
{
    if (names->count > SKN_SHARD_MAX)
        return; /* the checker refuses so many actors */
    (void)snprintf(names->text[names->count], sizeof(names->text[0]), "%s.%u",
                   stem, number);
    names->at[names->count] = names->text[names->count];
    names->at[++names->count] = NULL;
}

/* Lists the owners on node `node`, which send its state. */
static void
list_owners(const wire_t *wire, uint32_t node, names_t *names)
{
    names->count = 0;
    for (uint32_t k = 0; k < wire->layer_count; k++)
        for (uint32_t s = 0; s < shards_of(&wire->model->layers[k]); s++)
            if (skn_plan_seat(wire->plan, k, s).node == node)
                add_name(names, wire->updater[k], s);
}

/* How many owners send to the keeper of `node`: those of its own node and of
 * the ones before it in the ring. */
static uint32_t
count_senders(const wire_t *wire, uint32_t node, names_t *names)
{
    uint32_t nodes = wire->plan->keepers, count = 0;
    for (uint32_t k = 0; node < nodes && k < copies_of(wire); k++) {
        list_owners(wire, (node + nodes - k) % nodes, names);
        count += names->count;
    }
    return count;
}

void
skn_wire_keepers(wire_t *wire)
{
    const skn_plan_start_t *start = wire->start;
    names_t *names = wire->kept ? calloc(1, sizeof(*names)) : NULL;
    for (uint32_t k = 0; names && k < wire->plan->node_count; k++) {
        const skn_plan_seat_t seat = { .node = k, .core = SKN_CORE_FLOAT };
        char name[32];
        (void)snprintf(name, sizeof(name), "keeper.%u", k);
        skn_wire_actor(wire, name, "keeper", seat, 0);
        skn_wire_text(wire, "path", start->run_path);
        skn_wire_text(wire, "node", wire->model->nodes[k].name);
        skn_wire_text(wire, "resume",
                      start->resume || start->restore ? "true" : "false");
        if (start->checkpoint)
            skn_wire_text(wire, "checkpoint", start->checkpoint);
        if (start->run_id)
            skn_wire_text(wire, "run", start->run_id);
        if (start->config_text)
            skn_wire_text(wire, "config", start->config_text);
        skn_wire_int(wire, "owners", count_senders(wire, k, names));
        skn_wire_int(wire, "keepers", wire->plan->keepers);
        skn_wire_int(wire, "keep", (uint64_t)wire->model->checkpoint.keep);
        skn_wire_int(wire, "generation", start->generation);
    }
    free(names);
}

static void
pipe_peers(wire_t *wire, const char *from, const char *to, const char *message,
           const char *pattern)
{
    const char *const sender[] = { from, NULL }, *const receiver[] = { to,
                                                                       NULL };
    skn_draft_pipe_t pipe = { .from = sender,
                              .to = receiver,
                              .message = message,
                              .pattern = pattern,
                              .credit = wire->credit,
                              .peer = true };
    skn_draft_pipe(wire->draft, &pipe);
}

/* Adds a pipe between keepers, scattered by the number of the receiving
 * node. */
static void
pipe_parts(wire_t *wire, const char *message)
{
    static const char *const keepers[] = { "keeper", NULL };
    uint64_t bounds[SKN_CLUSTER_NODES_MAX + 1];
    uint32_t nodes = wire->plan->node_count;
    for (uint32_t k = 0; k <= nodes; k++)
        bounds[k] = k;
    skn_draft_pipe_t pipe = { .from = keepers,
                              .to = keepers,
                              .message = message,
                              .pattern = "scatter",
                              .key = "to",
                              .bounds = bounds,
                              .bound_count = nodes + 1,
                              .credit = wire->credit,
                              .peer = true };
    skn_draft_pipe(wire->draft, &pipe);
}

/* Adds the pipes for the state of a node's owners, to the keepers that store
 * it. */
static void
pipe_state(wire_t *wire, uint32_t node, names_t *owners, names_t *keepers)
{
    static const char *const messages[] = { "tensor", "chunk" };
    uint32_t nodes = wire->plan->keepers;
    list_owners(wire, node, owners);
    keepers->count = 0;
    for (uint32_t k = 0; k < copies_of(wire); k++)
        add_name(keepers, "keeper", (node + k) % nodes);
    for (size_t k = 0; owners->count > 0 && k < 2; k++) {
        skn_draft_pipe_t pipe = { .from = owners->at,
                                  .to = keepers->at,
                                  .message = messages[k],
                                  .pattern = "broadcast",
                                  .credit = wire->credit };
        skn_draft_pipe(wire->draft, &pipe);
    }
}

void
skn_wire_keeper_pipes(wire_t *wire)
{
    names_t *names = calloc(2, sizeof(*names));
    for (uint32_t k = 0; names && k < wire->plan->node_count; k++)
        pipe_state(wire, k, &names[0], &names[1]);
    free(names);
    pipe_peers(wire, "keeper.0", "keeper", "keep", "broadcast");
    pipe_peers(wire, "keeper", "keeper.0", "kept", "one");
    if (wire->start->restore)
        pipe_peers(wire, "keeper", "keeper", "holding", "broadcast");
    pipe_parts(wire, "fetch");
    pipe_parts(wire, "fetched");
}
