/* cluster_build.c - centroids of hidden vectors, and the hardest rows of each.
 *
 * Centroids are means that follow what they see (online k-means, MacQueen 1967;
 * the step of Sculley 2010, but never below 1 / STEP_MIN, since the hidden
 * vectors move while the model learns). The logit of a centroid is the mean of
 * the logits of its samples, so the rows with the largest ones are those that
 * are hard for its samples on average. A build is one product of all centroids
 * and rows, and a selection for each centroid, whatever changed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/samplers/cluster.h"
#include "actors/protocol/workspace.h"

/* A centroid forgets what is older than about so many of its samples. */
#define STEP_MIN 1024
/* In a checkpoint the samples of a centroid are a float: exact up to here, and
 * what is above STEP_MIN makes no difference. */
#define SEEN_MAX (1u << 24)
/* Rows of a list of a sampler that does not say how many (all shards). */
#define LIST_ROWS_DEFAULT 2048
/* Centroids whose logits of all rows are held at a time. */
#define CENTROIDS_AT_ONCE 8u

struct skn_builder {
    skn_sampler_options_t options;
    const skn_rows_t *rows;
    skn_centroids_t nearest;
    uint64_t *seen; /* [centroids_max] samples of each */
    float *query;   /* [CENTROIDS_AT_ONCE][query_stride], the last column 1 */
    size_t query_stride;
    float *logit;    /* [CENTROIDS_AT_ONCE][row_count] */
    uint64_t *order; /* [row_count] */
    void *gemm;
    uint32_t list_rows;
    uint32_t shape[3];
    uint32_t *offset; /* [centroids_max + 1] */
    uint32_t *unit;   /* [centroids_max][list_rows] */
    float *value;     /* [centroids_max][hidden] */
    float *state;     /* [centroids_max][hidden + 1] */
};

uint32_t
skn_cluster_list_rows(const skn_sampler_options_t *options)
{
    uint64_t all = options->list_rows ? options->list_rows : LIST_ROWS_DEFAULT;
    uint64_t share = skn_sampler_share(options, all);
    return share < options->row_count ? (uint32_t)share : options->row_count;
}

static void
builder_close(skn_builder_t *builder)
{
    skn_nearest_fini(&builder->nearest);
    free(builder->seen);
    free(builder->query);
    free(builder->logit);
    free(builder->order);
    free(builder->gemm);
    free(builder->offset);
    free(builder->unit);
    free(builder->value);
    free(builder->state);
    free(builder);
}

static skn_status_t
prepare(skn_builder_t *builder, skn_error_t *error)
{
    const skn_sampler_options_t *options = &builder->options;
    size_t rows = options->row_count;
    skn_status_t status = skn_nearest_init(&builder->nearest, options, error);
    if (status != SKN_OK)
        return status;
    size_t most = builder->nearest.centroids_max;
    builder->list_rows = skn_cluster_list_rows(options);
    builder->query_stride = skn_stride_floats((size_t)options->hidden + 1);
    builder->seen = calloc(most, sizeof(uint64_t));
    builder->query =
        skn_floats_new(CENTROIDS_AT_ONCE * builder->query_stride, error);
    builder->logit = skn_floats_new(CENTROIDS_AT_ONCE * rows, error);
    builder->order = malloc(rows * sizeof(uint64_t));
    builder->gemm = skn_floats_new(
        options->kernels->gemm_scratch_bytes(CENTROIDS_AT_ONCE, rows,
                                             (size_t)options->hidden + 1) /
                sizeof(float) +
            1,
        error);
    builder->offset = calloc(most + 1, sizeof(uint32_t));
    builder->unit = malloc((most * builder->list_rows + 1) * sizeof(uint32_t));
    builder->value = skn_floats_new(most * options->hidden, error);
    builder->state = skn_floats_new(most * (options->hidden + 1u), error);
    if (builder->seen && builder->query && builder->logit && builder->order &&
        builder->gemm && builder->offset && builder->unit && builder->value &&
        builder->state)
        return SKN_OK;
    return skn_fail(error, SKN_NO_MEMORY, "no room for %zu lists of %u rows",
                    most, builder->list_rows);
}

static skn_builder_t *
builder_open(const skn_sampler_options_t *options, const skn_rows_t *rows,
             skn_error_t *error)
{
    skn_builder_t *builder = calloc(1, sizeof(*builder));
    if (!builder) {
        skn_fail(error, SKN_NO_MEMORY, "no room for a builder");
        return NULL;
    }
    builder->options = *options;
    builder->rows = rows;
    if (prepare(builder, error) == SKN_OK)
        return builder;
    builder_close(builder);
    return NULL;
}

/* --- centroids ------------------------------------------------------------ */

/* The first vectors become centroids; the others move their nearest one. */
static void
builder_observe(skn_builder_t *builder, const float *hidden, size_t stride,
                uint32_t count)
{
    skn_centroids_t *nearest = &builder->nearest;
    const skn_kernels_t *kernels = builder->options.kernels;
    for (uint32_t i = 0; i < count; i++) {
        const float *x = hidden + i * stride;
        uint32_t k = nearest->count;
        if (!kernels->finite_all(x, nearest->columns))
            continue;
        if (k < nearest->centroids_max) {
            memcpy(nearest->centroid + k * nearest->stride, x,
                   nearest->columns * sizeof(float));
            nearest->count++;
            builder->seen[k] = 1;
        } else {
            skn_nearest_find(nearest, x, stride, 1, &k);
            float *centroid = nearest->centroid + k * nearest->stride;
            uint64_t seen = ++builder->seen[k];
            float step = 1.0f / (float)(seen < STEP_MIN ? seen : STEP_MIN);
            kernels->scale(centroid, 1.0f - step, nearest->columns);
            kernels->axpy(centroid, step, x, nearest->columns);
        }
        skn_nearest_measure(nearest, k);
    }
}

/* Centroids, each with the number of its samples behind it. */
static const float *
builder_state(skn_builder_t *builder, uint32_t *rows, uint32_t *columns)
{
    const skn_centroids_t *nearest = &builder->nearest;
    size_t width = (size_t)nearest->columns + 1;
    for (uint32_t k = 0; k < nearest->count; k++) {
        float *row = builder->state + k * width;
        uint64_t seen =
            builder->seen[k] < SEEN_MAX ? builder->seen[k] : SEEN_MAX;
        memcpy(row, nearest->centroid + k * nearest->stride,
               nearest->columns * sizeof(float));
        row[nearest->columns] = (float)seen;
    }
    *rows = nearest->count;
    *columns = (uint32_t)width;
    return builder->state;
}

static skn_status_t
builder_restore(skn_builder_t *builder, const float *state, uint32_t rows,
                uint32_t columns, skn_error_t *error)
{
    skn_centroids_t *nearest = &builder->nearest;
    if (columns != nearest->columns + 1)
        return skn_fail(error, SKN_BAD_DATA,
                        "centroids of %u numbers, %u expected", columns,
                        nearest->columns + 1);
    for (uint32_t k = 0; k < rows && k < nearest->centroids_max; k++) {
        const float *row = state + (size_t)k * columns;
        float seen = row[nearest->columns];
        if (!builder->options.kernels->finite_all(row, columns) || seen < 1.0f)
            return skn_fail(error, SKN_BAD_DATA,
                            "centroid %u is not finite, or has no samples", k);
        memcpy(nearest->centroid + k * nearest->stride, row,
               nearest->columns * sizeof(float));
        builder->seen[k] = seen < (float)SEEN_MAX ? (uint64_t)seen : SEEN_MAX;
        nearest->count = k + 1;
        skn_nearest_measure(nearest, k);
    }
    return SKN_OK;
}

/* --- lists ---------------------------------------------------------------- */

/* A number that orders as: greater logit first, then lower row; NaN last. */
static uint64_t
order_of(float logit, uint32_t row)
{
    uint32_t bits;
    memcpy(&bits, &logit, sizeof(bits));
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    if (isnan(logit))
        bits = 0;
    return (uint64_t)~bits << 32 | row;
}

/* Moves the `count` smallest of number[0..n) to the front (Hoare 1961). The
 * pivot is the median of three: the numbers come in order of their rows, which
 * says nothing of their logits. */
static void
select_smallest(uint64_t *number, size_t n, size_t count)
{
    size_t low = 0, high = n;
    while (high - low > 1 && count > low && count < high) {
        uint64_t a = number[low], b = number[low + (high - low) / 2];
        uint64_t c = number[high - 1];
        uint64_t small = a < b ? a : b, great = a < b ? b : a;
        uint64_t pivot = c < small ? small : c > great ? great : c;
        size_t i = low, j = high - 1;
        for (;;) {
            while (number[i] < pivot)
                i++;
            while (number[j] > pivot)
                j--;
            if (i >= j)
                break;
            uint64_t moved = number[i];
            number[i++] = number[j];
            number[j--] = moved;
        }
        /* They met at the pivot, which has its place, or crossed. */
        size_t left = i == j ? j : j + 1;
        if (count <= left)
            high = left;
        else
            low = j + 1;
    }
}

static int
by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The list of centroid k, whose logits these are. */
static void
pick_rows(skn_builder_t *builder, uint32_t k, const float *logit)
{
    uint32_t rows = builder->options.row_count, count = builder->list_rows;
    uint32_t *unit = builder->unit + builder->offset[k];
    for (uint32_t row = 0; row < rows; row++)
        builder->order[row] = order_of(logit[row], row);
    select_smallest(builder->order, rows, count);
    for (uint32_t at = 0; at < count; at++)
        unit[at] = (uint32_t)builder->order[at];
    qsort(unit, count, sizeof(*unit), by_number);
    builder->offset[k + 1] = builder->offset[k] + count;
}

static void
score_rows(skn_builder_t *builder, uint32_t first, uint32_t count)
{
    uint32_t hidden = builder->options.hidden;
    skn_matrix_t w = skn_rows_matrix(builder->rows, NULL);
    for (uint32_t k = 0; k < count; k++) {
        float *query = builder->query + k * builder->query_stride;
        const float *centroid =
            builder->nearest.centroid + (first + k) * builder->nearest.stride;
        memcpy(query, centroid, hidden * sizeof(float));
        query[hidden] = 1.0f;
    }
    skn_gemm_t job = {
        .m = count,
        .n = builder->options.row_count,
        .k = (size_t)hidden + 1,
        .a = { .at = builder->query,
               .row_stride = builder->query_stride,
               .column_stride = 1 },
        .b = { .at = w.at, .row_stride = 1, .column_stride = w.row_stride },
        .c = builder->logit,
        .c_stride = builder->options.row_count,
    };
    builder->options.kernels->gemm(&job, builder->gemm);
}

static skn_status_t
builder_build(skn_builder_t *builder, skn_index_t *index, skn_error_t *error)
{
    uint32_t lists = builder->nearest.count;
    size_t hidden = builder->options.hidden;
    (void)error;
    if (lists == 0) { /* nothing was seen: one list, around nothing */
        memset(builder->nearest.centroid, 0, hidden * sizeof(float));
        lists = 1;
    }
    for (uint32_t first = 0; first < lists; first += CENTROIDS_AT_ONCE) {
        uint32_t count = lists - first < CENTROIDS_AT_ONCE ? lists - first
                                                           : CENTROIDS_AT_ONCE;
        score_rows(builder, first, count);
        for (uint32_t k = 0; k < count; k++)
            pick_rows(builder, first + k,
                      builder->logit + (size_t)k * builder->options.row_count);
    }
    for (uint32_t k = 0; k < lists; k++)
        memcpy(builder->value + k * hidden,
               builder->nearest.centroid + k * builder->nearest.stride,
               hidden * sizeof(float));
    builder->shape[0] = lists;
    builder->shape[1] = builder->list_rows;
    builder->shape[2] = builder->options.row_count;
    index->shape = (skn_u32s_t){ builder->shape, 3 };
    index->offset = (skn_u32s_t){ builder->offset, (size_t)lists + 1 };
    index->unit = (skn_u32s_t){ builder->unit, builder->offset[lists] };
    index->value = (skn_f32s_t){ builder->value, lists * hidden };
    return SKN_OK;
}

static void
builder_describe(const skn_builder_t *builder, char *text, size_t bytes)
{
    uint64_t greatest = 0, all = 0;
    for (uint32_t k = 0; k < builder->nearest.count; k++) {
        all += builder->seen[k];
        if (builder->seen[k] > greatest)
            greatest = builder->seen[k];
    }
    (void)snprintf(text, bytes,
                   "\"lists\":%u,\"list_rows\":%u,\"samples\":%llu,"
                   "\"greatest\":%llu",
                   builder->nearest.count, builder->list_rows,
                   (unsigned long long)all, (unsigned long long)greatest);
}

const skn_index_kind_t skn_cluster_index = {
    .open = builder_open,
    .close = builder_close,
    .observe = builder_observe,
    .build = builder_build,
    .state = builder_state,
    .restore = builder_restore,
    .describe = builder_describe,
};
