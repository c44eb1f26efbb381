/* test_log_uniform.c - tests masses by rank, and the chances that follow.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/sampler_fixture.h"

/* The mass of each label by the definition: labels before it are those that
 * are more frequent, or as frequent with a lower number. */
static void
naive_masses(const world_t *world, double *q)
{
    for (uint32_t k = 0; k < world->labels; k++) {
        uint32_t rank = 0;
        for (uint32_t j = 0; j < world->labels; j++)
            rank += world->frequency[j] > world->frequency[k] ||
                    (world->frequency[j] == world->frequency[k] && j < k);
        q[k] = log((rank + 2.0) / (rank + 1.0)) / log(world->labels + 1.0);
    }
}

static void
expect_chances(uint32_t labels, uint32_t block_rows, uint64_t draws)
{
    world_t world = {
        .labels = labels, .hidden = 2, .rows = 1, .block_rows = block_rows
    };
    world_init(&world, 30, 0);
    double *q = malloc(labels * sizeof(*q)), sum = 0, rows = 0;
    subject_t subject;
    skn_sampler_options_t options = world_options(&world, 0, labels);
    options.draws = draws;
    subject_open(&subject, &world, &skn_sampler_log_uniform, &options, false);
    naive_masses(&world, q);
    for (uint32_t k = 0; k < labels; k++)
        sum += q[k];
    cr_expect_float_eq(sum, 1.0, 1e-9, "masses add up to 1");
    for (uint32_t row = 0; row < labels; row++) {
        uint32_t first = row / block_rows * block_rows;
        double block = 0;
        for (uint32_t k = first; k < first + block_rows && k < labels; k++)
            block += q[k];
        double m = (double)draws * block, whole = floor(m), f = m - whole;
        double own = q[row] / block;
        double want = 1 - pow(1 - own, whole) * (1 - f * own);
        double got =
            subject.kind->chance(subject.sampler, &subject.query, 0, row);
        cr_expect_float_eq(got, want, 1e-7 * want + 1e-12,
                           "%u labels, row %u: %g, want %g", labels, row, got,
                           want);
        rows += got;
    }
    cr_expect_leq(rows, (double)draws + 1e-9, "no more rows than draws");
    subject_close(&subject);
    free(q);
    world_fini(&world);
}

Test(log_uniform, chances_are_those_of_the_formula)
{
    expect_chances(1, 1, 3);
    expect_chances(50, 1, 20);
    expect_chances(53, 8, 1);
    expect_chances(53, 8, 20);
    expect_chances(300, 64, 700);
    expect_chances(1000, 256, 0);
}

Test(log_uniform, frequent_labels_come_more_often)
{
    world_t world = { .labels = 8, .hidden = 2, .rows = 1, .block_rows = 8 };
    static const uint32_t frequency[] = { 3, 0, 9, 3, 1, 0, 2, 3 };
    static const uint32_t order[] = { 2, 0, 3, 7, 6, 4, 1, 5 };
    world_init(&world, 30, 0);
    memcpy(world.frequency, frequency, sizeof(frequency));
    subject_t subject;
    skn_sampler_options_t options = world_options(&world, 0, 8);
    subject_open(&subject, &world, &skn_sampler_log_uniform, &options, false);
    for (int k = 1; k < 8; k++)
        cr_expect_gt(
            subject.kind->chance(subject.sampler, NULL, 0, order[k - 1]),
            subject.kind->chance(subject.sampler, NULL, 0, order[k]));
    subject_close(&subject);
    world_fini(&world);
}

Test(log_uniform, labels_without_frequencies_are_refused)
{
    world_t world = { .labels = 8, .hidden = 2, .rows = 1, .block_rows = 8 };
    skn_error_t error = { 0 };
    world_init(&world, 30, 0);
    skn_sampler_options_t options = world_options(&world, 0, 8);
    options.frequency = NULL;
    cr_expect_null(skn_sampler_log_uniform.open(&options, &error));
    cr_expect_eq(error.status, SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text,
                     "log_uniform draws labels by frequency, but no "
                     "frequencies are given");
    world_fini(&world);
}
