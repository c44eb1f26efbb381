/* index_keeper.c - dirty rows out, indexes in.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/index_keeper.h"

#include <assert.h>

skn_status_t
skn_index_keeper_open(skn_index_keeper_t *keeper, const skn_actor_t *actor,
                      const skn_sampler_kind_t *kind,
                      const skn_sampler_options_t *options, uint64_t window,
                      uint64_t first_batch, skn_error_t *error)
{
    uint64_t refresh = (uint64_t)skn_actor_option_int(actor, "refresh_batches");
    uint64_t lag = (uint64_t)skn_actor_option_int(actor, "index_lag");
    memset(keeper, 0, sizeof(*keeper));
    keeper->active = kind->index && kind->index(options);
    if (!keeper->active)
        return SKN_OK;
    keeper->refresh = refresh;
    keeper->lag = lag ? lag : 2 * window;
    keeper->first_batch = first_batch;
    keeper->due = (first_batch / refresh + 1) * refresh - 1;
    keeper->kernels = options->kernels;
    keeper->row_count = options->row_count;
    keeper->hidden = options->hidden;
    keeper->batch_rows =
        (uint32_t)((options->row_count + refresh - 1) / refresh);
    if (keeper->lag < window)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: index_lag %llu is less than the window of %llu "
                        "batches",
                        skn_actor_name(actor), (unsigned long long)keeper->lag,
                        (unsigned long long)window);
    if (keeper->lag / refresh + 1 > SKN_INDEXES_MAX)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: index_lag %llu is more than %u times "
                        "refresh_batches %llu",
                        skn_actor_name(actor), (unsigned long long)keeper->lag,
                        SKN_INDEXES_MAX - 1, (unsigned long long)refresh);
    keeper->unit = malloc(keeper->batch_rows * sizeof(uint32_t));
    if (!keeper->unit)
        return skn_fail(error, SKN_NO_MEMORY, "no room for %u dirty rows",
                        keeper->batch_rows);
    skn_status_t status =
        skn_rowset_init(&keeper->changed, keeper->row_count, error);
    if (status == SKN_OK)
        skn_rowset_fill(&keeper->changed); /* the builder knows nothing yet */
    return status;
}

void
skn_index_keeper_close(skn_index_keeper_t *keeper)
{
    for (uint32_t k = 0; k < keeper->waiting_count; k++)
        skn_message_drop(keeper->waiting[k]);
    skn_message_drop(keeper->adopted);
    skn_rowset_fini(&keeper->changed);
    free(keeper->unit);
    memset(keeper, 0, sizeof(*keeper));
}

void
skn_index_keeper_change(skn_index_keeper_t *keeper, const uint32_t *row,
                        size_t count)
{
    for (size_t k = 0; keeper->active && k < count; k++)
        skn_rowset_add(&keeper->changed, row[k]);
}

/* --- dirty rows ----------------------------------------------------------- */

typedef struct queries { /* hidden vectors to go with the rows */
    const float *hidden;
    size_t stride;
    uint32_t rows;
} queries_t;

/* The next rows of the round that changed, and `queries` if it is the last
 * message of the round (NULL: it is not). */
static skn_status_t
send_some(skn_index_keeper_t *keeper, skn_actor_t *actor,
          const skn_rows_t *rows, uint64_t batch, uint32_t count,
          const queries_t *queries, skn_error_t *error)
{
    size_t width = (size_t)keeper->hidden + 1;
    uint32_t query_rows = queries ? queries->rows : 0;
    size_t counts[] = { count, count * width,
                        (size_t)query_rows * keeper->hidden };
    skn_dirty_t *dirty =
        skn_actor_message(actor, &skn_dirty_schema, counts, error);
    if (!dirty)
        return error->status;
    dirty->batch = batch;
    dirty->last = queries != NULL;
    dirty->hidden_rows = query_rows;
    memcpy(dirty->unit.at, keeper->unit, count * sizeof(uint32_t));
    for (uint32_t k = 0; k < count; k++)
        skn_rows_get(rows, keeper->kernels, keeper->unit[k],
                     dirty->value.at + k * width);
    for (uint32_t i = 0; i < query_rows; i++)
        memcpy(dirty->hidden.at + (size_t)i * keeper->hidden,
               queries->hidden + i * queries->stride,
               keeper->hidden * sizeof(float));
    return skn_actor_post(actor, dirty, error);
}

skn_status_t
skn_index_keeper_send(skn_index_keeper_t *keeper, skn_actor_t *actor,
                      const skn_rows_t *rows, uint64_t applied,
                      const float *hidden, size_t hidden_stride,
                      uint32_t hidden_rows, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    bool closes = keeper->active && applied % keeper->refresh == 0;
    bool done = !keeper->active || applied == keeper->first_batch;
    queries_t queries = { hidden, hidden_stride,
                          hidden_rows < SKN_QUERIES_MAX ? hidden_rows
                                                        : SKN_QUERIES_MAX };
    while (!done && status == SKN_OK) {
        uint32_t count = skn_rowset_take(&keeper->changed, &keeper->cursor,
                                         keeper->unit, keeper->batch_rows);
        /* A round that began late, after a resume, sends the rest at once. */
        done = !closes || keeper->cursor == keeper->row_count;
        if (count > 0 || closes)
            status = send_some(keeper, actor, rows, applied - 1, count,
                               closes && done ? &queries : NULL, error);
    }
    if (closes)
        keeper->cursor = 0;
    return status;
}

/* --- indexes -------------------------------------------------------------- */

skn_status_t
skn_index_keeper_take(skn_index_keeper_t *keeper, const skn_index_t *index,
                      skn_error_t *error)
{
    uint64_t wanted = keeper->due + keeper->waiting_count * keeper->refresh;
    if (!keeper->active || index->batch != wanted ||
        keeper->waiting_count == SKN_INDEXES_MAX)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "an index of batch %llu, that of batch %llu expected",
                        (unsigned long long)index->batch,
                        (unsigned long long)wanted);
    keeper->waiting[keeper->waiting_count++] = skn_message_keep(index);
    return SKN_OK;
}

bool
skn_index_keeper_ready(const skn_index_keeper_t *keeper, uint64_t batch)
{
    return !keeper->active || batch < keeper->due + keeper->lag ||
           keeper->waiting_count > 0;
}

skn_status_t
skn_index_keeper_adopt(skn_index_keeper_t *keeper, uint64_t batch,
                       const skn_sampler_kind_t *kind, skn_sampler_t *sampler,
                       skn_error_t *error)
{
    if (!keeper->active || batch < keeper->due + keeper->lag)
        return SKN_OK;
    assert(keeper->waiting_count > 0);
    skn_status_t status = kind->adopt(sampler, keeper->waiting[0], error);
    if (status != SKN_OK)
        return status;
    skn_message_drop(keeper->adopted);
    keeper->adopted = keeper->waiting[0];
    keeper->waiting_count--;
    memmove(keeper->waiting, keeper->waiting + 1,
            keeper->waiting_count * sizeof(*keeper->waiting));
    keeper->due += keeper->refresh;
    return SKN_OK;
}
