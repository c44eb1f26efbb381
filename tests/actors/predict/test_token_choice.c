/* test_token_choice.c - tests that tokens are chosen with their probabilities,
 * and the same ones for the same seed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/predict/token_choice.h"

#include <criterion/criterion.h>
#include <math.h>

#define IDS 6u
#define DRAWS 20000u

static const float logits[IDS] = { 1, 3, -2, 3, 2, -40 };
static skn_token_weight_t room[IDS];

static void
count(const skn_token_choice_t *choice, double share[IDS])
{
    for (uint32_t id = 0; id < IDS; id++)
        share[id] = 0;
    for (uint64_t n = 0; n < DRAWS; n++) {
        uint32_t id = skn_token_choose(choice, n, logits, IDS, room);
        cr_assert_lt(id, IDS);
        share[id] += 1.0 / DRAWS;
    }
}

/* Four deviations of a share of 20,000 draws are below 0.0142. */
static void
expect_shares(const skn_token_choice_t *choice, const bool allowed[IDS])
{
    double share[IDS], sum = 0;
    count(choice, share);
    for (uint32_t id = 0; id < IDS; id++)
        sum += allowed[id] ? exp((double)logits[id] / choice->temperature) : 0;
    for (uint32_t id = 0; id < IDS; id++) {
        double wanted =
            allowed[id] ? exp((double)logits[id] / choice->temperature) / sum
                        : 0;
        cr_expect_float_eq(share[id], wanted, allowed[id] ? 0.0142 : 0,
                           "id %u: %g, not %g", id, share[id], wanted);
    }
}

Test(token_choice, without_temperature_it_is_the_likeliest_and_lowest)
{
    const skn_token_choice_t choice = { .top_p = 0.5, .top_k = 3, .seed = 9 };
    for (uint64_t n = 0; n < 20; n++)
        cr_expect_eq(skn_token_choose(&choice, n, logits, IDS, room), 1);
}

Test(token_choice, shares_are_those_of_the_softmax)
{
    static const bool all[IDS] = { true, true, true, true, true, true };
    static const double temperatures[] = { 0.5, 1, 3 };
    for (size_t k = 0; k < 3; k++) {
        const skn_token_choice_t choice = { .temperature = temperatures[k],
                                            .top_p = 1,
                                            .seed = k };
        expect_shares(&choice, all);
    }
}

Test(token_choice, top_k_and_top_p_leave_the_likeliest)
{
    static const bool all[IDS] = { true, true, true, true, true, true };
    static const bool three[IDS] = { false, true, false, true, true, false };
    static const bool two[IDS] = { false, true, false, true, false, false };
    static const bool one[IDS] = { false, true, false, false, false, false };
    const struct {
        double top_p;
        uint32_t top_k;
        const bool *left;
    } cases[] = { { 1, 3, three }, { 0.9, 0, three }, { 0.75, 0, two },
                  { 1, 2, two },   { 1, 1, one },     { 1e-9, 0, one },
                  { 0.9, 2, two }, { 0, 0, all },     { 0, 2, two } };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        const skn_token_choice_t choice = { .temperature = 1,
                                            .top_p = cases[k].top_p,
                                            .top_k = cases[k].top_k,
                                            .seed = 3 };
        expect_shares(&choice, cases[k].left);
    }
}

Test(token_choice, a_seed_decides_and_another_one_differs)
{
    skn_token_choice_t choice = { .temperature = 1, .top_p = 1, .seed = 5 };
    uint32_t first[64], same = 0;
    for (uint64_t n = 0; n < 64; n++)
        first[n] = skn_token_choose(&choice, n, logits, IDS, room);
    for (uint64_t n = 0; n < 64; n++)
        cr_expect_eq(skn_token_choose(&choice, n, logits, IDS, room), first[n]);
    choice.seed = 6;
    for (uint64_t n = 0; n < 64; n++)
        same += skn_token_choose(&choice, n, logits, IDS, room) == first[n];
    cr_expect_lt(same, 64);
}
