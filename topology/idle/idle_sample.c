/* idle_sample.c - measures how busy others keep this machine, from kernel files
 * and the process tree of this program.
 *
 * CPU time of others = work of the processors - work of our tree. Both are in
 * ticks, from different accounts: a difference below 0 counts as 0. This file
 * owns: the numbers of the last sample.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/idle/idle_sample.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "actors/machine/usage.h"

/* /proc/stat has a line for each processor, followed by a long one of
 * interrupts. */
#define PROC_TEXT_BYTES 65536u
#define PROC_PATH_BYTES 512u
/* Processes of our tree; more count as others, which errs on the polite
 * side. */
#define TREE_MAX 64u
/* Processes of the machine, when the tree is looked up. */
#define TASKS_MAX 65536u
#define HISTORY_NS UINT64_C(10000000000)
/* A user who has typed within this time is there. */
#define SOMEBODY_S 300

struct skn_idle_sampler {
    char root[PROC_PATH_BYTES / 2];
    pid_t self;
    cpu_set_t cpus;
    pid_t tree[TREE_MAX];
    uint64_t ticks[TREE_MAX]; /* each process's, at the last call */
    size_t tree_count;
    bool begun;
    uint64_t last_ns, look_ns, busy_ticks;
    double inside;
    double ticks_per_s;
    char text[PROC_TEXT_BYTES];
};

/* --- texts of the kernel ------------------------------------------------- */

bool
skn_idle_task_read(const char *text, skn_idle_task_t *task)
{
    uint64_t t[4]; /* user, system, and the same of children */
    int pid = 0, parent = 0;
    const char *end = strrchr(text, ')'); /* the name may contain anything */
    if (!end || sscanf(text, "%d (", &pid) != 1)
        return false;
    if (sscanf(end,
               ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64
               " %" SCNu64 " %" SCNu64 " %" SCNu64 " %*d %*d %*d %*d %" SCNu64,
               &parent, &t[0], &t[1], &t[2], &t[3], &task->started) != 6)
        return false;
    task->pid = pid;
    task->parent = parent;
    task->ticks = t[0] + t[1] + t[2] + t[3];
    return true;
}

/* The number at the start of `text`; -1: none. */
static double
number_at(const char *text)
{
    char *end;
    double number = skn_text_real(text, &end);
    return end == text ? -1.0 : number;
}

double
skn_idle_pressure(const char *text)
{
    static const char key[] = "some avg10=";
    const char *some = strstr(text, key);
    double percent = number_at(some ? some + strlen(key) : "");
    return percent >= 0.0 ? percent : -1.0;
}

/* The kB in a line of /proc/meminfo; -1: none. */
static double
kilobytes(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return number_at(at && at[strlen(name)] == ':' ? at + strlen(name) + 1
                                                   : "");
}

double
skn_idle_memory_free(const char *text)
{
    double total = kilobytes(text, "MemTotal");
    double available = kilobytes(text, "MemAvailable");
    return total > 0.0 && available >= 0.0 ? available / total : -1.0;
}

/* --- files --------------------------------------------------------------- */

/* The text of a file, cut off at PROC_TEXT_BYTES; "" if it cannot be read. */
static const char *
text_of(skn_idle_sampler_t *sampler, const char *path)
{
    size_t bytes = 0;
    ssize_t got = 0;
    char whole[PROC_PATH_BYTES];
    (void)snprintf(whole, sizeof(whole), "%s%s", sampler->root, path);
    int file = open(whole, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        while (bytes < PROC_TEXT_BYTES - 1 &&
               (got = read(file, sampler->text + bytes,
                           PROC_TEXT_BYTES - 1 - bytes)) > 0)
            bytes += (size_t)got;
        (void)close(file);
    }
    sampler->text[bytes] = '\0';
    return sampler->text;
}

static bool
read_task(skn_idle_sampler_t *sampler, long pid, skn_idle_task_t *task)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    return skn_idle_task_read(text_of(sampler, path), task) &&
           task->pid == (pid_t)pid;
}

static DIR *
folder_of(const skn_idle_sampler_t *sampler, const char *path)
{
    char whole[PROC_PATH_BYTES];
    (void)snprintf(whole, sizeof(whole), "%s%s", sampler->root, path);
    return opendir(whole);
}

/* --- our process tree ---------------------------------------------------- */

static bool
is_ours(const skn_idle_sampler_t *sampler, pid_t pid)
{
    for (size_t k = 0; k < sampler->tree_count; k++)
        if (sampler->tree[k] == pid)
            return true;
    return false;
}

static void
add_to_tree(skn_idle_sampler_t *sampler, const skn_idle_task_t *task)
{
    if (sampler->tree_count == TREE_MAX)
        return;
    sampler->tree[sampler->tree_count] = task->pid;
    sampler->ticks[sampler->tree_count++] = task->ticks;
}

/* All processes of the machine, as (pid, parent); the caller's to free. */
static skn_idle_task_t *
read_tasks(skn_idle_sampler_t *sampler, size_t *count)
{
    DIR *folder = folder_of(sampler, "/proc");
    skn_idle_task_t *tasks = NULL;
    size_t room = 0;
    *count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (*end || pid <= 0 || *count == TASKS_MAX)
            continue;
        if (*count == room) {
            size_t more = room ? 2 * room : 256;
            skn_idle_task_t *moved = realloc(tasks, more * sizeof(*tasks));
            if (!moved)
                break;
            tasks = moved;
            room = more;
        }
        *count += read_task(sampler, pid, &tasks[*count]);
    }
    if (folder)
        (void)closedir(folder);
    return tasks;
}

/* Processes that have joined since the last lookup count from now on. */
static void
look_up_tree(skn_idle_sampler_t *sampler)
{
    size_t count = 0, before;
    skn_idle_task_t *tasks = read_tasks(sampler, &count);
    do {
        before = sampler->tree_count;
        for (size_t k = 0; k < count; k++)
            if (!is_ours(sampler, tasks[k].pid) &&
                (tasks[k].pid == sampler->self ||
                 is_ours(sampler, tasks[k].parent)))
                add_to_tree(sampler, &tasks[k]);
    } while (sampler->tree_count > before);
    free(tasks);
}

/* Ticks of our tree since the last call. The time of a child that was waited
 * for has moved to its parent, which has grown by ticks that were counted
 * before. */
static uint64_t
take_ours(skn_idle_sampler_t *sampler)
{
    uint64_t grown = 0, gone = 0;
    size_t kept = 0;
    for (size_t k = 0; k < sampler->tree_count; k++) {
        skn_idle_task_t task;
        if (!read_task(sampler, sampler->tree[k], &task)) {
            gone += sampler->ticks[k];
            continue;
        }
        if (task.ticks > sampler->ticks[k])
            grown += task.ticks - sampler->ticks[k];
        sampler->tree[kept] = task.pid;
        sampler->ticks[kept++] = task.ticks;
    }
    sampler->tree_count = kept;
    return grown > gone ? grown - gone : 0;
}

/* --- power and users ----------------------------------------------------- */

/* True if a battery is "Discharging" and no other supply is on line. */
static bool
runs_on_battery(skn_idle_sampler_t *sampler)
{
    static const char supplies[] = "/sys/class/power_supply";
    DIR *folder = folder_of(sampler, supplies);
    bool on_battery = false, powered = false;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[PROC_PATH_BYTES / 2];
        if (entry->d_name[0] == '.' || strlen(entry->d_name) > 64)
            continue;
        (void)snprintf(path, sizeof(path), "%s/%.64s/type", supplies,
                       entry->d_name);
        bool battery = strncmp(text_of(sampler, path), "Battery", 7) == 0;
        (void)snprintf(path, sizeof(path), "%s/%.64s/%s", supplies,
                       entry->d_name, battery ? "status" : "online");
        const char *text = text_of(sampler, path);
        on_battery |= battery && strncmp(text, "Discharging", 11) == 0;
        powered |= !battery && text[0] == '1';
    }
    if (folder)
        (void)closedir(folder);
    return on_battery && !powered;
}

/* A terminal's access time is that of the last key (tty(4)). */
static bool
somebody_types(const skn_idle_sampler_t *sampler, const char *path,
               const char *prefix)
{
    DIR *folder = folder_of(sampler, path);
    struct timespec now;
    bool found = false;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        struct stat facts;
        size_t skipped = strlen(prefix);
        if (strncmp(entry->d_name, prefix, skipped) != 0 ||
            entry->d_name[skipped] < '0' || entry->d_name[skipped] > '9')
            continue;
        found = fstatat(dirfd(folder), entry->d_name, &facts, 0) == 0 &&
                facts.st_atim.tv_sec <= now.tv_sec &&
                now.tv_sec - facts.st_atim.tv_sec < SOMEBODY_S;
    }
    if (folder)
        (void)closedir(folder);
    return found;
}

/* --- samples ------------------------------------------------------------- */

skn_idle_sampler_t *
skn_idle_sampler_new(const char *root, pid_t self, const cpu_set_t *cpus,
                     skn_error_t *error)
{
    skn_idle_sampler_t *sampler = calloc(1, sizeof(*sampler));
    if (!sampler) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory to watch the machine");
        return NULL;
    }
    (void)snprintf(sampler->root, sizeof(sampler->root), "%s", root);
    sampler->self = self;
    sampler->cpus = *cpus;
    sampler->ticks_per_s = (double)sysconf(_SC_CLK_TCK);
    return sampler;
}

void
skn_idle_sampler_destroy(skn_idle_sampler_t **sampler)
{
    free(*sampler);
    *sampler = NULL;
}

void
skn_idle_sampler_refresh(skn_idle_sampler_t *sampler)
{
    sampler->look_ns = 0;
}

double
skn_idle_sampler_inside(const skn_idle_sampler_t *sampler)
{
    return sampler->inside;
}

/* Cores that others used since the last call; sets those of our tree. */
static double
take_outside(skn_idle_sampler_t *sampler, uint64_t now_ns)
{
    uint32_t cpu_count = 0;
    uint64_t ours = take_ours(sampler);
    uint64_t busy = skn_usage_busy_ticks(text_of(sampler, "/proc/stat"),
                                         &sampler->cpus, &cpu_count);
    double span =
        (double)(now_ns - sampler->last_ns) / 1e9 * sampler->ticks_per_s;
    double all = (double)busy - (double)sampler->busy_ticks;
    bool known = sampler->begun && cpu_count > 0 && span > 0.0 && all >= 0.0;
    sampler->busy_ticks = busy;
    sampler->last_ns = now_ns;
    sampler->begun = cpu_count > 0;
    if (!known)
        return -1.0;
    sampler->inside = (double)ours / span;
    return all > (double)ours ? (all - (double)ours) / span : 0.0;
}

void
skn_idle_sampler_take(skn_idle_sampler_t *sampler, uint64_t now_ns,
                      skn_idle_sample_t *sample)
{
    memset(sample, 0, sizeof(*sample));
    sample->now_ns = now_ns;
    sample->outside = take_outside(sampler, now_ns);
    if (sampler->look_ns == 0 || now_ns - sampler->look_ns >= HISTORY_NS) {
        look_up_tree(sampler);
        sampler->look_ns = now_ns > 0 ? now_ns : 1;
    }
    sample->memory_pressure =
        skn_idle_pressure(text_of(sampler, "/proc/pressure/memory"));
    sample->io_pressure =
        skn_idle_pressure(text_of(sampler, "/proc/pressure/io"));
    sample->memory_free =
        skn_idle_memory_free(text_of(sampler, "/proc/meminfo"));
    sample->on_battery = runs_on_battery(sampler);
    sample->somebody = somebody_types(sampler, "/dev/pts", "") ||
                       somebody_types(sampler, "/dev", "tty");
}
