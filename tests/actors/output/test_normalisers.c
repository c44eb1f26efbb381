/* test_normalisers.c - log Z of the parts that are there, and of means in place
 * of the others.  SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>

#include "actors/output/normalisers.h"

#define SENDERS 3
#define ROWS 4
#define SLOTS 4

/* Samples 0 and 2 have labels in this shard. */
static const uint32_t own_offset[] = { 0, 1, 1, 3, 3 };
static skn_normalisers_t all;

static void
set_up(void)
{
    skn_error_t error = { 0 };
    cr_assert_eq(skn_normalisers_init(&all, SENDERS, ROWS, SLOTS, &error),
                 SKN_OK);
}

static void
tear_down(void)
{
    skn_normalisers_fini(&all);
}

TestSuite(normalisers, .init = set_up, .fini = tear_down);

/* What sender k says of sample i of a batch. */
static float
log_of(uint64_t batch, uint32_t sender, uint32_t i)
{
    return (float)sender - 0.5f * (float)i + 0.25f * (float)batch;
}

static bool
take(skn_normaliser_t *normaliser, uint32_t sender)
{
    float log[ROWS];
    for (uint32_t i = 0; i < ROWS; i++)
        log[i] = log_of(normaliser->batch, sender, i);
    return skn_normalisers_take(&all, normaliser, sender, log, ROWS);
}

static const skn_tree_node_t *
do_batch(uint64_t batch, uint32_t senders)
{
    skn_normaliser_t *normaliser = skn_normalisers_of(&all, batch);
    for (uint32_t k = 0; k < senders; k++)
        cr_assert(take(normaliser, k));
    return skn_normalisers_complete(&all, normaliser, own_offset);
}

Test(normalisers, parts_that_are_there_are_handed_on)
{
    for (uint64_t batch = 0; batch < 3 * SLOTS; batch++) {
        const skn_tree_node_t *nodes = do_batch(batch, SENDERS);
        for (uint32_t k = 0; k < SENDERS; k++) {
            cr_expect_eq(nodes[k].place, skn_node_place(0, k));
            cr_expect_null(nodes[k].partial.sum, "a log");
            for (uint32_t i = 0; i < ROWS; i++)
                cr_expect_eq(nodes[k].partial.greatest[i], log_of(batch, k, i));
        }
    }
}

Test(normalisers, a_part_comes_once_and_fits_the_others)
{
    const float log[ROWS] = { 0 };
    skn_normaliser_t *normaliser = skn_normalisers_of(&all, 7);
    cr_expect(take(normaliser, 1));
    cr_expect_not(take(normaliser, 1));
    cr_expect_not(skn_normalisers_take(&all, normaliser, 0, log, ROWS - 1));
    cr_expect_not(skn_normalisers_take(&all, normaliser, SENDERS, log, ROWS));
    cr_expect_not(skn_normalisers_take(&all, skn_normalisers_of(&all, 8), 0,
                                       log, ROWS + 1));
    cr_expect_eq(skn_normalisers_of(&all, 7), normaliser, "it is still there");
    cr_expect_eq(normaliser->count, 1);
}

Test(normalisers, who_is_missing_says_what_it_said_of_such_samples)
{
    skn_normaliser_t *normaliser = skn_normalisers_of(&all, 0);
    cr_expect_not(skn_normalisers_can_do_without(&all, normaliser));
    (void)do_batch(0, SENDERS);
    cr_expect(
        skn_normalisers_can_do_without(&all, skn_normalisers_of(&all, 1)));
    const skn_tree_node_t *nodes = do_batch(1, SENDERS - 1);
    const float *log = nodes[SENDERS - 1].partial.greatest;
    float own = (log_of(0, 2, 0) + log_of(0, 2, 2)) / 2;
    float others = (log_of(0, 2, 1) + log_of(0, 2, 3)) / 2;
    for (uint32_t i = 0; i < ROWS; i++)
        cr_expect_float_eq(log[i], i % 2 == 0 ? own : others, 1e-6f);
    for (uint32_t i = 0; i < ROWS; i++)
        cr_expect_eq(nodes[0].partial.greatest[i], log_of(1, 0, i),
                     "who is there is believed");
}

Test(normalisers, what_comes_late_is_learnt_from)
{
    float log[ROWS] = { 9, 9, 9, 9 };
    (void)do_batch(0, SENDERS);
    (void)do_batch(1, SENDERS - 1);
    float before = all.mean[2 * 2];
    skn_normalisers_late(&all, 1, 2, log, ROWS);
    cr_expect_gt(all.mean[2 * 2], before);
    before = all.mean[2 * 2];
    skn_normalisers_late(&all, 1 + SLOTS, 2, log, ROWS);
    skn_normalisers_late(&all, 1, 2, log, ROWS - 1);
    skn_normalisers_late(&all, 1, SENDERS, log, ROWS);
    cr_expect_eq(all.mean[2 * 2], before, "of no batch that is known");
}

Test(normalisers, what_is_no_number_is_not_learnt)
{
    const float log[ROWS] = { -INFINITY, 1, NAN, 1 };
    skn_normaliser_t *normaliser = skn_normalisers_of(&all, 0);
    for (uint32_t k = 0; k < SENDERS; k++)
        cr_assert(skn_normalisers_take(&all, normaliser, k, log, ROWS));
    (void)skn_normalisers_complete(&all, normaliser, own_offset);
    const skn_tree_node_t *nodes = do_batch(1, 1);
    for (uint32_t i = 0; i < ROWS; i++)
        cr_expect_eq(
            nodes[1].partial.greatest[i], 1,
            "of the other sort of sample, where there is nothing else");
}
