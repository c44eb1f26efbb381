/* test_network_slim.c - tests that rows are rounded, pruned and used as
 * network_slim.h says.
 *
 * Covers actors/predict/network_slim.c and actors/predict/ranker_slim.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/predict/network_slim.h"

#include <math.h>

#include "tests/support/oracle.h"
#include "tests/support/temp_folder.h"

#define FEATURES 7u
#define UNITS 5u
#define LABELS 9u

static const char *const layers[] = { "hidden", "output" };

/* A network of random rows, with a ranker of one tree of two levels. */
static void
network_make(skn_network_t *network)
{
    oracle_random_t random = { 5 };
    static uint32_t parent[] = { UINT32_MAX, 0, 0 }, leaf[LABELS];
    static uint64_t offset[] = { 0, 2, 4, 5 };
    static uint32_t feature[] = { 0, 3, 1, 6, 3 };
    static float weight[] = { 1, 2, 3, 4, 5 }, bias[] = { 0.5f, 0, -1 };
    *network = (skn_network_t){
        .kernels = skn_kernels_best(),
        .units = { UNITS, LABELS },
        .layer_count = 2,
        .feature_count = FEATURES,
        .ranker = { .label_count = LABELS,
                    .feature_count = FEATURES,
                    .tree_count = 1,
                    .node_count = 3,
                    .weight_count = 5,
                    .parent = parent,
                    .leaf = leaf,
                    .offset = offset,
                    .feature = feature,
                    .weight = weight,
                    .bias = bias,
                    .is_lent = true },
    };
    for (uint32_t u = 0; u < LABELS; u++)
        leaf[u] = 1 + u % 2;
    cr_assert_eq(skn_rows_init(&network->rows[0], SKN_ROWS_SGD, FEATURES + 1,
                               UNITS, false, NULL),
                 SKN_OK);
    cr_assert_eq(skn_rows_init(&network->rows[1], SKN_ROWS_SGD, LABELS,
                               UNITS + 1, false, NULL),
                 SKN_OK);
    for (uint32_t at = 0; at < 2; at++)
        for (uint32_t k = 0; k < network->rows[at].row_count; k++)
            for (uint32_t c = 0; c < network->rows[at].width; c++)
                skn_rows_weight(&network->rows[at], k)[c] =
                    oracle_float(&random);
}

/* Writes the network and maps it again. */
static skn_slim_t *
pass_on(const skn_network_t *from, skn_export_rows_t format,
        const skn_kept_features_t *kept, skn_network_t *to)
{
    static const skn_slim_facts_t facts = {
        .run_id = "0123456789abcdef0123456789abcdef",
        .created = "",
        .config = "",
        .feature_count = FEATURES,
    };
    char folder[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 8];
    skn_error_t error = { 0 };
    skn_slim_list_t list = { 0 };
    temp_folder_make(folder);
    (void)snprintf(path, sizeof(path), "%s/model", folder);
    cr_assert_eq(skn_network_list(from, layers, format, kept, &list, &error),
                 SKN_OK, "%s", error.text);
    cr_assert_eq(skn_slim_write(path, &facts, list.part, list.count, &error),
                 SKN_OK, "%s", error.text);
    skn_slim_list_fini(&list);
    skn_slim_t *slim = skn_slim_open(path, &error);
    cr_assert(slim, "%s", error.text);
    *to = (skn_network_t){ 0 };
    cr_assert_eq(skn_network_map(to, slim, layers, 2, &error), SKN_OK, "%s",
                 error.text);
    temp_folder_remove(folder);
    return slim;
}

static float
weight_of(const skn_network_t *network, uint32_t at, uint32_t row, uint32_t c)
{
    float row_floats[UNITS + 1];
    skn_network_row(network, at, row, row_floats);
    return row_floats[c];
}

/* Expects each weight within `relative` of its row's greatest. */
static void
expect_rows(const skn_network_t *want, const skn_network_t *got, uint32_t at,
            double relative)
{
    cr_assert_eq(got->rows[at].row_count, want->rows[at].row_count);
    cr_assert_eq(got->rows[at].width, want->rows[at].width);
    for (uint32_t k = 0; k < want->rows[at].row_count; k++) {
        double most = 0;
        for (uint32_t c = 0; c < want->rows[at].width; c++)
            most = fmax(most, fabs((double)weight_of(want, at, k, c)));
        for (uint32_t c = 0; c < want->rows[at].width; c++)
            cr_expect(fabs((double)weight_of(got, at, k, c) -
                           (double)weight_of(want, at, k, c)) <=
                          relative * most,
                      "layer %u, row %u, column %u", at, k, c);
    }
}

/* bf16 has 8 bits: half a unit of the last place is 1 / 256 of the value at
 * most; int8: half a step is 1 / 254 of the greatest. */
Test(network_slim, each_format_rounds_as_far_as_it_says)
{
    static const double relative[] = { 0, 1.0 / 256, 1.001 / 254 };
    skn_network_t network, again;
    network_make(&network);
    for (unsigned format = 0; format < 3; format++) {
        skn_slim_t *slim =
            pass_on(&network, (skn_export_rows_t)format, NULL, &again);
        expect_rows(&network, &again, 0, relative[format]);
        expect_rows(&network, &again, 1, relative[format]);
        cr_expect_eq(again.ranker.weight_count, 5);
        cr_expect_eq(again.ranker.tree_count, 1);
        for (uint64_t k = 0; k < 5; k++)
            cr_expect_eq(skn_ranker_weight(&again.ranker, k),
                         network.ranker.weight[k]);
        skn_network_fini(&again);
        skn_slim_close(&slim);
    }
    skn_network_fini(&network);
}

/* What the network answers to some points. */
static void
ask(const skn_network_t *network, uint32_t label[2 * LABELS],
    float score[2 * LABELS])
{
    static const uint32_t feature[] = { 0, 3, 6, 1, 2, 3, 4 };
    static const float value[] = { 1, 0.5f, -1, 2, 0.25f, 1, -0.5f };
    static const uint64_t offset[] = { 0, 3, 7 };
    const skn_points_t points = {
        .count = 2, .offset = offset, .feature = feature, .value = value
    };
    skn_pass_memory_t memory = { 0 };
    skn_error_t error = { 0 };
    cr_assert_eq(skn_network_best(network, &memory, &points, LABELS, label,
                                  score, &error),
                 SKN_OK, "%s", error.text);
    skn_pass_memory_fini(&memory);
}

/* The same rows, as floats in memory. */
static void
widen(const skn_network_t *from, skn_network_t *to)
{
    *to = *from;
    for (uint32_t at = 0; at < 2; at++) {
        skn_rows_t *rows = &to->rows[at];
        to->packed[at] = (skn_packed_t){ 0 };
        cr_assert_eq(skn_rows_init(rows, SKN_ROWS_SGD, rows->row_count,
                                   rows->width, false, NULL),
                     SKN_OK);
        for (uint32_t k = 0; k < rows->row_count; k++)
            skn_network_row(from, at, k, skn_rows_weight(rows, k));
    }
}

Test(network_slim, rows_in_fewer_bytes_answer_as_their_floats_do)
{
    skn_network_t network, again, wide;
    network_make(&network);
    for (unsigned format = 1; format < 3; format++) {
        uint32_t label[2 * LABELS], want[2 * LABELS];
        float score[2 * LABELS], want_score[2 * LABELS];
        skn_slim_t *slim =
            pass_on(&network, (skn_export_rows_t)format, NULL, &again);
        cr_expect(skn_network_is_packed(&again, 0));
        widen(&again, &wide);
        ask(&again, label, score);
        ask(&wide, want, want_score);
        cr_expect_arr_eq(label, want, sizeof(want));
        cr_expect_arr_eq(score, want_score, sizeof(want_score));
        cr_assert_eq(skn_network_index(&again, 3, 3, NULL), SKN_OK);
        cr_expect(!skn_network_is_packed(&again, 1));
        ask(&again, label, score);
        cr_expect_eq(label[0], want[0]);
        skn_rows_fini(&wide.rows[0]);
        skn_rows_fini(&wide.rows[1]);
        skn_network_fini(&again);
        skn_slim_close(&slim);
    }
    skn_network_fini(&network);
}

Test(network_slim, f32_rows_are_used_where_they_are)
{
    skn_network_t network, again;
    network_make(&network);
    skn_slim_t *slim = pass_on(&network, SKN_EXPORT_F32, NULL, &again);
    for (uint32_t at = 0; at < 2; at++)
        cr_expect(again.rows[at].at >= slim->map &&
                  again.rows[at].at < slim->map + slim->map_bytes);
    skn_network_fini(&again);
    skn_slim_close(&slim);
    skn_network_fini(&network);
}

Test(network_slim, pruned_features_have_no_row_and_no_weights)
{
    static const uint32_t feature[] = { 1, 3, 4 }, fewer[] = { 3 };
    const skn_kept_features_t kept = { feature, 3 }, last = { fewer, 1 };
    skn_network_t network, again, third;
    float row[UNITS];
    network_make(&network);
    skn_slim_t *slim = pass_on(&network, SKN_EXPORT_F32, &kept, &again);
    cr_assert_eq(again.kept_count, 3);
    cr_expect_eq(again.rows[0].row_count, 4);
    for (uint32_t c = 0; c < UNITS; c++) {
        cr_expect_eq(weight_of(&again, 0, 1, c), weight_of(&network, 0, 3, c));
        cr_expect_eq(weight_of(&again, 0, 3, c),
                     weight_of(&network, 0, FEATURES, c));
    }
    cr_expect_eq(again.row_of[3], 1);
    cr_expect_eq(again.row_of[0], UINT32_MAX);
    cr_expect_lt(skn_network_feature_norm(&again, 0, row), 0);
    cr_expect_eq(skn_network_feature_norm(&again, 3, row),
                 skn_network_feature_norm(&network, 3, row));
    cr_assert_eq(again.ranker.weight_count, 3); /* of 3, 1 and 3 */
    cr_expect_eq(again.ranker.feature[1], 1);
    cr_expect_eq(skn_ranker_weight(&again.ranker, 2), 5);
    skn_slim_t *pruned = pass_on(&again, SKN_EXPORT_INT8, &last, &third);
    cr_expect_eq(third.kept_count, 1);
    cr_expect_eq(third.ranker.weight_count, 2);
    skn_network_fini(&third);
    skn_slim_close(&pruned);
    pruned = pass_on(&again, SKN_EXPORT_F32, NULL, &third);
    cr_expect_eq(third.kept_count, 3);
    skn_network_fini(&third);
    skn_slim_close(&pruned);
    skn_network_fini(&again);
    skn_slim_close(&slim);
    skn_network_fini(&network);
}
