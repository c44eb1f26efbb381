/* resolver.c - resolves host names on a thread of its own; callers never wait.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/resolver.h"

#include <stdio.h>
#include <stdlib.h>

#include "transport/socket/background.h"

struct skn_resolver {
    skn_background_t task; /* locks all below */
    uint64_t wanted;       /* a bit for each, until it is resolved */
    uint64_t unknown; /* the last answer was that the name does not exist */
    skn_byte_socket_place_t place[SKN_RESOLVER_MAX];   /* 0 bytes: not found */
    char address[SKN_RESOLVER_MAX][SKN_ADDRESS_BYTES]; /* never changed */
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
find_all(skn_background_t *task)
{
    skn_resolver_t *resolver = (skn_resolver_t *)task;
    skn_background_lock(task);
    while (!task->closing) {
        if (!resolver->wanted) {
            (void)pthread_cond_wait(&task->news, &task->lock);
            continue;
        }
        skn_byte_socket_place_t place;
        uint32_t k = lowest(resolver->wanted);
        skn_background_unlock(task);
        bool found = skn_byte_socket_find(resolver->address[k], &place);
        skn_background_lock(task);
        resolver->wanted &= ~((uint64_t)1 << k);
        resolver->unknown &= ~((uint64_t)1 << k);
        resolver->unknown |= (uint64_t)!found << k;
        if (found)
            resolver->place[k] = place;
    }
    skn_background_unlock(task);
}

skn_resolver_t *
skn_resolver_new(const char *const *address, uint32_t count, skn_error_t *error)
{
    skn_resolver_t *resolver = calloc(1, sizeof(*resolver));
    if (!resolver) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for addresses");
        return NULL;
    }
    for (uint32_t k = 0; k < count && k < SKN_RESOLVER_MAX; k++)
        (void)snprintf(resolver->address[k], SKN_ADDRESS_BYTES, "%s",
                       address[k]);
    skn_status_t status = skn_background_begin(&resolver->task, find_all,
                                               "to ask for names", error);
    return status == SKN_OK ? resolver : NULL;
}

void
skn_resolver_destroy(skn_resolver_t **resolver)
{
    if (*resolver)
        skn_background_leave(&(*resolver)->task);
    *resolver = NULL;
}

void
skn_resolver_ask(skn_resolver_t *resolver, uint32_t k)
{
    skn_background_lock(&resolver->task);
    resolver->wanted |= (uint64_t)1 << k;
    skn_background_wake(&resolver->task);
    skn_background_unlock(&resolver->task);
}

bool
skn_resolver_is_unknown(skn_resolver_t *resolver, uint32_t k)
{
    skn_background_lock(&resolver->task);
    bool unknown = resolver->unknown >> k & 1u;
    skn_background_unlock(&resolver->task);
    return unknown;
}

bool
skn_resolver_found(skn_resolver_t *resolver, uint32_t k,
                   skn_byte_socket_place_t *place)
{
    skn_background_lock(&resolver->task);
    bool found = resolver->place[k].bytes > 0;
    if (found)
        *place = resolver->place[k];
    skn_background_unlock(&resolver->task);
    return found;
}
