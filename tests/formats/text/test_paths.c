/* test_paths.c - tests a list of paths that grows.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "formats/text/paths.h"

Test(paths, are_all_there_in_order_and_begin_again_when_freed)
{
    char text[16], **list = NULL;
    size_t count = 0;
    for (int round = 0; round < 2; round++) {
        for (unsigned k = 0; k < 100; k++) {
            (void)snprintf(text, sizeof(text), "%02u", k * 37 % 100);
            cr_assert(skn_paths_add(&list, &count, strdup(text)));
        }
        cr_expect_eq(count, 100u);
        skn_paths_sort(list, count);
        for (unsigned k = 0; k < 100; k++) {
            (void)snprintf(text, sizeof(text), "%02u", k);
            cr_expect_str_eq(list[k], text);
        }
        skn_paths_free(&list, &count);
        cr_expect_null(list);
        cr_expect_eq(count, 0u);
    }
    skn_paths_sort(list, count);
}
