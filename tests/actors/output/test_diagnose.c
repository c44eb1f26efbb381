/* test_diagnose.c - tests mass and recall of a draw against sums in double.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/output/diagnose.h"
#include "tests/support/head_fixture.h"

/* What diagnose.h says, naively: over the first samples, the share of the
 * softmax mass in the list and of the 10 best rows. */
static skn_diagnosis_t
naive(const problem_t *problem, const double *c)
{
    uint32_t samples =
        problem->rows < SKN_DIAGNOSE_ROWS ? problem->rows : SKN_DIAGNOSE_ROWS;
    uint32_t top = problem->labels < 10 ? problem->labels : 10;
    skn_diagnosis_t diagnosis = { 0 };
    double *o = malloc(problem->labels * sizeof(*o));
    for (uint32_t i = 0; i < samples; i++) {
        double all = 0, in = 0;
        uint32_t hits = 0;
        for (uint32_t row = 0; row < problem->labels; row++) {
            const float *w = problem->w + row * (problem->hidden + 1);
            o[row] = (double)w[problem->hidden];
            for (uint32_t k = 0; k < problem->hidden; k++)
                o[row] +=
                    (double)w[k] * (double)problem->h[i * problem->hidden + k];
            all += exp(o[row]);
            in += c[i * problem->labels + row] > 0 ? exp(o[row]) : 0;
        }
        for (uint32_t row = 0; row < problem->labels; row++) {
            uint32_t better = 0;
            for (uint32_t k = 0; k < problem->labels; k++)
                better += o[k] > o[row];
            hits += better < top && c[i * problem->labels + row] > 0;
        }
        diagnosis.mass += in / all / samples;
        diagnosis.recall += (double)hits / top / samples;
    }
    free(o);
    return diagnosis;
}

static skn_diagnosis_t
diagnose(problem_t *problem, uint64_t every, uint64_t batch, outcome_t *outcome)
{
    shard_t shard;
    skn_diagnose_t diagnose;
    skn_diagnosis_t diagnosis;
    skn_error_t error = { 0 };
    skn_status_t status;
    memset(&shard, 0, sizeof(shard));
    shard_open(&shard, problem, false, 1, 0);
    shard.head.whole_every = every; /* as actors/output/output.c does */
    problem->message.batch = batch;
    shard.flight.labels = &problem->message;
    shard.flight.rows = problem->rows;
    for (uint32_t i = 0; i < problem->rows; i++) {
        float *h = shard.flight.hidden + i * shard.head.hidden_stride;
        memcpy(h, problem->h + i * problem->hidden,
               problem->hidden * sizeof(float));
        h[problem->hidden] = 1;
    }
    status = skn_head_forward(&shard.head, &shard.flight, &error);
    cr_assert_eq(status, SKN_OK, "%s", error.text);
    shard_record_weights(&shard, problem, outcome);
    status = skn_diagnose_init(&diagnose, &shard.head, every, &error);
    cr_assert_eq(status, SKN_OK, "%s", error.text);
    skn_diagnose_flight(&diagnose, &shard.head, &shard.flight, &diagnosis);
    skn_diagnose_fini(&diagnose);
    shard_close(&shard);
    return diagnosis;
}

static void
expect_diagnosis(const skn_sampler_kind_t *sampler, uint32_t labels,
                 uint32_t rows, uint64_t draws)
{
    problem_t problem = { .rows = rows,
                          .hidden = 9,
                          .labels = labels,
                          .block_rows = 4,
                          .sampler = sampler,
                          .draws = draws };
    outcome_t outcome;
    problem_init(&problem, 3, true);
    outcome_init(&outcome, &problem);
    skn_diagnosis_t got = diagnose(&problem, 5, 10, &outcome);
    skn_diagnosis_t want = naive(&problem, outcome.c);
    cr_expect_float_eq(got.mass, want.mass, 1e-5, "%g, want %g", got.mass,
                       want.mass);
    cr_expect_float_eq(got.recall, want.recall, 1e-9, "%g, want %g", got.recall,
                       want.recall);
    outcome_fini(&outcome);
    problem_fini(&problem);
}

Test(diagnose, an_exact_draw_has_all_mass_and_every_row)
{
    expect_diagnosis(&skn_sampler_exact, 100, 6, 0);
    expect_diagnosis(&skn_sampler_exact, 3, 2, 0);
}

Test(diagnose, a_draw_of_some_rows_has_their_mass)
{
    expect_diagnosis(&skn_sampler_uniform, 100, 6, 30);
    expect_diagnosis(&skn_sampler_uniform, 1023, 4, 300);
    expect_diagnosis(&skn_sampler_uniform, 1024, 3, 300);
    expect_diagnosis(&skn_sampler_uniform, 2100, 1, 1000);
    expect_diagnosis(&skn_sampler_uniform, 100, 5, 0);
}

Test(diagnose, batches_in_between_are_not_measured)
{
    problem_t problem = { .rows = 4,
                          .hidden = 9,
                          .labels = 40,
                          .block_rows = 4,
                          .sampler = &skn_sampler_exact };
    outcome_t outcome;
    problem_init(&problem, 3, true);
    outcome_init(&outcome, &problem);
    static const uint64_t batches[] = { 0, 1, 6, 7, 8, 14 };
    for (int k = 0; k < 6; k++) {
        skn_diagnosis_t got = diagnose(&problem, 7, batches[k], &outcome);
        bool measured = batches[k] % 7 == 0;
        cr_expect_float_eq(got.mass, measured ? 1.0 : -1.0, 1e-5);
        cr_expect_float_eq(got.recall, measured ? 1.0 : -1.0, 1e-9);
    }
    skn_diagnosis_t never = diagnose(&problem, 0, 0, &outcome);
    cr_expect_eq(never.mass, -1.0);
    outcome_fini(&outcome);
    problem_fini(&problem);
}
