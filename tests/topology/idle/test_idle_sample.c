/* test_idle_sample.c - tests the reading of kernel texts, from a synthetic
 * /proc.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/temp_folder.h"
#include "topology/idle/idle_sample.h"

#define SECOND UINT64_C(1000000000)

static cpu_set_t
cpus_of(unsigned long bits)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (size_t k = 0; k < 64; k++)
        if (bits >> k & 1)
            CPU_SET(k, &cpus);
    return cpus;
}

/* --- texts --------------------------------------------------------------- */

static const char task_text[] =
    "4711 (a) R 1 (b) S 42 4711 9 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 5 0 "
    "777 1000 2000 18446744073709551615 1 1 0\n";

Test(idle_sample, a_process_is_read_whatever_it_is_called)
{
    skn_idle_task_t task = { 0 };
    cr_assert(skn_idle_task_read(task_text, &task));
    cr_expect_eq(task.pid, 4711);
    cr_expect_eq(task.parent, 42);
    cr_expect_eq(task.ticks, 127u);
    cr_expect_eq(task.started, 777u);
    cr_expect_not(skn_idle_task_read("", &task));
    cr_expect_not(skn_idle_task_read("12 no brackets R 1", &task));
    cr_expect_not(skn_idle_task_read(") R 1 2 3", &task));
}

Test(idle_sample, a_torn_process_is_none)
{
    char text[sizeof(task_text)];
    skn_idle_task_t task;
    const char *start = strstr(task_text, "777");
    for (const char *end = task_text; end < start; end++) {
        memcpy(text, task_text, (size_t)(end - task_text));
        text[end - task_text] = '\0';
        cr_expect_not(skn_idle_task_read(text, &task), "%s", text);
    }
}

Test(idle_sample, pressure_is_the_share_of_some_in_ten_seconds)
{
    cr_expect_eq(skn_idle_pressure("some avg10=12.34 avg60=1.00 avg300=0.10 "
                                   "total=1\nfull avg10=5.00 avg60=0 "
                                   "avg300=0 total=0\n"),
                 12.34);
    cr_expect_eq(skn_idle_pressure("some avg10=0.00 avg60=1 avg300=1 total=1"),
                 0.0);
    cr_expect_eq(skn_idle_pressure(""), -1.0);
    cr_expect_eq(skn_idle_pressure("full avg10=5.00"), -1.0);
    cr_expect_eq(skn_idle_pressure("some avg10=x"), -1.0);
    cr_expect_eq(skn_idle_pressure("some avg10=nan"), -1.0);
    cr_expect_eq(skn_idle_pressure("some avg60=3"), -1.0);
}

Test(idle_sample, free_memory_is_what_is_available_of_all)
{
    cr_expect_eq(skn_idle_memory_free("MemTotal:       8000 kB\n"
                                      "MemFree:         100 kB\n"
                                      "MemAvailable:   2000 kB\n"),
                 0.25);
    cr_expect_eq(skn_idle_memory_free("MemTotal: 8000 kB\nMemFree: 1 kB\n"),
                 -1.0);
    cr_expect_eq(skn_idle_memory_free("MemAvailable: 8000 kB\n"), -1.0);
    cr_expect_eq(skn_idle_memory_free("MemTotal: 0 kB\nMemAvailable: 0 kB\n"),
                 -1.0);
    cr_expect_eq(skn_idle_memory_free(""), -1.0);
}

/* --- a machine of files -------------------------------------------------- */

typedef struct machine {
    char root[512];
    skn_idle_sampler_t *sampler;
    skn_idle_sample_t sample;
    uint64_t now_ns;
} machine_t;

static void
put(const machine_t *machine, const char *path, const char *text)
{
    char whole[1024];
    (void)snprintf(whole, sizeof(whole), "%s%s", machine->root, path);
    for (char *at = whole + strlen(machine->root) + 1; (at = strchr(at, '/'));
         at++) {
        *at = '\0';
        (void)mkdir(whole, 0700);
        *at = '/';
    }
    FILE *file = fopen(whole, "we");
    cr_assert(file, "%s", whole);
    cr_assert(fputs(text, file) >= 0);
    cr_assert_eq(fclose(file), 0);
}

/* Processors 0 and 1 have worked for so many ticks each. */
static void
put_busy(const machine_t *machine, uint64_t first, uint64_t second)
{
    char text[256];
    (void)snprintf(text, sizeof(text),
                   "cpu  1 1 1 1 1 1 1\ncpu0 %llu 0 0 9 9 0 0\n"
                   "cpu1 0 %llu 0 9 9 0 0\ncpu2 77777 0 0 9 9 0 0\n",
                   (unsigned long long)first, (unsigned long long)second);
    put(machine, "/proc/stat", text);
}

static void
put_task(const machine_t *machine, int pid, int parent, uint64_t ticks,
         uint64_t of_children)
{
    char path[64], text[256];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    (void)snprintf(text, sizeof(text),
                   "%d (x) R %d 1 1 0 -1 0 0 0 0 0 %llu 0 %llu 0 20 0 1 0 5\n",
                   pid, parent, (unsigned long long)ticks,
                   (unsigned long long)of_children);
    put(machine, path, text);
}

static void
drop_task(const machine_t *machine, int pid)
{
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/proc/%d/stat", machine->root, pid);
    cr_assert_eq(unlink(path), 0);
    *strrchr(path, '/') = '\0';
    cr_assert_eq(rmdir(path), 0);
}

static machine_t
machine_new(void)
{
    machine_t machine = { .now_ns = 1 };
    cpu_set_t cpus = cpus_of(0x3);
    skn_error_t error = { 0 };
    temp_folder_make(machine.root);
    machine.sampler = skn_idle_sampler_new(machine.root, 10, &cpus, &error);
    cr_assert(machine.sampler, "%s", error.text);
    return machine;
}

static void
machine_end(machine_t *machine)
{
    skn_idle_sampler_destroy(&machine->sampler);
    cr_expect_null(machine->sampler);
    temp_folder_remove(machine->root);
}

/* A second later. */
static double
outside(machine_t *machine)
{
    machine->now_ns += SECOND;
    skn_idle_sampler_take(machine->sampler, machine->now_ns, &machine->sample);
    return machine->sample.outside;
}

static void
expect_outside(machine_t *machine, double want)
{
    double got = outside(machine);
    cr_expect_float_eq(got, want, 1e-9, "%f", got);
}

Test(idle_sample, a_machine_without_any_file_is_unknown)
{
    machine_t machine = machine_new();
    for (int k = 0; k < 3; k++) {
        expect_outside(&machine, -1.0);
        cr_expect_eq(machine.sample.memory_pressure, -1.0);
        cr_expect_eq(machine.sample.io_pressure, -1.0);
        cr_expect_eq(machine.sample.memory_free, -1.0);
        cr_expect(!machine.sample.on_battery && !machine.sample.somebody);
        cr_expect_eq(machine.sample.now_ns, machine.now_ns);
    }
    machine_end(&machine);
}

Test(idle_sample, others_have_what_is_left_without_our_tree)
{
    machine_t machine = machine_new();
    uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
    put_busy(&machine, 1000, 1000);
    put_task(&machine, 10, 1, 100, 0);  /* ours */
    put_task(&machine, 11, 10, 200, 0); /* its child */
    put_task(&machine, 12, 11, 300, 0); /* and that one's */
    put_task(&machine, 13, 1, 400, 0);  /* another's, not nice at all */
    expect_outside(&machine, -1.0);
    /* A second in which both processors work, ours for 1.5 of 2. */
    put_busy(&machine, 1000 + hz, 1000 + hz);
    put_task(&machine, 11, 10, 200 + hz, 0);
    put_task(&machine, 12, 11, 300 + hz / 2, 0);
    put_task(&machine, 13, 1, 400 + hz / 2, 0);
    expect_outside(&machine, 0.5);
    cr_expect_float_eq(skn_idle_sampler_inside(machine.sampler), 1.5, 1e-9);
    /* Two seconds of nothing. */
    machine.now_ns += SECOND;
    expect_outside(&machine, 0.0);
    /* The books differ by a tick. */
    put_busy(&machine, 1000 + 2 * hz, 1000 + hz);
    put_task(&machine, 11, 10, 201 + 2 * hz, 0);
    expect_outside(&machine, 0.0);
    machine_end(&machine);
}

Test(idle_sample, a_child_that_ends_takes_nothing_with_it)
{
    machine_t machine = machine_new();
    uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
    put_busy(&machine, 0, 0);
    put_task(&machine, 10, 1, 0, 0);
    put_task(&machine, 11, 10, 500, 0);
    expect_outside(&machine, -1.0);
    /* It works for half a second more, and its parent waits for it. */
    put_busy(&machine, hz, 0);
    drop_task(&machine, 11);
    put_task(&machine, 10, 1, 0, 500 + hz / 2);
    expect_outside(&machine, 0.5);
    cr_expect_float_eq(skn_idle_sampler_inside(machine.sampler), 0.5, 1e-9);
    machine_end(&machine);
}

Test(idle_sample, a_new_child_is_found_within_ten_seconds_or_at_a_refresh)
{
    machine_t machine = machine_new();
    uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK), busy = 0, ticks = 0;
    put_busy(&machine, 0, 0);
    put_task(&machine, 10, 1, 0, 0);
    expect_outside(&machine, -1.0);
    put_task(&machine, 11, 10, 0, 0);
    int second = 0;
    do {
        put_busy(&machine, busy += hz, 0);
        put_task(&machine, 11, 10, ticks += hz, 0);
        second++;
    } while (outside(&machine) > 0.5 && second < 20);
    cr_expect_eq(second, 11, "%d", second);
    put_task(&machine, 12, 10, 0, 0);
    skn_idle_sampler_refresh(machine.sampler);
    expect_outside(&machine, 0.0);
    put_busy(&machine, busy += hz, 0);
    put_task(&machine, 12, 10, hz, 0);
    expect_outside(&machine, 0.0);
    machine_end(&machine);
}

Test(idle_sample, a_battery_counts_where_nothing_else_gives_power)
{
    machine_t machine = machine_new();
    put(&machine, "/sys/class/power_supply/BAT0/type", "Battery\n");
    put(&machine, "/sys/class/power_supply/BAT0/status", "Charging\n");
    (void)outside(&machine);
    cr_expect_not(machine.sample.on_battery);
    put(&machine, "/sys/class/power_supply/BAT0/status", "Discharging\n");
    (void)outside(&machine);
    cr_expect(machine.sample.on_battery);
    put(&machine, "/sys/class/power_supply/AC/type", "Mains\n");
    put(&machine, "/sys/class/power_supply/AC/online", "0\n");
    (void)outside(&machine);
    cr_expect(machine.sample.on_battery);
    put(&machine, "/sys/class/power_supply/AC/online", "1\n");
    (void)outside(&machine);
    cr_expect_not(machine.sample.on_battery);
    machine_end(&machine);
}

static void
touch(const machine_t *machine, const char *path, time_t ago_s)
{
    char whole[1024];
    struct timespec times[2];
    put(machine, path, "");
    (void)snprintf(whole, sizeof(whole), "%s%s", machine->root, path);
    (void)clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= ago_s;
    times[1] = times[0];
    cr_assert_eq(utimensat(AT_FDCWD, whole, times, 0), 0);
}

Test(idle_sample, a_user_that_has_typed_within_five_minutes_is_there)
{
    machine_t machine = machine_new();
    touch(&machine, "/dev/pts/ptmx", 0);
    touch(&machine, "/dev/tty", 0);
    touch(&machine, "/dev/pts/3", 600);
    touch(&machine, "/dev/tty1", 301);
    (void)outside(&machine);
    cr_expect_not(machine.sample.somebody);
    touch(&machine, "/dev/tty1", 200);
    (void)outside(&machine);
    cr_expect(machine.sample.somebody);
    touch(&machine, "/dev/tty1", 600);
    touch(&machine, "/dev/pts/3", 1);
    (void)outside(&machine);
    cr_expect(machine.sample.somebody);
    touch(&machine, "/dev/pts/3", -7200); /* the clock was set back */
    (void)outside(&machine);
    cr_expect_not(machine.sample.somebody);
    machine_end(&machine);
}

Test(idle_sample, pressure_and_memory_come_from_their_files)
{
    machine_t machine = machine_new();
    put(&machine, "/proc/pressure/memory", "some avg10=7.50 avg60=0\n");
    put(&machine, "/proc/pressure/io", "some avg10=11.00 avg60=0\n");
    put(&machine, "/proc/meminfo", "MemTotal: 4 kB\nMemAvailable: 1 kB\n");
    (void)outside(&machine);
    cr_expect_eq(machine.sample.memory_pressure, 7.5);
    cr_expect_eq(machine.sample.io_pressure, 11.0);
    cr_expect_eq(machine.sample.memory_free, 0.25);
    machine_end(&machine);
}

/* --- this machine -------------------------------------------------------- */

Test(idle_sample, this_machine_can_be_watched)
{
    cpu_set_t cpus;
    skn_error_t error = { 0 };
    skn_idle_sample_t sample;
    cr_assert_eq(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
    skn_idle_sampler_t *sampler =
        skn_idle_sampler_new("", getpid(), &cpus, &error);
    cr_assert(sampler, "%s", error.text);
    skn_idle_sampler_take(sampler, SECOND, &sample);
    cr_expect_eq(sample.outside, -1.0);
    cr_expect(sample.memory_free > 0.0 && sample.memory_free <= 1.0);
    skn_idle_sampler_take(sampler, 2 * SECOND, &sample);
    cr_expect_geq(sample.outside, 0.0);
    skn_idle_sampler_destroy(&sampler);
}
