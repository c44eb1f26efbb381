/* arrivals.c - stores labels and hidden vectors of batches until both are
 * there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/output/arrivals.h"

#include <assert.h>
#include <stdlib.h>

#include "actors/protocol/workspace.h"

skn_status_t
skn_arrivals_open(skn_arrivals_t *arrivals, uint32_t count,
                  size_t hidden_floats, skn_error_t *error)
{
    assert(count <= SKN_ISSUED_MAX + 1);
    arrivals->count = count;
    for (uint32_t k = 0; k < count; k++) {
        arrivals->at[k].hidden = skn_floats_new(hidden_floats, error);
        if (!arrivals->at[k].hidden)
            return SKN_NO_MEMORY;
    }
    return SKN_OK;
}

void
skn_arrivals_close(skn_arrivals_t *arrivals)
{
    for (uint32_t k = 0; k < arrivals->count; k++) {
        skn_message_drop(arrivals->at[k].labels);
        free(arrivals->at[k].hidden);
    }
    arrivals->count = 0;
}

skn_arrival_t *
skn_arrivals_of(skn_arrivals_t *arrivals, const skn_actor_t *actor,
                uint64_t batch, skn_error_t *error)
{
    skn_arrival_t *unused = NULL;
    for (uint32_t k = 0; k < arrivals->count; k++) {
        skn_arrival_t *arrival = &arrivals->at[k];
        if (arrival->used && arrival->batch == batch)
            return arrival;
        if (!arrival->used)
            unused = arrival;
    }
    if (!unused) {
        skn_fail(error, SKN_BAD_MESSAGE, "%s: batch %llu is beyond the window",
                 skn_actor_name(actor), (unsigned long long)batch);
        return NULL;
    }
    unused->used = true;
    unused->has_hidden = false;
    unused->batch = batch;
    return unused;
}

skn_status_t
skn_arrival_check(const skn_arrival_t *arrival, const skn_actor_t *actor,
                  skn_error_t *error)
{
    if (!arrival->labels || !arrival->has_hidden ||
        arrival->labels->rows == arrival->hidden_rows)
        return SKN_OK;
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "%s: batch %llu has labels of %u samples and hidden "
                    "vectors of %u",
                    skn_actor_name(actor), (unsigned long long)arrival->batch,
                    arrival->labels->rows, arrival->hidden_rows);
}

skn_arrival_t *
skn_arrivals_next(skn_arrivals_t *arrivals)
{
    skn_arrival_t *oldest = NULL;
    for (uint32_t k = 0; k < arrivals->count; k++) {
        skn_arrival_t *arrival = &arrivals->at[k];
        if (arrival->used && (!oldest || arrival->batch < oldest->batch))
            oldest = arrival;
    }
    return oldest && oldest->labels && oldest->has_hidden ? oldest : NULL;
}

void
skn_arrival_end(skn_arrival_t *arrival)
{
    assert(arrival->used);
    arrival->labels = NULL;
    arrival->used = false;
}
