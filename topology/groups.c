/* groups.c - limits of memory, up the tree of control groups.
 *
 * /proc/self/cgroup names the group of each hierarchy. In a container that
 * name may be one of the host, which is not there: then what is mounted is the
 * container's own group. Kernel documentation: admin-guide/cgroup-v2.rst,
 * "Memory Interface Files"; cgroup-v1/memory.rst, 5.2.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/groups.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "skein/limits.h"

/* Version 1 says this, in pages, for "no limit". */
#define NO_LIMIT_V1 (UINT64_MAX / 2 / 4096 * 4096)

/* What the two versions call things. */
typedef struct words {
    const char *mount, *limit, *usage, *inactive, *active;
} words_t;

static const words_t version1 = {
    "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
    "total_inactive_file %" SCNu64, "total_active_file %" SCNu64
};
static const words_t version2 = { "/sys/fs/cgroup", "memory.max",
                                  "memory.current", "inactive_file %" SCNu64,
                                  "active_file %" SCNu64 };

static FILE *
open_in(const char *folder, const char *name)
{
    char path[SKN_TEXT_MAX];
    int bytes = snprintf(path, sizeof(path), "%s/%s", folder, name);
    return bytes < (int)sizeof(path) ? fopen(path, "re") : NULL;
}

/* The number that a file is; false if it is none. */
static bool
read_number(const char *folder, const char *name, uint64_t *number)
{
    FILE *file = open_in(folder, name);
    bool found = file && fscanf(file, "%" SCNu64, number) == 1;
    if (file)
        (void)fclose(file);
    return found;
}

/* Pages of files in the group: they make room when memory is asked for. */
static uint64_t
read_reclaimable(const char *folder, const words_t *words)
{
    char line[128];
    uint64_t sum = 0, number;
    FILE *file = open_in(folder, "memory.stat");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, words->inactive, &number) == 1 ||
            sscanf(line, words->active, &number) == 1)
            sum += number;
    if (file)
        (void)fclose(file);
    return sum;
}

/* What the group of `folder` leaves, by itself. */
static uint64_t
left_in(const char *folder, const words_t *words)
{
    uint64_t limit, usage = 0;
    if (!read_number(folder, words->limit, &limit) || limit >= NO_LIMIT_V1)
        return UINT64_MAX;
    (void)read_number(folder, words->usage, &usage);
    uint64_t reclaimable = read_reclaimable(folder, words);
    usage -= reclaimable < usage ? reclaimable : usage;
    return limit > usage ? limit - usage : 0;
}

/* From the group up to the root of what is mounted, which comes in any case. */
static uint64_t
least_above(const char *root, const char *group, const words_t *words)
{
    char folder[SKN_TEXT_MAX];
    uint64_t least = UINT64_MAX;
    size_t base = strlen(root) + strlen(words->mount);
    int bytes =
        snprintf(folder, sizeof(folder), "%s%s%s", root, words->mount, group);
    if (bytes >= (int)sizeof(folder) || access(folder, F_OK) != 0)
        (void)snprintf(folder, sizeof(folder), "%s%s", root, words->mount);
    for (;;) {
        uint64_t left = left_in(folder, words);
        least = left < least ? left : least;
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= base || slash < folder + base)
            return least;
        *slash = '\0';
    }
}

/* Whether the comma-separated `list` of controllers has memory in it. */
static bool
has_memory(const char *list)
{
    const char *at = strstr(list, "memory");
    return at && (at == list || at[-1] == ',') &&
           (at[6] == '\0' || at[6] == ',');
}

uint64_t
skn_groups_memory_bytes(const char *root)
{
    char line[SKN_TEXT_MAX];
    uint64_t least = UINT64_MAX;
    FILE *file = open_in(root, "proc/self/cgroup");
    while (file && fgets(line, sizeof(line), file)) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        if (strcmp(group, "/") == 0)
            *group = '\0';
        bool modern = controllers[1] == '\0';
        if (!modern && !has_memory(controllers + 1))
            continue;
        uint64_t left =
            least_above(root, group, modern ? &version2 : &version1);
        least = left < least ? left : least;
    }
    if (file)
        (void)fclose(file);
    return least;
}
