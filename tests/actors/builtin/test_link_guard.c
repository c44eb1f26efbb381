/* test_link_guard.c - tests the check of numbers that other nodes send. That
 * bad numbers end the run: tests/e2e/faults.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "actors/builtin/link_guard.h"
#include "actors/protocol/messages.h"

#define COUNT 37

static float one[COUNT], two[COUNT];

static void
begin(void)
{
    for (size_t k = 0; k < COUNT; k++) {
        one[k] = 0.01f * (float)k - 0.1f;
        two[k] = 0.01f * (float)k;
    }
}
TestSuite(link_guard, .init = begin);

/* The two runs as the message of `schema`, on every instruction set; all have
 * to be of one mind. */
static skn_link_finding_t
look_all(skn_guard_t *guard, const skn_schema_t *schema, const void *message,
         skn_error_t *error)
{
    skn_link_finding_t finding = SKN_LINK_GOOD;
    skn_guard_t before = *guard;
    const skn_kernels_t *kernels;
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++) {
        skn_guard_t mine = before;
        skn_link_finding_t said =
            skn_guard_check(&mine, kernels, schema, message, error);
        cr_assert(rank == 0 || said == finding, "%s", kernels->isa);
        cr_assert(rank == 0 || memcmp(&mine, guard, sizeof(mine)) == 0, "%s",
                  kernels->isa);
        finding = said;
        *guard = mine;
    }
    return finding;
}

static skn_link_finding_t
look(skn_guard_t *guard, const skn_schema_t *schema, skn_error_t *error)
{
    skn_f32s_t first = { one, COUNT }, second = { two, COUNT };
    if (schema == &skn_activation_schema)
        return look_all(guard, schema,
                        &(skn_activation_t){ .batch = 7, .value = first },
                        error);
    if (schema == &skn_hidden_gradient_schema)
        return look_all(guard, schema,
                        &(skn_hidden_gradient_t){ .batch = 7, .value = first },
                        error);
    if (schema == &skn_partition_schema)
        return look_all(
            guard, schema,
            &(skn_partition_t){ .batch = 7, .greatest = first, .sum = second },
            error);
    return look_all(
        guard, &skn_output_gradient_schema,
        &(skn_output_gradient_t){ .batch = 7, .pull = first, .push = second },
        error);
}

static const skn_schema_t *const schemas[] = { &skn_activation_schema,
                                               &skn_hidden_gradient_schema,
                                               &skn_partition_schema,
                                               &skn_output_gradient_schema };
#define SCHEMAS (sizeof(schemas) / sizeof(schemas[0]))

Test(link_guard, one_number_that_is_not_finite_is_found_wherever_it_stands)
{
    static const float bad[] = { NAN, -NAN, INFINITY };
    for (size_t s = 0; s < SCHEMAS; s++)
        for (size_t k = 0; k < COUNT; k++)
            for (size_t b = 0; b < 3; b++) {
                skn_guard_t guard = { 0 };
                skn_error_t error = { 0 };
                float kept = one[k];
                one[k] = bad[b];
                cr_expect_eq(look(&guard, schemas[s], &error),
                             SKN_LINK_NOT_FINITE, "%s[%zu] = %g",
                             schemas[s]->name, k, (double)bad[b]);
                cr_expect_eq(error.status, SKN_DIVERGED);
                one[k] = kept;
                cr_expect_eq(look(&guard, schemas[s], &error), SKN_LINK_GOOD);
            }
}

Test(link_guard, the_second_run_of_a_message_is_looked_at_too)
{
    for (size_t s = 2; s < SCHEMAS; s++) {
        skn_guard_t guard = { 0 };
        skn_error_t error = { 0 };
        float kept = two[COUNT - 1];
        two[COUNT - 1] = -INFINITY;
        cr_expect_eq(look(&guard, schemas[s], &error), SKN_LINK_NOT_FINITE);
        cr_expect_str_eq(error.text,
                         s == 2 ? "partition.sum of batch 7 with values that "
                                  "are not finite"
                                : "output_gradient.push of batch 7 with "
                                  "values that are not finite");
        two[COUNT - 1] = kept;
    }
}

Test(link_guard, no_logits_at_all_have_no_greatest_one)
{
    skn_guard_t guard = { 0 };
    for (size_t k = 0; k < COUNT; k++)
        one[k] = -INFINITY;
    cr_expect_eq(look(&guard, &skn_partition_schema, NULL), SKN_LINK_GOOD);
    cr_expect_eq(guard.greatest[0], 0.0f);
    one[3] = NAN; /* and a number behind it */
    one[9] = 1.0f;
    cr_expect_eq(look(&guard, &skn_partition_schema, NULL),
                 SKN_LINK_NOT_FINITE);
    one[3] = -INFINITY;
    cr_expect_eq(look(&guard, &skn_activation_schema, NULL),
                 SKN_LINK_NOT_FINITE, "elsewhere it is a wrong number");
}

Test(link_guard, the_first_messages_may_be_anything_that_can_be_squared)
{
    for (uint32_t k = 0; k <= SKN_GUARD_FIRST; k++) {
        skn_guard_t guard = { .message_count = k };
        one[COUNT - 1] = -SKN_GUARD_FIRST_MAX;
        cr_expect_eq(look(&guard, &skn_activation_schema, NULL),
                     k < SKN_GUARD_FIRST ? SKN_LINK_GOOD : SKN_LINK_EXPLODED,
                     "%u", k);
        one[COUNT - 1] = nextafterf(SKN_GUARD_FIRST_MAX, INFINITY);
        guard = (skn_guard_t){ .message_count = k };
        cr_expect_eq(look(&guard, &skn_activation_schema, NULL),
                     SKN_LINK_EXPLODED, "%u", k);
    }
}

Test(link_guard, a_jump_beyond_all_that_came_before_is_refused)
{
    static const float usual[] = { 0.0f, 0.5f, 1.0f, 1.5f, 3e6f };
    for (size_t u = 0; u < sizeof(usual) / sizeof(usual[0]); u++) {
        skn_guard_t guard = { 0 };
        skn_error_t error = { 0 };
        float limit = SKN_GUARD_JUMP * (usual[u] > 1.0f ? usual[u] : 1.0f);
        memset(one, 0, sizeof(one));
        one[5] = -usual[u];
        for (uint32_t k = 0; k < SKN_GUARD_FIRST; k++)
            cr_expect_eq(look(&guard, &skn_hidden_gradient_schema, NULL),
                         SKN_LINK_GOOD);
        one[5] = nextafterf(limit, INFINITY);
        cr_expect_eq(look(&guard, &skn_hidden_gradient_schema, &error),
                     SKN_LINK_EXPLODED, "%g", (double)usual[u]);
        cr_expect_eq(guard.greatest[0], usual[u], "it is not what is usual");
        one[5] = -limit;
        cr_expect_eq(look(&guard, &skn_hidden_gradient_schema, NULL),
                     SKN_LINK_GOOD, "%g", (double)usual[u]);
        cr_expect_eq(guard.greatest[0], limit);
    }
}

/* All logits alike make a sum of their number; one that stands out, of 1. */
Test(link_guard, a_sum_over_labels_may_jump)
{
    skn_guard_t guard = { 0 };
    skn_error_t error = { 0 };
    for (int k = 0; k < 20; k++)
        cr_assert_eq(look(&guard, &skn_partition_schema, &error),
                     SKN_LINK_GOOD);
    two[COUNT - 1] = 1e7f;
    cr_expect_eq(look(&guard, &skn_partition_schema, &error), SKN_LINK_GOOD);
    two[COUNT - 1] = 1e30f;
    cr_expect_eq(look(&guard, &skn_partition_schema, &error),
                 SKN_LINK_EXPLODED);
    two[COUNT - 1] = NAN;
    cr_expect_eq(look(&guard, &skn_partition_schema, &error),
                 SKN_LINK_NOT_FINITE);
}

Test(link_guard, the_sentence_has_both_numbers)
{
    skn_guard_t guard = { .message_count = SKN_GUARD_FIRST,
                          .greatest = { 0.25f, 8.0f } };
    skn_error_t error = { 0 };
    two[0] = 1e30f;
    cr_expect_eq(look(&guard, &skn_output_gradient_schema, &error),
                 SKN_LINK_EXPLODED);
    cr_expect_str_eq(error.text, "output_gradient.push of batch 7 with "
                                 "values up to 1e+30, never above 8 before");
}

Test(link_guard, a_run_that_grows_as_training_does_passes)
{
    skn_guard_t guard = { 0 };
    float greatest = 1e-6f;
    for (uint32_t k = 0; k < 60; k++, greatest *= 2.0f) {
        one[k % COUNT] = greatest;
        cr_expect_eq(look(&guard, &skn_activation_schema, NULL), SKN_LINK_GOOD,
                     "%u", k);
    }
}

Test(link_guard, other_messages_and_empty_runs_are_none_of_its_business)
{
    skn_guard_t guard = { .message_count = SKN_GUARD_FIRST };
    skn_dirty_t dirty = { .value = { one, COUNT } };
    skn_batch_t batch = { .value = { one, COUNT } };
    skn_activation_t empty = { .batch = 1 };
    one[0] = NAN;
    cr_expect_eq(look_all(&guard, &skn_dirty_schema, &dirty, NULL),
                 SKN_LINK_GOOD);
    cr_expect_eq(look_all(&guard, &skn_batch_schema, &batch, NULL),
                 SKN_LINK_GOOD);
    cr_expect_eq(look_all(&guard, &skn_activation_schema, &empty, NULL),
                 SKN_LINK_GOOD);
}

Test(link_guard, a_sum_of_powers_is_not_below_0)
{
    skn_guard_t guard = { 0 };
    skn_error_t error = { 0 };
    two[4] = -0.0f;
    cr_expect_eq(look(&guard, &skn_partition_schema, &error), SKN_LINK_GOOD);
    two[4] = -1e-30f;
    cr_expect_eq(look(&guard, &skn_partition_schema, &error),
                 SKN_LINK_NOT_FINITE);
    cr_expect_str_eq(error.text, "partition.sum of batch 7 with values "
                                 "below 0");
    cr_expect_eq(look(&guard, &skn_output_gradient_schema, &error),
                 SKN_LINK_GOOD, "push may be");
}

/* What is only counted and told: it would stand in events and checkpoints. */
Test(link_guard, losses_and_scores_are_finite)
{
    skn_guard_t guard = { 0 };
    skn_error_t error = { 0 };
    skn_result_t result = { .batch = 9, .loss = -5e9, .mass = -1 };
    skn_ranking_t ranking = { .batch = 9, .score = { one, COUNT } };
    cr_expect_eq(look_all(&guard, &skn_result_schema, &result, &error),
                 SKN_LINK_GOOD);
    result.recall = (double)NAN;
    cr_expect_eq(look_all(&guard, &skn_result_schema, &result, &error),
                 SKN_LINK_NOT_FINITE);
    cr_expect_str_eq(error.text, "result.recall of batch 9 with values that "
                                 "are not finite");
    result = (skn_result_t){ .batch = 9, .loss = (double)-INFINITY };
    cr_expect_eq(look_all(&guard, &skn_result_schema, &result, &error),
                 SKN_LINK_NOT_FINITE);
    guard = (skn_guard_t){ 0 };
    one[0] = -INFINITY; /* of a label that is none */
    cr_expect_eq(look_all(&guard, &skn_ranking_schema, &ranking, &error),
                 SKN_LINK_GOOD);
    one[1] = INFINITY;
    cr_expect_eq(look_all(&guard, &skn_ranking_schema, &ranking, &error),
                 SKN_LINK_NOT_FINITE);
    cr_expect_str_eq(error.text, "ranking.score of batch 9 with values that "
                                 "are not finite");
}

/* Told of codings: a percentage in a warning. */
Test(link_guard, changes_by_codings_are_finite)
{
    skn_guard_t guard = { 0 };
    skn_error_t error = { 0 };
    skn_hidden_gradient_t hidden = { .batch = 9, .changed = { two, COUNT } };
    two[COUNT - 1] = 1e17f;
    cr_expect_eq(look_all(&guard, &skn_hidden_gradient_schema, &hidden, &error),
                 SKN_LINK_GOOD, "a square may be large");
    two[COUNT - 1] = 1e24f;
    cr_expect_eq(look_all(&guard, &skn_hidden_gradient_schema, &hidden, &error),
                 SKN_LINK_EXPLODED);
}
