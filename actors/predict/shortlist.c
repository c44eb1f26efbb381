/* shortlist.c - builds an index of a layer's rows by k-means, and finds the
 * lists to search.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/predict/shortlist.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/workspace.h"
#include "kernels/philox.h"
#include "kernels/topk.h"

/* Rounds of k-means, on at most this many rows a list. */
#define ROUNDS 6u
#define ROWS_A_LIST 64u
/* Rows of one product. */
#define PIECE_ROWS 256u
/* Purpose of the random numbers. */
#define SEED_KEY 0x73686f72746c6973u

_Static_assert(SKN_PROBES_MAX <= SKN_TOPK_MAX, "a point's lists are ranked");

/* Temporary arrays of a build. */
typedef struct shortlist_builder {
    skn_shortlist_t *list;
    const skn_kernels_t *kernels;
    const skn_rows_t *rows;
    double norm2_max;  /* M^2 */
    float *lift;       /* [rows] sqrt(M^2 - |w|^2) */
    float *place;      /* [PIECE_ROWS][stride] rows with their lift */
    float *product;    /* [PIECE_ROWS][lists] */
    float *half_norm2; /* [lists] |c|^2 / 2 */
    double *sum;       /* [lists][stride] */
    uint32_t *member;  /* [lists] members in this round */
    uint32_t *home;    /* [rows] the centroid of the row's list */
    void *gemm;
} shortlist_builder_t;

uint32_t
skn_shortlist_lists(uint32_t row_count)
{
    uint32_t lists = (uint32_t)(4.0 * sqrt((double)row_count));
    if (lists > row_count)
        return row_count;
    return lists > 0 ? lists : 1;
}

uint32_t
skn_shortlist_probes(uint32_t list_count)
{
    uint32_t probes = (list_count + 19) / 20;
    return probes < SKN_PROBES_MAX ? probes : SKN_PROBES_MAX;
}

/* Copies row `row` as f32, whatever its format. */
static void
copy_row(const shortlist_builder_t *builder, uint32_t row, float *out)
{
    const skn_rows_t *rows = builder->rows;
    if (skn_rows_matrix(rows, NULL).bf16)
        builder->kernels->bf16_to_f32(out, skn_rows_weight_bf16(rows, row),
                                      rows->width);
    else
        memcpy(out, skn_rows_weight(rows, row), rows->width * sizeof(*out));
}

static void
copy_lifted(const shortlist_builder_t *builder, uint32_t row, float *out)
{
    copy_row(builder, row, out);
    out[builder->rows->width] = builder->lift[row];
}

static void
measure_norms(shortlist_builder_t *builder)
{
    uint32_t count = builder->rows->row_count;
    size_t width = builder->rows->width;
    for (uint32_t r = 0; r < count; r++) {
        copy_row(builder, r, builder->place);
        double norm2 = builder->kernels->sum_squares(builder->place, width);
        builder->lift[r] = (float)norm2;
        if (norm2 > builder->norm2_max)
            builder->norm2_max = norm2;
    }
    for (uint32_t r = 0; r < count; r++) {
        double left = builder->norm2_max - (double)builder->lift[r];
        builder->lift[r] = (float)sqrt(left > 0 ? left : 0);
    }
}

/* --- k-means ------------------------------------------------------------- */

/* Starts the centroids from one row drawn from each of equal strips. */
static void
seed_centroids(const shortlist_builder_t *builder)
{
    const skn_shortlist_t *list = builder->list;
    uint64_t rows = builder->rows->row_count;
    for (uint32_t c = 0; c < list->list_count; c++) {
        uint64_t first = rows * c / list->list_count;
        uint64_t end = rows * (c + 1) / list->list_count;
        uint32_t word = skn_philox_at(SEED_KEY, c, 0).word[0];
        uint64_t row = first + word % (end - first);
        copy_lifted(builder, (uint32_t)row, list->centroid + c * list->stride);
    }
}

/* product[i][c] = place i . centroid c */
static void
multiply(const shortlist_builder_t *builder, size_t count)
{
    const skn_shortlist_t *list = builder->list;
    skn_gemm_t job = {
        .m = count,
        .n = list->list_count,
        .k = list->width + 1,
        .a = { .at = builder->place,
               .row_stride = list->stride,
               .column_stride = 1 },
        .b = { .at = list->centroid,
               .row_stride = 1,
               .column_stride = list->stride },
        .c = builder->product,
        .c_stride = list->list_count,
    };
    builder->kernels->gemm(&job, builder->gemm);
}

static uint32_t
nearest(const shortlist_builder_t *builder, const float *product)
{
    uint32_t best = 0;
    float best_value = -INFINITY;
    for (uint32_t c = 0; c < builder->list->list_count; c++) {
        float value = product[c] - builder->half_norm2[c];
        if (value > best_value) {
            best_value = value;
            best = c;
        }
    }
    return best;
}

static void
learn(const shortlist_builder_t *builder, uint32_t home, const float *place)
{
    const skn_shortlist_t *list = builder->list;
    double *sum = builder->sum + home * list->stride;
    for (size_t k = 0; k <= list->width; k++)
        sum[k] += (double)place[k];
    builder->member[home]++;
}

/* Finds the nearest centroids of rows 0, step, 2 step, ... */
static void
assign(const shortlist_builder_t *builder, uint32_t step)
{
    const skn_shortlist_t *list = builder->list;
    uint64_t rows = builder->rows->row_count;
    for (uint32_t c = 0; c < list->list_count; c++)
        builder->half_norm2[c] =
            0.5f * (float)builder->kernels->sum_squares(
                       list->centroid + c * list->stride, list->width + 1);
    for (uint64_t first = 0; first < rows;
         first += (uint64_t)step * PIECE_ROWS) {
        size_t count = 0;
        for (uint64_t r = first; r < rows && count < PIECE_ROWS; r += step)
            copy_lifted(builder, (uint32_t)r,
                        builder->place + count++ * list->stride);
        multiply(builder, count);
        for (size_t i = 0; i < count; i++) {
            uint32_t home =
                nearest(builder, builder->product + i * list->list_count);
            builder->home[first + i * step] = home;
            learn(builder, home, builder->place + i * list->stride);
        }
    }
}

/* A centroid without rows stays as it is. */
static void
move_centroids(shortlist_builder_t *builder)
{
    const skn_shortlist_t *list = builder->list;
    for (uint32_t c = 0; c < list->list_count; c++) {
        float *centroid = list->centroid + c * list->stride;
        double *sum = builder->sum + c * list->stride;
        for (size_t k = 0; builder->member[c] > 0 && k <= list->width; k++)
            centroid[k] = (float)(sum[k] / builder->member[c]);
        memset(sum, 0, list->stride * sizeof(*sum));
        builder->member[c] = 0;
    }
}

/* --- lists --------------------------------------------------------------- */

static void
fill_lists(const shortlist_builder_t *builder)
{
    skn_shortlist_t *list = builder->list;
    uint32_t rows = builder->rows->row_count;
    for (uint32_t r = 0; r < rows; r++)
        list->offset[builder->home[r] + 1]++;
    for (uint32_t c = 0; c < list->list_count; c++)
        list->offset[c + 1] += list->offset[c];
    assert(list->offset[list->list_count] == rows);
    for (uint32_t c = 0; c < list->list_count; c++)
        builder->member[c] = list->offset[c];
    for (uint32_t r = 0; r < rows; r++)
        list->unit[builder->member[builder->home[r]]++] = r;
}

static skn_status_t
builder_init(shortlist_builder_t *builder, skn_error_t *error)
{
    skn_shortlist_t *list = builder->list;
    size_t rows = builder->rows->row_count, lists = list->list_count;
    size_t scratch = builder->kernels->gemm_scratch_bytes(PIECE_ROWS, lists,
                                                          list->width + 1);
    list->centroid = skn_floats_new(lists * list->stride, error);
    list->offset = calloc(lists + 1, sizeof(*list->offset));
    list->unit = malloc(rows * sizeof(*list->unit));
    builder->lift = skn_floats_new(rows, error);
    builder->place = skn_floats_new(PIECE_ROWS * list->stride, error);
    builder->product = skn_floats_new(PIECE_ROWS * lists, error);
    builder->half_norm2 = skn_floats_new(lists, error);
    builder->sum = calloc(lists * list->stride, sizeof(*builder->sum));
    builder->member = calloc(lists, sizeof(*builder->member));
    builder->home = malloc(rows * sizeof(*builder->home));
    builder->gemm = skn_floats_new(scratch / sizeof(float) + 1, error);
    if (!list->centroid || !list->offset || !list->unit || !builder->lift ||
        !builder->place || !builder->product || !builder->half_norm2 ||
        !builder->sum || !builder->member || !builder->home || !builder->gemm)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for an index of %zu rows in %zu lists", rows,
                        lists);
    memset(list->centroid, 0, lists * list->stride * sizeof(float));
    memset(builder->place, 0, PIECE_ROWS * list->stride * sizeof(float));
    return SKN_OK;
}

static void
builder_fini(shortlist_builder_t *builder)
{
    free(builder->lift);
    free(builder->place);
    free(builder->product);
    free(builder->half_norm2);
    free(builder->sum);
    free(builder->member);
    free(builder->home);
    free(builder->gemm);
}

skn_status_t
skn_shortlist_build(skn_shortlist_t *shortlist, const skn_kernels_t *kernels,
                    const skn_rows_t *rows, uint32_t list_count,
                    uint32_t probes, skn_error_t *error)
{
    shortlist_builder_t builder = { .list = shortlist,
                                    .kernels = kernels,
                                    .rows = rows };
    assert(list_count > 0 && list_count <= rows->row_count &&
           probes <= list_count);
    memset(shortlist, 0, sizeof(*shortlist));
    shortlist->list_count = list_count;
    shortlist->probes = probes;
    shortlist->width = rows->width;
    shortlist->stride = skn_stride_floats((size_t)rows->width + 1);
    skn_status_t status = builder_init(&builder, error);
    if (status == SKN_OK) {
        uint32_t step = rows->row_count / (list_count * ROWS_A_LIST);
        measure_norms(&builder);
        seed_centroids(&builder);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            assign(&builder, step > 0 ? step : 1);
            move_centroids(&builder);
        }
        assign(&builder, 1);
        fill_lists(&builder);
        /* A point has no lift: its products must leave it out. */
        for (uint32_t c = 0; c < list_count; c++)
            shortlist->centroid[c * shortlist->stride + shortlist->width] = 0;
    }
    builder_fini(&builder);
    return status;
}

void
skn_shortlist_fini(skn_shortlist_t *shortlist)
{
    free(shortlist->centroid);
    free(shortlist->offset);
    free(shortlist->unit);
    memset(shortlist, 0, sizeof(*shortlist));
}

/* --- searching ----------------------------------------------------------- */

void
skn_shortlist_route(const skn_shortlist_t *shortlist,
                    const skn_kernels_t *kernels, const float *promise,
                    size_t count, uint32_t *offset, uint32_t *point)
{
    uint32_t lists = shortlist->list_count;
    skn_topk_t best;
    memset(offset, 0, (lists + (size_t)1) * sizeof(*offset));
    /* Two passes over the points: the first counts, the second fills. offset[l]
     * is where list l's next point goes; when all are placed it is where list l
     * + 1 begins. */
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < count; i++) {
            skn_topk_init(&best, shortlist->probes);
            skn_topk_scan(&best, kernels, promise + (size_t)i * lists, lists,
                          NULL, 0);
            for (uint32_t p = 0; p < best.count; p++) {
                if (fill)
                    point[offset[best.id[p]]] = i;
                offset[best.id[p] + (fill ? 0 : 1)]++;
            }
        }
        for (uint32_t l = 0; l < lists && !fill; l++)
            offset[l + 1] += offset[l];
    }
    memmove(offset + 1, offset, lists * sizeof(*offset));
    offset[0] = 0;
    assert(offset[lists] <= count * shortlist->probes);
}
