/* stress_host.c - exercises what a host may do at any time, for the thread
 * sanitizer: stops and aborts from another thread at every moment of a start,
 * events that are requested without waiting, waits with a limit, a look at the
 * actors while they work, and two topologies at once. Covers
 * topology/host/topology.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "skein/topology.h"
#include "tests/support/tsan_libzmq.h"

#define ROUNDS 40u

/* teller: tells of each turn until it is to stop. */
static skn_status_t
tell_turn(skn_actor_t *actor, void *state, skn_error_t *error)
{
    uint64_t *turn = state;
    if (skn_actor_stop_wanted(actor))
        skn_actor_finish(actor);
    return skn_actor_send_event(actor, error, "{\"turn\":%llu}",
                                (unsigned long long)++*turn);
}

static const skn_kind_t teller =
    SKN_KIND(.name = "teller", .state_bytes = sizeof(uint64_t),
             .produce = tell_turn);
static const skn_kind_t *const kinds[] = { &teller, NULL };
static const char text[] = "skein: 1\n"
                           "topology:\n"
                           "  name: t\n"
                           "  actors:\n"
                           "    - { name: a, kind: teller }\n"
                           "    - { name: b, kind: teller }\n";

typedef struct stop {
    skn_topology_t *topology;
    uint64_t turns; /* of a loop before it */
    bool aborts;
} stop_t;

static void *
stop_after(void *argument)
{
    const stop_t *stop = argument;
    for (volatile uint64_t turn = 0; turn < stop->turns; turn++)
        continue;
    if (stop->aborts)
        skn_topology_abort(stop->topology);
    else
        skn_topology_stop(stop->topology);
    return NULL;
}

/* One run, to its end. */
static skn_status_t
run(uint64_t round, skn_error_t *error)
{
    char line[256];
    pthread_t thread;
    skn_start_options_t options =
        SKN_START_OPTIONS(.no_binding = round % 2 == 0);
    skn_topology_t *topology = skn_topology_new(text, "t", kinds, error);
    stop_t stop = { topology, round * round * 1000, round % 4 >= 2 };
    if (!topology || pthread_create(&thread, NULL, stop_after, &stop) != 0)
        return SKN_NO_MEMORY;
    skn_status_t status = skn_topology_start(topology, &options, error);
    while (status == SKN_OK || status == SKN_BUSY) {
        struct pollfd item = { skn_topology_fd(topology), POLLIN, 0 };
        (void)poll(&item, 1, -1);
        status = skn_topology_event(topology, 0, line, sizeof(line), error);
        for (size_t k = 0; skn_topology_actor(topology, k); k++)
            continue;
        if (status == SKN_BUSY)
            (void)skn_topology_wait_for(topology, 1, error);
    }
    (void)pthread_join(thread, NULL);
    if (status == SKN_UNAVAILABLE)
        status = skn_topology_wait(topology, error);
    skn_topology_destroy(&topology);
    if (stop.aborts)
        status = status == SKN_UNAVAILABLE ? SKN_OK : SKN_INTERNAL;
    return status;
}

static void *
run_all(void *failed)
{
    skn_error_t error = { 0 };
    for (uint64_t round = 0; round < ROUNDS; round++)
        if (run(round, &error) != SKN_OK) {
            (void)fprintf(stderr, "round %llu: %s\n", (unsigned long long)round,
                          error.text);
            return failed;
        }
    return NULL;
}

int
main(void)
{
    pthread_t threads[2];
    void *failed = NULL;
    int count = 0, failures = 0;
    while (count < 2 &&
           pthread_create(&threads[count], NULL, run_all, &failures) == 0)
        count++;
    for (int k = 0; k < count; k++) {
        (void)pthread_join(threads[k], &failed);
        failures += failed != NULL;
    }
    (void)printf("%d of 2 hosts failed\n", failures);
    return failures > 0 || count < 2;
}
