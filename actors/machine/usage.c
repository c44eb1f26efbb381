/* usage.c - reads CPU time and resident memory from the system.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/machine/usage.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
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

uint64_t
skn_usage_cpu_ns(void)
{
    struct rusage used = { 0 };
    (void)getrusage(RUSAGE_SELF, &used);
    return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) *
               1000000000u +
           (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
}

void
skn_usage_now(skn_usage_t *usage)
{
    usage->cpu_ns = skn_usage_cpu_ns();
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

uint64_t
skn_usage_busy_ticks(const char *text, const cpu_set_t *cpus, uint32_t *found)
{
    uint64_t sum = 0;
    *found = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        unsigned cpu = 0;
        uint64_t t[7] = { 0 }; /* user nice system idle iowait irq softirq */
        line += *line == '\n';
        if (strncmp(line, "cpu", 3) != 0)
            continue;
        int count =
            sscanf(line,
                   "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                   " %" SCNu64 " %" SCNu64 " %" SCNu64,
                   &cpu, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6]);
        if (count < 5 || line[3] == ' ' || cpu >= CPU_SETSIZE ||
            !CPU_ISSET(cpu, cpus))
            continue;
        sum += t[0] + t[1] + t[2] + t[5] + t[6];
        ++*found;
    }
    return sum;
}
