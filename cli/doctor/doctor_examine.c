/* doctor_examine.c - examines this machine as a run will find it.
 *
 * It checks only what changes how Skein runs, and each finding has a remedy:
 * huge pages, the binding of threads, open files, quotas, the work of others.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor_examine.h"

#include <assert.h>
#include <dirent.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "cli/doctor/doctor_libraries.h"
#include "actors/machine/groups.h"
#include "topology/idle/idle_sample.h"
#include "topology/idle/idle_trial.h"
#include "topology/run/model_run.h"

/* An actor has an inbox, a control socket and their signalers: about 8
 * descriptors. 64 actors and data files need this. */
#define FILES_WANTED 1024u
#define FILES_NEEDED 256u
/* With less, not even the small data sets train (plan_memory.c: 96 MiB and the
 * data). */
#define MEMORY_NEEDED ((uint64_t)256 << 20)
#define MEMORY_WANTED ((uint64_t)1 << 30)
#define DISK_WANTED ((uint64_t)1 << 30)

typedef struct examination {
    const char *root; /* root of the control groups */
    cli_finding_t *findings;
    size_t count;
} examination_t;

__attribute__((format(printf, 4, 5))) static cli_finding_t *
add(examination_t *examination, const char *name, cli_health_t health,
    const char *format, ...)
{
    cli_finding_t *finding = &examination->findings[examination->count];
    va_list arguments;
    assert(examination->count < CLI_FINDINGS_MAX);
    examination->count++;
    finding->name = name;
    finding->health = health;
    finding->fix[0] = '\0';
    va_start(arguments, format);
    (void)skn_text_write_list(finding->found, sizeof(finding->found), format,
                              arguments);
    va_end(arguments);
    return finding;
}

static void
advise(cli_finding_t *finding, const char *fix)
{
    (void)snprintf(finding->fix, sizeof(finding->fix), "%s", fix);
}

/* The first line of a file; false if there is none. */
static bool
first_line(const char *path, char *line, int line_bytes)
{
    FILE *file = fopen(path, "re");
    bool there = file && fgets(line, line_bytes, file);
    if (file)
        (void)fclose(file);
    if (there)
        line[strcspn(line, "\n")] = '\0';
    return there;
}

void
cli_auto_report_word(const char *line, char *word, size_t word_bytes)
{
    const char *start = strchr(line, '[');
    const char *end = start ? strchr(start, ']') : NULL;
    word[0] = '\0';
    if (end)
        (void)snprintf(word, word_bytes, "%.*s", (int)(end - start - 1),
                       start + 1);
}

/* --- the processor ------------------------------------------------------- */

static void
look_at_units(examination_t *examination)
{
    skn_error_t error = { 0 };
    uint32_t units = skn_unit_count(&error);
    if (units == 0) {
        advise(add(examination, "units", CLI_BROKEN, "%.150s", error.text),
               "hwloc cannot see the machine: is /sys mounted?");
        return;
    }
    double quota = skn_groups_units(examination->root);
    if (quota > 0 && quota < (double)units)
        advise(
            add(examination, "units", CLI_SLOW,
                "%u processing unit%s, but a quota of %.2f", units,
                units == 1 ? "" : "s", quota),
            "raise the control group's quota (cpu.max, or cpu.cfs_quota_us), "
            "or give -o resources.cores=N so that fewer actors compute");
    else
        (void)add(examination, "units", CLI_FINE, "%u processing unit%s", units,
                  units == 1 ? "" : "s");
}

static void
look_at_nodes(examination_t *examination)
{
    DIR *folder = opendir("/sys/devices/system/node");
    int nodes = 0, number;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        nodes += sscanf(entry->d_name, "node%d", &number) == 1;
    if (folder)
        (void)closedir(folder);
    (void)add(examination, "memory nodes", CLI_FINE, "%d%s", nodes ? nodes : 1,
              nodes > 1 ? ": rows lie on the node of their shard" : "");
}

static void
look_at_kernels(examination_t *examination)
{
    const char *used = cli_kernels_used(), *best = cli_kernels_best();
    const char *asked = getenv("SKEIN_ISA");
    if (!used)
        advise(add(examination, "kernels", CLI_BROKEN,
                   "SKEIN_ISA=%.40s: this processor or this build lacks it",
                   asked ? asked : ""),
               "unset SKEIN_ISA");
    else if (strcmp(used, best) != 0)
        advise(add(examination, "kernels", CLI_SLOW,
                   "%s, set by SKEIN_ISA; %s would be faster", used, best),
               "unset SKEIN_ISA");
    else if (strcmp(used, "scalar") == 0)
        advise(add(examination, "kernels", CLI_SLOW, "scalar (available: %s)",
                   cli_kernels_built()),
               "a processor with AVX2 is several times faster");
    else
        (void)add(examination, "kernels", CLI_FINE, "%s", used);
}

static void
look_at_binding(examination_t *examination)
{
    cpu_set_t all, one;
    size_t cpu = 0;
    CPU_ZERO(&one);
    bool bound = sched_getaffinity(0, sizeof(all), &all) == 0;
    while (bound && cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &all))
        cpu++;
    CPU_SET(cpu, &one);
    bound = bound && sched_setaffinity(0, sizeof(one), &one) == 0 &&
            sched_setaffinity(0, sizeof(all), &all) == 0;
    if (bound)
        (void)add(examination, "binding", CLI_FINE,
                  "threads can be bound to units");
    else
        advise(add(examination, "binding", CLI_SLOW,
                   "threads cannot be bound to units"),
               "allow sched_setaffinity in the container's profile");
}

static void
look_at_clock(examination_t *examination)
{
    char line[64];
    if (!first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                    line, sizeof(line)))
        return;
    if (strcmp(line, "powersave") == 0)
        advise(add(examination, "clock rate", CLI_SLOW, "governor powersave"),
               "cpupower frequency-set -g performance");
    else
        (void)add(examination, "clock rate", CLI_FINE, "governor %s", line);
}

/* --- memory and limits --------------------------------------------------- */

static void
look_at_huge_pages(examination_t *examination)
{
    char line[128], word[32] = "";
    if (first_line("/sys/kernel/mm/transparent_hugepage/enabled", line,
                   sizeof(line)))
        cli_auto_report_word(line, word, sizeof(word));
    if (strcmp(word, "always") == 0 || strcmp(word, "madvise") == 0)
        (void)add(examination, "huge pages", CLI_FINE, "%s", word);
    else
        advise(add(examination, "huge pages", CLI_SLOW, "%s",
                   word[0] ? word : "this kernel has none"),
               "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled; "
               "large layers are read up to twice as fast");
}

static void
look_at_memory(examination_t *examination)
{
    uint64_t bytes = skn_memory_available_bytes();
    cli_health_t health = bytes < MEMORY_NEEDED   ? CLI_BROKEN
                          : bytes < MEMORY_WANTED ? CLI_SLOW
                                                  : CLI_FINE;
    cli_finding_t *finding = add(examination, "memory", health,
                                 "%" PRIu64 " MiB available", bytes >> 20);
    if (health != CLI_FINE)
        advise(finding, "end other programs, or raise the control group's "
                        "limit (memory.max, memory.high, or "
                        "memory.limit_in_bytes)");
}

static void
look_at_files(examination_t *examination)
{
    struct rlimit limit = { 0 };
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    cli_health_t health = limit.rlim_cur < FILES_NEEDED   ? CLI_BROKEN
                          : limit.rlim_cur < FILES_WANTED ? CLI_SLOW
                                                          : CLI_FINE;
    cli_finding_t *finding =
        add(examination, "open files", health, "at most %llu",
            (unsigned long long)limit.rlim_cur);
    if (health != CLI_FINE)
        advise(finding, "ulimit -n 4096; an actor needs about 8");
}

static void
look_at_locked(examination_t *examination)
{
    struct rlimit limit = { 0 };
    (void)getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur == RLIM_INFINITY)
        (void)add(examination, "locked memory", CLI_FINE, "without limit");
    else
        (void)add(examination, "locked memory", CLI_FINE,
                  "at most %llu KiB; Skein locks none",
                  (unsigned long long)limit.rlim_cur >> 10);
}

/* Checks the limit on threads. An actor is a thread; a run of one process has a
 * dozen on two cores. */
static void
look_at_threads(examination_t *examination)
{
    uint64_t most = skn_groups_threads(examination->root);
    if (most == UINT64_MAX)
        (void)add(examination, "threads", CLI_FINE, "without limit");
    else if (most < 64)
        advise(add(examination, "threads", CLI_SLOW,
                   "at most %" PRIu64 " more here", most),
               "raise the control group's pids.max: an actor is a thread");
    else
        (void)add(examination, "threads", CLI_FINE, "at most %" PRIu64 " more",
                  most);
}

static void
look_at_disk(examination_t *examination)
{
    struct statvfs disk;
    if (statvfs(".", &disk) != 0)
        return;
    uint64_t bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    cli_finding_t *finding =
        add(examination, "disk", bytes < DISK_WANTED ? CLI_SLOW : CLI_FINE,
            "%" PRIu64 " MiB free in this folder", bytes >> 20);
    if (bytes < DISK_WANTED)
        advise(finding, "checkpoints go to checkpoint.path: choose a folder "
                        "with more room");
}

/* --- other work ---------------------------------------------------------- */

/* Long enough for 100 ticks of two processors. */
#define DOCTOR_SAMPLE_NS 500000000l
/* Cores used by others that are reported: any machine uses less in the
 * background. */
#define OTHERS_MIN 0.3

static uint64_t
now_ns(void)
{
    struct timespec now = { 0 };
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Checks how much others use now, which distorts measurements and slows a
 * run. */
static void
look_at_others(examination_t *examination)
{
    cpu_set_t cpus;
    skn_error_t error = { 0 };
    skn_idle_sample_t sample = { 0 };
    const struct timespec pause = { 0, DOCTOR_SAMPLE_NS };
    skn_idle_sampler_t *sampler = NULL;
    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
        sampler = skn_idle_sampler_new("", getpid(), &cpus, &error);
    if (!sampler)
        return;
    skn_idle_sampler_take(sampler, now_ns(), &sample);
    (void)nanosleep(&pause, NULL);
    skn_idle_sampler_take(sampler, now_ns(), &sample);
    skn_idle_sampler_destroy(&sampler);
    int cores = CPU_COUNT(&cpus);
    if (sample.outside >= OTHERS_MIN)
        advise(
            add(examination, "other work", CLI_SLOW,
                "other programs use %.1f of %d core%s now", sample.outside,
                cores, cores == 1 ? "" : "s"),
            "stop them, or wait until they end; measurements made before that "
            "mean little");
    else if (sample.outside >= 0)
        (void)add(examination, "other work", CLI_FINE,
                  "other programs use %.1f of %d core%s now", sample.outside,
                  cores, cores == 1 ? "" : "s");
}

/* Tests how processes can give way: two processes spin on one core for 0.2 s,
 * for each way that is tried. */
static void
look_at_yielding(examination_t *examination)
{
    skn_idle_place_t place;
    double share;
    skn_idle_choose(&place, &share);
    const char *name = skn_idle_way_name(place.way);
    skn_idle_place_close(&place);
    if (share >= 0.0 && share <= SKN_IDLE_TRIAL_SHARE_MAX)
        (void)add(examination, "giving way", CLI_FINE,
                  "by %s: takes %.1f%% of a busy core", name, 100.0 * share);
    else if (share >= 0.0)
        advise(add(examination, "giving way", CLI_SLOW,
                   "at best by %s: takes %.0f%% of a busy core", name,
                   100.0 * share),
               "idle.enabled would cost this machine's owner as much; "
               "docs/tasks/idle.md says what it needs");
    else
        advise(add(examination, "giving way", CLI_SLOW, "by %s, not measured",
                   name),
               "docs/tasks/idle.md says what idle.enabled needs");
}

/* --- libraries ----------------------------------------------------------- */

static void
look_at_libraries(examination_t *examination)
{
    cli_library_t libraries[CLI_LIBRARIES_MAX];
    size_t count = cli_libraries(libraries);
    for (size_t k = 0; k < count; k++) {
        const cli_library_t *library = &libraries[k];
        bool other = library->compiled[0] &&
                     strncmp(library->version, library->compiled,
                             strcspn(library->compiled, ".") + 1) != 0;
        if (other)
            advise(add(examination, library->name, CLI_BROKEN,
                       "%s, but compiled with %s", library->version,
                       library->compiled),
                   "build skein again on this machine");
        else
            (void)add(examination, library->name, CLI_FINE, "%s",
                      library->version);
    }
    if (cli_has_curve())
        (void)add(examination, "encryption", CLI_FINE, "CURVE is available");
    else
        advise(
            add(examination, "encryption", CLI_SLOW, "libzmq has no CURVE"),
            "install a libzmq built with libsodium; without it, nodes connect "
            "over loopback only");
}

size_t
cli_examine(const char *root, cli_finding_t *findings)
{
    examination_t examination = { .root = root, .findings = findings };
    look_at_units(&examination);
    look_at_nodes(&examination);
    look_at_kernels(&examination);
    look_at_binding(&examination);
    look_at_clock(&examination);
    look_at_huge_pages(&examination);
    look_at_memory(&examination);
    look_at_files(&examination);
    look_at_locked(&examination);
    look_at_threads(&examination);
    look_at_disk(&examination);
    look_at_others(&examination);
    look_at_yielding(&examination);
    look_at_libraries(&examination);
    return examination.count;
}
