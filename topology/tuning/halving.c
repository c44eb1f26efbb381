/* halving.c - computes the trials of successive halving and ranks their scores.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/tuning/halving.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The least candidates of a search: below it, the longest trials are
 * dropped. */
#define CANDIDATES_MIN 4u
/* Rounding errors: 9 * (1/3) has to be 3 and no more. */
#define ROUNDING 1e-9

uint32_t
skn_halving_count(const skn_halving_t *halving, uint32_t round)
{
    double count = halving->candidates;
    for (; round > 0; round--)
        count = ceil(count * halving->keep - ROUNDING);
    return (uint32_t)count;
}

double
skn_halving_share(const skn_halving_t *halving, uint32_t round)
{
    return pow(halving->keep, (double)(halving->rounds - 1 - round));
}

uint32_t
skn_halving_rank(const double *score, uint32_t count, uint32_t *order)
{
    uint32_t ranked = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (isnan(score[k]))
            continue;
        uint32_t at = ranked++;
        for (; at > 0 && score[order[at - 1]] < score[k]; at--)
            order[at] = order[at - 1];
        order[at] = k;
    }
    return ranked;
}

uint32_t
skn_halving_survivors(const skn_halving_t *halving, uint32_t round,
                      const double *score, uint32_t *chosen)
{
    uint32_t order[SKN_CANDIDATES_MAX];
    assert(halving->candidates <= SKN_CANDIDATES_MAX);
    uint32_t places = skn_halving_count(halving, round + 1);
    uint32_t ranked = skn_halving_rank(score, halving->candidates, order);
    uint32_t count = 0, least = 0;
    if (!isnan(score[0])) {
        chosen[count++] = 0;
        least = 2; /* auto needs a competitor */
    }
    for (uint32_t k = 0; k < ranked && (k < places || count < least); k++)
        if (order[k] != 0)
            chosen[count++] = order[k];
    return count;
}

double
skn_halving_seconds(const skn_halving_t *halving,
                    const skn_halving_pace_t *pace)
{
    double seconds = 0;
    for (uint32_t round = 0; round < halving->ends; round++) {
        /* Candidate 0 may be added to those that are kept. */
        double others = skn_halving_count(halving, round) - (round == 0);
        double share = skn_halving_share(halving, round);
        seconds += (others + 1) * pace->extra_s +
                   (others * pace->mean_cost + 1) * share * pace->full_s;
    }
    return seconds;
}

void
skn_halving_fit(skn_halving_t *halving, const skn_halving_pace_t *pace,
                double left_s)
{
    const uint32_t wanted = halving->candidates;
    uint32_t least = wanted < CANDIDATES_MIN ? wanted : CANDIDATES_MIN;
    for (; halving->ends > 0; halving->ends--)
        for (halving->candidates = wanted; halving->candidates >= least;
             halving->candidates--)
            if (skn_halving_seconds(halving, pace) <= left_s)
                return;
    halving->ends = 1;
    for (halving->candidates = least; halving->candidates > 1;
         halving->candidates--)
        if (skn_halving_seconds(halving, pace) <= left_s)
            return;
}

double
skn_halving_error(double share, double other, double points)
{
    return sqrt((share * (1 - share) + other * (1 - other)) / points);
}
