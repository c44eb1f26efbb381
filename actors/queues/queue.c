/* queue.c - a ring of parcels that grows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/queues/queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 8u

bool
skn_queue_put(skn_queue_t *queue, const skn_parcel_t *parcel)
{
    if (queue->count == queue->room) {
        uint32_t room = queue->room > 0 ? 2 * queue->room : ROOM_FIRST;
        skn_parcel_t *grown = malloc(room * sizeof(*grown));
        if (!grown)
            return false;
        for (uint32_t k = 0; k < queue->count; k++)
            grown[k] = *skn_queue_at(queue, k);
        free(queue->parcel);
        *queue = (skn_queue_t){ grown, room, 0, queue->count };
    }
    queue->parcel[(queue->first + queue->count++) % queue->room] = *parcel;
    return true;
}

bool
skn_queue_take(skn_queue_t *queue, skn_parcel_t *parcel)
{
    if (queue->count == 0)
        return false;
    *parcel = *skn_queue_at(queue, 0);
    queue->first = (queue->first + 1) % queue->room;
    queue->count--;
    return true;
}

const skn_parcel_t *
skn_queue_at(const skn_queue_t *queue, uint32_t at)
{
    assert(at < queue->count);
    return &queue->parcel[(queue->first + at) % queue->room];
}

void
skn_queue_fini(skn_queue_t *queue)
{
    free(queue->parcel);
    memset(queue, 0, sizeof(*queue));
}
