/* no_criterion.h - stands in for Criterion's header, so that a stress program
 * can use a fixture of the tests: a fixture that cannot be made ends it.
 *
 * Included before everything else of tests/support/.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_NO_CRITERION_H
#define TESTS_SUPPORT_NO_CRITERION_H

#define CRITERION_H_ /* the guard of <criterion/criterion.h> */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define cr_assert(holds, ...) no_criterion_need(holds, #holds)
#define cr_assert_eq(got, want, ...)                                           \
    no_criterion_need((got) == (want), #got " is not " #want)

static inline void
no_criterion_need(bool holds, const char *what)
{
    if (holds)
        return;
    (void)fprintf(stderr, "%s\n", what);
    exit(1);
}

#endif
