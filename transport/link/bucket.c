/* bucket.c - a token bucket, which limits the bytes a node sends.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/link/bucket.h"

#include <string.h>

/* The bytes that may leave in one burst: those of 20 ms, which no neighbour on
 * the link notices, and at least a fragment. */
#define BURST_SECONDS 0.02
#define BUCKET_BYTES_MIN 16384.0

static double
burst_bytes(const skn_bucket_t *bucket)
{
    double bytes = bucket->bytes_per_second * BURST_SECONDS;
    return bytes > BUCKET_BYTES_MIN ? bytes : BUCKET_BYTES_MIN;
}

void
skn_bucket_init(skn_bucket_t *bucket, uint64_t bytes_per_second,
                uint64_t now_ns)
{
    memset(bucket, 0, sizeof(*bucket));
    bucket->bytes_per_second = (double)bytes_per_second;
    bucket->bytes = burst_bytes(bucket);
    bucket->filled_ns = now_ns;
}

static void
fill(skn_bucket_t *bucket, uint64_t now_ns)
{
    if (now_ns <= bucket->filled_ns)
        return;
    bucket->bytes +=
        (double)(now_ns - bucket->filled_ns) * 1e-9 * bucket->bytes_per_second;
    if (bucket->bytes > burst_bytes(bucket))
        bucket->bytes = burst_bytes(bucket);
    bucket->filled_ns = now_ns;
}

bool
skn_bucket_is_open(skn_bucket_t *bucket, uint64_t now_ns)
{
    if (bucket->bytes_per_second <= 0.0)
        return true;
    fill(bucket, now_ns);
    return bucket->bytes > 0.0;
}

void
skn_bucket_take(skn_bucket_t *bucket, size_t bytes)
{
    if (bucket->bytes_per_second > 0.0)
        bucket->bytes -= (double)bytes;
}

uint64_t
skn_bucket_due_ns(skn_bucket_t *bucket, uint64_t now_ns)
{
    if (skn_bucket_is_open(bucket, now_ns))
        return now_ns;
    /* One byte above empty, and rounded up. */
    double wait_s = (1.0 - bucket->bytes) / bucket->bytes_per_second;
    return now_ns + (uint64_t)(wait_s * 1e9) + 1;
}
