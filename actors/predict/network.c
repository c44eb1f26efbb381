/* network.c - loads the weights of a network, and ranks all labels for points.
 *
 * The output layer is computed in strips of labels. Beside the best k labels,
 * each sample has (m, z), the greatest logit so far and the sum of exp(o - m),
 * as in an output shard: (16), (17), (62) of docs/concepts/equations.md.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/predict/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/rows/tensors.h"
#include "actors/protocol/workspace.h"
#include "kernels/topk.h"

/* Labels of a strip, as in head.c. */
#define STRIP_LABELS 1024u

/* Features whose rows are added together where some have none. */
#define KEPT_AT_ONCE 256u

/* Packed rows that are widened at once: 1,024 units of them stay in the
 * second-level cache. */
#define WIDENED_ROWS 64u

_Static_assert(SKN_RANKER_CANDIDATES <= SKN_TOPK_MAX,
               "a list holds all that the ranker orders");

/* --- loading ------------------------------------------------------------- */

static skn_status_t
find_weight(skn_checkpoint_t *checkpoint, const char *layer,
            const skn_checkpoint_tensor_t **tensor, skn_error_t *error)
{
    char name[SKN_NAME_MAX + 1];
    (void)snprintf(name, sizeof(name), "%.48s.weight", layer);
    *tensor = skn_checkpoint_find(checkpoint, name);
    if (!*tensor)
        return skn_fail(error, SKN_BAD_DATA, "%s: tensor %s is missing",
                        skn_checkpoint_path(checkpoint), name);
    return SKN_OK;
}

/* Takes the sizes of layer `at` from its tensor. */
static skn_status_t
size_layer(skn_network_t *network, const skn_checkpoint_tensor_t *tensor,
           uint32_t at, skn_error_t *error)
{
    bool input = at == 0, output = at + 1 == network->layer_count;
    uint64_t units = input ? tensor->columns : tensor->rows;
    uint64_t below = input ? tensor->rows : tensor->columns;
    uint64_t units_max = output ? SKN_UNIT_MAX : SKN_HIDDEN_MAX;
    if (tensor->dims != 2 || units == 0 || units > units_max || below == 0 ||
        below > SKN_UNIT_MAX ||
        (tensor->dtype != SKN_DTYPE_F32 &&
         (input || tensor->dtype != SKN_DTYPE_BF16)))
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: %s [%llu][%llu] is not a layer of weights",
                        tensor->name, skn_dtype_name(tensor->dtype),
                        (unsigned long long)tensor->rows,
                        (unsigned long long)tensor->columns);
    if (!input && below != network->units[at - 1])
        return skn_fail(error, SKN_BAD_DATA,
                        "%s has %llu columns, but the layer below has %u units",
                        tensor->name, (unsigned long long)below,
                        network->units[at - 1]);
    network->units[at] = (uint32_t)units;
    network->parameter_count += (below + 1) * units;
    if (input)
        network->feature_count = (uint32_t)below;
    if (!output && units > network->units_max)
        network->units_max = (uint32_t)units;
    network->rows[at] = (skn_rows_t){
        .kind =
            tensor->dtype == SKN_DTYPE_BF16 ? SKN_ROWS_SGD_BF16 : SKN_ROWS_SGD,
        .row_count = (uint32_t)(input ? below + 1 : units),
        .width = (uint32_t)(input ? units : below + 1),
    };
    return SKN_OK;
}

static skn_status_t
load_layer(skn_network_t *network, skn_checkpoint_t *checkpoint,
           const char *layer, uint32_t at, skn_error_t *error)
{
    skn_rows_t size = network->rows[at];
    skn_tensor_view_t view[SKN_TENSOR_VIEWS_MAX];
    skn_tensor_place_t place = {
        .layer = layer,
        .bias_row = at == 0,
        .global_rows = at == 0 ? network->feature_count : network->units[at],
        .global_columns = at == 0 ? network->units[0] : network->units[at - 1],
    };
    skn_status_t status =
        skn_rows_init(&network->rows[at], size.kind, size.row_count, size.width,
                      at + 1 == network->layer_count, error);
    if (status != SKN_OK)
        return status;
    uint32_t count = skn_tensors_of(&network->rows[at], &place, true, view);
    return skn_tensors_load(checkpoint, view, count, error);
}

skn_status_t
skn_network_check_room(uint64_t bytes, uint64_t memory_bytes_max,
                       skn_error_t *error)
{
    if (bytes <= memory_bytes_max)
        return SKN_OK;
    return skn_fail(error, SKN_NO_MEMORY,
                    "the model needs %llu MiB of memory, %llu MiB are "
                    "available",
                    (unsigned long long)(bytes >> 20),
                    (unsigned long long)(memory_bytes_max >> 20));
}

static skn_status_t
check_room(const skn_network_t *network, uint64_t ranker_bytes,
           uint64_t memory_bytes_max, skn_error_t *error)
{
    uint64_t bytes = ranker_bytes;
    for (uint32_t k = 0; k < network->layer_count; k++)
        bytes +=
            skn_rows_bytes(network->rows[k].kind, network->rows[k].row_count,
                           network->rows[k].width);
    return skn_network_check_room(bytes, memory_bytes_max, error);
}

skn_status_t
skn_network_begin(skn_network_t *network, uint32_t layer_count,
                  skn_error_t *error)
{
    if (layer_count < 2 || layer_count > SKN_NETWORK_LAYERS_MAX)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "a model of %u layers, 2 to %u allowed", layer_count,
                        SKN_NETWORK_LAYERS_MAX);
    network->kernels = skn_kernels_pick(error);
    if (!network->kernels)
        return SKN_BAD_CONFIG;
    network->layer_count = layer_count;
    return SKN_OK;
}

skn_status_t
skn_network_load(skn_network_t *network, skn_checkpoint_t *checkpoint,
                 const char *const *layer, uint32_t layer_count,
                 uint64_t memory_bytes_max, skn_error_t *error)
{
    skn_status_t status = skn_network_begin(network, layer_count, error);
    for (uint32_t k = 0; k < layer_count && status == SKN_OK; k++) {
        const skn_checkpoint_tensor_t *tensor;
        status = find_weight(checkpoint, layer[k], &tensor, error);
        if (status == SKN_OK)
            status = size_layer(network, tensor, k, error);
    }
    if (status == SKN_OK)
        status = check_room(
            network, skn_ranker_bytes_of(checkpoint, layer[layer_count - 1]),
            memory_bytes_max, error);
    for (uint32_t k = 0; k < layer_count && status == SKN_OK; k++)
        status = load_layer(network, checkpoint, layer[k], k, error);
    if (status == SKN_OK)
        status = skn_ranker_load(&network->ranker, checkpoint,
                                 layer[layer_count - 1], network->feature_count,
                                 network->units[layer_count - 1], error);
    return status;
}

void
skn_network_row(const skn_network_t *network, uint32_t at, uint32_t row,
                float *weight)
{
    const skn_rows_t *rows = &network->rows[at];
    const skn_packed_t *packed = &network->packed[at];
    const skn_kernels_t *kernels = network->kernels;
    bool has_bias = at > 0;
    size_t width = rows->width, inputs = width - has_bias;
    if (packed->bf16) {
        kernels->bf16_to_f32(weight, packed->bf16 + row * width, width);
    } else if (!packed->i8) {
        skn_rows_get(rows, kernels, row, weight);
    } else if (at == 0 && row + 1 == rows->row_count) {
        memcpy(weight, packed->bias, width * sizeof(*weight));
    } else {
        kernels->i8_to_f32(weight, packed->i8 + row * inputs, inputs,
                           packed->scale[row]);
        if (has_bias)
            weight[inputs] = packed->bias[row];
    }
}

void
skn_network_fini(skn_network_t *network)
{
    for (uint32_t k = 0; k < network->layer_count; k++)
        skn_rows_fini(&network->rows[k]);
    skn_shortlist_fini(&network->shortlist);
    skn_ranker_fini(&network->ranker);
    free(network->row_of);
    memset(network, 0, sizeof(*network));
}

/* Widens the rows of a layer for good. */
static skn_status_t
unpack(skn_network_t *network, uint32_t at, skn_error_t *error)
{
    skn_rows_t *rows = &network->rows[at], wide;
    skn_status_t status =
        skn_rows_init(&wide, rows->kind, rows->row_count, rows->width,
                      at + 1 == network->layer_count, error);
    if (status != SKN_OK)
        return status;
    for (uint32_t k = 0; k < wide.row_count; k++)
        skn_network_row(network, at, k, skn_rows_weight(&wide, k));
    *rows = wide;
    network->packed[at] = (skn_packed_t){ 0 };
    return SKN_OK;
}

skn_status_t
skn_network_index(skn_network_t *network, uint32_t lists, uint32_t probes,
                  skn_error_t *error)
{
    uint32_t last = network->layer_count - 1;
    const skn_rows_t *rows = &network->rows[last];
    skn_shortlist_t shortlist;
    if (lists == 0)
        lists = skn_shortlist_lists(rows->row_count);
    if (lists > rows->row_count)
        return skn_fail(error, SKN_USAGE,
                        "the index has %u lists for %u labels", lists,
                        rows->row_count);
    if (probes == 0)
        probes = skn_shortlist_probes(lists);
    if (probes > lists || probes > SKN_PROBES_MAX)
        return skn_fail(error, SKN_USAGE,
                        "%u probes: the index has %u lists, of which a point "
                        "can probe at most %u",
                        probes, lists, SKN_PROBES_MAX);
    skn_status_t status = skn_network_is_packed(network, last)
                              ? unpack(network, last, error)
                              : SKN_OK;
    if (status != SKN_OK)
        return status;
    status = skn_shortlist_build(&shortlist, network->kernels, rows, lists,
                                 probes, error);
    if (status != SKN_OK) {
        skn_shortlist_fini(&shortlist);
        return status;
    }
    skn_shortlist_fini(&network->shortlist);
    network->shortlist = shortlist;
    return SKN_OK;
}

/* --- one pass ------------------------------------------------------------ */

typedef struct pass {
    const skn_network_t *network;
    size_t rows, stride;
    float *lower, *upper; /* [rows][stride], the last column in use is 1 */
    float *strip;         /* [rows][STRIP_LABELS] */
    float *greatest;      /* [rows] m */
    double *sum;          /* [rows] z */
    skn_topk_t *topk;     /* [rows] */
    bool *overflows;      /* [rows] a sum of the point is not finite */
    float *promise;       /* [rows][lists], where there is an index */
    uint32_t *offset;     /* [lists + 1] into point */
    uint32_t *point;      /* [rows * probes] points that search a list */
    float *widened; /* [WIDENED_ROWS][units_max + 1], if rows are packed */
    void *gemm;
} pass_t;

/* Takes arrays from one block, each at a cache line; without a block it only
 * measures. */
typedef struct carver {
    char *block;
    size_t bytes;
} carver_t;

#define ARRAY_ALIGN 64u /* bytes, a cache line */

static void *
carve(carver_t *carver, size_t bytes)
{
    void *array = carver->block ? carver->block + carver->bytes : NULL;
    carver->bytes += (bytes + ARRAY_ALIGN - 1) / ARRAY_ALIGN * ARRAY_ALIGN;
    return array;
}

static size_t
widened_bytes(const skn_network_t *network)
{
    for (uint32_t at = 0; at < network->layer_count; at++)
        if (skn_network_is_packed(network, at))
            return WIDENED_ROWS * ((size_t)network->units_max + 1) *
                   sizeof(float);
    return 0;
}

/* Sets all arrays of a pass, for a network, rows and a stride that are set. */
static void
divide(pass_t *pass, carver_t carver, size_t *bytes)
{
    const skn_network_t *network = pass->network;
    size_t rows = pass->rows, lists = network->shortlist.list_count;
    size_t widest =
        network->units_max > STRIP_LABELS ? network->units_max : STRIP_LABELS;
    if (lists > widest)
        widest = lists;
    size_t row_bytes = rows * sizeof(float);
    pass->lower = carve(&carver, row_bytes * pass->stride);
    pass->upper = carve(&carver, row_bytes * pass->stride);
    pass->strip = carve(&carver, row_bytes * STRIP_LABELS);
    pass->greatest = carve(&carver, row_bytes);
    pass->sum = carve(&carver, rows * sizeof(*pass->sum));
    pass->topk = carve(&carver, rows * sizeof(*pass->topk));
    pass->overflows = carve(&carver, rows * sizeof(*pass->overflows));
    pass->promise = carve(&carver, row_bytes * lists);
    pass->offset = carve(&carver, (lists + 1) * sizeof(*pass->offset));
    pass->point =
        carve(&carver, rows * network->shortlist.probes * sizeof(*pass->point));
    pass->widened = carve(&carver, widened_bytes(network));
    pass->gemm =
        carve(&carver, network->kernels->gemm_scratch_bytes(
                           rows, widest, (size_t)network->units_max + 1));
    *bytes = carver.bytes;
}

void
skn_pass_memory_fini(skn_pass_memory_t *memory)
{
    free(memory->block);
    *memory = (skn_pass_memory_t){ 0 };
}

static skn_status_t
pass_init(pass_t *pass, skn_pass_memory_t *memory, uint32_t k,
          skn_error_t *error)
{
    size_t bytes;
    pass->stride = skn_stride_floats((size_t)pass->network->units_max + 1);
    divide(pass, (carver_t){ 0 }, &bytes);
    if (bytes > memory->bytes) {
        skn_pass_memory_fini(memory);
        memory->block = aligned_alloc(ARRAY_ALIGN, bytes);
        if (!memory->block)
            return skn_fail(error, SKN_NO_MEMORY,
                            "no memory to rank %zu points", pass->rows);
        memory->bytes = bytes;
    }
    divide(pass, (carver_t){ memory->block, 0 }, &bytes);
    for (size_t i = 0; i < pass->rows; i++) {
        pass->greatest[i] = -INFINITY;
        pass->sum[i] = 0;
        pass->overflows[i] = false;
        skn_topk_init(&pass->topk[i], k);
    }
    return SKN_OK;
}

/* Applies ReLU, and sets the 1 that meets the next layer's bias. If a sum is
 * not finite the point continues as zeros, which no later kernel can fail
 * on. */
static void
activate(const pass_t *pass, uint32_t units)
{
    const skn_kernels_t *kernels = pass->network->kernels;
    for (size_t i = 0; i < pass->rows; i++) {
        float *row = pass->lower + i * pass->stride;
        if (!kernels->finite_all(row, units)) {
            pass->overflows[i] = true;
            memset(row, 0, units * sizeof(*row));
        }
        kernels->relu(row, units);
        row[units] = 1.0f;
    }
}

/* Adds rows of the first layer to `out`, x[k] times row[k]. */
static void
add_rows(const pass_t *pass, const uint32_t *row, const float *x, size_t count,
         float *out)
{
    const skn_network_t *network = pass->network;
    const skn_rows_t *rows = &network->rows[0];
    size_t units = network->units[0], n;
    uint32_t place[WIDENED_ROWS];
    if (!skn_network_is_packed(network, 0)) {
        network->kernels->gather_add(out, skn_rows_weight(rows, 0),
                                     rows->stride_bytes / sizeof(float), row, x,
                                     count, units);
        return;
    }
    for (size_t first = 0; first < count; first += n) {
        n = count - first < WIDENED_ROWS ? count - first : WIDENED_ROWS;
        for (uint32_t k = 0; k < n; k++) {
            place[k] = k;
            skn_network_row(network, 0, row[first + k],
                            pass->widened + k * units);
        }
        network->kernels->gather_add(out, pass->widened, units, place,
                                     x + first, n, units);
    }
}

/* Adds the rows of those features of a point that have one. */
static void
add_kept(const pass_t *pass, const uint32_t *feature, const float *value,
         size_t count, float *out)
{
    uint32_t row[KEPT_AT_ONCE];
    float x[KEPT_AT_ONCE];
    for (size_t k = 0; k < count;) {
        size_t kept = 0;
        for (; k < count && kept < KEPT_AT_ONCE; k++) {
            row[kept] = pass->network->row_of[feature[k]];
            x[kept] = value[k];
            kept += row[kept] != UINT32_MAX;
        }
        add_rows(pass, row, x, kept, out);
    }
}

static void
embed(const pass_t *pass, const skn_points_t *points)
{
    const skn_network_t *network = pass->network;
    uint32_t bias_row = network->rows[0].row_count - 1;
    for (size_t i = 0; i < pass->rows; i++) {
        size_t first = points->offset[i], count = points->offset[i + 1] - first;
        float *out = pass->lower + i * pass->stride;
        skn_network_row(network, 0, bias_row, out);
        (network->row_of ? add_kept : add_rows)(
            pass, points->feature + first, points->value + first, count, out);
    }
    activate(pass, network->units[0]);
}

/* c[rows][count] = lower . rows[first .. first + count]^T */
static void
multiply_rows(const pass_t *pass, const skn_rows_t *rows, size_t first,
              size_t count, float *c, size_t c_stride)
{
    skn_gemm_t job = skn_rows_product(rows, first, count, pass->lower,
                                      pass->stride, pass->rows);
    job.c = c;
    job.c_stride = c_stride;
    pass->network->kernels->gemm(&job, pass->gemm);
}

/* The same for rows of layer `at`, packed or not. */
static void
multiply(const pass_t *pass, uint32_t at, size_t first, size_t count, float *c,
         size_t c_stride)
{
    const skn_network_t *network = pass->network;
    const skn_rows_t *rows = &network->rows[at];
    skn_rows_t widened;
    if (!skn_network_is_packed(network, at)) {
        multiply_rows(pass, rows, first, count, c, c_stride);
        return;
    }
    for (size_t done = 0; done < count; done += widened.row_count) {
        size_t n = count - done < WIDENED_ROWS ? count - done : WIDENED_ROWS;
        for (size_t k = 0; k < n; k++)
            skn_network_row(network, at, (uint32_t)(first + done + k),
                            pass->widened + k * rows->width);
        skn_rows_lend(&widened, SKN_ROWS_SGD, (uint32_t)n, rows->width,
                      pass->widened);
        multiply_rows(pass, &widened, 0, n, c + done, c_stride);
    }
}

static void
hide(pass_t *pass, uint32_t at)
{
    multiply(pass, at, 0, pass->network->units[at], pass->upper, pass->stride);
    float *lower = pass->lower;
    pass->lower = pass->upper;
    pass->upper = lower;
    activate(pass, pass->network->units[at]);
}

/* Adds a strip of logits to (m, z). The strip is overwritten. */
static void
add_shares(const pass_t *pass, size_t i, float *logit, size_t count)
{
    const skn_kernels_t *kernels = pass->network->kernels;
    float greatest = kernels->row_max(logit, count);
    if (greatest > pass->greatest[i]) {
        pass->sum[i] *= exp((double)pass->greatest[i] - (double)greatest);
        pass->greatest[i] = greatest;
    }
    if (isfinite(pass->greatest[i]))
        pass->sum[i] += (double)kernels->exp_weight_sum(
            logit, logit, NULL, count, pass->greatest[i]);
}

/* Adds a strip of logits of point i: label unit[c], or first + c. */
static void
add_strip(const pass_t *pass, size_t i, float *logit, size_t count,
          const uint32_t *unit, uint32_t first)
{
    const skn_network_t *network = pass->network;
    if (!network->kernels->finite_all(logit, count)) {
        pass->overflows[i] = true;
        return;
    }
    skn_topk_scan(&pass->topk[i], network->kernels, logit, count, unit, first);
    if (network->softmax)
        add_shares(pass, i, logit, count);
}

/* Computes `count` labels of a list for the points that search it. */
static void
look(const pass_t *pass, const uint32_t *point, size_t points,
     const uint32_t *unit, size_t count)
{
    const skn_network_t *network = pass->network;
    skn_matrix_t w =
        skn_rows_matrix(&network->rows[network->layer_count - 1], NULL);
    skn_gemm_t job = {
        .m = points,
        .n = count,
        .k = network->shortlist.width,
        .a = { .at = pass->lower,
               .row_stride = pass->stride,
               .column_stride = 1,
               .row_index = point },
        .b = { .at = w.at,
               .bf16 = w.bf16,
               .row_stride = 1,
               .column_stride = w.row_stride,
               .column_index = unit },
        .c = pass->strip,
        .c_stride = STRIP_LABELS,
    };
    network->kernels->gemm(&job, pass->gemm);
    for (size_t p = 0; p < points; p++)
        add_strip(pass, point[p], pass->strip + p * STRIP_LABELS, count, unit,
                  0);
}

/* Ranks the labels that the index finds, list after list, so that rows are read
 * once for all points that search a list. */
static void
rank_listed(const pass_t *pass)
{
    const skn_network_t *network = pass->network;
    const skn_shortlist_t *shortlist = &network->shortlist;
    skn_gemm_t job = {
        .m = pass->rows,
        .n = shortlist->list_count,
        .k = shortlist->width,
        .a = { .at = pass->lower,
               .row_stride = pass->stride,
               .column_stride = 1 },
        .b = { .at = shortlist->centroid,
               .row_stride = 1,
               .column_stride = shortlist->stride },
        .c = pass->promise,
        .c_stride = shortlist->list_count,
    };
    network->kernels->gemm(&job, pass->gemm);
    for (size_t i = 0; i < pass->rows; i++) {
        float *promise = pass->promise + i * job.c_stride;
        if (network->kernels->finite_all(promise, job.c_stride))
            continue;
        pass->overflows[i] = true;
        memset(promise, 0, job.c_stride * sizeof(*promise));
    }
    skn_shortlist_route(shortlist, network->kernels, pass->promise, pass->rows,
                        pass->offset, pass->point);
    for (uint32_t l = 0; l < shortlist->list_count; l++) {
        const uint32_t *point = pass->point + pass->offset[l];
        size_t points = pass->offset[l + 1] - pass->offset[l];
        uint32_t end = shortlist->offset[l + 1];
        for (uint32_t k = shortlist->offset[l]; points > 0 && k < end;
             k += STRIP_LABELS)
            look(pass, point, points, shortlist->unit + k,
                 end - k < STRIP_LABELS ? end - k : STRIP_LABELS);
    }
}

static void
rank(const pass_t *pass)
{
    const skn_network_t *network = pass->network;
    uint32_t last = network->layer_count - 1, labels = network->units[last];
    for (uint32_t first = 0; first < labels; first += STRIP_LABELS) {
        uint32_t count = labels - first;
        if (count > STRIP_LABELS)
            count = STRIP_LABELS;
        multiply(pass, last, first, count, pass->strip, STRIP_LABELS);
        for (size_t i = 0; i < pass->rows; i++)
            add_strip(pass, i, pass->strip + i * STRIP_LABELS, count, NULL,
                      first);
    }
}

/* The probability of logit `o` of sample i. */
static float
probability(const pass_t *pass, size_t i, float o)
{
    double value =
        pass->network->softmax
            ? exp((double)o - (double)pass->greatest[i]) / pass->sum[i]
            : 1.0 / (1.0 + exp(-(double)o));
    return (float)value;
}

/* --- the answer ---------------------------------------------------------- */

/* Orders the kept labels again by the ranker. False: its sums overflow. */
static bool
order(const pass_t *pass, const skn_points_t *points, size_t i, uint32_t count,
      uint32_t *id, float *chance)
{
    const skn_network_t *network = pass->network;
    size_t first = points->offset[i];
    skn_sparse_t sparse = { .count = points->offset[i + 1] - first };
    if (sparse.count > 0) { /* else there may be no array */
        sparse.feature = points->feature + first;
        sparse.value = points->value + first;
    }
    uint32_t ranked =
        count < SKN_RANKER_CANDIDATES ? count : SKN_RANKER_CANDIDATES;
    if (!skn_ranker_order(&network->ranker, &sparse, network->softmax, ranked,
                          id, chance))
        return false;
    /* The other labels keep the network's order, after these. */
    for (uint32_t r = ranked; r < count; r++)
        chance[r] = fminf(chance[r], chance[r - 1]);
    return true;
}

/* Writes the labels that were kept for sample `i`, best first. */
static void
answer(const pass_t *pass, const skn_points_t *points, size_t i, uint32_t k,
       uint32_t *label, float *score)
{
    const skn_topk_t *best = &pass->topk[i];
    uint32_t id[SKN_TOPK_MAX];
    float chance[SKN_TOPK_MAX];
    bool good = !pass->overflows[i];
    for (uint32_t r = 0; r < best->count && good; r++) {
        id[r] = best->id[r];
        chance[r] = probability(pass, i, best->value[r]);
    }
    if (good && pass->network->ranker.label_count > 0)
        good = order(pass, points, i, best->count, id, chance);
    for (uint32_t r = 0; r < k; r++) {
        bool is_found = good && r < best->count;
        label[r] = is_found ? id[r] : UINT32_MAX;
        score[r] = is_found ? chance[r] : good ? 0.0F : NAN;
    }
}

skn_status_t
skn_network_best(const skn_network_t *network, skn_pass_memory_t *memory,
                 const skn_points_t *points, uint32_t k, uint32_t *label,
                 float *score, skn_error_t *error)
{
    pass_t pass = { .network = network, .rows = points->count };
    uint32_t kept = k;
    if (points->count == 0)
        return SKN_OK;
    if (network->ranker.label_count > 0 && kept < SKN_RANKER_CANDIDATES)
        kept = SKN_RANKER_CANDIDATES;
    skn_status_t status = pass_init(&pass, memory, kept, error);
    if (status == SKN_OK) {
        embed(&pass, points);
        for (uint32_t at = 1; at + 1 < network->layer_count; at++)
            hide(&pass, at);
        if (network->shortlist.list_count > 0)
            rank_listed(&pass);
        else
            rank(&pass);
    }
    for (size_t i = 0; i < points->count && status == SKN_OK; i++)
        answer(&pass, points, i, k, label + i * k, score + i * k);
    return status;
}
