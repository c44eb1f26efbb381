/* plan_pipes.c - writes the pipes of a plan's training loop.
 *
 *   source ─batch─▶ embedding.* ─activation─▶ output.* ◀─partition─▶ output.*
 *     │               ▲ ▲ └─gradient─▶ up_hidden.*  │ └─gradient─▶ up_output.*
 *     │               │ └── lease ◀──────┘          │      lease ◀──┘
 *     │               └──────── output_gradient ────┘
 *     └─labels─▶ output.*, evaluator         applied: all updaters ─▶ source
 *   course ─go─▶ source ─reached─▶ course ─save─▶ keeper.0 ─save─▶ up_*
 *
 * Not drawn: halt, result, ranking, metrics, saved, the partition to the layer
 * below, `applied` of the evaluator, and the state of owners (plan_keepers.c).
 * Further hidden layers are dense.* between embedding and output. The parts
 * that output and dense shards of one node send down may pass a combiner.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "actors/protocol/block.h"
#include "topology/plan/plan_internal.h"

/* A list of stems for a pipe's end, which ends with NULL. */
typedef struct ends {
    const char *name[70];
    uint32_t count;
} ends_t;

static void
end_add(ends_t *ends, const char *name)
{
    assert(ends->count + 1 < sizeof(ends->name) / sizeof(ends->name[0]));
    ends->name[ends->count++] = name;
}

static void
pipe_add(wire_t *wire, const ends_t *from, const ends_t *to,
         const char *message, const char *pattern, uint32_t credit, bool peer)
{
    skn_draft_pipe_t pipe = {
        .from = from->name,
        .to = to->name,
        .message = message,
        .pattern = pattern,
        .credit = credit,
        .peer = peer,
    };
    skn_draft_pipe(wire->draft, &pipe);
}

static void
pipe_one(wire_t *wire, const char *from, const char *to, const char *message,
         const char *pattern, bool peer)
{
    ends_t sender = { 0 }, receiver = { 0 };
    end_add(&sender, from);
    end_add(&receiver, to);
    pipe_add(wire, &sender, &receiver, message, pattern, wire->credit, peer);
}

/* The coding of activations and their gradients between nodes. */
const char *
skn_wire_coding(const wire_t *wire)
{
    static const char *const words[] = {
#define WORD_OF(NAME, word) #word,
        SKN_LINK_CODINGS(WORD_OF)
#undef WORD_OF
    };
    return wire->plan->node_count > 0 ? words[wire->model->links.coding] : NULL;
}

static void
pipe_up(wire_t *wire, uint32_t lower)
{
    ends_t from = { 0 }, to = { 0 };
    end_add(&from, wire->stem[lower]);
    end_add(&to, wire->stem[lower + 1]);
    skn_draft_pipe_t pipe = {
        .from = from.name,
        .to = to.name,
        .message = "activation",
        .pattern = "gather",
        .credit = wire->credit,
        .coding = skn_wire_coding(wire),
    };
    skn_draft_pipe(wire->draft, &pipe);
}

/* Adds the pipe of gradients to the layer below, cut by that layer's
 * columns. */
static void
pipe_down(wire_t *wire, uint32_t upper, const char *message)
{
    const skn_model_layer_t *below = &wire->model->layers[upper - 1];
    uint32_t shards = shards_of(below);
    uint64_t bounds[SKN_SHARD_MAX + 1];
    ends_t to = { 0 };
    assert(shards <= SKN_SHARD_MAX);
    skn_wire_combiner_pipes(wire, upper, message, shards);
    end_add(&to, wire->stem[upper - 1]);
    for (uint32_t k = 0; k <= shards; k++)
        bounds[k] = skn_plan_first(wire->plan, upper - 1, k);
    skn_draft_pipe_t pipe = {
        .from = skn_wire_senders(wire, upper),
        .to = to.name,
        .message = message,
        .pattern = "scatter",
        .collect = "gather",
        .key = "column_first",
        .bounds = bounds,
        .bound_count = shards + 1,
        .credit = wire->credit,
        .peer = true,
        .coding = skn_wire_coding(wire),
    };
    skn_draft_pipe(wire->draft, &pipe);
}

/* Adds the pipe of a softmax's (m, z), to the other shards and, unless these
 * normalise their gradients, to the layer below. */
static void
pipe_partition(wire_t *wire)
{
    uint32_t last = wire->layer_count - 1;
    ends_t to = { 0 };
    char below[48]; /* of a decoder: the last stage */
    if (wire->output->loss != SKN_LOSS_SOFTMAX)
        return;
    if (skn_model_is_decoder(wire->model))
        (void)snprintf(below, sizeof(below), "stage.%" PRId64,
                       wire->model->decoder.stages - 1);
    else
        (void)snprintf(below, sizeof(below), "%s", wire->stem[last - 1]);
    end_add(&to, wire->stem[last]);
    if (wire->model->train.merge != SKN_MERGING_LATE)
        end_add(&to, below);
    skn_wire_combiner_pipes(wire, last, "partition", 1);
    skn_draft_pipe_t pipe = {
        .from = skn_wire_senders(wire, last),
        .to = to.name,
        .message = "partition",
        .pattern = "broadcast",
        .collect = "gather",
        .credit = wire->credit,
        .peer = true,
    };
    skn_draft_pipe(wire->draft, &pipe);
}

static void
pipe_layers(wire_t *wire)
{
    uint32_t last = wire->layer_count - 1;
    for (uint32_t k = 0; k <= last; k++) {
        pipe_one(wire, wire->stem[k], wire->updater[k], "gradient", "one",
                 false);
        pipe_one(wire, wire->updater[k], wire->stem[k], "lease", "one", true);
        if (k == last)
            break;
        if (skn_model_is_decoder(wire->model))
            continue;
        pipe_up(wire, k);
        pipe_down(wire, k + 1,
                  k + 1 == last ? "output_gradient" : "hidden_gradient");
    }
    if (skn_model_is_decoder(wire->model)) {
        skn_wire_stage_pipes(wire);
        skn_wire_clipper_pipes(wire);
    }
    pipe_partition(wire);
    if (!skn_plan_has_index(&wire->output->sampler))
        return;
    pipe_one(wire, wire->stem[last], "table_builder", "dirty", "one", false);
    pipe_one(wire, "table_builder", wire->stem[last], "index", "one", true);
}

static void
pipe_course(wire_t *wire)
{
    uint32_t last = wire->layer_count - 1;
    ends_t source = { 0 }, layers = { 0 }, labels = { 0 }, course = { 0 };
    ends_t updaters = { 0 }, appliers = { 0 }, keeper = { 0 };
    end_add(&source, "source");
    end_add(&course, "course");
    end_add(&keeper, "keeper.0");
    end_add(&labels, wire->stem[last]);
    end_add(&labels, "evaluator");
    end_add(&appliers, "evaluator");
    for (uint32_t k = 0; k <= last; k++) {
        end_add(&layers, wire->stem[k]);
        end_add(&updaters, wire->updater[k]);
        end_add(&appliers, wire->updater[k]);
    }
    if (wire->plan->node_count > 1) {
        skn_wire_reader_pipes(wire);
    } else {
        pipe_one(wire, "source", wire->stem[0], "batch", "broadcast", false);
        pipe_add(wire, &source, &labels, "labels", "broadcast", wire->credit,
                 false);
    }
    pipe_add(wire, &source, &layers, "halt", "broadcast", wire->credit, false);
    pipe_add(wire, &appliers, &source, "applied", "one", wire->credit, false);
    pipe_one(wire, wire->stem[last], "course", "result", "one", false);
    pipe_one(wire, wire->stem[last], "evaluator", "ranking", "gather", false);
    pipe_one(wire, "evaluator", "course", "metrics", "one", false);
    pipe_one(wire, "course", "source", "go", "one", false);
    pipe_one(wire, "course", "source", "halt", "one", false);
    pipe_one(wire, "source", "course", "reached", "one", false);
    if (!wire->start->run_path)
        return;
    pipe_add(wire, &course, &keeper, "save", "one", wire->credit, false);
    pipe_add(wire, &keeper, &updaters, "save", "broadcast", wire->credit, true);
    if (has_keeper_per_node(wire)) {
        skn_wire_keeper_pipes(wire);
    } else {
        pipe_add(wire, &updaters, &keeper, "tensor", "one", wire->credit,
                 false);
        pipe_add(wire, &updaters, &keeper, "chunk", "one", wire->credit, false);
    }
    pipe_add(wire, &keeper, &course, "saved", "one", wire->credit, false);
    skn_wire_restore_pipes(wire);
}

void
skn_wire_pipes(wire_t *wire)
{
    pipe_layers(wire);
    pipe_course(wire);
}
