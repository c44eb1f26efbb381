/* test_builtin_table.c - tests the watch of libskein on a node's links: the
 * guards of each edge, and the measured error of a coding.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>

#include "actors/protocol/messages.h"
#include "actors/kinds/builtin.h"
#include "kernels/kernels.h"

static skn_link_watch_t *
watch_of(uint32_t import_count)
{
    const skn_builtin_t *builtin = skn_builtin_find();
    skn_link_watch_t *watch =
        builtin->watch_new(builtin->kernels(NULL), import_count, NULL);
    cr_assert(watch);
    return watch;
}

Test(builtin_table, a_bad_number_is_refused_with_a_hint)
{
    const skn_builtin_t *builtin = skn_builtin_find();
    skn_link_watch_t *watch = watch_of(2);
    float value[] = { 1.0f, NAN };
    skn_activation_t message = { .batch = 7, .value = { value, 2 } };
    skn_error_t error = { 0 };
    cr_expect_eq(builtin->watch_received(watch, 1, &skn_activation_schema,
                                         &message, &error),
                 SKN_LINK_NOT_FINITE);
    cr_expect_eq(error.status, SKN_DIVERGED);
    cr_expect(strstr(error.text, "activation.value of batch 7"), "%s",
              error.text);
    cr_expect(strstr(error.hint, "train.optimizer.rate"), "%s", error.hint);
    builtin->watch_destroy(&watch);
    cr_expect_null(watch);
}

Test(builtin_table, every_edge_has_its_own_history)
{
    const skn_builtin_t *builtin = skn_builtin_find();
    skn_link_watch_t *watch = watch_of(2);
    float small[] = { 1.0f }, large[] = { 1e6f };
    skn_activation_t usual = { .value = { small, 1 } };
    skn_activation_t great = { .value = { large, 1 } };
    for (int k = 0; k < 100; k++)
        cr_assert_eq(builtin->watch_received(watch, 0, &skn_activation_schema,
                                             &usual, NULL),
                     SKN_LINK_GOOD);
    cr_expect_eq(
        builtin->watch_received(watch, 0, &skn_activation_schema, &great, NULL),
        SKN_LINK_EXPLODED);
    cr_expect_eq(
        builtin->watch_received(watch, 1, &skn_activation_schema, &great, NULL),
        SKN_LINK_GOOD);
    builtin->watch_destroy(&watch);
}

Test(builtin_table, what_is_no_gradient_is_sent_as_it_is)
{
    const skn_builtin_t *builtin = skn_builtin_find();
    skn_link_watch_t *watch = watch_of(0);
    skn_coder_t *coder = skn_coder_new(builtin->kernels(NULL), NULL);
    skn_activation_t message = { .batch = 0 };
    const void *measured = NULL;
    cr_expect_eq(builtin->watch_sent(watch, &skn_activation_schema, &message,
                                     SKN_CODING_INT8, 1, coder, &measured,
                                     NULL),
                 SKN_OK);
    cr_expect_eq(measured, &message);
    skn_coder_destroy(&coder);
    builtin->watch_destroy(&watch);
}

Test(builtin_table, a_gradient_carries_the_error_of_its_coding)
{
    const skn_builtin_t *builtin = skn_builtin_find();
    skn_link_watch_t *watch = watch_of(0);
    skn_coder_t *coder = skn_coder_new(builtin->kernels(NULL), NULL);
    float value[] = { 0.3f, -1.0f, 0.7f, 0.1f };
    uint32_t node[] = { 0 };
    skn_hidden_gradient_t message = { .batch = 0,
                                      .rows = 1,
                                      .columns = 4,
                                      .node = { node, 1 },
                                      .value = { value, 4 } };
    const void *measured = NULL;
    cr_assert_eq(builtin->watch_sent(watch, &skn_hidden_gradient_schema,
                                     &message, SKN_CODING_INT4, 1, coder,
                                     &measured, NULL),
                 SKN_OK);
    const skn_hidden_gradient_t *sent = measured;
    cr_assert_neq(sent, &message);
    cr_expect_eq(sent->value.at, value);
    cr_assert_eq(sent->changed.count, 1u);
    cr_expect_gt(sent->changed.at[0], 0.0f);
    skn_coder_destroy(&coder);
    builtin->watch_destroy(&watch);
}
