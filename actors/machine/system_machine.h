/* system_machine.h - the hwloc topology of this machine, read once per process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_MACHINE_SYSTEM_MACHINE_H
#define ACTORS_MACHINE_SYSTEM_MACHINE_H

#include <hwloc.h>

#include "skein/error.h"

/* Gets the topology of the units that the process may use. Reading it takes
 * some ten milliseconds of processor time, so all callers share one, which must
 * not be changed; it is read again if the process was given other units
 * meanwhile. NULL and a filled `error` on failure. Any thread. */
hwloc_topology_t skn_machine_keep(skn_error_t *error);
/* Drops a topology that skn_machine_keep returned. */
void skn_machine_drop(hwloc_topology_t topology);

#endif
