/* test_table_builder.c - runs whose active sets come from an index that is
 * built beside them: they are the same every time, and the index is used.
 * What they are told goes through actors/samplers/options.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline_fixture.h"

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
static const char *const cluster[] = { SAMPLER "kind=cluster",
                                       SAMPLER "lists=4",
                                       SAMPLER "list_rows=50",
                                       SAMPLER "uniform_rows=40" };
static const char *const *const samplers[] = { simhash, dwta, cluster };

static layout_t
layout_of(const char *const *sampler, uint32_t window, const char *lag)
{
    layout_t layout = { .hidden = 2,
                        .output = 2,
                        .window = window,
                        .word = { COMMON, sampler[0], sampler[1], sampler[2],
                                  sampler[3], lag } };
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
    for (int s = 0; s < 3; s++)
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

/* With a lag of 30 batches no index is used in 20; one batch of lag changes
 * which batches use it. */
Test(table_builder, an_index_is_used_from_its_lag_on)
{
    pipeline_t pipeline;
    char never[65], late[65], soon[65];
    pipeline_init(&pipeline);
    for (int s = 0; s < 3; s++) {
        layout_t layout = layout_of(samplers[s], 2, LAG "30");
        train(&pipeline, &layout, never);
        layout = layout_of(samplers[s], 2, LAG "3");
        train(&pipeline, &layout, late);
        layout = layout_of(samplers[s], 2, LAG "2");
        train(&pipeline, &layout, soon);
        cr_expect_str_neq(never, late, "%s", samplers[s][0]);
        cr_expect_str_neq(late, soon, "%s", samplers[s][0]);
        layout = layout_of(samplers[s], 2, LAG "16");
        train(&pipeline, &layout, late);
        cr_expect_str_neq(never, late, "batch 19 uses the index of batch 3");
        layout = layout_of(samplers[s], 2, LAG "17");
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
    for (int s = 0; s < 3; s++)
        for (uint32_t window = 1; window <= 8; window++) {
            layout_t layout = layout_of(samplers[s], window, NULL);
            layout.free_order = window % 2 == 0;
            train(&pipeline, &layout, sha256);
        }
    pipeline_fini(&pipeline);
}
