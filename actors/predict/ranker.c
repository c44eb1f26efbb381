/* ranker.c - loads, writes and multiplies the trees of a ranker with their
 * sparse rows, and reorders labels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/predict/ranker.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/predict/ranker_tensors.h"
#include "kernels/topk.h"

/* Weight of the squared hinge against log p: measured in decision 0027. */
#define SHARE 0.5

/* Penalty of a label that is in no tree: no point had it. */
#define LACK_UNKNOWN 16.0

/* A row this many times longer than a point is searched, not scanned. */
#define SEARCH_FROM 8u

void
skn_ranker_fini(skn_ranker_t *ranker)
{
    if (!ranker->is_lent) {
        free(ranker->parent);
        free(ranker->leaf);
        free(ranker->offset);
        free(ranker->feature);
        free(ranker->bias);
        free(ranker->weight);
    }
    *ranker = (skn_ranker_t){ 0 };
}

/* --- in a checkpoint ----------------------------------------------------- */

static const char *
name_of(const char *layer, int tensor, char name[SKN_NAME_MAX + 1])
{
    (void)snprintf(name, SKN_NAME_MAX + 1, "%.48s.%s", layer,
                   tensors[tensor].name);
    return name;
}

/* Elements of each tensor. */
static void
size_tensors(const skn_ranker_t *ranker, uint64_t rows[TENSORS])
{
    rows[PARENT] = rows[BIAS] = ranker->node_count;
    rows[LEAF] = (uint64_t)ranker->tree_count * ranker->label_count;
    rows[OFFSET] = ranker->node_count + UINT64_C(1);
    rows[FEATURE] = rows[WEIGHT] = ranker->weight_count;
}

uint64_t
skn_ranker_bytes(const skn_ranker_t *ranker)
{
    uint64_t rows[TENSORS], bytes = 0;
    size_tensors(ranker, rows);
    for (int k = 0; k < TENSORS && ranker->node_count > 0; k++)
        bytes += rows[k] * skn_dtype_bytes(tensors[k].dtype);
    return bytes;
}

/* Finds the sizes from its tensors, of which there are *found; { 0 } unless all
 * exist. */
static skn_ranker_t
measure(const skn_checkpoint_t *checkpoint, const char *layer,
        uint32_t label_count, int *found)
{
    char name[SKN_NAME_MAX + 1];
    const skn_checkpoint_tensor_t *tensor[TENSORS];
    *found = 0;
    for (int k = 0; k < TENSORS; k++) {
        tensor[k] = skn_checkpoint_find(checkpoint, name_of(layer, k, name));
        *found += tensor[k] != NULL;
    }
    if (*found < TENSORS)
        return (skn_ranker_t){ 0 };
    return (skn_ranker_t){
        .label_count = label_count,
        .tree_count = (uint32_t)(tensor[LEAF]->rows / label_count),
        .node_count = (uint32_t)tensor[BIAS]->rows,
        .weight_count = tensor[WEIGHT]->rows,
    };
}

uint64_t
skn_ranker_bytes_of(const skn_checkpoint_t *checkpoint, const char *layer)
{
    char name[SKN_NAME_MAX + 1];
    const skn_checkpoint_tensor_t *leaf =
        skn_checkpoint_find(checkpoint, name_of(layer, LEAF, name));
    skn_ranker_t ranker = { 0 };
    int found;
    if (leaf && leaf->rows > 0 && leaf->rows <= UINT32_MAX)
        ranker = measure(checkpoint, layer, (uint32_t)leaf->rows, &found);
    return skn_ranker_bytes(&ranker);
}

/* Reads the whole tensor, into memory that the caller frees. */
static void *
read_tensor(skn_checkpoint_t *checkpoint, const char *layer, int which,
            uint64_t rows, skn_error_t *error)
{
    char name[SKN_NAME_MAX + 1];
    const skn_checkpoint_tensor_t *tensor =
        skn_checkpoint_find(checkpoint, name_of(layer, which, name));
    size_t element = skn_dtype_bytes(tensors[which].dtype);
    if (!tensor || tensor->dims != 1 || tensor->rows != rows ||
        tensor->dtype != tensors[which].dtype) {
        (void)skn_fail(error, SKN_BAD_DATA,
                       "%s: %s does not fit a ranker of these labels",
                       skn_checkpoint_path(checkpoint), name);
        return NULL;
    }
    void *bytes =
        rows < SIZE_MAX / element ? malloc((rows + 1) * element) : NULL;
    if (!bytes) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for %s", name);
        return NULL;
    }
    if (rows == 0 || skn_checkpoint_read_block(checkpoint, name, 0, rows, 0, 1,
                                               bytes, element, error) == SKN_OK)
        return bytes;
    free(bytes);
    return NULL;
}

static skn_status_t
refuse(const char *path, const char *layer, const char *what,
       skn_error_t *error)
{
    (void)skn_fail(error, SKN_BAD_DATA, "%s: the ranker, %.48s.ranker.*, %s",
                   path, layer, what);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "build a new one with `skein join --trees`");
}

/* True if each node comes after its parent, and none is too deep. */
static bool
check_nodes(const skn_ranker_t *ranker, uint8_t *depth)
{
    for (uint32_t n = 0; n < ranker->node_count; n++) {
        uint32_t parent = ranker->parent[n];
        if (parent != UINT32_MAX &&
            (parent >= n || depth[parent] + 1 >= (int)SKN_RANKER_DEPTH_MAX))
            return false;
        depth[n] = parent == UINT32_MAX ? 0 : (uint8_t)(depth[parent] + 1);
    }
    for (uint64_t k = 0; k < (uint64_t)ranker->tree_count * ranker->label_count;
         k++)
        if (ranker->leaf[k] != UINT32_MAX &&
            ranker->leaf[k] >= ranker->node_count)
            return false;
    return true;
}

static bool
check_rows(const skn_ranker_t *ranker)
{
    const uint64_t *offset = ranker->offset;
    bool good =
        offset[0] == 0 && offset[ranker->node_count] == ranker->weight_count;
    for (uint32_t n = 0; good && n < ranker->node_count; n++)
        good = offset[n] <= offset[n + 1] && isfinite(ranker->bias[n]);
    for (uint32_t n = 0; good && n < ranker->node_count; n++)
        for (uint64_t k = offset[n]; good && k < offset[n + 1]; k++)
            good = ranker->feature[k] < ranker->feature_count &&
                   (k == offset[n] ||
                    ranker->feature[k - 1] < ranker->feature[k]) &&
                   isfinite(skn_ranker_weight(ranker, k));
    return good;
}

skn_status_t
skn_ranker_check(const skn_ranker_t *ranker, const char *path,
                 const char *layer, skn_error_t *error)
{
    uint8_t *depth = malloc((size_t)ranker->node_count + 1);
    if (!depth)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u nodes",
                        ranker->node_count);
    bool good = check_nodes(ranker, depth) && check_rows(ranker);
    free(depth);
    return good ? SKN_OK : refuse(path, layer, "is inconsistent", error);
}

skn_status_t
skn_ranker_load(skn_ranker_t *ranker, skn_checkpoint_t *checkpoint,
                const char *layer, uint32_t feature_count, uint32_t label_count,
                skn_error_t *error)
{
    void *bytes[TENSORS] = { NULL };
    uint64_t rows[TENSORS];
    skn_status_t status = SKN_OK;
    int found;
    *ranker = measure(checkpoint, layer, label_count, &found);
    if (found == 0)
        return SKN_OK;
    if (found < TENSORS)
        return refuse(skn_checkpoint_path(checkpoint), layer, "lacks tensors",
                      error);
    ranker->feature_count = feature_count;
    size_tensors(ranker, rows);
    for (int k = 0; k < TENSORS && status == SKN_OK; k++) {
        bytes[k] = read_tensor(checkpoint, layer, k, rows[k], error);
        status = bytes[k] ? SKN_OK : error->status;
    }
    ranker->parent = bytes[PARENT];
    ranker->leaf = bytes[LEAF];
    ranker->offset = bytes[OFFSET];
    ranker->feature = bytes[FEATURE];
    ranker->weight = bytes[WEIGHT];
    ranker->bias = bytes[BIAS];
    return status == SKN_OK
               ? skn_ranker_check(ranker, skn_checkpoint_path(checkpoint),
                                  layer, error)
               : status;
}

skn_status_t
skn_ranker_write(const skn_ranker_t *ranker, skn_checkpoint_writer_t *writer,
                 const char *layer, skn_error_t *error)
{
    char file[SKN_NAME_MAX + 1];
    const void *bytes[TENSORS] = {
        [PARENT] = ranker->parent, [LEAF] = ranker->leaf,
        [OFFSET] = ranker->offset, [FEATURE] = ranker->feature,
        [WEIGHT] = ranker->weight, [BIAS] = ranker->bias,
    };
    uint64_t rows[TENSORS];
    skn_piece_t piece[TENSORS];
    size_tensors(ranker, rows);
    for (int k = 0; k < TENSORS; k++) {
        piece[k] = (skn_piece_t){
            .dtype = tensors[k].dtype,
            .dims = 1,
            .rows = rows[k],
            .columns = 1,
            .global_rows = rows[k],
            .global_columns = 1,
        };
        (void)name_of(layer, k, piece[k].name);
    }
    (void)snprintf(file, sizeof(file), "%.40s.ranker.safetensors", layer);
    skn_checkpoint_shard_t *shard =
        skn_checkpoint_shard_open(writer, file, piece, TENSORS, error);
    skn_status_t status = shard ? SKN_OK : error->status;
    for (size_t k = 0; k < TENSORS && status == SKN_OK; k++)
        status = skn_checkpoint_shard_write(
            shard, k, 0, bytes[k],
            (size_t)rows[k] * skn_dtype_bytes(tensors[k].dtype), error);
    return status == SKN_OK ? skn_checkpoint_shard_close(&shard, error)
                            : status;
}

/* --- margins ------------------------------------------------------------- */

/* The index of `feature` in row[0..count-1], or where it would be. */
static size_t
search(const uint32_t *row, size_t count, uint32_t feature)
{
    size_t low = 0;
    while (count > 0) {
        size_t half = count / 2;
        if (row[low + half] < feature) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}

float
skn_ranker_margin(const skn_ranker_t *ranker, uint32_t node,
                  const skn_sparse_t *point)
{
    uint64_t first = ranker->offset[node];
    const uint32_t *row = ranker->feature + first;
    size_t count = (size_t)(ranker->offset[node + 1] - first), at = 0;
    bool long_row = count > SEARCH_FROM * point->count;
    float z = ranker->bias[node];
    for (size_t k = 0; k < point->count && at < count; k++) {
        uint32_t feature = point->feature[k];
        if (long_row)
            at += search(row + at, count - at, feature);
        while (at < count && row[at] < feature)
            at++;
        if (at < count && row[at] == feature)
            z += skn_ranker_weight(ranker, first + at) * point->value[k];
    }
    return z;
}

/* --- penalties ------------------------------------------------------------ */

/* The nodes from a root down to a leaf, and the penalty up to each. */
typedef struct path {
    uint32_t node[SKN_RANKER_DEPTH_MAX], length;
    double lack[SKN_RANKER_DEPTH_MAX];
    bool finite; /* every margin so far is finite */
} path_t;

/* Moves to the leaf `node`, keeping the common part of the path; returns the
 * penalty of that leaf. */
static double
follow(const skn_ranker_t *ranker, const skn_sparse_t *point, path_t *path,
       uint32_t node)
{
    uint32_t up[SKN_RANKER_DEPTH_MAX], length = 0;
    for (uint32_t n = node; n != UINT32_MAX; n = ranker->parent[n])
        up[length++] = n;
    uint32_t at = 0;
    while (at < length && at < path->length &&
           path->node[at] == up[length - 1 - at])
        at++;
    for (; at < length; at++) {
        uint32_t n = up[length - 1 - at];
        double z = (double)skn_ranker_margin(ranker, n, point);
        path->finite = path->finite && isfinite(z);
        double less = z < 1.0 ? 1.0 - z : 0.0;
        path->node[at] = n;
        path->lack[at] = less * less + (at > 0 ? path->lack[at - 1] : 0.0);
    }
    path->length = length;
    return path->lack[length - 1];
}

/* Adds the penalties of tree `tree` to lack[count], in the order of the leaves,
 * so that shared nodes are computed once. False: a margin is not finite. */
static bool
add_lacks(const skn_ranker_t *ranker, const skn_sparse_t *point, uint32_t tree,
          uint32_t count, const uint32_t *label, double *lack)
{
    const uint32_t *leaf = ranker->leaf + (size_t)tree * ranker->label_count;
    uint32_t order[SKN_TOPK_MAX];
    path_t path = { .finite = true };
    for (uint32_t k = 0; k < count; k++) {
        uint32_t at = k;
        for (; at > 0 && leaf[label[order[at - 1]]] > leaf[label[k]]; at--)
            order[at] = order[at - 1];
        order[at] = k;
    }
    for (uint32_t k = 0; k < count; k++) {
        uint32_t node = leaf[label[order[k]]];
        lack[order[k]] += node == UINT32_MAX
                              ? LACK_UNKNOWN
                              : follow(ranker, point, &path, node);
    }
    return path.finite;
}

/* --- the order ----------------------------------------------------------- */

/* Moves the label at `at` before the worse ones in front of it. */
static void
settle(uint32_t *label, float *probability, uint32_t at)
{
    uint32_t l = label[at];
    float p = probability[at];
    while (at > 0 && (probability[at - 1] < p ||
                      (probability[at - 1] == p && label[at - 1] > l))) {
        label[at] = label[at - 1];
        probability[at] = probability[at - 1];
        at--;
    }
    label[at] = l;
    probability[at] = p;
}

bool
skn_ranker_order(const skn_ranker_t *ranker, const skn_sparse_t *point,
                 bool is_share, uint32_t count, uint32_t *label,
                 float *probability)
{
    double before = 0.0, after = 0.0, lack[SKN_TOPK_MAX] = { 0.0 };
    assert(count <= SKN_TOPK_MAX);
    for (uint32_t t = 0; t < ranker->tree_count; t++)
        if (!add_lacks(ranker, point, t, count, label, lack))
            return false;
    for (uint32_t k = 0; k < count; k++) {
        before += (double)probability[k];
        probability[k] *=
            (float)exp(-SHARE * lack[k] / (double)ranker->tree_count);
        after += (double)probability[k];
    }
    float share = is_share && after > 0.0 ? (float)(before / after) : 1.0F;
    for (uint32_t k = 0; k < count; k++) {
        probability[k] *= share;
        settle(label, probability, k);
    }
    return true;
}
