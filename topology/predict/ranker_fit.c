/* ranker_fit.c - grows a ranker's trees on several threads: splits the labels
 * of a group, fits its rows, and leaves its halves to any free thread.
 *
 * The number of nodes, and their numbers, follow from the number of labels; the
 * split of the labels, and the rows, follow from the labels of the node above
 * and a seed of its own. So the order of the work on groups does not change the
 * result.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/predict/ranker_fit.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "topology/predict/ranker_internal.h"
#include "transport/socket/parallel_for.h"

/* Most labels below a node that is not split further. */
#define LEAVES_MAX 100u

void
skn_label_points_fini(skn_label_points_t *points)
{
    free(points->offset);
    free(points->point);
    *points = (skn_label_points_t){ 0 };
}

/* --- nodes and groups ---------------------------------------------------- */

/* Groups and nodes below one with `labels` labels. */
static void
count_below(uint32_t labels, uint64_t *groups, uint64_t *nodes)
{
    ++*groups;
    if (labels <= LEAVES_MAX) {
        *nodes += labels;
        return;
    }
    *nodes += 2;
    count_below(labels / 2, groups, nodes);
    count_below(labels - labels / 2, groups, nodes);
}

/* Lays out the group of labels [first, end) under node `parent`, and everything
 * below it; returns its number. */
static uint32_t
lay_out(skn_ranker_grove_t *grove, uint32_t tree, uint32_t first, uint32_t end,
        uint32_t parent)
{
    uint32_t number = grove->group_count++;
    skn_ranker_group_t *group = &grove->group[number];
    uint32_t *above = grove->ranker->parent, half = first + (end - first) / 2;
    *group = (skn_ranker_group_t){ .tree = tree, .first = first, .end = end };
    if (end - first <= LEAVES_MAX) {
        group->node[0] = grove->node_count;
        for (uint32_t k = first; k < end; k++)
            above[grove->node_count++] = parent;
        return number;
    }
    group->is_split = true;
    for (int side = 0; side < 2; side++) {
        uint32_t node = grove->node_count++;
        above[node] = parent;
        group->node[side] = node;
        group->below[side] =
            lay_out(grove, tree, side ? half : first, side ? end : half, node);
    }
    return number;
}

static skn_status_t
lay_out_all(skn_ranker_grove_t *grove, skn_error_t *error)
{
    const skn_ranker_source_t *source = grove->source;
    const skn_label_points_t *has = source->has;
    skn_ranker_t *ranker = grove->ranker;
    uint64_t groups = 0, nodes = 0, trees = source->tree_count;
    for (uint32_t l = 0; l < has->label_count; l++)
        grove->label_count += has->offset[l] < has->offset[l + 1];
    if (grove->label_count == 0)
        return SKN_OK;
    count_below(grove->label_count, &groups, &nodes);
    if (nodes * trees >= UINT32_MAX)
        return skn_fail(error, SKN_USAGE, "%u labels are too many for %u trees",
                        grove->label_count, source->tree_count);
    ranker->parent = malloc(nodes * trees * sizeof(*ranker->parent));
    ranker->offset = calloc(nodes * trees + 1, sizeof(*ranker->offset));
    ranker->bias = calloc(nodes * trees, sizeof(*ranker->bias));
    ranker->leaf = malloc(trees * has->label_count * sizeof(*ranker->leaf));
    grove->group = calloc(groups * trees, sizeof(*grove->group));
    grove->label = malloc(trees * grove->label_count * sizeof(*grove->label));
    grove->ready = malloc(groups * trees * sizeof(*grove->ready));
    if (!ranker->parent || !ranker->offset || !ranker->bias || !ranker->leaf ||
        !grove->group || !grove->label || !grove->ready)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u trees",
                        source->tree_count);
    for (uint32_t t = 0; t < trees; t++) {
        uint32_t *label = grove->label + (size_t)t * grove->label_count;
        for (uint32_t l = 0, k = 0; l < has->label_count; l++)
            if (has->offset[l] < has->offset[l + 1])
                label[k++] = l;
        grove->ready[grove->ready_count++] =
            lay_out(grove, t, 0, grove->label_count, UINT32_MAX);
    }
    assert(grove->group_count == groups * trees &&
           grove->node_count == nodes * trees);
    grove->left = grove->group_count;
    ranker->node_count = grove->node_count;
    return SKN_OK;
}

/* --- threads ------------------------------------------------------------- */

/* The next group; NULL when none is left, or the work was stopped. */
static skn_ranker_group_t *
take(skn_ranker_grove_t *grove)
{
    const atomic_bool *stop = grove->source->stop;
    skn_ranker_group_t *group = NULL;
    (void)pthread_mutex_lock(&grove->mutex);
    if (stop && atomic_load(stop)) {
        grove->failed = true;
        (void)pthread_cond_broadcast(&grove->changed);
    }
    while (grove->ready_count == 0 && grove->left > 0 && !grove->failed)
        (void)pthread_cond_wait(&grove->changed, &grove->mutex);
    if (grove->ready_count > 0 && !grove->failed)
        group = &grove->group[grove->ready[--grove->ready_count]];
    (void)pthread_mutex_unlock(&grove->mutex);
    return group;
}

void
skn_ranker_offer(skn_ranker_grove_t *grove, const skn_ranker_group_t *group)
{
    (void)pthread_mutex_lock(&grove->mutex);
    grove->ready[grove->ready_count++] = group->below[1];
    grove->ready[grove->ready_count++] = group->below[0];
    assert(grove->ready_count <= grove->group_count);
    (void)pthread_cond_broadcast(&grove->changed);
    (void)pthread_mutex_unlock(&grove->mutex);
}

static void
conclude(skn_ranker_grove_t *grove, bool good)
{
    (void)pthread_mutex_lock(&grove->mutex);
    assert(grove->left > 0);
    grove->left--;
    grove->failed = grove->failed || !good;
    if (grove->left == 0 || grove->failed)
        (void)pthread_cond_broadcast(&grove->changed);
    (void)pthread_mutex_unlock(&grove->mutex);
}

static void *
work(void *argument)
{
    skn_ranker_worker_t *worker = argument;
    skn_ranker_group_t *group;
    while ((group = take(worker->grove)))
        conclude(worker->grove, skn_ranker_work(worker, group));
    return NULL;
}

/* --- fit ----------------------------------------------------------------- */

/* Collects the leaf of each label, and the rows of the groups one after the
 * other. */
static bool
gather(skn_ranker_grove_t *grove)
{
    skn_ranker_t *ranker = grove->ranker;
    size_t leaves = (size_t)ranker->tree_count * ranker->label_count;
    for (size_t k = 0; k < leaves; k++)
        ranker->leaf[k] = UINT32_MAX;
    for (uint32_t n = 0; n < ranker->node_count; n++)
        ranker->offset[n + 1] += ranker->offset[n];
    ranker->weight_count = ranker->offset[ranker->node_count];
    ranker->feature =
        malloc((ranker->weight_count + 1) * sizeof(*ranker->feature));
    ranker->weight =
        malloc((ranker->weight_count + 1) * sizeof(*ranker->weight));
    if (!ranker->feature || !ranker->weight)
        return false;
    for (uint32_t g = 0; g < grove->group_count; g++) {
        skn_ranker_group_t *group = &grove->group[g];
        const uint32_t *label =
            grove->label + (size_t)group->tree * grove->label_count;
        uint32_t *leaf =
            ranker->leaf + (size_t)group->tree * ranker->label_count;
        uint32_t rows = group->is_split ? 2 : group->end - group->first;
        size_t from = 0;
        for (uint32_t r = 0; r < rows; r++) {
            uint32_t node =
                group->is_split ? group->node[r] : group->node[0] + r;
            uint64_t to = ranker->offset[node];
            size_t count = (size_t)(ranker->offset[node + 1] - to);
            if (!group->is_split)
                leaf[label[group->first + r]] = node;
            if (count > 0) {
                memcpy(ranker->feature + to, group->feature + from,
                       count * sizeof(*group->feature));
                memcpy(ranker->weight + to, group->weight + from,
                       count * sizeof(*group->weight));
            }
            from += count;
        }
        assert(from == group->count);
        free(group->feature);
        free(group->weight);
        group->feature = NULL;
        group->weight = NULL;
    }
    return true;
}

static void
grove_fini(skn_ranker_grove_t *grove)
{
    for (uint32_t g = 0; grove->group && g < grove->group_count; g++) {
        free(grove->group[g].feature);
        free(grove->group[g].weight);
    }
    free(grove->group);
    free(grove->label);
    free(grove->ready);
    free(grove->norm);
    free(grove->square);
    (void)pthread_mutex_destroy(&grove->mutex);
    (void)pthread_cond_destroy(&grove->changed);
}

/* Grows and fits all trees; false: no memory. */
static bool
grow(skn_ranker_grove_t *grove)
{
    skn_ranker_worker_t worker[SKN_PARALLEL_MAX];
    uint32_t threads = grove->source->thread_count, ready = 0;
    bool good = true;
    if (threads > SKN_PARALLEL_MAX)
        threads = SKN_PARALLEL_MAX;
    while (good && ready < (threads ? threads : 1))
        good = skn_ranker_worker_init(&worker[ready++], grove);
    good = good && skn_ranker_measure(&worker[0]);
    if (good)
        skn_parallel_for(ready, work, worker, sizeof(*worker));
    while (ready > 0)
        skn_ranker_worker_fini(&worker[--ready]);
    return good && !grove->failed && gather(grove);
}

skn_status_t
skn_ranker_fit(skn_ranker_t *ranker, const skn_ranker_source_t *source,
               skn_error_t *error)
{
    skn_ranker_grove_t grove = { .source = source, .ranker = ranker };
    *ranker = (skn_ranker_t){
        .label_count = source->has->label_count,
        .feature_count = source->feature_count,
        .tree_count = source->tree_count,
    };
    (void)pthread_mutex_init(&grove.mutex, NULL);
    (void)pthread_cond_init(&grove.changed, NULL);
    skn_status_t status = lay_out_all(&grove, error);
    if (status == SKN_OK && grove.label_count > 0 && !grow(&grove))
        status = skn_fail(error, SKN_NO_MEMORY,
                          "no memory for a ranker of %u labels",
                          ranker->label_count);
    grove_fini(&grove);
    if (status != SKN_OK || ranker->node_count == 0 ||
        ranker->weight_count == 0)
        skn_ranker_fini(ranker);
    return status;
}
