/* halving.h - successive halving: chooses the trials to run and their lengths.
 *
 * Round 0 trains every candidate for a short time; each later round trains the
 * best ones 1/keep times longer; the last round has full length. Candidate 0 is
 * the choice of `auto`: it is in every round, for comparison.
 *
 *     round 0   0 1 2 3 4 5 6 7 8   keep^2 of the full length
 *     round 1   0   2       6       keep
 *     round 2   0   2               all of it
 *
 * Jamieson & Talwalkar 2016, Algorithm 1; the terms are those of Li et al.
 * 2018. Here a trial's length is also the length of its schedule: it is a short
 * run, not the beginning of a long one. Pure: no clock, no file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TUNING_HALVING_H
#define TOPOLOGY_TUNING_HALVING_H

#include <stdbool.h>
#include <stdint.h>

#define SKN_CANDIDATES_MAX 256u
#define SKN_ROUNDS_MAX 8u

typedef struct skn_halving {
    uint32_t candidates; /* in round 0, including candidate 0 */
    uint32_t rounds;     /* until trials have their full length */
    uint32_t ends;       /* rounds that are run, at most `rounds` */
    double keep;         /* share of a round's candidates, 0 < keep < 1 */
} skn_halving_t;

/* The measured costs of trials: the time of `auto` at full length, the extra
 * time of each trial, and the mean cost of a candidate relative to `auto`. */
typedef struct skn_halving_pace {
    double full_s, extra_s, mean_cost;
} skn_halving_pace_t;

/* The number of trials of `round`, without candidate 0 if its score does not
 * keep it there. */
uint32_t skn_halving_count(const skn_halving_t *halving, uint32_t round);
/* The share of the full length that a trial of `round` has. */
double skn_halving_share(const skn_halving_t *halving, uint32_t round);

/* Orders the candidates with a score (NAN: none), the greatest score first and,
 * of equal scores, the lower number. Returns their number. */
uint32_t skn_halving_rank(const double *score, uint32_t count, uint32_t *order);
/* Chooses the candidates of round + 1 by the scores of `round`, in the order of
 * training: 0, then the best one, and so on. Returns their number. */
uint32_t skn_halving_survivors(const skn_halving_t *halving, uint32_t round,
                               const double *score, uint32_t *chosen);

/* The seconds that all trials take. */
double skn_halving_seconds(const skn_halving_t *halving,
                           const skn_halving_pace_t *pace);
/* Reduces the search to `left_s`, including the first trial of round 0: fewer
 * candidates, down to 4; then without the longest trials; then fewer still. */
void skn_halving_fit(skn_halving_t *halving, const skn_halving_pace_t *pace,
                     double left_s);

/* The standard error of the difference of two shares of `points` points, as if
 * these were drawn again each time: binomial, so rather too great. */
double skn_halving_error(double share, double other, double points);

#endif
