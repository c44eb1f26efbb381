/* test_candidates.c - tests the configs around the one that `auto` chooses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/tuning/candidates.h"

#include <criterion/criterion.h>
#include <string.h>

#define COUNT 64u

static skn_model_layer_t layers[2];
static skn_model_t model;
static skn_space_t space;
static skn_candidate_t list[COUNT];

static void
setup(void)
{
    layers[0] =
        (skn_model_layer_t){ .name = "hidden", .units = 512, .dropout = .3 };
    layers[1] = (skn_model_layer_t){
        .name = "out.put",
        .output = true,
        .loss = SKN_LOSS_SOFTMAX,
        .label_smoothing = .3,
        .sampler = { .kind = SKN_SAMPLER_UNIFORM, .rows = 4096 },
    };
    model = (skn_model_t){
        .layers = layers,
        .layer_count = 2,
        .train = { .batch_rows = 512,
                   .epochs = 9,
                   .optimizer = { .kind = SKN_OPTIMIZER_ADAM,
                                  .rate = .004,
                                  .beta1 = .9,
                                  .beta2 = .999 } },
    };
    skn_space_init(&space, &model, 100000, 100000, 5);
}

TestSuite(candidates, .init = setup);

static bool
same(const skn_candidate_t *one, const skn_candidate_t *other)
{
    return memcmp(one, other, sizeof(*one)) == 0;
}

Test(candidates, the_first_one_is_auto)
{
    char text[256];
    cr_assert_eq(skn_candidates_draw(&space, 1, COUNT, list), COUNT);
    cr_expect(same(&list[0], &space.base));
    cr_expect_str_eq(
        skn_candidate_describe(&space, &list[0], text, sizeof(text)), "auto");
    cr_expect_eq(skn_candidate_cost(&space, &list[0]), 1);
}

Test(candidates, all_differ_and_none_is_dear)
{
    cr_assert_eq(skn_candidates_draw(&space, 7, COUNT, list), COUNT);
    for (uint32_t k = 0; k < COUNT; k++) {
        cr_expect_leq(skn_candidate_cost(&space, &list[k]), 4);
        for (uint32_t j = 0; j < k; j++)
            cr_expect_not(same(&list[j], &list[k]), "%u and %u", j, k);
    }
}

Test(candidates, more_of_them_begin_with_the_same_ones)
{
    skn_candidate_t few[5];
    cr_assert_eq(skn_candidates_draw(&space, 3, COUNT, list), COUNT);
    cr_assert_eq(skn_candidates_draw(&space, 3, 5, few), 5);
    for (size_t k = 0; k < 5; k++)
        cr_expect(same(&few[k], &list[k]));
    cr_assert_eq(skn_candidates_draw(&space, 4, 5, few), 5);
    cr_expect_not(same(&few[1], &list[1]), "another seed draws others");
}

Test(candidates, values_are_those_that_a_model_file_takes)
{
    cr_assert_eq(skn_candidates_draw(&space, 11, COUNT, list), COUNT);
    for (uint32_t k = 0; k < COUNT; k++) {
        const double *value = list[k].value;
        bool softmax = value[SKN_TUNED_LOSS] == (double)SKN_LOSS_SOFTMAX;
        cr_expect(value[SKN_TUNED_RATE] > 0 && value[SKN_TUNED_RATE] <= 100);
        cr_expect(value[SKN_TUNED_UNITS] >= 16);
        cr_expect(value[SKN_TUNED_DROPOUT] >= 0 &&
                  value[SKN_TUNED_DROPOUT] <= .9);
        cr_expect(value[SKN_TUNED_EPOCHS] >= 1);
        cr_expect(value[SKN_TUNED_BATCH] >= 1);
        cr_expect(value[SKN_TUNED_ROWS] >= 1 &&
                  value[SKN_TUNED_ROWS] <= 100000);
        cr_expect(softmax || value[SKN_TUNED_SMOOTHING] == 0,
                  "one logistic loss a label has no smoothing");
    }
}

Test(candidates, every_free_key_is_varied_and_no_other)
{
    bool varied[SKN_TUNED_COUNT] = { false };
    skn_space_fix(&space, "train.epochs=3");
    skn_space_fix(&space, "model.layers.out.put.sampler={ rows: 100 }");
    cr_assert_eq(skn_candidates_draw(&space, 1, COUNT, list), COUNT);
    for (uint32_t k = 0; k < COUNT; k++)
        for (int j = 0; j < SKN_TUNED_COUNT; j++)
            varied[j] = varied[j] || list[k].value[j] != space.base.value[j];
    for (int j = 0; j < SKN_TUNED_COUNT; j++)
        cr_expect_eq(varied[j], j != SKN_TUNED_EPOCHS && j != SKN_TUNED_ROWS,
                     "key %d", j);
}

Test(candidates, a_key_is_not_fixed_by_the_beginning_of_a_word)
{
    skn_space_fix(&space, "train.epoch=3");
    cr_expect(space.free[SKN_TUNED_EPOCHS]);
    skn_space_fix(&space, "train={ epochs: 3 }");
    cr_expect_not(space.free[SKN_TUNED_EPOCHS]);
    cr_expect_not(space.free[SKN_TUNED_RATE]);
    cr_expect(space.free[SKN_TUNED_UNITS]);
}

Test(candidates, what_goes_with_a_fixed_key_is_fixed)
{
    skn_space_fix(&space, "train.optimizer.rate=0.1");
    skn_space_fix(&space, "model.layers.out.put.label_smoothing=0.1");
    cr_expect_not(space.free[SKN_TUNED_OPTIMIZER]);
    cr_expect_not(space.free[SKN_TUNED_LOSS]);
}

Test(candidates, a_space_of_one_config_has_one_candidate)
{
    memset(space.free, false, sizeof(space.free));
    cr_expect_eq(skn_candidates_draw(&space, 1, COUNT, list), 1);
}

Test(candidates, exact_softmax_has_no_rows_to_vary)
{
    layers[1].sampler.kind = SKN_SAMPLER_EXACT;
    skn_space_init(&space, &model, 1000, 300, 5);
    cr_expect_not(space.free[SKN_TUNED_ROWS]);
    cr_expect_eq(space.base.value[SKN_TUNED_ROWS], 300);
}

Test(candidates, adagrad_has_a_rate_of_its_own)
{
    uint32_t found = 0;
    cr_assert_eq(skn_candidates_draw(&space, 1, COUNT, list), COUNT);
    for (uint32_t k = 0; k < COUNT; k++) {
        if (list[k].value[SKN_TUNED_OPTIMIZER] == (double)SKN_OPTIMIZER_ADAM)
            continue;
        cr_expect_geq(list[k].value[SKN_TUNED_RATE], .003);
        found++;
    }
    cr_expect_gt(found, 0);
}

Test(candidates, a_rule_with_keys_of_its_own_stays)
{
    model.train.optimizer.weight_decay = .1;
    skn_space_init(&space, &model, 1000, 300, 5);
    cr_expect_not(space.free[SKN_TUNED_OPTIMIZER]);
    cr_expect(space.free[SKN_TUNED_RATE]);
    model.train.optimizer.kind = SKN_OPTIMIZER_ADAGRAD;
    skn_space_init(&space, &model, 1000, 300, 5);
    cr_expect_not(space.free[SKN_TUNED_RATE]);
}

Test(candidates, a_trial_has_its_share_of_the_batches)
{
    /* 196 batches an epoch, 1,764 in all. */
    skn_trial_length_t length =
        skn_candidate_length(&space, &space.base, 1.0 / 9);
    cr_expect_eq(length.max_batches, 196);
    cr_expect_eq(length.epochs, 1);
    length = skn_candidate_length(&space, &space.base, 1.0 / 27);
    cr_expect_eq(length.max_batches, 65);
    cr_expect_eq(length.epochs, 1);
    length = skn_candidate_length(&space, &space.base, .5);
    cr_expect_eq(length.max_batches, 882);
    cr_expect_eq(length.epochs, 5);
    length = skn_candidate_length(&space, &space.base, 1);
    cr_expect_eq(length.max_batches, 0);
    cr_expect_eq(length.epochs, 9);
}

Test(candidates, a_shorter_trial_takes_longer_steps)
{
    const double *value = space.base.value;
    skn_candidate_t trial = skn_candidate_shorter(&space.base, 1);
    cr_expect(same(&trial, &space.base));
    trial = skn_candidate_shorter(&space.base, .5);
    cr_expect_float_eq(trial.value[SKN_TUNED_RATE],
                       value[SKN_TUNED_RATE] * 1.6818, 1e-6);
    trial = skn_candidate_shorter(&space.base, 1.0 / 9);
    cr_expect_float_eq(trial.value[SKN_TUNED_RATE], value[SKN_TUNED_RATE] * 1.8,
                       1e-9);
    trial.value[SKN_TUNED_RATE] = value[SKN_TUNED_RATE];
    cr_expect(same(&trial, &space.base), "and nothing else is changed");
}

Test(candidates, the_users_limit_of_batches_is_the_full_length)
{
    model.train.max_batches = 300;
    skn_trial_length_t length = skn_candidate_length(&space, &space.base, 1);
    cr_expect_eq(length.max_batches, 300);
    cr_expect_eq(length.epochs, 9);
    length = skn_candidate_length(&space, &space.base, 1.0 / 3);
    cr_expect_eq(length.max_batches, 100);
    cr_expect_eq(length.epochs, 1);
}

Test(candidates, keys_and_values_are_those_of_the_file)
{
    char key[128], value[32], text[256];
    skn_candidate_t candidate = space.base;
    cr_expect_str_eq(skn_space_key(&space, SKN_TUNED_UNITS, key, sizeof(key)),
                     "model.layers.hidden.units");
    cr_expect_str_eq(skn_space_key(&space, SKN_TUNED_ROWS, key, sizeof(key)),
                     "model.layers.out.put.sampler.rows");
    cr_expect_str_eq(skn_space_key(&space, SKN_TUNED_BATCH, key, sizeof(key)),
                     "train.batch_rows");
    candidate.value[SKN_TUNED_RATE] = .0057;
    candidate.value[SKN_TUNED_LOSS] = SKN_LOSS_ONE_VS_ALL;
    cr_expect_str_eq(skn_candidate_value(&candidate, SKN_TUNED_OPTIMIZER, value,
                                         sizeof(value)),
                     "adam");
    cr_expect_str_eq(
        skn_candidate_describe(&space, &candidate, text, sizeof(text)),
        "rate 0.0057, loss one_vs_all");
    (void)skn_candidate_describe(&space, &candidate, text, 8);
    cr_expect_str_eq(text, "rate 0.", "it is cut, and not longer");
}
