/* system_machine.c - keeps one hwloc topology for all systems of a process.
 *
 * This file owns: the topology read last, and the number of its users. An older
 * topology, read for other units, stays until its last user has dropped it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/machine/system_machine.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct machine {
    struct machine *next;
    hwloc_topology_t topology;
    cpu_set_t units; /* the process's units when it was read */
    size_t users;
} machine_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static machine_t *machines; /* the newest first */

/* Reads the topology. Without the flag, hwloc would include units that taskset
 * has taken away. */
static skn_status_t
read_machine(hwloc_topology_t *topology, skn_error_t *error)
{
    if (hwloc_topology_init(topology) != 0)
        return skn_fail(error, SKN_NO_MEMORY, "hwloc cannot start: %s",
                        strerror(errno));
    (void)hwloc_topology_set_flags(
        *topology, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM |
                       HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING);
    if (hwloc_topology_load(*topology) == 0)
        return SKN_OK;
    hwloc_topology_destroy(*topology);
    return skn_fail(error, SKN_UNAVAILABLE,
                    "hwloc cannot read this machine: %s", strerror(errno));
}

/* Call it with the lock held. The main thread's units are the process's: a
 * control group or taskset changes them, and our own threads are never the main
 * one. */
static machine_t *
newest(skn_error_t *error)
{
    cpu_set_t units;
    CPU_ZERO(&units);
    (void)sched_getaffinity(getpid(), sizeof(units), &units);
    if (machines && CPU_EQUAL(&units, &machines->units))
        return machines;
    machine_t *machine = calloc(1, sizeof(*machine));
    if (!machine) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for the machine's topology");
        return NULL;
    }
    if (read_machine(&machine->topology, error) != SKN_OK) {
        free(machine);
        return NULL;
    }
    machine->units = units;
    machine->next = machines;
    machines = machine;
    return machine;
}

/* Call it with the lock held. Frees unused topologies; also the newest if
 * `all`. */
static void
sweep(bool all)
{
    machine_t **link = all || !machines ? &machines : &machines->next;
    while (*link) {
        machine_t *machine = *link;
        if (machine->users > 0) {
            link = &machine->next;
            continue;
        }
        *link = machine->next;
        hwloc_topology_destroy(machine->topology);
        free(machine);
    }
}

hwloc_topology_t
skn_machine_keep(skn_error_t *error)
{
    (void)pthread_mutex_lock(&lock);
    machine_t *machine = newest(error);
    if (machine)
        machine->users++;
    sweep(false);
    (void)pthread_mutex_unlock(&lock);
    return machine ? machine->topology : NULL;
}

void
skn_machine_drop(hwloc_topology_t topology)
{
    (void)pthread_mutex_lock(&lock);
    for (machine_t *machine = machines; machine; machine = machine->next)
        if (machine->topology == topology)
            machine->users--;
    sweep(false);
    (void)pthread_mutex_unlock(&lock);
}

/* Runs at the end of the process, and when a host unloads the library. In a
 * child of fork() the lock may belong to a thread that does not exist there. */
__attribute__((destructor)) static void
forget(void)
{
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    sweep(true);
    (void)pthread_mutex_unlock(&lock);
}
