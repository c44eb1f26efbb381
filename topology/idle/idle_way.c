/* idle_way.c - gives way by control groups, sessions and scheduling classes.
 *
 * A group is called skein-idle-PID-START, where START is when the process began
 * (field 22 of /proc/PID/stat), so that a process with a reused PID is not
 * taken for the one that made the group. cgroups(7), sched(7), "The autogroup
 * feature". This file owns: the names of groups.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/idle/idle_way.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "topology/idle/idle_sample.h"

#define GROUP_PREFIX "skein-idle-"
/* More mounts than any machine has; mounts beyond it are not seen. */
#define GROUP_TEXT_BYTES 65536u

static const char *const names[] = {
    [SKN_IDLE_WAY_GROUP2] = "a control group with cpu.idle (v2)",
    [SKN_IDLE_WAY_GROUP1] = "a control group with cpu.idle (v1)",
    [SKN_IDLE_WAY_SHARES] = "a control group with cpu.shares 2 (v1)",
    [SKN_IDLE_WAY_SESSION] = "its own session at nice 19 with SCHED_IDLE",
};

const char *
skn_idle_way_name(skn_idle_way_t way)
{
    return way < SKN_IDLE_WAY_COUNT ? names[way] : "nothing";
}

/* --- files --------------------------------------------------------------- */

static bool
read_text(const char *path, char *text, size_t text_bytes)
{
    size_t bytes = 0;
    ssize_t got = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    text[0] = '\0';
    if (file < 0)
        return false;
    while (bytes < text_bytes - 1 &&
           (got = read(file, text + bytes, text_bytes - 1 - bytes)) > 0)
        bytes += (size_t)got;
    (void)close(file);
    text[bytes] = '\0';
    return true;
}

/* Writes to an existing file: a file that the kernel does not offer is not
 * made. */
static bool
write_text(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    size_t bytes = strlen(text);
    if (file < 0)
        return false;
    bool good = write(file, text, bytes) == (ssize_t)bytes;
    int why = errno;
    (void)close(file);
    errno = why;
    return good;
}

static bool
write_in(const char *folder, const char *name, const char *text)
{
    char path[SKN_GROUPS_PATH_BYTES + 64];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return write_text(path, text);
}

/* --- locations of groups ------------------------------------------------- */

/* True if the group at `path` has a limit that moving would escape. */
static bool
is_limited(const char *path)
{
    static const char *const files[][2] = {
        { "cpu.max", "max " },
        { "memory.max", "max\n" },
        { "cpuset.cpus", "\n" },
        { "cpu.cfs_quota_us", "-1\n" },
    };
    char name[SKN_GROUPS_PATH_BYTES + 64], text[128];
    for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
        (void)snprintf(name, sizeof(name), "%s/%s", path, files[k][0]);
        if (read_text(name, text, sizeof(text)) && text[0] &&
            strncmp(text, files[k][1], strlen(files[k][1])) != 0)
            return true;
    }
    return false;
}

/* The mount point of the hierarchy. False: it is not mounted, or this process
 * is in a group that has limits. */
static bool
find_top(const char *controller, char *top)
{
    static char text[GROUP_TEXT_BYTES];
    char root[SKN_GROUPS_PATH_BYTES], own[SKN_GROUPS_PATH_BYTES];
    char path[2 * SKN_GROUPS_PATH_BYTES];
    if (!read_text("/proc/self/mountinfo", text, sizeof(text)) ||
        !skn_groups_mount(text, controller, top, root) ||
        !read_text("/proc/self/cgroup", text, sizeof(text)) ||
        !skn_groups_own(text, controller, own))
        return false;
    size_t skipped = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(own, root, skipped) != 0)
        skipped = 0; /* mounted from elsewhere: the name starts there */
    (void)snprintf(path, sizeof(path), "%s%s", top, own + skipped);
    /* From our own group upwards, without the top. */
    for (size_t length = strlen(path); length > strlen(top);) {
        while (length > 0 && path[length - 1] == '/')
            path[--length] = '\0';
        if (length <= strlen(top))
            break;
        if (is_limited(path))
            return false;
        while (length > 0 && path[length - 1] != '/')
            path[--length] = '\0';
    }
    return true;
}

static uint64_t
started_at(long pid)
{
    char path[64], text[1024];
    skn_idle_task_t task;
    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    return read_text(path, text, sizeof(text)) &&
                   skn_idle_task_read(text, &task)
               ? task.started
               : 0;
}

static const char *
controller_of(skn_idle_way_t way)
{
    return way == SKN_IDLE_WAY_GROUP2 ? NULL : "cpu";
}

/* --- open, join, close --------------------------------------------------- */

static bool
make_idle(const skn_idle_place_t *place, bool idle)
{
    if (place->way == SKN_IDLE_WAY_SHARES)
        return write_in(place->path, "cpu.shares", idle ? "2" : "1024");
    return write_in(place->path, "cpu.idle", idle ? "1" : "0");
}

static skn_status_t
open_group(skn_idle_place_t *place, skn_error_t *error)
{
    char top[SKN_GROUPS_PATH_BYTES];
    const char *name = skn_idle_way_name(place->way);
    if (!find_top(controller_of(place->way), top))
        return skn_fail(
            error, SKN_UNAVAILABLE,
            "%s: no such hierarchy, or the group would escape a limit", name);
    int length =
        snprintf(place->path, sizeof(place->path),
                 "%s/" GROUP_PREFIX "%ld-%" PRIu64 "-%d", top, (long)getpid(),
                 started_at(getpid()), (int)place->way);
    if (length < 0 || (size_t)length >= sizeof(place->path) ||
        (mkdir(place->path, 0755) != 0 && errno != EEXIST)) {
        place->path[0] = '\0';
        return skn_fail(error, SKN_UNAVAILABLE, "%s: %s: %s", name, top,
                        strerror(errno));
    }
    if (make_idle(place, true))
        return SKN_OK;
    skn_status_t status = skn_fail(error, SKN_UNAVAILABLE, "%s: %.160s: %s",
                                   name, place->path, strerror(errno));
    skn_idle_place_close(place);
    return status;
}

skn_status_t
skn_idle_place_open(skn_idle_place_t *place, skn_idle_way_t way,
                    skn_error_t *error)
{
    memset(place, 0, sizeof(*place));
    place->way = way;
    return way == SKN_IDLE_WAY_SESSION ? SKN_OK : open_group(place, error);
}

/* Gives all threads of the process a policy, and repeats until no thread has
 * another, since new threads inherit from their maker. */
static skn_status_t
set_policy(pid_t pid, int policy, skn_error_t *error)
{
    const struct sched_param none = { 0 };
    char path[64];
    bool found = true;
    (void)snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
    for (int round = 0; found && round < 8; round++) {
        DIR *folder = opendir(path);
        if (!folder)
            return skn_fail(error, SKN_UNAVAILABLE, "no such process: %ld",
                            (long)pid);
        found = false;
        for (struct dirent *entry; (entry = readdir(folder));) {
            pid_t task = (pid_t)strtol(entry->d_name, NULL, 10);
            if (task <= 0 || sched_getscheduler(task) == policy)
                continue;
            found = true;
            if (sched_setscheduler(task, policy, &none) != 0 &&
                errno != ESRCH) {
                (void)closedir(folder);
                return skn_fail(error, SKN_UNAVAILABLE,
                                "class %d for thread %ld: %s", policy,
                                (long)task, strerror(errno));
            }
        }
        (void)closedir(folder);
    }
    return SKN_OK;
}

skn_status_t
skn_idle_place_join(const skn_idle_place_t *place, pid_t pid,
                    skn_error_t *error)
{
    char text[64];
    if (place->way != SKN_IDLE_WAY_SESSION) {
        (void)snprintf(text, sizeof(text), "%ld", (long)pid);
        if (make_idle(place, true) &&
            write_in(place->path, "cgroup.procs", text))
            return SKN_OK;
        return skn_fail(error, SKN_UNAVAILABLE, "%.160s/cgroup.procs: %s",
                        place->path, strerror(errno));
    }
    /* No such file: the kernel does not group by session. */
    (void)snprintf(text, sizeof(text), "/proc/%ld/autogroup", (long)pid);
    if (getsid(pid) != getsid(0) && !write_text(text, "19") && errno != ENOENT)
        return skn_fail(error, SKN_UNAVAILABLE, "%s: %s", text,
                        strerror(errno));
    return set_policy(pid, SCHED_IDLE, error);
}

void
skn_idle_place_hurry(const skn_idle_place_t *place, pid_t pid)
{
    char path[64];
    if (place->way != SKN_IDLE_WAY_SESSION) {
        (void)make_idle(place, false);
        return;
    }
    (void)snprintf(path, sizeof(path), "/proc/%ld/autogroup", (long)pid);
    if (getsid(pid) != getsid(0))
        (void)write_text(path, "0");
    (void)set_policy(pid, SCHED_OTHER, NULL);
}

void
skn_idle_place_close(skn_idle_place_t *place)
{
    if (place->path[0])
        (void)rmdir(place->path);
    place->path[0] = '\0';
}

static void
clean_folder(const char *top)
{
    DIR *folder = opendir(top);
    char path[2 * SKN_GROUPS_PATH_BYTES];
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        long pid = 0;
        uint64_t start = 0;
        if (sscanf(entry->d_name, GROUP_PREFIX "%ld-%" SCNu64, &pid, &start) !=
                2 ||
            (pid > 0 && started_at(pid) == start))
            continue;
        /* A group in use stays: the kernel refuses. */
        (void)snprintf(path, sizeof(path), "%s/%s", top, entry->d_name);
        (void)rmdir(path);
    }
    if (folder)
        (void)closedir(folder);
}

void
skn_idle_place_clean(void)
{
    char top[SKN_GROUPS_PATH_BYTES];
    if (find_top(NULL, top))
        clean_folder(top);
    if (find_top("cpu", top))
        clean_folder(top);
}
