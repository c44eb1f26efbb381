/* ranker.c - the sparse rows of labels: loaded, written, multiplied.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/ranker.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the squared hinge against log p: measured in decision 0027. */
#define SHARE 0.5

/* A row this many times longer than a point is searched, not walked. */
#define SEARCH_FROM 8u

void
skn_ranker_fini(skn_ranker_t *ranker)
{
    free(ranker->offset);
    free(ranker->feature);
    free(ranker->weight);
    free(ranker->bias);
    *ranker = (skn_ranker_t){ 0 };
}

uint64_t
skn_ranker_bytes(uint64_t label_count, uint64_t weight_count)
{
    return label_count * (sizeof(uint64_t) + sizeof(float)) +
           weight_count * (sizeof(uint32_t) + sizeof(float));
}

/* --- in a checkpoint ----------------------------------------------------- */

enum {
    OFFSET,
    FEATURE,
    WEIGHT,
    BIAS,
    TENSORS
};

static const struct {
    const char *name; /* .weight and .bias are a model's */
    skn_dtype_t dtype;
} tensors[TENSORS] = {
    [OFFSET] = { "ranker.offset", SKN_DTYPE_U64 },
    [FEATURE] = { "ranker.feature", SKN_DTYPE_U32 },
    [WEIGHT] = { "ranker.weight", SKN_DTYPE_F32 },
    [BIAS] = { "ranker.bias", SKN_DTYPE_F32 },
};

static const char *
name_of(const char *layer, int tensor, char name[SKN_NAME_MAX + 1])
{
    (void)snprintf(name, SKN_NAME_MAX + 1, "%.48s.%s", layer,
                   tensors[tensor].name);
    return name;
}

uint64_t
skn_ranker_bytes_of(const skn_checkpoint_t *checkpoint, const char *layer)
{
    char name[SKN_NAME_MAX + 1];
    const skn_checkpoint_tensor_t *weights =
        skn_checkpoint_find(checkpoint, name_of(layer, WEIGHT, name));
    const skn_checkpoint_tensor_t *biases =
        skn_checkpoint_find(checkpoint, name_of(layer, BIAS, name));
    return weights && biases ? skn_ranker_bytes(biases->rows, weights->rows)
                             : 0;
}

/* The whole tensor, in memory that the caller frees. */
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
                       "%s: %s is not what a ranker of these labels has",
                       skn_checkpoint_path(checkpoint), name);
        return NULL;
    }
    void *bytes =
        rows < SIZE_MAX / element ? malloc((rows + 1) * element) : NULL;
    if (!bytes) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no room for %s", name);
        return NULL;
    }
    if (rows == 0 || skn_checkpoint_read_block(checkpoint, name, 0, rows, 0, 1,
                                               bytes, element, error) == SKN_OK)
        return bytes;
    free(bytes);
    return NULL;
}

/* Nothing is looked up outside of it, whatever the file says. */
static skn_status_t
check(const skn_ranker_t *ranker, const char *path, skn_error_t *error)
{
    const uint64_t *offset = ranker->offset;
    bool good =
        offset[0] == 0 && offset[ranker->label_count] == ranker->weight_count;
    for (uint32_t l = 0; good && l < ranker->label_count; l++)
        good = offset[l] <= offset[l + 1];
    for (uint32_t l = 0; good && l < ranker->label_count; l++)
        for (uint64_t k = offset[l]; good && k < offset[l + 1]; k++)
            good = ranker->feature[k] < ranker->feature_count &&
                   (k == offset[l] ||
                    ranker->feature[k - 1] < ranker->feature[k]) &&
                   isfinite(ranker->weight[k]);
    for (uint32_t l = 0; good && l < ranker->label_count; l++)
        good = isfinite(ranker->bias[l]);
    return good ? SKN_OK
                : skn_fail(error, SKN_BAD_DATA,
                           "%s: its ranker is not in order", path);
}

skn_status_t
skn_ranker_load(skn_ranker_t *ranker, skn_checkpoint_t *checkpoint,
                const char *layer, uint32_t feature_count, uint32_t label_count,
                skn_error_t *error)
{
    char name[SKN_NAME_MAX + 1];
    const skn_checkpoint_tensor_t *weights =
        skn_checkpoint_find(checkpoint, name_of(layer, WEIGHT, name));
    *ranker = (skn_ranker_t){ 0 };
    if (!weights)
        return SKN_OK;
    ranker->label_count = label_count;
    ranker->feature_count = feature_count;
    ranker->weight_count = weights->rows;
    ranker->offset = read_tensor(checkpoint, layer, OFFSET,
                                 label_count + UINT64_C(1), error);
    if (ranker->offset)
        ranker->feature = read_tensor(checkpoint, layer, FEATURE,
                                      ranker->weight_count, error);
    if (ranker->feature)
        ranker->weight =
            read_tensor(checkpoint, layer, WEIGHT, ranker->weight_count, error);
    if (ranker->weight)
        ranker->bias = read_tensor(checkpoint, layer, BIAS, label_count, error);
    return ranker->bias ? check(ranker, skn_checkpoint_path(checkpoint), error)
                        : error->status;
}

skn_status_t
skn_ranker_write(const skn_ranker_t *ranker, skn_checkpoint_writer_t *writer,
                 const char *layer, skn_error_t *error)
{
    char file[SKN_NAME_MAX + 1];
    const void *bytes[TENSORS] = {
        [OFFSET] = ranker->offset,
        [FEATURE] = ranker->feature,
        [WEIGHT] = ranker->weight,
        [BIAS] = ranker->bias,
    };
    const uint64_t rows[TENSORS] = {
        [OFFSET] = ranker->label_count + UINT64_C(1),
        [FEATURE] = ranker->weight_count,
        [WEIGHT] = ranker->weight_count,
        [BIAS] = ranker->label_count,
    };
    skn_piece_t piece[TENSORS];
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

/* Where `feature` is in row[0..count-1], or would be. */
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
skn_ranker_margin(const skn_ranker_t *ranker, uint32_t label,
                  const skn_sparse_t *point)
{
    uint64_t first = ranker->offset[label];
    const uint32_t *row = ranker->feature + first;
    const float *weight = ranker->weight + first;
    size_t count = (size_t)(ranker->offset[label + 1] - first), at = 0;
    bool long_row = count > SEARCH_FROM * point->count;
    float z = ranker->bias[label];
    for (size_t k = 0; k < point->count && at < count; k++) {
        uint32_t feature = point->feature[k];
        if (long_row)
            at += search(row + at, count - at, feature);
        while (at < count && row[at] < feature)
            at++;
        if (at < count && row[at] == feature)
            z += weight[at] * point->value[k];
    }
    return z;
}

/* --- the order ----------------------------------------------------------- */

/* In front of those before it that are not as good. */
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

void
skn_ranker_order(const skn_ranker_t *ranker, const skn_sparse_t *point,
                 bool shares, uint32_t count, uint32_t *label,
                 float *probability)
{
    double before = 0.0, after = 0.0;
    for (uint32_t k = 0; k < count; k++) {
        double z = (double)skn_ranker_margin(ranker, label[k], point);
        double lack = z < 1.0 ? 1.0 - z : 0.0;
        before += (double)probability[k];
        probability[k] *= (float)exp(-SHARE * lack * lack);
        after += (double)probability[k];
    }
    float share = shares && after > 0.0 ? (float)(before / after) : 1.0F;
    for (uint32_t k = 0; k < count; k++) {
        probability[k] *= share;
        settle(label, probability, k);
    }
}
