/* halving.h - successive halving: which trials are run, and how long.
 *
 * Round 0 trains every candidate for a short time; each later one those that
 * were best, 1/keep times longer; the last one at full length. Candidate 0 is
 * what `auto` chooses: it is in every round, to compare with.
 *
 *     round 0   0 1 2 3 4 5 6 7 8   keep^2 of the full length
 *     round 1   0   2       6       keep
 *     round 2   0   2               all of it
 *
 * Jamieson & Talwalkar 2016, Algorithm 1; the words are those of Li et al.
 * 2018. Here a trial's length is that of its schedule, too: it is a short run,
 * and no beginning of a long one. Pure: no clock, no file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TUNE_HALVING_H
#define CLI_TUNE_HALVING_H

#include <stdbool.h>
#include <stdint.h>

#define CLI_CANDIDATES_MAX 256u
#define CLI_ROUNDS_MAX 8u

typedef struct cli_halving {
    uint32_t candidates; /* of round 0, candidate 0 among them */
    uint32_t rounds;     /* until trials have their full length */
    uint32_t ends;       /* rounds that are run, at most `rounds` */
    double keep;         /* share of a round's candidates, 0 < keep < 1 */
} cli_halving_t;

/* What trials were seen to take: what `auto` takes at full length, what comes
 * on top of each trial, and what a candidate takes as a mean, against auto. */
typedef struct cli_halving_pace {
    double full_s, extra_s, mean_cost;
} cli_halving_pace_t;

/* Trials of `round`, that of candidate 0 left out if it was not good enough. */
uint32_t cli_halving_count(const cli_halving_t *halving, uint32_t round);
/* Share of its full length that a trial of `round` has. */
double cli_halving_share(const cli_halving_t *halving, uint32_t round);

/* Candidates with a score (NAN: none), greatest score first, of equal ones the
 * lower number. Returns how many there are. */
uint32_t cli_halving_rank(const double *score, uint32_t count, uint32_t *order);
/* Candidates of round + 1 by the scores of `round`, in the order in which they
 * should be trained: 0, then the best one, and so on. Returns how many. */
uint32_t cli_halving_survivors(const cli_halving_t *halving, uint32_t round,
                               const double *score, uint32_t *chosen);

/* Seconds that all trials take. */
double cli_halving_seconds(const cli_halving_t *halving,
                           const cli_halving_pace_t *pace);
/* Makes it fit into `left_s`, the first trial of round 0 included: fewer
 * candidates, down to 4; then without the longest trials; then fewer still. */
void cli_halving_fit(cli_halving_t *halving, const cli_halving_pace_t *pace,
                     double left_s);

/* Standard error of the difference of two shares of `points` points, as if
 * they were others each time: binomial, so rather too great. */
double cli_halving_error(double share, double other, double points);

/* "90", "90s", "10m", "1.5h". False: it is none. */
bool cli_halving_read_time(const char *text, double *seconds);
/* "1/3" or "0.33": between 0 and 1. */
bool cli_halving_read_share(const char *text, double *share);

#endif
