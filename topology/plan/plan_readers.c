/* plan_readers.c - writes the readers of a plan, one a node, and the pipes of
 * their batches.
 *
 *     node a   source ─batch─▶ embedding.* of a    ─labels─▶ output.* of a
 *                │ issue (the number of a batch: 40 bytes)
 *     node b     └─▶ reader.0 ─batch─▶ embedding.* of b ─labels─▶ ...
 *
 * Every node has the same files and makes the same batches of them, so that no
 * data cross a link.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "topology/plan/plan_internal.h"

#define READER_NAME_BYTES 48

static bool
has_shards(const skn_plan_t *plan, uint32_t node)
{
    size_t last = plan->model->layer_count - 1;
    return skn_plan_share(plan, 0, node) > 0 ||
           skn_plan_share(plan, last, node) > 0;
}

/* Readers are numbered from 0, in the order of the nodes that have one; the
 * node of the source has none. */
static void
name_reader(const skn_plan_t *plan, uint32_t node, char *name)
{
    uint32_t number = 0;
    for (uint32_t n = 1; n < node; n++)
        number += has_shards(plan, n);
    (void)snprintf(name, READER_NAME_BYTES, "reader.%u", number);
}

void
skn_wire_readers(wire_t *wire)
{
    for (uint32_t n = 1; n < wire->plan->node_count; n++) {
        char name[READER_NAME_BYTES];
        skn_plan_seat_t seat = { .node = n, .core = SKN_CORE_FLOAT };
        if (!has_shards(wire->plan, n))
            continue;
        name_reader(wire->plan, n, name);
        skn_wire_actor(wire, name, "reader", seat, 0);
        skn_wire_data(wire);
    }
}

/* Lists the shards of a layer on one node. */
static uint32_t
list_shards(wire_t *wire, uint32_t layer, uint32_t node)
{
    skn_plan_names_t *names = wire->names;
    uint32_t shards = shards_of(&wire->model->layers[layer]), count = 0;
    for (uint32_t s = 0; s < shards; s++) {
        if (skn_plan_seat(wire->plan, layer, s).node != node)
            continue;
        (void)snprintf(names->text[count], sizeof(names->text[0]), "%s.%u",
                       wire->stem[layer], s);
        names->at[count] = names->text[count];
        count++;
    }
    names->at[count] = NULL;
    return count;
}

/* Adds a pipe from the source or reader of a node to the shards of a layer
 * there, and to `also`. */
static void
pipe_on_node(wire_t *wire, uint32_t node, uint32_t layer, const char *message,
             const char *also)
{
    char reader[READER_NAME_BYTES] = "source";
    const char *from[] = { reader, NULL };
    uint32_t count = list_shards(wire, layer, node);
    if (node > 0)
        name_reader(wire->plan, node, reader);
    if (also && node == 0) {
        wire->names->at[count++] = also;
        wire->names->at[count] = NULL;
    }
    skn_draft_pipe_t pipe = {
        .from = from,
        .to = wire->names->at,
        .message = message,
        .pattern = "broadcast",
        .credit = wire->credit,
    };
    if (count > 0)
        skn_draft_pipe(wire->draft, &pipe);
}

void
skn_wire_reader_pipes(wire_t *wire)
{
    const char *from[] = { "source", NULL }, *to[] = { "reader", NULL };
    uint32_t readers = 0;
    for (uint32_t n = 0; n < wire->plan->node_count; n++) {
        readers += n > 0 && has_shards(wire->plan, n);
        pipe_on_node(wire, n, 0, "batch", NULL);
        pipe_on_node(wire, n, wire->layer_count - 1, "labels", "evaluator");
    }
    skn_draft_pipe_t pipe = {
        .from = from,
        .to = to,
        .message = "issue",
        .pattern = "broadcast",
        .credit = wire->credit,
    };
    if (readers > 0)
        skn_draft_pipe(wire->draft, &pipe);
}
