/* shard_index.c - sends changed rows to the table builder in rounds, and
 * adopts its indexes when they are due.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/output/shard_index.h"

#include <assert.h>

skn_status_t
skn_shard_index_open(skn_shard_index_t *index, const skn_actor_t *actor,
                     const skn_sampler_kind_t *kind,
                     const skn_sampler_options_t *options, uint64_t window,
                     skn_error_t *error)
{
    uint64_t refresh = (uint64_t)skn_actor_option_int(actor, "refresh_batches");
    uint64_t lag = (uint64_t)skn_actor_option_int(actor, "index_lag");
    memset(index, 0, sizeof(*index));
    index->active = kind->index != NULL;
    if (!index->active)
        return SKN_OK;
    index->refresh = refresh;
    index->lag = lag ? lag : 2 * window;
    index->kernels = options->kernels;
    index->row_count = options->row_count;
    index->hidden = options->hidden;
    index->batch_rows =
        (uint32_t)((options->row_count + refresh - 1) / refresh);
    if (index->lag < window)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: index_lag %llu is less than the window of %llu "
                        "batches",
                        skn_actor_name(actor), (unsigned long long)index->lag,
                        (unsigned long long)window);
    if (index->lag / refresh + 2 > SKN_INDEXES_MAX)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: index_lag %llu is more than %u times "
                        "refresh_batches %llu",
                        skn_actor_name(actor), (unsigned long long)index->lag,
                        SKN_INDEXES_MAX - 2, (unsigned long long)refresh);
    index->unit = malloc(index->batch_rows * sizeof(uint32_t));
    if (!index->unit)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u dirty rows",
                        index->batch_rows);
    skn_status_t status =
        skn_rowset_init(&index->changed, index->row_count, error);
    if (status == SKN_OK)
        skn_rowset_fill(&index->changed); /* the builder has no rows yet */
    return status;
}

void
skn_shard_index_close(skn_shard_index_t *index)
{
    for (uint32_t k = 0; k < index->come; k++)
        skn_message_drop(index->request[k].index);
    skn_message_drop(index->adopted);
    skn_rowset_fini(&index->changed);
    free(index->unit);
    memset(index, 0, sizeof(*index));
}

void
skn_shard_index_change(skn_shard_index_t *index, const uint32_t *row,
                       size_t count)
{
    for (size_t k = 0; index->active && k < count; k++)
        skn_rowset_add(&index->changed, row[k]);
}

/* --- dirty rows ----------------------------------------------------------- */

/* Records that the index of the rows after `batch` is due at batch `due`. */
static void
place_request(skn_shard_index_t *index, uint64_t batch, uint64_t due)
{
    assert(index->request_count < SKN_INDEXES_MAX);
    assert(index->request_count == 0 ||
           index->request[index->request_count - 1].due <= due);
    index->request[index->request_count++] =
        (skn_index_request_t){ .batch = batch, .due = due };
}

/* Sends the next changed rows of the round. */
static skn_status_t
send_some(skn_shard_index_t *index, skn_actor_t *actor,
          const skn_index_view_t *view, uint32_t count, bool is_last,
          skn_error_t *error)
{
    size_t width = (size_t)index->hidden + 1;
    size_t counts[] = { count, count * width };
    skn_dirty_t *dirty =
        skn_actor_message(actor, &skn_dirty_schema, counts, error);
    if (!dirty)
        return error->status;
    dirty->batch = view->applied - 1;
    memcpy(dirty->unit.at, index->unit, count * sizeof(uint32_t));
    for (uint32_t k = 0; k < count; k++)
        skn_rows_get(view->rows, index->kernels, index->unit[k],
                     dirty->value.at + k * width);
    if (is_last) {
        assert(index->cursor == index->row_count);
        dirty->last = 1;
        place_request(index, dirty->batch, dirty->batch + index->lag);
    }
    return skn_actor_post(actor, dirty, error);
}

static skn_status_t
send_round(skn_shard_index_t *index, skn_actor_t *actor,
           const skn_index_view_t *view, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    bool is_last = view->applied % index->refresh == 0, done = false;
    while (!done && status == SKN_OK) {
        uint32_t count = skn_rowset_take(&index->changed, &index->cursor,
                                         index->unit, index->batch_rows);
        /* A round that was restarted at a marker sends the rest at once. */
        done = !is_last || index->cursor == index->row_count;
        if (count > 0 || is_last)
            status =
                send_some(index, actor, view, count, is_last && done, error);
    }
    if (is_last)
        index->cursor = 0;
    return status;
}

/* Sends all changed rows. No batch is computed before its index is here, so
 * until then no actor writes the rows, and they are lent instead of copied. */
static skn_status_t
send_marker(skn_shard_index_t *index, skn_actor_t *actor,
            const skn_index_view_t *view, skn_error_t *error)
{
    size_t counts[] = { index->row_count, 0 };
    skn_dirty_t *dirty =
        skn_actor_message(actor, &skn_dirty_schema, counts, error);
    if (!dirty)
        return error->status;
    index->marker = view->applied;
    index->cursor = 0;
    dirty->batch = view->applied - 1;
    dirty->unit.count = skn_rowset_take(&index->changed, &index->cursor,
                                        dirty->unit.at, index->row_count);
    dirty->rows = (void *)(uintptr_t)view->rows;
    dirty->last = 1;
    index->cursor = 0;
    for (uint32_t k = 0; k < index->request_count; k++)
        if (index->request[k].due > view->applied)
            index->request[k].due =
                view->applied; /* the marker's index replaces
                                                   * it */
    place_request(index, dirty->batch, view->applied);
    return skn_actor_post(actor, dirty, error);
}

skn_status_t
skn_shard_index_send(skn_shard_index_t *index, skn_actor_t *actor,
                     const skn_index_view_t *view, skn_error_t *error)
{
    if (!index->active || view->applied == 0 || view->applied == index->marker)
        return SKN_OK;
    return view->marker ? send_marker(index, actor, view, error)
                        : send_round(index, actor, view, error);
}

/* --- indexes -------------------------------------------------------------- */

skn_status_t
skn_shard_index_take(skn_shard_index_t *index, const skn_index_t *built,
                     skn_error_t *error)
{
    if (!index->active || index->come == index->request_count)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "received an index of batch %llu, but expected none",
                        (unsigned long long)built->batch);
    skn_index_request_t *request = &index->request[index->come];
    if (built->batch != request->batch)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "received an index of batch %llu, but expected that "
                        "of batch %llu",
                        (unsigned long long)built->batch,
                        (unsigned long long)request->batch);
    request->index = skn_message_keep(built);
    index->come++;
    return SKN_OK;
}

/* Counts the requests that are due at `batch`; the last of them is used. */
static uint32_t
due_count(const skn_shard_index_t *index, uint64_t batch)
{
    uint32_t count = 0;
    while (count < index->request_count && index->request[count].due <= batch)
        count++;
    return count;
}

bool
skn_shard_index_ready(const skn_shard_index_t *index, uint64_t batch)
{
    return due_count(index, batch) <= index->come;
}

skn_status_t
skn_shard_index_adopt(skn_shard_index_t *index, uint64_t batch,
                      const skn_sampler_kind_t *kind, void *sampler,
                      skn_error_t *error)
{
    uint32_t count = due_count(index, batch);
    if (count == 0)
        return SKN_OK;
    assert(count <= index->come && index->come <= index->request_count);
    const skn_index_t *built = index->request[count - 1].index;
    skn_status_t status = kind->adopt(sampler, built, error);
    if (status != SKN_OK)
        return status;
    skn_message_drop(index->adopted);
    for (uint32_t k = 0; k + 1 < count; k++) /* replaced at a marker */
        skn_message_drop(index->request[k].index);
    index->adopted = built;
    index->request_count -= count;
    index->come -= count;
    memmove(index->request, index->request + count,
            index->request_count * sizeof(*index->request));
    return SKN_OK;
}
