/* test_preemption.c - tests that simulated machine lifetimes follow the bathtub
 * distribution.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "tests/sim/preemption.h"

Test(preemption, the_share_rises_from_nothing_to_all)
{
    cr_expect_eq(skn_preemption_share(-1), 0);
    cr_expect_eq(skn_preemption_share(0), 0);
    cr_expect_eq(skn_preemption_share(SKN_PREEMPTION_HOURS_MAX), 1);
    for (int k = 0; k < 2400; k++)
        cr_expect_leq(skn_preemption_share(k * 0.01),
                      skn_preemption_share((k + 1) * 0.01), "%d", k);
}

Test(preemption, the_rate_is_high_at_both_ends)
{
    double first = skn_preemption_share(1) - skn_preemption_share(0);
    double middle = skn_preemption_share(12.5) - skn_preemption_share(11.5);
    double last = skn_preemption_share(23.99) - skn_preemption_share(22.99);
    cr_expect_gt(first, 100 * middle);
    cr_expect_gt(last, 100 * middle);
    cr_expect_float_eq(first, 0.45 * (1 - 0.36787944), 1e-6);
}

Test(preemption, a_life_is_the_inverse_of_the_share)
{
    for (int k = 1; k < 89; k++)
        cr_expect_float_eq(skn_preemption_share(skn_preemption_life(k * 0.01)),
                           k * 0.01, 1e-9, "%d", k);
    cr_expect_lt(skn_preemption_life(0), 1e-9);
    cr_expect_float_eq(skn_preemption_life(0.95), SKN_PREEMPTION_HOURS_MAX,
                       1e-9, "who is left is taken");
}
