/* share.h - what an output shard tells of a batch: (m, z) and (u, v).
 *
 * (m, z) of its nodes goes to the shards beside and to the layer below, one
 * message; (u, v) to the layer below, cut by that layer's slices. Packed, only
 * what the layer below can use is sent: u where the hidden value is not 0, and
 * v only of samples with a positive in the shard (packing.h). Merged late, the
 * shards beside get m + log z, the layer below nothing but a u - v in place of
 * both, when all of these are here: fewer bytes, and rounding meets the
 * difference, not two large numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_OUTPUT_SHARE_H
#define ACTORS_OUTPUT_SHARE_H

#include "actors/protocol/cuts.h"
#include "actors/output/head.h"
#include "skein/actor.h"

typedef struct skn_share_options {
    skn_cuts_t cuts; /* of the layer below; the owner's */
    bool packed;
} skn_share_options_t;

/* Computes and sends both, after skn_head_forward; merged late, it keeps (u, v)
 * in the flight. SKN_NO_MEMORY. */
skn_status_t skn_share_send(skn_actor_t *actor, skn_head_t *head,
                            skn_flight_t *flight,
                            const skn_share_options_t *options,
                            skn_error_t *error);
/* Sends what was kept, after skn_head_complete; nothing if nothing was. */
skn_status_t skn_share_finish(skn_actor_t *actor, skn_head_t *head,
                              skn_flight_t *flight,
                              const skn_share_options_t *options,
                              skn_error_t *error);

#endif
