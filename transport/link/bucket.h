/* bucket.h - a token bucket: no more than so many bytes a second.
 *
 * Pure arithmetic. What has begun may end: the bucket goes below empty by one
 * fragment, and waits the longer.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_LINK_BUCKET_H
#define TRANSPORT_LINK_BUCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* { 0 } has no limit. */
typedef struct skn_bucket {
    double bytes_per_second; /* 0: no limit */
    double bytes;            /* that may leave now; below 0: owed */
    uint64_t filled_ns;
} skn_bucket_t;

/* Full at `now_ns`. */
void skn_bucket_init(skn_bucket_t *bucket, uint64_t bytes_per_second,
                     uint64_t now_ns);
/* Whether something may leave now. */
bool skn_bucket_is_open(skn_bucket_t *bucket, uint64_t now_ns);
/* So much has left. */
void skn_bucket_take(skn_bucket_t *bucket, size_t bytes);
/* When it is open: now, or later. */
uint64_t skn_bucket_due_ns(skn_bucket_t *bucket, uint64_t now_ns);

#endif
