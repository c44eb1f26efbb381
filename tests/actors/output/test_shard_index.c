/* test_shard_index.c - tests which rows are sent to the builder, and which
 * batch waits for and adopts which index. The probe plays the shard, around a
 * table_builder; whole runs are in test_table_builder.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/output/shard_index.h"

#include "kernels/draws.h"
#include "actors/protocol/workspace.h"
#include "tests/support/actor_probe.h"
#include "tests/support/oracle.h"
#include "transport/message/payload.h"

static uint64_t adopted[64];
static uint32_t adopted_count;

static skn_status_t
note(void *sampler, const skn_index_t *index, skn_error_t *error)
{
    (void)sampler, (void)error;
    adopted[adopted_count++] = index->batch;
    return SKN_OK;
}

static skn_status_t
refuse(void *sampler, const skn_index_t *index, skn_error_t *error)
{
    (void)sampler, (void)index;
    return skn_fail(error, SKN_BAD_MESSAGE, "no");
}

static const skn_sampler_kind_t noting = { .name = "noting", .adopt = note };
static const skn_sampler_kind_t refusing = { .name = "refusing",
                                             .adopt = refuse };

/* A keeper that waits for the indexes of these batches. */
static skn_shard_index_t
keeper_of(const uint64_t *batch, const uint64_t *due, uint32_t count)
{
    skn_shard_index_t keeper = { .active = true, .request_count = count };
    for (uint32_t k = 0; k < count; k++)
        keeper.request[k] =
            (skn_index_request_t){ .batch = batch[k], .due = due[k] };
    return keeper;
}

static skn_status_t
take(skn_shard_index_t *keeper, skn_pool_t *pool, uint64_t batch,
     skn_error_t *error)
{
    skn_index_t *index = skn_payload_new(pool, &skn_index_schema,
                                         (const size_t[]){ 0, 0, 0 }, error);
    cr_assert(index);
    index->batch = batch;
    skn_status_t status = skn_shard_index_take(keeper, index, error);
    skn_payload_drop(index);
    return status;
}

/* --- waiting and adopting ------------------------------------------------- */

Test(shard_index, a_batch_waits_for_all_that_is_due)
{
    static const uint64_t batch[] = { 3, 5, 7 }, due[] = { 6, 6, 11 };
    skn_error_t error = { 0 };
    skn_pool_t *pool = skn_pool_new(1 << 20, &error);
    skn_shard_index_t keeper = keeper_of(batch, due, 3);
    adopted_count = 0;
    cr_expect(skn_shard_index_ready(&keeper, 5));
    cr_expect_not(skn_shard_index_ready(&keeper, 6));
    cr_assert_eq(take(&keeper, pool, 3, &error), SKN_OK);
    cr_expect_not(skn_shard_index_ready(&keeper, 6));
    cr_assert_eq(take(&keeper, pool, 5, &error), SKN_OK);
    cr_expect(skn_shard_index_ready(&keeper, 6));
    cr_assert_eq(skn_shard_index_adopt(&keeper, 5, &noting, NULL, &error),
                 SKN_OK);
    cr_expect_eq(adopted_count, 0);
    cr_assert_eq(skn_shard_index_adopt(&keeper, 6, &noting, NULL, &error),
                 SKN_OK);
    cr_expect_eq(adopted_count, 1, "the older of the two is passed over");
    cr_expect_eq(adopted[0], 5);
    cr_expect(skn_shard_index_ready(&keeper, 10));
    cr_expect_not(skn_shard_index_ready(&keeper, 11));
    cr_assert_eq(take(&keeper, pool, 7, &error), SKN_OK);
    cr_assert_eq(skn_shard_index_adopt(&keeper, 11, &noting, NULL, &error),
                 SKN_OK);
    cr_expect_eq(adopted[1], 7);
    cr_expect_eq(keeper.request_count, 0);
    skn_shard_index_close(&keeper);
    skn_pool_destroy(&pool);
}

Test(shard_index, an_index_out_of_turn_is_refused)
{
    static const uint64_t batch[] = { 4, 9 }, due[] = { 14, 19 };
    skn_error_t error = { 0 };
    skn_pool_t *pool = skn_pool_new(1 << 20, &error);
    skn_shard_index_t keeper = keeper_of(batch, due, 2);
    cr_expect_eq(take(&keeper, pool, 9, &error), SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text,
                     "received an index of batch 9, but expected that of "
                     "batch 4");
    cr_expect_eq(take(&keeper, pool, 4, &error), SKN_OK);
    cr_expect_eq(take(&keeper, pool, 4, &error), SKN_BAD_MESSAGE);
    cr_expect_eq(take(&keeper, pool, 9, &error), SKN_OK);
    cr_expect_eq(take(&keeper, pool, 14, &error), SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text, "received an index of batch 14, but "
                                 "expected none");
    skn_shard_index_close(&keeper); /* with what has come */
    skn_pool_destroy(&pool);
}

Test(shard_index, a_sampler_that_refuses_an_index_stops_the_run)
{
    static const uint64_t batch[] = { 4 }, due[] = { 14 };
    skn_error_t error = { 0 };
    skn_pool_t *pool = skn_pool_new(1 << 20, &error);
    skn_shard_index_t keeper = keeper_of(batch, due, 1);
    cr_expect_eq(take(&keeper, pool, 4, &error), SKN_OK);
    cr_expect_eq(skn_shard_index_adopt(&keeper, 13, &refusing, NULL, &error),
                 SKN_OK);
    cr_expect_eq(skn_shard_index_adopt(&keeper, 14, &refusing, NULL, &error),
                 SKN_BAD_MESSAGE);
    skn_shard_index_close(&keeper);
    skn_pool_destroy(&pool);
}

Test(shard_index, samplers_without_an_index_wait_for_nothing)
{
    skn_shard_index_t keeper = { 0 };
    skn_error_t error = { 0 };
    skn_index_view_t view = { .applied = 7, .marker = true };
    cr_expect(skn_shard_index_ready(&keeper, 1000));
    cr_expect_eq(skn_shard_index_adopt(&keeper, 1000, &refusing, NULL, &error),
                 SKN_OK);
    skn_shard_index_change(&keeper, NULL, 0);
    cr_expect_eq(skn_shard_index_send(&keeper, NULL, &view, &error), SKN_OK);
    skn_shard_index_close(&keeper);
}

/* --- what a builder is shown ---------------------------------------------- */

#define ROWS 50
#define HIDDEN 6
#define WIDTH (HIDDEN + 1)
#define STEPS_MAX 64
#define TABLES 4
#define UNITS (2 * TABLES * ROWS)

/* A run of the shard: batch by batch, and how far it has come. */
static struct {
    skn_shard_index_t keeper;
    skn_rows_t rows;
    uint64_t first, end, batch, refresh, lag;
    const uint64_t *marker; /* ascending, up to a 0 */
    bool twice;             /* each marker is told again */
    oracle_random_t random;
    /* Indexes, as they came. */
    uint64_t of[STEPS_MAX];
    uint32_t unit[STEPS_MAX][UNITS]; /* their rows by bucket, then the keys */
    uint32_t count;
    uint32_t begun[UNITS]; /* of the rows when the shard was opened */
} shard;

/* The tables that a builder with no earlier state builds from the shard's rows.
 */
static void
build_anew(uint32_t *unit)
{
    const skn_index_kind_t *kind = skn_sampler_simhash.index;
    const skn_sampler_options_t options = {
        .kernels = skn_kernels_pick(NULL),
        .seed = skn_draw_key(1, SKN_DRAW_SAMPLE, 0),
        .labels = ROWS,
        .row_count = ROWS,
        .hidden = HIDDEN,
        .batch_rows = 4,
        .tables = TABLES,
        .bits = 6,
    };
    skn_error_t error = { 0 };
    skn_index_t index = { 0 };
    uint32_t row[ROWS];
    for (uint32_t k = 0; k < ROWS; k++)
        row[k] = k;
    void *builder = kind->open(&options, &shard.rows, &error);
    cr_assert(builder, "%s", error.text);
    kind->change(builder, row, ROWS);
    cr_assert_eq(kind->build(builder, &index, &error), SKN_OK);
    cr_assert_eq(index.unit.count, UNITS);
    memcpy(unit, index.unit.at, UNITS * sizeof(*unit));
    kind->close(builder);
}

static bool
is_marker(uint64_t applied)
{
    const uint64_t *marker = shard.marker;
    while (*marker && *marker != applied)
        marker++;
    return *marker == applied;
}

static skn_status_t
show(skn_actor_t *actor, bool marker, skn_error_t *error)
{
    skn_index_view_t view = { .rows = &shard.rows,
                              .applied = shard.batch,
                              .marker = marker };
    return skn_shard_index_send(&shard.keeper, actor, &view, error);
}

/* One batch: some rows change, in a way that the batch alone decides. */
static void
train(void)
{
    const skn_kernels_t *kernels = skn_kernels_pick(NULL);
    shard.random.state = 1000 + shard.batch;
    for (uint32_t k = 0; k < 9; k++) {
        float row[WIDTH];
        uint32_t which = (uint32_t)(oracle_next(&shard.random) % ROWS);
        for (uint32_t c = 0; c < WIDTH; c++)
            row[c] = (float)(oracle_next(&shard.random) % 1000) - 500.0f;
        skn_shard_index_change(&shard.keeper, &which, 1);
        skn_rows_set(&shard.rows, kernels, which, row);
    }
    shard.batch++;
}

/* As far as the indexes that are here allow. */
static skn_status_t
run_on(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    while (status == SKN_OK && shard.batch < shard.end &&
           skn_shard_index_ready(&shard.keeper, shard.batch)) {
        status = skn_shard_index_adopt(&shard.keeper, shard.batch, &noting,
                                       NULL, error);
        train();
        bool marker = is_marker(shard.batch);
        if (status == SKN_OK)
            status = show(actor, marker && !shard.twice, error);
        if (status == SKN_OK && marker && shard.twice)
            status = show(actor, true, error);
        if (status == SKN_OK && marker && shard.twice)
            status = show(actor, true, error);
    }
    if (shard.batch == shard.end &&
        shard.keeper.come == shard.keeper.request_count)
        skn_actor_finish(actor);
    return status;
}

static skn_status_t
open_shard(skn_actor_t *actor, skn_error_t *error)
{
    skn_shard_index_t *keeper = &shard.keeper;
    *keeper = (skn_shard_index_t){ .active = true,
                                   .refresh = shard.refresh,
                                   .lag = shard.lag,
                                   .kernels = skn_kernels_pick(NULL),
                                   .row_count = ROWS,
                                   .hidden = HIDDEN,
                                   .batch_rows = ROWS / 4 };
    keeper->unit = malloc(ROWS * sizeof(uint32_t));
    cr_assert_eq(skn_rowset_init(&keeper->changed, ROWS, error), SKN_OK);
    skn_rowset_fill(&keeper->changed);
    cr_assert_eq(
        skn_rows_init(&shard.rows, SKN_ROWS_SGD, ROWS, WIDTH, false, error),
        SKN_OK);
    shard.batch = 0;
    while (shard.batch < shard.first) /* what the checkpoint has */
        train();
    skn_rowset_fill(&keeper->changed);
    build_anew(shard.begun);
    skn_status_t status = show(actor, shard.first > 0, error);
    return status == SKN_OK ? run_on(actor, error) : status;
}

static skn_status_t
on_reaction(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
            skn_error_t *error)
{
    const skn_index_t *index = message;
    (void)schema;
    cr_assert_lt(shard.count, STEPS_MAX);
    cr_assert_eq(index->unit.count, UNITS);
    shard.of[shard.count] = index->batch;
    memcpy(shard.unit[shard.count++], index->unit.at, sizeof(shard.unit[0]));
    skn_status_t status = skn_shard_index_take(&shard.keeper, index, error);
    return status == SKN_OK ? run_on(actor, error) : status;
}

static void
run_shard(uint64_t first, uint64_t end, uint64_t refresh, uint64_t lag,
          const uint64_t *marker)
{
    shard.first = first;
    shard.end = end;
    shard.refresh = refresh;
    shard.lag = lag;
    shard.marker = marker;
    shard.count = adopted_count = 0;
    memset(probe.to, 0, sizeof(probe.to));
    memset(probe.from, 0, sizeof(probe.from));
    probe.kind = &skn_table_builder;
    probe.start = open_shard;
    probe.react = on_reaction;
    probe.to[0] = "dirty";
    probe.from[0] = "index";
    probe_option("labels", "50");
    probe_option("row_count", "50");
    probe_option("hidden", "6");
    probe_option("batch_rows", "4");
    probe_option("sampler", "simhash");
    probe_option("tables", "4");
    probe_option("bits", "6");
    probe_option("uniform_rows", "5");
    probe_run_well();
    skn_shard_index_close(&shard.keeper);
    skn_rows_fini(&shard.rows);
}

Test(shard_index, rounds_are_adopted_at_their_lag)
{
    static const uint64_t none[] = { 0 };
    for (uint64_t refresh = 1; refresh <= 5; refresh += 2)
        for (uint64_t lag = 1; lag <= 11; lag += 5) {
            run_shard(0, 24, refresh, lag, none);
            uint64_t rounds = 24 / refresh, used = 0;
            cr_expect_eq(shard.count, rounds);
            for (uint64_t s = refresh - 1; s + lag < 24; s += refresh)
                cr_expect_eq(adopted[used++], s, "refresh %u, lag %u",
                             (unsigned)refresh, (unsigned)lag);
            cr_expect_eq(adopted_count, used);
        }
}

/* Rounds of 4, a lag of 6: batches 3, 7 and 11 close rounds. At 6 the first is
 * overtaken, at 12 a round and a marker fall together. */
Test(shard_index, a_marker_overtakes_what_was_not_adopted)
{
    static const uint64_t markers[] = { 6, 12, 13, 0 };
    static const uint64_t built[] = { 3, 5, 7, 11, 12, 15 };
    static const uint64_t used[] = { 5, 11, 12 };
    run_shard(0, 18, 4, 6, markers);
    cr_assert_eq(shard.count, 6);
    for (uint32_t k = 0; k < 6; k++)
        cr_expect_eq(shard.of[k], built[k]);
    cr_assert_eq(adopted_count, 3);
    for (uint32_t k = 0; k < 3; k++)
        cr_expect_eq(adopted[k], used[k]);
}

Test(shard_index, the_index_of_a_marker_is_that_of_all_rows_as_they_are)
{
    static const uint64_t markers[] = { 7, 0 };
    run_shard(0, 7, 4, 6, markers);
    cr_assert_eq(shard.count, 2);
    skn_error_t error = { 0 };
    uint32_t unit[UNITS];
    uint64_t before = shard.batch; /* the rows of batch 6, made once more */
    cr_assert_eq(before, 7);
    skn_shard_index_t *keeper = &shard.keeper;
    memset(keeper, 0, sizeof(*keeper));
    cr_assert_eq(
        skn_rows_init(&shard.rows, SKN_ROWS_SGD, ROWS, WIDTH, false, &error),
        SKN_OK);
    for (shard.batch = 0; shard.batch < before;)
        train();
    build_anew(unit);
    cr_expect_eq(memcmp(shard.unit[1], unit, sizeof(unit)), 0);
    cr_expect_neq(memcmp(shard.unit[0], unit, sizeof(unit)), 0);
    skn_rows_fini(&shard.rows);
}

/* A halt is told after its batch: the round may have been closed by then. */
Test(shard_index, a_marker_that_is_reported_late_changes_nothing)
{
    static const uint64_t markers[] = { 8, 10, 0 };
    static uint32_t once[2][UNITS];
    run_shard(0, 10, 4, 6, markers);
    cr_assert_eq(shard.count, 3);
    memcpy(once, shard.unit[1], sizeof(once));
    shard.twice = true;
    run_shard(0, 10, 4, 6, markers);
    cr_assert_eq(shard.count, 4, "batch 7 closes a round, then is a marker");
    cr_expect_eq(shard.of[2], 7);
    cr_expect_eq(memcmp(once, shard.unit[2], sizeof(once)), 0);
}

Test(shard_index, a_resumed_shard_shows_all_its_rows_before_the_first_batch)
{
    static const uint64_t none[] = { 0 };
    run_shard(9, 16, 4, 2, none);
    cr_assert_eq(adopted_count, 2);
    cr_expect_eq(adopted[0], 8, "at batch 9");
    cr_expect_eq(adopted[1], 11, "at batch 13");
    cr_expect_eq(memcmp(shard.unit[0], shard.begun, sizeof(shard.begun)), 0);
}
