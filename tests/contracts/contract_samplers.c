/* contract_samplers.c - tests the promises of every sampler, one body over all:
 * actors/samplers/exact.c, actors/samplers/uniform.c,
 * actors/samplers/log_uniform.c, actors/samplers/simhash.c and
 * actors/samplers/dwta.c, on the memory of actors/samplers/selection.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/output/head.h"
#include "tests/support/head_fixture.h"
#include "tests/support/sampler_fixture.h"

/* --- the lists ------------------------------------------------------------ */

static void
expect_kind(size_t k, const char *name, bool has_index)
{
    const skn_sampler_kind_t *kind = skn_samplers[k];
    cr_assert(kind, "no kind for %s", name);
    cr_expect_str_eq(kind->name, name);
    cr_expect_eq(kind->index != NULL, has_index, "%s", name);
    cr_expect_eq(kind->adopt != NULL, has_index, "%s", name);
    cr_expect(!has_index || kind->index->function_bits > 0, "%s", name);
}

Test(contract_samplers, kinds_are_what_their_lists_say)
{
    size_t k = 0;
#define C(NAME, word) expect_kind(k++, #word, false);
    SKN_FULL_SAMPLERS(C)
    SKN_RANDOM_SAMPLERS(C)
#undef C
#define C(NAME, word) expect_kind(k++, #word, true);
    SKN_INDEXED_SAMPLERS(C)
#undef C
    cr_expect_null(skn_samplers[k]);
}

/* --- shape of a selection ------------------------------------------------- */

static bool
has_positive(const subject_t *subject, uint32_t row)
{
    for (uint32_t k = 0; k < subject->query.positive_count; k++)
        if (subject->query.positive[k] == row)
            return true;
    return false;
}

static void
expect_group(const subject_t *subject, const skn_group_t *group,
             const char *name)
{
    const skn_selection_t *selection = &subject->selection;
    const uint32_t *unit = selection->unit + group->unit_first;
    const float *weight = selection->weight + group->unit_first;
    uint32_t sample = selection->sample[group->sample_first];
    cr_assert_leq(group->unit_first + group->unit_count, selection->unit_count);
    for (uint32_t k = 0; k < group->unit_count; k++) {
        cr_assert_lt(unit[k], subject->options.row_count, "%s", name);
        cr_expect(k == 0 || unit[k] > unit[k - 1], "%s: not ascending", name);
        cr_expect(weight[k] >= 1.0f && isfinite(weight[k]), "%s", name);
        if (has_positive(subject, unit[k]))
            continue;
        double chance = subject->kind->chance(subject->sampler, &subject->query,
                                              sample, unit[k]);
        cr_expect_float_eq((double)weight[k] * chance, 1.0, 1e-5,
                           "%s: weight %g, chance %g", name, (double)weight[k],
                           chance);
    }
}

static void
expect_selection(const subject_t *subject, const char *name)
{
    const skn_selection_t *selection = &subject->selection;
    uint32_t rows = subject->world->rows;
    uint32_t *seen = calloc(rows, sizeof(*seen));
    double *weight = malloc(subject->options.row_count * sizeof(*weight));
    for (uint32_t g = 0; g < selection->group_count; g++) {
        const skn_group_t *group = &selection->group[g];
        cr_assert_gt(group->sample_count, 0, "%s", name);
        expect_group(subject, group, name);
        for (uint32_t s = 0; s < group->sample_count; s++) {
            const uint32_t *sample = selection->sample + group->sample_first;
            cr_expect(s == 0 || sample[s] > sample[s - 1], "%s", name);
            cr_assert_lt(sample[s], rows);
            seen[sample[s]]++;
        }
    }
    for (uint32_t i = 0; i < rows; i++) {
        cr_expect_eq(seen[i], 1, "%s: sample %u in %u groups", name, i,
                     seen[i]);
        subject_weights(subject, i, weight);
        for (uint32_t k = subject->own_offset[i];
             k < subject->own_offset[i + 1]; k++)
            cr_expect_eq(weight[subject->own[k]], 1.0, "%s: a label", name);
        for (uint32_t row = 0;
             subject->options.draws > 0 && row < subject->options.row_count;
             row++) {
            double chance = subject->kind->chance(subject->sampler,
                                                  &subject->query, i, row);
            cr_expect(chance > 0.0 && chance <= 1.0, "%s: chance %g of row %u",
                      name, chance, row);
        }
    }
    free(seen);
    free(weight);
}

/* The same batch is drawn twice, with another in between. */
static void
expect_repeatable(subject_t *subject, const char *name)
{
    subject_draw(subject, 7);
    uint32_t count = subject->selection.unit_count;
    uint32_t *unit = malloc((count + 1) * sizeof(*unit));
    memcpy(unit, subject->selection.unit, count * sizeof(*unit));
    subject_draw(subject, 8);
    subject_draw(subject, 7);
    cr_assert_eq(subject->selection.unit_count, count, "%s", name);
    cr_expect_eq(memcmp(unit, subject->selection.unit, count * sizeof(*unit)),
                 0, "%s: drawn otherwise", name);
    free(unit);
}

typedef struct sizes {
    uint32_t labels, block_rows, rows, labels_most;
    uint64_t draws, tail;
} sizes_t;

static void
expect_contract(const sizes_t *sizes)
{
    world_t world = { .labels = sizes->labels,
                      .hidden = 10,
                      .rows = sizes->rows,
                      .block_rows = sizes->block_rows };
    world_init(&world, 3, sizes->labels_most);
    for (size_t k = 0; skn_samplers[k]; k++)
        for (int with_index = 0; with_index < 2; with_index++) {
            char name[96];
            subject_t subject;
            skn_sampler_options_t options =
                world_options(&world, 0, world.labels);
            options.draws = sizes->draws;
            options.tail = sizes->tail;
            (void)snprintf(name, sizeof(name),
                           "%s, %u labels, %u samples, %llu draws",
                           skn_samplers[k]->name, world.labels, world.rows,
                           (unsigned long long)options.draws);
            subject_open(&subject, &world, skn_samplers[k], &options,
                         with_index);
            expect_repeatable(&subject, name);
            expect_selection(&subject, name);
            subject_close(&subject);
        }
    world_fini(&world);
}

Test(contract_samplers, a_batch_is_dealt_with_in_every_size)
{
    static const sizes_t sizes[] = {
        { 60, 8, 5, 2, 12, 9 },     { 1, 1, 1, 1, 1, 1 },
        { 1, 1, 4, 0, 5, 5 },       { 2, 1, 3, 1, 1, 1 },
        { 60, 8, 1, 2, 12, 9 },     { 60, 8, 5, 60, 12, 9 },
        { 60, 8, 5, 0, 12, 9 },     { 60, 8, 5, 2, 0, 1 },
        { 60, 8, 5, 2, 500, 500 },  { 61, 8, 5, 2, 60, 61 },
        { 60, 8, 5, 2, 3, 2 },      { 300, 1, 7, 3, 40, 20 },
        { 4097, 64, 3, 2, 200, 9 },
    };
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
        expect_contract(&sizes[k]);
}

Test(contract_samplers, a_cap_bounds_every_weight)
{
    world_t world = { .labels = 60, .hidden = 10, .rows = 4, .block_rows = 8 };
    world_init(&world, 3, 2);
    for (size_t k = 0; skn_samplers[k]; k++) {
        subject_t subject;
        skn_sampler_options_t options = world_options(&world, 0, world.labels);
        options.weight_cap = 1.5;
        subject_open(&subject, &world, skn_samplers[k], &options, true);
        subject_draw(&subject, 7);
        for (uint32_t u = 0; u < subject.selection.unit_count; u++)
            cr_expect_leq(subject.selection.weight[u], 1.5f, "%s",
                          skn_samplers[k]->name);
        subject_close(&subject);
    }
    world_fini(&world);
}

Test(contract_samplers, rows_at_the_cap_are_counted)
{
    float weight[] = { 1.0f, 4.0f, 3.9f, 4.0f, 0.5f };
    skn_selection_t selection = { .weight = weight, .unit_count = 5 };
    cr_expect_eq(skn_selection_capped(&selection, 4.0f), 2);
    cr_expect_eq(skn_selection_capped(&selection, 5.0f), 0);
    cr_expect_eq(skn_selection_capped(&selection, 0.0f), 0, "there is no cap");
    selection.unit_count = 0;
    cr_expect_eq(skn_selection_capped(&selection, 4.0f), 0);
}

Test(contract_samplers, rows_of_nan_are_drawn_within_bounds)
{
    world_t world = { .labels = 60, .hidden = 10, .rows = 4, .block_rows = 8 };
    world_init(&world, 3, 2);
    for (uint32_t k = 0; k < 20 * 11; k++)
        world.w[k] = NAN;
    for (uint32_t k = 0; k < 10; k++)
        world.h[k] = k % 2 ? NAN : INFINITY;
    for (size_t k = 0; skn_samplers[k]; k++) {
        subject_t subject;
        skn_sampler_options_t options = world_options(&world, 0, world.labels);
        subject_open(&subject, &world, skn_samplers[k], &options, true);
        subject_draw(&subject, 7);
        expect_selection(&subject, skn_samplers[k]->name);
        subject_close(&subject);
    }
    world_fini(&world);
}

/* --- probability ---------------------------------------------------------- */

#define DRAWS 20000

/* Rows are counted over many batches. Each count lies within 5 standard
 * deviations of its chance, and the squares of all deviations are 1 on average,
 * within 4 of theirs. Rows of one list are nearly independent. */
static void
expect_counts(subject_t *subject)
{
    uint32_t rows = subject->world->rows, units = subject->options.row_count;
    uint32_t *count = calloc((size_t)rows * units, sizeof(*count));
    double *weight = malloc(units * sizeof(*weight));
    double squares = 0;
    size_t compared = 0;
    for (uint64_t t = 0; t < DRAWS; t++) {
        subject_draw(subject, t);
        for (uint32_t i = 0; i < rows; i++) {
            subject_weights(subject, i, weight);
            for (uint32_t row = 0; row < units; row++)
                count[i * units + row] += weight[row] > 0;
        }
    }
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t row = 0; row < units; row++) {
            double chance = subject->kind->chance(subject->sampler,
                                                  &subject->query, i, row);
            double deviation = sqrt(DRAWS * chance * (1 - chance));
            double off = count[i * units + row] - DRAWS * chance;
            if (chance >= 1.0) {
                cr_expect_eq(off, 0.0);
                continue;
            }
            cr_expect_lt(fabs(off), 5 * deviation + 1e-9,
                         "%s: row %u of sample %u: %u times, %.1f expected",
                         subject->kind->name, row, i, count[i * units + row],
                         DRAWS * chance);
            squares += off * off / (deviation * deviation);
            compared++;
        }
    if (compared > 0)
        cr_expect_lt(fabs(squares / (double)compared - 1.0),
                     4 * sqrt(2.0 / (double)(compared / rows)),
                     "%s: squares of %.3f", subject->kind->name,
                     squares / (double)compared);
    free(count);
    free(weight);
}

static void
expect_chances(uint64_t draws, uint64_t tail)
{
    world_t world = { .labels = 53, .hidden = 10, .rows = 2, .block_rows = 8 };
    world_init(&world, 5, 0);
    for (size_t k = 0; skn_samplers[k]; k++) {
        subject_t subject;
        skn_sampler_options_t options = world_options(&world, 0, world.labels);
        options.draws = draws;
        options.tail = tail;
        subject_open(&subject, &world, skn_samplers[k], &options, true);
        expect_counts(&subject);
        subject_close(&subject);
    }
    world_fini(&world);
}

Test(contract_samplers, rows_come_as_often_as_their_chance_says)
{
    expect_chances(12, 9);
}

Test(contract_samplers, chances_hold_for_fewer_rows_than_blocks)
{
    expect_chances(3, 2);
}

Test(contract_samplers, chances_hold_for_many_rows)
{
    expect_chances(40, 20);
}

/* --- gradients ------------------------------------------------------------ */

#define BATCHES 4000

/* Mean and square of each number over the batches, against the exact one. */
typedef struct mean {
    size_t count;
    double *sum, *square;
} mean_t;

static void
mean_init(mean_t *mean, size_t count)
{
    mean->count = count;
    mean->sum = calloc(count, sizeof(double));
    mean->square = calloc(count, sizeof(double));
}

static void
mean_add(mean_t *mean, const float *x)
{
    for (size_t k = 0; k < mean->count; k++) {
        mean->sum[k] += (double)x[k];
        mean->square[k] += (double)x[k] * (double)x[k];
    }
}

/* Within 5 standard errors each, and 1 on average in square. A number that
 * hardly varies has the rounding of floats instead. */
static void
mean_expect(mean_t *mean, const float *want, const char *what, const char *name)
{
    double squares = 0;
    size_t varied = 0;
    for (size_t k = 0; k < mean->count; k++) {
        double average = mean->sum[k] / BATCHES;
        double variance = mean->square[k] / BATCHES - average * average;
        double error = sqrt(fmax(variance, 0) / BATCHES);
        double off = average - (double)want[k];
        cr_expect_lt(fabs(off), 5 * error + 1e-5, "%s, %s %zu: %g, want %g",
                     name, what, k, average, (double)want[k]);
        if (error > 1e-4) {
            squares += off * off / (error * error);
            varied++;
        }
    }
    /* Numbers of one row go together: few of them are independent. */
    if (varied > 0)
        cr_expect_lt(squares / (double)varied, 2.5, "%s, %s: squares of %g",
                     name, what, squares / (double)varied);
}

static void
mean_fini(mean_t *mean)
{
    free(mean->sum);
    free(mean->square);
}

/* One batch through head.c: its hidden gradient, row gradients, and Z. */
static void
run_batch(shard_t *shard, problem_t *problem, uint64_t batch,
          outcome_t *outcome, float *z)
{
    problem->message.batch = batch;
    memset(outcome->row, 0, problem->labels * (problem->hidden + 1) * 4);
    shard_forward(shard, problem, 0, outcome);
    skn_tree_node_t node = { .place = shard->share.node.at[0],
                             .partial = { .greatest =
                                              shard->partition.greatest.at,
                                          .sum = shard->partition.sum.at } };
    shard_complete(shard, &node, 1);
    shard_backward(shard, problem, outcome);
    merge_down(shard, 1, problem, outcome);
    for (uint32_t i = 0;
         problem->loss == SKN_LOSS_IS_SOFTMAX && i < problem->rows; i++)
        z[i] = shard->flight.root_sum[i] * expf(shard->flight.root_greatest[i]);
    share_fini(shard);
}

/* The world's rows and labels as a problem of the head's fixture. */
static problem_t
problem_of(const world_t *world, skn_loss_t loss)
{
    problem_t problem = { .rows = world->rows,
                          .hidden = world->hidden,
                          .labels = world->labels,
                          .block_rows = world->block_rows,
                          .loss = loss,
                          .kind = SKN_ROWS_SGD,
                          .sampler = &skn_sampler_exact };
    problem.h = malloc(world->rows * world->hidden * sizeof(float));
    for (uint32_t i = 0; i < world->rows; i++)
        memcpy(problem.h + i * world->hidden, world->h + i * world->stride,
               world->hidden * sizeof(float));
    problem.w = world->w;
    problem.message = (skn_labels_t){
        .rows = world->rows,
        .offset = { world->offset, world->rows + 1 },
        .label = { world->label, world->offset[world->rows] },
        .distinct = { world->distinct, world->distinct_count },
    };
    return problem;
}

static void
expect_unbiased(const world_t *world, const skn_sampler_kind_t *kind,
                skn_loss_t loss)
{
    problem_t problem = problem_of(world, loss);
    size_t cells = (size_t)world->rows * world->hidden;
    size_t weights = (size_t)world->labels * (world->hidden + 1);
    outcome_t exact, drawn;
    float exact_z[8], z[8];
    mean_t down, row, partition;
    shard_t shard;
    subject_t subject;
    skn_sampler_options_t options = world_options(world, 0, world->labels);
    outcome_init(&exact, &problem);
    outcome_init(&drawn, &problem);
    memset(&shard, 0, sizeof(shard));
    shard_open(&shard, &problem, false, 1, 0);
    run_batch(&shard, &problem, 0, &exact, exact_z);
    subject_open(&subject, world, kind, &options, true);
    shard.head.sampler_kind->close(shard.head.sampler);
    shard.head.sampler_kind = kind;
    shard.head.sampler = subject.sampler;
    shard.flight.selection.everything = false;
    mean_init(&down, cells);
    mean_init(&row, weights);
    mean_init(&partition, world->rows);
    for (uint64_t t = 0; t < BATCHES; t++) {
        run_batch(&shard, &problem, t, &drawn, z);
        mean_add(&down, drawn.down);
        mean_add(&row, drawn.row);
        mean_add(&partition, z);
    }
    if (loss == SKN_LOSS_IS_SOFTMAX) { /* a ratio: its gradient is biased */
        mean_expect(&partition, exact_z, "partition", kind->name);
    } else {
        mean_expect(&down, exact.down, "hidden gradient", kind->name);
        mean_expect(&row, exact.row, "row gradient", kind->name);
    }
    mean_fini(&down);
    mean_fini(&row);
    mean_fini(&partition);
    shard.head.sampler = NULL; /* the subject's */
    shard_close(&shard);
    subject_close(&subject);
    outcome_fini(&exact);
    outcome_fini(&drawn);
    free(problem.h);
}

static void
expect_all_unbiased(skn_loss_t loss)
{
    world_t world = { .labels = 53, .hidden = 6, .rows = 3, .block_rows = 8 };
    world_init(&world, 9, 2);
    for (size_t k = 0; skn_samplers[k]; k++)
        expect_unbiased(&world, skn_samplers[k], loss);
    world_fini(&world);
}

Test(contract_samplers, one_vs_all_gradients_are_right_on_average)
{
    expect_all_unbiased(SKN_LOSS_IS_ONE_VS_ALL);
}

Test(contract_samplers, the_softmax_partition_is_right_on_average)
{
    expect_all_unbiased(SKN_LOSS_IS_SOFTMAX);
}

/* --- layouts -------------------------------------------------------------- */

/* Which rows of the whole layer are drawn, with their weights. With an index, a
 * shard draws from its own buckets: only the draws before it are compared. */
static void
draw_layout(const world_t *world, const skn_sampler_kind_t *kind,
            uint64_t draws, uint32_t shards, double *weight)
{
    uint32_t size = world->block_rows;
    uint32_t blocks = (world->labels + size - 1) / size;
    for (uint32_t s = 0; s < shards; s++) {
        uint32_t first = s * blocks / shards * size;
        uint32_t end = (s + 1) * blocks / shards * size;
        subject_t subject;
        if (end > world->labels)
            end = world->labels;
        skn_sampler_options_t options =
            world_options(world, first, end - first);
        options.draws = draws;
        subject_open(&subject, world, kind, &options, false);
        subject_draw(&subject, 31);
        subject_weights(&subject, 0, weight + first);
        subject_close(&subject);
    }
}

Test(contract_samplers, shards_draw_the_same_rows_in_every_layout)
{
    world_t world = { .labels = 203, .hidden = 4, .rows = 2, .block_rows = 8 };
    static const uint64_t draws[] = { 0, 1, 3, 25, 26, 27, 100, 202, 500 };
    double whole[203], parts[203];
    world_init(&world, 3, 2);
    for (size_t d = 0; d < sizeof(draws) / sizeof(draws[0]); d++)
        for (size_t k = 0; skn_samplers[k]; k++) {
            const skn_sampler_kind_t *kind = skn_samplers[k];
            draw_layout(&world, kind, draws[d], 1, whole);
            for (uint32_t shards = 2; shards <= 7; shards++) {
                draw_layout(&world, kind, draws[d], shards, parts);
                for (uint32_t row = 0; row < world.labels; row++)
                    cr_assert_eq(whole[row], parts[row],
                                 "%s, %u shards, row %u", kind->name, shards,
                                 row);
            }
        }
    world_fini(&world);
}
