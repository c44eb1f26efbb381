/* finder.c - resolves host names on a thread of its own; callers never wait.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/finder.h"

#include <stdio.h>
#include <stdlib.h>

#include "transport/socket/errand.h"

struct skn_finder {
    skn_errand_t errand; /* locks all below */
    uint64_t wanted;     /* a bit for each, until it is resolved */
    uint64_t unknown;    /* the last answer was that the name does not exist */
    skn_conduit_place_t place[SKN_FINDER_MAX];       /* 0 bytes: not found */
    char address[SKN_FINDER_MAX][SKN_ADDRESS_BYTES]; /* never changed */
};

static uint32_t
lowest(uint64_t set)
{
    uint32_t k = 0;
    while (!(set >> k & 1u))
        k++;
    return k;
}

static void
find_all(skn_errand_t *errand)
{
    skn_finder_t *finder = (skn_finder_t *)errand;
    skn_errand_lock(errand);
    while (!errand->closing) {
        if (!finder->wanted) {
            (void)pthread_cond_wait(&errand->news, &errand->lock);
            continue;
        }
        skn_conduit_place_t place;
        uint32_t k = lowest(finder->wanted);
        skn_errand_unlock(errand);
        bool found = skn_conduit_find(finder->address[k], &place);
        skn_errand_lock(errand);
        finder->wanted &= ~((uint64_t)1 << k);
        finder->unknown &= ~((uint64_t)1 << k);
        finder->unknown |= (uint64_t)!found << k;
        if (found)
            finder->place[k] = place;
    }
    skn_errand_unlock(errand);
}

skn_finder_t *
skn_finder_new(const char *const *address, uint32_t count, skn_error_t *error)
{
    skn_finder_t *finder = calloc(1, sizeof(*finder));
    if (!finder) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no room for addresses");
        return NULL;
    }
    for (uint32_t k = 0; k < count && k < SKN_FINDER_MAX; k++)
        (void)snprintf(finder->address[k], SKN_ADDRESS_BYTES, "%s", address[k]);
    skn_status_t status =
        skn_errand_begin(&finder->errand, find_all, "to ask for names", error);
    return status == SKN_OK ? finder : NULL;
}

void
skn_finder_destroy(skn_finder_t **finder)
{
    if (*finder)
        skn_errand_leave(&(*finder)->errand);
    *finder = NULL;
}

void
skn_finder_ask(skn_finder_t *finder, uint32_t k)
{
    skn_errand_lock(&finder->errand);
    finder->wanted |= (uint64_t)1 << k;
    skn_errand_tell(&finder->errand);
    skn_errand_unlock(&finder->errand);
}

bool
skn_finder_is_unknown(skn_finder_t *finder, uint32_t k)
{
    skn_errand_lock(&finder->errand);
    bool unknown = finder->unknown >> k & 1u;
    skn_errand_unlock(&finder->errand);
    return unknown;
}

bool
skn_finder_found(skn_finder_t *finder, uint32_t k, skn_conduit_place_t *place)
{
    skn_errand_lock(&finder->errand);
    bool found = finder->place[k].bytes > 0;
    if (found)
        *place = finder->place[k];
    skn_errand_unlock(&finder->errand);
    return found;
}
