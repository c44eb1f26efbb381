/* test_kernels_dispatch.c - tests which tables of kernels there are, and the
 * choice among them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(kernels_dispatch, the_last_variant_is_scalar)
{
    unsigned count = 0;
    while (skn_kernels_variant(count))
        count++;
    cr_assert(count >= 1);
    cr_expect_str_eq(skn_kernels_variant(count - 1)->isa, "scalar");
    cr_expect_null(skn_kernels_variant(count + 1));
    cr_expect_null(skn_kernels_variant(~0u));
}

Test(kernels_dispatch, every_variant_is_found_by_its_name)
{
    const skn_kernels_t *kernels;
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++) {
        cr_expect_eq(skn_kernels_named(kernels->isa), kernels);
        cr_expect_not_null(strstr(skn_kernels_names(), kernels->isa));
    }
}

Test(kernels_dispatch, an_unknown_name_is_refused)
{
    cr_expect_null(skn_kernels_named("avx1024"));
    cr_expect_null(skn_kernels_named(""));
    cr_expect_null(skn_kernels_named("scalar "));
}

Test(kernels_dispatch, no_kernel_is_missing_from_a_table)
{
    const skn_kernels_t *kernels;
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++) {
#define K(type, name, parameters)                                              \
    cr_expect(kernels->name != NULL, "%s lacks " #name, kernels->isa);
        SKN_KERNELS(K)
#undef K
    }
}

Test(kernels_dispatch, the_environment_forces_a_variant)
{
    unsetenv("SKEIN_ISA");
    cr_expect_eq(skn_kernels_best(), skn_kernels_variant(0));
    setenv("SKEIN_ISA", "scalar", 1);
    cr_expect_str_eq(skn_kernels_best()->isa, "scalar");
    setenv("SKEIN_ISA", "", 1);
    cr_expect_eq(skn_kernels_best(), skn_kernels_variant(0));
}

Test(kernels_dispatch, a_wrong_environment_is_reported_not_ignored)
{
    setenv("SKEIN_ISA", "mmx", 1);
    cr_expect_null(skn_kernels_best());
}
