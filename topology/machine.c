/* machine.c - what this machine lends the process.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "actors/placement.h"
#include "topology/model_run.h"

uint32_t
skn_unit_count(skn_error_t *error)
{
    skn_placement_t *placement = skn_placement_new(NULL, error);
    if (!placement)
        return 0;
    uint32_t count = skn_placement_unit_count(placement);
    skn_placement_destroy(&placement);
    return count;
}

/* The first number of a file; `fallback` if there is none. */
static uint64_t
number_in(const char *path, uint64_t fallback)
{
    uint64_t number = fallback;
    FILE *file = fopen(path, "re");
    if (!file)
        return fallback;
    if (fscanf(file, "%" SCNu64, &number) != 1)
        number = fallback;
    fclose(file);
    return number;
}

static uint64_t
memory_free(void)
{
    char line[128];
    uint64_t kib = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && kib == 0 && fgets(line, sizeof(line), file))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) != 1)
            kib = 0;
    if (file)
        fclose(file);
    return kib ? kib * 1024 : UINT64_MAX;
}

static uint64_t
below(uint64_t limit, uint64_t used)
{
    return limit > used ? limit - used : 0;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t
skn_memory_available_bytes(void)
{
    struct rlimit limit;
    uint64_t available = memory_free();
    /* Version 2 of control groups, then version 1, as a container sees it. */
    uint64_t group = number_in("/sys/fs/cgroup/memory.max", UINT64_MAX);
    if (group != UINT64_MAX)
        available =
            least(available,
                  below(group, number_in("/sys/fs/cgroup/memory.current", 0)));
    group =
        number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", UINT64_MAX);
    if (group < UINT64_MAX / 2)
        available = least(
            available,
            below(group,
                  number_in("/sys/fs/cgroup/memory/memory.usage_in_bytes", 0)));
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        available = least(available, (uint64_t)limit.rlim_cur);
    return available;
}
