/* test_index_keeper.c - which batch waits for which index, and adopts it.
 * What goes to the builder is seen in whole runs: test_table_builder.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/index_keeper.h"

#include <criterion/criterion.h>

#include "skein/actor.h"
#include "transport/payload.h"

static uint64_t adopted[64];
static uint32_t adopted_count;

static skn_status_t
note(skn_sampler_t *sampler, const skn_index_t *index, skn_error_t *error)
{
    (void)sampler, (void)error;
    adopted[adopted_count++] = index->batch;
    return SKN_OK;
}

static skn_status_t
refuse(skn_sampler_t *sampler, const skn_index_t *index, skn_error_t *error)
{
    (void)sampler, (void)index;
    return skn_fail(error, SKN_BAD_MESSAGE, "no");
}

static const skn_sampler_kind_t noting = { .name = "noting", .adopt = note };
static const skn_sampler_kind_t refusing = { .name = "refusing",
                                             .adopt = refuse };

static skn_index_keeper_t
keeper_of(uint64_t refresh, uint64_t lag, uint64_t first_batch)
{
    return (skn_index_keeper_t){
        .active = true,
        .refresh = refresh,
        .lag = lag,
        .first_batch = first_batch,
        .due = (first_batch / refresh + 1) * refresh - 1,
    };
}

static skn_status_t
take(skn_index_keeper_t *keeper, skn_pool_t *pool, uint64_t batch,
     skn_error_t *error)
{
    skn_index_t *index = skn_payload_new(pool, &skn_index_schema,
                                         (const size_t[]){ 0, 0, 0, 0 }, error);
    cr_assert(index);
    index->batch = batch;
    skn_status_t status = skn_index_keeper_take(keeper, index, error);
    skn_payload_drop(index);
    return status;
}

static void
expect_rounds(uint64_t refresh, uint64_t lag, uint64_t first_batch)
{
    skn_error_t error = { 0 };
    skn_pool_t *pool = skn_pool_new(1 << 20, &error);
    skn_index_keeper_t keeper = keeper_of(refresh, lag, first_batch);
    uint64_t built = keeper.due;
    adopted_count = 0;
    for (uint64_t batch = first_batch; batch < first_batch + 60; batch++) {
        bool due = batch >= lag && batch - lag >= first_batch &&
                   (batch - lag + 1) % refresh == 0;
        uint32_t before = adopted_count;
        while (built + lag / 2 < batch) { /* it comes halfway */
            cr_assert_eq(take(&keeper, pool, built, &error), SKN_OK, "%s",
                         error.text);
            built += refresh;
        }
        if (due && keeper.waiting_count == 0) {
            cr_expect(!skn_index_keeper_ready(&keeper, batch));
            cr_assert_eq(take(&keeper, pool, built, &error), SKN_OK);
            built += refresh;
        }
        cr_expect(skn_index_keeper_ready(&keeper, batch));
        cr_assert_eq(
            skn_index_keeper_adopt(&keeper, batch, &noting, NULL, &error),
            SKN_OK);
        cr_expect_eq(adopted_count - before, due ? 1 : 0, "batch %llu",
                     (unsigned long long)batch);
        if (due)
            cr_expect_eq(adopted[before], batch - lag);
    }
    skn_index_keeper_close(&keeper);
    skn_pool_destroy(&pool);
}

Test(index_keeper, the_index_of_a_batch_is_adopted_at_its_lag)
{
    static const uint64_t first[] = { 0, 1, 3, 4, 5, 1000 };
    for (uint64_t refresh = 1; refresh <= 7; refresh++)
        for (uint64_t lag = 1; lag <= 16; lag += 3)
            for (int k = 0; k < 6; k++)
                expect_rounds(refresh, lag, first[k]);
}

Test(index_keeper, an_index_out_of_turn_is_refused)
{
    skn_error_t error = { 0 };
    skn_pool_t *pool = skn_pool_new(1 << 20, &error);
    skn_index_keeper_t keeper = keeper_of(5, 10, 0);
    cr_expect_eq(take(&keeper, pool, 9, &error), SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text,
                     "an index of batch 9, that of batch 4 expected");
    cr_expect_eq(take(&keeper, pool, 4, &error), SKN_OK);
    cr_expect_eq(take(&keeper, pool, 4, &error), SKN_BAD_MESSAGE);
    for (uint64_t k = 1; k < SKN_INDEXES_MAX; k++)
        cr_expect_eq(take(&keeper, pool, 4 + 5 * k, &error), SKN_OK);
    cr_expect_eq(take(&keeper, pool, 4 + 5 * SKN_INDEXES_MAX, &error),
                 SKN_BAD_MESSAGE);
    skn_index_keeper_close(&keeper);
    skn_pool_destroy(&pool);
}

Test(index_keeper, a_sampler_that_refuses_an_index_stops_the_run)
{
    skn_error_t error = { 0 };
    skn_pool_t *pool = skn_pool_new(1 << 20, &error);
    skn_index_keeper_t keeper = keeper_of(5, 10, 0);
    cr_expect_eq(take(&keeper, pool, 4, &error), SKN_OK);
    cr_expect_eq(skn_index_keeper_adopt(&keeper, 13, &refusing, NULL, &error),
                 SKN_OK);
    cr_expect_eq(skn_index_keeper_adopt(&keeper, 14, &refusing, NULL, &error),
                 SKN_BAD_MESSAGE);
    skn_index_keeper_close(&keeper);
    skn_pool_destroy(&pool);
}

Test(index_keeper, samplers_without_an_index_wait_for_nothing)
{
    skn_index_keeper_t keeper = { 0 };
    skn_error_t error = { 0 };
    cr_expect(skn_index_keeper_ready(&keeper, 1000));
    cr_expect_eq(skn_index_keeper_adopt(&keeper, 1000, &refusing, NULL, &error),
                 SKN_OK);
    skn_index_keeper_change(&keeper, NULL, 0);
    cr_expect_eq(
        skn_index_keeper_send(&keeper, NULL, NULL, 7, NULL, 0, 0, &error),
        SKN_OK);
    skn_index_keeper_close(&keeper);
}
