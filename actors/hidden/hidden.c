/* hidden.c - applies activation and dropout of a hidden layer, and merges and
 * masks its gradients.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/hidden/hidden.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/draws.h"
#include "actors/protocol/workspace.h"

/* The share of units that are kept, a multiple of 2^-16: rounded like in the
 * dropout kernel, so that the backward pass divides by the same number. */
static float
kept_share(double keep)
{
    return (float)(floor(keep * 65536.0 + 0.5) / 65536.0);
}

void
skn_hidden_turns(skn_turns_t *turns, const skn_actor_t *actor)
{
    skn_turns_init(turns, (uint64_t)skn_actor_option_int(actor, "window"),
                   (uint64_t)skn_actor_option_int(actor, "accumulate"),
                   (uint64_t)skn_actor_option_int(actor, "flights"),
                   strcmp(skn_actor_option_text(actor, "order"), "free") == 0);
}

skn_status_t
skn_hidden_open(skn_hidden_t *hidden, skn_actor_t *actor, uint32_t column_first,
                uint32_t columns, skn_error_t *error)
{
    uint32_t leaves = (uint32_t)skn_actor_option_int(actor, "leaves");
    uint32_t rows = (uint32_t)skn_actor_option_int(actor, "batch_rows");
    hidden->kernels = skn_kernels_pick(error);
    if (!hidden->kernels)
        return SKN_BAD_CONFIG;
    hidden->column_first = column_first;
    hidden->columns = columns;
    hidden->batch_rows = rows;
    hidden->keep = kept_share(1.0 - skn_actor_option_real(actor, "dropout"));
    hidden->dropout_key = skn_draw_key(
        (uint64_t)skn_actor_option_int(actor, "seed"), SKN_DRAW_DROPOUT,
        (uint64_t)skn_actor_option_int(actor, "layer"));
    hidden->merge = (skn_merge_t){
        .kernels = hidden->kernels,
        .columns = columns,
        .leaf_count = leaves,
        .scratch = skn_floats_new(
            skn_merge_scratch_floats(leaves, rows, columns), error),
    };
    hidden->root = skn_floats_new((size_t)rows * (2 + columns), error);
    if (!hidden->merge.scratch || !hidden->root)
        return SKN_NO_MEMORY;
    hidden->nodes = malloc(leaves * sizeof(*hidden->nodes));
    hidden->open = malloc(rows * sizeof(*hidden->open));
    return hidden->nodes && hidden->open
               ? SKN_OK
               : skn_fail(error, SKN_NO_MEMORY,
                          "no memory for a tree of %u leaves", leaves);
}

void
skn_hidden_close(skn_hidden_t *hidden)
{
    free(hidden->merge.scratch);
    free(hidden->root);
    free(hidden->nodes);
    free(hidden->open);
    memset(hidden, 0, sizeof(*hidden));
}

/* Drops the units of the batch that `activation` is of, and scales the others:
 * its values, or their gradient. */
static void
drop_units(const skn_hidden_t *hidden, const skn_activation_t *activation,
           float *value)
{
    size_t columns = hidden->columns;
    if (hidden->keep >= 1.0f || activation->purpose != SKN_PURPOSE_TRAIN)
        return;
    for (uint32_t i = 0; i < activation->rows; i++) {
        skn_noise_t noise = { .key = hidden->dropout_key,
                              .stream = activation->batch,
                              .row = i,
                              .first_column = hidden->column_first };
        hidden->kernels->dropout(value + i * columns, columns, hidden->keep,
                                 &noise);
    }
}

void
skn_hidden_activate(const skn_hidden_t *hidden, skn_activation_t *activation)
{
    float *value = activation->value.at;
    if (!hidden->is_linear)
        hidden->kernels->relu(value, activation->rows * hidden->columns);
    drop_units(hidden, activation, value);
}

/* Passes the merged gradient back through dropout and ReLU, whose zeros are
 * those of the activation. */
static void
finish(const skn_hidden_t *hidden, const skn_activation_t *activation,
       float *gradient)
{
    size_t cells = (size_t)activation->rows * hidden->columns;
    if (hidden->is_linear) {
        drop_units(hidden, activation, gradient);
        return;
    }
    hidden->kernels->scale(gradient, 1.0f / hidden->keep, cells);
    hidden->kernels->relu_mask_mul(gradient, activation->value.at, cells);
}

static skn_status_t
refuse(const skn_output_gradient_t *part, const char *what, skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "output_gradient of shard %u, batch %llu: %s", part->shard,
                    (unsigned long long)part->batch, what);
}

/* --- what is packed ------------------------------------------------------ */

static void
begin_packing(skn_hidden_t *hidden, const skn_activation_t *activation)
{
    assert(activation->rows <= hidden->batch_rows &&
           activation->columns == hidden->columns);
    hidden->packing = (skn_packing_t){ .mask = activation->value.at,
                                       .stride = hidden->columns,
                                       .rows = activation->rows,
                                       .columns = hidden->columns,
                                       .kernels = hidden->kernels };
    hidden->open_sum = SIZE_MAX;
    hidden->rounding = (skn_rounding_t){ 0 };
    hidden->merge.rows = activation->rows;
    hidden->merge.packing = &hidden->packing;
}

/* Whether a part was packed by the zeros of this layer's activation. Sets
 * *cells to the numbers that it has for each node; all cells if it is not
 * packed. */
static bool
fits_packing(skn_hidden_t *hidden, const skn_u32s_t *open, size_t *cells)
{
    size_t rows = hidden->packing.rows;
    *cells = rows * hidden->columns;
    if (open->count == 0)
        return true;
    if (hidden->is_linear)
        return false;
    if (hidden->open_sum == SIZE_MAX)
        hidden->open_sum = skn_packing_count(&hidden->packing, hidden->open);
    *cells = hidden->open_sum;
    return open->count == rows &&
           memcmp(open->at, hidden->open, rows * sizeof(*open->at)) == 0;
}

/* Does the same for push: each sample is sent whole or not at all. */
static bool
fits_pushed(const skn_hidden_t *hidden, const skn_output_gradient_t *part,
            size_t *cells)
{
    size_t rows = hidden->packing.rows;
    *cells = part->normalised ? rows * hidden->columns : 0;
    if (part->open.count == 0 || !part->normalised)
        return part->pushed.count == 0;
    if (part->pushed.count != rows)
        return false;
    assert(hidden->open_sum != SIZE_MAX);
    *cells = 0;
    for (size_t i = 0; i < rows; i++) {
        uint32_t count = part->pushed.at[i];
        if (count != 0 && count != hidden->open[i])
            return false;
        *cells += count;
    }
    return true;
}

/* --- output_gradient ----------------------------------------------------- */

/* Checks that a part's arrays have the sizes that its header states: *pulls and
 * *pushes numbers for each node. */
static skn_status_t
check_part(skn_hidden_t *hidden, const skn_output_gradient_t *part,
           uint32_t rows, size_t *pulls, size_t *pushes, skn_error_t *error)
{
    size_t nodes = part->node.count;
    if (part->rows != rows || part->columns != hidden->columns ||
        part->column_first != hidden->column_first)
        return refuse(part, "its rows or columns belong to another slice",
                      error);
    if (!fits_packing(hidden, &part->open, pulls) ||
        !fits_pushed(hidden, part, pushes))
        return refuse(part, "packed by a different activation", error);
    if (nodes == 0 || part->pull.count != nodes * *pulls)
        return refuse(part, "its pull has the wrong size", error);
    if (part->push.count != nodes * *pushes)
        return refuse(part, "its push has the wrong size", error);
    if (part->changed.count != 0 &&
        part->changed.count != (part->normalised ? 3 : 1) * nodes * rows)
        return refuse(part, "its `changed` has the wrong size", error);
    return SKN_OK;
}

/* Finds (m, z) of the nodes of `part`; NULL if they are not there. Both
 * messages are gathered in the order of their senders, so that it is usually
 * part `p`. */
static const skn_partition_t *
partition_of(const skn_parts_t *partitions, size_t p,
             const skn_output_gradient_t *part)
{
    size_t count = partitions->count, nodes = part->node.count, tried = 0;
    const skn_partition_t *found = NULL;
    while (tried < count && (!found || found->shard != part->shard))
        found = partitions->at[(p + tried++) % count];
    size_t samples = nodes * part->rows;
    if (!found || found->shard != part->shard || found->rows != part->rows ||
        found->node.count != nodes || found->greatest.count != samples ||
        found->sum.count != samples ||
        memcmp(found->node.at, part->node.at, nodes * sizeof(uint32_t)) != 0)
        return NULL;
    return found;
}

static skn_status_t
collect_part(skn_hidden_t *hidden, const skn_output_gradient_t *part,
             const skn_parts_t *partitions, size_t p, size_t *node_count,
             skn_error_t *error)
{
    size_t rows = hidden->packing.rows, pulls = 0, pushes = 0;
    const skn_partition_t *partition = NULL;
    skn_status_t status =
        check_part(hidden, part, hidden->packing.rows, &pulls, &pushes, error);
    if (status != SKN_OK)
        return status;
    if (part->normalised != (partitions ? 1 : 0))
        return refuse(part, "its loss differs from that of shard 0", error);
    if (partitions)
        partition = partition_of(partitions, p, part);
    if (partitions && !partition)
        return refuse(part, "its partition is for other tree nodes", error);
    bool packed = part->open.count > 0;
    for (size_t k = 0; k < part->node.count; k++) {
        skn_tree_node_t node = { .place = part->node.at[k] };
        if (*node_count == hidden->merge.leaf_count)
            return refuse(part, "too many tree nodes", error);
        node.partial.pull = part->pull.at + k * pulls;
        node.open = packed ? part->open.at : NULL;
        if (partition) {
            node.partial.greatest = partition->greatest.at + k * rows;
            node.partial.sum = partition->sum.at + k * rows;
            node.partial.push = part->push.at + k * pushes;
            node.pushed = packed ? part->pushed.at : NULL;
        }
        hidden->nodes[(*node_count)++] = node;
    }
    return SKN_OK;
}

static skn_status_t
collect_nodes(skn_hidden_t *hidden, const skn_parts_t *parts,
              const skn_parts_t *partitions, size_t *node_count,
              skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    *node_count = 0;
    for (size_t p = 0; p < parts->count && status == SKN_OK; p++) {
        status = collect_part(hidden, parts->at[p], partitions, p, node_count,
                              error);
        if (status != SKN_OK)
            skn_parts_refuse(parts, p);
    }
    return status;
}

/* Computes the error that the coding of links added to the gradient, from the
 * parts that were measured on a link. hidden->nodes has the nodes of all parts
 * in their order. */
static void
take_rounding(skn_hidden_t *hidden, const skn_parts_t *parts,
              const skn_partial_t *root, float *gradient)
{
    size_t rows = hidden->packing.rows, at = 0;
    bool measured = false;
    for (size_t p = 0; p < parts->count; p++) {
        const skn_output_gradient_t *part = parts->at[p];
        for (size_t k = 0; k < part->node.count; k++, at++) {
            const skn_partial_t *node = &hidden->nodes[at].partial;
            skn_rounding_scale_t scale = { node->greatest, node->sum,
                                           root->greatest, root->sum };
            if (part->changed.count == 0)
                continue;
            measured = true;
            skn_rounding_add(&hidden->rounding, &scale, part->changed.at, k,
                             part->node.count, rows);
        }
    }
    if (measured)
        skn_rounding_close(&hidden->rounding,
                           1.0 / ((double)rows * (double)hidden->keep),
                           gradient, rows * hidden->columns);
}

skn_status_t
skn_hidden_merge(skn_hidden_t *hidden, const skn_parts_t *parts,
                 const skn_parts_t *partitions,
                 const skn_activation_t *activation, float *gradient,
                 skn_error_t *error)
{
    size_t node_count, rows = activation->rows;
    const skn_output_gradient_t *first = parts->at[0];
    begin_packing(hidden, activation);
    skn_status_t status =
        collect_nodes(hidden, parts, partitions, &node_count, error);
    if (status != SKN_OK)
        return status;
    skn_partial_t root = { .pull = gradient };
    if (partitions) {
        root.greatest = hidden->root;
        root.sum = hidden->root + rows;
        root.push = hidden->root + 2 * rows;
    }
    if (!skn_merge_root(&hidden->merge, hidden->nodes, node_count, &root))
        return refuse(first, "the shards together do not cover all rows",
                      error);
    if (root.push)
        hidden->kernels->axpy(gradient, -1.0f, root.push,
                              rows * hidden->columns);
    hidden->kernels->scale(gradient, 1.0f / (float)rows,
                           rows * hidden->columns);
    finish(hidden, activation, gradient);
    take_rounding(hidden, parts, &root, gradient);
    return SKN_OK;
}

/* --- hidden_gradient ----------------------------------------------------- */

static skn_status_t
refuse_sum(const skn_hidden_gradient_t *part, const char *what,
           skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "hidden_gradient of shard %u, batch %llu: %s", part->shard,
                    (unsigned long long)part->batch, what);
}

/* Collects the nodes of a part from a dense layer, which are only summed. */
static skn_status_t
collect_sum(skn_hidden_t *hidden, const skn_hidden_gradient_t *part,
            size_t *node_count, skn_error_t *error)
{
    size_t nodes = part->node.count, cells;
    if (!fits_packing(hidden, &part->open, &cells))
        return refuse_sum(part, "packed by a different activation", error);
    if (part->value.count != nodes * cells ||
        part->column_first != hidden->column_first)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "hidden_gradient of shard %u, batch %llu: %zu values, "
                        "%zu expected",
                        part->shard, (unsigned long long)part->batch,
                        part->value.count, nodes * cells);
    if (nodes > hidden->merge.leaf_count - *node_count)
        return refuse_sum(part, "too many tree nodes", error);
    if (part->changed.count != 0 &&
        part->changed.count != nodes * hidden->packing.rows)
        return refuse_sum(part, "its `changed` has the wrong size", error);
    for (size_t k = 0; k < nodes; k++)
        hidden->nodes[(*node_count)++] = (skn_tree_node_t){
            .place = part->node.at[k],
            .partial = { .pull = part->value.at + k * cells },
            .open = part->open.count > 0 ? part->open.at : NULL,
        };
    return SKN_OK;
}

static skn_status_t
collect_sums(skn_hidden_t *hidden, const skn_parts_t *parts, size_t *node_count,
             skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    *node_count = 0;
    for (size_t p = 0; p < parts->count && status == SKN_OK; p++) {
        status = collect_sum(hidden, parts->at[p], node_count, error);
        if (status != SKN_OK)
            skn_parts_refuse(parts, p);
    }
    return status;
}

static void
take_sum_rounding(skn_hidden_t *hidden, const skn_parts_t *parts,
                  float *gradient)
{
    static const skn_rounding_scale_t one;
    size_t rows = hidden->packing.rows;
    bool measured = false;
    for (size_t p = 0; p < parts->count; p++) {
        const skn_hidden_gradient_t *part = parts->at[p];
        for (size_t k = 0; k < part->node.count && part->changed.count > 0;
             k++) {
            measured = true;
            skn_rounding_add(&hidden->rounding, &one, part->changed.at, k,
                             part->node.count, rows);
        }
    }
    if (measured)
        skn_rounding_close(&hidden->rounding, 1.0 / (double)hidden->keep,
                           gradient, rows * hidden->columns);
}

skn_status_t
skn_hidden_sum(skn_hidden_t *hidden, const skn_parts_t *parts,
               const skn_activation_t *activation, float *gradient,
               skn_error_t *error)
{
    const skn_hidden_gradient_t *first = parts->at[0];
    size_t node_count;
    skn_partial_t root = { .pull = gradient };
    begin_packing(hidden, activation);
    skn_status_t status = collect_sums(hidden, parts, &node_count, error);
    if (status != SKN_OK)
        return status;
    if (!skn_merge_root(&hidden->merge, hidden->nodes, node_count, &root))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "hidden_gradient of batch %llu: the shards together "
                        "do not cover all units",
                        (unsigned long long)first->batch);
    finish(hidden, activation, gradient);
    take_sum_rounding(hidden, parts, gradient);
    return SKN_OK;
}
