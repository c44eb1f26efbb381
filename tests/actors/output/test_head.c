/* test_head.c - tests loss and gradients of output shards against differences
 * in double, and against one another. Covers actors/output/flight.c,
 * actors/output/smoothing.c, actors/output/strips.c and
 * actors/output/rank_all.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/head_fixture.h"

#include "kernels/philox.h"
#include "tests/support/sanitized.h"

/* --- a sampler with several groups ---------------------------------------- */

/* Which rows a group has, and with which weight, follows from the global row
 * alone, so that any shards draw the same. */
typedef struct fake {
    skn_sampler_options_t options;
    uint32_t groups; /* 0: one a sample */
} fake_t;

static uint32_t
mix(uint32_t a, uint32_t b)
{
    return skn_philox_at(99, a, b).word[0];
}

static void *
fake_open(const skn_sampler_options_t *options, skn_error_t *error)
{
    fake_t *sampler = calloc(1, sizeof(*sampler));
    (void)error;
    sampler->options = *options;
    sampler->groups = (uint32_t)options->draws;
    return sampler;
}

static void
fake_close(void *sampler)
{
    free(sampler);
}

static void
fake_group(const fake_t *sampler, const skn_sampler_query_t *query, uint32_t g,
           skn_selection_t *selection)
{
    skn_group_t *group = &selection->group[g];
    group->unit_first = selection->unit_count;
    for (uint32_t row = 0; row < sampler->options.row_count; row++) {
        uint32_t dice = mix(g, sampler->options.row_first + row);
        bool positive = false;
        for (uint32_t k = 0; k < query->positive_count; k++)
            positive = positive || query->positive[k] == row;
        if (!positive && dice % 3 != 0)
            continue;
        selection->unit[selection->unit_count] = row;
        selection->weight[selection->unit_count++] =
            positive ? 1.0f : 1.0f + (float)(dice % 1000) / 500.0f;
    }
    group->unit_count = selection->unit_count - group->unit_first;
}

static skn_status_t
fake_draw(void *opaque, const skn_sampler_query_t *query,
          skn_selection_t *selection, skn_error_t *error)
{
    const fake_t *sampler = opaque;
    uint32_t groups = sampler->groups ? sampler->groups : query->rows;
    if (skn_selection_room(selection, groups, query->rows,
                           groups * sampler->options.row_count,
                           error) != SKN_OK)
        return SKN_NO_MEMORY;
    selection->group_count = groups;
    selection->sample_count = selection->unit_count = 0;
    selection->everything = false;
    for (uint32_t g = 0; g < groups; g++) {
        selection->group[g].sample_first = selection->sample_count;
        for (uint32_t i = 0; i < query->rows; i++)
            if (sampler->groups ? mix(i, 7) % groups == g : i == g)
                selection->sample[selection->sample_count++] = i;
        selection->group[g].sample_count =
            selection->sample_count - selection->group[g].sample_first;
        fake_group(sampler, query, g, selection);
    }
    return SKN_OK;
}

static const skn_sampler_kind_t fake = {
    .name = "fake",
    .open = fake_open,
    .close = fake_close,
    .draw = fake_draw,
};

/* --- cases -------------------------------------------------------------- */

typedef struct sampling {
    const char *name;
    const skn_sampler_kind_t *kind;
    uint64_t draws;
} sampling_t;

static const sampling_t samplings[] = {
    { "exact", &skn_sampler_exact, 0 },
    { "uniform", &skn_sampler_uniform, 12 },
    { "uniform, labels only", &skn_sampler_uniform, 0 },
    { "3 groups", &fake, 3 },
    { "a group a sample", &fake, 0 },
};
#define SAMPLINGS (sizeof(samplings) / sizeof(samplings[0]))

static problem_t
problem_of(const sampling_t *sampling, skn_loss_t loss, skn_rows_kind_t kind)
{
    return (problem_t){ .rows = 5,
                        .hidden = 9,
                        .labels = 43,
                        .block_rows = 4,
                        .loss = loss,
                        .kind = kind,
                        .sampler = sampling->kind,
                        .draws = sampling->draws };
}

/* |got - want| <= bound * the greatest |want|. */
static void
expect_near(const float *got, const double *want, size_t count, double bound,
            const char *what, const char *sampling)
{
    double most = 0, worst = 0;
    size_t where = 0;
    for (size_t k = 0; k < count; k++)
        most = fmax(most, fabs(want[k]));
    for (size_t k = 0; k < count; k++) {
        double error = fabs((double)got[k] - want[k]);
        if (!(error <= worst)) {
            worst = error;
            where = k;
        }
    }
    cr_expect(worst <= bound * most,
              "%s, %s [%zu]: got %.9g, want %.9g (greatest %.3g)", sampling,
              what, where, (double)got[where], want[where], most);
}

static void
expect_gradients(const problem_t *problem, const outcome_t *outcome,
                 const char *name)
{
    size_t cells = (size_t)problem->rows * problem->hidden;
    size_t weights = (size_t)problem->labels * (problem->hidden + 1);
    double *h = doubles_of(problem->h, cells);
    double *w = doubles_of(problem->w, weights);
    double *slope = malloc((cells + weights) * sizeof(*slope));
    double loss = head_loss(problem, h, w, outcome->c);
    cr_expect(fabs(outcome->loss - loss) <= 1e-6 * fabs(loss),
              "%s: loss %.9g, want %.9g", name, outcome->loss, loss);
    /* f32 sums of up to 43 terms, and differences good to 1e-9. */
    head_differences(problem, h, w, h, cells, outcome->c, slope);
    expect_near(outcome->down, slope, cells, 2e-6, "hidden gradient", name);
    head_differences(problem, h, w, w, weights, outcome->c, slope);
    expect_near(outcome->row, slope, weights, 2e-6, "row gradient", name);
    free(h);
    free(w);
    free(slope);
}

static bool late; /* what problems are merged like */
static double smoothing;
static uint32_t strip_units; /* 0: all units are one strip */
static bool is_linear;       /* inputs may be negative, and meet no bias */

static void
expect_all_samplings(skn_loss_t loss, skn_rows_kind_t kind, bool fixed,
                     bool some_without)
{
    for (size_t k = 0; k < SAMPLINGS; k++) {
        for (uint32_t shards = 1; shards <= 8; shards++) {
            if (is_spared(8 - shards))
                continue;
            problem_t problem = problem_of(&samplings[k], loss, kind);
            outcome_t outcome;
            problem.late = late;
            problem.smoothing = smoothing;
            problem.strip_units = strip_units;
            problem.is_linear = is_linear;
            problem_init(&problem, 17 + k, some_without);
            head_run(&problem, fixed, shards, &outcome);
            expect_gradients(&problem, &outcome, samplings[k].name);
            for (uint32_t row = 0; row < problem.labels && is_linear; row++)
                cr_expect_eq(outcome.row[row * 10 + 9], 0.0f, "a bias");
            outcome_fini(&outcome);
            problem_fini(&problem);
        }
    }
}

Test(head, softmax_is_what_differences_say)
{
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD, false, false);
}

Test(head, softmax_in_the_fixed_tree_is_what_differences_say)
{
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD, true, false);
}

Test(head, one_vs_all_is_what_differences_say)
{
    expect_all_samplings(SKN_LOSS_IS_ONE_VS_ALL, SKN_ROWS_SGD, false, false);
    expect_all_samplings(SKN_LOSS_IS_ONE_VS_ALL, SKN_ROWS_SGD, true, false);
}

Test(head, a_softmax_that_shards_normalise_is_what_differences_say)
{
    late = true;
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD, false, false);
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD, false, true);
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD_BF16, false, false);
}

Test(head, smoothed_targets_are_what_differences_say)
{
    smoothing = 0.3;
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD, false, false);
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_ADAM, false, true);
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD_BF16, false, false);
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD, true, true);
    late = true;
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD, false, true);
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD_BF16, false, false);
}

Test(head, samples_without_labels_have_no_softmax_gradient)
{
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD, false, true);
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD, true, true);
    expect_all_samplings(SKN_LOSS_IS_ONE_VS_ALL, SKN_ROWS_SGD, false, true);
}

/* Behind a linear trunk, with the hidden values of both signs. */
Test(head, inputs_below_zero_without_a_bias_are_what_differences_say)
{
    is_linear = true;
    for (strip_units = 0; strip_units <= 7; strip_units += 7) {
        expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD, false, true);
        expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD, true, true);
    }
    is_linear = false;
    strip_units = 0;
}

Test(head, rows_with_moments_and_rows_of_bf16_give_the_same)
{
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_ADAM, false, false);
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_ADAM, true, false);
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_ADAGRAD, false, false);
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD_BF16, false, false);
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD_BF16, true, false);
    expect_all_samplings(SKN_LOSS_IS_ONE_VS_ALL, SKN_ROWS_SGD_BF16, true,
                         false);
}

/* A strip, several of them, and one unit each: of the exact set and of a drawn
 * one; groups and the fixed tree take no notice. */
Test(head, strips_of_any_width_are_what_differences_say)
{
    static const uint32_t widths[] = { 1, 7, 16, 42 };
    for (size_t k = 0; k < 4; k++) {
        strip_units = widths[k];
        smoothing = 0;
        late = false;
        expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD, false, true);
        expect_all_samplings(SKN_LOSS_IS_ONE_VS_ALL, SKN_ROWS_SGD, false, true);
        smoothing = 0.3;
        late = true;
        expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD_BF16, false,
                             true);
    }
    late = false;
    expect_all_samplings(SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD, true, false);
}

/* Factors are rounded to 8 bits, once each; powers too, relative to another m
 * in each strip. */
Test(head, strips_of_bf16_are_near_those_of_floats)
{
    for (int loss = 0; loss < 2; loss++)
        for (size_t k = 0; k < 3; k++) {
            outcome_t half, full;
            problem_t problem =
                problem_of(&samplings[k],
                           loss ? SKN_LOSS_IS_ONE_VS_ALL : SKN_LOSS_IS_SOFTMAX,
                           SKN_ROWS_SGD_BF16);
            problem.strip_units = 7;
            problem_init(&problem, 31 + k, true);
            head_run(&problem, false, 2, &full);
            problem.half = true;
            head_run(&problem, false, 2, &half);
            size_t cells = (size_t)problem.rows * problem.hidden;
            size_t weights = (size_t)problem.labels * (problem.hidden + 1);
            double *down = doubles_of(full.down, cells);
            double *row = doubles_of(full.row, weights);
            cr_expect(fabs(half.loss - full.loss) <= 0.02 * fabs(full.loss));
            expect_near(half.down, down, cells, 0.02, "hidden gradient",
                        "half");
            expect_near(half.row, row, weights, 0.02, "row gradient", "half");
            free(down);
            free(row);
            outcome_fini(&half);
            outcome_fini(&full);
            problem_fini(&problem);
        }
}

/* A shard alone, and any shards of one-vs-all, form row gradients as they go,
 * as many samples at a time as have room: 32 of 70 here. */
Test(head, rows_formed_in_the_forward_pass_are_what_differences_say)
{
    for (uint32_t k = 0; k < 8; k++) {
        uint32_t shards = 1 + k % 2;
        bool one_vs_all = k >= 6;
        outcome_t outcome;
        problem_t problem = problem_of(&samplings[one_vs_all],
                                       one_vs_all ? SKN_LOSS_IS_ONE_VS_ALL
                                                  : SKN_LOSS_IS_SOFTMAX,
                                       SKN_ROWS_SGD);
        problem.late = k / 2 == 1;
        problem.smoothing = k / 2 == 2 ? 0.3 : 0;
        problem.rows = 70;
        problem.strip_units = 7;
        problem.kept_bytes = problem.labels * 32 * sizeof(float);
        problem.forms_rows = true;
        problem_init(&problem, 23, true);
        head_run(&problem, false, shards, &outcome);
        cr_expect_eq(outcome.formed, one_vs_all || shards == 1 ? shards : 0);
        expect_gradients(&problem, &outcome, "formed at once");
        outcome_fini(&outcome);
        problem_fini(&problem);
    }
}

static void
expect_same_outcome(const problem_t *problem, const outcome_t *got,
                    const outcome_t *want)
{
    size_t cells = (size_t)problem->rows * problem->hidden;
    size_t weights = (size_t)problem->labels * (problem->hidden + 1);
    cr_expect_eq(got->loss, want->loss);
    cr_expect(memcmp(got->down, want->down, cells * sizeof(float)) == 0);
    cr_expect(memcmp(got->row, want->row, weights * sizeof(float)) == 0);
}

/* The tree of blocks has the same bits whether logits are kept or not. */
Test(head, logits_that_are_computed_again_have_the_same_bits)
{
    for (size_t k = 0; k < 2 * SAMPLINGS; k++) {
        outcome_t kept, again;
        problem_t problem =
            problem_of(&samplings[k / 2],
                       k % 2 ? SKN_LOSS_IS_ONE_VS_ALL : SKN_LOSS_IS_SOFTMAX,
                       SKN_ROWS_SGD_BF16);
        problem_init(&problem, 37, true);
        head_run(&problem, true, 1, &kept);
        problem.kept_bytes = 1;
        for (uint32_t shards = 1; shards <= 3; shards++) {
            head_run(&problem, true, shards, &again);
            cr_expect(fabs(again.loss - kept.loss) <= 1e-9 * kept.loss);
            again.loss = kept.loss; /* summed in another order */
            expect_same_outcome(&problem, &again, &kept);
            outcome_fini(&again);
        }
        outcome_fini(&kept);
        problem_fini(&problem);
    }
}

/* Whether all powers are kept, those of the first strip, or none; or rows are
 * formed at once. */
Test(head, powers_that_are_computed_again_have_the_same_bits)
{
    for (int k = 0; k < 4; k++) {
        outcome_t kept, again;
        problem_t problem = problem_of(
            &samplings[0], k % 2 ? SKN_LOSS_IS_ONE_VS_ALL : SKN_LOSS_IS_SOFTMAX,
            SKN_ROWS_SGD_BF16);
        problem.half = k >= 2;
        problem.strip_units = 7;
        problem_init(&problem, 29, true);
        for (size_t w = 0; w < 43 * 10; w++)
            problem.w[w] *= 16; /* m rises from strip to strip */
        for (uint32_t shards = 1; shards <= 2; shards++) {
            problem.kept_bytes = 0;
            head_run(&problem, false, shards, &kept);
            for (int some = 0; some < 2; some++) {
                problem.kept_bytes = some ? 7 * 32 * sizeof(float) : 1;
                head_run(&problem, false, shards, &again);
                expect_same_outcome(&problem, &again, &kept);
                outcome_fini(&again);
            }
            problem.kept_bytes = 0;
            problem.forms_rows = true;
            head_run(&problem, false, shards, &again);
            cr_expect(again.formed || (shards == 2 && k % 2 == 0));
            expect_same_outcome(&problem, &again, &kept);
            problem.forms_rows = false;
            outcome_fini(&again);
            outcome_fini(&kept);
        }
        problem_fini(&problem);
    }
}

/* --- shards against one --------------------------------------------------- */

static void
expect_outcomes_near(const problem_t *problem, const outcome_t *got,
                     const outcome_t *want, const char *name)
{
    size_t cells = (size_t)problem->rows * problem->hidden;
    size_t weights = (size_t)problem->labels * (problem->hidden + 1);
    double *down = doubles_of(want->down, cells);
    double *row = doubles_of(want->row, weights);
    cr_expect(fabs(got->loss - want->loss) <= 1e-6 * fabs(want->loss));
    expect_near(got->down, down, cells, 1e-5, "hidden gradient", name);
    expect_near(got->row, row, weights, 1e-5, "row gradient", name);
    cr_expect_eq(got->touched, want->touched);
    cr_expect(memcmp(got->c, want->c,
                     problem->rows * problem->labels * sizeof(double)) == 0,
              "%s: other rows were drawn", name);
    free(down);
    free(row);
}

static void
expect_same_bits(const problem_t *problem, const outcome_t *got,
                 const outcome_t *want, const char *name, uint32_t shards)
{
    size_t cells = (size_t)problem->rows * problem->hidden;
    size_t weights = (size_t)problem->labels * (problem->hidden + 1);
    cr_expect(memcmp(got->down, want->down, cells * sizeof(float)) == 0,
              "%s, %u shards: other bits downwards", name, shards);
    cr_expect(memcmp(got->row, want->row, weights * sizeof(float)) == 0,
              "%s, %u shards: other bits of rows", name, shards);
}

/* 700 labels in blocks of 2, 33 samples, 40 hidden units: nothing is even. */
static void
expect_shards_agree(skn_loss_t loss, bool fixed)
{
    static const uint32_t shards[] = { 1, 2, 3, 5, 8 };
    for (size_t k = 0; k < SAMPLINGS; k++) {
        outcome_t alone, outcome;
        problem_t problem = problem_of(&samplings[k], loss, SKN_ROWS_ADAM);
        problem.rows = 33;
        problem.hidden = 40;
        problem.labels = 700;
        problem.block_rows = 2;
        problem.late = late;
        if (problem.sampler == &skn_sampler_uniform)
            problem.draws *= 20;
        problem_init(&problem, 23, false);
        head_run(&problem, fixed, 1, &alone);
        for (size_t s = 0; s < 5; s++) {
            head_run(&problem, fixed, shards[s], &outcome);
            expect_outcomes_near(&problem, &outcome, &alone, samplings[k].name);
            if (fixed || shards[s] == 1)
                expect_same_bits(&problem, &outcome, &alone, samplings[k].name,
                                 shards[s]);
            outcome_fini(&outcome);
        }
        outcome_fini(&alone);
        problem_fini(&problem);
    }
}

Test(head, any_number_of_shards_agrees_with_one)
{
    expect_shards_agree(SKN_LOSS_IS_SOFTMAX, false);
    expect_shards_agree(SKN_LOSS_IS_ONE_VS_ALL, false);
}

Test(head, any_number_of_shards_that_normalise_agrees_with_one)
{
    late = true;
    expect_shards_agree(SKN_LOSS_IS_SOFTMAX, false);
}

Test(head, the_fixed_tree_gives_the_same_bits_on_any_shards)
{
    expect_shards_agree(SKN_LOSS_IS_SOFTMAX, true);
    expect_shards_agree(SKN_LOSS_IS_ONE_VS_ALL, true);
}

Test(head, drawing_everything_is_exact)
{
    for (int fixed = 0; fixed < 2; fixed++) {
        outcome_t exact, drawn;
        sampling_t all = { "uniform, all", &skn_sampler_uniform, 43 };
        problem_t problem =
            problem_of(&samplings[0], SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD);
        problem.block_rows = 1; /* m_b = 1 of 1 row: every row, weight 1 */
        problem_init(&problem, 5, false);
        head_run(&problem, fixed, 2, &exact);
        problem.sampler = all.kind;
        problem.draws = all.draws;
        head_run(&problem, fixed, 2, &drawn);
        expect_outcomes_near(&problem, &drawn, &exact, all.name);
        outcome_fini(&exact);
        outcome_fini(&drawn);
        problem_fini(&problem);
    }
}

/* --- greatest logits ---------------------------------------------------- */

Test(head, great_logits_do_not_overflow)
{
    for (int fixed = 0; fixed < 2; fixed++) {
        outcome_t outcome;
        problem_t problem =
            problem_of(&samplings[0], SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD);
        problem_init(&problem, 5, false);
        for (uint32_t k = 0; k < 43 * 10; k++)
            problem.w[k] *= 200;
        head_run(&problem, fixed, 3, &outcome);
        cr_expect(isfinite(outcome.loss));
        for (uint32_t k = 0; k < 43 * 10; k++)
            cr_expect(isfinite(outcome.row[k]));
        outcome_fini(&outcome);
        problem_fini(&problem);
    }
}

Test(head, a_weight_that_is_not_a_number_is_seen_in_the_loss)
{
    for (int fixed = 0; fixed < 2; fixed++) {
        outcome_t outcome;
        problem_t problem =
            problem_of(&samplings[0], SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD);
        problem_init(&problem, 5, false);
        problem.w[10 * 7] = NAN;
        problem.strip_units = 4;
        head_run(&problem, fixed, 3, &outcome);
        cr_expect(!isfinite(outcome.loss));
        outcome_fini(&outcome);
        problem_fini(&problem);
    }
}

/* --- looking at all rows ------------------------------------------------- */

static bool
has_label(const problem_t *problem, uint32_t i, uint32_t label)
{
    bool found = false;
    for (uint32_t k = problem->offset[i]; k < problem->offset[i + 1]; k++)
        found = found || problem->label[k] == label;
    return found;
}

Test(head, look_gives_the_best_labels_of_all)
{
    oracle_random_t random = { 4 };
    problem_t problem =
        problem_of(&samplings[0], SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD_BF16);
    problem.labels = 2500; /* three looks of 1024 rows, the last one short */
    problem_init(&problem, 6, false);
    for (uint32_t k = 1; k <= 7; k += 3) {
        shard_t *shard = calloc(1, sizeof(*shard));
        uint32_t label[5 * 7];
        float score[5 * 7], greatest[5], sum[5], positive[5];
        skn_error_t error = { 0 };
        shard_open(shard, &problem, false, 1, 0);
        size_t stride = shard->head.hidden_stride;
        float *h = oracle_floats(&random, 5 * stride, 1);
        for (int i = 0; i < 5; i++)
            h[(size_t)i * stride + 9] = 1;
        skn_rank_all_t look = { .k = k,
                                .label = label,
                                .score = score,
                                .greatest = greatest,
                                .sum = sum,
                                .positive = positive,
                                .labels = &problem.message };
        cr_assert_eq(skn_head_rank_all(&shard->head, h, 5, &look, &error),
                     SKN_OK);
        for (uint32_t i = 0; i < 5; i++) {
            double z = 0, wanted = 0;
            /* Each label kept beats all that were not, in double. */
            double last = INFINITY, o;
            uint32_t better = 0;
            for (uint32_t r = 0; r < k; r++) {
                o = (double)problem.w[label[i * k + r] * 10 + 9];
                for (uint32_t c = 0; c < 9; c++)
                    o += (double)h[i * stride + c] *
                         (double)problem.w[label[i * k + r] * 10 + c];
                cr_expect(fabs(o - (double)score[i * k + r]) <= 1e-5);
                cr_expect(o <= last + 1e-5);
                last = o;
            }
            for (uint32_t row = 0; row < problem.labels; row++) {
                o = (double)problem.w[row * 10 + 9];
                for (uint32_t c = 0; c < 9; c++)
                    o += (double)h[i * stride + c] *
                         (double)problem.w[row * 10 + c];
                better += o > last + 1e-5;
                cr_expect(o <= (double)greatest[i] + 1e-5);
                z += exp(o - (double)greatest[i]);
                wanted += has_label(&problem, i, row) ? o : 0;
            }
            cr_expect(fabs((double)positive[i] - wanted) <= 1e-5);
            cr_expect_lt(better, k);
            cr_expect(fabs((double)sum[i] - z) <= 1e-5 * z, "%g, not %g",
                      (double)sum[i], z);
        }
        free(h);
        shard_close(shard);
        free(shard);
    }
    problem_fini(&problem);
}

Test(head, look_says_so_when_there_are_fewer_labels_than_asked_for)
{
    problem_t problem =
        problem_of(&samplings[0], SKN_LOSS_IS_SOFTMAX, SKN_ROWS_SGD);
    problem.labels = 3;
    problem_init(&problem, 6, false);
    shard_t *shard = calloc(1, sizeof(*shard));
    uint32_t label[5];
    float score[5], h[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    shard_open(shard, &problem, false, 1, 0);
    skn_rank_all_t look = { .k = 5, .label = label, .score = score };
    cr_assert_eq(skn_head_rank_all(&shard->head, h, 1, &look, NULL), SKN_OK);
    cr_expect(label[2] < 3 && label[3] == UINT32_MAX && label[4] == UINT32_MAX);
    cr_expect(isinf(score[3]) && score[3] < 0);
    shard_close(shard);
    free(shard);
    problem_fini(&problem);
}

/* --- lists ---------------------------------------------------------------- */

Test(head, a_lower_bound_is_the_first_that_is_not_smaller)
{
    uint32_t list[67];
    for (uint32_t k = 0; k < 67; k++)
        list[k] = 3 * k + 1;
    for (uint32_t count = 0; count <= 67; count++)
        for (uint32_t unit = 0; unit < 3 * count + 4; unit++) {
            uint32_t want = 0;
            while (want < count && list[want] < unit)
                want++;
            cr_assert_eq(skn_head_lower_bound(list, count, unit), want,
                         "%u of %u", unit, count);
        }
}
