/* machine.c - counts the processing units and the memory that this process may
 * use.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "actors/runtime/placement.h"
#include "actors/machine/groups.h"
#include "topology/run/model_run.h"

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

uint64_t
skn_memory_available_bytes(void)
{
    struct rlimit limit;
    uint64_t available = memory_free();
    uint64_t groups = skn_groups_memory_bytes("");
    if (groups < available)
        available = groups;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        (uint64_t)limit.rlim_cur < available)
        available = (uint64_t)limit.rlim_cur;
    return available;
}
