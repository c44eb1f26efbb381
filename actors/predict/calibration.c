/* calibration.c - fits and applies a calibration, and measures its error.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/predict/calibration.h"

#include <math.h>
#include <stdlib.h>

#define BINS 15u

/* Answers of a step, at least: its share of right ones is then known to about a
 * tenth. */
#define STEP_ANSWERS_MIN 25u

/* Log-odds of scores: a float below 1 is at most 1 - 2^-24, and scores below
 * 10^-9 are alike. */
#define ODDS_MIN (-20.0)
#define ODDS_MAX 16.6

static double
log_odds(double p)
{
    return fmin(fmax(log(p) - log1p(-p), ODDS_MIN), ODDS_MAX);
}

/* Between knots a line, above them the last one; below them the odds of the
 * probability fall as those of the score do. */
static double
look_up(const skn_curve_t *curve, double x)
{
    uint32_t k = 0, last = curve->count - 1;
    if (x <= curve->score[0])
        return curve->probability[0] + x - curve->score[0];
    while (k < last && x > curve->score[k + 1])
        k++;
    if (k == last)
        return curve->probability[last];
    double share =
        (x - curve->score[k]) / (curve->score[k + 1] - curve->score[k]);
    return curve->probability[k] +
           share * (curve->probability[k + 1] - curve->probability[k]);
}

/* The probability of an answer; `before`: that of the answer before it, or NULL
 * for the best one. */
static float
judge(const skn_calibration_t *calibration, float score, const float *before)
{
    const skn_curve_t *curve =
        before ? &calibration->later : &calibration->first;
    if (curve->count == 0 || isnan(score))
        return score;
    double z = look_up(curve, log_odds((double)score));
    float probability = (float)(1.0 / (1.0 + exp(-z)));
    return before ? fminf(probability, *before) : probability;
}

void
skn_calibration_apply(const skn_calibration_t *calibration, float *score,
                      size_t count)
{
    for (size_t r = 0; r < count; r++)
        score[r] = judge(calibration, score[r], r > 0 ? &score[r - 1] : NULL);
}

/* --- the fit -------------------------------------------------------------- */

/* An answer that is fitted to. */
typedef struct answer {
    double odds; /* log-odds of its score */
    bool right;
} answer_t;

/* Wrong answers come before right ones of the same score, so that the order,
 * and with it each sum, is always the same. */
static int
by_score(const void *left, const void *right)
{
    const answer_t *a = left, *b = right;
    if (a->odds < b->odds || a->odds > b->odds)
        return a->odds < b->odds ? -1 : 1;
    return a->right - b->right;
}

/* Answers that share a step. */
typedef struct pool {
    double low, high; /* odds of their scores */
    double right, count;
} pool_t;

/* Appends a pool, and merges it into those before it while its share of right
 * answers is not above theirs. Returns their number. */
static uint32_t
append(pool_t *pool, uint32_t count, pool_t next)
{
    while (count > 0 && pool[count - 1].right * next.count >=
                            next.right * pool[count - 1].count) {
        count--;
        next.low = pool[count].low;
        next.right += pool[count].right;
        next.count += pool[count].count;
    }
    pool[count] = next;
    return count + 1;
}

/* Appends a knot. The answers that are added to small pools may move a step
 * below the one before it. */
static void
add_knot(skn_curve_t *curve, double score, double probability)
{
    uint32_t k = curve->count++;
    curve->score[k] = score;
    curve->probability[k] =
        k > 0 ? fmax(probability, curve->probability[k - 1]) : probability;
}

/* Makes the steps. A pool has one answer more than were given, which is right
 * as often as all answers are, so that no probability is 0 or 1. */
static void
make_steps(skn_curve_t *curve, const pool_t *pool, uint32_t pools, double share)
{
    for (uint32_t k = 0; k < pools; k++) {
        double odds = log_odds((pool[k].right + share) / (pool[k].count + 1.0));
        add_knot(curve, pool[k].low, odds);
        if (pool[k].high > pool[k].low)
            add_knot(curve, pool[k].high, odds);
    }
}

/* Answers of one score share a pool. */
static void
fit_curve(skn_curve_t *curve, const answer_t *answer, size_t count)
{
    pool_t pool[SKN_STEPS_MAX];
    uint32_t pools = 0;
    double right = 0;
    size_t steps = count / STEP_ANSWERS_MIN, at = 0;
    steps = steps < 1 ? 1 : steps > SKN_STEPS_MAX ? SKN_STEPS_MAX : steps;
    for (size_t s = 0; s < steps && at < count; s++) {
        pool_t next = { .low = answer[at].odds };
        size_t end = count * (s + 1) / steps;
        for (;
             at < end || (at < count && answer[at].odds <= answer[at - 1].odds);
             at++) {
            next.high = answer[at].odds;
            next.right += answer[at].right;
            next.count++;
        }
        right += next.right;
        if (next.count > 0)
            pools = append(pool, pools, next);
    }
    make_steps(curve, pool, pools, (right + 1.0) / ((double)count + 2.0));
}

static bool
counts(const skn_outcome_t *outcome, uint32_t parity)
{
    return parity == SKN_EITHER_PARITY || outcome->parity == parity;
}

/* Writes the answers of one curve, by their scores; returns their number. */
static size_t
sort(answer_t *answer, const skn_outcome_t *outcome, size_t count,
     uint32_t parity, bool first)
{
    size_t chosen = 0;
    for (size_t k = 0; k < count; k++)
        if (counts(&outcome[k], parity) && outcome[k].first == first &&
            !isnan(outcome[k].score))
            answer[chosen++] = (answer_t){ log_odds((double)outcome[k].score),
                                           outcome[k].right };
    qsort(answer, chosen, sizeof(*answer), by_score);
    return chosen;
}

skn_status_t
skn_calibration_fit(skn_calibration_t *calibration,
                    const skn_outcome_t *outcome, size_t count, uint32_t parity,
                    skn_error_t *error)
{
    answer_t *answer = calloc(count + 1, sizeof(*answer));
    *calibration = (skn_calibration_t){ 0 };
    if (!answer)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory to calibrate by %zu answers", count);
    calibration->points = sort(answer, outcome, count, parity, true);
    fit_curve(&calibration->first, answer, calibration->points);
    fit_curve(&calibration->later, answer,
              sort(answer, outcome, count, parity, false));
    free(answer);
    return SKN_OK;
}

/* --- the error ------------------------------------------------------------ */

/* Answers by their probability. */
typedef struct bins {
    double gap[BINS]; /* sums of probabilities less the number of hits */
    size_t count;
} bins_t;

static void
add(bins_t *bins, float probability, bool right)
{
    double p = isfinite(probability) ? (double)probability : 0;
    uint32_t bin = (uint32_t)(p * BINS);
    bins->gap[bin < BINS ? bin : BINS - 1] += p - right;
    bins->count++;
}

static double
error_of(const bins_t *bins)
{
    double sum = 0;
    for (uint32_t k = 0; k < BINS; k++)
        sum += fabs(bins->gap[k]);
    return bins->count > 0 ? sum / (double)bins->count : 0;
}

skn_calibration_error_t
skn_calibration_measure(const skn_calibration_t *calibration,
                        const skn_outcome_t *outcome, size_t count,
                        uint32_t parity)
{
    bins_t first = { 0 }, all = { 0 };
    float probability = 0;
    for (size_t k = 0; k < count; k++) {
        if (!counts(&outcome[k], parity))
            continue;
        float before = probability;
        probability = judge(calibration, outcome[k].score,
                            outcome[k].first ? NULL : &before);
        add(&all, probability, outcome[k].right);
        if (outcome[k].first)
            add(&first, probability, outcome[k].right);
    }
    return (skn_calibration_error_t){ error_of(&first), error_of(&all) };
}

skn_status_t
skn_calibration_cross(skn_calibration_error_t *found,
                      const skn_outcome_t *outcome, size_t count,
                      skn_error_t *error)
{
    skn_calibration_t other;
    *found = (skn_calibration_error_t){ 0 };
    for (uint32_t parity = 0; parity < 2; parity++) {
        skn_status_t status =
            skn_calibration_fit(&other, outcome, count, 1 - parity, error);
        if (status != SKN_OK)
            return status;
        skn_calibration_error_t half =
            skn_calibration_measure(&other, outcome, count, parity);
        found->first += half.first / 2;
        found->all += half.all / 2;
    }
    return SKN_OK;
}
