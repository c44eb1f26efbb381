/* test_table_builder.c - tests runs with a table builder: they are the same
 * every time, and use its index. Their options go through
 * actors/samplers/options.c. Then tests a builder alone, with a probe that
 * plays the shard.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/rows/rows.h"
#include "tests/support/actor_probe.h"
#include "tests/support/pipeline_fixture.h"

#define SAMPLER "model.layers.output.sampler."
#define LAG "model.layers.output.index_lag="

/* Batches 3, 7, 11, 15 and 19 close a round. */
#define COMMON                                                                 \
    "model.layers.output.sampler.rows=60",                                     \
        "model.layers.output.sampler.refresh_batches=4",                       \
        "train.optimizer.rate=0.5"

static const char *const simhash[] = { SAMPLER "kind=simhash",
                                       SAMPLER "tables=6", SAMPLER "bits=4",
                                       SAMPLER "uniform_rows=40" };
static const char *const dwta[] = { SAMPLER "kind=dwta", SAMPLER "tables=6",
                                    SAMPLER "bits=2",
                                    SAMPLER "uniform_rows=40" };
static const char *const *const samplers[] = { simhash, dwta };

static layout_t
layout_of(const char *const *sampler, uint32_t window, const char *lag)
{
    layout_t layout = { .hidden = 2,
                        .output = 2,
                        .window = window,
                        .word = { COMMON, sampler[0], sampler[1], sampler[2],
                                  sampler[3], lag ? lag : LAG "auto" } };
    return layout;
}

static void
train(pipeline_t *pipeline, const layout_t *layout, char sha256[65])
{
    trained_t trained = pipeline_train(pipeline, layout);
    memcpy(sha256, trained.sha256, sizeof(trained.sha256));
    cr_expect(isfinite(trained.loss));
    trained_fini(&trained);
}

Test(table_builder, runs_with_an_index_are_the_same_every_time)
{
    pipeline_t pipeline;
    char first[65], again[65];
    pipeline_init(&pipeline);
    for (int s = 0; s < 2; s++)
        for (uint32_t window = 1; window <= 4; window += 3) {
            layout_t layout = layout_of(samplers[s], window, NULL);
            train(&pipeline, &layout, first);
            for (int k = 0; k < 4; k++) {
                layout.wire = k % 2 == 0;
                train(&pipeline, &layout, again);
                cr_expect_str_eq(again, first, "%s, window %u, run %d",
                                 samplers[s][0], window, k);
            }
        }
    pipeline_fini(&pipeline);
}

/* With a lag of 30 batches no index is used in 20, which are one epoch here: a
 * marker has an index of its own. One batch of lag changes which batches use
 * it. */
static layout_t
one_epoch(const char *const *sampler, uint32_t window, const char *lag)
{
    layout_t layout = layout_of(sampler, window, lag);
    layout.word[8] = "train.batch_rows=8";
    return layout;
}

Test(table_builder, an_index_is_used_from_its_lag_on)
{
    pipeline_t pipeline;
    char never[65], late[65], soon[65];
    pipeline_init(&pipeline);
    for (int s = 0; s < 2; s++) {
        layout_t layout = one_epoch(samplers[s], 2, LAG "30");
        train(&pipeline, &layout, never);
        layout = one_epoch(samplers[s], 2, LAG "3");
        train(&pipeline, &layout, late);
        layout = one_epoch(samplers[s], 2, LAG "2");
        train(&pipeline, &layout, soon);
        cr_expect_str_neq(never, late, "%s", samplers[s][0]);
        cr_expect_str_neq(late, soon, "%s", samplers[s][0]);
        layout = one_epoch(samplers[s], 2, LAG "16");
        train(&pipeline, &layout, late);
        cr_expect_str_neq(never, late, "batch 19 uses the index of batch 3");
        layout = one_epoch(samplers[s], 2, LAG "17");
        train(&pipeline, &layout, late);
        cr_expect_str_eq(never, late, "the index of batch 3 comes too late");
    }
    pipeline_fini(&pipeline);
}

Test(table_builder, every_window_and_order_comes_to_its_end)
{
    pipeline_t pipeline;
    char sha256[65];
    pipeline_init(&pipeline);
    for (int s = 0; s < 2; s++)
        for (uint32_t window = 1; window <= 8; window++) {
            layout_t layout = layout_of(samplers[s], window, NULL);
            layout.free_order = window % 2 == 0;
            train(&pipeline, &layout, sha256);
        }
    pipeline_fini(&pipeline);
}

/* --- a builder by itself -------------------------------------------------- */

#define ROWS 40
#define HIDDEN 5

static struct {
    skn_rows_t rows;
    uint32_t width, values; /* of what is lent or sent; 0: as it should be */
} alone;

static skn_status_t
send_marker(skn_actor_t *actor, skn_error_t *error)
{
    size_t counts[] = { 3, alone.values };
    skn_dirty_t *dirty =
        skn_actor_message(actor, &skn_dirty_schema, counts, error);
    dirty->batch = 6;
    dirty->last = 1;
    dirty->rows = &alone.rows;
    for (uint32_t k = 0; k < 3; k++)
        dirty->unit.at[k] = 7 * k;
    return skn_actor_post(actor, dirty, error);
}

static skn_status_t
alone_react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
            skn_error_t *error)
{
    const skn_index_t *index = message;
    (void)schema, (void)error;
    cr_expect_eq(index->batch, 6);
    skn_actor_finish(actor);
    return SKN_OK;
}

static void
run_alone(void)
{
    skn_error_t error = { 0 };
    cr_assert_eq(skn_rows_init(&alone.rows, SKN_ROWS_ADAM, ROWS,
                               alone.width ? alone.width : HIDDEN + 1, false,
                               &error),
                 SKN_OK);
    probe.to[0] = "dirty";
    probe.from[0] = "index";
    probe.kind = &skn_table_builder;
    probe.start = send_marker;
    probe.react = alone_react;
    probe_option("labels", "40");
    probe_option("row_count", "40");
    probe_option("hidden", "5");
    probe_option("batch_rows", "4");
    probe_option("sampler", "simhash");
    probe_option("uniform_rows", "5");
    probe_run();
    skn_rows_fini(&alone.rows);
}

Test(table_builder, rows_that_are_lent_make_an_index)
{
    run_alone();
    cr_expect_eq(probe.status, SKN_OK, "%s", probe.error.text);
}

Test(table_builder, rows_of_another_shape_are_refused)
{
    alone.width = HIDDEN + 2;
    run_alone();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    alone.width = 0;
    alone.values = 3 * (HIDDEN + 1); /* either lent or sent */
    run_alone();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect_str_eq(probe.error.text,
                     "table_builder: dirty rows of batch 6: 18 values for 3 "
                     "rows of 6");
}
