/* layer.h - a shard of a hidden layer: the phases of its batches, and the order
 * of its forward passes and updates.
 *
 * The code that the first hidden layer (embedding.c) and the later ones
 * (dense.c) share. A batch passes through four phases:
 *
 *     free ─input─▶ waiting ─turn─▶ above ─gradient from there─▶ landed
 *       ▲                 └─ an evaluation ends here                │
 *       └────────── turn: row gradients go to the updater ──────────┘
 *
 * A kind's state begins with its skn_layer_t, so that the handlers below work
 * for every kind; the differences are in skn_layer_work_t. One thread, the
 * actor's.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_HIDDEN_LAYER_H
#define ACTORS_HIDDEN_LAYER_H

#include "actors/rows/copy.h"
#include "actors/hidden/hidden.h"
#include "actors/hidden/slices.h"
#include "actors/rows/rows.h"
#include "actors/protocol/turns.h"

typedef enum skn_flight_phase {
    SKN_FLIGHT_FREE,
    SKN_FLIGHT_WAITING, /* the input is here */
    SKN_FLIGHT_ABOVE,   /* the activation has gone up */
    SKN_FLIGHT_LANDED   /* the gradient has come down */
} skn_flight_phase_t;

typedef struct skn_held_part { /* parts of a gather that are kept */
    const void **at;           /* room for one of each shard above */
    size_t count;
} skn_held_part_t;

typedef struct skn_layer_flight { /* one batch in one layer */
    skn_flight_phase_t phase;
    uint32_t slot;        /* its place among the flights of the layer */
    uint32_t window_slot; /* its place among those in the window */
    uint64_t batch, floor, horizon;
    uint32_t purpose, rows;
    const void *input; /* message that the kind keeps; dropped at the end */
    const skn_activation_t *activation;
    /* With a softmax above: the parts that came first wait here for the
     * others. */
    skn_held_part_t partitions, shares;
    float *gradient;         /* [rows][columns], after dropout and ReLU */
    skn_rounding_t rounding; /* of the gradient */
    uint32_t pieces;         /* of the row gradients that are computed */
} skn_layer_flight_t;

typedef struct skn_layer skn_layer_t;

typedef struct skn_layer_work {
    /* Computes the sums before ReLU, [rows][columns], from layer->rows. */
    void (*forward)(skn_layer_t *layer, const skn_layer_flight_t *flight,
                    float *sum);
    /* Called when flight->gradient is here, in the order of batches;
     * layer->rows may be away. NULL: nothing to do. */
    skn_status_t (*landed)(skn_actor_t *actor, skn_layer_t *layer,
                           const skn_layer_flight_t *flight,
                           skn_error_t *error);
    /* Computes a piece of the batch's row gradients: of a layer with pieces. */
    skn_status_t (*piece)(skn_actor_t *actor, skn_layer_t *layer,
                          const skn_layer_flight_t *flight, uint32_t piece,
                          skn_error_t *error);
    /* Makes the row gradients of the batch; the layer fills in `batch` and
     * `rows`. NULL and a filled `error` when memory is short. */
    skn_gradient_t *(*gradient)(skn_actor_t *actor, skn_layer_t *layer,
                                const skn_layer_flight_t *flight,
                                skn_error_t *error);
} skn_layer_work_t;

struct skn_layer {
    const skn_layer_work_t *work;
    skn_hidden_t hidden;
    skn_turns_t turns;
    skn_copy_t copy;
    const skn_rows_t *rows; /* lent, or the copy's; NULL while they are away */
    /* Batches are issued before their turn; a batch counts in the window from
     * its forward pass to its update. */
    uint32_t flight_count, window_count;
    float *gradients; /* [window_count][gradient_floats] */
    size_t gradient_floats;
    /* The row gradients of a batch are computed in so many pieces, while no
     * message waits or because there is no room for another batch; 0: at once,
     * by work->gradient. Set by the kind. */
    uint32_t pieces;
    uint64_t landed;   /* the next batch for work->landed */
    const void **held; /* of all flights */
    size_t held_max;   /* parts of a gather from above */
    skn_layer_flight_t flight[SKN_ISSUED_MAX + 1];
};

/* The columns of the layer that a shard has, and the shape of the rows that
 * store its weights. */
typedef struct skn_layer_shape {
    uint32_t column_first, columns;
    uint32_t rows, width;
} skn_layer_shape_t;

/* Reads SKN_HIDDEN_OPTIONS, SKN_TURNS_OPTIONS and SKN_COPY_OPTIONS, and
 * allocates. Freed by skn_layer_close, also after a failure. */
skn_status_t skn_layer_open(skn_layer_t *layer, skn_actor_t *actor,
                            const skn_layer_work_t *work,
                            const skn_layer_shape_t *shape, skn_error_t *error);
void skn_layer_close(skn_layer_t *layer);

/* Returns a free flight for a batch whose input has come, its phase still free:
 * the kind fills in the input and sets the phase to waiting. NULL and
 * SKN_BAD_MESSAGE as of skn_turns_admit, for a batch that is here already, or
 * with too many rows. */
skn_layer_flight_t *skn_layer_admit(skn_actor_t *actor, skn_layer_t *layer,
                                    const skn_issue_t *issue, uint32_t rows,
                                    skn_error_t *error);
/* The place of a flight's input in inputs [flights][rows_max][stride], of a
 * layer whose input is the slices of the one below. */
static inline float *
skn_layer_input(const skn_slices_t *below, float *inputs,
                const skn_layer_flight_t *flight)
{
    return inputs + (size_t)flight->slot * below->rows_max * below->stride;
}
/* Takes the slices of a batch, one part of each shard below: copies them to
 * their place in `inputs`, and takes turns. SKN_BAD_MESSAGE as of
 * skn_layer_admit and skn_slices_join. */
skn_status_t skn_layer_take_slices(skn_actor_t *actor, skn_layer_t *layer,
                                   const skn_slices_t *below, float *inputs,
                                   const skn_parts_t *parts,
                                   skn_error_t *error);
/* Does every step that is possible now, in the one order that turns.h
 * allows. */
skn_status_t skn_layer_take_turns(skn_actor_t *actor, skn_layer_t *layer,
                                  skn_error_t *error);

/* The hook `produce` of a kind with pieces: computes the next one. */
skn_status_t skn_layer_produce(skn_actor_t *actor, void *state,
                               skn_error_t *error);

/* Handlers (skn_handler_fn); `state` begins with the layer. The gradients of a
 * softmax wait for their partitions. */
skn_status_t skn_layer_on_output_gradient(skn_actor_t *actor, void *state,
                                          const void *message,
                                          skn_error_t *error);
skn_status_t skn_layer_on_partition(skn_actor_t *actor, void *state,
                                    const void *message, skn_error_t *error);
skn_status_t skn_layer_on_hidden_gradient(skn_actor_t *actor, void *state,
                                          const void *message,
                                          skn_error_t *error);
skn_status_t skn_layer_on_lease(skn_actor_t *actor, void *state,
                                const void *message, skn_error_t *error);
skn_status_t skn_layer_on_halt(skn_actor_t *actor, void *state,
                               const void *message, skn_error_t *error);

/* clang-format off */
/* All of them, in a kind's table, after the handler of its input. */
#define SKN_LAYER_HANDLERS                                                     \
    { &skn_partition_schema, skn_layer_on_partition, NULL },                   \
        { &skn_output_gradient_schema, skn_layer_on_output_gradient, NULL },   \
        { &skn_hidden_gradient_schema, skn_layer_on_hidden_gradient, NULL },   \
        { &skn_lease_schema, skn_layer_on_lease, NULL },                       \
        { &skn_halt_schema, skn_layer_on_halt, NULL }
/* clang-format on */
/* The lists of a kind whose input is activations, each up to NULL. */
extern const skn_schema_t *const skn_layer_sends[];
extern const skn_schema_t *const skn_layer_gathers[];
extern const skn_schema_t *const skn_layer_needs[];

#endif
