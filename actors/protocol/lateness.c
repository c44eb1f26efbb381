/* lateness.c - one wait for each who is late.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/lateness.h"

#include <string.h>

/* Weight of the newest interval; one that is longer than twice the mean counts
 * as twice: a marker, or a pause of the machine. */
#define LATENESS_NEWEST 0.125
#define LONGEST 2.0

void
skn_lateness_init(skn_lateness_t *lateness, uint32_t senders, uint32_t owed_max,
                  double patience, double share)
{
    memset(lateness, 0, sizeof(*lateness));
    lateness->patience = patience;
    lateness->senders = senders;
    lateness->owed_max = owed_max;
    lateness->share = share;
}

/* A batch was done: that much more may be missing of the next ones. */
static void
save_up(skn_lateness_t *lateness)
{
    for (uint32_t k = 0; k < lateness->senders; k++) {
        double saved = lateness->saved[k] + lateness->share;
        lateness->saved[k] =
            saved < lateness->owed_max ? saved : lateness->owed_max;
    }
}

void
skn_lateness_moved(skn_lateness_t *lateness, bool done, uint64_t now_ns)
{
    lateness->since_ns = 0;
    if (!done)
        return;
    if (lateness->moved_ns > 0) {
        double interval_ns = (double)(now_ns - lateness->moved_ns);
        double most_ns = LONGEST * lateness->interval_ns;
        if (lateness->interval_ns == 0)
            lateness->interval_ns = interval_ns;
        else
            lateness->interval_ns +=
                LATENESS_NEWEST *
                ((interval_ns < most_ns ? interval_ns : most_ns) -
                 lateness->interval_ns);
    }
    lateness->moved_ns = now_ns;
    save_up(lateness);
}

static bool
must_wait(const skn_lateness_t *lateness, uint32_t sender)
{
    return lateness->owed[sender] >= lateness->owed_max ||
           (lateness->share < 1 && lateness->saved[sender] < 1);
}

uint64_t
skn_lateness_wait(skn_lateness_t *lateness, const bool *here, uint64_t now_ns)
{
    bool known = true, waits = false;
    for (uint32_t k = 0; k < lateness->senders; k++) {
        known = known && (here[k] || lateness->owed[k] > 0);
        waits = waits || (!here[k] && must_wait(lateness, k));
    }
    if (lateness->since_ns == 0)
        lateness->since_ns = now_ns;
    if (waits || (!known && lateness->interval_ns == 0))
        return UINT64_MAX;
    if (known)
        return now_ns;
    return lateness->since_ns +
           (uint64_t)(lateness->patience * lateness->interval_ns);
}

uint32_t
skn_lateness_leave(skn_lateness_t *lateness, const bool *here)
{
    uint32_t left = 0;
    for (uint32_t k = 0; k < lateness->senders; k++) {
        if (here[k])
            continue;
        lateness->owed[k]++;
        lateness->saved[k] -= lateness->saved[k] < 1 ? 0 : 1;
        left++;
    }
    return left;
}

bool
skn_lateness_came(skn_lateness_t *lateness, uint32_t sender)
{
    if (lateness->owed[sender] == 0)
        return false;
    lateness->owed[sender]--;
    return true;
}
