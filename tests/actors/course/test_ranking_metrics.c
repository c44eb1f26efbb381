/* test_ranking_metrics.c - tests P@k, PSP@k and nDCG@k against their
 * definitions.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/course/ranking_metrics.h"
#include "tests/support/oracle.h"

#define LABELS 40
#define POINTS 60

typedef struct point {
    uint32_t label[LABELS], label_count; /* the truth, ascending */
    uint32_t ranked[8], ranked_count;
} point_t;

static int
greatest_first(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a < b) - (a > b);
}

static bool
has(const point_t *point, uint32_t label)
{
    for (uint32_t k = 0; k < point->label_count; k++)
        if (point->label[k] == label)
            return true;
    return false;
}

/* Up to 12 true labels, sometimes none; up to 8 different ranked ones. */
static void
draw_point(point_t *point, oracle_random_t *random)
{
    uint32_t often = oracle_next(random) % 13;
    memset(point, 0, sizeof(*point));
    for (uint32_t label = 0; label < LABELS; label++)
        if (oracle_next(random) % LABELS < often)
            point->label[point->label_count++] = label;
    uint32_t first = oracle_next(random) % LABELS;
    point->ranked_count = oracle_next(random) % 9;
    for (uint32_t k = 0; k < point->ranked_count; k++)
        point->ranked[k] = (first + k * 3) % LABELS;
}

static void
add(skn_ranking_sums_t *sums, const float *inverse, const point_t *point)
{
    skn_topk_t ranked;
    skn_topk_init(&ranked, 8);
    for (uint32_t k = 0; k < point->ranked_count; k++)
        skn_topk_offer(&ranked, (float)(100 - k), point->ranked[k]);
    skn_ranking_add(sums, inverse, &ranked, point->label, point->label_count);
}

/* Each metric at k over all points, straight from the definitions. */
static void
naive(const point_t *points, const float *inverse, uint32_t k, double *p,
      double *psp, double *ndcg)
{
    double hits = 0, gain = 0, best = 0;
    *ndcg = 0;
    for (int i = 0; i < POINTS; i++) {
        const point_t *point = &points[i];
        double dcg = 0, ideal = 0, weight[LABELS];
        for (uint32_t r = 0; r < k && r < point->ranked_count; r++) {
            if (!has(point, point->ranked[r]))
                continue;
            hits += 1;
            gain += (double)inverse[point->ranked[r]];
            dcg += log(2) / log(r + 2.0);
        }
        for (uint32_t l = 0; l < point->label_count; l++)
            weight[l] = (double)inverse[point->label[l]];
        qsort(weight, point->label_count, sizeof(*weight), greatest_first);
        for (uint32_t r = 0; r < k && r < point->label_count; r++) {
            best += weight[r];
            ideal += log(2) / log(r + 2.0);
        }
        *ndcg += ideal > 0 ? dcg / ideal / POINTS : 0;
    }
    *p = hits / k / POINTS;
    *psp = gain / best;
}

static void
expect_metrics(const skn_metrics_t *got, const point_t *points,
               const float *inverse)
{
    const double at[3][3] = { { got->p1, got->psp1, got->p1 },
                              { got->p3, got->psp3, got->ndcg3 },
                              { got->p5, got->psp5, got->ndcg5 } };
    for (int c = 0; c < 3; c++) {
        double p, psp, ndcg;
        naive(points, inverse, (uint32_t)(2 * c + 1), &p, &psp, &ndcg);
        cr_expect(fabs(at[c][0] - p) <= 1e-12, "P@%d", 2 * c + 1);
        cr_expect(fabs(at[c][1] - psp) <= 1e-12, "PSP@%d: %.15g, want %.15g",
                  2 * c + 1, at[c][1], psp);
        if (c > 0)
            cr_expect(fabs(at[c][2] - ndcg) <= 1e-12, "nDCG@%d", 2 * c + 1);
    }
}

Test(ranking_metrics, random_points_give_what_the_definitions_give)
{
    oracle_random_t random = { 8 };
    for (int trial = 0; trial < 50; trial++) {
        point_t points[POINTS];
        float inverse[LABELS];
        skn_ranking_sums_t sums = { 0 };
        for (int l = 0; l < LABELS; l++)
            inverse[l] = 2.0f + oracle_float(&random);
        for (int i = 0; i < POINTS; i++) {
            draw_point(&points[i], &random);
            add(&sums, inverse, &points[i]);
        }
        skn_metrics_t got = skn_ranking_metrics(&sums, SKN_PURPOSE_TEST);
        cr_expect_eq(got.rows, POINTS);
        cr_expect_eq(got.purpose, SKN_PURPOSE_TEST);
        expect_metrics(&got, points, inverse);
    }
}

/* By hand: truth {0, 2}, ranked 2 1 0; 1/p = 1, 5, 3. */
Test(ranking_metrics, one_point_by_hand)
{
    const float inverse[] = { 1, 5, 3 };
    point_t point = { .label = { 0, 2 },
                      .label_count = 2,
                      .ranked = { 2, 1, 0 },
                      .ranked_count = 3 };
    skn_ranking_sums_t sums = { 0 };
    add(&sums, inverse, &point);
    skn_metrics_t got = skn_ranking_metrics(&sums, SKN_PURPOSE_VALIDATE);
    cr_expect_eq(got.p1, 1.0);
    cr_expect(fabs(got.p3 - 2.0 / 3.0) < 1e-15);
    cr_expect(fabs(got.p5 - 2.0 / 5.0) < 1e-15);
    cr_expect_eq(got.psp1, 1.0, "label 2 is the best there could be");
    cr_expect_eq(got.psp3, 1.0, "(3 + 1) / (3 + 1)");
    /* (1 + 1/2) / (1 + 1/log2(3)) */
    cr_expect(fabs(got.ndcg3 - 1.5 / (1.0 + log(2) / log(3))) < 1e-15);
}

Test(ranking_metrics, points_without_labels_are_misses)
{
    const float inverse[] = { 1, 1, 1 };
    point_t hit = {
        .label = { 1 }, .label_count = 1, .ranked = { 1 }, .ranked_count = 1
    };
    point_t none = { .ranked = { 1 }, .ranked_count = 1 };
    skn_ranking_sums_t sums = { 0 };
    add(&sums, inverse, &hit);
    add(&sums, inverse, &none);
    skn_metrics_t got = skn_ranking_metrics(&sums, SKN_PURPOSE_TEST);
    cr_expect_eq(got.p1, 0.5);
    cr_expect_eq(got.ndcg3, 0.5);
    cr_expect_eq(got.psp1, 1.0, "a ratio of means: nothing could be gained");
}

Test(ranking_metrics, no_points_are_no_division_by_zero)
{
    skn_ranking_sums_t sums = { 0 };
    skn_metrics_t got = skn_ranking_metrics(&sums, SKN_PURPOSE_TEST);
    cr_expect(got.rows == 0 && got.p1 == 0 && got.psp5 == 0 && got.ndcg5 == 0);
}

/* Jain et al. 2016, equation 2: 1 + C e^(-A log(N_l + B)), C = (log N - 1)
 * (B + 1)^A. */
Test(ranking_metrics, propensities_are_those_of_the_paper)
{
    const uint32_t frequency[] = { 0, 1, 2, 10, 1000, 15449 };
    float inverse[6];
    skn_inverse_propensities(inverse, frequency, 6, 15449, 0.55, 1.5);
    for (int k = 0; k < 6; k++) {
        double want = 1.0 + (log(15449.0) - 1.0) * exp(0.55 * log(2.5)) *
                                exp(-0.55 * log(frequency[k] + 1.5));
        cr_expect(fabs((double)inverse[k] - want) <= 1e-6 * want);
        cr_expect(k == 0 || inverse[k] < inverse[k - 1], "rare labels gain");
    }
}

/* log N - 1 is below zero: the formula would make rare labels worth less. */
Test(ranking_metrics, one_or_two_points_say_nothing_of_rarity)
{
    const uint32_t frequency[] = { 0, 1, 2 };
    float inverse[3];
    for (uint64_t points = 1; points <= 2; points++) {
        skn_inverse_propensities(inverse, frequency, 3, points, 0.55, 1.5);
        for (size_t k = 0; k < 3; k++)
            cr_expect_eq(inverse[k], 1.0F);
    }
    skn_inverse_propensities(inverse, frequency, 3, 3, 0.55, 1.5);
    cr_expect(inverse[0] > inverse[1] && inverse[1] > inverse[2]);
}
