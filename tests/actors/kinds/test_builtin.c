/* test_builtin.c - tests that the core finds the table of libskein where the
 * program has it. That it does without: tests/e2e/library.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/protocol/kinds.h"
#include "actors/kinds/builtin.h"

Test(builtin, the_table_has_the_kinds_that_train)
{
    const skn_builtin_t *builtin = skn_builtin_find();
    cr_assert(builtin);
    cr_expect_eq(builtin->kinds, skn_kinds);
    cr_expect(builtin->kernels(NULL));
}
