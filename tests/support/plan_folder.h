/* plan_folder.h - a folder with a small data file, for tests of plans.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_PLAN_FOLDER_H
#define TESTS_SUPPORT_PLAN_FOLDER_H

#include <stdint.h>
#include <stdio.h>

#include "tests/support/temp_folder.h"

static char folder[TEMP_FOLDER_BYTES], file[TEMP_FOLDER_BYTES + 16];

/* 300 points, 64 features, 3000 labels: blocks of 8 rows. */
static inline void
set_up(void)
{
    temp_folder_make(folder);
    (void)snprintf(file, sizeof(file), "%s/t.txt", folder);
    FILE *out = fopen(file, "w");
    cr_assert(out);
    (void)fprintf(out, "300 64 3000\n");
    for (uint32_t k = 0; k < 300; k++)
        (void)fprintf(out, "%u %u:1\n", k * 10 % 3000, k % 64);
    cr_assert_eq(fclose(out), 0);
}

static inline void
tear_down(void)
{
    temp_folder_remove(folder);
}

#endif
