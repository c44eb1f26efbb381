/* counters.c - adds to a histogram of durations and computes its quantiles.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/runtime/counters.h"

void
skn_histogram_add(skn_histogram_t *histogram, uint64_t duration_ns)
{
    int bucket = duration_ns ? 63 - __builtin_clzll(duration_ns) : 0;
    if (bucket >= SKN_HISTOGRAM_BUCKETS)
        bucket = SKN_HISTOGRAM_BUCKETS - 1;
    histogram->bucket[bucket]++;
    histogram->count++;
    histogram->sum_ns += duration_ns;
    if (duration_ns > histogram->max_ns)
        histogram->max_ns = duration_ns;
}

uint64_t
skn_histogram_quantile_ns(const skn_histogram_t *histogram, double share)
{
    uint64_t wanted = (uint64_t)(share * (double)histogram->count);
    uint64_t seen = 0;
    for (int k = 0; k < SKN_HISTOGRAM_BUCKETS; k++) {
        seen += histogram->bucket[k];
        if (seen && seen >= wanted) {
            uint64_t end_ns = (uint64_t)2 << k;
            return end_ns < histogram->max_ns ? end_ns : histogram->max_ns;
        }
    }
    return 0;
}
