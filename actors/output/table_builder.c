/* table_builder.c - the actor that builds the sampler's index for an output
 * shard.
 *
 * The shard sends changed rows, a few each batch, which are copied here (4
 * bytes a weight: H + 1 of them, rounded up to 16, for each row); the hash
 * keys, which depend on a single row, are updated at once. The message that
 * closes a round builds the index of the copy as it is, and sends it. So the
 * index is a function of the messages, regardless of their timing, and of rows
 * alone: no checkpoint has any of it. Equation (43) of
 * docs/concepts/equations.md.
 *
 * This file owns: the copy and the builder. Not here: the form of an index
 * (samplers/), and the times at which rows are sent and an index is used
 * (shard_index.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/block.h"
#include "actors/protocol/kinds.h"
#include "actors/protocol/settings.h"
#include "actors/samplers/options.h"
#include "actors/protocol/workspace.h"

typedef struct table_builder {
    const skn_kernels_t *kernels;
    const skn_index_kind_t *kind;
    void *builder;
    skn_rows_t rows; /* the copy, f32 */
} table_builder_t;

static skn_status_t
check(const skn_actor_t *actor, const table_builder_t *state,
      const skn_dirty_t *dirty, skn_error_t *error)
{
    size_t width = state->rows.width, count = dirty->unit.count;
    const skn_rows_t *lent = dirty->rows;
    if (dirty->value.count != (lent ? 0 : count * width) ||
        (lent &&
         (lent->width != width || lent->row_count != state->rows.row_count)))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: dirty rows of batch %llu: %zu values for %zu rows "
                        "of %zu",
                        skn_actor_name(actor), (unsigned long long)dirty->batch,
                        dirty->value.count, count, width);
    for (size_t k = 0; k < count; k++)
        if (dirty->unit.at[k] >= state->rows.row_count)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s: dirty row %u, but the shard has %u rows",
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
    status = skn_actor_send_event(actor, error,
                                  "{\"event\":\"index\",\"actor\":\"%s\","
                                  "\"batch\":%llu,%s}",
                                  skn_actor_name(actor),
                                  (unsigned long long)batch, text);
    return status == SKN_OK
               ? skn_actor_send(actor, &skn_index_schema, &index, error)
               : status;
}

/* Updates the copy. Rows that are lent are read one by one. */
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
    state->kind->change(state->builder, dirty->unit.at,
                        (uint32_t)dirty->unit.count);
    return dirty->last ? send_index(actor, state, dirty->batch, error) : SKN_OK;
}

/* --- open and close ------------------------------------------------------- */

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
    state->kind = sampler->index;
    if (!state->kind)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: the sampler %s has no index to build",
                        skn_actor_name(actor), sampler->name);
    status = skn_rows_init(&state->rows, SKN_ROWS_SGD, options.row_count,
                           options.hidden + 1, true, error);
    if (status != SKN_OK)
        return status;
    state->builder = state->kind->open(&options, &state->rows, error);
    return state->builder ? SKN_OK : error->status;
}

static void
table_builder_close(skn_actor_t *actor, void *opaque)
{
    table_builder_t *state = opaque;
    (void)actor;
    if (state->builder)
        state->kind->close(state->builder);
    skn_rows_fini(&state->rows);
}

/* clang-format off */
static const skn_option_t options[] = {
    SKN_SHARD_OPTIONS,
    SKN_OPTION_OF("layer", "0", SKN_SETTING_LAYER),
    SKN_OPTION_OF("batch_rows", NULL, SKN_SETTING_BATCH_ROWS),
    SKN_OPTION_OF("seed", "1", SKN_SETTING_SEED),
    SKN_SAMPLER_OPTIONS,
    { 0 },
};
/* clang-format on */

static const skn_handler_t handlers[] = {
    { &skn_dirty_schema, on_dirty, NULL },
    { 0 },
};

static const skn_schema_t *const sends[] = {
    &skn_index_schema,
    NULL,
};

static const skn_schema_t *const gathers[] = { NULL };

static const skn_schema_t *const needs[] = {
    &skn_dirty_schema,
    NULL,
};

const skn_kind_t skn_table_builder = {
    .struct_bytes = sizeof(skn_kind_t),
    .name = "table_builder",
    .help = "builds the index of an output shard from its rows",
    .state_bytes = sizeof(table_builder_t),
    .options = options,
    .handlers = handlers,
    .sends = sends,
    .gathers = gathers,
    .needs = needs,
    .open = table_builder_open,
    .close = table_builder_close,
};
