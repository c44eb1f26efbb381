/* arrivals.h - batches that an output shard has received in part and not yet
 * computed: labels and hidden vectors arrive separately.
 *
 * One thread, the actor's.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_OUTPUT_ARRIVALS_H
#define ACTORS_OUTPUT_ARRIVALS_H

#include "actors/protocol/messages.h"
#include "skein/actor.h"
#include "skein/limits.h"

typedef struct skn_arrival {
    uint64_t batch;
    bool used, has_hidden;
    const skn_labels_t *labels; /* kept */
    uint32_t hidden_rows;
    float *hidden; /* [batch_rows][hidden_stride] */
} skn_arrival_t;

typedef struct skn_arrivals {
    uint32_t count; /* most batches at a time */
    skn_arrival_t at[SKN_ISSUED_MAX + 1];
} skn_arrivals_t;

/* Makes room for `count` batches with `hidden_floats` floats each. Freed by
 * close, also after a failure. SKN_NO_MEMORY. */
skn_status_t skn_arrivals_open(skn_arrivals_t *arrivals, uint32_t count,
                               size_t hidden_floats, skn_error_t *error);
void skn_arrivals_close(skn_arrivals_t *arrivals);

/* Returns the arrival of a batch, a new one if there is none. NULL and
 * SKN_BAD_MESSAGE if there are more batches than can be in flight. */
skn_arrival_t *skn_arrivals_of(skn_arrivals_t *arrivals,
                               const skn_actor_t *actor, uint64_t batch,
                               skn_error_t *error);
/* SKN_BAD_MESSAGE if both labels and hidden vectors are there, with different
 * numbers of samples. */
skn_status_t skn_arrival_check(const skn_arrival_t *arrival,
                               const skn_actor_t *actor, skn_error_t *error);
/* Returns the oldest batch, if all of it is there, or else NULL. */
skn_arrival_t *skn_arrivals_next(skn_arrivals_t *arrivals);
/* Frees the arrival for another batch. It does not drop the labels: the caller
 * has taken them. */
void skn_arrival_end(skn_arrival_t *arrival);

#endif
