/* test_split.c - tests the division of points into training and validation.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "actors/protocol/split.h"
#include "tests/support/temp_folder.h"

/* `count` points with one feature; each `gap`-th has no label (0: all have). */
static skn_dataset_t *
points(uint32_t count, uint32_t gap)
{
    char folder[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 16];
    skn_dataset_options_t options = { .cache = SKN_CACHE_ANONYMOUS };
    skn_dataset_t *dataset = NULL;
    skn_error_t error = { 0 };
    temp_folder_make(folder);
    (void)snprintf(path, sizeof(path), "%s/data.txt", folder);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    (void)fprintf(file, "%u 1 1\n", count);
    for (uint32_t k = 0; k < count; k++)
        (void)fprintf(file, "%s 0:1\n", gap && k % gap == 0 ? "" : "0");
    (void)fclose(file);
    cr_assert_eq(skn_dataset_open(path, &options, &dataset, &error), SKN_OK,
                 "%s", error.text);
    temp_folder_remove(folder);
    return dataset;
}

Test(split, every_labelled_point_is_on_one_side_in_order)
{
    skn_dataset_t *dataset = points(1000, 7);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        uint32_t side[1000] = { 0 };
        skn_split_t split;
        cr_assert_eq(skn_split_init(&split, dataset, 0.3, seed, NULL), SKN_OK);
        for (uint32_t k = 0; k < split.train_count; k++) {
            cr_assert(k == 0 || split.train[k] > split.train[k - 1]);
            side[split.train[k]] += 1;
        }
        for (uint32_t k = 0; k < split.validate_count; k++) {
            cr_assert(k == 0 || split.validate[k] > split.validate[k - 1]);
            side[split.validate[k]] += 10;
        }
        for (uint32_t k = 0; k < 1000; k++)
            cr_assert(k % 7 == 0 ? side[k] == 0
                                 : side[k] == 1 || side[k] == 10);
        skn_split_fini(&split);
    }
    skn_dataset_close(&dataset);
}

Test(split, the_share_is_that_asked_for_and_seeds_differ)
{
    skn_dataset_t *dataset = points(20000, 0);
    skn_split_t one, same, other;
    cr_assert_eq(skn_split_init(&one, dataset, 0.1, 1, NULL), SKN_OK);
    cr_assert_eq(skn_split_init(&same, dataset, 0.1, 1, NULL), SKN_OK);
    cr_assert_eq(skn_split_init(&other, dataset, 0.1, 2, NULL), SKN_OK);
    cr_expect(fabs(one.validate_count - 2000.0) <= 5 * sqrt(20000 * 0.09));
    cr_expect_eq(one.validate_count, same.validate_count);
    cr_expect(memcmp(one.validate, same.validate,
                     one.validate_count * sizeof(uint32_t)) == 0);
    cr_expect(memcmp(one.validate, other.validate, 100) != 0);
    skn_split_fini(&one);
    skn_split_fini(&same);
    skn_split_fini(&other);
    skn_dataset_close(&dataset);
}

/* A point's side is its own: more points change nothing about the first. */
Test(split, more_points_leave_the_others_where_they_are)
{
    skn_dataset_t *few = points(300, 0), *many = points(900, 0);
    skn_split_t small, large;
    cr_assert_eq(skn_split_init(&small, few, 0.2, 3, NULL), SKN_OK);
    cr_assert_eq(skn_split_init(&large, many, 0.2, 3, NULL), SKN_OK);
    cr_expect(memcmp(small.validate, large.validate,
                     small.validate_count * sizeof(uint32_t)) == 0);
    skn_split_fini(&small);
    skn_split_fini(&large);
    skn_dataset_close(&few);
    skn_dataset_close(&many);
}

Test(split, without_a_share_nothing_validates)
{
    skn_dataset_t *dataset = points(10, 0);
    skn_split_t split;
    cr_assert_eq(skn_split_init(&split, dataset, 0, 1, NULL), SKN_OK);
    cr_expect(split.train_count == 10 && split.validate_count == 0);
    skn_split_fini(&split);
    cr_expect(!split.train && split.train_count == 0);
    skn_dataset_close(&dataset);
}

Test(split, a_share_that_leaves_no_point_to_train_on_is_reported_by_its_name)
{
    skn_dataset_t *dataset = points(1, 0);
    skn_split_t split;
    skn_error_t error = { 0 };
    uint64_t seed = 0; /* the first that holds the point back */
    while (skn_split_init(&split, dataset, 0.5, seed, &error) == SKN_OK) {
        skn_split_fini(&split);
        seed++;
    }
    cr_expect_eq(error.status, SKN_BAD_DATA);
    cr_expect_str_eq(error.text,
                     "train.validate 0.5 would hold back all 1 training "
                     "points with labels");
    skn_dataset_close(&dataset);
}

Test(split, a_file_without_labels_is_refused)
{
    skn_dataset_t *dataset = points(10, 1);
    skn_split_t split;
    skn_error_t error = { 0 };
    cr_expect_eq(skn_split_init(&split, dataset, 0.1, 1, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.text, "the training file has no point with a label");
    cr_expect_null(split.train);
    skn_dataset_close(&dataset);
}

Test(split, the_last_batch_may_be_short)
{
    cr_expect_eq(skn_split_batches(0, 4), 0);
    cr_expect_eq(skn_split_batches(1, 4), 1);
    cr_expect_eq(skn_split_batches(4, 4), 1);
    cr_expect_eq(skn_split_batches(5, 4), 2);
}

Test(split, an_epoch_has_whole_steps)
{
    cr_expect_eq(skn_split_epoch(17, 4, false, 1), 5u);
    cr_expect_eq(skn_split_epoch(17, 4, true, 1), 4u);
    cr_expect_eq(skn_split_epoch(16, 4, false, 1), 4u);
    cr_expect_eq(skn_split_epoch(17, 4, false, 2), 4u);
    cr_expect_eq(skn_split_epoch(17, 4, true, 3), 3u);
    cr_expect_eq(skn_split_epoch(17, 4, false, 6), 0u);
    cr_expect_eq(skn_split_epoch(3, 4, true, 1), 0u);
}
