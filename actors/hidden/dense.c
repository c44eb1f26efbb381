/* dense.c - the actor of a shard of a hidden layer above the first: a range of
 * the layer's units, one row a unit.
 *
 * Batch t: h = ReLU(W x), where x is the layer below with a 1 behind it, which
 * meets the bias. Then dropout, and the slice goes up. When its gradient g has
 * come, W^T g is sent down at once, cut like the layer below, and is summed
 * there in a tree (merge.h) whose leaves are shards, or with reduction `fixed`
 * blocks of SKN_SLICE_COLUMNS units. W is the one of the forward pass: it is
 * copied then, since by now the rows may have been updated, or be with the
 * updater. The row gradients g x^T go to the updater with the rows, when it is
 * their turn. Equations (9), (25) and (26) of docs/concepts/equations.md.
 *
 * This file owns: the inputs and the weights of the batches in flight. Not
 * here: the batches themselves (layer.c), the update rule (updater.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/block.h"
#include "actors/protocol/kinds.h"
#include "actors/hidden/layer.h"
#include "actors/protocol/settings.h"
#include "actors/protocol/slicing.h"
#include "actors/protocol/workspace.h"

typedef struct dense {
    skn_layer_t layer; /* first: layer.h */
    skn_slices_t below;
    skn_slicing_t slicing; /* of the layer below */
    float *inputs;         /* [flights][batch_rows][below.stride] */
    float *weights;        /* [flights][units][below.stride] */
    void *gemm;            /* scratch of the greatest product */
    bool fixed;            /* a leaf a block of units, not one a shard */
    bool half;             /* products multiply bf16 */
    skn_merge_t down;
    uint32_t node_count,
        node[SKN_TREE_NODES_MAX]; /* the nodes that are sent down */
    bool packed;                  /* at open positions only: packing.h */
    uint32_t *open;               /* [batch_rows] */
    float *whole; /* [batch_rows][columns below] of a node that is to be
                   * packed */
} dense_t;

/* The input of a leaf of the tree. */
typedef struct leaf_source {
    const dense_t *dense;
    const skn_layer_flight_t *flight;
    uint32_t column_first, columns;
} leaf_source_t;

static float *
weights_of(const dense_t *dense, const skn_layer_flight_t *flight)
{
    return dense->weights + (size_t)flight->window_slot *
                                dense->layer.hidden.columns *
                                dense->below.stride;
}

/* Computes sum[rows][units] = x[rows][inputs + 1] . W[units][inputs + 1]^T. */
static void
dense_forward(skn_layer_t *layer, const skn_layer_flight_t *flight, float *sum)
{
    const dense_t *dense = (const dense_t *)layer;
    const skn_kernels_t *kernels = layer->hidden.kernels;
    float *w = weights_of(dense, flight);
    size_t stride = dense->below.stride;
    for (uint32_t unit = 0; unit < layer->hidden.columns; unit++)
        skn_rows_get(layer->rows, kernels, unit, w + unit * stride);
    skn_gemm_t job = {
        .m = flight->rows,
        .n = layer->hidden.columns,
        .k = (size_t)dense->below.columns + 1,
        .a = { .at = skn_layer_input(&dense->below, dense->inputs, flight),
               .row_stride = stride,
               .column_stride = 1 },
        .b = { .at = w, .row_stride = 1, .column_stride = stride },
        .c = sum,
        .c_stride = layer->hidden.columns,
        .half = dense->half,
    };
    kernels->gemm(&job, dense->gemm);
}

/* Computes pull[rows][columns] = g[rows][units] . W[units][column_first ..],
 * over the units of the leaf. */
static void
compute_leaf(void *source, uint32_t leaf, skn_partial_t *into)
{
    const leaf_source_t *from = source;
    const dense_t *dense = from->dense;
    const skn_hidden_t *hidden = &dense->layer.hidden;
    size_t first = 0, units = hidden->columns;
    if (dense->fixed) {
        first = (size_t)leaf * SKN_SLICE_COLUMNS - hidden->column_first;
        assert(first < units);
        units -= first;
        if (units > SKN_SLICE_COLUMNS)
            units = SKN_SLICE_COLUMNS;
    }
    skn_gemm_t job = {
        .m = from->flight->rows,
        .n = from->columns,
        .k = units,
        .a = { .at = from->flight->gradient + first,
               .row_stride = hidden->columns,
               .column_stride = 1 },
        .b = { .at = weights_of(dense, from->flight) +
                     first * dense->below.stride + from->column_first,
               .row_stride = dense->below.stride,
               .column_stride = 1 },
        .c = into->pull,
        .c_stride = from->columns,
        .half = dense->half,
    };
    hidden->kernels->gemm(&job, dense->gemm);
}

/* Sends the columns of one receiver; if packed, only those whose gradient it
 * can use. */
static skn_status_t
send_down(skn_actor_t *actor, dense_t *dense, const skn_layer_flight_t *flight,
          uint32_t first, uint32_t end, skn_error_t *error)
{
    leaf_source_t source = { dense, flight, first, end - first };
    skn_packing_t packing = {
        .mask = skn_layer_input(&dense->below, dense->inputs, flight) + first,
        .stride = dense->below.stride,
        .rows = flight->rows,
        .columns = source.columns,
        .kernels = dense->layer.hidden.kernels
    };
    size_t cells = dense->packed ? skn_packing_count(&packing, dense->open)
                                 : (size_t)flight->rows * source.columns;
    size_t counts[] = { dense->packed ? flight->rows : 0, dense->node_count,
                        dense->node_count * cells, 0 };
    skn_hidden_gradient_t *down =
        skn_actor_message(actor, &skn_hidden_gradient_schema, counts, error);
    if (!down)
        return SKN_NO_MEMORY;
    down->batch = flight->batch;
    down->shard = skn_actor_index(actor);
    down->rows = flight->rows;
    down->column_first = first;
    down->columns = source.columns;
    if (dense->packed)
        memcpy(down->open.at, dense->open, flight->rows * sizeof(uint32_t));
    dense->down.rows = flight->rows;
    dense->down.columns = source.columns;
    for (uint32_t k = 0; k < dense->node_count; k++) {
        float *to = down->value.at + k * cells;
        skn_partial_t partial = { .pull = dense->packed ? dense->whole : to };
        down->node.at[k] = dense->node[k];
        skn_merge_leaves(&dense->down, dense->node[k], compute_leaf, &source,
                         &partial);
        if (dense->packed)
            skn_packing_pack(&packing, dense->open, dense->whole,
                             source.columns, to);
    }
    return skn_actor_post(actor, down, error);
}

static skn_status_t
dense_landed(skn_actor_t *actor, skn_layer_t *layer,
             const skn_layer_flight_t *flight, skn_error_t *error)
{
    dense_t *dense = (dense_t *)layer;
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < dense->slicing.slices && status == SKN_OK; k++)
        status = send_down(actor, dense, flight, dense->slicing.first[k],
                           dense->slicing.first[k + 1], error);
    return status;
}

/* Computes value[units][inputs + 1] = g[rows][units]^T . x[rows][inputs +
 * 1]. */
static skn_gradient_t *
dense_gradient(skn_actor_t *actor, skn_layer_t *layer,
               const skn_layer_flight_t *flight, skn_error_t *error)
{
    const dense_t *dense = (const dense_t *)layer;
    size_t units = layer->hidden.columns;
    size_t width = (size_t)dense->below.columns + 1;
    size_t counts[] = { units, units * width };
    skn_gradient_t *message =
        skn_actor_message(actor, &skn_gradient_schema, counts, error);
    if (!message)
        return NULL;
    for (uint32_t unit = 0; unit < units; unit++)
        message->unit.at[unit] = unit;
    skn_gemm_t job = {
        .m = units,
        .n = width,
        .k = flight->rows,
        .a = { .at = flight->gradient,
               .row_stride = 1,
               .column_stride = units },
        .b = { .at = skn_layer_input(&dense->below, dense->inputs, flight),
               .row_stride = dense->below.stride,
               .column_stride = 1 },
        .c = message->value.at,
        .c_stride = width,
        .half = dense->half,
    };
    layer->hidden.kernels->gemm(&job, dense->gemm);
    return message;
}

static skn_status_t
on_activation(skn_actor_t *actor, void *state, const void *message,
              skn_error_t *error)
{
    dense_t *dense = state;
    return skn_layer_take_slices(actor, &dense->layer, &dense->below,
                                 dense->inputs, message, error);
}

/* --- open and close ------------------------------------------------------ */

static const skn_layer_work_t work = {
    .forward = dense_forward,
    .landed = dense_landed,
    .gradient = dense_gradient,
};

/* Floats of scratch that suffice for each of the three products. */
static size_t
gemm_floats(const dense_t *dense)
{
    const skn_kernels_t *kernels = dense->layer.hidden.kernels;
    size_t rows = dense->below.rows_max, units = dense->layer.hidden.columns;
    size_t width = (size_t)dense->below.columns + 1;
    size_t bytes[] = { kernels->gemm_scratch_bytes(rows, units, width),
                       kernels->gemm_scratch_bytes(rows, width, units),
                       kernels->gemm_scratch_bytes(units, width, rows) };
    size_t most = bytes[0] > bytes[1] ? bytes[0] : bytes[1];
    most = most > bytes[2] ? most : bytes[2];
    return most / sizeof(float) + 1;
}

/* Finds the nodes of the layer's tree that this shard sends down. */
static skn_status_t
open_tree(dense_t *dense, const skn_actor_t *actor, skn_error_t *error)
{
    const skn_hidden_t *hidden = &dense->layer.hidden;
    int64_t leaf = skn_actor_option_int(actor, "leaf");
    dense->fixed =
        strcmp(skn_actor_option_text(actor, "reduction"), "fixed") == 0;
    dense->half =
        strcmp(skn_actor_option_text(actor, "precision"), "bf16") == 0;
    dense->down.kernels = hidden->kernels;
    dense->down.leaf_count = 1; /* one leaf, its own */
    dense->node_count = 1;
    dense->node[0] =
        skn_node_place(0, leaf < 0 ? skn_actor_index(actor) : (uint32_t)leaf);
    if (dense->fixed) {
        int64_t units = skn_actor_option_int(actor, "units");
        dense->down.leaf_count = skn_slice_blocks((uint64_t)units);
        uint32_t first = hidden->column_first / SKN_SLICE_COLUMNS;
        uint32_t leaves = skn_slice_blocks(hidden->columns);
        if (hidden->column_first % SKN_SLICE_COLUMNS != 0 ||
            first + leaves > dense->down.leaf_count)
            return skn_fail(error, SKN_BAD_CONFIG,
                            "%s: units %u to %u are not a slice of %lld units",
                            skn_actor_name(actor), hidden->column_first,
                            hidden->column_first + hidden->columns,
                            (long long)units);
        dense->node_count = skn_merge_cover(dense->down.leaf_count, first,
                                            first + leaves, dense->node);
    }
    dense->down.scratch = skn_floats_new(
        skn_merge_scratch_floats(dense->down.leaf_count, dense->below.rows_max,
                                 dense->below.columns),
        error);
    return dense->down.scratch ? SKN_OK : SKN_NO_MEMORY;
}

static skn_status_t
open_packing(dense_t *dense, const skn_actor_t *actor, skn_error_t *error)
{
    size_t rows = dense->below.rows_max;
    dense->packed = skn_actor_option_bool(actor, "packed");
    dense->open = malloc(rows * sizeof(*dense->open));
    if (dense->packed)
        dense->whole = skn_floats_new(rows * dense->below.columns, error);
    if (dense->packed && !dense->whole)
        return SKN_NO_MEMORY;
    return dense->open ? SKN_OK
                       : skn_fail(error, SKN_NO_MEMORY,
                                  "no memory for a batch of %zu rows", rows);
}

static skn_status_t
dense_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    dense_t *dense = state;
    uint32_t units = (uint32_t)skn_actor_option_int(actor, "row_count");
    dense->below = (skn_slices_t){
        .name = skn_actor_name(actor),
        .rows_max = (uint32_t)skn_actor_option_int(actor, "batch_rows"),
        .columns = (uint32_t)skn_actor_option_int(actor, "inputs"),
        .constant = 1.0f,
    };
    dense->below.stride = skn_stride_floats(dense->below.columns + 1);
    skn_layer_shape_t shape = {
        .column_first = (uint32_t)skn_actor_option_int(actor, "row_first"),
        .columns = units,
        .rows = units,
        .width = dense->below.columns + 1,
    };
    skn_status_t status =
        skn_layer_open(&dense->layer, actor, &work, &shape, error);
    if (status == SKN_OK)
        status =
            skn_slicing_make(&dense->slicing, dense->below.columns,
                             (uint32_t)skn_actor_option_int(actor, "slices"),
                             skn_actor_option_text(actor, "slice_weights"),
                             skn_actor_name(actor), error);
    if (status != SKN_OK)
        return status;
    size_t stride = dense->below.stride;
    size_t inputs = dense->layer.flight_count * dense->below.rows_max;
    size_t weights = (size_t)dense->layer.window_count * units;
    dense->inputs = skn_floats_new(inputs * stride, error);
    dense->weights = skn_floats_new(weights * stride, error);
    dense->gemm = skn_floats_new(gemm_floats(dense), error);
    if (!dense->inputs || !dense->weights || !dense->gemm)
        return SKN_NO_MEMORY;
    status = open_packing(dense, actor, error);
    return status == SKN_OK ? open_tree(dense, actor, error) : status;
}

static void
dense_close(skn_actor_t *actor, void *state)
{
    dense_t *dense = state;
    (void)actor;
    free(dense->inputs);
    free(dense->weights);
    free(dense->gemm);
    free(dense->down.scratch);
    free(dense->open);
    free(dense->whole);
    skn_slicing_fini(&dense->slicing);
    skn_layer_close(&dense->layer);
}

static const skn_option_t options[] = {
    { "inputs", SKN_OPTION_INT, NULL, 1, SKN_HIDDEN_MAX, NULL,
      "number of units of the layer below" },
    SKN_SLICING_OPTIONS,
    { "units", SKN_OPTION_INT, NULL, 1, SKN_HIDDEN_MAX, NULL,
      "number of units of the whole layer" },
    SKN_OPTION_OF("precision", "f32", SKN_SETTING_PRECISION),
    SKN_OPTION_OF("reduction", "fast", SKN_SETTING_REDUCTION),
    { "leaf", SKN_OPTION_INT, "-1", -1, SKN_SHARD_MAX - 1, NULL,
      "fast: this shard's leaf of the merge tree; -1: the shard's number" },
    { "packed", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "send gradients of open hidden units only: fewer bytes, more computing" },
    { "row_first", SKN_OPTION_INT, "0", 0, SKN_HIDDEN_MAX, NULL,
      "first unit of the shard, a multiple of 8" },
    { "row_count", SKN_OPTION_INT, NULL, 1, SKN_HIDDEN_MAX, NULL,
      "number of units of the shard" },
    SKN_HIDDEN_OPTIONS,
    SKN_TURNS_OPTIONS,
    SKN_COPY_OPTIONS,
    { 0 },
};

static const skn_handler_t handlers[] = {
    { &skn_activation_schema, on_activation, NULL },
    SKN_LAYER_HANDLERS,
    { 0 },
};

const skn_kind_t skn_dense = {
    .struct_bytes = sizeof(skn_kind_t),
    .name = "dense",
    .help = "computes hidden units above a hidden layer: a range of the "
            "layer's rows",
    .state_bytes = sizeof(dense_t),
    .options = options,
    .handlers = handlers,
    .sends = skn_layer_sends,
    .gathers = skn_layer_gathers,
    .needs = skn_layer_needs,
    .open = dense_open,
    .close = dense_close,
    .is_compute_bound = true,
};
