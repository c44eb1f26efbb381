/* plan_internal.h - the state and functions shared by the files that write a
 * plan's actors and pipes.
 *
 * Private to topology/plan/plan_*.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PLAN_PLAN_INTERNAL_H
#define TOPOLOGY_PLAN_PLAN_INTERNAL_H

#include <inttypes.h>

#include "topology/spec/draft.h"
#include "topology/plan/plan.h"

/* One end of a pipe being written: the names of shards; `at` ends with NULL. */
typedef struct skn_plan_names {
    char text[SKN_SHARD_MAX][48];
    const char *at[SKN_SHARD_MAX + 2];
} skn_plan_names_t;

typedef struct wire {
    skn_draft_t *draft;
    const skn_plan_t *plan;
    const skn_plan_start_t *start;
    const skn_model_t *model;
    const skn_model_layer_t *output;
    uint32_t issued;      /* most batches that are issued and not yet applied */
    uint32_t credit;      /* of a pipe in the training loop */
    uint32_t owners;      /* updaters */
    char stem[64][32];    /* of each layer's shards */
    char updater[64][32]; /* of each layer's updaters */
    uint32_t layer_count;
    skn_plan_names_t *names;
    char (*restored)[64];  /* owners that request their state */
    uint32_t *restored_by; /* the numbers of the keepers that they ask */
    uint32_t restored_count;
    uint32_t keeper_count; /* none, one on the first node, or one on each */
} wire_t;

/* Whether each node has a keeper and a folder of its own. */
static inline bool
has_keeper_per_node(const wire_t *wire)
{
    return wire->keeper_count > 1;
}

static inline uint32_t
shards_of(const skn_model_layer_t *layer)
{
    return (uint32_t)layer->shards;
}

/* Returns the cores that the file gives node `node`, or this process if there
 * are no nodes. */
const skn_model_cores_t *skn_plan_cores(const skn_model_t *model, size_t node);
/* The widths of a layer's input and of its output: units or labels. */
uint64_t skn_plan_inputs(const skn_plan_t *plan, size_t layer);
uint64_t skn_plan_outputs(const skn_plan_t *plan, size_t layer);
/* First unit or row of a shard; for shard S, the end of the last. */
uint64_t skn_plan_first(const skn_plan_t *plan, size_t layer, uint32_t shard);

/* Whether a layer is the decoder's own, whose shards are stages. */
static inline bool
skn_plan_is_stages(const skn_plan_t *plan, size_t layer)
{
    return skn_model_is_decoder(plan->model) && layer == SKN_DECODER_LAYER;
}
/* plan_decoder.c: reads the texts of a decoder. */
skn_status_t skn_plan_read_text(skn_plan_t *plan, const skn_model_t *model,
                                skn_error_t *error);
/* Resolves every auto of a decoder, and counts its batches. SKN_BAD_DATA: the
 * text is shorter than a step. */
skn_status_t skn_plan_auto_decoder(skn_plan_t *plan, skn_model_t *model,
                                   skn_error_t *error);
/* Deals a decoder's layers to its stages, by the weights of their nodes and
 * what else their cores compute, and counts the micro-batches in flight. */
void skn_plan_deal_stages(skn_plan_t *plan);
/* SKN_BAD_CONFIG: a stage, or a shard of the head, has too many weights for a
 * message. */
skn_status_t skn_plan_check_gradients(const skn_plan_t *plan,
                                      skn_error_t *error);
/* Weights of a layer of a decoder. */
uint64_t skn_plan_decoder_weights(const skn_plan_t *plan, size_t layer);
/* Bytes that the stages on a node (0 in one process) keep of the micro-batches
 * in flight, and compute them in. */
uint64_t skn_plan_stages_bytes(const skn_plan_t *plan, uint32_t node);

/* The node and core of a shard, its updater and its table builder. */
typedef struct skn_plan_seat {
    uint32_t node;
    int core; /* logical number on that node, or SKN_CORE_FLOAT */
} skn_plan_seat_t;
skn_plan_seat_t skn_plan_seat(const skn_plan_t *plan, size_t layer,
                              uint32_t shard);
/* Units or rows of a layer that are on a node. */
uint64_t skn_plan_share(const skn_plan_t *plan, size_t layer, uint32_t node);
/* Whether a layer and the one above it together are on several nodes. */
bool skn_plan_crosses(const skn_plan_t *plan, size_t lower);
/* Refuses nodes without a shard. */
skn_status_t skn_plan_check_nodes(const skn_plan_t *plan, skn_error_t *error);

/* plan_combiners.c: whether a node merges the parts of its shards of a layer
 * before they leave it. */
bool skn_plan_combines(const skn_plan_t *plan, size_t layer, uint32_t node);
/* Whether the weights of nodes' cores differ; and the weights of a layer's
 * shards, as actors/protocol/slicing.h reads them. Then the number of senders
 * of a layer: nodes that merge, and shards that do not. */
bool skn_plan_is_weighted(const skn_plan_t *plan);
void skn_plan_write_weights(const skn_plan_t *plan, uint32_t shards, char *text,
                            size_t text_bytes);
uint32_t skn_plan_senders(const skn_plan_t *plan, size_t layer);
/* The leaves of the tree in which the parts of a layer's shards are merged;
 * and, with reduction `fast`, the leaf that a shard is in the tree of the
 * actors to which it sends. */
uint32_t skn_plan_leaves(const skn_plan_t *plan, size_t layer);
uint32_t skn_plan_leaf(const skn_plan_t *plan, size_t layer, uint32_t shard);

/* The number of nodes of that tree that a node sends for its shards: 1 with
 * `fast`. */
uint32_t skn_plan_parts(const skn_plan_t *plan, size_t layer, uint32_t node);

/* plan_weights.c: sets the weights of the nodes' cores; the sum of weights for
 * the shards below `shard` of `shards`. */
void skn_plan_deal_weights(skn_plan_t *plan);
uint64_t skn_plan_weight_before(const skn_plan_t *plan, uint32_t shards,
                                uint32_t shard);
/* The bytes of state that a node owns and hands over when it leaves; and
 * whether it can do so in half of its notice. */
uint64_t skn_plan_hand_over_bytes(const skn_plan_t *plan, uint32_t node);
bool skn_plan_hands_over(const skn_plan_t *plan, uint32_t node);
/* plan_memory.c: bytes of `count` units of a layer in a checkpoint: weights and
 * their moments. */
uint64_t skn_plan_state_bytes(const skn_plan_t *plan, size_t layer,
                              uint64_t count);

/* plan_memory.c: fills parameters and memory_bytes, in all and of each node. */
void skn_plan_estimate(skn_plan_t *plan);
/* Refuses a plan, or a node's share, that needs more than the file allows. */
skn_status_t skn_plan_check_memory(const skn_plan_t *plan, skn_error_t *error);

/* plan_wire.c: adds an actor on its node and core. */
void skn_wire_actor(wire_t *wire, const char *name, const char *kind,
                    skn_plan_seat_t seat, int nice);
/* plan_wire.c: add an option of the actor added last. */
void skn_wire_int(wire_t *wire, const char *name, uint64_t value);
void skn_wire_real(wire_t *wire, const char *name, double value);
void skn_wire_text(wire_t *wire, const char *name, const char *value);
/* Adds the options for the cuts of the layer below `layer`:
 * SKN_SLICING_OPTIONS. */
void skn_wire_cuts(wire_t *wire, uint32_t layer);

/* plan_restore.c: adds the options by which the owner added last, `name` on
 * `node`, gets its state from a checkpoint; and the pipes for them. */
void skn_wire_resume(wire_t *wire, const char *name, uint32_t node);
void skn_wire_restore_pipes(wire_t *wire);
/* plan_keepers.c: the actors that keep checkpoints; the pipes of those that
 * each have a folder. */
void skn_wire_keepers(wire_t *wire);
void skn_wire_keeper_pipes(wire_t *wire);
/* plan_course.c: source, evaluator, course. */
void skn_wire_source(wire_t *wire);
/* Add the options of an actor that keeps the tokenizer of a decoder or the
 * vocabulary of texts, of one that opens the training file, and of one that
 * makes batches. */
void skn_wire_vocabulary(wire_t *wire);
void skn_wire_training_file(wire_t *wire);
void skn_wire_data(wire_t *wire);
/* plan_readers.c: the readers of nodes without the source, and the pipes of
 * batches. */
void skn_wire_readers(wire_t *wire);
void skn_wire_reader_pipes(wire_t *wire);
void skn_wire_course(wire_t *wire);
/* plan_layers.c: shards, updaters, table builders. */
void skn_wire_layers(wire_t *wire);
/* plan_decoder_wire.c: the clipper, and its pipes; the pipes between the layers
 * of a decoder. */
void skn_wire_clipper(wire_t *wire);
void skn_wire_clipper_pipes(wire_t *wire);
void skn_wire_stage_pipes(wire_t *wire);
/* plan_combiners.c */
void skn_wire_combiners(wire_t *wire);
/* The senders of the parts of a layer's shards, for a pipe's end; in
 * wire->names. */
const char *const *skn_wire_senders(wire_t *wire, uint32_t layer);
/* Adds the pipes from shards to the combiners of their nodes, with this many
 * messages a batch. */
void skn_wire_combiner_pipes(wire_t *wire, uint32_t layer, const char *message,
                             uint32_t messages);
/* plan_pipes.c; and the coding of activations and their gradients between
 * nodes, or NULL. */
void skn_wire_pipes(wire_t *wire);
const char *skn_wire_coding(const wire_t *wire);

#endif
