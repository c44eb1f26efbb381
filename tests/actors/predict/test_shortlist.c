/* test_shortlist.c - tests lists of rows, and which queries search them, by
 * count.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "actors/predict/shortlist.h"
#include "actors/protocol/workspace.h"
#include "tests/support/oracle.h"

#define WIDTH 5u
#define LISTS_MAX 64u

typedef struct fixture {
    const skn_kernels_t *kernels;
    skn_rows_t rows;
    skn_shortlist_t shortlist;
} fixture_t;

/* Rows in `groups` directions, the norms of which go from 1 to 3. */
static void
make(fixture_t *fixture, skn_rows_kind_t kind, uint32_t count, uint32_t groups)
{
    skn_error_t error = { 0 };
    oracle_random_t random = { 3 };
    memset(fixture, 0, sizeof(*fixture));
    fixture->kernels = skn_kernels_pick(&error);
    cr_assert(fixture->kernels, "%s", error.text);
    cr_assert_eq(
        skn_rows_init(&fixture->rows, kind, count, WIDTH, false, &error),
        SKN_OK, "%s", error.text);
    for (uint32_t r = 0; r < count; r++) {
        double angle = 6.283185307179586 * (r % groups) / groups;
        float norm = 1.0f + 2.0f * (float)r / (float)count;
        float value[WIDTH] = { norm * (float)cos(angle),
                               norm * (float)sin(angle) };
        for (uint32_t k = 0; k < WIDTH; k++)
            value[k] += 0.02f * oracle_float(&random);
        skn_rows_set(&fixture->rows, fixture->kernels, r, value);
    }
}

static void
build(fixture_t *fixture, uint32_t lists, uint32_t probes)
{
    skn_error_t error = { 0 };
    cr_assert_eq(skn_shortlist_build(&fixture->shortlist, fixture->kernels,
                                     &fixture->rows, lists, probes, &error),
                 SKN_OK, "%s", error.text);
}

static void
drop(fixture_t *fixture)
{
    skn_shortlist_fini(&fixture->shortlist);
    skn_rows_fini(&fixture->rows);
}

/* Whether every row lies in one list, and each list ascends. */
static void
expect_parts(const fixture_t *fixture)
{
    const skn_shortlist_t *list = &fixture->shortlist;
    uint32_t rows = fixture->rows.row_count;
    bool *seen = calloc(rows, sizeof(*seen));
    cr_assert_eq(list->offset[0], 0);
    cr_assert_eq(list->offset[list->list_count], rows);
    for (uint32_t l = 0; l < list->list_count; l++)
        for (uint32_t k = list->offset[l]; k < list->offset[l + 1]; k++) {
            cr_assert_lt(list->unit[k], rows);
            cr_expect(!seen[list->unit[k]], "row %u lies in two lists",
                      list->unit[k]);
            seen[list->unit[k]] = true;
            cr_expect(k == list->offset[l] || list->unit[k - 1] < list->unit[k],
                      "list %u does not ascend at %u", l, k);
        }
    free(seen);
}

Test(shortlist, every_row_lies_in_one_list)
{
    static const uint32_t rows[] = { 1, 2, 7, 64, 1000 };
    static const uint32_t lists[] = { 1, 2, 3, 16, LISTS_MAX };
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
        for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++) {
            fixture_t fixture;
            if (lists[l] > rows[r])
                continue;
            make(&fixture, SKN_ROWS_SGD, rows[r], 5);
            build(&fixture, lists[l], 1);
            expect_parts(&fixture);
            drop(&fixture);
        }
}

Test(shortlist, rows_of_zeros_and_equal_rows_are_parted_too)
{
    static const float zeros[WIDTH];
    fixture_t fixture;
    make(&fixture, SKN_ROWS_SGD, 40, 1);
    for (uint32_t r = 0; r < 40; r++)
        skn_rows_set(&fixture.rows, fixture.kernels, r, zeros);
    build(&fixture, 8, 2);
    expect_parts(&fixture);
    drop(&fixture);
}

Test(shortlist, what_points_one_way_shares_its_lists)
{
    fixture_t fixture;
    make(&fixture, SKN_ROWS_SGD, 800, 4);
    build(&fixture, 16, 1);
    for (uint32_t l = 0; l < 16; l++) {
        const skn_shortlist_t *list = &fixture.shortlist;
        for (uint32_t k = list->offset[l]; k < list->offset[l + 1]; k++)
            cr_expect_eq(list->unit[k] % 4, list->unit[list->offset[l]] % 4,
                         "list %u mixes directions", l);
    }
    drop(&fixture);
}

Test(shortlist, the_same_rows_give_the_same_lists)
{
    fixture_t one, two;
    make(&one, SKN_ROWS_SGD, 500, 7);
    make(&two, SKN_ROWS_SGD, 500, 7);
    build(&one, 20, 3);
    build(&two, 20, 3);
    cr_expect_arr_eq(one.shortlist.unit, two.shortlist.unit,
                     500 * sizeof(uint32_t));
    cr_expect_arr_eq(one.shortlist.offset, two.shortlist.offset,
                     21 * sizeof(uint32_t));
    drop(&one);
    drop(&two);
}

Test(shortlist, rows_in_bf16_are_parted_as_those_in_f32)
{
    fixture_t half;
    make(&half, SKN_ROWS_SGD_BF16, 800, 4);
    build(&half, 16, 1);
    expect_parts(&half);
    for (uint32_t l = 0; l < 16; l++) {
        const skn_shortlist_t *list = &half.shortlist;
        for (uint32_t k = list->offset[l]; k < list->offset[l + 1]; k++)
            cr_expect_eq(list->unit[k] % 4, list->unit[list->offset[l]] % 4);
    }
    drop(&half);
}

/* Products of a point and the centroids, in double. */
static void
promise_of(const skn_shortlist_t *list, const float *point, float *promise)
{
    for (uint32_t l = 0; l < list->list_count; l++) {
        double sum = 0;
        for (size_t k = 0; k < list->width; k++)
            sum +=
                (double)point[k] * (double)list->centroid[l * list->stride + k];
        promise[l] = (float)sum;
    }
}

Test(shortlist, a_point_looks_into_the_lists_that_promise_most)
{
    enum {
        POINTS = 33,
        LISTS = 12,
        PROBES = 3
    };
    fixture_t fixture;
    oracle_random_t random = { 9 };
    float promise[POINTS * LISTS];
    uint32_t offset[LISTS + 1], point[POINTS * PROBES];
    make(&fixture, SKN_ROWS_SGD, 300, 6);
    build(&fixture, LISTS, PROBES);
    for (uint32_t i = 0; i < POINTS; i++) {
        float at[WIDTH];
        for (uint32_t k = 0; k < WIDTH; k++)
            at[k] = oracle_float(&random);
        promise_of(&fixture.shortlist, at, promise + i * LISTS);
    }
    skn_shortlist_route(&fixture.shortlist, fixture.kernels, promise, POINTS,
                        offset, point);
    cr_expect_eq(offset[0], 0);
    cr_expect_eq(offset[LISTS], POINTS * PROBES);
    for (uint32_t l = 0; l < LISTS; l++)
        for (uint32_t i = 0, k = offset[l]; i < POINTS; i++) {
            uint32_t better = 0;
            for (uint32_t other = 0; other < LISTS; other++)
                better += promise[i * LISTS + other] > promise[i * LISTS + l];
            bool there = k < offset[l + 1] && point[k] == i;
            cr_expect_eq(there, better < PROBES, "point %u, list %u", i, l);
            k += there;
        }
    drop(&fixture);
}

Test(shortlist, one_probe_finds_the_greatest_of_separated_directions)
{
    enum {
        GROUPS = 8,
        LISTS = 16
    };
    fixture_t fixture;
    make(&fixture, SKN_ROWS_SGD, 1600, GROUPS);
    build(&fixture, LISTS, 2);
    for (uint32_t g = 0; g < GROUPS; g++) {
        double angle = 6.283185307179586 * g / GROUPS;
        float at[WIDTH] = { (float)cos(angle), (float)sin(angle) };
        float promise[LISTS];
        uint32_t offset[LISTS + 1], point[2], best = 0;
        float best_logit = -INFINITY;
        for (uint32_t r = 0; r < 1600; r++) {
            float logit = fixture.kernels->dot(
                at, skn_rows_weight(&fixture.rows, r), WIDTH);
            best = logit > best_logit ? r : best;
            best_logit = logit > best_logit ? logit : best_logit;
        }
        promise_of(&fixture.shortlist, at, promise);
        skn_shortlist_route(&fixture.shortlist, fixture.kernels, promise, 1,
                            offset, point);
        bool found = false;
        for (uint32_t l = 0; l < LISTS; l++)
            for (uint32_t k = fixture.shortlist.offset[l];
                 offset[l + 1] > offset[l] &&
                 k < fixture.shortlist.offset[l + 1];
                 k++)
                found = found || fixture.shortlist.unit[k] == best;
        cr_expect(found, "direction %u: row %u was not looked at", g, best);
    }
    drop(&fixture);
}

Test(shortlist, defaults_grow_with_the_root_of_the_rows)
{
    cr_expect_eq(skn_shortlist_lists(1), 1);
    cr_expect_eq(skn_shortlist_lists(15), 15);
    cr_expect_eq(skn_shortlist_lists(16), 16);
    cr_expect_eq(skn_shortlist_lists(17), 16);
    cr_expect_eq(skn_shortlist_lists(1000000), 4000);
    cr_expect_eq(skn_shortlist_probes(1), 1);
    cr_expect_eq(skn_shortlist_probes(20), 1);
    cr_expect_eq(skn_shortlist_probes(21), 2);
    cr_expect_eq(skn_shortlist_probes(4000), SKN_PROBES_MAX);
}
