/* test_usage.c - tests that the measured usage of the process grows and is not
 * 0.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "actors/machine/usage.h"

Test(usage, memory_that_is_touched_is_resident)
{
    enum {
        BYTES = 64 << 20
    };
    skn_usage_t before, after;
    skn_usage_now(&before);
    char *memory = malloc(BYTES);
    memset(memory, 1, BYTES);
    skn_usage_now(&after);
    cr_expect_geq(after.rss_bytes, before.rss_bytes + BYTES * 9 / 10);
    cr_expect_lt(after.rss_bytes, before.rss_bytes + 4u * BYTES);
    cr_expect_eq(memory[BYTES / 2], 1);
    free(memory);
}

Test(usage, work_takes_time_of_the_processor)
{
    skn_usage_t before, after;
    volatile uint64_t sum = 0;
    skn_usage_now(&before);
    do {
        for (int k = 0; k < 1000000; k++)
            sum = sum + (uint64_t)k;
        skn_usage_now(&after);
    } while (after.cpu_ns < before.cpu_ns + 20000000u);
    cr_expect_gt(after.cpu_ns, before.cpu_ns);
}

/* --- texts --------------------------------------------------------------- */

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

static const char stat_text[] = "cpu  100 20 30 4000 500 6 7 800 0 0\n"
                                "cpu0 10 2 3 400 50 1 2 80 0 0\n"
                                "cpu1 1000 200 300 40000 5000 10 20 8000 0 0\n"
                                "cpu13 1 1 1 1 1 1 1 1 0 0\n"
                                "intr 5 0 0\nctxt 9\nbtime 1\n";

Test(usage, work_of_the_processors_asked_for_is_summed)
{
    static const struct {
        unsigned long bits;
        uint64_t ticks;
        uint32_t found;
    } cases[] = {
        { 0x1, 18, 1 },      { 0x2, 1530, 1 }, { 0x3, 1548, 2 },
        { 0x2003, 1553, 3 }, { 0x4, 0, 0 },    { 0, 0, 0 },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        cpu_set_t cpus = cpus_of(cases[k].bits);
        uint32_t found = 99;
        cr_expect_eq(skn_usage_busy_ticks(stat_text, &cpus, &found),
                     cases[k].ticks, "case %zu", k);
        cr_expect_eq(found, cases[k].found, "case %zu", k);
    }
}

Test(usage, a_torn_text_of_processors_is_read_as_far_as_it_goes)
{
    cpu_set_t cpus = cpus_of(0x3);
    char text[sizeof(stat_text)];
    uint32_t found;
    for (size_t bytes = 0; bytes < sizeof(stat_text); bytes++) {
        memcpy(text, stat_text, bytes);
        text[bytes] = '\0';
        uint64_t ticks = skn_usage_busy_ticks(text, &cpus, &found);
        cr_expect(found <= 2 && ticks <= 1548, "%zu bytes", bytes);
    }
    cr_expect_eq(skn_usage_busy_ticks("cpu1x\ncpu 1 2 3 4 5 6 7\ncpu99999 1 1 "
                                      "1 1 1 1 1\n",
                                      &cpus, &found),
                 0u);
    cr_expect_eq(found, 0u);
}
