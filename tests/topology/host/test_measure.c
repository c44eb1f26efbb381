/* test_measure.c - tests the figures on a run's use of its machine.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "topology/host/measure.h"

TestSuite(measure, .timeout = 60);

static char root[64] = "/tmp/skein-measure.XXXXXX";

/* /proc/stat of a machine on which each core has worked so many ticks. */
static void
write_stat(unsigned ticks)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/proc/stat", root);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    (void)fprintf(file, "cpu  %u 0 0 0 0 0 0 0 0 0\n", ticks);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        (void)fprintf(file, "cpu%u %u 0 0 9 0 0 0 0 0 0\n", cpu, ticks);
    (void)fclose(file);
}

Test(measure, others_are_what_the_cores_worked_and_the_process_did_not)
{
    char path[128];
    cpu_set_t cores;
    skn_measure_t measure = { 0 };
    skn_figures_t figures = { 0 };
    cr_assert(mkdtemp(root));
    (void)snprintf(path, sizeof(path), "%s/proc", root);
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_assert_eq(sched_getaffinity(0, sizeof(cores), &cores), 0);
    uint64_t units = (uint64_t)CPU_COUNT(&cores);
    write_stat(1000);
    skn_measure_begin(&measure, root);
    write_stat(1500);
    skn_measure_end(&measure, root, &figures);
    cr_expect(figures.others_known);
    cr_expect_eq(figures.units, units);
    uint64_t all_ns =
        units * 500 * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
    cr_expect_eq(figures.others_ns + figures.cpu_ns, all_ns);
    cr_expect_eq(figures.quota_milli, 0);
    write_stat(900); /* of other cores than at the beginning */
    skn_measure_end(&measure, root, &figures);
    cr_expect_not(figures.others_known);
    cr_expect_eq(figures.others_ns, 0);
    (void)snprintf(path, sizeof(path), "rm -r %s", root);
    cr_expect_eq(system(path), 0);
}

Test(measure, a_machine_that_reports_nothing_leaves_it_unknown)
{
    skn_measure_t measure = { 0 };
    skn_figures_t figures = { 0 };
    skn_measure_end(&measure, "/nowhere", &figures);
    cr_expect_eq(figures.units, 0, "it was not begun");
    skn_measure_begin(&measure, "/nowhere");
    skn_measure_end(&measure, "/nowhere", &figures);
    cr_expect_not(figures.others_known);
    cr_expect_eq(figures.others_ns, 0);
    cr_expect_eq(figures.throttled_ns, 0);
    cr_expect_gt(figures.units, 0);
}
