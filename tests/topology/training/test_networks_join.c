/* test_networks_join.c - tests the join of networks as a host calls it: what it
 * makes and reports, and what it refuses.
 *
 * tests/topology/predict/test_join.c tests the weights that it writes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/join.h"

#include <string.h>
#include <sys/stat.h>

#include "skein/inspection.h"
#include "tests/support/trained_fixture.h"

typedef struct two {
    trained_fixture_t network[2];
    const char *path[2];
    char into[TEMP_FOLDER_BYTES + 16];
    skn_joined_t joined;
    skn_error_t error;
} two_t;

static void
make(two_t *two)
{
    memset(two, 0, sizeof(*two));
    for (uint32_t k = 0; k < 2; k++) {
        two->network[k].seed = 7 + k;
        trained_make(&two->network[k]);
        two->path[k] = two->network[k].path;
    }
    (void)snprintf(two->into, sizeof(two->into), "%s/both",
                   two->network[0].folder);
    two->joined.struct_bytes = sizeof(two->joined);
}

static void
drop(two_t *two)
{
    trained_remove(&two->network[0]);
    trained_remove(&two->network[1]);
}

static void
write_training_file(const two_t *two)
{
    char path[TEMP_FOLDER_BYTES + 32];
    (void)snprintf(path, sizeof(path), "%s/train.txt", two->network[0].folder);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    (void)fprintf(file, "400 %u %u\n", TRAINED_FEATURES, TRAINED_LABELS);
    for (uint32_t i = 0; i < 400; i++)
        (void)fprintf(file, "%u %u:1\n", i % 5, i % TRAINED_FEATURES);
    (void)fclose(file);
}

Test(networks_join, the_joined_model_is_described)
{
    two_t two;
    make(&two);
    cr_assert_eq(
        skn_networks_join(two.into, two.path, 2, NULL, &two.joined, &two.error),
        SKN_OK, "%s", two.error.text);
    const skn_joined_t *joined = &two.joined;
    cr_expect_eq(joined->struct_bytes, sizeof(*joined));
    cr_expect(joined->features == TRAINED_FEATURES &&
              joined->labels == TRAINED_LABELS &&
              joined->units == 2 * TRAINED_HIDDEN && joined->batch == 1);
    cr_expect(joined->ranker_nodes == 0 && joined->ranker_bytes == 0);
    skn_predictor_t *predictor = skn_predictor_open(two.into, &two.error);
    cr_assert(predictor, "%s", two.error.text);
    cr_expect_str_eq(skn_predictor_info(predictor)->run_id, joined->run_id);
    cr_expect_eq(skn_predictor_info(predictor)->parameter_count,
                 joined->parameters);
    skn_predictor_close(&predictor);
    drop(&two);
}

Test(networks_join, a_ranker_is_fitted_and_its_size_reported)
{
    two_t two;
    const skn_join_options_t options = { .struct_bytes = sizeof(options),
                                         .trees = 1 };
    make(&two);
    cr_expect_eq(skn_networks_join(two.into, two.path, 1, &options, &two.joined,
                                   &two.error),
                 SKN_NO_INPUT, "%s", two.error.text);
    write_training_file(&two);
    cr_assert_eq(skn_networks_join(two.into, two.path, 1, &options, &two.joined,
                                   &two.error),
                 SKN_OK, "%s", two.error.text);
    cr_expect_gt(two.joined.ranker_nodes, 0u);
    cr_expect_gt(two.joined.ranker_bytes, 0u);
    skn_predictor_t *predictor = skn_predictor_open(two.into, &two.error);
    cr_assert(predictor, "%s", two.error.text);
    cr_expect_eq(skn_predictor_info(predictor)->ranker_weights,
                 two.joined.ranker_weights);
    skn_predictor_close(&predictor);
    drop(&two);
}

Test(networks_join, a_folder_that_is_taken_is_refused_and_stays)
{
    two_t two;
    make(&two);
    cr_assert_eq(
        skn_networks_join(two.into, two.path, 2, NULL, &two.joined, &two.error),
        SKN_OK, "%s", two.error.text);
    cr_expect_eq(
        skn_networks_join(two.into, two.path, 2, NULL, &two.joined, &two.error),
        SKN_CANNOT_CREATE);
    cr_expect(strstr(two.error.text, "holds a run already"), "%s",
              two.error.text);
    skn_inspection_t *inspection = skn_inspection_open(two.into, &two.error);
    cr_assert(inspection, "%s", two.error.text);
    cr_expect(!skn_inspection_info(inspection)->is_damaged);
    skn_inspection_close(&inspection);
    drop(&two);
}

Test(networks_join, a_folder_of_networks_of_a_training_is_refused)
{
    two_t two;
    char path[TEMP_FOLDER_BYTES + 64];
    make(&two);
    cr_assert_eq(mkdir(two.into, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/network-1", two.into);
    cr_assert_eq(rename(two.path[1], path), 0);
    cr_expect_eq(
        skn_networks_join(two.into, two.path, 1, NULL, &two.joined, &two.error),
        SKN_CANNOT_CREATE);
    cr_expect(strstr(two.error.text, "holds networks of"), "%s",
              two.error.text);
    drop(&two);
}

Test(networks_join, wrong_calls_are_refused_before_anything_is_made)
{
    two_t two;
    struct stat facts;
    make(&two);
    const char *const holes[] = { two.path[0], NULL };
    skn_join_options_t options = { .struct_bytes = sizeof(options),
                                   .trees = 1000 };
    skn_joined_t unsized = { 0 };
    cr_expect_eq(skn_networks_join(two.into, holes, 2, NULL, &two.joined, NULL),
                 SKN_USAGE);
    cr_expect_eq(skn_networks_join(two.into, two.path, 2, NULL, &unsized, NULL),
                 SKN_USAGE);
    cr_expect_eq(
        skn_networks_join(two.into, two.path, 2, &options, &two.joined, NULL),
        SKN_USAGE);
    options = (skn_join_options_t){ .struct_bytes = 4 };
    cr_expect_eq(
        skn_networks_join(two.into, two.path, 2, &options, &two.joined, NULL),
        SKN_USAGE);
    cr_expect_eq(
        skn_networks_join(two.into, two.path, 0, NULL, &two.joined, NULL),
        SKN_USAGE);
    cr_expect_eq(
        skn_networks_join(two.into, two.path, 1, NULL, &two.joined, NULL),
        SKN_USAGE);
    cr_expect_neq(stat(two.into, &facts), 0);
    drop(&two);
}
