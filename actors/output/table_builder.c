/* table_builder.c - builds the index of an output shard, beside it.
 *
 * Rows that changed come from the shard, a few each batch, into a copy here (4
 * bytes a weight: H + 1 of them, rounded up to 16, for each row); what depends
 * on a single row, its hash keys, is brought up to date at once. The message
 * that closes a round builds the index of the copy as it is, and sends it. So
 * the index is a function of the messages, whenever they come: equation (43) of
 * docs/equations.md. What it depends on beside the rows (centroids) goes into
 * checkpoints: from the first shard's builder, for all of them.
 *
 * This file owns: the copy and the builder. Not here: what an index is
 * (samplers/), when rows are sent and an index is used (index_keeper.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/block.h"
#include "actors/protocol/kinds.h"
#include "actors/rows/restore.h"
#include "actors/samplers/options.h"
#include "actors/protocol/workspace.h"
#include "formats/checkpoint/checkpoint.h"

typedef struct table_builder {
    const skn_kernels_t *kernels;
    const skn_index_kind_t *kind;
    skn_builder_t *builder;
    skn_rows_t rows; /* the copy, f32 */
    uint64_t built;  /* indexes */
    uint64_t marker; /* the last one that was shown: batches applied there */
    /* A checkpoint that is wanted, from its marker on; then being sent: */
    bool wanted, saving;
    uint64_t wanted_batch;
    uint32_t saving_row;
    char file[SKN_NAME_MAX], name[SKN_NAME_MAX];
    skn_restore_t restore;
    float *restored; /* [rows][columns] of it, while it comes */
} table_builder_t;

static skn_status_t
check(const skn_actor_t *actor, const table_builder_t *state,
      const skn_dirty_t *dirty, skn_error_t *error)
{
    size_t width = state->rows.width, count = dirty->unit.count;
    const skn_rows_t *lent = dirty->rows;
    if (dirty->value.count != (lent ? 0 : count * width) ||
        (lent &&
         (lent->width != width || lent->row_count != state->rows.row_count)) ||
        dirty->hidden.count != dirty->hidden_rows * (width - 1))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: dirty rows of batch %llu: %zu values for %zu rows "
                        "of %zu, %zu for %u queries",
                        skn_actor_name(actor), (unsigned long long)dirty->batch,
                        dirty->value.count, count, width, dirty->hidden.count,
                        dirty->hidden_rows);
    for (size_t k = 0; k < count; k++)
        if (dirty->unit.at[k] >= state->rows.row_count)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s: dirty row %u, the shard has %u",
                            skn_actor_name(actor), dirty->unit.at[k],
                            state->rows.row_count);
    return SKN_OK;
}

static skn_status_t
send_index(skn_actor_t *actor, table_builder_t *state, uint64_t batch,
           skn_error_t *error)
{
    char text[256];
    skn_index_t index = { .batch = batch };
    skn_status_t status = state->kind->build(state->builder, &index, error);
    if (status != SKN_OK)
        return status;
    state->kind->describe(state->builder, text, sizeof(text));
    status =
        skn_actor_tell(actor, error,
                       "{\"event\":\"index\",\"actor\":\"%s\","
                       "\"batch\":%llu,%s}",
                       skn_actor_name(actor), (unsigned long long)batch, text);
    state->built++;
    return status == SKN_OK
               ? skn_actor_send(actor, &skn_index_schema, &index, error)
               : status;
}

/* Brings the copy up to date. Rows that are lent are put down one by one. */
static skn_status_t
copy_rows(table_builder_t *state, const skn_dirty_t *dirty, skn_error_t *error)
{
    size_t width = state->rows.width;
    const skn_rows_t *lent = dirty->rows;
    float *row = lent ? skn_floats_new(width, error) : NULL;
    if (lent && !row)
        return SKN_NO_MEMORY;
    for (size_t k = 0; k < dirty->unit.count; k++) {
        uint32_t unit = dirty->unit.at[k];
        if (lent)
            skn_rows_get(lent, state->kernels, unit, row);
        skn_rows_set(&state->rows, state->kernels, unit,
                     lent ? row : dirty->value.at + k * width);
    }
    free(row);
    return SKN_OK;
}

static skn_status_t
on_dirty(skn_actor_t *actor, void *opaque, const void *message,
         skn_error_t *error)
{
    table_builder_t *state = opaque;
    const skn_dirty_t *dirty = message;
    skn_status_t status = check(actor, state, dirty, error);
    if (status == SKN_OK)
        status = copy_rows(state, dirty, error);
    if (status != SKN_OK)
        return status;
    if (state->kind->change)
        state->kind->change(state->builder, dirty->unit.at,
                            (uint32_t)dirty->unit.count);
    if (state->kind->observe)
        state->kind->observe(state->builder, dirty->hidden.at,
                             state->rows.width - 1, dirty->hidden_rows);
    if (dirty->rows)
        state->marker = dirty->batch + 1;
    return dirty->last ? send_index(actor, state, dirty->batch, error) : SKN_OK;
}

/* --- checkpoints ---------------------------------------------------------- */

/* The word may come before the marker that it belongs to: the shard tells of
 * that on a way of its own. */
static skn_status_t
on_save(skn_actor_t *actor, void *opaque, const void *message,
        skn_error_t *error)
{
    table_builder_t *state = opaque;
    (void)actor, (void)error;
    state->wanted = true;
    state->wanted_batch = ((const skn_save_t *)message)->batch;
    return SKN_OK;
}

/* What is saved, [rows][columns], never empty: one row of zeros is nothing. */
static const float *
state_of(table_builder_t *state, uint32_t *rows, uint32_t *columns)
{
    static const float nothing[1] = { 0.0f };
    const float *at = state->kind->state
                          ? state->kind->state(state->builder, rows, columns)
                          : NULL;
    if (at && *rows > 0)
        return at;
    *rows = *columns = 1;
    return nothing;
}

static skn_status_t
begin_saving(skn_actor_t *actor, table_builder_t *state, skn_error_t *error)
{
    uint32_t rows, columns;
    (void)state_of(state, &rows, &columns);
    skn_tensor_t tensor = { .batch = state->wanted_batch,
                            .file = state->file,
                            .name = state->name,
                            .dtype = SKN_DTYPE_F32,
                            .dims = 2,
                            .rows = rows,
                            .columns = columns,
                            .global_rows = rows,
                            .global_columns = columns };
    state->wanted = false;
    state->saving = true;
    state->saving_row = 0;
    return skn_actor_send(actor, &skn_tensor_schema, &tensor, error);
}

static skn_status_t
send_chunk(skn_actor_t *actor, table_builder_t *state, skn_error_t *error)
{
    uint32_t rows, columns;
    const float *at = state_of(state, &rows, &columns);
    size_t row_bytes = columns * sizeof(float);
    uint32_t count = (uint32_t)(SKN_CHUNK_BYTES / row_bytes);
    if (count > rows - state->saving_row)
        count = rows - state->saving_row;
    skn_chunk_t chunk = {
        .batch = state->wanted_batch,
        .file = state->file,
        .offset_bytes = state->saving_row * row_bytes,
        .last = state->saving_row + count == rows,
        .bytes = { (uint8_t *)(uintptr_t)(at +
                                          (size_t)state->saving_row * columns),
                   count * row_bytes },
    };
    state->saving_row += count;
    state->saving = !chunk.last;
    return skn_actor_send(actor, &skn_chunk_schema, &chunk, error);
}

static skn_status_t
table_builder_produce(skn_actor_t *actor, void *opaque, skn_error_t *error)
{
    table_builder_t *state = opaque;
    if (state->saving)
        return send_chunk(actor, state, error);
    if (state->wanted && state->wanted_batch == state->marker)
        return begin_saving(actor, state, error);
    skn_actor_rest(actor);
    return SKN_OK;
}

/* A checkpoint of a run without such a state has none: it starts anew. */
static skn_status_t
read_state(table_builder_t *state, const char *path, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    float *at = NULL;
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(path, SKN_VERIFY_LAZY, error);
    if (!checkpoint)
        return error->status;
    const skn_checkpoint_tensor_t *tensor =
        skn_checkpoint_find(checkpoint, state->name);
    if (!tensor || tensor->columns == 1)
        goto done;
    if (tensor->dtype != SKN_DTYPE_F32 || tensor->rows > SKN_UNIT_MAX ||
        tensor->columns > SKN_HIDDEN_MAX + 1u) {
        status = skn_fail(error, SKN_BAD_DATA, "%s: tensor %s is no index",
                          path, state->name);
        goto done;
    }
    at = skn_floats_new(tensor->rows * tensor->columns, error);
    if (!at) {
        status = SKN_NO_MEMORY;
        goto done;
    }
    status = skn_checkpoint_read_block(checkpoint, state->name, 0, tensor->rows,
                                       0, tensor->columns, at,
                                       tensor->columns * sizeof(float), error);
    if (status == SKN_OK)
        status =
            state->kind->restore(state->builder, at, (uint32_t)tensor->rows,
                                 (uint32_t)tensor->columns, error);
done:
    free(at);
    skn_checkpoint_close(&checkpoint);
    return status;
}

/* The same, from the first node: room for it when its size is known. */
static skn_status_t
make_room(table_builder_t *state, const skn_actor_t *actor,
          const skn_restored_t *part, skn_error_t *error)
{
    skn_tensor_view_t *view = &state->restore.views[0];
    if (part->rows > SKN_UNIT_MAX || part->columns > SKN_HIDDEN_MAX + 1u)
        return skn_fail(error, SKN_BAD_DATA, "%s: tensor %s is no index",
                        skn_actor_name(actor), state->name);
    state->restored = skn_floats_new(part->rows * part->columns, error);
    if (!state->restored)
        return SKN_NO_MEMORY;
    view->piece.rows = part->rows;
    view->piece.columns = part->columns;
    view->at = (unsigned char *)state->restored;
    view->row_bytes = view->stride_bytes = part->columns * sizeof(float);
    return SKN_OK;
}

static skn_status_t
on_restored(skn_actor_t *actor, void *opaque, const void *message,
            skn_error_t *error)
{
    table_builder_t *state = opaque;
    const skn_restored_t *part = message;
    const skn_piece_t *piece = &state->restore.views[0].piece;
    skn_status_t status = SKN_OK;
    bool begin = false;
    if (part->rows > 0 && !state->restored && state->restore.wanted)
        status = make_room(state, actor, part, error);
    if (status == SKN_OK)
        status = skn_restore_take(&state->restore, actor, part, &begin, error);
    if (status != SKN_OK || !state->restored || !state->restore.all)
        return status;
    /* Not when the word to begin comes: the shard may have it before, and show
     * its rows. */
    if (piece->columns > 1)
        status = state->kind->restore(state->builder, state->restored,
                                      (uint32_t)piece->rows,
                                      (uint32_t)piece->columns, error);
    free(state->restored);
    state->restored = NULL;
    return status;
}

static skn_status_t
table_builder_start(skn_actor_t *actor, void *opaque, skn_error_t *error)
{
    table_builder_t *state = opaque;
    return state->restore.wanted
               ? skn_restore_ask(&state->restore, actor, error)
               : SKN_OK;
}

/* --- open and close ------------------------------------------------------- */

/* Asked for where the sampler has a state at all. */
static void
open_restore(table_builder_t *state, const skn_actor_t *actor)
{
    skn_restore_t *restore = &state->restore;
    skn_piece_t *piece = &restore->views[0].piece;
    skn_restore_open(restore, actor);
    restore->required = 0;
    restore->view_count = 1;
    restore->all = !state->kind->restore;
    piece->dtype = SKN_DTYPE_F32;
    (void)snprintf(piece->name, sizeof(piece->name), "%s", state->name);
}

static skn_status_t
table_builder_open(skn_actor_t *actor, void *opaque, skn_error_t *error)
{
    table_builder_t *state = opaque;
    const skn_sampler_kind_t *sampler;
    skn_sampler_options_t options;
    state->kernels = skn_kernels_pick(error);
    if (!state->kernels)
        return error->status;
    skn_status_t status = skn_sampler_options(
        actor, state->kernels,
        skn_block_rows((uint64_t)skn_actor_option_int(actor, "labels")),
        &sampler, &options, error);
    if (status != SKN_OK)
        return status;
    state->kind = sampler->index ? sampler->index(&options) : NULL;
    if (!state->kind)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: the sampler %s has no index to build",
                        skn_actor_name(actor), sampler->name);
    status = skn_rows_init(&state->rows, SKN_ROWS_SGD, options.row_count,
                           options.hidden + 1, true, error);
    if (status != SKN_OK)
        return status;
    state->builder = state->kind->open(&options, &state->rows, error);
    if (!state->builder)
        return error->status;
    const char *layer = skn_actor_option_text(actor, "layer_name");
    const char *resume = skn_actor_option_text(actor, "resume");
    (void)snprintf(state->name, sizeof(state->name), "%.48s.index", layer);
    (void)snprintf(state->file, sizeof(state->file), "%.40s.index.safetensors",
                   layer);
    open_restore(state, actor);
    return resume[0] && state->kind->restore ? read_state(state, resume, error)
                                             : SKN_OK;
}

static void
table_builder_close(skn_actor_t *actor, void *opaque)
{
    table_builder_t *state = opaque;
    (void)actor;
    if (state->builder)
        state->kind->close(state->builder);
    skn_rows_fini(&state->rows);
    free(state->restored);
}

/* clang-format off */
static const skn_option_t options[] = {
    { "labels", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL,
      "rows of the whole layer" },
    { "row_first", SKN_OPTION_INT, "0", 0, SKN_UNIT_MAX, NULL,
      "first row of the shard, a multiple of the block" },
    { "row_count", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL,
      "rows of the shard" },
    { "hidden", SKN_OPTION_INT, NULL, 1, SKN_HIDDEN_MAX, NULL,
      "units of the layer below" },
    { "layer", SKN_OPTION_INT, "0", 0, 1023, NULL,
      "number of the layer, counted from the input" },
    { "batch_rows", SKN_OPTION_INT, NULL, 1, SKN_BATCH_ROWS_MAX, NULL,
      "most samples of a batch" },
    { "seed", SKN_OPTION_INT, "1", 0, SKN_WHOLE_MAX, NULL,
      "of every random number" },
    { "layer_name", SKN_OPTION_TEXT, "output", 0, 0, NULL,
      "its name in the model file and in checkpoints" },
    { "resume", SKN_OPTION_TEXT, "", 0, 0, NULL,
      "checkpoint to read what it saw from" },
    SKN_RESTORE_OPTIONS,
    SKN_SAMPLER_OPTIONS,
    { 0 },
};
/* clang-format on */

static const skn_handler_t handlers[] = {
    { &skn_dirty_schema, on_dirty, NULL },
    { &skn_save_schema, on_save, NULL },
    { &skn_restored_schema, on_restored, NULL },
    { 0 },
};

static const skn_schema_t *const sends[] = {
    &skn_index_schema,
    &skn_tensor_schema,
    &skn_chunk_schema,
    &skn_want_schema,
    NULL,
};

static const skn_schema_t *const gathers[] = { NULL };

static const skn_schema_t *const needs[] = {
    &skn_dirty_schema,
    NULL,
};

const skn_kind_t skn_table_builder = {
    .name = "table_builder",
    .help = "builds the index of an output shard out of its rows",
    .state_bytes = sizeof(table_builder_t),
    .options = options,
    .handlers = handlers,
    .sends = sends,
    .gathers = gathers,
    .needs = needs,
    .open = table_builder_open,
    .start = table_builder_start,
    .produce = table_builder_produce,
    .close = table_builder_close,
};
