/* usage.c - reads CPU time and resident memory from the system.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/machine/usage.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t
resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    if (fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void
skn_usage_now(skn_usage_t *usage)
{
    struct rusage used = { 0 };
    (void)getrusage(RUSAGE_SELF, &used);
    usage->cpu_ns =
        (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000u +
        (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
    usage->rss_bytes = resident_bytes();
}

void
skn_usage_thread(uint64_t *ran_ns, uint64_t *queued_ns)
{
    uint64_t ran, queued;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    if (!file)
        return;
    if (fscanf(file, "%" SCNu64 " %" SCNu64, &ran, &queued) == 2) {
        *ran_ns = ran;
        *queued_ns = queued;
    }
    fclose(file);
}
