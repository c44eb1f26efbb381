/* ranker_slim.c - lists a ranker's tensors for one file, and uses those of a
 * mapped file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/predict/network_slim.h"
#include "actors/predict/ranker_tensors.h"

/* --- listing -------------------------------------------------------------- */

/* The weights of some features. The arrays are the list's. */
typedef struct pruned {
    uint64_t *offset;
    uint32_t *feature;
    float *weight; /* for free() */
    uint64_t count;
} pruned_t;

/* A bit a feature. NULL: no memory. */
static bool *
mark(const skn_ranker_t *ranker, const skn_kept_features_t *kept)
{
    bool *stays = calloc(ranker->feature_count + (size_t)1, sizeof(*stays));
    for (uint32_t k = 0; stays && k < kept->count; k++)
        stays[kept->feature[k]] = true;
    return stays;
}

/* Copies the weights of those features that stay. */
static void
copy_kept(const skn_ranker_t *ranker, const bool *stays, pruned_t *pruned)
{
    uint64_t at = 0;
    for (uint32_t n = 0; n < ranker->node_count; n++) {
        pruned->offset[n] = at;
        for (uint64_t k = ranker->offset[n]; k < ranker->offset[n + 1]; k++) {
            if (!stays[ranker->feature[k]])
                continue;
            pruned->feature[at] = ranker->feature[k];
            pruned->weight[at++] = skn_ranker_weight(ranker, k);
        }
    }
    pruned->offset[ranker->node_count] = at;
}

static skn_status_t
prune(const skn_ranker_t *ranker, const char *layer,
      const skn_kept_features_t *kept, skn_slim_list_t *list, pruned_t *pruned,
      skn_error_t *error)
{
    bool *stays = mark(ranker, kept);
    if (!stays)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a ranker");
    for (uint64_t k = 0; k < ranker->weight_count; k++)
        pruned->count += stays[ranker->feature[k]];
    const skn_slim_part_t offsets = { "ranker.offset", SKN_DTYPE_U64,
                                      ranker->node_count + UINT64_C(1), 0,
                                      NULL };
    const skn_slim_part_t features = { "ranker.feature", SKN_DTYPE_U32,
                                       pruned->count, 0, NULL };
    pruned->weight = calloc(pruned->count + 1, sizeof(*pruned->weight));
    pruned->offset = skn_slim_list_add(list, layer, &offsets, error);
    pruned->feature = skn_slim_list_add(list, layer, &features, error);
    bool good = pruned->weight && pruned->offset && pruned->feature;
    if (good)
        copy_kept(ranker, stays, pruned);
    free(stays);
    return good ? SKN_OK
                : skn_fail(error, SKN_NO_MEMORY, "no memory for a ranker");
}

static skn_status_t
list_weights(const skn_ranker_t *ranker, const skn_kernels_t *kernels,
             const char *layer, skn_export_rows_t rows, skn_slim_list_t *list,
             skn_error_t *error)
{
    bool half = rows != SKN_EXPORT_F32 || !ranker->weight;
    size_t count = (size_t)ranker->weight_count;
    const skn_slim_part_t part = { "ranker.weight",
                                   half ? SKN_DTYPE_BF16 : SKN_DTYPE_F32, count,
                                   0, NULL };
    void *to = skn_slim_list_add(list, layer, &part, error);
    if (!to)
        return error->status;
    if (half && ranker->weight)
        kernels->f32_to_bf16(to, ranker->weight, count);
    else if (count > 0)
        memcpy(to, half ? (const void *)ranker->weight_bf16 : ranker->weight,
               count * skn_dtype_bytes(part.dtype));
    return SKN_OK;
}

skn_status_t
skn_ranker_list(const skn_ranker_t *ranker, const skn_kernels_t *kernels,
                const char *layer, skn_export_rows_t rows,
                const skn_kept_features_t *kept, skn_slim_list_t *list,
                skn_error_t *error)
{
    uint64_t nodes = ranker->node_count;
    const skn_slim_part_t lent[] = {
        { "ranker.parent", SKN_DTYPE_U32, nodes, 0, ranker->parent },
        { "ranker.leaf", SKN_DTYPE_U32,
          (uint64_t)ranker->tree_count * ranker->label_count, 0, ranker->leaf },
        { "ranker.bias", SKN_DTYPE_F32, nodes, 0, ranker->bias },
        { "ranker.offset", SKN_DTYPE_U64, nodes + 1, 0, ranker->offset },
        { "ranker.feature", SKN_DTYPE_U32, ranker->weight_count, 0,
          ranker->feature },
    };
    skn_ranker_t listed = *ranker;
    pruned_t pruned = { 0 };
    size_t lent_count = kept ? 3 : sizeof(lent) / sizeof(lent[0]);
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < lent_count && status == SKN_OK; k++)
        status = skn_slim_list_lend(list, layer, &lent[k], error);
    if (status == SKN_OK && kept) {
        status = prune(ranker, layer, kept, list, &pruned, error);
        listed.weight = pruned.weight;
        listed.weight_count = pruned.count;
    }
    if (status == SKN_OK)
        status = list_weights(&listed, kernels, layer, rows, list, error);
    free(pruned.weight);
    return status;
}

/* --- a mapped file -------------------------------------------------------- */

/* Whether the tensors fit each other, and 32 bits count what they must. */
static bool
fit(const skn_safetensor_t *const tensor[TENSORS], uint32_t labels)
{
    for (int k = 0; k < TENSORS; k++)
        if (!tensor[k] || tensor[k]->dims != 1 ||
            (tensor[k]->dtype != tensors[k].dtype &&
             (k != WEIGHT || tensor[k]->dtype != SKN_DTYPE_BF16)))
            return false;
    uint64_t nodes = tensor[BIAS]->shape[0], leaves = tensor[LEAF]->shape[0];
    return nodes < UINT32_MAX && leaves <= UINT32_MAX && leaves % labels == 0 &&
           tensor[PARENT]->shape[0] == nodes &&
           tensor[OFFSET]->shape[0] == nodes + 1 &&
           tensor[FEATURE]->shape[0] == tensor[WEIGHT]->shape[0];
}

skn_status_t
skn_ranker_map(skn_ranker_t *ranker, const skn_slim_t *slim,
               const skn_network_t *network, const char *layer,
               skn_error_t *error)
{
    const skn_safetensor_t *tensor[TENSORS];
    void *bytes[TENSORS] = { NULL };
    uint32_t labels = network->units[network->layer_count - 1];
    int found = 0;
    for (int k = 0; k < TENSORS; k++) {
        tensor[k] = skn_slim_find(slim, layer, tensors[k].name);
        found += tensor[k] != NULL;
    }
    if (found == 0)
        return SKN_OK;
    if (!fit(tensor, labels))
        return skn_fail(error, SKN_BAD_DATA,
                        "%.300s: the tensors of the ranker do not fit",
                        slim->path);
    for (int k = 0; k < TENSORS; k++)
        bytes[k] = (void *)(uintptr_t)skn_slim_bytes(slim, tensor[k]);
    *ranker = (skn_ranker_t){
        .label_count = labels,
        .feature_count = network->feature_count,
        .tree_count = (uint32_t)(tensor[LEAF]->shape[0] / labels),
        .node_count = (uint32_t)tensor[BIAS]->shape[0],
        .weight_count = tensor[WEIGHT]->shape[0],
        .parent = bytes[PARENT],
        .leaf = bytes[LEAF],
        .offset = bytes[OFFSET],
        .feature = bytes[FEATURE],
        .bias = bytes[BIAS],
        .is_lent = true,
    };
    if (tensor[WEIGHT]->dtype == SKN_DTYPE_F32)
        ranker->weight = bytes[WEIGHT];
    else
        ranker->weight_bf16 = bytes[WEIGHT];
    return skn_ranker_check(ranker, slim->path, layer, error);
}
