/* shortage.h - runs an operation with each of its allocations failing in turn.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SHORTAGE_H
#define TESTS_SUPPORT_SHORTAGE_H

#include <criterion/criterion.h>
#include <string.h>

#include "skein/error.h"
#include "tests/support/faults.h"
#include "tests/support/settle.h"

typedef struct shortage {
    const char *name;
    /* Does it, undoes it, and says how it ended; `error` is { 0 } before. */
    skn_status_t (*act)(skn_error_t *error);
    skn_status_t want; /* with enough memory */
    uint32_t forgiven; /* allocations that it can do without */
} shortage_t;

/* More allocations than any operation here has. */
#define SHORTAGE_CALLS_MAX 20000u

/* Does it once, so that what libraries make once and keep is made before
 * anything is counted; returns the descriptors that are open then. */
static inline size_t
shortage_warm_up(const shortage_t *shortage)
{
    skn_error_t error = { 0 };
    cr_expect_eq(shortage->act(&error), shortage->want, "%s: %s",
                 shortage->name, error.text);
    return settle_stable(SETTLE_DESCRIPTORS);
}

/* False: there is no n-th allocation. *forgiven counts those that were not
 * missed. */
static inline bool
shortage_try_one(const shortage_t *shortage, uint64_t n, bool for_ever,
                 size_t descriptors, uint32_t *forgiven)
{
    skn_error_t error = { 0 };
    faults_arm(FAULT_MEMORY, n, 0, for_ever);
    skn_status_t status = shortage->act(&error);
    (void)faults_disarm();
    bool hit = faults_hit() > 0;
    const char *call = faults_hit_name();
    cr_expect_eq(faults_blocks_live(), 0u,
                 "%s: %zu blocks are kept after %s %u", shortage->name,
                 faults_blocks_live(), call, (unsigned)n);
    cr_expect(settle_at_most(SETTLE_DESCRIPTORS, descriptors) <= descriptors,
              "%s: a descriptor stays open after %s %u", shortage->name, call,
              (unsigned)n);
    bool unmissed =
        hit && status == shortage->want && ++*forgiven <= shortage->forgiven;
    if (!hit || unmissed)
        cr_expect_eq(status, shortage->want, "%s: %s", shortage->name,
                     error.text);
    else
        cr_expect_eq(status, SKN_NO_MEMORY, "%s: status %d after %s %u: %s",
                     shortage->name, (int)status, call, (unsigned)n,
                     error.text);
    if (status != SKN_OK)
        cr_expect(error.text[0] != '\0' && error.status == status,
                  "%s: no sentence after %s %u", shortage->name, call,
                  (unsigned)n);
    return hit;
}

/* Every allocation alone, then everything from it on. */
static inline void
shortage_try(const shortage_t *shortage)
{
    uint32_t forgiven = 0;
    size_t descriptors = shortage_warm_up(shortage);
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        uint64_t n = 1;
        forgiven = 0;
        while (n < SHORTAGE_CALLS_MAX &&
               shortage_try_one(shortage, n, for_ever != 0, descriptors,
                                &forgiven))
            n++;
        cr_expect(n > 1, "%s takes no memory at all", shortage->name);
        cr_expect(n < SHORTAGE_CALLS_MAX, "%s never ends", shortage->name);
    }
}

#endif
