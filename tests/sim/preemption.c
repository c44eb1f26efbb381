/* preemption.c - computes the distribution of a preemptible machine's lifetime,
 * and its inverse.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/preemption.h"

#include <math.h>

/* Of the order that the paper found for its machines: A from .4 to .5, early
 * from .5 to 1.5 h, late .8 h, b about 24 h. Quoted from memory: its full text
 * could not be read again, only that the form and the 24 hours are its own. */
#define SCALE 0.45
#define EARLY_HOURS 1.0
#define LATE_HOURS 0.8
#define LONGEST_HOURS SKN_PREEMPTION_HOURS_MAX

double
skn_preemption_share(double hours)
{
    if (!(hours > 0))
        return 0;
    if (hours >= LONGEST_HOURS)
        return 1;
    return SCALE * (1 - exp(-hours / EARLY_HOURS) +
                    exp((hours - LONGEST_HOURS) / LATE_HOURS));
}

double
skn_preemption_life(double share)
{
    double low = 0, high = LONGEST_HOURS;
    for (int k = 0; k < 60; k++) { /* F only rises */
        double middle = (low + high) / 2;
        if (skn_preemption_share(middle) < share)
            low = middle;
        else
            high = middle;
    }
    return high;
}
