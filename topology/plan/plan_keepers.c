/* plan_keepers.c - writes the keepers of checkpoints and their pipes.
 *
 *     course ─save─▶ keeper.0 ─save─▶ owners ─tensor, chunk─▶ keeper.0
 *     keeper.0 ─saved─▶ course
 *
 * Where each node has its own folder, there are further ones:
 *
 *     owners of node n ─tensor, chunk─▶ keeper.n, keeper.n+1, ... (copies)
 *     keeper.0 ─keep─▶ keeper.1, ... ─kept─▶ keeper.0  the steps
 *     keeper.* ─holding, fetch, fetched─▶ keeper.*     missing files
 *
 * The nodes form a ring: the copies of the last are on the first. Nodes that
 * leave are not in it: their keepers receive nothing, and send the files that
 * they have of the checkpoint from which the run continues.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
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

/* Counts the owners on node `node`, which send its state, and lists them in
 * `names` (may be NULL). */
static uint32_t
list_owners(const wire_t *wire, uint32_t node, names_t *names)
{
    uint32_t count = 0;
    if (names)
        names->count = 0;
    for (uint32_t k = 0; k < wire->layer_count; k++)
        for (uint32_t s = 0; s < shards_of(&wire->model->layers[k]); s++)
            if (skn_plan_seat(wire->plan, k, s).node == node) {
                if (names)
                    add_name(names, wire->updater[k], s);
                count++;
            }
    return count;
}

/* How many owners send to the keeper of `node`: those of its own node and of
 * the ones before it in the ring; or all, to one that is alone. */
static uint32_t
count_senders(const wire_t *wire, uint32_t node)
{
    uint32_t nodes = wire->plan->keepers, count = 0;
    if (!has_keeper_per_node(wire))
        return wire->owners;
    for (uint32_t k = 0; node < nodes && k < copies_of(wire); k++)
        count += list_owners(wire, (node + nodes - k) % nodes, NULL);
    return count;
}

void
skn_wire_keepers(wire_t *wire)
{
    const skn_plan_start_t *start = wire->start;
    for (uint32_t k = 0; k < wire->keeper_count; k++) {
        const skn_plan_seat_t seat = { .node = k, .core = SKN_CORE_FLOAT };
        char name[32];
        (void)snprintf(name, sizeof(name), "keeper.%u", k);
        skn_wire_actor(wire, name, "keeper", seat, 0);
        skn_wire_text(wire, "path", start->run_path);
        bool resumes =
            start->resume || (has_keeper_per_node(wire) && start->restore);
        skn_wire_text(wire, "resume", resumes ? "true" : "false");
        if (has_keeper_per_node(wire))
            skn_wire_text(wire, "node", wire->model->nodes[k].name);
        else
            skn_wire_int(wire, "newest", start->newest);
        if (start->checkpoint)
            skn_wire_text(wire, "checkpoint", start->checkpoint);
        if (start->predict)
            skn_wire_text(wire, "read_only", "true");
        if (start->run_id)
            skn_wire_text(wire, "run", start->run_id);
        if (start->config_text)
            skn_wire_text(wire, "config", start->config_text);
        if (wire->model->data.labels[0])
            skn_wire_text(wire, "labels", wire->model->data.labels);
        if (!start->predict)
            skn_wire_vocabulary(wire);
        skn_wire_int(wire, "owners", count_senders(wire, k));
        if (has_keeper_per_node(wire))
            skn_wire_int(wire, "keepers", wire->plan->keepers);
        skn_wire_int(wire, "keep", (uint64_t)wire->model->checkpoint.keep);
        skn_wire_int(wire, "generation", start->generation);
    }
}

static const char *const first[] = { "keeper.0", NULL };
static const char *const all[] = { "keeper", NULL };

static void
pipe_peers(wire_t *wire, const char *const *from, const char *const *to,
           const char *message, const char *pattern)
{
    skn_draft_pipe_t pipe = { .from = from,
                              .to = to,
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
    uint64_t bounds[SKN_CLUSTER_NODES_MAX + 1];
    uint32_t nodes = wire->plan->node_count;
    assert(nodes <= SKN_CLUSTER_NODES_MAX);
    for (uint32_t k = 0; k <= nodes; k++)
        bounds[k] = k;
    skn_draft_pipe_t pipe = { .from = all,
                              .to = all,
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
    for (uint32_t k = 0; names && k < wire->keeper_count; k++)
        pipe_state(wire, k, &names[0], &names[1]);
    names_t *others = names;
    if (others) {
        others->count = 0;
        for (uint32_t k = 1; k < wire->keeper_count; k++)
            add_name(others, "keeper", k);
        pipe_peers(wire, first, others->at, "keep", "broadcast");
        pipe_peers(wire, others->at, first, "kept", "one");
    }
    free(names);
    if (wire->start->restore)
        pipe_peers(wire, all, all, "holding", "broadcast");
    pipe_parts(wire, "fetch");
    pipe_parts(wire, "fetched");
}
