/* test_mixture.c - the text of a mixture, and what its parts add up to.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/samplers/mixture.h"
#include "tests/support/sampler_fixture.h"

/* --- the text ------------------------------------------------------------- */

static void
expect_refused(const char *text, const char *sentence)
{
    skn_mixture_part_t part[SKN_MIXTURE_MAX];
    uint32_t count;
    skn_error_t error = { 0 };
    cr_expect_eq(skn_mixture_read(text, part, &count, &error), SKN_BAD_CONFIG,
                 "'%s'", text ? text : "NULL");
    cr_expect_str_eq(error.text, sentence);
}

Test(mixture, parts_are_read_in_order)
{
    skn_mixture_part_t part[SKN_MIXTURE_MAX];
    uint32_t count;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_mixture_read("uniform:0.25,dwta:0.5,log_uniform:.25", part,
                                  &count, &error),
                 SKN_OK, "%s", error.text);
    cr_expect_eq(count, 3);
    cr_expect_eq(part[0].kind, &skn_sampler_uniform);
    cr_expect_eq(part[1].kind, &skn_sampler_dwta);
    cr_expect_eq(part[2].kind, &skn_sampler_log_uniform);
    cr_expect_eq(part[1].share, 0.5);
}

Test(mixture, texts_that_make_no_mixture_are_refused)
{
    static const char few[] = "mixture: at least 2 parts expected, as in "
                              "\"uniform:0.5,simhash:0.5\"";
    expect_refused(NULL, few);
    expect_refused("", few);
    expect_refused("uniform:1", few);
    expect_refused("uniform:0.5,simhash:0.4",
                   "mixture: the shares add up to 0.9, not to 1");
    expect_refused("cluster:0.5,exact:0.5",
                   "mixture: 'exact:0.5' is no part; \"kind:share\" expected, "
                   "with a share above 0 and at most 1");
    expect_refused("mixture:0.5,uniform:0.5",
                   "mixture: 'mixture:0.5' is no part; \"kind:share\" "
                   "expected, with a share above 0 and at most 1");
    expect_refused("uniform:0.5,simhash:0.25,dwta:0.25",
                   "mixture: at most one part may have an index");
    expect_refused("uniform:0.1,uniform:0.1,uniform:0.1,uniform:0.1,"
                   "uniform:0.1,uniform:0.1,uniform:0.1,uniform:0.1,"
                   "uniform:0.2",
                   "mixture: more than 8 parts");
}

Test(mixture, hard_parts_alone_are_refused)
{
    expect_refused("simhash:0.5,cluster:0.5",
                   "mixture: a share of uniform or log_uniform is needed; the "
                   "other samplers never draw some rows");
}

Test(mixture, words_that_are_no_parts_are_refused)
{
    static const char *const words[] = {
        "uniform",      "uniform:",    "uniform:0",
        "uniform:-1",   "uniform:1.1", "uniform:nan",
        "uniform:0.5x", ":0.5",        "unform:0.5",
        "uniform:0.5 ", ",",           "uniform=0.5",
    };
    for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++) {
        char text[64];
        skn_mixture_part_t part[SKN_MIXTURE_MAX];
        uint32_t count;
        (void)snprintf(text, sizeof(text), "%s,uniform:0.5", words[k]);
        cr_expect_eq(skn_mixture_read(text, part, &count, NULL), SKN_BAD_CONFIG,
                     "'%s'", text);
    }
}

/* --- draws ---------------------------------------------------------------- */

static void
expect_draws(const char *parts, uint64_t draws, bool with_index,
             uint32_t groups)
{
    world_t world = { .labels = 200, .hidden = 6, .rows = 5, .block_rows = 8 };
    world_init(&world, 4, 1);
    subject_t subject;
    skn_sampler_options_t options = world_options(&world, 0, world.labels);
    options.parts = parts;
    options.draws = draws;
    subject_open(&subject, &world, &skn_sampler_mixture, &options, with_index);
    subject_draw(&subject, 1);
    cr_expect_eq(subject.selection.group_count, groups, "%s: %u groups", parts,
                 subject.selection.group_count);
    for (uint32_t g = 0; g < subject.selection.group_count; g++)
        cr_expect_leq(subject.selection.group[g].unit_count,
                      draws + subject.query.positive_count);
    subject_close(&subject);
    world_fini(&world);
}

Test(mixture, groups_are_those_of_the_part_that_has_them)
{
    expect_draws("uniform:0.5,log_uniform:0.5", 100, true, 1);
    expect_draws("uniform:0.5,simhash:0.5", 100, true, 5);
    expect_draws("uniform:0.5,simhash:0.5", 100, false, 1);
    expect_draws("dwta:0.2,uniform:0.8", 101, true, 5);
    expect_draws("cluster:0.5,uniform:0.5", 100, false, 1);
}

Test(mixture, chances_are_one_minus_the_product_of_what_is_missed)
{
    world_t world = { .labels = 200, .hidden = 6, .rows = 2, .block_rows = 8 };
    world_init(&world, 4, 1);
    subject_t subject;
    skn_sampler_options_t options = world_options(&world, 0, world.labels);
    options.draws = 100;
    options.parts = "uniform:0.25,uniform:0.75";
    subject_open(&subject, &world, &skn_sampler_mixture, &options, true);
    subject_draw(&subject, 1);
    for (uint32_t row = 0; row < 200; row++) /* 25 blocks of 8: 1 and 3 each */
        cr_expect_float_eq(
            subject.kind->chance(subject.sampler, &subject.query, 0, row),
            1 - 7.0 / 8 * 5 / 8, 1e-12);
    subject_close(&subject);
    world_fini(&world);
}

Test(mixture, only_a_mixture_with_an_indexed_part_has_an_index)
{
    world_t world = { .labels = 20, .hidden = 6, .rows = 2, .block_rows = 1 };
    world_init(&world, 4, 1);
    skn_sampler_options_t options = world_options(&world, 0, world.labels);
    skn_index_t index = { 0 };
    skn_error_t error = { 0 };
    options.parts = "uniform:0.5,log_uniform:0.5";
    cr_expect_null(skn_sampler_mixture.index(&options));
    skn_sampler_t *sampler = skn_sampler_mixture.open(&options, &error);
    cr_assert(sampler);
    cr_expect_eq(skn_sampler_mixture.adopt(sampler, &index, &error),
                 SKN_BAD_MESSAGE);
    skn_sampler_mixture.close(sampler);
    options.parts = "uniform:0.5,dwta:0.5";
    cr_expect(skn_sampler_mixture.index(&options));
    options.parts = "nothing";
    cr_expect_null(skn_sampler_mixture.index(&options));
    cr_expect_null(skn_sampler_mixture.open(&options, &error));
    world_fini(&world);
}
