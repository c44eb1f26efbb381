/* test_table_builder.c - runs whose active sets come from an index that is
 * built beside them: they are the same every time, and the index is used.
 * What they are told goes through actors/samplers/options.c. Then a builder by
 * itself, with a probe that plays shard and checkpointer.
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
    for (int s = 0; s < 3; s++) {
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
    for (int s = 0; s < 3; s++)
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
    bool save_first;        /* before the marker is told */
    uint32_t width, values; /* of what is lent or sent; 0: as it should be */
    char order[16];         /* what came: i(ndex), t(ensor), c(hunk) */
    uint32_t rows_told, columns_told;
    char file[64], name[64];
    float state[64];
    size_t state_bytes;
} alone;

static skn_status_t
send_marker(skn_actor_t *actor, skn_error_t *error)
{
    size_t counts[] = { 3, alone.values, 2 * HIDDEN };
    skn_dirty_t *dirty =
        skn_actor_message(actor, &skn_dirty_schema, counts, error);
    dirty->batch = 6;
    dirty->last = 1;
    dirty->rows = &alone.rows;
    dirty->hidden_rows = 2;
    for (uint32_t k = 0; k < 3; k++)
        dirty->unit.at[k] = 7 * k;
    for (uint32_t k = 0; k < 2 * HIDDEN; k++)
        dirty->hidden.at[k] = (float)k + 0.5f;
    return skn_actor_post(actor, dirty, error);
}

static skn_status_t
send_save(skn_actor_t *actor, skn_error_t *error)
{
    uint8_t metadata[] = "{}";
    skn_save_t save = { .batch = 7,
                        .metadata = { metadata, sizeof(metadata) } };
    return skn_actor_send(actor, &skn_save_schema, &save, error);
}

static skn_status_t
alone_start(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = alone.save_first ? send_save(actor, error) : SKN_OK;
    return status == SKN_OK ? send_marker(actor, error) : status;
}

static skn_status_t
alone_react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
            skn_error_t *error)
{
    size_t came = strlen(alone.order);
    alone.order[came] = schema->name[0];
    if (schema == &skn_index_schema)
        return alone.save_first ? SKN_OK : send_save(actor, error);
    if (schema == &skn_tensor_schema) {
        const skn_tensor_t *tensor = message;
        alone.rows_told = (uint32_t)tensor->rows;
        alone.columns_told = (uint32_t)tensor->columns;
        cr_expect_eq(tensor->global_rows, tensor->rows);
        cr_expect_eq(tensor->global_columns, tensor->columns);
        (void)snprintf(alone.file, 64, "%s", tensor->file);
        (void)snprintf(alone.name, 64, "%s", tensor->name);
        return SKN_OK;
    }
    const skn_chunk_t *chunk = message;
    cr_assert_eq(chunk->batch, 7);
    cr_assert_leq(chunk->bytes.count, sizeof(alone.state));
    memcpy(alone.state, chunk->bytes.at, chunk->bytes.count);
    alone.state_bytes = chunk->bytes.count;
    if (chunk->last)
        skn_actor_finish(actor);
    return SKN_OK;
}

static void
run_with(const char *sampler,
         skn_status_t (*start)(skn_actor_t *, skn_error_t *),
         skn_status_t (*react)(skn_actor_t *, const skn_schema_t *,
                               const void *, skn_error_t *))
{
    skn_error_t error = { 0 };
    memset(alone.order, 0, sizeof(alone.order));
    cr_assert_eq(skn_rows_init(&alone.rows, SKN_ROWS_ADAM, ROWS,
                               alone.width ? alone.width : HIDDEN + 1, false,
                               &error),
                 SKN_OK);
    probe.kind = &skn_table_builder;
    probe.start = start;
    probe.react = react;
    probe_option("labels", "40");
    probe_option("row_count", "40");
    probe_option("hidden", "5");
    probe_option("batch_rows", "4");
    probe_option("layer_name", "top");
    probe_option("sampler", sampler);
    probe_option("uniform_rows", "5");
    probe_run();
    skn_rows_fini(&alone.rows);
}

static void
run_alone(const char *sampler)
{
    static const char *const to[] = { "dirty", "save" };
    static const char *const from[] = { "index", "tensor", "chunk" };
    memcpy(probe.to, to, sizeof(to));
    memcpy(probe.from, from, sizeof(from));
    run_with(sampler, alone_start, alone_react);
}

Test(table_builder, centroids_are_saved)
{
    run_alone("cluster");
    cr_assert_eq(probe.status, SKN_OK, "%s", probe.error.text);
    cr_expect_str_eq(alone.order, "itc");
    cr_expect_str_eq(alone.file, "top.index.safetensors");
    cr_expect_str_eq(alone.name, "top.index");
    cr_assert_eq(alone.rows_told, 2);
    cr_assert_eq(alone.columns_told, HIDDEN + 1);
    cr_assert_eq(alone.state_bytes, 2 * (HIDDEN + 1) * sizeof(float));
    for (uint32_t k = 0; k < 2; k++) {
        const float *row = alone.state + k * (HIDDEN + 1);
        for (uint32_t c = 0; c < HIDDEN; c++)
            cr_expect_eq(row[c], (float)(k * HIDDEN + c) + 0.5f);
        cr_expect_eq(row[HIDDEN], 1.0f, "samples");
    }
}

/* The builder has taken the word when the two come from one sender in order;
 * it keeps it until the marker is told. */
Test(table_builder, a_save_that_comes_first_waits_for_its_marker)
{
    alone.save_first = true;
    run_alone("cluster");
    cr_assert_eq(probe.status, SKN_OK, "%s", probe.error.text);
    cr_expect_str_eq(alone.order, "itc");
    cr_expect_eq(alone.rows_told, 2);
}

Test(table_builder, what_has_no_state_saves_one_number)
{
    run_alone("simhash");
    cr_assert_eq(probe.status, SKN_OK, "%s", probe.error.text);
    cr_expect_str_eq(alone.order, "itc");
    cr_expect_eq(alone.rows_told * alone.columns_told, 1);
    cr_expect_eq(alone.state[0], 0.0f);
}

Test(table_builder, rows_of_another_shape_are_refused)
{
    alone.width = HIDDEN + 2;
    run_alone("simhash");
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    alone.width = 0;
    alone.values = 3 * (HIDDEN + 1); /* either lent or sent */
    run_alone("simhash");
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect_str_eq(probe.error.text,
                     "table_builder: dirty rows of batch 6: 18 values for 3 "
                     "rows of 6, 10 for 2 queries");
}

/* --- its state from the first node --------------------------------------- */

static struct {
    uint32_t rows, columns; /* of the answer; 0: there is none */
    char asked[128];
} home;

static skn_status_t
home_react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
           skn_error_t *error)
{
    const skn_want_t *want = message;
    if (schema != &skn_want_schema)
        return alone_react(actor, schema, message, error);
    size_t used = strlen(home.asked), count = home.rows * home.columns * 4;
    (void)snprintf(home.asked + used, sizeof(home.asked) - used, "%s ",
                   want->name);
    cr_expect_eq(want->rows, 0, "its size is not known");
    if (!want->name[0])
        count = 0;
    skn_restored_t *part =
        skn_actor_message(actor, &skn_restored_schema, &count, error);
    part->begun = 1;
    part->begin = !want->name[0];
    part->dtype = SKN_DTYPE_F32;
    if (count > 0) {
        part->rows = home.rows;
        part->columns = home.columns;
        for (size_t k = 0; k < count / 4; k++) {
            float value = (float)k + 100.0f;
            memcpy(part->bytes.at + 4 * k, &value, 4);
        }
    }
    /* The shard's word was faster than the builder's. */
    if (!want->name[0])
        cr_assert_eq(send_marker(actor, error), SKN_OK);
    return skn_actor_post(actor, part, error);
}

static void
run_home(const char *sampler)
{
    static const char *const to[] = { "dirty", "save", "restored" };
    static const char *const from[] = { "index", "tensor", "chunk", "want" };
    home.asked[0] = '\0';
    memcpy(probe.to, to, sizeof(to));
    memcpy(probe.from, from, sizeof(from));
    run_with(sampler, NULL, home_react);
}

/* What it got stands in front of what it saw since. */
Test(table_builder, centroids_come_from_the_first_node)
{
    home.rows = 3;
    home.columns = HIDDEN + 1;
    run_home("cluster");
    cr_assert_eq(probe.status, SKN_OK, "%s", probe.error.text);
    cr_expect_str_eq(home.asked, "top.index  ");
    cr_expect_str_eq(alone.order, "itc");
    cr_assert_geq(alone.rows_told, 3);
    float sum = 0, fresh = 0;
    for (uint32_t k = 0; k < alone.rows_told; k++)
        sum += alone.state[k * (HIDDEN + 1) + HIDDEN];
    home.rows = 0; /* a checkpoint without an index */
    run_home("cluster");
    cr_assert_eq(probe.status, SKN_OK, "%s", probe.error.text);
    for (uint32_t k = 0; k < alone.rows_told; k++)
        fresh += alone.state[k * (HIDDEN + 1) + HIDDEN];
    cr_expect_gt(sum, fresh + 300, "samples that were seen before");
}

Test(table_builder, a_sampler_without_a_state_asks_for_the_word_alone)
{
    run_home("simhash");
    cr_assert_eq(probe.status, SKN_OK, "%s", probe.error.text);
    cr_expect_str_eq(home.asked, " ");
}

Test(table_builder, an_index_of_another_width_is_refused)
{
    home.rows = 2;
    home.columns = HIDDEN + 3;
    run_home("cluster");
    cr_expect_eq(probe.status, SKN_BAD_DATA, "%s", probe.error.text);
}
