/* measure.c - measures CPU time by two samples of /proc and of control groups.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/host/measure.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "actors/machine/groups.h"
#include "actors/machine/usage.h"

/* /proc/stat has a line for each core: enough for some thousands of them. */
#define STAT_BYTES ((size_t)1 << 19)

static uint64_t
process_ns(void)
{
    struct timespec used = { 0 };
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* Ticks that any process had on the cores of this process; *units is the number
 * of those cores, 0 if it is unknown. */
static uint64_t
busy_ticks(const char *root, uint32_t *units)
{
    char path[256];
    cpu_set_t cores;
    uint64_t ticks = 0;
    char *text = malloc(STAT_BYTES);
    (void)snprintf(path, sizeof(path), "%s/proc/stat", root);
    FILE *file = text ? fopen(path, "re") : NULL;
    *units = 0;
    if (file && sched_getaffinity(0, sizeof(cores), &cores) == 0) {
        text[fread(text, 1, STAT_BYTES - 1, file)] = '\0';
        ticks = skn_usage_busy_ticks(text, &cores, units);
    }
    if (file)
        (void)fclose(file);
    free(text);
    return ticks;
}

void
skn_measure_begin(skn_measure_t *measure, const char *root)
{
    measure->begun = true;
    measure->cpu_ns = process_ns();
    measure->throttled_ns = skn_groups_throttled_ns(root);
    measure->busy_ticks = busy_ticks(root, &measure->units);
}

/* If the process was moved to other cores meanwhile, the two counts are not of
 * the same cores, and what others used is unknown. */
void
skn_measure_end(const skn_measure_t *measure, const char *root,
                skn_figures_t *figures)
{
    uint32_t units;
    cpu_set_t cores;
    long per_second = sysconf(_SC_CLK_TCK);
    if (!measure->begun)
        return;
    uint64_t ticks = busy_ticks(root, &units);
    figures->others_known =
        units > 0 && units == measure->units && ticks >= measure->busy_ticks;
    if (!figures->others_known)
        ticks = measure->busy_ticks;
    uint64_t all_ns =
        (ticks - measure->busy_ticks) *
        (1000000000u / (uint64_t)(per_second > 0 ? per_second : 100));
    figures->cpu_ns = process_ns() - measure->cpu_ns;
    figures->throttled_ns =
        skn_groups_throttled_ns(root) - measure->throttled_ns;
    figures->quota_milli = (uint64_t)(1000.0 * skn_groups_units(root));
    figures->others_ns =
        all_ns > figures->cpu_ns ? all_ns - figures->cpu_ns : 0;
    if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
        figures->units = (uint64_t)CPU_COUNT(&cores);
}
