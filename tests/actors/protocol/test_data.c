/* test_data.c - tests where the binary copy of a data file is written.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/data_folder.h"

#include "actors/protocol/data.h"

static folder_t place;

static void
set_up(void)
{
    folder_make(&place);
    text_write(place.file, sample_text);
}

static void
tear_down(void)
{
    folder_remove(place.path);
}

TestSuite(data, .init = set_up, .fini = tear_down);

static skn_dataset_t *
open_with(const char *cache, const char *normalize)
{
    skn_data_t data = { .train = place.file,
                        .test = "",
                        .preprocessing = "",
                        .normalize = normalize,
                        .cache = cache };
    skn_dataset_t *dataset = NULL;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_data_open_train(&data, &dataset, &error), SKN_OK, "%s",
                 error.text);
    return dataset;
}

Test(data, auto_puts_the_copy_beside_the_file)
{
    skn_dataset_t *dataset = open_with("auto", "l2");
    cr_expect_eq(access(place.cache, F_OK), 0);
    cr_expect_eq(skn_dataset_info(dataset)->normalize, SKN_NORMALIZE_L2);
    skn_dataset_close(&dataset);
}

Test(data, none_leaves_no_copy)
{
    skn_dataset_t *dataset = open_with("none", "none");
    cr_expect_eq(folder_count(place.path), 1);
    cr_expect_eq(skn_dataset_info(dataset)->normalize, SKN_NORMALIZE_NONE);
    skn_dataset_close(&dataset);
}

Test(data, a_stem_names_the_copy_and_a_second_open_finds_it)
{
    char copy[340];
    (void)snprintf(copy, sizeof(copy), "%s-train.skc", place.other);
    skn_dataset_t *dataset = open_with(place.other, "l2");
    cr_expect(skn_dataset_info(dataset)->built);
    cr_expect_eq(access(copy, F_OK), 0);
    skn_dataset_close(&dataset);
    dataset = open_with(place.other, "l2");
    cr_expect(!skn_dataset_info(dataset)->built);
    skn_dataset_close(&dataset);
}

Test(data, sizes_of_the_model_hold)
{
    skn_data_t data = { .train = place.file,
                        .test = "",
                        .preprocessing = "",
                        .normalize = "l2",
                        .cache = "none",
                        .features = 5 };
    skn_dataset_t *dataset = NULL;
    skn_error_t error = { 0 };
    cr_expect_eq(skn_data_open_train(&data, &dataset, &error), SKN_BAD_DATA);
    cr_expect_null(dataset);
    cr_expect(strstr(error.text, "the model"), "%s", error.text);
}
