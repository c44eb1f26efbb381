/* ranking_metrics.c - sums and means of P@k, PSP@k and nDCG@k over points.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/course/ranking_metrics.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

void
skn_inverse_propensities(float *inverse, const uint32_t *frequency,
                         uint32_t label_count, uint64_t points, double a,
                         double b)
{
    double c = (log((double)points) - 1.0) * pow(b + 1.0, a);
    if (c < 0.0)
        c = 0.0; /* one or two points do not show rarity */
    for (uint32_t k = 0; k < label_count; k++)
        inverse[k] = (float)(1.0 + c * pow(frequency[k] + b, -a));
}

/* The greatest weights of the true labels: the best possible ranking. */
static uint32_t
best_weights(const float *inverse, const uint32_t *label, uint32_t count,
             float best[SKN_RANKING_CUT])
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < count; k++) {
        float weight = inverse[label[k]];
        uint32_t at = kept;
        while (at > 0 && best[at - 1] < weight)
            at--;
        if (at == SKN_RANKING_CUT)
            continue;
        uint32_t last = kept < SKN_RANKING_CUT ? kept : SKN_RANKING_CUT - 1;
        memmove(best + at + 1, best + at, (last - at) * sizeof(*best));
        best[at] = weight;
        kept = last + 1;
    }
    return kept;
}

static bool
is_true(const uint32_t *label, uint32_t count, uint32_t wanted)
{
    for (uint32_t k = 0; k < count; k++)
        if (label[k] == wanted)
            return true;
    return false;
}

void
skn_ranking_add(skn_ranking_sums_t *sums, const float *inverse,
                const skn_topk_t *ranked, const uint32_t *label,
                uint32_t label_count)
{
    float best[SKN_RANKING_CUT] = { 0 };
    uint32_t best_count = best_weights(inverse, label, label_count, best);
    double hits = 0, gain = 0, best_gain = 0, dcg = 0, ideal = 0;
    for (uint32_t k = 0; k < SKN_RANKING_CUT; k++) {
        double discount = 1.0 / log2((double)k + 2.0);
        if (k < ranked->count && is_true(label, label_count, ranked->id[k])) {
            hits += 1;
            gain += (double)inverse[ranked->id[k]];
            dcg += discount;
        }
        if (k < best_count)
            best_gain += (double)best[k];
        if (k < label_count)
            ideal += discount;
        sums->precision[k] += hits / (k + 1.0);
        sums->gain[k] += gain / (k + 1.0);
        sums->best_gain[k] += best_gain / (k + 1.0);
        sums->ndcg[k] += ideal > 0 ? dcg / ideal : 0.0;
    }
    sums->rows++;
}

static double
mean(double sum, uint64_t rows)
{
    return rows ? sum / (double)rows : 0.0;
}

static double
ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0.0;
}

skn_metrics_t
skn_ranking_metrics(const skn_ranking_sums_t *sums, uint32_t purpose)
{
    return (skn_metrics_t){
        .purpose = purpose,
        .rows = sums->rows,
        .p1 = mean(sums->precision[0], sums->rows),
        .p3 = mean(sums->precision[2], sums->rows),
        .p5 = mean(sums->precision[4], sums->rows),
        .psp1 = ratio(sums->gain[0], sums->best_gain[0]),
        .psp3 = ratio(sums->gain[2], sums->best_gain[2]),
        .psp5 = ratio(sums->gain[4], sums->best_gain[4]),
        .ndcg3 = mean(sums->ndcg[2], sums->rows),
        .ndcg5 = mean(sums->ndcg[4], sums->rows),
    };
}
