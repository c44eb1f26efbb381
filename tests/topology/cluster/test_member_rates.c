/* test_member_rates.c - tests what watchers are shown of members: state, rates,
 * share.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "topology/cluster/member_rates.h"

#define S 1000000000ull

static const char *const names[] = { "a", "b" };
static skn_balance_t *balance; /* b is three times as fast as a */

static void
set_up(void)
{
    const uint32_t cores[] = { 1, 1 };
    balance = skn_balance_new(2, 1, cores, (const double[]){ 1, 3 }, NULL);
    cr_assert_not_null(balance);
}

static void
tear_down(void)
{
    skn_balance_destroy(&balance);
}

TestSuite(rates, .init = set_up, .fini = tear_down);

static skn_status_t
choose(void *job, uint64_t set, skn_point_t *point, skn_error_t *error)
{
    (void)job;
    (void)set;
    (void)point;
    (void)error;
    return SKN_NO_INPUT;
}

static const char *
state_of(skn_member_rates_t *rates, const skn_membership_t *membership,
         size_t k, uint64_t now_ns, double *share, double *rate)
{
    static char state[16];
    json_t *event =
        skn_member_rates_event(rates, membership, balance, names, 2, now_ns);
    cr_assert_not_null(event);
    const json_t *node = json_array_get(json_object_get(event, "nodes"), k);
    (void)snprintf(state, sizeof(state), "%s",
                   json_string_value(json_object_get(node, "state")));
    *share = json_number_value(json_object_get(node, "share"));
    *rate = json_number_value(json_object_get(node, "batches_per_s"));
    json_decref(event);
    return state;
}

Test(rates, a_member_waits_starts_trains_and_is_away)
{
    skn_error_t error = { 0 };
    skn_member_rates_t rates = { 0 };
    skn_duty_t duty;
    double share, rate;
    const skn_membership_options_t options = { .count = 2,
                                               .least = 1,
                                               .choose = choose };
    skn_membership_t *membership = skn_membership_new(&options, names, &error);
    cr_assert_not_null(membership);
    skn_membership_tick(membership, 1 * S);
    cr_expect_str_eq(state_of(&rates, membership, 0, 1 * S, &share, &rate),
                     "away");
    skn_membership_hello(membership, 0, 7, 0, 1 * S);
    skn_member_rates_hello(&rates, 0);
    cr_expect_str_eq(state_of(&rates, membership, 0, 2 * S, &share, &rate),
                     "waits");
    skn_membership_tick(membership, 2 * S);
    skn_membership_holds(membership, 0, 2 * S);
    skn_membership_tick(membership, 2 * S);
    while (skn_membership_next(membership, &duty))
        ;
    cr_expect_str_eq(state_of(&rates, membership, 0, 3 * S, &share, &rate),
                     "starts");
    cr_expect_float_eq(share, 1, 1e-12);
    skn_harvest_pulse_t pulse = { .generation = 1, .batch = 10, .cpu_ns = S };
    skn_member_rates_pulse(&rates, 0, &pulse, 4 * S);
    pulse =
        (skn_harvest_pulse_t){ .generation = 1, .batch = 30, .cpu_ns = 2 * S };
    skn_member_rates_pulse(&rates, 0, &pulse, 6 * S);
    cr_expect_str_eq(state_of(&rates, membership, 0, 6 * S, &share, &rate),
                     "trains");
    cr_expect_float_eq(rate, 10, 1e-9);
    cr_expect_null(skn_member_rates_event(&rates, membership, balance, names, 2,
                                          6 * S + S / 4));
    cr_expect_str_eq(state_of(&rates, membership, 1, 7 * S, &share, &rate),
                     "away");
    skn_membership_destroy(&membership);
}
