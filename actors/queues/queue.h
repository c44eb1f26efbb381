/* queue.h - a ring of parcels that grows.
 *
 * It holds parcels that were taken from an inbox and wait to be handled, and
 * messages that wait for credit. Zeroed memory is an empty queue. One thread at
 * a time.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_QUEUES_QUEUE_H
#define ACTORS_QUEUES_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/inproc/pipe.h"

typedef struct skn_queue {
    skn_parcel_t *parcel;
    uint32_t room, first, count;
} skn_queue_t;

/* False: memory is short, and the queue is as before. */
bool skn_queue_put(skn_queue_t *queue, const skn_parcel_t *parcel);
/* Takes the oldest parcel; false: the queue is empty. */
bool skn_queue_take(skn_queue_t *queue, skn_parcel_t *parcel);
/* The parcel behind `at` others; at < count. */
const skn_parcel_t *skn_queue_at(const skn_queue_t *queue, uint32_t at);
/* Frees the ring, but nothing that its parcels point to; it is empty then. */
void skn_queue_fini(skn_queue_t *queue);

#endif
