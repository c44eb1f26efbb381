/* test_tables.c - tests hash tables (actors/samplers/tables_build.c), and the
 * draws from them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/samplers/tables.h"
#include "tests/support/sampler_fixture.h"

static const skn_sampler_kind_t *const kinds[] = { &skn_sampler_simhash,
                                                   &skn_sampler_dwta };

static world_t
small_world(void)
{
    world_t world = { .labels = 90, .hidden = 12, .rows = 4, .block_rows = 8 };
    world_init(&world, 12, 2);
    return world;
}

/* --- tables --------------------------------------------------------------- */

Test(tables, each_row_stands_once_in_each_table_under_its_key)
{
    world_t world = small_world();
    for (int f = 0; f < 2; f++) {
        subject_t subject;
        skn_sampler_options_t options = world_options(&world, 0, world.labels);
        subject_open(&subject, &world, kinds[f], &options, true);
        const skn_index_t *index = &subject.index;
        uint32_t tables = index->shape.at[0], rows = world.labels;
        size_t buckets = (size_t)1 << index->shape.at[1];
        const uint32_t *key = index->unit.at + (size_t)tables * rows;
        cr_expect_eq(index->shape.at[2], rows);
        for (uint32_t t = 0; t < tables; t++) {
            const uint32_t *offset = index->offset.at + t * (buckets + 1);
            uint32_t seen[90] = { 0 };
            cr_expect_eq(offset[0], 0);
            cr_expect_eq(offset[buckets], rows);
            for (uint32_t k = 0; k < buckets; k++)
                for (uint32_t at = offset[k]; at < offset[k + 1]; at++) {
                    uint32_t row = index->unit.at[t * rows + at];
                    seen[row]++;
                    cr_expect_eq(key[row * tables + t], k);
                    cr_expect(at == offset[k] ||
                              row > index->unit.at[t * rows + at - 1]);
                }
            for (uint32_t row = 0; row < rows; row++)
                cr_expect_eq(seen[row], 1);
        }
        subject_close(&subject);
    }
    world_fini(&world);
}

Test(tables, rows_that_change_bit_by_bit_give_the_same_tables)
{
    world_t world = small_world();
    for (int f = 0; f < 2; f++) {
        subject_t subject, fresh;
        skn_error_t error = { 0 };
        skn_sampler_options_t options = world_options(&world, 0, world.labels);
        subject_open(&subject, &world, kinds[f], &options, true);
        for (uint32_t row = 0; row < world.labels; row += 3) {
            float *w = world.w + (size_t)row * (world.hidden + 1);
            for (uint32_t k = 0; k <= world.hidden; k++)
                w[k] = -w[k] + 0.1f;
            skn_rows_set(&subject.copy, options.kernels, row, w);
            subject.index_kind->change(subject.builder, &row, 1);
        }
        cr_assert_eq(
            subject.index_kind->build(subject.builder, &subject.index, &error),
            SKN_OK);
        subject_open(&fresh, &world, kinds[f], &options, true);
        cr_expect_eq(memcmp(subject.index.unit.at, fresh.index.unit.at,
                            fresh.index.unit.count * 4),
                     0);
        cr_expect_eq(memcmp(subject.index.offset.at, fresh.index.offset.at,
                            fresh.index.offset.count * 4),
                     0);
        subject_close(&subject);
        subject_close(&fresh);
    }
    world_fini(&world);
}

Test(tables, loads_are_counted)
{
    uint32_t shape[] = { 2, 1, 4 };
    uint32_t offset[] = { 0, 1, 4, 0, 4, 4 };
    skn_index_t index = { .shape = { shape, 3 }, .offset = { offset, 6 } };
    skn_bucket_load_t load = skn_tables_load(&index);
    cr_expect_eq(load.buckets, 4);
    cr_expect_eq(load.empty, 1);
    cr_expect_eq(load.greatest, 4);
    /* (1 + 9 + 16) / 2 tables / 4 rows */
    cr_expect_float_eq(load.met, 3.25, 1e-12);
}

Test(tables, builders_describe_their_buckets)
{
    world_t world = small_world();
    subject_t subject;
    char text[200];
    skn_sampler_options_t options = world_options(&world, 0, world.labels);
    subject_open(&subject, &world, &skn_sampler_simhash, &options, true);
    subject.index_kind->describe(subject.builder, text, sizeof(text));
    cr_expect_eq(strncmp(text, "\"buckets\":20,\"empty\":", 21), 0, "%s", text);
    subject_close(&subject);
    world_fini(&world);
}

/* --- draws ---------------------------------------------------------------- */

/* The formula of tables.h, straight from the tables. */
static double
naive_chance(const subject_t *subject, uint32_t sample, uint32_t row)
{
    const skn_index_t *index = &subject->index;
    const skn_sampler_options_t *options = &subject->options;
    uint32_t tables = index->shape.at[0], rows = options->row_count;
    size_t buckets = (size_t)1 << index->shape.at[1];
    uint32_t *key = malloc(tables * sizeof(*key));
    skn_hash_t hash;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_hash_init(&hash,
                               subject->kind == &skn_sampler_simhash
                                   ? &skn_hash_simhash
                                   : &skn_hash_dwta,
                               options, &error),
                 SKN_OK);
    skn_matrix_t x = { .at = subject->query.hidden +
                             sample * subject->query.hidden_stride,
                       .row_stride = subject->query.hidden_stride,
                       .column_stride = 1 };
    skn_hash_keys(&hash, &x, 1, key);
    double q = 0;
    for (uint32_t t = 0; t < tables; t++) {
        const uint32_t *offset = index->offset.at + t * (buckets + 1) + key[t];
        for (uint32_t at = offset[0]; at < offset[1]; at++)
            if (index->unit.at[t * rows + at] == row)
                q += 1.0 / tables / (offset[1] - offset[0]);
        if (offset[0] == offset[1])
            q += 1.0 / tables / rows;
    }
    skn_hash_fini(&hash);
    free(key);
    /* 9 even rows of 90 in 12 blocks of 8: fewer rows than blocks. */
    double p = 9.0 / 12 / (row < 88 ? 8 : 2);
    return 1 - pow(1 - q, (double)options->draws) * (1 - p);
}

Test(tables, chances_are_those_of_the_formula)
{
    world_t world = small_world();
    for (int f = 0; f < 2; f++)
        for (uint32_t bits = 1; bits <= 4; bits++) {
            subject_t subject;
            skn_sampler_options_t options =
                world_options(&world, 0, world.labels);
            options.bits = bits;
            subject_open(&subject, &world, kinds[f], &options, true);
            subject_draw(&subject, 3);
            for (uint32_t i = 0; i < world.rows; i++)
                for (uint32_t row = 0; row < world.labels; row++) {
                    double chance = subject.kind->chance(
                        subject.sampler, &subject.query, i, row);
                    cr_expect_float_eq(chance, naive_chance(&subject, i, row),
                                       1e-9);
                }
            subject_close(&subject);
        }
    world_fini(&world);
}

/* Whichever way q is summed, by keys of a few rows or through whole buckets. */
Test(tables, weights_of_a_list_are_those_of_the_chances_to_the_bit)
{
    static const uint32_t draws[] = { 0, 1, 5, 30, 80, 300 };
    world_t world = small_world();
    for (uint32_t k = 0; k < 6 * 4 * 2; k++) {
        subject_t subject;
        skn_sampler_options_t options = world_options(&world, 0, world.labels);
        options.draws = draws[k / 8];
        options.bits = 1 + k / 2 % 4;
        subject_open(&subject, &world, kinds[k % 2], &options, true);
        for (uint64_t batch = 3; batch < 6; batch++) {
            subject_draw(&subject, batch);
            for (uint32_t i = 0; i < world.rows; i++) {
                const skn_group_t *group = &subject.selection.group[i];
                for (uint32_t at = group->unit_first;
                     at < group->unit_first + group->unit_count; at++) {
                    float weight = subject.selection.weight[at];
                    double chance =
                        subject.kind->chance(subject.sampler, &subject.query, i,
                                             subject.selection.unit[at]);
                    cr_expect(weight == (float)(1.0 / chance) ||
                                  weight == 1.0f, /* a label */
                              "case %u: %.9g, 1 / %.17g", k, (double)weight,
                              chance);
                }
            }
        }
        subject_close(&subject);
    }
    world_fini(&world);
}

Test(tables, samples_have_lists_of_their_own)
{
    world_t world = small_world();
    subject_t subject;
    skn_sampler_options_t options = world_options(&world, 0, world.labels);
    subject_open(&subject, &world, &skn_sampler_simhash, &options, true);
    subject_draw(&subject, 3);
    cr_expect_eq(subject.selection.group_count, world.rows);
    subject_close(&subject);
    subject_open(&subject, &world, &skn_sampler_simhash, &options, false);
    subject_draw(&subject, 3);
    cr_expect_eq(subject.selection.group_count, 1, "before the first index");
    subject_close(&subject);
    world_fini(&world);
}

Test(tables, draws_without_even_rows_are_refused)
{
    world_t world = small_world();
    skn_error_t error = { 0 };
    skn_sampler_options_t options = world_options(&world, 0, world.labels);
    options.tail = 0;
    cr_expect_null(skn_sampler_simhash.open(&options, &error));
    cr_expect_eq(error.status, SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text,
                     "simhash needs uniform_rows of at least 1: otherwise "
                     "rows outside of a sample's buckets are never drawn");
    world_fini(&world);
}

/* --- an index from elsewhere ---------------------------------------------- */

Test(tables, an_index_that_does_not_fit_is_refused)
{
    world_t world = small_world();
    subject_t subject;
    skn_error_t error = { 0 };
    skn_sampler_options_t options = world_options(&world, 0, world.labels);
    subject_open(&subject, &world, &skn_sampler_dwta, &options, true);
    skn_index_t *index = &subject.index;
    uint32_t *const numbers[] = { index->shape.at, index->offset.at,
                                  index->unit.at };
    const size_t counts[] = { index->shape.count, index->offset.count,
                              index->unit.count };
    for (int run = 0; run < 3; run++)
        for (size_t k = 0; k < counts[run]; k++) {
            uint32_t kept = numbers[run][k];
            numbers[run][k] = UINT32_MAX;
            cr_expect_eq(subject.kind->adopt(subject.sampler, index, &error),
                         SKN_BAD_MESSAGE, "run %d, number %zu", run, k);
            numbers[run][k] = kept;
        }
    cr_expect_str_eq(error.text, "the index of batch 0 does not have 5 "
                                 "tables, 6 bits and 90 rows");
    skn_index_t shorter = *index;
    shorter.unit.count--;
    cr_expect_eq(subject.kind->adopt(subject.sampler, &shorter, &error),
                 SKN_BAD_MESSAGE);
    shorter = *index;
    shorter.offset.count--;
    cr_expect_eq(subject.kind->adopt(subject.sampler, &shorter, &error),
                 SKN_BAD_MESSAGE);
    shorter = *index;
    shorter.shape.count = 0;
    cr_expect_eq(subject.kind->adopt(subject.sampler, &shorter, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_eq(subject.kind->adopt(subject.sampler, index, &error), SKN_OK);
    subject_close(&subject);
    world_fini(&world);
}
