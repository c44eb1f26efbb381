/* products.c - measures the matrix products of a training step.
 *
 * They have the layouts that actors/output/strips.c, rank_all.c and dense.c
 * use. Rows of the output layer are gathered from a table far larger than a
 * cache, and each call takes different ones.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "actors/output/strips.h"
#include "actors/protocol/workspace.h"
#include "bench/kernels/roofs.h"

#define BATCH ((size_t)512)
#define HIDDEN_SHAPE ((size_t)512)
#define PRODUCT_COLUMN (HIDDEN_SHAPE + 1) /* with the bias */
/* 4,096 negatives and as many labels as points. */
#define UNITS ((size_t)4096 + 512)
#define STRIP_SHAPE ((size_t)SKN_LOOK_UNITS)
/* The number of successive calls that take different rows. */
#define SHIFTS 8

/* The number formats of a product: floats; rounded to bf16; rows that are
 * bf16. */
typedef enum product_form {
    F32,
    BF16,
    BF16_ROWS,
    FORMS
} product_form_t;

typedef struct products {
    bench_session_t *session;
    float *hidden;    /* [BATCH][PRODUCT_COLUMN] */
    float *share;     /* [UNITS][share_stride]: logits, or what follows */
    uint16_t *powers; /* the same as bf16 */
    float *out;       /* at most [UNITS][PRODUCT_COLUMN] */
    /* Distances between rows of each, and of the table, in floats or in bf16
     * numbers. */
    size_t hidden_stride, share_stride, row_stride, half_stride;
    uint32_t *unit, *half_unit; /* UNITS ascending rows of the table */
    void *scratch, *packed;
    /* The current case, its rows, and which of SHIFTS the next call takes. */
    product_form_t form;
    skn_gemm_t job;
    const float *rows;
    const uint16_t *half_rows;
    size_t shift;
} products_t;

static void
next_rows(products_t *products, skn_matrix_t *rows)
{
    products->shift = (products->shift + 1) % SHIFTS;
    if (products->rows)
        rows->at = products->rows + products->shift * products->row_stride;
    if (products->half_rows)
        rows->bf16 =
            products->half_rows + products->shift * products->half_stride;
}

static void
call(void *subject)
{
    products_t *products = subject;
    next_rows(products, &products->job.b);
    products->session->kernels->gemm(&products->job, products->scratch);
}

/* Packs the matrix that all strips of a batch multiply with. */
static void
pack(products_t *products, skn_gemm_t *job)
{
    job->half = products->form != F32;
    products->session->kernels->gemm_pack(job, products->packed);
    job->packed = products->packed;
}

static size_t
strip_units(const products_t *products)
{
    size_t step = products->session->kernels->gemm_rows(products->form != F32);
    return SKN_STRIPS_UNITS / step * step;
}

static skn_matrix_t
powers_from(const products_t *products, size_t first)
{
    size_t at = first * products->share_stride;
    skn_matrix_t powers = { .row_stride = products->share_stride,
                            .column_stride = 1 };
    if (products->form == F32)
        powers.at = products->share + at;
    else
        powers.bf16 = products->powers + at;
    return powers;
}

/* Computes all strips of a batch's logits, and of the gradient of its hidden
 * vectors. */
static void
call_forward(void *subject)
{
    products_t *products = subject;
    bool half = products->form == BF16_ROWS;
    size_t strip = strip_units(products), stride = products->share_stride;
    skn_matrix_t row = { .row_stride = half ? products->half_stride
                                            : products->row_stride,
                         .column_stride = 1 };
    skn_gemm_t logits = { .n = BATCH,
                          .k = PRODUCT_COLUMN,
                          .b = { .at = products->hidden,
                                 .row_stride = 1,
                                 .column_stride = products->hidden_stride },
                          .c_stride = stride };
    next_rows(products, &row);
    pack(products, &logits);
    for (size_t first = 0; first < UNITS; first += strip) {
        size_t count = UNITS - first < strip ? UNITS - first : strip;
        row.row_index = (half ? products->half_unit : products->unit) + first;
        logits.m = count;
        logits.a = row;
        logits.c = products->share;
        if (products->form == F32)
            logits.c += first * stride;
        products->session->kernels->gemm(&logits, products->scratch);
        skn_gemm_t pull = { .m = HIDDEN_SHAPE,
                            .n = BATCH,
                            .k = count,
                            .a = { .at = row.at,
                                   .bf16 = row.bf16,
                                   .row_stride = 1,
                                   .column_stride = row.row_stride,
                                   .column_index = row.row_index },
                            .b = powers_from(products, first),
                            .c = products->out,
                            .c_stride = stride,
                            .add = first > 0,
                            .half = logits.half };
        products->session->kernels->gemm(&pull, products->scratch);
    }
}

/* Computes the gradients of the batch's rows. */
static void
call_gradient(void *subject)
{
    products_t *products = subject;
    size_t strip = strip_units(products);
    skn_gemm_t job = { .n = PRODUCT_COLUMN,
                       .k = BATCH,
                       .b = { .at = products->hidden,
                              .row_stride = products->hidden_stride,
                              .column_stride = 1 },
                       .c_stride = PRODUCT_COLUMN };
    pack(products, &job);
    for (size_t first = 0; first < UNITS; first += strip) {
        job.m = UNITS - first < strip ? UNITS - first : strip;
        job.a = powers_from(products, first);
        job.c = products->out + first * PRODUCT_COLUMN;
        products->session->kernels->gemm(&job, products->scratch);
    }
}

/* Measures a case of `cells` multiply-adds; `read`: numbers read from rows of
 * the table, or 0. */
static void
measure(products_t *products, const char *what, product_form_t form,
        double cells, double read, void (*run)(void *subject))
{
    static const char *const forms[] = { "f32", "bf16", "bf16_rows" };
    double work[BENCH_ROOFS] = { 0 };
    bool of_table = read > 0;
    char name[64];
    work[form == F32 ? BENCH_MULTIPLY : BENCH_HALF] = cells;
    work[BENCH_MEMORY_READ] = read * (form == BF16_ROWS ? 2.0 : 4.0);
    products->form = form;
    products->rows =
        of_table && form != BF16_ROWS ? products->session->table : NULL;
    products->half_rows =
        of_table && form == BF16_ROWS ? (void *)products->session->table : NULL;
    (void)snprintf(name, sizeof(name), "gemm/%s,%s", what, forms[form]);
    bench_case(products->session, name, run, products, work);
}

/* Measures a product; `of_table`: its b are rows of the table. */
static void
run(products_t *products, const char *what, product_form_t form, bool of_table,
    skn_gemm_t job)
{
    double cells = (double)job.n * (double)job.k;
    job.half = form != F32;
    job.c = products->out;
    products->job = job;
    measure(products, what, form, (double)job.m * cells, of_table ? cells : 0.0,
            call);
}

/* The table's rows as columns of b (columns_of), or as its rows (rows_of). */
static skn_matrix_t
columns_of(const uint32_t *unit, size_t stride)
{
    return (skn_matrix_t){ .row_stride = 1,
                           .column_stride = stride,
                           .column_index = unit };
}

static skn_matrix_t
rows_of(const uint32_t *unit, size_t stride)
{
    return (skn_matrix_t){ .row_stride = stride,
                           .column_stride = 1,
                           .row_index = unit };
}

static void
output_products(products_t *products, product_form_t form)
{
    size_t stride =
        form == BF16_ROWS ? products->half_stride : products->row_stride;
    skn_matrix_t hidden = { .at = products->hidden,
                            .row_stride = products->hidden_stride,
                            .column_stride = 1 };
    double units = (double)UNITS;
    measure(products, "forward", form,
            units * (double)BATCH * (double)(PRODUCT_COLUMN + HIDDEN_SHAPE),
            units * (double)PRODUCT_COLUMN, call_forward);
    run(products, "look", form, true,
        (skn_gemm_t){ .m = BATCH,
                      .n = STRIP_SHAPE,
                      .k = PRODUCT_COLUMN,
                      .a = hidden,
                      .b = columns_of(NULL, stride),
                      .c_stride = STRIP_SHAPE });
    if (form != BF16_ROWS) /* it reads no rows */
        measure(products, "gradient", form,
                units * (double)BATCH * (double)PRODUCT_COLUMN, 0.0,
                call_gradient);
}

/* Measures the products of a dense layer of HIDDEN_SHAPE units above
 * another. */
static void
dense_products(products_t *products, product_form_t form)
{
    const float *weights = products->share;
    const float *slope = weights + HIDDEN_SHAPE * products->hidden_stride;
    skn_matrix_t hidden = { .at = products->hidden,
                            .row_stride = products->hidden_stride,
                            .column_stride = 1 };
    skn_matrix_t columns = columns_of(NULL, products->hidden_stride);
    skn_matrix_t rows = rows_of(NULL, products->hidden_stride);
    columns.at = rows.at = weights;
    run(products, "dense_forward", form, false,
        (skn_gemm_t){ .m = BATCH,
                      .n = HIDDEN_SHAPE,
                      .k = PRODUCT_COLUMN,
                      .a = hidden,
                      .b = columns,
                      .c_stride = HIDDEN_SHAPE });
    run(products, "dense_pull", form, false,
        (skn_gemm_t){ .m = BATCH,
                      .n = HIDDEN_SHAPE,
                      .k = HIDDEN_SHAPE,
                      .a = { .at = slope,
                             .row_stride = HIDDEN_SHAPE,
                             .column_stride = 1 },
                      .b = rows,
                      .c_stride = HIDDEN_SHAPE });
    run(products, "dense_gradient", form, false,
        (skn_gemm_t){ .m = HIDDEN_SHAPE,
                      .n = PRODUCT_COLUMN,
                      .k = BATCH,
                      .a = { .at = slope,
                             .row_stride = 1,
                             .column_stride = HIDDEN_SHAPE },
                      .b = hidden,
                      .c_stride = PRODUCT_COLUMN });
}

/* The scratch memory that every product fits in: `unit`s are many, the other
 * dimensions few. */
static size_t
scratch_bytes(const skn_kernels_t *kernels)
{
    size_t a = kernels->gemm_scratch_bytes(BATCH, UNITS, PRODUCT_COLUMN);
    size_t b = kernels->gemm_scratch_bytes(BATCH, PRODUCT_COLUMN, UNITS);
    size_t c = kernels->gemm_scratch_bytes(UNITS, PRODUCT_COLUMN, BATCH);
    a = a > b ? a : b;
    return a > c ? a : c;
}

/* Makes UNITS ascending rows of a table, with SHIFTS rows after each. */
static uint32_t *
units_new(size_t table_rows, skn_error_t *error)
{
    uint32_t *unit = malloc(UNITS * sizeof(*unit));
    if (!unit)
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for %zu units", UNITS);
    for (size_t k = 0; unit && k < UNITS; k++)
        unit[k] = (uint32_t)(k * (table_rows - SHIFTS) / UNITS);
    return unit;
}

static skn_status_t
make_arrays(products_t *products, skn_error_t *error)
{
    const bench_session_t *session = products->session;
    products->hidden =
        bench_numbers(BATCH * products->hidden_stride, true, error);
    products->share =
        bench_numbers(UNITS * products->share_stride, true, error);
    /* Each half of such a float is a bf16 number. */
    products->powers = (uint16_t *)bench_numbers(
        UNITS * products->share_stride / 2, true, error);
    size_t packed = session->kernels->gemm_packed_bytes(BATCH, PRODUCT_COLUMN);
    size_t other = session->kernels->gemm_packed_bytes(PRODUCT_COLUMN, BATCH);
    products->packed = skn_floats_new(
        (packed > other ? packed : other) / sizeof(float) + 1, error);
    products->out =
        bench_numbers(UNITS * products->hidden_stride, false, error);
    products->scratch = skn_floats_new(
        scratch_bytes(session->kernels) / sizeof(float) + 1, error);
    products->unit =
        units_new(session->table_floats / products->row_stride, error);
    products->half_unit =
        units_new(2 * session->table_floats / products->half_stride, error);
    return products->hidden && products->share && products->powers &&
                   products->out && products->scratch && products->packed &&
                   products->unit && products->half_unit
               ? SKN_OK
               : SKN_NO_MEMORY;
}

skn_status_t
bench_products(bench_session_t *session, skn_error_t *error)
{
    products_t products = {
        .session = session,
        .hidden_stride = skn_stride_floats(PRODUCT_COLUMN),
        .share_stride = skn_strips_stride(BATCH),
        .row_stride = bench_row_floats(SKN_ROWS_ADAM, PRODUCT_COLUMN),
        .half_stride = 2 * bench_row_floats(SKN_ROWS_SGD_BF16, PRODUCT_COLUMN),
    };
    skn_status_t status = SKN_OK;
    if (!session->counting)
        status = make_arrays(&products, error);
    for (int form = F32; form < FORMS && status == SKN_OK; form++) {
        output_products(&products, (product_form_t)form);
        if (form != BF16_ROWS)
            dense_products(&products, (product_form_t)form);
    }
    free(products.hidden);
    free(products.share);
    free(products.powers);
    free(products.packed);
    free(products.out);
    free(products.unit);
    free(products.half_unit);
    free(products.scratch);
    return status;
}
