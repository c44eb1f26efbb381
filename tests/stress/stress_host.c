/* stress_host.c - exercises what a host may do at any time, for the thread
 * sanitizer: stops and aborts from another thread at every moment of a start,
 * events that are requested without waiting, waits with a limit, a look at the
 * actors while they work, and two topologies at once. Covers
 * topology/host/topology.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/stress/stress_hosts.h"

#include <poll.h>

#include "skein/topology.h"

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

static void
stop(const stress_guest_t *guest)
{
    skn_topology_stop(guest->handle);
}

static void
end_at_once(const stress_guest_t *guest)
{
    skn_topology_abort(guest->handle);
}

/* One run, to its end. */
static skn_status_t
run(unsigned host, uint64_t round, skn_error_t *error)
{
    char line[256];
    bool aborts = round % 4 >= 2;
    skn_start_options_t options =
        SKN_START_OPTIONS(.no_binding = round % 2 == 0);
    skn_topology_t *topology = skn_topology_new(text, "t", kinds, error);
    stress_guest_t guest = { topology, aborts ? end_at_once : stop,
                             round * round * 1000, 0 };
    (void)host;
    if (!topology)
        return SKN_NO_MEMORY;
    stress_guest_start(&guest);
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
    (void)pthread_join(guest.thread, NULL);
    if (status == SKN_UNAVAILABLE)
        status = skn_topology_wait(topology, error);
    skn_topology_destroy(&topology);
    if (aborts)
        status = status == SKN_UNAVAILABLE ? SKN_OK : SKN_INTERNAL;
    return status;
}

int
main(void)
{
    return stress_hosts_run(ROUNDS, run) > 0;
}
