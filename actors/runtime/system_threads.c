/* system_threads.c - starts the threads of a system, several at once.
 *
 * This file owns: the helpers that start threads, and what an actor's thread
 * does before and after the run loop. The end of threads is in system_run.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "actors/runtime/crash.h"
#include "actors/runtime/link_driver.h"
#include "actors/runtime/reporting.h"
#include "actors/runtime/system_internal.h"
#include "actors/runtime/watchdog.h"
#include "transport/socket/thread_start.h"

/* Threads that help to start those of the actors. A start waits for a sign of
 * the new thread, so that several at once take less time
 * (docs/decisions/0031-czmq-pipelines.md). Few actors need no help. */
#define HELPERS_MAX 2u
#define ACTORS_PER_HELPER 8u

bool
skn_system_keeps_state(const skn_actor_t *actor)
{
    return actor->system->options.keeps_state && actor->kind->salvage;
}

/* Warns about cores that do not exist: the first actor concerned reports for
 * all. */
static void
warn_absent(skn_actor_t *actor)
{
    skn_system_t *system = actor->system;
    uint32_t first = 0, count = 0;
    char text[256], others[64] = "", cores[128];
    if (system->placement)
        count = skn_placement_absent(system->placement, system->wiring,
                                     system->options.node, &first);
    if (count == 0 || first != actor->number)
        return;
    if (count > 1)
        (void)snprintf(others, sizeof(others),
                       " (nor do those of %u more actor%s)", count - 1,
                       count == 2 ? "" : "s");
    (void)snprintf(
        text, sizeof(text),
        "core %d of '%.64s' does not exist%s: this process may use %s",
        actor->wired->core, actor->wired->name, others,
        skn_placement_describe(system->placement, cores, sizeof(cores)));
    skn_actor_warn(actor, text, "these actors run on the cores that exist");
}

static void
thread_main(skn_inbox_t *orders, void *argument)
{
    skn_actor_t *actor = argument;
    skn_system_t *system = actor->system;
    skn_error_t error = { 0 };
    skn_crash_thread_t crash;
    actor->orders = orders;
    skn_crash_enter(&crash, actor, NULL);
    if (skn_placement_bind(system->placement, system->units[actor->number],
                           actor->wired->name, actor->wired->nice,
                           &error) != SKN_OK)
        skn_actor_warn(actor, error.text,
                       "the operating system chooses its core");
    warn_absent(actor);
    skn_actor_run(actor);
    if (system->has_barrier)
        (void)pthread_barrier_wait(&system->left);
    if (!skn_system_keeps_state(actor))
        skn_actor_close(actor);
    skn_crash_leave(&crash);
    skn_system_leave(system);
}

/* Shared by the threads that start others. */
typedef struct starting {
    skn_system_t *system;
    atomic_uint next; /* number of the next actor whose thread is to start */
} starting_t;

static void *
start_next_ones(void *argument)
{
    starting_t *starting = argument;
    skn_system_t *system = starting->system;
    for (;;) {
        uint32_t k = atomic_fetch_add(&starting->next, 1);
        if (k >= system->actor_count)
            return NULL;
        if (system->threads[k])
            skn_thread_begin(system->threads[k]);
    }
}

static void
start_all(skn_system_t *system, uint32_t helpers)
{
    starting_t starting = { .system = system };
    pthread_t helper[HELPERS_MAX];
    uint32_t helping = 0;
    while (helping < helpers &&
           skn_thread_start(&helper[helping], NULL, start_next_ones,
                            &starting) == 0)
        helping++;
    (void)start_next_ones(&starting);
    while (helping > 0)
        (void)pthread_join(helper[--helping], NULL);
}

static skn_status_t
make_threads(skn_system_t *system, skn_error_t *error)
{
    for (uint32_t k = 0; k < system->actor_count; k++) {
        skn_actor_t *actor = &system->actors[k];
        if (!actor->here || actor->port)
            continue;
        system->threads[k] = skn_thread_new(thread_main, actor, error);
        if (!system->threads[k])
            return SKN_NO_MEMORY;
    }
    return SKN_OK;
}

static void
end_threads(skn_system_t *system)
{
    for (uint32_t k = 0; k < system->actor_count; k++)
        skn_thread_end(&system->threads[k]);
}

skn_status_t
skn_system_start_threads(skn_system_t *system, skn_error_t *error)
{
    /* Beside those of the actors, the watchdog and the links. */
    uint32_t actors = system->here_count - system->port_count;
    uint32_t wanted = actors + 1 + (system->links ? 1 : 0);
    uint32_t helpers = actors / ACTORS_PER_HELPER;
    int code = 0;
    helpers = helpers < HELPERS_MAX ? helpers : HELPERS_MAX;
    skn_start_lock();
    skn_status_t status = make_threads(system, error);
    uint32_t granted =
        status == SKN_OK ? skn_threads_try(wanted + helpers, &code) : 0;
    if (granted < wanted)
        end_threads(system);
    else
        start_all(system, granted - wanted);
    skn_start_unlock();
    if (granted >= wanted) {
        system->thread_count = actors;
        code = skn_watchdog_start(system->watchdog);
        if (code == 0 && system->links)
            code = system->wiring->link_driver->start(system->links);
    }
    if (status != SKN_OK || code == 0)
        return status;
    return skn_fail(error, SKN_NO_MEMORY,
                    "the system grants %u of the %u threads that %u actors "
                    "need: %s",
                    granted, wanted, system->here_count, strerror(code));
}
