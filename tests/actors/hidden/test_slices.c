/* test_slices.c - tests that the slices of a layer are joined.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "actors/hidden/slices.h"
#include "tests/support/oracle.h"

#define ROWS 3
#define COLUMNS 20
#define STRIDE 32

static const skn_slices_t below = { "output.3", ROWS, COLUMNS, STRIDE, 1 };

/* Part k has columns first[k] .. first[k + 1] of `whole`. */
static void
cut(const float *whole, const uint32_t *first, skn_activation_t *part,
    float *room, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        uint32_t columns = first[k + 1] - first[k];
        part[k] = (skn_activation_t){ .batch = 9,
                                      .shard = k,
                                      .rows = ROWS,
                                      .column_first = first[k],
                                      .columns = columns,
                                      .value = { room, ROWS * columns } };
        for (uint32_t i = 0; i < ROWS; i++, room += columns)
            memcpy(room, whole + i * COLUMNS + first[k],
                   columns * sizeof(float));
    }
}

Test(slices, the_layer_is_whole_again_with_a_one_behind_it)
{
    static const uint32_t slicing[][4] = { { 0, 8, 16, 20 },
                                           { 0, 0, 0, 20 },
                                           { 0, 16, 16, 20 } };
    oracle_random_t random = { 1 };
    float *whole = oracle_floats(&random, ROWS * COLUMNS, 1);
    for (int k = 0; k < 3; k++) {
        skn_activation_t part[3];
        float room[ROWS * COLUMNS], hidden[ROWS * STRIDE];
        const void *at[] = { &part[0], &part[1], &part[2] };
        skn_parts_t parts = { .at = at, .count = 3 };
        memset(hidden, 0xff, sizeof(hidden));
        cut(whole, slicing[k], part, room, 3);
        cr_assert_eq(skn_slices_join(&below, &parts, hidden, NULL), SKN_OK);
        for (uint32_t i = 0; i < ROWS; i++) {
            cr_expect(memcmp(hidden + i * STRIDE, whole + i * COLUMNS,
                             COLUMNS * sizeof(float)) == 0);
            cr_expect_eq(hidden[i * STRIDE + COLUMNS], 1.0f);
        }
        skn_slices_t no_bias = below;
        no_bias.constant = 0;
        cr_assert_eq(skn_slices_join(&no_bias, &parts, hidden, NULL), SKN_OK);
        for (uint32_t i = 0; i < ROWS; i++)
            cr_expect_eq(hidden[i * STRIDE + COLUMNS], 0.0f);
    }
    free(whole);
}

static void
expect_refused(skn_activation_t *part, uint32_t count, const char *want)
{
    float hidden[ROWS * STRIDE];
    const void *at[] = { &part[0], &part[1] };
    skn_parts_t parts = { .at = at, .count = count };
    skn_error_t error = { 0 };
    cr_expect_eq(skn_slices_join(&below, &parts, hidden, &error),
                 SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text, want);
}

Test(slices, slices_that_do_not_make_up_the_layer_are_refused)
{
    static const uint32_t first[] = { 0, 8, 20 };
    float whole[ROWS * COLUMNS] = { 0 }, room[ROWS * COLUMNS];
    skn_activation_t good[2], bad[2];
    cut(whole, first, good, room, 2);
    expect_refused(good, 1,
                   "output.3: the activations of batch 9 have 8 "
                   "columns, the layer has 20");
    memcpy(bad, good, sizeof(bad));
    bad[1].rows = 2;
    expect_refused(bad, 2,
                   "output.3: activation of shard 1, batch 9: 36 "
                   "values for 2 rows, columns 8..20 of 20");
    memcpy(bad, good, sizeof(bad));
    bad[1].column_first = 9;
    expect_refused(bad, 2,
                   "output.3: activation of shard 1, batch 9: 36 "
                   "values for 3 rows, columns 9..21 of 20");
    memcpy(bad, good, sizeof(bad));
    bad[0].value.count = 23;
    expect_refused(bad, 2,
                   "output.3: activation of shard 0, batch 9: 23 "
                   "values for 3 rows, columns 0..8 of 20");
    memcpy(bad, good, sizeof(bad));
    bad[0].rows = bad[1].rows = 4;
    bad[0].value.count = 32;
    expect_refused(bad, 2,
                   "output.3: activation of shard 0, batch 9: 32 "
                   "values for 4 rows, columns 0..8 of 20");
}
