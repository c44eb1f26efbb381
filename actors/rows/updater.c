/* updater.c - the actor that owns a shard's rows: the only writer of their
 * weights and optimizer state.
 *
 * A gradient message gives it the right to write the rows of its shard; it
 * steps the rows that the gradient names, gives the rows or their new values
 * back, and reports to the source that the batch is applied here. It owns the
 * memory of the rows: it makes them (drawn from the seed, read from a
 * checkpoint, or requested if that is on another node: restore.h) and writes
 * them into checkpoints, piece by piece, while no batch is in flight. Equations
 * (44) to (49) of docs/concepts/equations.md.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/draws.h"
#include "actors/protocol/finite.h"
#include "actors/protocol/kinds.h"
#include "actors/protocol/messages.h"
#include "actors/protocol/settings.h"
#include "actors/rows/accumulator.h"
#include "actors/rows/block_ledger.h"
#include "actors/rows/layout.h"
#include "actors/rows/optimizer.h"
#include "actors/rows/restore.h"
#include "actors/rows/state_sender.h"
#include "actors/rows/tensors.h"
#include "actors/protocol/workspace.h"
#include "formats/checkpoint/salvage.h"

/* Rows to prefetch ahead of the current one: into the second-level cache, which
 * can wait for more lines at once than the first. */
#define PREFETCH_ROWS 4

typedef struct updater {
    skn_rows_t rows;
    skn_optimizer_t optimizer;
    skn_layout_t layout;
    uint32_t layer;     /* its number */
    uint32_t row_first; /* global number of row 0 */
    skn_tensor_place_t place;
    bool has_copy, half; /* the shard has a copy, in bf16 */
    bool priming;        /* the first copy is being sent */
    uint32_t prime_row;  /* its next row */
    uint64_t next_batch; /* the batch that the present rows are for */
    /* The batch at which it began, and the number of batches since, to check
     * that they came in order. */
    uint64_t first_batch, stepped;
    skn_restore_t restore;
    skn_block_ledger_t ledger;
    skn_state_sender_t sender;
    /* Several batches, or a norm to wait for, make a step. */
    uint64_t accumulate;           /* batches of a step */
    skn_accumulator_t accumulator; /* without sums: each batch is a step */
    bool clips, every_row;
    uint32_t norm_rows;         /* of a group of squares */
    double *squares;            /* of all groups */
    const skn_gradient_t *last; /* of the step whose factor is awaited */
} updater_t;

/* Always inline: gcc 12 treats a function that only prefetches as one without
 * effects, and drops calls of it. */
static inline __attribute__((always_inline)) void
prefetch(const skn_rows_t *rows, uint32_t row)
{
    const unsigned char *at = rows->at + row * rows->stride_bytes;
    for (size_t k = 0; k < rows->stride_bytes; k += 64)
        __builtin_prefetch(at + k, 0, 2);
    if (!rows->offload.at)
        return;
    at = rows->moment_at + row * rows->moment_stride_bytes;
    for (size_t k = 0; k < rows->moment_stride_bytes; k += 64)
        __builtin_prefetch(at + k, 0, 2);
}

/* With moments in a file, all moments that a batch touches are requested before
 * the first is needed, so that the disk has many requests to choose from. */
static void
expect_rows(const skn_rows_t *rows, const uint32_t *unit, size_t count)
{
    size_t stride = rows->moment_stride_bytes;
    for (size_t k = 0, end; k < count && rows->offload.at; k = end) {
        for (end = k + 1; end < count && unit[end] == unit[end - 1] + 1;)
            end++;
        if (unit[end - 1] < rows->row_count)
            skn_offload_expect(rows->moment_at + unit[k] * stride,
                               (end - k) * stride);
    }
}

/* Makes the lease that gives the rows back to the shard, or one with room for
 * the new values of `count` rows, which set_copy fills. NULL and a filled
 * `error` when memory is short. */
static skn_lease_t *
lease_new(skn_actor_t *actor, updater_t *updater, uint64_t applied,
          size_t count, skn_error_t *error)
{
    size_t units = updater->has_copy ? count : 0;
    size_t cells = units * updater->rows.width;
    size_t counts[] = { units, updater->half ? 0 : cells,
                        updater->half ? cells : 0 };
    skn_lease_t *lease =
        skn_actor_message(actor, &skn_lease_schema, counts, error);
    if (!lease)
        return NULL;
    lease->batch = applied;
    lease->rows = updater->has_copy ? NULL : &updater->rows;
    return lease;
}

/* Sets unit `k` of a lease of copies to the present values of row `row`. */
static void
set_copy(const updater_t *updater, skn_lease_t *lease, size_t k, uint32_t row)
{
    size_t width = updater->rows.width;
    const float *weight = skn_rows_weight(&updater->rows, row);
    lease->unit.at[k] = row;
    if (updater->half)
        updater->optimizer.kernels->f32_to_bf16(lease->half.at + k * width,
                                                weight, width);
    else
        memcpy(lease->value.at + k * width, weight, width * sizeof(float));
}

/* Sends the next part of the shard's first copy. */
static skn_status_t
prime(skn_actor_t *actor, updater_t *updater, skn_error_t *error)
{
    const skn_rows_t *rows = &updater->rows;
    assert(updater->prime_row <= rows->row_count);
    uint32_t left = rows->row_count - updater->prime_row;
    uint32_t count = SKN_CHUNK_BYTES / (rows->width * (uint32_t)sizeof(float));
    if (count == 0)
        count = 1;
    if (count > left)
        count = left;
    skn_lease_t *lease =
        lease_new(actor, updater, updater->next_batch, count, error);
    if (!lease)
        return error->status;
    for (uint32_t k = 0; k < count; k++)
        set_copy(updater, lease, k, updater->prime_row + k);
    updater->prime_row += count;
    updater->priming = updater->prime_row < rows->row_count;
    lease->more = updater->priming;
    return skn_actor_post(actor, lease, error);
}

/* Steps one row along -gradient, and copies it into unit `k` of a lease of
 * copies. */
static void
step_row(updater_t *updater, uint32_t row, const float *gradient,
         skn_lease_t *lease, size_t k)
{
    skn_optimizer_t *optimizer = &updater->optimizer;
    float deviation;
    bool decays = !skn_layout_is_gain(&updater->layout, row, &deviation);
    optimizer->adam.weight_decay = decays ? (float)optimizer->weight_decay : 0;
    skn_optimizer_step(&updater->optimizer, &updater->rows, row,
                       updater->row_first + row, gradient);
    if (updater->has_copy)
        set_copy(updater, lease, k, row);
}

/* Steps the rows of the gradient of a single batch. */
static void
step_batch(updater_t *updater, const skn_gradient_t *gradient,
           skn_lease_t *lease)
{
    const skn_rows_t *rows = &updater->rows;
    const uint32_t *unit = gradient->unit.at;
    size_t count = gradient->unit.count;
    expect_rows(rows, unit, count);
    for (size_t k = 0; k < count; k++) {
        if (k + PREFETCH_ROWS < count)
            prefetch(rows, unit[k + PREFETCH_ROWS]);
        step_row(updater, unit[k], gradient->value.at + k * rows->width, lease,
                 k);
    }
}

/* Steps the rows that batches of the step have touched along the sum of their
 * gradients times `factor`. */
static void
step_sums(updater_t *updater, float factor, skn_lease_t *lease)
{
    skn_accumulator_t *accumulator = &updater->accumulator;
    size_t k = 0;
    for (uint32_t row = skn_accumulator_next(accumulator, 0);
         row < accumulator->row_count;
         row = skn_accumulator_next(accumulator, row + 1))
        step_row(updater, row, skn_accumulator_scaled(accumulator, row, factor),
                 lease, k++);
    skn_accumulator_clear(accumulator);
}

static skn_status_t
send_applied(skn_actor_t *actor, const updater_t *updater,
             const skn_gradient_t *gradient, skn_error_t *error)
{
    skn_applied_t applied = { .batch = gradient->batch,
                              .layer = updater->layer,
                              .shard = skn_actor_index(actor),
                              .changed = gradient->changed,
                              .square = gradient->square };
    return skn_actor_send(actor, &skn_applied_schema, &applied, error);
}

/* Makes the step whose last batch is `gradient`'s: of its rows, or of the sums
 * times `factor`, which is 0 for a step that is left out. Then the rows go
 * back. */
static skn_status_t
make_step(skn_actor_t *actor, updater_t *updater,
          const skn_gradient_t *gradient, float factor, skn_error_t *error)
{
    uint64_t batch = gradient->batch;
    bool has_sums = updater->accumulator.own != NULL;
    if (factor == 0)
        skn_accumulator_clear(&updater->accumulator);
    skn_lease_t *lease = lease_new(actor, updater, batch + 1,
                                   has_sums ? updater->accumulator.touched_count
                                            : gradient->unit.count,
                                   error);
    if (!lease)
        return error->status;
    skn_optimizer_begin(&updater->optimizer, batch / updater->accumulate);
    if (has_sums)
        step_sums(updater, factor, lease);
    else
        step_batch(updater, gradient, lease);
    for (uint64_t k = updater->accumulate; k-- > 0;)
        skn_block_ledger_add(&updater->ledger, batch - k);
    updater->stepped += updater->accumulate;
    if (batch >= updater->next_batch)
        updater->next_batch = batch + 1;
    skn_status_t status = skn_actor_post(actor, lease, error);
    return status == SKN_OK ? send_applied(actor, updater, gradient, error)
                            : status;
}

/* Sends the squares of the step's gradient, which is the mean over batches. */
static skn_status_t
send_norm(skn_actor_t *actor, updater_t *updater, uint64_t batch,
          skn_error_t *error)
{
    const skn_accumulator_t *accumulator = &updater->accumulator;
    uint32_t group_rows = updater->norm_rows;
    double share = 1.0 / (double)updater->accumulate;
    skn_gradient_norm_t norm = {
        .batch = batch,
        .layer = updater->place.layer,
        .square = { updater->squares,
                    (accumulator->row_count + (size_t)group_rows - 1) /
                        group_rows },
    };
    memset(norm.square.at, 0, norm.square.count * sizeof(double));
    for (uint32_t row = skn_accumulator_next(accumulator, 0);
         row < accumulator->row_count;
         row = skn_accumulator_next(accumulator, row + 1))
        norm.square.at[row / group_rows] +=
            share * share *
            updater->optimizer.kernels->sum_squares(
                skn_accumulator_sum(accumulator, row), accumulator->width);
    return skn_actor_send(actor, &skn_gradient_norm_schema, &norm, error);
}

static skn_status_t
check_gradient(const skn_actor_t *actor, const updater_t *updater,
               const skn_gradient_t *gradient, bool ends_step,
               skn_error_t *error)
{
    size_t count = gradient->unit.count, width = updater->rows.width;
    bool lends = ends_step && !updater->has_copy;
    if (gradient->value.count != count * width)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: gradient of batch %llu: %zu values for %zu rows "
                        "of %zu",
                        skn_actor_name(actor),
                        (unsigned long long)gradient->batch,
                        gradient->value.count, count, width);
    if (gradient->rows != (lends ? &updater->rows : NULL))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: gradient of batch %llu: %s", skn_actor_name(actor),
                        (unsigned long long)gradient->batch,
                        lends ? "it does not lend the rows"
                              : "it returns rows that were not lent");
    for (size_t k = 0; k < count; k++)
        if (gradient->unit.at[k] >= updater->rows.row_count)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s: gradient of row %u, but the shard has %u rows",
                            skn_actor_name(actor), gradient->unit.at[k],
                            updater->rows.row_count);
    return SKN_OK;
}

static skn_status_t
on_gradient(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *error)
{
    updater_t *updater = state;
    const skn_gradient_t *gradient = message;
    skn_accumulator_t *accumulator = &updater->accumulator;
    bool ends_step = (gradient->batch + 1) % updater->accumulate == 0;
    skn_status_t status =
        check_gradient(actor, updater, gradient, ends_step, error);
    if (status != SKN_OK)
        return status;
    if (!accumulator->own)
        return make_step(actor, updater, gradient, 1, error);
    skn_accumulator_add(accumulator, gradient->unit.at, gradient->unit.count,
                        gradient->value.at, ends_step);
    if (!ends_step)
        return send_applied(actor, updater, gradient, error);
    if (updater->every_row)
        skn_accumulator_touch_all(accumulator);
    if (!updater->clips)
        return make_step(actor, updater, gradient,
                         1 / (float)updater->accumulate, error);
    skn_message_drop(updater->last);
    updater->last = skn_message_keep(gradient);
    return send_norm(actor, updater, gradient->batch, error);
}

static skn_status_t
on_clip(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    updater_t *updater = state;
    const skn_clip_t *clip = message;
    const skn_gradient_t *last = updater->last;
    if (!last || last->batch != clip->batch)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: the factor of batch %llu was not requested",
                        skn_actor_name(actor), (unsigned long long)clip->batch);
    if (!(clip->factor > 0 && clip->factor <= 1) && !clip->skip)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: the factor of batch %llu is not in (0, 1]",
                        skn_actor_name(actor), (unsigned long long)clip->batch);
    float share = 1 / (float)updater->accumulate;
    skn_status_t status =
        make_step(actor, updater, last,
                  clip->skip ? 0 : share * (float)clip->factor, error);
    skn_message_drop(last);
    updater->last = NULL;
    return status;
}

/* --- checkpoints ---------------------------------------------------------- */

/* Lists all rectangles of the shard's state: those of its rows, and the
 * ledger. */
static uint32_t
list_views(const updater_t *updater, bool reading, skn_tensor_view_t *view)
{
    uint32_t count =
        skn_tensors_of(&updater->rows, &updater->place, reading, view);
    count += skn_block_ledger_views(&updater->ledger, view + count);
    assert(count <= SKN_TENSOR_VIEWS_MAX);
    return count;
}

static skn_status_t
on_save(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    updater_t *updater = state;
    const skn_save_t *save = message;
    if (updater->sender.sending)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: got save for batch %llu while it sends its state "
                        "of batch %llu",
                        skn_actor_name(actor), (unsigned long long)save->batch,
                        (unsigned long long)updater->sender.batch);
    updater->sender.view_count =
        list_views(updater, false, updater->sender.views);
    skn_offload_walk(&updater->rows.offload, true);
    return skn_state_sender_begin(&updater->sender, actor, save->batch, error);
}

static skn_status_t
send_chunk(skn_actor_t *actor, updater_t *updater, skn_error_t *error)
{
    skn_chunk_t *chunk = skn_state_sender_next(&updater->sender, actor, error);
    if (!chunk)
        return error->status;
    if (chunk->last)
        skn_offload_walk(&updater->rows.offload, false);
    /* Moments that the disk lost would look valid in the checkpoint. */
    if (chunk->last &&
        skn_offload_check(&updater->rows.offload, error) != SKN_OK) {
        skn_message_drop(chunk);
        return error->status;
    }
    return skn_actor_post(actor, chunk, error);
}

static skn_status_t
updater_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    updater_t *updater = state;
    if (updater->priming)
        return prime(actor, updater, error);
    if (updater->sender.sending)
        return send_chunk(actor, updater, error);
    skn_actor_rest(actor);
    return SKN_OK;
}

/* --- open and close ------------------------------------------------------- */

static skn_rows_kind_t
kind_of(const skn_actor_t *actor)
{
    const char *optimizer = skn_actor_option_text(actor, "optimizer");
    bool half = strcmp(skn_actor_option_text(actor, "weights"), "bf16") == 0;
    bool sliced = strcmp(skn_actor_option_text(actor, "bias"), "row") == 0;
    /* Only the shard's copy is bf16 then: the rows here are its masters, in
     * f32. */
    half = half && strcmp(skn_actor_option_text(actor, "updates"), "copy") != 0;
    if (strcmp(optimizer, "sgd") == 0)
        return half ? SKN_ROWS_SGD_BF16 : SKN_ROWS_SGD;
    if (strcmp(optimizer, "adagrad") == 0)
        return sliced ? SKN_ROWS_ADAGRAD_SLICED
               : half ? SKN_ROWS_ADAGRAD_BF16
                      : SKN_ROWS_ADAGRAD;
    return SKN_ROWS_ADAM;
}

static void
open_optimizer(const skn_actor_t *actor, updater_t *updater, uint64_t seed,
               uint64_t tensor)
{
    skn_optimizer_t *optimizer = &updater->optimizer;
    const char *schedule = skn_actor_option_text(actor, "schedule");
    optimizer->rate = skn_actor_option_real(actor, "rate");
    optimizer->beta1 = skn_actor_option_real(actor, "beta1");
    optimizer->beta2 = skn_actor_option_real(actor, "beta2");
    optimizer->eps = skn_actor_option_real(actor, "epsilon");
    optimizer->weight_decay = skn_actor_option_real(actor, "weight_decay");
    optimizer->schedule = strcmp(schedule, "constant") == 0 ? SKN_RATE_CONSTANT
                          : strcmp(schedule, "warmup") == 0 ? SKN_RATE_WARMUP
                                                            : SKN_RATE_COSINE;
    optimizer->warmup_steps =
        (uint64_t)skn_actor_option_int(actor, "warmup_batches");
    optimizer->total_steps =
        (uint64_t)skn_actor_option_int(actor, "total_batches");
    optimizer->floor = skn_actor_option_real(actor, "floor");
    optimizer->noise_key = skn_draw_key(seed, SKN_DRAW_ROUND, tensor);
    skn_optimizer_init(optimizer);
}

static void
fill(float *at, uint32_t count, float value)
{
    for (uint32_t k = 0; k < count; k++)
        at[k] = value;
}

/* Draws the first weights: normally distributed, all biases equal; the same for
 * every layout. */
static skn_status_t
draw_rows(const skn_actor_t *actor, const updater_t *updater,
          skn_error_t *error)
{
    uint64_t key = skn_draw_key((uint64_t)skn_actor_option_int(actor, "seed"),
                                SKN_DRAW_WEIGHTS,
                                (uint64_t)skn_actor_option_int(actor, "layer"));
    float bias = (float)skn_actor_option_real(actor, "init_bias");
    const skn_kernels_t *kernels = updater->optimizer.kernels;
    const skn_rows_t *rows = &updater->rows;
    bool bias_row = updater->place.bias_row;
    bool has_bias = !bias_row && !updater->place.no_bias;
    uint32_t columns = rows->width - (has_bias ? 1 : 0);
    uint32_t count = rows->row_count - (bias_row ? 1 : 0);
    float *weight = skn_floats_new(rows->width, error);
    if (!weight)
        return SKN_NO_MEMORY;
    for (uint32_t row = 0; row < count; row++) {
        float deviation;
        if (skn_layout_is_gain(&updater->layout, row, &deviation))
            fill(weight, columns, 1);
        else
            kernels->normal(weight, columns, deviation, key,
                            updater->row_first + row,
                            (uint32_t)updater->place.column_first);
        if (has_bias)
            weight[columns] = bias;
        skn_rows_set(rows, kernels, row, weight);
    }
    fill(weight, rows->width, bias);
    if (bias_row)
        skn_rows_set(rows, kernels, count, weight);
    free(weight);
    return SKN_OK;
}

static skn_status_t
read_rows(updater_t *updater, const char *path, skn_error_t *error)
{
    skn_tensor_view_t view[SKN_TENSOR_VIEWS_MAX];
    uint32_t count = list_views(updater, true, view);
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(path, SKN_VERIFY_LAZY, error);
    if (!checkpoint)
        return error->status;
    while (count > updater->restore.required &&
           !skn_checkpoint_find(checkpoint, view[count - 1].piece.name))
        count--;
    skn_status_t status = skn_tensors_load(checkpoint, view, count, error);
    skn_checkpoint_close(&checkpoint);
    skn_block_ledger_complete(&updater->ledger, updater->next_batch);
    return status;
}

static skn_status_t
open_rows(const skn_actor_t *actor, updater_t *updater, skn_rows_kind_t kind,
          skn_error_t *error)
{
    uint32_t count = (uint32_t)skn_actor_option_int(actor, "rows");
    uint32_t width = (uint32_t)skn_actor_option_int(actor, "width");
    bool huge = skn_actor_option_bool(actor, "huge_pages");
    const char *folder = skn_actor_option_text(actor, "offload");
    return folder[0] && kind == SKN_ROWS_ADAM
               ? skn_rows_init_offloaded(&updater->rows, count, width, huge,
                                         folder, error)
               : skn_rows_init(&updater->rows, kind, count, width, huge, error);
}

static skn_status_t
open_steps(const skn_actor_t *actor, updater_t *updater, skn_error_t *error)
{
    updater->accumulate = (uint64_t)skn_actor_option_int(actor, "accumulate");
    updater->clips = skn_actor_option_bool(actor, "clips");
    updater->every_row = skn_actor_option_bool(actor, "every_row");
    updater->norm_rows = (uint32_t)skn_actor_option_int(actor, "norm_rows");
    updater->squares = calloc(updater->rows.row_count / updater->norm_rows + 1,
                              sizeof(double));
    if (!updater->squares)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a norm");
    return updater->accumulate > 1 || updater->clips || updater->every_row
               ? skn_accumulator_open(
                     &updater->accumulator, updater->optimizer.kernels,
                     updater->rows.row_count, updater->rows.width, error)
               : SKN_OK;
}

static skn_status_t
updater_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    updater_t *updater = state;
    uint64_t seed = (uint64_t)skn_actor_option_int(actor, "seed");
    updater->layer = (uint32_t)skn_actor_option_int(actor, "layer");
    const char *resume = skn_actor_option_text(actor, "resume");
    updater->optimizer.kernels = skn_kernels_pick(error);
    if (!updater->optimizer.kernels)
        return error->status;
    skn_layout_open(&updater->layout, actor,
                    (uint32_t)skn_actor_option_int(actor, "width"));
    updater->row_first = (uint32_t)skn_actor_option_int(actor, "row_first");
    updater->place = (skn_tensor_place_t){
        .layer = skn_actor_option_text(actor, "layer_name"),
        .bias_row = strcmp(skn_actor_option_text(actor, "bias"), "row") == 0,
        .no_bias = strcmp(skn_actor_option_text(actor, "bias"), "none") == 0,
        .global_rows = (uint64_t)skn_actor_option_int(actor, "global_rows"),
        .global_columns =
            (uint64_t)skn_actor_option_int(actor, "global_columns"),
        .row_first = updater->row_first,
        .column_first = (uint64_t)skn_actor_option_int(actor, "column_first"),
        .slice = skn_actor_index(actor),
    };
    (void)snprintf(updater->sender.file, sizeof(updater->sender.file),
                   "%.40s.%u.safetensors", updater->place.layer,
                   skn_actor_index(actor));
    updater->has_copy =
        strcmp(skn_actor_option_text(actor, "updates"), "copy") == 0;
    updater->half =
        strcmp(skn_actor_option_text(actor, "weights"), "bf16") == 0;
    open_optimizer(actor, updater, seed, updater->layer);
    skn_rows_kind_t kind = kind_of(actor);
    if (updater->half && !updater->has_copy && kind != SKN_ROWS_SGD_BF16 &&
        kind != SKN_ROWS_ADAGRAD_BF16)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: rows in bf16 that are lent need the optimizer sgd "
                        "or adagrad",
                        skn_actor_name(actor));
    skn_status_t status = open_rows(actor, updater, kind, error);
    if (status != SKN_OK)
        return status;
    updater->next_batch = (uint64_t)skn_actor_option_int(actor, "first_batch");
    status = skn_block_ledger_open(&updater->ledger, actor, &updater->place,
                                   &updater->rows, error);
    if (status == SKN_OK)
        status = open_steps(actor, updater, error);
    if (status != SKN_OK)
        return status;
    /* A checkpoint may lack the ledger. */
    skn_restore_t *restore = &updater->restore;
    restore->view_count = list_views(updater, true, restore->views);
    restore->required =
        restore->view_count - skn_block_ledger_count(&updater->ledger);
    skn_restore_open(&updater->restore, actor);
    if (updater->restore.wanted)
        return SKN_OK;
    return resume[0] ? read_rows(updater, resume, error)
                     : draw_rows(actor, updater, error);
}

/* Gives the shard its rows, so that it may begin. */
static skn_status_t
begin(skn_actor_t *actor, updater_t *updater, skn_error_t *error)
{
    updater->first_batch = updater->next_batch;
    updater->priming = updater->has_copy;
    if (updater->has_copy)
        return SKN_OK; /* updater_produce sends it */
    skn_lease_t *lease =
        lease_new(actor, updater, updater->next_batch, 0, error);
    return lease ? skn_actor_post(actor, lease, error) : error->status;
}

static skn_status_t
on_restored(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *error)
{
    updater_t *updater = state;
    skn_restore_t *restore = &updater->restore;
    bool all = false;
    skn_status_t status =
        skn_restore_take(restore, actor, message, &all, error);
    if (status != SKN_OK || !all)
        return status;
    if (restore->begun) {
        updater->next_batch = restore->batch;
        skn_block_ledger_complete(&updater->ledger, updater->next_batch);
    } else
        status = draw_rows(actor, updater, error);
    return status == SKN_OK ? begin(actor, updater, error) : status;
}

static skn_status_t
updater_start(skn_actor_t *actor, void *state, skn_error_t *error)
{
    updater_t *updater = state;
    return updater->restore.wanted
               ? skn_restore_ask(&updater->restore, actor, error)
               : begin(actor, updater, error);
}

static bool
is_finite(const updater_t *updater, const skn_tensor_view_t *view)
{
    bool finite = true;
    for (uint64_t row = 0; finite && row < view->piece.rows; row++)
        finite = skn_are_finite(updater->optimizer.kernels, view->piece.dtype,
                                view->at + row * view->stride_bytes,
                                view->row_bytes);
    return finite;
}

/* Adds the rows to a salvage. With `order: free` one batch may have overtaken
 * another; no file can then describe the rows. Such rows are left out and roll
 * back, as do rows that are not finite. */
static skn_status_t
updater_salvage(skn_actor_t *actor, void *state, skn_salvage_writer_t *writer,
                skn_error_t *error)
{
    updater_t *updater = state;
    skn_tensor_view_t view[SKN_TENSOR_VIEWS_MAX];
    if (updater->restore.wanted)
        return skn_fail(error, SKN_BUSY, "%s has no rows yet",
                        skn_actor_name(actor));
    if (updater->first_batch + updater->stepped != updater->next_batch)
        return SKN_OK;
    uint32_t count = list_views(updater, false, view);
    skn_offload_walk(&updater->rows.offload, true);
    for (uint32_t k = 0; k < count; k++)
        if (!is_finite(updater, &view[k]))
            return SKN_OK;
    return skn_salvage_add(writer, updater->sender.file, updater->next_batch,
                           view, count, error);
}

static void
updater_close(skn_actor_t *actor, void *state)
{
    updater_t *updater = state;
    (void)actor;
    skn_message_drop(updater->last);
    free(updater->squares);
    skn_accumulator_close(&updater->accumulator);
    skn_rows_fini(&updater->rows);
    skn_block_ledger_close(&updater->ledger);
}

static const skn_option_t options[] = {
    SKN_OPTION_OF("layer", "0", SKN_SETTING_LAYER),
    { "layer_name", SKN_OPTION_TEXT, NULL, 0, 0, NULL,
      "the layer's name in the model file and in checkpoints" },
    { "row_first", SKN_OPTION_INT, "0", 0, SKN_UNIT_MAX, NULL,
      "first row of the shard" },
    { "rows", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL,
      "number of rows of the shard, with the bias if it is a row" },
    { "column_first", SKN_OPTION_INT, "0", 0, SKN_HIDDEN_MAX, NULL,
      "first column of the shard" },
    { "width", SKN_OPTION_INT, NULL, 1, SKN_HIDDEN_MAX + 1, NULL,
      "number of weights of a row, with the bias if it is a column" },
    { "global_rows", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL,
      "number of rows of the layer's weights, without the bias" },
    { "global_columns", SKN_OPTION_INT, NULL, 1, SKN_HIDDEN_MAX, NULL,
      "number of columns of the layer's weights, without the bias" },
    { "bias", SKN_OPTION_CHOICE, "column", 0, 0, "row|column|none",
      "where the bias is: the last row (embedding) or the last column" },
    SKN_OPTION_OF("weights", "f32", SKN_SETTING_WEIGHTS),
    SKN_OPTION_OF("updates", "loan", SKN_SETTING_UPDATES),
    SKN_OPTION_OF("optimizer", "adam", SKN_SETTING_OPTIMIZER),
    SKN_OPTION_OF("rate", "0.001", SKN_SETTING_RATE),
    SKN_OPTION_OF("beta1", "0.9", SKN_SETTING_BETA1),
    SKN_OPTION_OF("beta2", "0.999", SKN_SETTING_BETA2),
    SKN_OPTION_OF("epsilon", "1e-8", SKN_SETTING_EPSILON),
    SKN_OPTION_OF("weight_decay", "0", SKN_SETTING_WEIGHT_DECAY),
    SKN_OPTION_OF("accumulate", "1", SKN_SETTING_ACCUMULATE),
    { "clips", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "a clipper limits the norm of each step" },
    { "every_row", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "step rows without a gradient, too, as if it were 0" },
    { "norm_rows", SKN_OPTION_INT, "1", 1, SKN_UNIT_MAX, NULL,
      "rows whose squares are added up for the clipper" },
    SKN_OPTION_OF("schedule", "constant", SKN_SETTING_SCHEDULE),
    SKN_OPTION_OF("warmup_batches", "0", SKN_SETTING_WARMUP_BATCHES),
    { "total_batches", SKN_OPTION_INT, "0", 0, 1e15, NULL,
      "cosine: number of steps of the run" },
    SKN_OPTION_OF("floor", "0", SKN_SETTING_FLOOR),
    SKN_OPTION_OF("seed", "1", SKN_SETTING_SEED),
    SKN_LAYOUT_OPTIONS,
    { "init_bias", SKN_OPTION_REAL, "0", -100, 100, NULL,
      "initial value of all biases" },
    SKN_OPTION_OF("huge_pages", "true", SKN_SETTING_HUGE_PAGES),
    { "offload", SKN_OPTION_PATH, "", 0, 0, NULL,
      "folder of a file for Adam's moments; empty: keep them in memory" },
    { "ledger", SKN_OPTION_INT, "0", 0, SKN_UNIT_MAX, NULL,
      "rows per block in the ledger, or columns if the bias is a row; 0: no "
      "ledger" },
    { "missed", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "also store, beside the ledger, which batches each block missed" },
    { "first_batch", SKN_OPTION_INT, "0", 0, SKN_WHOLE_MAX, NULL,
      "first batch to train; more than 0 after a resume" },
    { "resume", SKN_OPTION_TEXT, "", 0, 0, NULL,
      "checkpoint from which the rows are read" },
    SKN_RESTORE_OPTIONS,
    { 0 },
};

static const skn_handler_t handlers[] = {
    { &skn_gradient_schema, on_gradient, NULL },
    { &skn_clip_schema, on_clip, NULL },
    { &skn_save_schema, on_save, NULL },
    { &skn_restored_schema, on_restored, NULL },
    { 0 },
};

static const skn_schema_t *const sends[] = {
    &skn_want_schema,
    &skn_lease_schema,
    &skn_applied_schema,
    &skn_tensor_schema,
    &skn_chunk_schema,
    &skn_gradient_norm_schema,
    NULL,
};

static const skn_schema_t *const gathers[] = { NULL };

static const skn_schema_t *const needs[] = {
    &skn_gradient_schema,
    NULL,
};

const skn_kind_t skn_updater = {
    .struct_bytes = sizeof(skn_kind_t),
    .name = "updater",
    .help = "the only writer of a shard's weights and optimizer state",
    .state_bytes = sizeof(updater_t),
    .options = options,
    .handlers = handlers,
    .sends = sends,
    .gathers = gathers,
    .needs = needs,
    .open = updater_open,
    .start = updater_start,
    .produce = updater_produce,
    .salvage = updater_salvage,
    .close = updater_close,
};
