/* cluster.c - a list of hard rows for each cluster of samples.
 *
 * An index has C centroids of hidden vectors and, for each, the rows with the
 * largest logits for it (cluster_build.c). The samples of a batch are grouped
 * by the nearest centroid; the list of a group is its centroid's rows, which
 * are certain (pi = 1), the batch's labels, and the even rows of the batch
 * (pi = p). So a group is a product of matrices, and a row that is loaded
 * serves all its samples.
 *
 *     offset [C + 1]   list k: unit[offset[k]..], ascending
 *     value  [C][H]    centroids
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/samplers/blockwise.h"
#include "actors/samplers/cluster.h"
#include "actors/protocol/workspace.h"

struct skn_sampler {
    skn_sampler_options_t options;
    skn_blockwise_t tail;   /* the even rows beside */
    skn_blockwise_t before; /* all rows, until there is an index */
    const skn_index_t *index;
    skn_centroids_t nearest;
    uint32_t *cluster; /* [batch_rows] of the batch in hand */
    uint32_t *row;     /* a list and the even rows */
    float *weight;
    uint32_t room;
};

static void
cluster_close(skn_sampler_t *sampler)
{
    skn_blockwise_fini(&sampler->tail);
    skn_blockwise_fini(&sampler->before);
    skn_nearest_fini(&sampler->nearest);
    free(sampler->cluster);
    free(sampler->row);
    free(sampler->weight);
    free(sampler);
}

static skn_status_t
prepare(skn_sampler_t *sampler, skn_error_t *error)
{
    const skn_sampler_options_t *options = &sampler->options;
    if (options->tail == 0 && !options->part)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "cluster needs uniform_rows of at least 1: rows "
                        "outside of a sample's list would never be drawn");
    skn_status_t status =
        skn_blockwise_init(&sampler->tail, options, options->tail, error);
    if (status == SKN_OK)
        status = skn_blockwise_init(&sampler->before, options,
                                    options->draws + options->tail, error);
    if (status == SKN_OK)
        status = skn_nearest_init(&sampler->nearest, options, error);
    if (status != SKN_OK)
        return status;
    uint64_t room =
        (uint64_t)skn_cluster_list_rows(options) + sampler->tail.room;
    sampler->room = (uint32_t)room;
    sampler->cluster = malloc(options->batch_rows * sizeof(uint32_t));
    sampler->row = malloc((room + 1) * sizeof(uint32_t));
    sampler->weight = malloc((room + 1) * sizeof(float));
    if (sampler->cluster && sampler->row && sampler->weight)
        return SKN_OK;
    return skn_fail(error, SKN_NO_MEMORY, "no room for a sampler");
}

static skn_sampler_t *
cluster_open(const skn_sampler_options_t *options, skn_error_t *error)
{
    skn_sampler_t *sampler = calloc(1, sizeof(*sampler));
    if (!sampler) {
        skn_fail(error, SKN_NO_MEMORY, "no room for a sampler");
        return NULL;
    }
    sampler->options = *options;
    if (prepare(sampler, error) == SKN_OK)
        return sampler;
    cluster_close(sampler);
    return NULL;
}

/* --- the index ------------------------------------------------------------ */

/* Lists that ascend, are not too long, and name rows of the shard. */
static bool
lists_fit(const skn_sampler_options_t *options, const skn_index_t *index)
{
    size_t lists = index->offset.count - 1;
    const uint32_t *offset = index->offset.at, *unit = index->unit.at;
    if (offset[0] != 0 || offset[lists] != index->unit.count)
        return false;
    for (size_t k = 0; k < lists; k++) {
        if (offset[k] > offset[k + 1] || offset[k + 1] > index->unit.count ||
            offset[k + 1] - offset[k] > skn_cluster_list_rows(options))
            return false;
        for (uint32_t at = offset[k]; at < offset[k + 1]; at++)
            if (unit[at] >= options->row_count ||
                (at > offset[k] && unit[at] <= unit[at - 1]))
                return false;
    }
    return true;
}

static skn_status_t
cluster_adopt(skn_sampler_t *sampler, const skn_index_t *index,
              skn_error_t *error)
{
    const skn_sampler_options_t *options = &sampler->options;
    size_t lists = index->offset.count - 1;
    if (index->offset.count < 2 || lists > sampler->nearest.centroids_max ||
        index->value.count != lists * options->hidden ||
        !lists_fit(options, index))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "the index of batch %llu is not of up to %u lists of "
                        "%u of %u rows",
                        (unsigned long long)index->batch,
                        sampler->nearest.centroids_max,
                        skn_cluster_list_rows(options), options->row_count);
    sampler->index = index;
    skn_nearest_set(&sampler->nearest, index->value.at, (uint32_t)lists);
    return SKN_OK;
}

/* --- draws ---------------------------------------------------------------- */

/* A list (weight 1) and the even rows beside it. Returns their number. */
static uint32_t
join(skn_sampler_t *sampler, uint32_t cluster)
{
    const uint32_t *list =
        sampler->index->unit.at + sampler->index->offset.at[cluster];
    uint32_t list_count = sampler->index->offset.at[cluster + 1] -
                          sampler->index->offset.at[cluster];
    const skn_blockwise_t *tail = &sampler->tail;
    skn_selection_t joined = { .unit = sampler->row,
                               .weight = sampler->weight };
    skn_selection_union(&joined, list, list_count, tail->row, tail->weight,
                        tail->count);
    return joined.unit_count;
}

/* The samples of `cluster` as a group, if it has any. */
static skn_status_t
draw_cluster(skn_sampler_t *sampler, const skn_sampler_query_t *query,
             uint32_t cluster, skn_selection_t *selection, skn_error_t *error)
{
    skn_group_t group = { .sample_first = selection->sample_count,
                          .unit_first = selection->unit_count };
    for (uint32_t i = 0; i < query->rows; i++)
        if (sampler->cluster[i] == cluster)
            selection->sample[selection->sample_count++] = i;
    group.sample_count = selection->sample_count - group.sample_first;
    if (group.sample_count == 0)
        return SKN_OK;
    uint32_t count = join(sampler, cluster);
    uint64_t units =
        (uint64_t)selection->unit_count + count + query->positive_count;
    if (units > UINT32_MAX ||
        skn_selection_room(selection, selection->group_count + 1, query->rows,
                           (uint32_t)units, error) != SKN_OK)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no room for the lists of a batch: %llu rows",
                        (unsigned long long)units);
    skn_selection_union(selection, query->positive, query->positive_count,
                        sampler->row, sampler->weight, count);
    group.unit_count = selection->unit_count - group.unit_first;
    selection->group[selection->group_count++] = group;
    return SKN_OK;
}

static skn_status_t
cluster_draw(skn_sampler_t *sampler, const skn_sampler_query_t *query,
             skn_selection_t *selection, skn_error_t *error)
{
    if (!sampler->index)
        return skn_blockwise_select(&sampler->before, query, selection, error);
    skn_selection_clear(selection);
    skn_status_t status =
        skn_selection_room(selection, 1, query->rows, 1, error);
    skn_blockwise_draw(&sampler->tail, query->batch);
    skn_nearest_find(&sampler->nearest, query->hidden, query->hidden_stride,
                     query->rows, sampler->cluster);
    for (uint32_t k = 0; k < sampler->nearest.count && status == SKN_OK; k++)
        status = draw_cluster(sampler, query, k, selection, error);
    return status;
}

static bool
in_list(const skn_sampler_t *sampler, uint32_t cluster, uint32_t row)
{
    const uint32_t *unit = sampler->index->unit.at;
    uint32_t low = sampler->index->offset.at[cluster];
    uint32_t end = sampler->index->offset.at[cluster + 1], high = end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (unit[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && unit[low] == row;
}

static double
cluster_chance(const skn_sampler_t *sampler, const skn_sampler_query_t *query,
               uint32_t sample, uint32_t row)
{
    (void)query;
    if (!sampler->index)
        return skn_blockwise_chance(&sampler->before, row);
    return in_list(sampler, sampler->cluster[sample], row)
               ? 1.0
               : skn_blockwise_chance(&sampler->tail, row);
}

static const skn_index_kind_t *
cluster_index(const skn_sampler_options_t *options)
{
    (void)options;
    return &skn_cluster_index;
}

const skn_sampler_kind_t skn_sampler_cluster = {
    .name = "cluster",
    .help = "the hardest rows of the sample's cluster, and even ones",
    .open = cluster_open,
    .close = cluster_close,
    .draw = cluster_draw,
    .chance = cluster_chance,
    .index = cluster_index,
    .adopt = cluster_adopt,
};
