/* network_slim.c - lists a network's tensors for one file, and uses the rows of
 * a mapped file.
 *
 * int8: a row w is stored as q = round(w / s) with s = max |w| / 127, so that
 * the error of a weight is at most s / 2.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/predict/network_slim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/workspace.h"

#define INT8_MAX_F 127.0F

/* --- listing -------------------------------------------------------------- */

/* The rows of a layer that are listed. */
typedef struct listed {
    const skn_network_t *network;
    const skn_rows_t *rows;
    const skn_kept_features_t *kept; /* of the first layer; NULL: all */
    uint32_t at, count; /* without the bias row of the first layer */
    float *row;         /* scratch, [width] */
} listed_t;

static uint32_t
row_of(const skn_network_t *network, uint32_t feature)
{
    if (feature >= network->feature_count)
        return UINT32_MAX;
    return network->row_of ? network->row_of[feature] : feature;
}

/* Reads listed row k as floats; k = count is the bias row of the first
 * layer. */
static void
get_row(const listed_t *listed, uint32_t k)
{
    const skn_rows_t *rows = listed->rows;
    uint32_t row = k;
    if (listed->at == 0 && k == listed->count)
        row = rows->row_count - 1;
    else if (listed->kept)
        row = row_of(listed->network, listed->kept->feature[k]);
    skn_network_row(listed->network, listed->at, row, listed->row);
}

/* Rounds `count` weights; returns what 1 is worth. */
static float
to_int8(const float *weight, size_t count, int8_t *rounded)
{
    float most = 0;
    for (size_t c = 0; c < count; c++)
        most = fmaxf(most, fabsf(weight[c]));
    float scale = most / INT8_MAX_F;
    for (size_t c = 0; c < count; c++)
        rounded[c] = scale > 0 ? (int8_t)lrintf(weight[c] / scale) : 0;
    return scale;
}

static skn_status_t
list_int8(const listed_t *listed, const char *layer, skn_slim_list_t *list,
          skn_error_t *error)
{
    uint32_t units = listed->network->units[listed->at];
    size_t width = listed->rows->width - (listed->at > 0 ? 1 : 0);
    const skn_slim_part_t rows = { "rows", SKN_DTYPE_I8, listed->count, width,
                                   NULL };
    const skn_slim_part_t scales = { "scale", SKN_DTYPE_F32, listed->count, 0,
                                     NULL };
    const skn_slim_part_t biases = { "bias", SKN_DTYPE_F32, units, 0, NULL };
    int8_t *rounded = skn_slim_list_add(list, layer, &rows, error);
    float *scale =
        rounded ? skn_slim_list_add(list, layer, &scales, error) : NULL;
    float *bias = scale ? skn_slim_list_add(list, layer, &biases, error) : NULL;
    if (!bias)
        return error->status;
    for (uint32_t k = 0; k < listed->count; k++) {
        get_row(listed, k);
        scale[k] = to_int8(listed->row, width, rounded + k * width);
        if (listed->at > 0)
            bias[k] = listed->row[width];
    }
    if (listed->at == 0) {
        get_row(listed, listed->count);
        memcpy(bias, listed->row, width * sizeof(*bias));
    }
    return SKN_OK;
}

/* As f32, or as bf16. */
static skn_status_t
list_floats(const listed_t *listed, bool half, const char *layer,
            skn_slim_list_t *list, skn_error_t *error)
{
    size_t width = listed->rows->width;
    uint32_t count = listed->count + (listed->at == 0);
    const skn_slim_part_t part = { "rows",
                                   half ? SKN_DTYPE_BF16 : SKN_DTYPE_F32, count,
                                   width, NULL };
    unsigned char *to = skn_slim_list_add(list, layer, &part, error);
    if (!to)
        return error->status;
    for (uint32_t k = 0; k < count; k++) {
        get_row(listed, k);
        if (half)
            listed->network->kernels->f32_to_bf16(
                (uint16_t *)(void *)to + k * width, listed->row, width);
        else
            memcpy((float *)(void *)to + k * width, listed->row,
                   width * sizeof(float));
    }
    return SKN_OK;
}

static skn_status_t
list_layer(const skn_network_t *network, uint32_t at, const char *layer,
           skn_export_rows_t format, const skn_kept_features_t *kept,
           skn_slim_list_t *list, skn_error_t *error)
{
    const skn_rows_t *rows = &network->rows[at];
    listed_t listed = { .network = network,
                        .rows = rows,
                        .kept = at == 0 ? kept : NULL,
                        .at = at,
                        .count = rows->row_count - (at == 0) };
    if (listed.kept)
        listed.count = kept->count;
    listed.row = calloc(rows->width + 1, sizeof(*listed.row));
    if (!listed.row)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a row");
    bool half = format == SKN_EXPORT_BF16 || skn_rows_are_bf16(rows);
    skn_status_t status = format == SKN_EXPORT_INT8
                              ? list_int8(&listed, layer, list, error)
                              : list_floats(&listed, half, layer, list, error);
    free(listed.row);
    return status;
}

skn_status_t
skn_network_list(const skn_network_t *network, const char *const *layer,
                 skn_export_rows_t rows, const skn_kept_features_t *kept,
                 skn_slim_list_t *list, skn_error_t *error)
{
    const skn_kept_features_t all = { network->kept, network->kept_count };
    uint32_t last = network->layer_count - 1;
    skn_status_t status = SKN_OK;
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    if (!kept && network->kept)
        kept = &all;
    for (uint32_t at = 0; at <= last && status == SKN_OK; at++)
        status = list_layer(network, at, layer[at], rows, kept, list, error);
    if (status == SKN_OK && kept) {
        const skn_slim_part_t part = { "features", SKN_DTYPE_U32, kept->count,
                                       0, kept->feature };
        status = skn_slim_list_lend(list, layer[0], &part, error);
    }
    if (status == SKN_OK && network->ranker.label_count > 0)
        status = skn_ranker_list(&network->ranker, network->kernels,
                                 layer[last], rows, kept, list, error);
    return status;
}

double
skn_network_feature_norm(const skn_network_t *network, uint32_t feature,
                         float *weight)
{
    uint32_t row = row_of(network, feature);
    double sum = 0;
    if (row == UINT32_MAX)
        return -1;
    skn_network_row(network, 0, row, weight);
    for (uint32_t c = 0; c < network->units[0]; c++)
        sum += (double)weight[c] * (double)weight[c];
    return sum;
}

/* --- a mapped file -------------------------------------------------------- */

/* The tensors of one layer in a mapped file. */
typedef struct mapped {
    const skn_slim_t *slim;
    const char *layer;
    uint32_t at;
    const skn_safetensor_t *rows, *scale, *bias, *features;
} mapped_t;

static skn_status_t
refuse(const mapped_t *mapped, const char *what, skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_DATA, "%.300s: layer %.48s: %s",
                    mapped->slim->path, mapped->layer, what);
}

static bool
is_list(const skn_safetensor_t *tensor, skn_dtype_t dtype, uint64_t count)
{
    return tensor && tensor->dtype == dtype && tensor->dims == 1 &&
           tensor->shape[0] == count;
}

static bool
is_kept(const skn_safetensor_t *features)
{
    return features->dtype == SKN_DTYPE_U32 && features->dims == 1 &&
           features->shape[0] <= SKN_UNIT_MAX;
}

/* Takes the sizes of a layer from its tensors. */
static skn_status_t
size_layer(skn_network_t *network, mapped_t *mapped, skn_error_t *error)
{
    uint32_t at = mapped->at;
    bool input = at == 0, output = at + 1 == network->layer_count;
    mapped->rows = skn_slim_find(mapped->slim, mapped->layer, "rows");
    mapped->scale = skn_slim_find(mapped->slim, mapped->layer, "scale");
    mapped->bias = skn_slim_find(mapped->slim, mapped->layer, "bias");
    mapped->features =
        input ? skn_slim_find(mapped->slim, mapped->layer, "features") : NULL;
    if (!mapped->rows || mapped->rows->dims != 2)
        return refuse(mapped, "its rows are missing", error);
    const skn_safetensor_t *rows = mapped->rows;
    bool narrow = rows->dtype == SKN_DTYPE_I8;
    if (!narrow && rows->dtype != SKN_DTYPE_F32 &&
        rows->dtype != SKN_DTYPE_BF16)
        return refuse(mapped, "its rows are not of weights", error);
    if (mapped->features && !is_kept(mapped->features))
        return refuse(mapped, "its list of features is wrong", error);
    uint64_t with_row =
        mapped->features ? mapped->features->shape[0] : network->feature_count;
    uint64_t units = rows->shape[input ? 1 : 0];
    uint64_t width = input ? units : network->units[at - 1] + UINT64_C(1);
    uint64_t count = input ? with_row + 1 : units;
    uint64_t units_max = output ? SKN_UNIT_MAX : SKN_HIDDEN_MAX;
    if (units == 0 || units > units_max || network->feature_count == 0 ||
        network->feature_count > SKN_UNIT_MAX)
        return refuse(mapped, "it has too many units, or none", error);
    if (rows->shape[0] != count - (input && narrow) ||
        rows->shape[1] != width - (!input && narrow) ||
        (narrow && (!is_list(mapped->scale, SKN_DTYPE_F32, rows->shape[0]) ||
                    !is_list(mapped->bias, SKN_DTYPE_F32, units))))
        return refuse(mapped, "its tensors do not fit each other", error);
    network->units[at] = (uint32_t)units;
    network->parameter_count += count * width;
    if (!output && units > network->units_max)
        network->units_max = (uint32_t)units;
    network->rows[at] = (skn_rows_t){
        .kind = rows->dtype == SKN_DTYPE_BF16 && !input ? SKN_ROWS_SGD_BF16
                                                        : SKN_ROWS_SGD,
        .row_count = (uint32_t)count,
        .width = (uint32_t)width,
    };
    return SKN_OK;
}

/* Whether the rows are used where they are. */
static bool
is_lent(const mapped_t *mapped)
{
    skn_dtype_t dtype = mapped->rows->dtype;
    return dtype == SKN_DTYPE_F32 ||
           (dtype == SKN_DTYPE_BF16 && mapped->at > 0);
}

static void
take_rows(skn_network_t *network, const mapped_t *mapped)
{
    skn_rows_t *rows = &network->rows[mapped->at];
    skn_packed_t *packed = &network->packed[mapped->at];
    const void *bytes = skn_slim_bytes(mapped->slim, mapped->rows);
    if (is_lent(mapped)) {
        skn_rows_lend(rows, rows->kind, rows->row_count, rows->width, bytes);
        return;
    }
    if (mapped->rows->dtype == SKN_DTYPE_BF16) {
        packed->bf16 = bytes;
        return;
    }
    packed->i8 = bytes;
    packed->scale = skn_slim_bytes(mapped->slim, mapped->scale);
    packed->bias = skn_slim_bytes(mapped->slim, mapped->bias);
}

/* Notes which features have a row. */
static skn_status_t
take_features(skn_network_t *network, const mapped_t *mapped,
              skn_error_t *error)
{
    size_t bytes = (size_t)network->feature_count * sizeof(*network->row_of);
    if (!mapped->features)
        return SKN_OK;
    network->row_of = malloc(bytes);
    if (!network->row_of)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u features",
                        network->feature_count);
    memset(network->row_of, 0xff, bytes); /* UINT32_MAX */
    network->kept = skn_slim_bytes(mapped->slim, mapped->features);
    network->kept_count = (uint32_t)mapped->features->shape[0];
    for (uint32_t k = 0; k < network->kept_count; k++) {
        uint32_t feature = network->kept[k];
        if (feature >= network->feature_count ||
            (k > 0 && network->kept[k - 1] >= feature))
            return refuse(mapped, "its list of features is wrong", error);
        network->row_of[feature] = k;
    }
    return SKN_OK;
}

skn_status_t
skn_network_map(skn_network_t *network, const skn_slim_t *slim,
                const char *const *layer, uint32_t layer_count,
                skn_error_t *error)
{
    mapped_t mapped[SKN_NETWORK_LAYERS_MAX] = { 0 };
    skn_status_t status = skn_network_begin(network, layer_count, error);
    network->feature_count = slim->facts.feature_count;
    for (uint32_t k = 0; k < layer_count && status == SKN_OK; k++) {
        mapped[k] = (mapped_t){ .slim = slim, .layer = layer[k], .at = k };
        status = size_layer(network, &mapped[k], error);
    }
    for (uint32_t k = 0; k < layer_count && status == SKN_OK; k++)
        take_rows(network, &mapped[k]);
    if (status == SKN_OK)
        status = take_features(network, &mapped[0], error);
    if (status == SKN_OK)
        status = skn_ranker_map(&network->ranker, slim, network,
                                layer[layer_count - 1], error);
    return status;
}
