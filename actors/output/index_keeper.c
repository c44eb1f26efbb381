/* index_keeper.c - sends changed rows to the table builder in rounds, and
 * adopts its indexes when they are due.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/output/index_keeper.h"

#include <assert.h>

skn_status_t
skn_index_keeper_open(skn_index_keeper_t *keeper, const skn_actor_t *actor,
                      const skn_sampler_kind_t *kind,
                      const skn_sampler_options_t *options, uint64_t window,
                      skn_error_t *error)
{
    uint64_t refresh = (uint64_t)skn_actor_option_int(actor, "refresh_batches");
    uint64_t lag = (uint64_t)skn_actor_option_int(actor, "index_lag");
    memset(keeper, 0, sizeof(*keeper));
    keeper->active = kind->index != NULL;
    if (!keeper->active)
        return SKN_OK;
    keeper->refresh = refresh;
    keeper->lag = lag ? lag : 2 * window;
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
    if (keeper->lag / refresh + 2 > SKN_INDEXES_MAX)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: index_lag %llu is more than %u times "
                        "refresh_batches %llu",
                        skn_actor_name(actor), (unsigned long long)keeper->lag,
                        SKN_INDEXES_MAX - 2, (unsigned long long)refresh);
    keeper->unit = malloc(keeper->batch_rows * sizeof(uint32_t));
    if (!keeper->unit)
        return skn_fail(error, SKN_NO_MEMORY, "no room for %u dirty rows",
                        keeper->batch_rows);
    skn_status_t status =
        skn_rowset_init(&keeper->changed, keeper->row_count, error);
    if (status == SKN_OK)
        skn_rowset_fill(&keeper->changed); /* the builder has no rows yet */
    return status;
}

void
skn_index_keeper_close(skn_index_keeper_t *keeper)
{
    for (uint32_t k = 0; k < keeper->come; k++)
        skn_message_drop(keeper->order[k].index);
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

/* Records that the index of the rows after `batch` is due at batch `due`. */
static void
place_order(skn_index_keeper_t *keeper, uint64_t batch, uint64_t due)
{
    assert(keeper->order_count < SKN_INDEXES_MAX);
    keeper->order[keeper->order_count++] =
        (skn_index_order_t){ .batch = batch, .due = due };
}

/* Sends the next changed rows of the round. */
static skn_status_t
send_some(skn_index_keeper_t *keeper, skn_actor_t *actor,
          const skn_index_view_t *view, uint32_t count, bool closes,
          skn_error_t *error)
{
    size_t width = (size_t)keeper->hidden + 1;
    size_t counts[] = { count, count * width };
    skn_dirty_t *dirty =
        skn_actor_message(actor, &skn_dirty_schema, counts, error);
    if (!dirty)
        return error->status;
    dirty->batch = view->applied - 1;
    memcpy(dirty->unit.at, keeper->unit, count * sizeof(uint32_t));
    for (uint32_t k = 0; k < count; k++)
        skn_rows_get(view->rows, keeper->kernels, keeper->unit[k],
                     dirty->value.at + k * width);
    if (closes) {
        assert(keeper->cursor == keeper->row_count);
        dirty->last = 1;
        place_order(keeper, dirty->batch, dirty->batch + keeper->lag);
    }
    return skn_actor_post(actor, dirty, error);
}

static skn_status_t
send_round(skn_index_keeper_t *keeper, skn_actor_t *actor,
           const skn_index_view_t *view, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    bool closes = view->applied % keeper->refresh == 0, done = false;
    while (!done && status == SKN_OK) {
        uint32_t count = skn_rowset_take(&keeper->changed, &keeper->cursor,
                                         keeper->unit, keeper->batch_rows);
        /* A round that was restarted at a marker sends the rest at once. */
        done = !closes || keeper->cursor == keeper->row_count;
        if (count > 0 || closes)
            status =
                send_some(keeper, actor, view, count, closes && done, error);
    }
    if (closes)
        keeper->cursor = 0;
    return status;
}

/* Sends all changed rows. No batch is computed before its index is here, so
 * until then no actor writes the rows, and they are lent instead of copied. */
static skn_status_t
send_marker(skn_index_keeper_t *keeper, skn_actor_t *actor,
            const skn_index_view_t *view, skn_error_t *error)
{
    size_t counts[] = { keeper->row_count, 0 };
    skn_dirty_t *dirty =
        skn_actor_message(actor, &skn_dirty_schema, counts, error);
    if (!dirty)
        return error->status;
    keeper->marker = view->applied;
    keeper->cursor = 0;
    dirty->batch = view->applied - 1;
    dirty->unit.count = skn_rowset_take(&keeper->changed, &keeper->cursor,
                                        dirty->unit.at, keeper->row_count);
    dirty->rows = (void *)(uintptr_t)view->rows;
    dirty->last = 1;
    keeper->cursor = 0;
    for (uint32_t k = 0; k < keeper->order_count; k++)
        if (keeper->order[k].due > view->applied)
            keeper->order[k].due = view->applied; /* the marker's index replaces
                                                   * it */
    place_order(keeper, dirty->batch, view->applied);
    return skn_actor_post(actor, dirty, error);
}

skn_status_t
skn_index_keeper_send(skn_index_keeper_t *keeper, skn_actor_t *actor,
                      const skn_index_view_t *view, skn_error_t *error)
{
    if (!keeper->active || view->applied == 0 ||
        view->applied == keeper->marker)
        return SKN_OK;
    return view->marker ? send_marker(keeper, actor, view, error)
                        : send_round(keeper, actor, view, error);
}

/* --- indexes -------------------------------------------------------------- */

skn_status_t
skn_index_keeper_take(skn_index_keeper_t *keeper, const skn_index_t *index,
                      skn_error_t *error)
{
    if (!keeper->active || keeper->come == keeper->order_count)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "an index of batch %llu, none expected",
                        (unsigned long long)index->batch);
    skn_index_order_t *order = &keeper->order[keeper->come];
    if (index->batch != order->batch)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "an index of batch %llu, that of batch %llu expected",
                        (unsigned long long)index->batch,
                        (unsigned long long)order->batch);
    order->index = skn_message_keep(index);
    keeper->come++;
    return SKN_OK;
}

/* Counts the orders that are due at `batch`; the last of them is used. */
static uint32_t
due_count(const skn_index_keeper_t *keeper, uint64_t batch)
{
    uint32_t count = 0;
    while (count < keeper->order_count && keeper->order[count].due <= batch)
        count++;
    return count;
}

bool
skn_index_keeper_ready(const skn_index_keeper_t *keeper, uint64_t batch)
{
    return due_count(keeper, batch) <= keeper->come;
}

skn_status_t
skn_index_keeper_adopt(skn_index_keeper_t *keeper, uint64_t batch,
                       const skn_sampler_kind_t *kind, void *sampler,
                       skn_error_t *error)
{
    uint32_t count = due_count(keeper, batch);
    if (count == 0)
        return SKN_OK;
    assert(count <= keeper->come && keeper->come <= keeper->order_count);
    const skn_index_t *index = keeper->order[count - 1].index;
    skn_status_t status = kind->adopt(sampler, index, error);
    if (status != SKN_OK)
        return status;
    skn_message_drop(keeper->adopted);
    for (uint32_t k = 0; k + 1 < count; k++) /* replaced at a marker */
        skn_message_drop(keeper->order[k].index);
    keeper->adopted = index;
    keeper->order_count -= count;
    keeper->come -= count;
    memmove(keeper->order, keeper->order + count,
            keeper->order_count * sizeof(*keeper->order));
    return SKN_OK;
}
