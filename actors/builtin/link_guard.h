/* link_guard.h - rejects numbers from other nodes that no sound training has.
 *
 * Encryption proves who sent a message, not that its numbers are good: a node
 * with bad memory, or a malicious one, would spoil the rows of all others in
 * one batch. The guard checks the arrays that pass from layer to layer, losses
 * and scores (the table in link_guard.c), as they arrive: they must be finite,
 * and none may reach SKN_GUARD_JUMP times the greatest that this edge has ever
 * brought (sums over labels and similar ones may). Smaller errors pass, as
 * docs/tasks/keys.md states. A check of 1,024 x 128 values takes 12 us (AVX2),
 * a small part of the time to decode them.
 * Pure; a guard belongs to one thread.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_BUILTIN_LINK_GUARD_H
#define ACTORS_BUILTIN_LINK_GUARD_H

#include <stdint.h>

#include "actors/kinds/builtin.h"
#include "kernels/kernels.h"
#include "skein/error.h"
#include "skein/message.h"

/* The most rows that a message has in the table of link_guard.c. */
#define SKN_GUARD_FIELDS_MAX 4u
/* Gradients and activations of healthy trainings grow by less than ten times
 * from one batch to the next, and 1,024 is a hundred times that; below 1,024
 * itself nothing is refused. */
#define SKN_GUARD_JUMP 1024.0f
/* The first messages of an edge establish what is usual; their numbers may be
 * anything whose product with a similar number is still a float. */
#define SKN_GUARD_FIRST 16u
#define SKN_GUARD_FIRST_MAX 0x1p60f

/* The greatest numbers that one edge has brought; starts as zeroes. */
typedef struct skn_guard {
    uint32_t message_count; /* up to SKN_GUARD_FIRST */
    float greatest[SKN_GUARD_FIELDS_MAX];
} skn_guard_t;

/* Checks a decoded message of `schema`, whose arrays may contain anything. If
 * it is bad, `error` is filled with SKN_DIVERGED and a sentence without a
 * subject: "activation.value of batch 7 that is not finite". */
skn_link_finding_t skn_guard_check(skn_guard_t *guard,
                                   const skn_kernels_t *kernels,
                                   const skn_schema_t *schema,
                                   const void *message, skn_error_t *error);

#endif
