/* groups.c - reads limits of memory, processor time and threads up the tree of
 * control groups.
 *
 * /proc/self/cgroup names the group of each hierarchy, /proc/self/mountinfo
 * where the hierarchy is mounted, and from which of its groups on. In a
 * container the name may be one of the host, which does not exist there: then
 * the mount point is the container's own group. Kernel documentation:
 * admin-guide/cgroup-v2.rst, "Memory Interface Files", "CPU Interface Files",
 * "PID Interface Files"; cgroup-v1/memory.rst, 5.2; scheduler/sched-bwc.rst.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/machine/groups.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skein/limits.h"

/* Version 1 has this value, in pages, for "no limit". */
#define NO_LIMIT_V1 (UINT64_MAX / 2 / 4096 * 4096)

/* The names of files and fields in one of the two versions. */
typedef struct words {
    const char *limit, *pressed, *usage, *inactive, *active;
} words_t;

static const words_t version1 = { "memory.limit_in_bytes", NULL,
                                  "memory.usage_in_bytes",
                                  "total_inactive_file %" SCNu64,
                                  "total_active_file %" SCNu64 };
static const words_t version2 = { "memory.max", "memory.high", "memory.current",
                                  "inactive_file %" SCNu64,
                                  "active_file %" SCNu64 };

/* --- texts of the kernel ------------------------------------------------- */

/* True if the list "a,b,c", which ends at `end`, contains `word`. */
static bool
lists(const char *list, const char *end, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        if ((size_t)(stop - at) == length && memcmp(at, word, length) == 0)
            return true;
        at = stop + 1;
    }
    return false;
}

static size_t
line_length(const char *line)
{
    return strcspn(line, "\n");
}

/* One line: ... root mount options [fields] - type source options. */
static bool
mount_of_line(const char *line, const char *controller, char *mount, char *root)
{
    char type[SKN_GROUPS_PATH_BYTES];
    const char *end = line + line_length(line);
    const char *dash = strstr(line, " - ");
    int at = 0;
    if (!dash || dash >= end ||
        sscanf(line, "%*s %*s %*s %511s %511s", root, mount) != 2 ||
        sscanf(dash, " - %511s %*s %n", type, &at) != 1 || at == 0 ||
        strchr(mount, '\\') || strchr(root, '\\')) /* they contain blanks */
        return false;
    if (!controller)
        return strcmp(type, "cgroup2") == 0;
    return strcmp(type, "cgroup") == 0 && lists(dash + at, end, controller);
}

bool
skn_groups_mount(const char *mounts, const char *controller, char *mount,
                 char *root)
{
    for (const char *line = mounts; *line;) {
        if (mount_of_line(line, controller, mount, root))
            return true;
        line += line_length(line);
        line += *line == '\n';
    }
    return false;
}

bool
skn_groups_own(const char *groups, const char *controller, char *path)
{
    for (const char *line = groups; *line;) {
        const char *end = line + line_length(line);
        const char *first = memchr(line, ':', (size_t)(end - line));
        const char *second =
            first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
        bool is = second && (controller ? lists(first + 1, second, controller)
                                        : strncmp(line, "0::", 3) == 0);
        if (is && (size_t)(end - second) <= SKN_GROUPS_PATH_BYTES) {
            (void)snprintf(path, SKN_GROUPS_PATH_BYTES, "%.*s",
                           (int)(end - second - 1), second + 1);
            return true;
        }
        line = end + (*end == '\n');
    }
    return false;
}

/* --- files --------------------------------------------------------------- */

static FILE *
open_in(const char *folder, const char *name)
{
    char path[SKN_TEXT_MAX];
    int bytes = snprintf(path, sizeof(path), "%s/%s", folder, name);
    return bytes < (int)sizeof(path) ? fopen(path, "re") : NULL;
}

/* Reads a file that is one number; false if it is not. */
static bool
read_number(const char *folder, const char *name, uint64_t *number)
{
    FILE *file = open_in(folder, name);
    bool found = file && fscanf(file, "%" SCNu64, number) == 1;
    if (file)
        (void)fclose(file);
    return found;
}

/* Reads the bytes of cached file pages in the group, which the kernel reclaims
 * when memory is needed. */
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

/* Bytes that the group of `folder` alone leaves. Above memory.high, of version
 * 2, the kernel throttles every allocation until the process hardly moves. */
static double
bytes_left(const char *folder, bool modern)
{
    const words_t *words = modern ? &version2 : &version1;
    uint64_t limit = UINT64_MAX, pressed, usage = 0;
    (void)read_number(folder, words->limit, &limit);
    if (words->pressed && read_number(folder, words->pressed, &pressed) &&
        pressed < limit)
        limit = pressed;
    if (limit >= NO_LIMIT_V1)
        return INFINITY;
    (void)read_number(folder, words->usage, &usage);
    uint64_t reclaimable = read_reclaimable(folder, words);
    usage -= reclaimable < usage ? reclaimable : usage;
    return limit > usage ? (double)(limit - usage) : 0;
}

/* --- processor time ------------------------------------------------------ */

/* Processing units that the group of `folder` may use: "max 100000" or "40000
 * 100000" in version 2; in version 1 two files, of which one is -1 for no
 * limit. */
static double
units_of(const char *folder, bool modern)
{
    uint64_t quota_us = 0, period_us = 0;
    FILE *file = modern ? open_in(folder, "cpu.max") : NULL;
    bool found = modern
                     ? file && fscanf(file, "%" SCNu64 " %" SCNu64, &quota_us,
                                      &period_us) == 2
                     : read_number(folder, "cpu.cfs_quota_us", &quota_us) &&
                           read_number(folder, "cpu.cfs_period_us", &period_us);
    if (file)
        (void)fclose(file);
    return found && quota_us <= INT64_MAX && quota_us > 0 && period_us > 0
               ? (double)quota_us / (double)period_us
               : INFINITY;
}

/* Threads and processes that the group of `folder` may still start. */
static double
threads_left(const char *folder, bool modern)
{
    uint64_t limit, usage = 0;
    (void)modern;
    if (!read_number(folder, "pids.max", &limit))
        return INFINITY;
    (void)read_number(folder, "pids.current", &usage);
    return limit > usage ? (double)(limit - usage) : 0;
}

/* The negative of the time for which its quota throttled the group: the least
 * value is then the longest time. */
static double
throttled_of(const char *folder, bool modern)
{
    char line[128];
    uint64_t number;
    double throttled_ns = INFINITY;
    FILE *file = open_in(folder, "cpu.stat");
    while (file && fgets(line, sizeof(line), file)) {
        if (!modern && sscanf(line, "throttled_time %" SCNu64, &number) == 1)
            throttled_ns = -(double)number;
        if (modern && sscanf(line, "throttled_usec %" SCNu64, &number) == 1)
            throttled_ns = -1000.0 * (double)number;
    }
    if (file)
        (void)fclose(file);
    return throttled_ns;
}

/* --- the tree ------------------------------------------------------------ */

/* The place of a hierarchy: the group at its mount point, and the mount
 * point. */
typedef struct group_place {
    char group[SKN_GROUPS_PATH_BYTES], mount[SKN_GROUPS_PATH_BYTES];
} group_place_t;

/* If /proc/self/mountinfo does not list it, the customary mount point is
 * used. */
static void
find_mount(const char *root, const char *controller, bool modern,
           group_place_t *place)
{
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    FILE *file = open_in(root, "proc/self/mountinfo");
    while (file && !found && getline(&line, &room, file) > 0)
        found = skn_groups_mount(line, modern ? NULL : controller, place->mount,
                                 place->group);
    free(line);
    if (file)
        (void)fclose(file);
    if (found)
        return;
    place->group[0] = '\0';
    (void)snprintf(place->mount, sizeof(place->mount), "/sys/fs/cgroup%s%s",
                   modern ? "" : "/", modern ? "" : controller);
}

/* Returns the part of `group` below the group that is mounted; "" for that
 * group itself. */
static const char *
below(const group_place_t *place, const char *group)
{
    size_t bytes = strlen(place->group);
    if (strcmp(place->group, "/") == 0)
        bytes = 0;
    bool inside = strncmp(group, place->group, bytes) == 0 &&
                  (group[bytes] == '/' || group[bytes] == '\0');
    return inside ? group + bytes : "";
}

/* Writes the folder of the group, and returns the length of the part above all
 * groups: the mount point, which is used for a group whose folder does not
 * exist. */
static size_t
find_folder(const char *root, const group_place_t *place, const char *group,
            char folder[SKN_TEXT_MAX])
{
    int bytes = snprintf(folder, SKN_TEXT_MAX, "%s%s%s", root, place->mount,
                         below(place, group));
    if (bytes >= (int)SKN_TEXT_MAX || access(folder, F_OK) != 0)
        (void)snprintf(folder, SKN_TEXT_MAX, "%s%s", root, place->mount);
    return strlen(root) + strlen(place->mount);
}

/* Replaces the folder by the one above; false if there is none. */
static bool
go_up(char *folder, size_t base)
{
    char *slash = strrchr(folder, '/');
    if (strlen(folder) <= base || !slash || slash < folder + base)
        return false;
    *slash = '\0';
    return true;
}

/* Finds the next hierarchy of /proc/self/cgroup that has `controller` (version
 * 1) or all controllers (version 2): whether it is version 2, and its group, in
 * `line`. */
static bool
next_group(FILE *file, const char *controller, char line[SKN_TEXT_MAX],
           bool *modern, char **group)
{
    while (file && fgets(line, SKN_TEXT_MAX, file)) {
        char *controllers = strchr(line, ':');
        *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!*group)
            continue;
        *(*group)++ = '\0';
        (*group)[strcspn(*group, "\n")] = '\0';
        if (strcmp(*group, "/") == 0)
            **group = '\0';
        *modern = controllers[1] == '\0';
        if (*modern || lists(controllers + 1, *group - 1, controller))
            return true;
    }
    return false;
}

/* The least value over all groups that contain this process; INFINITY if none
 * has a limit. */
static double
least_of(const char *root, const char *controller,
         double (*ask)(const char *folder, bool modern))
{
    char line[SKN_TEXT_MAX], folder[SKN_TEXT_MAX], *group;
    group_place_t place;
    double least = INFINITY;
    bool modern;
    FILE *file = open_in(root, "proc/self/cgroup");
    while (next_group(file, controller, line, &modern, &group)) {
        find_mount(root, controller, modern, &place);
        size_t base = find_folder(root, &place, group, folder);
        do
            least = fmin(least, ask(folder, modern));
        while (go_up(folder, base));
    }
    if (file)
        (void)fclose(file);
    return least;
}

uint64_t
skn_groups_memory_bytes(const char *root)
{
    double least = least_of(root, "memory", bytes_left);
    return isfinite(least) ? (uint64_t)least : UINT64_MAX;
}

double
skn_groups_units(const char *root)
{
    double least = least_of(root, "cpu", units_of);
    return isfinite(least) ? least : 0;
}

uint64_t
skn_groups_threads(const char *root)
{
    double least = least_of(root, "pids", threads_left);
    return isfinite(least) ? (uint64_t)least : UINT64_MAX;
}

uint64_t
skn_groups_throttled_ns(const char *root)
{
    double least = least_of(root, "cpu", throttled_of);
    return isfinite(least) ? (uint64_t)-least : 0;
}
