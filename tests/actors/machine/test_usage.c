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
