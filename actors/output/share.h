/* share.h - sends an output shard's results of a batch to other actors: (m, z)
 * and (u, v).
 *
 * (m, z) of its nodes goes to the other shards and to the layer below, in one
 * message; (u, v) goes to the layer below, cut by that layer's slices. If
 * packed, only values that the layer below can use are sent: u where the hidden
 * value is not 0, and v only for samples with a positive in the shard
 * (packing.h). With merge late, the other shards get m + log z; when all of
 * these are here, the layer below gets a u - v in place of both. That is fewer
 * bytes, and the coding rounds the difference, not two large numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_OUTPUT_SHARE_H
#define ACTORS_OUTPUT_SHARE_H

#include "actors/protocol/slicing.h"
#include "actors/output/head.h"
#include "skein/actor.h"

typedef struct skn_share_options {
    skn_slicing_t slicing; /* of the layer below; the output shard owns them */
    bool packed;
} skn_share_options_t;

/* Computes and sends both, after skn_head_forward; with merge late, it keeps
 * (u, v) in the flight. SKN_NO_MEMORY. */
skn_status_t skn_share_send(skn_actor_t *actor, skn_head_t *head,
                            skn_flight_t *flight,
                            const skn_share_options_t *options,
                            skn_error_t *error);
/* Sends the (u, v) that was kept, if any, after skn_head_complete. */
skn_status_t skn_share_finish(skn_actor_t *actor, skn_head_t *head,
                              skn_flight_t *flight,
                              const skn_share_options_t *options,
                              skn_error_t *error);

#endif
