/* stage.c - the actor of a stage: consecutive layers of a decoder, over one
 * micro-batch after the other.
 *
 * A batch is one micro-batch: whole sequences, a row for each token. Its
 * activation arrives, passes through the layers and goes up; when its gradient
 * has come down, B sends the gradient of the stage's input on at once, since
 * the stage below waits for it. W, the gradient of the weights, which nobody
 * waits for, is computed in pieces of some 10 ms while no message waits. So the
 * bubble of the pipeline fills itself, and no schedule is computed: the split
 * is that of Qi et al. 2023 (arXiv 2401.10241), the messages those of Singh &
 * Bhatele 2022 (AxoNN, arXiv 2110.13005). W runs in the order of batches: its
 * sums have the same bits whatever order messages arrive in.
 *
 * With `recompute`, a batch in flight keeps only what goes into each layer
 * (Chen et al. 2016, arXiv 1604.06174). Before B of a layer the rest is made
 * again, in memory that all batches and layers share, and W follows at once:
 * later it would need memory of its own.
 *
 * This file owns: what the layers keep of the batches in flight. Not here: the
 * batches and their turns (actors/hidden/layer.c), arithmetic
 * (decoder_layer.c), the update rule (actors/rows/updater.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/hidden/layer.h"
#include "actors/protocol/block.h"
#include "actors/protocol/kinds.h"
#include "actors/protocol/settings.h"
#include "actors/protocol/slicing.h"
#include "actors/protocol/workspace.h"
#include "actors/stage/decoder_layer.h"

/* The arrays that the stage keeps of one batch in flight. */
typedef struct stage_kept {
    float *memory; /* of its layers or, if they are recomputed, of their x; in
                    * the last stage, then of the norm behind the last layer */
    skn_decoder_kept_t *layers; /* [layers] */
    skn_norm_kept_t final;
} stage_kept_t;

typedef struct stage {
    skn_layer_t layer; /* first: layer.h */
    skn_decoder_t decoder;
    float *angles;
    uint32_t layers;   /* of this stage */
    bool is_last;      /* the norm behind the last layer is here */
    uint32_t parts;    /* of W of a layer */
    size_t layer_rows; /* of the weights */
    skn_slices_t below;
    skn_slicing_t slicing; /* of the layer below */
    float *inputs;         /* [flights][batch_rows][below.stride] */
    stage_kept_t *kept;    /* [window_count], whose arrays are in: */
    float *kept_memory;
    skn_decoder_kept_t *kept_layers;
    bool recompute;
    float *shared; /* recompute: one layer's arrays and x, of any batch */
    void *scratch;
    skn_gradient_t *sum; /* of the step, from its first W on */
} stage_t;

static stage_kept_t *
kept_of(const stage_t *stage, const skn_layer_flight_t *flight)
{
    return &stage->kept[flight->window_slot];
}

/* The weights of layer `layer` of the stage; after the last: the final gain. */
static skn_matrix_t
weights_of(const stage_t *stage, uint32_t layer)
{
    return skn_rows_matrix_from(stage->layer.rows, layer * stage->layer_rows);
}

static skn_decoder_floats_t
floats_of(const stage_t *stage)
{
    return skn_decoder_floats(&stage->decoder, stage->layers,
                              stage->below.rows_max, stage->recompute);
}

/* Copies the stage's input of a batch to x. */
static void
copy_input(const stage_t *stage, const skn_layer_flight_t *flight, float *x)
{
    const float *input = skn_layer_input(&stage->below, stage->inputs, flight);
    size_t width = stage->decoder.shape.width;
    for (uint32_t i = 0; i < flight->rows; i++)
        memcpy(x + i * width, input + i * stage->below.stride,
               width * sizeof(float));
}

/* Where a batch keeps the x that goes into a layer other than the first:
 * recompute. */
static float *
input_of(const stage_t *stage, const stage_kept_t *kept, uint32_t layer)
{
    size_t floats = floats_of(stage).flight / (stage->layers - 1);
    return kept->memory + (layer - 1) * floats;
}

static size_t
x_bytes(const stage_t *stage, const skn_layer_flight_t *flight)
{
    return flight->rows * sizeof(float) * stage->decoder.shape.width;
}

static void
stage_forward(skn_layer_t *layer, const skn_layer_flight_t *flight, float *x)
{
    const stage_t *stage = (const stage_t *)layer;
    const skn_decoder_shape_t *shape = &stage->decoder.shape;
    stage_kept_t *kept = kept_of(stage, flight);
    size_t sequences = flight->rows / shape->context;
    size_t floats = floats_of(stage).flight;
    copy_input(stage, flight, x);
    for (uint32_t k = 0; k < stage->layers; k++) {
        const skn_matrix_t weights = weights_of(stage, k);
        float *memory = stage->recompute
                            ? stage->shared
                            : kept->memory + k * (floats / stage->layers);
        if (stage->recompute && k > 0)
            memcpy(input_of(stage, kept, k), x, x_bytes(stage, flight));
        skn_decoder_kept_init(&stage->decoder, &kept->layers[k], sequences,
                              shape->context, memory);
        skn_decoder_layer_forward(&stage->decoder, &weights, &kept->layers[k],
                                  x, stage->scratch);
    }
    if (!stage->is_last)
        return;
    const skn_matrix_t gain = weights_of(stage, stage->layers);
    (void)skn_norm_kept_init(&kept->final, flight->rows, shape->width,
                             kept->memory + floats);
    skn_decoder_final_forward(&stage->decoder, &gain, &kept->final, x,
                              stage->scratch);
}

/* --- W -------------------------------------------------------------------- */

/* Makes the message that the gradients of a step are added up in. */
static skn_status_t
begin_sum(skn_actor_t *actor, stage_t *stage, skn_error_t *error)
{
    size_t rows = stage->layers * stage->layer_rows + stage->is_last;
    const size_t counts[] = { rows, rows * stage->decoder.shape.width };
    stage->sum = skn_actor_message(actor, &skn_gradient_schema, counts, error);
    if (!stage->sum)
        return error->status;
    for (uint32_t row = 0; row < rows; row++)
        stage->sum->unit.at[row] = row;
    memset(stage->sum->value.at, 0, counts[1] * sizeof(float));
    return SKN_OK;
}

/* Computes part `part` of what layer `number` of the stage adds to the sum;
 * number == layers: the norm behind the last one. */
static skn_status_t
add_part(skn_actor_t *actor, stage_t *stage, const skn_layer_flight_t *flight,
         uint32_t number, uint32_t part, skn_error_t *error)
{
    const stage_kept_t *kept = kept_of(stage, flight);
    if (!stage->sum && begin_sum(actor, stage, error) != SKN_OK)
        return error->status;
    float *gradient = stage->sum->value.at +
                      number * stage->layer_rows * stage->decoder.shape.width;
    if (number == stage->layers)
        skn_decoder_final_weights(&stage->decoder, &kept->final, gradient);
    else
        skn_decoder_layer_weights(&stage->decoder, &kept->layers[number], part,
                                  gradient, stage->scratch);
    return SKN_OK;
}

static skn_status_t
stage_piece(skn_actor_t *actor, skn_layer_t *layer,
            const skn_layer_flight_t *flight, uint32_t piece,
            skn_error_t *error)
{
    stage_t *stage = (stage_t *)layer;
    return add_part(actor, stage, flight, piece / stage->parts,
                    piece % stage->parts, error);
}

/* The last batch of a step sends the sum over all of them; the others an empty
 * gradient, so that they count as applied. */
static skn_gradient_t *
stage_gradient(skn_actor_t *actor, skn_layer_t *layer,
               const skn_layer_flight_t *flight, skn_error_t *error)
{
    static const size_t none[] = { 0, 0 };
    stage_t *stage = (stage_t *)layer;
    skn_gradient_t *sum = stage->sum;
    if (!skn_turns_ends_step(&layer->turns, flight->batch))
        return skn_actor_message(actor, &skn_gradient_schema, none, error);
    stage->sum = NULL;
    return sum;
}

/* --- B -------------------------------------------------------------------- */

/* Sends columns [first, end) of the gradient to the shard below that has
 * them. */
static skn_status_t
send_down(skn_actor_t *actor, const stage_t *stage,
          const skn_layer_flight_t *flight, uint32_t first, uint32_t end,
          skn_error_t *error)
{
    uint32_t columns = end - first, width = stage->decoder.shape.width;
    const size_t counts[] = { 0, 1, (size_t)flight->rows * columns, 0 };
    skn_hidden_gradient_t *down =
        skn_actor_message(actor, &skn_hidden_gradient_schema, counts, error);
    if (!down)
        return SKN_NO_MEMORY;
    down->batch = flight->batch;
    down->rows = flight->rows;
    down->column_first = first;
    down->columns = columns;
    down->node.at[0] = skn_node_place(0, 0);
    for (uint32_t i = 0; i < flight->rows; i++)
        memcpy(down->value.at + (size_t)i * columns,
               flight->gradient + (size_t)i * width + first,
               columns * sizeof(float));
    return skn_actor_post(actor, down, error);
}

/* Makes again what a layer of the batch kept in its forward pass. */
static void
recompute(const stage_t *stage, const skn_layer_flight_t *flight,
          stage_kept_t *kept, uint32_t number)
{
    const skn_matrix_t weights = weights_of(stage, number);
    skn_decoder_kept_t *layer = &kept->layers[number];
    float *x = stage->shared + floats_of(stage).shared -
               skn_array_floats((size_t)stage->below.rows_max *
                                stage->decoder.shape.width);
    if (number == 0)
        copy_input(stage, flight, x);
    else
        memcpy(x, input_of(stage, kept, number), x_bytes(stage, flight));
    skn_decoder_kept_init(&stage->decoder, layer, layer->sequences,
                          layer->length, stage->shared);
    skn_decoder_layer_recompute(&stage->decoder, &weights, layer, x,
                                stage->scratch);
}

/* B of layer `number`; number == layers: of the norm behind the last one. */
static void
layer_backward(const stage_t *stage, const skn_layer_flight_t *flight,
               uint32_t number)
{
    stage_kept_t *kept = kept_of(stage, flight);
    const skn_matrix_t weights = weights_of(stage, number);
    if (number == stage->layers) {
        skn_decoder_final_backward(&stage->decoder, &weights, &kept->final,
                                   flight->gradient, stage->scratch);
        return;
    }
    if (stage->recompute)
        recompute(stage, flight, kept, number);
    skn_decoder_layer_backward(&stage->decoder, &weights, &kept->layers[number],
                               flight->gradient, stage->scratch);
}

/* All of W of layer `number`. */
static skn_status_t
add_parts(skn_actor_t *actor, stage_t *stage, const skn_layer_flight_t *flight,
          uint32_t number, skn_error_t *error)
{
    uint32_t parts = number == stage->layers ? 1 : stage->parts;
    skn_status_t status = SKN_OK;
    for (uint32_t part = 0; part < parts && status == SKN_OK; part++)
        status = add_part(actor, stage, flight, number, part, error);
    return status;
}

static skn_status_t
stage_landed(skn_actor_t *actor, skn_layer_t *layer,
             const skn_layer_flight_t *flight, skn_error_t *error)
{
    stage_t *stage = (stage_t *)layer;
    skn_status_t status = SKN_OK;
    /* A step's rows stay until its last W. */
    assert(layer->rows);
    uint32_t k = stage->layers + stage->is_last;
    while (k-- > 0 && status == SKN_OK) {
        layer_backward(stage, flight, k);
        if (stage->recompute)
            status = add_parts(actor, stage, flight, k, error);
    }
    for (k = 0; k < stage->slicing.slices && status == SKN_OK; k++)
        status = send_down(actor, stage, flight, stage->slicing.first[k],
                           stage->slicing.first[k + 1], error);
    return status;
}

static skn_status_t
on_activation(skn_actor_t *actor, void *state, const void *message,
              skn_error_t *error)
{
    stage_t *stage = state;
    const skn_parts_t *parts = message;
    const skn_activation_t *first = parts->at[0];
    uint32_t context = stage->decoder.shape.context;
    if (first->rows == 0 || first->rows % context != 0)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: batch %llu has %u tokens, which are not whole "
                        "sequences of %u",
                        skn_actor_name(actor), (unsigned long long)first->batch,
                        first->rows, context);
    return skn_layer_take_slices(actor, &stage->layer, &stage->below,
                                 stage->inputs, parts, error);
}

/* --- open and close ------------------------------------------------------ */

static const skn_layer_work_t work = {
    .forward = stage_forward,
    .landed = stage_landed,
    .piece = stage_piece,
    .gradient = stage_gradient,
};

static skn_status_t
open_shape(stage_t *stage, const skn_actor_t *actor, skn_error_t *error)
{
    const skn_decoder_shape_t shape = {
        .layers = skn_option_u32(actor, "decoder_layers"),
        .width = skn_option_u32(actor, "width"),
        .heads = skn_option_u32(actor, "heads"),
        .inner = skn_option_u32(actor, "inner"),
        .context = skn_option_u32(actor, "context"),
        .epsilon = (float)skn_actor_option_real(actor, "norm_epsilon"),
        .rope_base = (float)skn_actor_option_real(actor, "rope_base"),
    };
    if (skn_decoder_check(&shape, error) != SKN_OK)
        return error->status;
    if (skn_option_u32(actor, "window") > 1)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: a stage has a window of one step, not %u",
                        skn_actor_name(actor), skn_option_u32(actor, "window"));
    const skn_kernels_t *kernels = skn_kernels_pick(error);
    if (!kernels)
        return error->status;
    stage->angles = skn_floats_new(skn_decoder_angle_floats(&shape), error);
    if (!stage->angles)
        return SKN_NO_MEMORY;
    skn_decoder_init(
        &stage->decoder, &shape, kernels,
        strcmp(skn_actor_option_text(actor, "precision"), "bf16") == 0,
        stage->angles);
    stage->layer_rows = skn_decoder_layer_rows(&shape);
    stage->layers = skn_option_u32(actor, "stage_layers");
    stage->is_last = skn_actor_option_bool(actor, "last");
    stage->recompute = skn_actor_option_bool(actor, "recompute");
    stage->below = (skn_slices_t){
        .name = skn_actor_name(actor),
        .rows_max = skn_option_u32(actor, "batch_rows"),
        .columns = shape.width,
        .stride = skn_stride_floats(shape.width + 1),
    };
    return SKN_OK;
}

static skn_status_t
open_memory(stage_t *stage, skn_error_t *error)
{
    size_t tokens = stage->below.rows_max;
    skn_decoder_floats_t floats = floats_of(stage);
    size_t norm = skn_norm_kept_floats(tokens, stage->decoder.shape.width);
    size_t flight = floats.flight + stage->is_last * norm;
    uint32_t count = stage->layer.window_count;
    stage->inputs = skn_floats_new(
        stage->layer.flight_count * tokens * stage->below.stride, error);
    stage->scratch = skn_floats_new(
        skn_decoder_scratch_bytes(&stage->decoder, tokens) / sizeof(float) + 1,
        error);
    stage->shared = skn_floats_new(floats.shared, error);
    stage->kept = calloc(count, sizeof(*stage->kept));
    stage->kept_memory = skn_floats_new(count * flight, error);
    stage->kept_layers =
        calloc((size_t)count * stage->layers, sizeof(*stage->kept_layers));
    if (!stage->inputs || !stage->scratch || !stage->shared || !stage->kept ||
        !stage->kept_memory || !stage->kept_layers)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for %u batches of %zu tokens in flight",
                        count, tokens);
    for (uint32_t k = 0; k < count; k++) {
        stage->kept[k].memory = stage->kept_memory + k * flight;
        stage->kept[k].layers = stage->kept_layers + k * stage->layers;
    }
    return SKN_OK;
}

static skn_status_t
stage_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    stage_t *stage = state;
    skn_status_t status = open_shape(stage, actor, error);
    if (status != SKN_OK)
        return status;
    const skn_decoder_shape_t *shape = &stage->decoder.shape;
    skn_layer_shape_t place = {
        .columns = shape->width,
        .rows = (uint32_t)(stage->layers * stage->layer_rows) + stage->is_last,
        .width = shape->width,
    };
    status = skn_layer_open(&stage->layer, actor, &work, &place, error);
    if (status != SKN_OK)
        return status;
    stage->layer.hidden.is_linear = true;
    stage->parts = skn_decoder_parts(shape, stage->below.rows_max);
    if (!stage->recompute)
        stage->layer.pieces = stage->layers * stage->parts + stage->is_last;
    status = skn_slicing_make(&stage->slicing, shape->width,
                              skn_option_u32(actor, "slices"),
                              skn_actor_option_text(actor, "slice_weights"),
                              skn_actor_name(actor), error);
    return status == SKN_OK ? open_memory(stage, error) : status;
}

static void
stage_close(skn_actor_t *actor, void *state)
{
    stage_t *stage = state;
    (void)actor;
    free(stage->kept);
    free(stage->kept_memory);
    free(stage->kept_layers);
    free(stage->inputs);
    free(stage->shared);
    free(stage->scratch);
    free(stage->angles);
    skn_message_drop(stage->sum);
    skn_slicing_fini(&stage->slicing);
    skn_layer_close(&stage->layer);
}

static const skn_option_t options[] = {
    { "decoder_layers", SKN_OPTION_INT, NULL, 1, SKN_DECODER_LAYERS_MAX, NULL,
      "layers of the whole decoder" },
    { "stage_layers", SKN_OPTION_INT, NULL, 1, SKN_DECODER_LAYERS_MAX, NULL,
      "layers of this stage" },
    { "last", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "the norm after the decoder's last layer is here" },
    { "recompute", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "keep only what goes into each layer, and make the rest again" },
    { "width", SKN_OPTION_INT, NULL, 1, SKN_HIDDEN_MAX, NULL,
      "width of the residual stream" },
    { "heads", SKN_OPTION_INT, NULL, 1, SKN_HIDDEN_MAX, NULL,
      "heads of attention" },
    { "inner", SKN_OPTION_INT, NULL, 1, SKN_HIDDEN_MAX, NULL,
      "units of a layer's feed-forward network" },
    { "context", SKN_OPTION_INT, NULL, 1, SKN_DECODER_CONTEXT_MAX, NULL,
      "tokens of a sequence" },
    { "norm_epsilon", SKN_OPTION_REAL, "1e-5", 0, 1, NULL,
      "added to the mean square of a norm" },
    { "rope_base", SKN_OPTION_REAL, "10000", 1, 1e12, NULL,
      "base of the angles of rotary positions" },
    SKN_SLICING_OPTIONS,
    SKN_OPTION_OF("precision", "f32", SKN_SETTING_PRECISION),
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

const skn_kind_t skn_stage = {
    .struct_bytes = sizeof(skn_kind_t),
    .name = "stage",
    .help = "computes consecutive layers of a decoder, one micro-batch after "
            "the other",
    .state_bytes = sizeof(stage_t),
    .options = options,
    .handlers = handlers,
    .sends = skn_layer_sends,
    .gathers = skn_layer_gathers,
    .needs = skn_layer_needs,
    .open = stage_open,
    .produce = skn_layer_produce,
    .close = stage_close,
    .is_compute_bound = true,
};
