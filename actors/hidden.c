/* hidden.c - activation, dropout, and the way back through them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/hidden.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/draws.h"
#include "actors/workspace.h"

/* As the dropout kernel rounds it, so that the way back divides by the same
 * number: a multiple of 2^-16. */
static float
kept_share(double keep)
{
    return (float)(floor(keep * 65536.0 + 0.5) / 65536.0);
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
    return hidden->nodes ? SKN_OK
                         : skn_fail(error, SKN_NO_MEMORY,
                                    "no room for a tree of %u leaves", leaves);
}

void
skn_hidden_close(skn_hidden_t *hidden)
{
    free(hidden->merge.scratch);
    free(hidden->root);
    free(hidden->nodes);
    memset(hidden, 0, sizeof(*hidden));
}

void
skn_hidden_activate(const skn_hidden_t *hidden, skn_activation_t *activation)
{
    size_t columns = hidden->columns;
    hidden->kernels->relu(activation->value.at, activation->rows * columns);
    if (hidden->keep >= 1.0f || activation->purpose != SKN_PURPOSE_TRAIN)
        return;
    for (uint32_t i = 0; i < activation->rows; i++) {
        skn_noise_t noise = { .key = hidden->dropout_key,
                              .stream = activation->batch,
                              .row = i,
                              .first_column = hidden->column_first };
        hidden->kernels->dropout(activation->value.at + i * columns, columns,
                                 hidden->keep, &noise);
    }
}

/* The mean over the samples, through dropout and ReLU. */
static void
finish(const skn_hidden_t *hidden, const skn_activation_t *activation,
       float *gradient)
{
    size_t cells = (size_t)activation->rows * hidden->columns;
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

/* Whether a part's runs have the sizes that its header says. */
static skn_status_t
check_part(const skn_hidden_t *hidden, const skn_output_gradient_t *part,
           uint32_t rows, bool softmax, skn_error_t *error)
{
    size_t nodes = part->node.count;
    size_t cells = nodes * rows * hidden->columns;
    if (part->rows != rows || part->columns != hidden->columns ||
        part->column_first != hidden->column_first)
        return refuse(part, "rows or columns of another slice", error);
    if (nodes == 0 || part->pull.count != cells)
        return refuse(part, "pull has the wrong size", error);
    if (part->push.count != (softmax ? cells : 0))
        return refuse(part, "push has the wrong size", error);
    return SKN_OK;
}

/* (m, z) of the nodes of `part`; NULL if they are not there. Both messages are
 * gathered in the order of their senders, so that it is mostly part `p`. */
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
             const skn_partition_t *partition, size_t *node_count,
             skn_error_t *error)
{
    size_t rows = part->rows, cells = rows * hidden->columns;
    for (size_t k = 0; k < part->node.count; k++) {
        skn_node_t node = { .place = part->node.at[k] };
        if (*node_count == hidden->merge.leaf_count)
            return refuse(part, "too many nodes", error);
        node.partial.pull = part->pull.at + k * cells;
        if (partition) {
            node.partial.greatest = partition->greatest.at + k * rows;
            node.partial.sum = partition->sum.at + k * rows;
            node.partial.push = part->push.at + k * cells;
        }
        hidden->nodes[(*node_count)++] = node;
    }
    return SKN_OK;
}

static skn_status_t
collect_nodes(skn_hidden_t *hidden, const skn_parts_t *parts,
              const skn_parts_t *partitions, uint32_t rows, size_t *node_count,
              skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    *node_count = 0;
    for (size_t p = 0; p < parts->count && status == SKN_OK; p++) {
        const skn_output_gradient_t *part = parts->at[p];
        const skn_partition_t *partition = NULL;
        status = check_part(hidden, part, rows, partitions != NULL, error);
        if (status != SKN_OK)
            return status;
        if (part->normalised != (partitions ? 1 : 0))
            return refuse(part, "another loss than that of shard 0", error);
        if (partitions)
            partition = partition_of(partitions, p, part);
        if (partitions && !partition)
            return refuse(part, "its partition is of other nodes", error);
        status = collect_part(hidden, part, partition, node_count, error);
    }
    return status;
}

skn_status_t
skn_hidden_merge(skn_hidden_t *hidden, const skn_parts_t *parts,
                 const skn_parts_t *partitions,
                 const skn_activation_t *activation, float *gradient,
                 skn_error_t *error)
{
    size_t node_count, rows = activation->rows;
    const skn_output_gradient_t *first = parts->at[0];
    skn_status_t status = collect_nodes(hidden, parts, partitions,
                                        activation->rows, &node_count, error);
    if (status != SKN_OK)
        return status;
    skn_partial_t root = { .pull = gradient };
    if (partitions) {
        root.greatest = hidden->root;
        root.sum = hidden->root + rows;
        root.push = hidden->root + 2 * rows;
    }
    hidden->merge.rows = rows;
    if (!skn_merge_root(&hidden->merge, hidden->nodes, node_count, &root))
        return refuse(first, "the shards together do not cover all rows",
                      error);
    if (root.push)
        hidden->kernels->axpy(gradient, -1.0f, root.push,
                              rows * hidden->columns);
    hidden->kernels->scale(gradient, 1.0f / (float)rows,
                           rows * hidden->columns);
    finish(hidden, activation, gradient);
    return SKN_OK;
}

/* The same for the parts of a dense layer, which only add up. */
static skn_status_t
collect_sums(skn_hidden_t *hidden, const skn_parts_t *parts, size_t cells,
             size_t *node_count, skn_error_t *error)
{
    *node_count = 0;
    for (size_t p = 0; p < parts->count; p++) {
        const skn_hidden_gradient_t *part = parts->at[p];
        size_t nodes = part->node.count;
        if (part->value.count != nodes * cells ||
            part->column_first != hidden->column_first)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "hidden_gradient of shard %u, batch %llu: %zu "
                            "values, %zu expected",
                            part->shard, (unsigned long long)part->batch,
                            part->value.count, nodes * cells);
        if (nodes > hidden->merge.leaf_count - *node_count)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "hidden_gradient of shard %u, batch %llu: too many "
                            "nodes",
                            part->shard, (unsigned long long)part->batch);
        for (size_t k = 0; k < nodes; k++)
            hidden->nodes[(*node_count)++] = (skn_node_t){
                .place = part->node.at[k],
                .partial = { .pull = part->value.at + k * cells },
            };
    }
    return SKN_OK;
}

skn_status_t
skn_hidden_sum(skn_hidden_t *hidden, const skn_parts_t *parts,
               const skn_activation_t *activation, float *gradient,
               skn_error_t *error)
{
    const skn_hidden_gradient_t *first = parts->at[0];
    size_t node_count, cells = (size_t)activation->rows * hidden->columns;
    skn_partial_t root = { .pull = gradient };
    skn_status_t status =
        collect_sums(hidden, parts, cells, &node_count, error);
    if (status != SKN_OK)
        return status;
    hidden->merge.rows = activation->rows;
    if (!skn_merge_root(&hidden->merge, hidden->nodes, node_count, &root))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "hidden_gradient of batch %llu: the shards together "
                        "do not cover all units",
                        (unsigned long long)first->batch);
    finish(hidden, activation, gradient);
    return SKN_OK;
}
