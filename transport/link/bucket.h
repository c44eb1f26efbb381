/* bucket.h - a token bucket, which limits the bytes a node sends.
 *
 * Pure arithmetic. A fragment that was started is finished: the bucket may fall
 * below empty by one fragment, and then stays closed longer.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_LINK_BUCKET_H
#define TRANSPORT_LINK_BUCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* { 0 } has no limit. */
typedef struct skn_bucket {
    double bytes_per_second; /* 0: no limit */
    double bytes;            /* that may leave now; below 0: overdrawn */
    uint64_t filled_ns;
} skn_bucket_t;

/* Starts full at `now_ns`. */
void skn_bucket_init(skn_bucket_t *bucket, uint64_t bytes_per_second,
                     uint64_t now_ns);
/* Whether a fragment may leave now. */
bool skn_bucket_is_open(skn_bucket_t *bucket, uint64_t now_ns);
/* Subtracts the bytes of a fragment that left. */
void skn_bucket_take(skn_bucket_t *bucket, size_t bytes);
/* The time at which it opens: `now_ns`, or later. */
uint64_t skn_bucket_due_ns(skn_bucket_t *bucket, uint64_t now_ns);

#endif
