/* system_machine.h - this machine as hwloc sees it, read once a process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_MACHINE_SYSTEM_MACHINE_H
#define ACTORS_MACHINE_SYSTEM_MACHINE_H

#include <hwloc.h>

#include "skein/error.h"

/* The units that the process may use. Reading them takes some ten milliseconds
 * of processor time, so all who ask share one topology, which nobody changes;
 * it is read again when the process was given other units meanwhile. NULL and a
 * filled `error`. Any thread. */
hwloc_topology_t skn_machine_keep(skn_error_t *error);
/* Says that the one who kept it needs it no more. */
void skn_machine_drop(hwloc_topology_t topology);

#endif
