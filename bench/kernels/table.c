/* table.c - measures kernels on rows of a table in memory.
 *
 * These are the embedding of a sample, and the optimizers. A batch touches
 * 4,096 of the table's rows, ascending; no row is used again before it has left
 * the caches.  SPDX-License-Identifier: Apache-2.0 */
#include "bench/kernels/roofs.h"

#define TABLE_COLUMN 513        /* 512 hidden units and the bias */
#define ADAM_PART ((size_t)516) /* between w, m and v: part_floats of rows.h */
#define BATCH_ROWS 4096
/* The rows of a call, and the rows that are prefetched: PREFETCH_ROWS of
 * actors/rows/updater.c. */
#define CALL_ROWS 64
#define AHEAD_ROWS 4
/* The features of a sample. */
#define SAMPLE_ROWS 16

typedef struct table {
    const bench_session_t *session;
    size_t stride; /* floats between rows */
    size_t next;   /* row of the batch, counted over all batches */
    size_t columns;
    uint32_t row[SAMPLE_ROWS];
    float weight[SAMPLE_ROWS];
    float *out;
} table_t;

/* Row k, counted over all batches in order. */
static float *
row_at(const table_t *table, size_t k)
{
    size_t rows = table->session->table_floats / table->stride;
    size_t gap = rows / BATCH_ROWS, batch = k / BATCH_ROWS;
    size_t row = k % BATCH_ROWS * gap + batch % gap;
    return table->session->table + row * table->stride;
}

/* The next row; prefetches a later one, as the updater does. */
static float *
next_row(table_t *table)
{
    const float *soon = row_at(table, table->next + AHEAD_ROWS);
    for (size_t c = 0; c < table->stride; c += 16)
        __builtin_prefetch(soon + c, 0, 2);
    return row_at(table, table->next++);
}

/* Gradients are consecutive; 64 of them stay in the cache. */
static const float *
gradient_of(const table_t *table, size_t k)
{
    return table->session->streams +
           k * TABLE_COLUMN %
               (2 * table->session->stream_floats - TABLE_COLUMN);
}

static void
call_adam_row(void *subject)
{
    table_t *table = subject;
    skn_adam_t adam = { 1e-3f, .9f, .999f, .1f, .001f, 1, 1, 1e-8f, 0 };
    for (size_t k = 0; k < CALL_ROWS; k++) {
        float *w = next_row(table);
        table->session->kernels->adam_row(w, w + ADAM_PART, w + 2 * ADAM_PART,
                                          gradient_of(table, k), TABLE_COLUMN,
                                          &adam);
    }
}

static void
call_adagrad_row(void *subject)
{
    table_t *table = subject;
    for (size_t k = 0; k < CALL_ROWS; k++)
        table->session->kernels->adagrad_row(next_row(table),
                                             gradient_of(table, k),
                                             TABLE_COLUMN, 1e-3f, 1.0f, 1e-8f);
}

/* The update of an embedding, whose sums follow the weights. */
static void
call_adagrad_columns(void *subject)
{
    table_t *table = subject;
    for (size_t k = 0; k < CALL_ROWS; k++) {
        float *w = next_row(table);
        table->session->kernels->adagrad_columns(w, w + ADAM_PART,
                                                 gradient_of(table, k),
                                                 TABLE_COLUMN, 1e-3f, 1e-8f);
    }
}

static void
call_sgd_row(void *subject)
{
    table_t *table = subject;
    for (size_t k = 0; k < CALL_ROWS; k++)
        table->session->kernels->sgd_row(next_row(table), gradient_of(table, k),
                                         TABLE_COLUMN, 1e-3f, 0);
}

static void
call_sgd_row_bf16(void *subject)
{
    table_t *table = subject;
    skn_noise_t noise = { 1, 2, 3, 0 };
    for (size_t k = 0; k < CALL_ROWS; k++, noise.row++)
        table->session->kernels->sgd_row_bf16((void *)next_row(table),
                                              gradient_of(table, k),
                                              TABLE_COLUMN, 1e-3f, 0, &noise);
}

/* Gathers a row from each of SAMPLE_ROWS parts of the table, like the features
 * of a sample. The rows shift from call to call. */
static void
call_gather_add(void *subject)
{
    table_t *table = subject;
    const bench_session_t *session = table->session;
    size_t rows = session->table_floats / table->stride;
    for (size_t k = 0; k < SAMPLE_ROWS; k++)
        table->row[k] =
            (uint32_t)((table->next + k) * (size_t)2654435761u % rows);
    table->next += SAMPLE_ROWS;
    session->kernels->gather_add(table->out, session->table, table->stride,
                                 table->row, table->weight, SAMPLE_ROWS,
                                 table->columns);
}

/* Gathers the gradients of a feature's samples: rows of a batch, which are in
 * the cache. */
static void
call_gather_add_cache(void *subject)
{
    table_t *table = subject;
    const bench_session_t *session = table->session;
    size_t rows = session->stream_floats * 3 / table->columns;
    for (size_t k = 0; k < SAMPLE_ROWS; k++)
        table->row[k] =
            (uint32_t)((table->next + k) * (size_t)2654435761u % rows);
    table->next += SAMPLE_ROWS;
    session->kernels->gather_add(table->out, session->streams, table->columns,
                                 table->row, table->weight, SAMPLE_ROWS,
                                 table->columns);
}

/* The bytes read and written for an element of a row; bf16 elements also take
 * dice. */
static const struct {
    const char *name;
    void (*call)(void *subject);
    skn_rows_kind_t kind;
    double update_bytes, roots, dice;
} optimizers[] = {
    /* This comes first, while each half of a float is a bf16 number. */
    { "sgd_row_bf16/513,memory", call_sgd_row_bf16, SKN_ROWS_SGD_BF16, 4, 0,
      1 },
    { "adam_row/513,memory", call_adam_row, SKN_ROWS_ADAM, 24, 1, 0 },
    { "adagrad_row/513,memory", call_adagrad_row, SKN_ROWS_ADAGRAD, 8, 0, 0 },
    { "adagrad_columns/513,memory", call_adagrad_columns,
      SKN_ROWS_ADAGRAD_SLICED, 9, .125, 0 },
    { "sgd_row/513,memory", call_sgd_row, SKN_ROWS_SGD, 8, 0, 0 },
};

static void
run_optimizers(bench_session_t *session)
{
    for (size_t k = 0; k < sizeof(optimizers) / sizeof(optimizers[0]); k++) {
        table_t table = { .session = session,
                          .stride = bench_row_floats(optimizers[k].kind,
                                                     TABLE_COLUMN) };
        double cells = CALL_ROWS * TABLE_COLUMN;
        double work[BENCH_ROOFS] = {
            [BENCH_MEMORY_UPDATE] = cells * optimizers[k].update_bytes,
            [BENCH_ROOT] = cells * optimizers[k].roots,
            [BENCH_DICE] = cells * optimizers[k].dice,
        };
        bench_case(session, optimizers[k].name, optimizers[k].call, &table,
                   work);
    }
}

static void
run_gather_add(bench_session_t *session, const char *name, size_t columns,
               bool in_memory)
{
    table_t table = { .session = session,
                      .stride = bench_row_floats(SKN_ROWS_ADAM, TABLE_COLUMN),
                      .columns = columns };
    double cells = SAMPLE_ROWS * (double)columns;
    double work[BENCH_ROOFS] = { [BENCH_MULTIPLY] = cells };
    work[in_memory ? BENCH_MEMORY_READ : BENCH_CACHE_READ] =
        cells * sizeof(float);
    for (size_t k = 0; k < SAMPLE_ROWS; k++)
        table.weight[k] = 1.0f / SAMPLE_ROWS;
    if (!session->counting)
        table.out = session->streams + 3 * session->stream_floats;
    bench_case(session, name,
               in_memory ? call_gather_add : call_gather_add_cache, &table,
               work);
}

void
bench_table(bench_session_t *session)
{
    run_gather_add(session, "gather_add/16x512,memory", 512, true);
    run_gather_add(session, "gather_add/16x128,memory", 128, true);
    run_gather_add(session, "gather_add/16x512,cache", 512, false);
    run_optimizers(session);
}
