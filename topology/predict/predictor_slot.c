/* predictor_slot.c - the place of a service's current predictor: replaced by a
 * reload while other threads take it and use it.
 *
 * Reading the pointer and adding a reference have to be one step: between them
 * a reload could free the predictor. One lock for all slots makes them one. It
 * is held for a few instructions, where a call of a predictor takes a hundred
 * microseconds, and it leaves a slot plain data.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "topology/predict/predictor_internal.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int fork_code; /* of pthread_atfork */

static void
take_lock(void)
{
    (void)pthread_mutex_lock(&lock);
}

static void
give_lock(void)
{
    (void)pthread_mutex_unlock(&lock);
}

/* A child made by fork() gets the lock open, whoever had it before. */
static void
watch_forks(void)
{
    fork_code = pthread_atfork(take_lock, give_lock, give_lock);
}

skn_status_t
skn_predictor_slot_store(skn_predictor_slot_t *slot,
                         skn_predictor_t **predictor, skn_error_t *error)
{
    if (!slot || (predictor && !*predictor))
        return skn_fail(error, SKN_USAGE,
                        "skn_predictor_slot_store: the %s is NULL",
                        slot ? "predictor" : "slot");
    (void)pthread_once(&once, watch_forks);
    if (fork_code != 0)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a slot");
    skn_predictor_t *next = predictor ? *predictor : NULL;
    take_lock();
    skn_predictor_t *former = slot->current;
    slot->current = next;
    give_lock();
    if (predictor)
        *predictor = NULL;
    skn_predictor_close(&former);
    return SKN_OK;
}

skn_predictor_t *
skn_predictor_slot_acquire(skn_predictor_slot_t *slot, skn_error_t *error)
{
    if (!slot) {
        (void)skn_fail(error, SKN_USAGE,
                       "skn_predictor_slot_acquire: the slot is NULL");
        return NULL;
    }
    take_lock();
    skn_predictor_t *current = slot->current;
    if (current)
        (void)skn_predictor_share(current);
    give_lock();
    if (!current)
        (void)skn_fail(error, SKN_UNAVAILABLE, "the slot has no predictor");
    return current;
}
