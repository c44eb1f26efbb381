/* combining.c - merges the parts of a batch into one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/combine/combining.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/workspace.h"

/* --- open and close ------------------------------------------------------ */

skn_status_t
skn_combining_init(skn_combining_t *combining, skn_error_t *error)
{
    size_t rows = combining->batch_rows, shards = combining->shards;
    uint32_t leaves = combining->tree_leaves;
    if (combining->leaves > leaves ||
        combining->leaf_first > leaves - combining->leaves)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: leaves %" PRIu32 " to %" PRIu64 " are outside of "
                        "a tree of %" PRIu32 " leaves",
                        combining->name, combining->leaf_first,
                        (uint64_t)combining->leaf_first + combining->leaves - 1,
                        leaves);
    combining->node_count = skn_merge_cover(
        leaves, combining->leaf_first,
        combining->leaf_first + combining->leaves, combining->node);
    if (combining->as_leaf >= 0 && combining->node_count != 1)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: %" PRIu32 " tree nodes cannot be sent as one leaf",
                        combining->name, combining->node_count);
    combining->merge = (skn_merge_t){
        .kernels = skn_kernels_pick(error),
        .columns = combining->columns,
        .leaf_count = leaves,
    };
    if (!combining->merge.kernels)
        return SKN_BAD_CONFIG;
    combining->merge.scratch = skn_floats_new(
        skn_merge_scratch_floats(leaves, rows, combining->columns), error);
    combining->greatest = skn_floats_new(2 * rows, error);
    combining->push = skn_floats_new(rows * combining->columns, error);
    if (!combining->merge.scratch || !combining->greatest || !combining->push)
        return SKN_NO_MEMORY;
    combining->nodes =
        malloc(shards * SKN_TREE_NODES_MAX * sizeof(*combining->nodes));
    combining->begin = malloc((rows + 1) * sizeof(*combining->begin));
    combining->pushed = malloc(rows * sizeof(*combining->pushed));
    if (!combining->nodes || !combining->begin || !combining->pushed)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for the parts of %zu shards", shards);
    return SKN_OK;
}

void
skn_combining_fini(skn_combining_t *combining)
{
    free(combining->merge.scratch);
    free(combining->greatest);
    free(combining->push);
    free(combining->nodes);
    free(combining->begin);
    free(combining->pushed);
    memset(combining, 0, sizeof(*combining));
}

/* --- parts --------------------------------------------------------------- */

skn_share_t
skn_share_of_output(const skn_output_gradient_t *message)
{
    return (skn_share_t){
        .message = message,
        .normalised = message->normalised != 0,
        .batch = message->batch,
        .shard = message->shard,
        .rows = message->rows,
        .column_first = message->column_first,
        .columns = message->columns,
        .open = message->open,
        .pushed = message->pushed,
        .node = message->node,
        .pull = message->pull,
        .push = message->push,
    };
}

skn_share_t
skn_share_of_hidden(const skn_hidden_gradient_t *message)
{
    return (skn_share_t){
        .message = message,
        .is_sum = true,
        .batch = message->batch,
        .shard = message->shard,
        .rows = message->rows,
        .column_first = message->column_first,
        .columns = message->columns,
        .open = message->open,
        .node = message->node,
        .pull = message->value,
    };
}

static skn_status_t
refuse_partition(const skn_combining_t *combining, const skn_partition_t *part,
                 const char *what, skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "%s: partition of shard %" PRIu32 ", batch %" PRIu64 ": %s",
                    combining->name, part->shard, part->batch, what);
}

static skn_status_t
refuse_share(const skn_combining_t *combining, const skn_share_t *share,
             const char *what, skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "%s: %s of shard %" PRIu32 ", batch %" PRIu64 ": %s",
                    combining->name,
                    share->is_sum ? "hidden_gradient" : "output_gradient",
                    share->shard, share->batch, what);
}

skn_status_t
skn_combining_check_partition(const skn_combining_t *combining,
                              const skn_partition_t *part, skn_error_t *error)
{
    size_t nodes = part->node.count;
    if (nodes == 0 || nodes > SKN_TREE_NODES_MAX ||
        part->greatest.count != nodes * part->rows ||
        (part->sum.count != nodes * part->rows && part->sum.count != 0))
        return refuse_partition(combining, part, "wrong size", error);
    return SKN_OK;
}

/* Adds up the rows of a packed run. False if a row is wrong: it must be at most
 * `most`, or, if `like` is given, like[i] or 0. */
static bool
count_rows(const skn_u32s_t *run, uint32_t most, const uint32_t *like,
           size_t *sum)
{
    *sum = 0;
    for (size_t i = 0; i < run->count; i++) {
        if (run->at[i] > most || (like && run->at[i] && run->at[i] != like[i]))
            return false;
        *sum += run->at[i];
    }
    return true;
}

skn_status_t
skn_combining_check_share(const skn_combining_t *combining,
                          const skn_share_t *share, skn_error_t *error)
{
    size_t nodes = share->node.count, rows = share->rows;
    bool packed = share->open.count > 0;
    size_t pulls = rows * share->columns;
    size_t pushes = share->normalised ? pulls : 0;
    if (share->columns > combining->columns)
        return refuse_share(combining, share, "too many columns", error);
    if (share->pushed.count != (packed && share->normalised ? rows : 0) ||
        (packed && (share->open.count != rows ||
                    !count_rows(&share->open, share->columns, NULL, &pulls) ||
                    !count_rows(&share->pushed, share->columns, share->open.at,
                                &pushes))))
        return refuse_share(combining, share, "inconsistent packing", error);
    if (nodes == 0 || nodes > SKN_TREE_NODES_MAX ||
        share->pull.count != nodes * pulls ||
        share->push.count != nodes * pushes)
        return refuse_share(combining, share, "wrong size", error);
    return SKN_OK;
}

/* Checks that a share can be merged with the first one, and fits its own
 * partition. */
static skn_status_t
check_together(const skn_combining_t *combining, const skn_share_t *first,
               const skn_share_t *share, const skn_partition_t *partition,
               skn_error_t *error)
{
    size_t open_bytes = first->open.count * sizeof(uint32_t);
    size_t node_bytes = share->node.count * sizeof(uint32_t);
    if (share->is_sum != first->is_sum ||
        share->normalised != first->normalised)
        return refuse_share(combining, share,
                            "its loss differs from that of other shards",
                            error);
    if (share->open.count != first->open.count ||
        (open_bytes && memcmp(share->open.at, first->open.at, open_bytes) != 0))
        return refuse_share(combining, share,
                            "packed by a different activation", error);
    if (share->normalised &&
        (partition->node.count != share->node.count ||
         partition->sum.count != partition->greatest.count ||
         memcmp(partition->node.at, share->node.at, node_bytes) != 0))
        return refuse_share(combining, share,
                            "its partition is for other tree nodes", error);
    return SKN_OK;
}

/* --- merging ------------------------------------------------------------- */

/* The place of node k at the receivers. */
static uint32_t
place_of(const skn_combining_t *combining, uint32_t k)
{
    return combining->as_leaf < 0
               ? combining->node[k]
               : skn_node_place(0, (uint32_t)combining->as_leaf);
}

static skn_status_t
not_covered(const skn_combining_t *combining, uint64_t batch,
            skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "%s: the parts of batch %" PRIu64
                    " do not cover the leaves of its shards",
                    combining->name, batch);
}

skn_status_t
skn_combining_partitions(skn_combining_t *combining, skn_actor_t *actor,
                         const skn_partition_t *const *parts,
                         skn_error_t *error)
{
    size_t rows = parts[0]->rows, count = 0;
    size_t samples = combining->node_count * rows;
    bool in_logs = parts[0]->sum.count == 0, whole = true;
    size_t counts[] = { combining->node_count, samples, in_logs ? 0 : samples };
    uint64_t batch = parts[0]->batch;
    assert(rows <= combining->batch_rows);
    for (uint32_t s = 0; s < combining->shards; s++) {
        assert(parts[s]->batch == batch && parts[s]->rows == rows &&
               parts[s]->node.count <= SKN_TREE_NODES_MAX);
        for (size_t n = 0; n < parts[s]->node.count; n++)
            combining->nodes[count++] = (skn_tree_node_t){
                .place = parts[s]->node.at[n],
                .partial = { .greatest = parts[s]->greatest.at + n * rows,
                             .sum = parts[s]->sum.count
                                        ? parts[s]->sum.at + n * rows
                                        : NULL },
            };
    }
    skn_partition_t *merged =
        skn_actor_message(actor, &skn_partition_schema, counts, error);
    if (!merged)
        return SKN_NO_MEMORY;
    merged->batch = batch;
    merged->shard = combining->shard_first;
    merged->rows = parts[0]->rows;
    combining->merge.rows = rows;
    for (uint32_t k = 0; k < combining->node_count && whole; k++) {
        skn_partial_t into = { .greatest = merged->greatest.at + k * rows,
                               .sum = in_logs ? combining->greatest
                                              : merged->sum.at + k * rows };
        merged->node.at[k] = place_of(combining, k);
        whole = skn_merge_node(&combining->merge, combining->node[k],
                               combining->nodes, count, &into);
        for (size_t i = 0; in_logs && i < rows; i++)
            into.greatest[i] += logf(into.sum[i]);
    }
    if (whole)
        return skn_actor_post(actor, merged, error);
    skn_message_drop(merged);
    return not_covered(combining, batch, error);
}

/* Collects the nodes of all shards; returns their number. */
static size_t
collect_nodes(skn_combining_t *combining, const skn_share_t *share,
              const skn_partition_t *const *partitions)
{
    size_t count = 0, rows = share->rows;
    for (uint32_t s = 0; s < combining->shards; s++, share++) {
        size_t nodes = share->node.count;
        size_t pulls = share->pull.count / nodes;
        size_t pushes = share->push.count / nodes;
        for (size_t n = 0; n < nodes; n++) {
            skn_tree_node_t node = { .place = share->node.at[n] };
            node.partial.pull = share->pull.at + n * pulls;
            if (share->normalised) {
                node.partial.greatest = partitions[s]->greatest.at + n * rows;
                node.partial.sum = partitions[s]->sum.at + n * rows;
                node.partial.push = share->push.at + n * pushes;
                node.pushed = share->pushed.count ? share->pushed.at : NULL;
            }
            combining->nodes[count++] = node;
        }
    }
    return count;
}

/* Finds where the rows of a node begin, and the rows that some shard pushes.
 * Returns the count of numbers of push. */
static size_t
lay_out(skn_combining_t *combining, const skn_share_t *parts)
{
    size_t sum = 0;
    combining->begin[0] = 0;
    for (uint32_t i = 0; i < parts->rows; i++) {
        combining->begin[i + 1] = combining->begin[i] + parts->open.at[i];
        combining->pushed[i] = 0;
        for (uint32_t s = 0; s < combining->shards && parts->normalised; s++)
            combining->pushed[i] |= parts[s].pushed.at[i]; /* open[i], or 0 */
        sum += combining->pushed[i];
    }
    return sum;
}

/* Makes a message like the shares, without their numbers; its runs are in
 * `into`. `changed` is empty, since no link has coded it yet. */
static skn_status_t
share_new(skn_actor_t *actor, const skn_share_t *like, const size_t counts[6],
          skn_share_t *into, skn_error_t *error)
{
    const size_t sum_counts[] = { counts[0], counts[2], counts[3], 0 };
    skn_output_gradient_t *output = NULL;
    skn_hidden_gradient_t *hidden = NULL;
    if (like->is_sum)
        hidden = skn_actor_message(actor, &skn_hidden_gradient_schema,
                                   sum_counts, error);
    else
        output = skn_actor_message(actor, &skn_output_gradient_schema, counts,
                                   error);
    if (!hidden && !output)
        return SKN_NO_MEMORY;
    if (hidden) {
        hidden->batch = like->batch;
        hidden->shard = like->shard;
        hidden->rows = like->rows;
        hidden->column_first = like->column_first;
        hidden->columns = like->columns;
        *into = skn_share_of_hidden(hidden);
        return SKN_OK;
    }
    output->batch = like->batch;
    output->shard = like->shard;
    output->rows = like->rows;
    output->column_first = like->column_first;
    output->columns = like->columns;
    output->normalised = like->normalised;
    *into = skn_share_of_output(output);
    return SKN_OK;
}

/* Packs the pushed rows one after the other. */
static void
pack_push(const skn_combining_t *combining, uint32_t rows, float *packed)
{
    for (uint32_t i = 0; i < rows; i++) {
        size_t count = combining->pushed[i];
        if (count > 0)
            memcpy(packed, combining->push + combining->begin[i],
                   count * sizeof(*packed));
        packed += count;
    }
}

/* Merges all nodes that are sent into `merged`; false if a leaf is missing. */
static bool
merge_nodes(skn_combining_t *combining, size_t count, const skn_share_t *merged)
{
    bool packed = merged->open.count > 0;
    size_t pulls = merged->pull.count / combining->node_count;
    size_t pushes = merged->push.count / combining->node_count;
    for (uint32_t k = 0; k < combining->node_count; k++) {
        skn_partial_t into = { .pull = merged->pull.at + k * pulls };
        float *push = merged->push.at + k * pushes;
        if (merged->normalised) {
            into.greatest = combining->greatest;
            into.sum = combining->greatest + merged->rows;
            into.push = packed ? combining->push : push;
        }
        merged->node.at[k] = place_of(combining, k);
        if (!skn_merge_node(&combining->merge, combining->node[k],
                            combining->nodes, count, &into))
            return false;
        if (packed && merged->normalised)
            pack_push(combining, merged->rows, push);
    }
    return true;
}

skn_status_t
skn_combining_shares(skn_combining_t *combining, skn_actor_t *actor,
                     const skn_share_t *parts,
                     const skn_partition_t *const *partitions,
                     skn_error_t *error)
{
    skn_share_t merged, like = parts[0];
    skn_status_t status = SKN_OK;
    size_t rows = like.rows, nodes = combining->node_count;
    bool packed = like.open.count > 0, pushes = like.normalised;
    assert(rows <= combining->batch_rows && like.columns <= combining->columns);
    for (uint32_t s = 0; s < combining->shards && status == SKN_OK; s++) {
        assert(parts[s].message && parts[s].batch == like.batch &&
               parts[s].rows == rows && parts[s].columns == like.columns);
        status = check_together(combining, &like, &parts[s],
                                pushes ? partitions[s] : NULL, error);
    }
    if (status != SKN_OK)
        return status;
    size_t cells = rows * like.columns, pushed = cells;
    if (packed) {
        pushed = lay_out(combining, parts);
        cells = combining->begin[rows];
    }
    size_t counts[] = { packed ? rows : 0, packed && pushes ? rows : 0, nodes,
                        nodes * cells,     pushes ? nodes * pushed : 0, 0 };
    like.shard = combining->shard_first;
    status = share_new(actor, &like, counts, &merged, error);
    if (status != SKN_OK)
        return status;
    if (packed)
        memcpy(merged.open.at, like.open.at, rows * sizeof(uint32_t));
    if (packed && pushes)
        memcpy(merged.pushed.at, combining->pushed, rows * sizeof(uint32_t));
    combining->merge.rows = rows;
    combining->merge.columns = like.columns;
    combining->merge.begin = packed ? combining->begin : NULL;
    if (merge_nodes(combining, collect_nodes(combining, parts, partitions),
                    &merged))
        return skn_actor_post(actor, merged.message, error);
    skn_message_drop(merged.message);
    return not_covered(combining, like.batch, error);
}
