/* test_cluster.c - centroids, their lists (actors/samplers/cluster_build.c,
 * actors/samplers/centroids.c), and draws by cluster.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/samplers/cluster.h"
#include "tests/support/sampler_fixture.h"

static world_t
small_world(uint32_t labels, uint32_t rows)
{
    world_t world = {
        .labels = labels, .hidden = 7, .rows = rows, .block_rows = 8
    };
    world_init(&world, 41, 2);
    return world;
}

static double
logit_of(const subject_t *subject, const float *centroid, uint32_t row)
{
    uint32_t hidden = subject->world->hidden;
    const float *w = skn_rows_weight(&subject->copy, row);
    double sum = (double)w[hidden];
    for (uint32_t k = 0; k < hidden; k++)
        sum += (double)w[k] * (double)centroid[k];
    return sum;
}

/* --- lists ---------------------------------------------------------------- */

static void
expect_lists(uint32_t labels, uint32_t list_rows)
{
    world_t world = small_world(labels, 6);
    subject_t subject;
    skn_sampler_options_t options = world_options(&world, 0, world.labels);
    options.list_rows = list_rows;
    subject_open(&subject, &world, &skn_sampler_cluster, &options, true);
    const skn_index_t *index = &subject.index;
    uint32_t want = list_rows < labels ? list_rows : labels;
    cr_assert_eq(index->offset.count, 4);
    for (uint32_t k = 0; k < 3; k++) {
        const float *centroid = index->value.at + k * world.hidden;
        uint32_t first = index->offset.at[k], end = index->offset.at[k + 1];
        double least = INFINITY, greatest = -INFINITY;
        uint32_t at = first;
        cr_assert_eq(end - first, want);
        for (uint32_t row = 0; row < labels; row++) {
            double logit = logit_of(&subject, centroid, row);
            if (at < end && index->unit.at[at] == row) {
                least = fmin(least, logit);
                at++;
            } else {
                greatest = fmax(greatest, logit);
            }
        }
        cr_expect_eq(at, end, "the rows of a list ascend");
        cr_expect(greatest <= least + 1e-5, "%g is outside, %g inside",
                  greatest, least);
    }
    subject_close(&subject);
    world_fini(&world);
}

Test(cluster, lists_hold_the_rows_with_the_largest_logits)
{
    static const uint32_t list_rows[] = { 1, 2, 3, 10, 99, 100, 101, 500 };
    for (size_t k = 0; k < sizeof(list_rows) / sizeof(list_rows[0]); k++)
        expect_lists(100, list_rows[k]);
    expect_lists(1, 1);
    expect_lists(2, 1);
    expect_lists(5000, 1700);
}

Test(cluster, of_equal_rows_the_lower_are_taken_and_nan_last)
{
    world_t world = small_world(40, 3);
    subject_t subject;
    for (uint32_t k = 0; k < 40 * 8; k++)
        world.w[k] = k < 80 ? NAN : 1.0f;
    skn_sampler_options_t options = world_options(&world, 0, world.labels);
    options.list_rows = 12;
    subject_open(&subject, &world, &skn_sampler_cluster, &options, true);
    for (uint32_t at = 0; at < 12; at++)
        cr_expect_eq(subject.index.unit.at[at], 10 + at);
    subject_close(&subject);
    world_fini(&world);
}

/* --- centroids ------------------------------------------------------------ */

Test(cluster, the_first_vectors_are_centroids_and_others_move_them)
{
    world_t world = small_world(40, 1);
    subject_t subject;
    skn_error_t error = { 0 };
    float x[6][7] = { { 0 } };
    skn_sampler_options_t options = world_options(&world, 0, world.labels);
    options.lists = 2;
    subject_open(&subject, &world, &skn_sampler_cluster, &options, true);
    subject.index_kind->close(subject.builder);
    subject.builder = subject.index_kind->open(&options, &subject.copy, &error);
    x[0][0] = 10;  /* first */
    x[1][0] = -10; /* second */
    x[2][0] = 12;  /* to the first: mean of 10 and 12 */
    x[3][0] = 14;  /* mean of 10, 12 and 14 */
    x[4][0] = -4;  /* mean of -10 and -4 */
    x[5][0] = NAN; /* passed over */
    subject.index_kind->observe(subject.builder, x[0], 7, 6);
    cr_assert_eq(
        subject.index_kind->build(subject.builder, &subject.index, &error),
        SKN_OK);
    cr_assert_eq(subject.index.value.count, 14);
    cr_expect_float_eq((double)subject.index.value.at[0], 12.0, 1e-5);
    cr_expect_float_eq((double)subject.index.value.at[7], -7.0, 1e-5);
    char text[160];
    subject.index_kind->describe(subject.builder, text, sizeof(text));
    cr_expect_str_eq(text, "\"lists\":2,\"list_rows\":10,\"samples\":5,"
                           "\"greatest\":3");
    subject_close(&subject);
    world_fini(&world);
}

static skn_builder_t *
builder_of(const subject_t *subject, const float *x, uint32_t count)
{
    skn_error_t error = { 0 };
    skn_builder_t *builder =
        subject->index_kind->open(&subject->options, &subject->copy, &error);
    cr_assert(builder, "%s", error.text);
    subject->index_kind->observe(builder, x, 7, count);
    return builder;
}

/* Forty vectors, with a checkpoint behind the 25th. */
Test(cluster, what_is_restored_goes_on_as_if_nothing_had_been)
{
    world_t world = small_world(40, 1);
    subject_t subject;
    skn_error_t error = { 0 };
    oracle_random_t random = { 5 };
    float *x = oracle_floats(&random, 40 * 7, 1);
    skn_sampler_options_t options = world_options(&world, 0, world.labels);
    options.lists = 3;
    subject_open(&subject, &world, &skn_sampler_cluster, &options, true);
    const skn_index_kind_t *kind = subject.index_kind;
    skn_builder_t *whole = builder_of(&subject, x, 25);
    uint32_t rows, columns;
    const float *state = kind->state(whole, &rows, &columns);
    cr_assert_eq(rows, 3);
    cr_assert_eq(columns, 8);
    skn_builder_t *again = builder_of(&subject, x, 0);
    cr_assert_eq(kind->restore(again, state, rows, columns, &error), SKN_OK,
                 "%s", error.text);
    kind->observe(whole, x + 25 * 7, 7, 15);
    kind->observe(again, x + 25 * 7, 7, 15);
    skn_index_t want = { 0 }, got = { 0 };
    cr_assert_eq(kind->build(whole, &want, &error), SKN_OK);
    cr_assert_eq(kind->build(again, &got, &error), SKN_OK);
    cr_assert_eq(want.value.count, got.value.count);
    cr_expect_eq(
        memcmp(want.value.at, got.value.at, want.value.count * sizeof(float)),
        0);
    cr_expect_eq(
        memcmp(want.unit.at, got.unit.at, want.unit.count * sizeof(uint32_t)),
        0);
    kind->close(whole);
    kind->close(again);
    free(x);
    subject_close(&subject);
    world_fini(&world);
}

Test(cluster, a_state_that_does_not_fit_is_refused)
{
    world_t world = small_world(40, 1);
    subject_t subject;
    skn_error_t error = { 0 };
    float state[4][8] = { { 1, 2, 3, 4, 5, 6, 7, 1 } };
    skn_sampler_options_t options = world_options(&world, 0, world.labels);
    options.lists = 2;
    subject_open(&subject, &world, &skn_sampler_cluster, &options, true);
    const skn_index_kind_t *kind = subject.index_kind;
    skn_builder_t *builder = builder_of(&subject, state[0], 0);
    cr_expect_eq(kind->restore(builder, state[0], 1, 7, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.text, "centroids of 7 numbers, 8 expected");
    cr_expect_eq(kind->restore(builder, state[0], 2, 8, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.text, "centroid 1 is not finite, or has no samples");
    memcpy(state[1], state[0], sizeof(state[0]));
    state[1][3] = NAN;
    cr_expect_eq(kind->restore(builder, state[0], 2, 8, &error), SKN_BAD_DATA);
    state[1][3] = 1;
    cr_expect_eq(kind->restore(builder, state[0], 4, 8, &error), SKN_OK,
                 "more lists than there are now: the first ones");
    uint32_t rows, columns;
    (void)kind->state(builder, &rows, &columns);
    cr_expect_eq(rows, 2);
    kind->close(builder);
    subject_close(&subject);
    world_fini(&world);
}

Test(cluster, an_index_without_samples_has_one_list)
{
    world_t world = small_world(40, 1);
    subject_t subject;
    skn_error_t error = { 0 };
    skn_sampler_options_t options = world_options(&world, 0, world.labels);
    subject_open(&subject, &world, &skn_sampler_cluster, &options, true);
    subject.index_kind->close(subject.builder);
    subject.builder = subject.index_kind->open(&options, &subject.copy, &error);
    cr_assert_eq(
        subject.index_kind->build(subject.builder, &subject.index, &error),
        SKN_OK);
    cr_expect_eq(subject.index.offset.count, 2);
    cr_expect_eq(subject.kind->adopt(subject.sampler, &subject.index, &error),
                 SKN_OK, "%s", error.text);
    subject_close(&subject);
    world_fini(&world);
}

/* --- draws ---------------------------------------------------------------- */

Test(cluster, samples_are_grouped_by_their_nearest_centroid)
{
    world_t world = small_world(100, 60);
    subject_t subject;
    skn_sampler_options_t options = world_options(&world, 0, world.labels);
    options.lists = 5;
    subject_open(&subject, &world, &skn_sampler_cluster, &options, true);
    subject_draw(&subject, 2);
    const skn_selection_t *selection = &subject.selection;
    cr_expect_leq(selection->group_count, 5);
    cr_expect_gt(selection->group_count, 1);
    for (uint32_t g = 0; g < selection->group_count; g++) {
        const skn_group_t *group = &selection->group[g];
        uint32_t common = UINT32_MAX;
        for (uint32_t s = 0; s < group->sample_count; s++) {
            const float *x =
                world.h +
                selection->sample[group->sample_first + s] * world.stride;
            double nearest = INFINITY;
            uint32_t which = 0;
            for (uint32_t k = 0; k < 5; k++) {
                const float *c = subject.index.value.at + k * world.hidden;
                double distance = 0;
                for (uint32_t j = 0; j < world.hidden; j++)
                    distance += pow((double)x[j] - (double)c[j], 2);
                if (distance < nearest) {
                    nearest = distance;
                    which = k;
                }
            }
            cr_expect(s == 0 || which == common);
            common = which;
        }
    }
    subject_close(&subject);
    world_fini(&world);
}

Test(cluster, shards_share_the_rows_of_a_list)
{
    world_t world = small_world(100, 4);
    uint32_t sum = 0;
    for (uint32_t first = 0; first < 100; first += 40) {
        skn_sampler_options_t options =
            world_options(&world, first, first == 80 ? 20 : 40);
        options.list_rows = 33;
        sum += skn_cluster_list_rows(&options);
    }
    cr_expect_eq(sum, 33);
    world_fini(&world);
}

Test(cluster, draws_without_even_rows_are_refused)
{
    world_t world = small_world(40, 1);
    skn_error_t error = { 0 };
    skn_sampler_options_t options = world_options(&world, 0, world.labels);
    options.tail = 0;
    cr_expect_null(skn_sampler_cluster.open(&options, &error));
    cr_expect_str_eq(error.text,
                     "cluster needs uniform_rows of at least 1: rows outside "
                     "of a sample's list would never be drawn");
    world_fini(&world);
}

Test(cluster, an_index_that_does_not_fit_is_refused)
{
    world_t world = small_world(100, 6);
    subject_t subject;
    skn_error_t error = { 0 };
    skn_sampler_options_t options = world_options(&world, 0, world.labels);
    subject_open(&subject, &world, &skn_sampler_cluster, &options, true);
    skn_index_t *index = &subject.index;
    uint32_t *const numbers[] = { index->offset.at, index->unit.at };
    const size_t counts[] = { index->offset.count, index->unit.count };
    for (int run = 0; run < 2; run++)
        for (size_t k = 0; k < counts[run]; k++) {
            uint32_t kept = numbers[run][k];
            numbers[run][k] = UINT32_MAX;
            cr_expect_eq(subject.kind->adopt(subject.sampler, index, &error),
                         SKN_BAD_MESSAGE, "run %d, number %zu", run, k);
            numbers[run][k] = kept;
        }
    cr_expect_str_eq(error.text, "the index of batch 0 is not of up to 3 lists "
                                 "of 10 of 100 rows");
    skn_index_t other = *index;
    other.value.count--;
    cr_expect_eq(subject.kind->adopt(subject.sampler, &other, &error),
                 SKN_BAD_MESSAGE);
    other = *index;
    other.offset.count = 0;
    cr_expect_eq(subject.kind->adopt(subject.sampler, &other, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_eq(subject.kind->adopt(subject.sampler, index, &error), SKN_OK);
    subject_close(&subject);
    world_fini(&world);
}
