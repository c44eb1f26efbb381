/* markers.c - computes the batches at which a run has markers, and what is due
 * at each; it sends no messages.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/course/markers.h"

static uint64_t
least_multiple_above(uint64_t value, uint64_t step)
{
    return (value / step + 1) * step;
}

static bool
is_multiple(uint64_t value, uint64_t step)
{
    return step > 0 && value % step == 0;
}

uint64_t
skn_markers_next(const skn_markers_t *markers, uint64_t first)
{
    uint64_t end = least_multiple_above(first, markers->batches_per_epoch);
    const uint64_t steps[] = { markers->every_batches,
                               markers->evaluate_batches };
    for (int k = 0; k < 2; k++) {
        if (steps[k] == 0)
            continue;
        uint64_t due = least_multiple_above(first, steps[k]);
        end = due < end ? due : end;
    }
    return end < markers->total_batches ? end : markers->total_batches;
}

uint64_t
skn_markers_epochs_begun(const skn_markers_t *markers, uint64_t batch)
{
    return (batch + markers->batches_per_epoch - 1) /
           markers->batches_per_epoch;
}

bool
skn_markers_epoch_is_whole(const skn_markers_t *markers, uint64_t batch,
                           uint64_t epochs)
{
    return skn_markers_epochs_begun(markers, batch) > epochs &&
           (is_multiple(batch, markers->batches_per_epoch) ||
            batch >= markers->total_batches);
}

bool
skn_markers_evaluates_within(const skn_markers_t *markers, uint64_t batch)
{
    return is_multiple(batch, markers->evaluate_batches);
}

bool
skn_markers_evaluates(const skn_markers_t *markers, uint64_t batch,
                      uint64_t epoch)
{
    return batch >= markers->total_batches ||
           is_multiple(epoch, markers->evaluate_every);
}

bool
skn_markers_saves(const skn_markers_t *markers, uint64_t batch, uint64_t epoch)
{
    return is_multiple(batch, markers->every_batches) ||
           (epoch > 0 && is_multiple(epoch, markers->every_epochs));
}
