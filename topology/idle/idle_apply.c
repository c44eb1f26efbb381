/* idle_apply.c - makes a process give way: its place, the class of its reads,
 * and the cores of its threads.
 *
 * Compute threads are bound to one core each. When the process gets fewer
 * cores, all threads may use any of those that are left, and the scheduler
 * shares them out. This file owns: each thread's binding from before.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/idle/idle_apply.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ioprio_set(2), which has no header: for one thread; class idle. */
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_IDLE (3 << 13)

typedef struct moved {
    pid_t task;
    cpu_set_t before;
    bool seen;
} moved_t;

struct skn_idle_apply {
    cpu_set_t cpus;
    uint32_t cpu_count;
    uint16_t core[CPU_SETSIZE];
    cpu_set_t left; /* cores that threads are bound to, while some are */
    moved_t *moved; /* SKN_IDLE_THREADS_MAX of them; pages come when used */
    size_t moved_count;
};

/* The first thread of the core of each processor; the processor itself if the
 * system does not report it. */
static void
read_cores(uint16_t *core)
{
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        char path[96];
        unsigned first = 0;
        core[cpu] = (uint16_t)cpu;
        (void)snprintf(path, sizeof(path),
                       "/sys/devices/system/cpu/cpu%zu/topology/"
                       "thread_siblings_list",
                       cpu);
        FILE *file = fopen(path, "re");
        if (!file)
            continue;
        if (fscanf(file, "%u", &first) == 1 && first < cpu)
            core[cpu] = (uint16_t)first;
        (void)fclose(file);
    }
}

skn_idle_apply_t *
skn_idle_apply_new(const cpu_set_t *cpus, skn_error_t *error)
{
    skn_idle_apply_t *apply = calloc(1, sizeof(*apply));
    moved_t *moved = calloc(SKN_IDLE_THREADS_MAX, sizeof(*moved));
    if (!apply || !moved) {
        free(apply);
        free(moved);
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory to give way");
        return NULL;
    }
    apply->cpus = *cpus;
    apply->cpu_count = (uint32_t)CPU_COUNT(cpus);
    apply->moved = moved;
    read_cores(apply->core);
    return apply;
}

void
skn_idle_apply_destroy(skn_idle_apply_t **apply)
{
    if (*apply)
        free((*apply)->moved);
    free(*apply);
    *apply = NULL;
}

static DIR *
tasks_of(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
    return opendir(path);
}

/* The next thread of the folder; 0: none. */
static pid_t
next_task(DIR *folder)
{
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        long task = strtol(entry->d_name, NULL, 10);
        if (task > 0)
            return (pid_t)task;
    }
    return 0;
}

/* --- once ---------------------------------------------------------------- */

static void
write_file(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return;
    if (write(file, text, strlen(text)) < 0)
        errno = 0; /* refused or not there: the contract allows for it */
    (void)close(file);
}

static void
limit_memory(const skn_idle_place_t *place, uint64_t bytes)
{
    char path[SKN_GROUPS_PATH_BYTES + 32], text[32];
    if (place->way != SKN_IDLE_WAY_GROUP2 || bytes == 0)
        return;
    (void)snprintf(text, sizeof(text), "%" PRIu64, bytes);
    (void)snprintf(path, sizeof(path), "%s/memory.high", place->path);
    write_file(path, text);
    (void)snprintf(path, sizeof(path), "%s/memory.swap.max", place->path);
    write_file(path, "0");
}

skn_status_t
skn_idle_apply_begin(skn_idle_apply_t *apply, const skn_idle_place_t *place,
                     pid_t pid, uint64_t memory_bytes, skn_error_t *error)
{
    char path[64];
    DIR *folder = tasks_of(pid);
    if (!folder)
        return skn_fail(error, SKN_UNAVAILABLE, "no such process: %ld",
                        (long)pid);
    for (pid_t task; (task = next_task(folder)) > 0;)
        (void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, task, IOPRIO_IDLE);
    (void)closedir(folder);
    (void)snprintf(path, sizeof(path), "/proc/%ld/oom_score_adj", (long)pid);
    write_file(path, "1000");
    limit_memory(place, memory_bytes);
    apply->moved_count = 0; /* the old ones are another process's */
    return skn_idle_place_join(place, pid, error);
}

/* --- cores --------------------------------------------------------------- */

/* The last cores, since interrupts usually arrive at the first. */
void
skn_idle_last_cpus(const cpu_set_t *cpus, const uint16_t *core, uint32_t count,
                   cpu_set_t *last)
{
    CPU_ZERO(last);
    for (size_t first = CPU_SETSIZE; first-- > 0;)
        for (size_t cpu = CPU_SETSIZE; cpu-- > first && count > 0;)
            if (core[cpu] == first && CPU_ISSET(cpu, cpus)) {
                CPU_SET(cpu, last);
                count--;
            }
}

static moved_t *
find_moved(skn_idle_apply_t *apply, pid_t task)
{
    for (size_t k = 0; k < apply->moved_count; k++)
        if (apply->moved[k].task == task)
            return &apply->moved[k];
    return NULL;
}

/* True if the thread was moved. A thread that is where it was put stays. One
 * that is elsewhere has bound itself, which counts as its binding from before.
 * A new thread that is where its maker was put has no binding from before. */
static bool
hold(skn_idle_apply_t *apply, pid_t task, const cpu_set_t *held, bool was_held)
{
    cpu_set_t now;
    moved_t *moved = find_moved(apply, task);
    if (sched_getaffinity(task, sizeof(now), &now) != 0)
        return false;
    if (!moved) {
        if (apply->moved_count == SKN_IDLE_THREADS_MAX)
            return false;
        moved = &apply->moved[apply->moved_count++];
        moved->task = task;
        moved->before =
            was_held && CPU_EQUAL(&now, &apply->left) ? apply->cpus : now;
    } else if (!CPU_EQUAL(&now, &apply->left) && !CPU_EQUAL(&now, held)) {
        moved->before = now;
    }
    moved->seen = true;
    return !CPU_EQUAL(&now, held) &&
           sched_setaffinity(task, sizeof(*held), held) == 0;
}

/* Puts each thread back to its former cores; threads that are elsewhere have
 * chosen that themselves. */
static size_t
give_back(skn_idle_apply_t *apply, pid_t pid)
{
    size_t count = 0;
    DIR *folder = apply->moved_count > 0 ? tasks_of(pid) : NULL;
    for (pid_t task; folder && (task = next_task(folder)) > 0;) {
        cpu_set_t now;
        const moved_t *moved = find_moved(apply, task);
        if (sched_getaffinity(task, sizeof(now), &now) != 0 ||
            !CPU_EQUAL(&now, &apply->left))
            continue;
        count += sched_setaffinity(task, sizeof(now),
                                   moved ? &moved->before : &apply->cpus) == 0;
    }
    if (folder)
        (void)closedir(folder);
    apply->moved_count = 0;
    return count;
}

/* Forgets threads that have ended, since their numbers are used again. */
static void
forget_ended(skn_idle_apply_t *apply)
{
    size_t kept = 0;
    for (size_t k = 0; k < apply->moved_count; k++)
        if (apply->moved[k].seen)
            apply->moved[kept++] = apply->moved[k];
    apply->moved_count = kept;
}

size_t
skn_idle_apply_cores(skn_idle_apply_t *apply, pid_t pid, uint32_t core_count)
{
    size_t count = 0;
    bool was_held = apply->moved_count > 0;
    if (core_count == 0 || core_count >= apply->cpu_count)
        return give_back(apply, pid);
    cpu_set_t held;
    skn_idle_last_cpus(&apply->cpus, apply->core, core_count, &held);
    DIR *folder = tasks_of(pid);
    for (size_t k = 0; k < apply->moved_count; k++)
        apply->moved[k].seen = false;
    for (pid_t task; folder && (task = next_task(folder)) > 0;)
        count += hold(apply, task, &held, was_held);
    if (folder)
        (void)closedir(folder);
    forget_ended(apply);
    apply->left = held;
    return count;
}
