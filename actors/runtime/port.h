/* port.h - the host's side of ports (skein/port.h) for the runtime.
 *
 * A port is an actor of the kind skn_port_kind that has no thread: the host's
 * threads do what its loop would do, one at a time under the port's lock.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_PORT_H
#define ACTORS_RUNTIME_PORT_H

#include "actors/runtime/actor.h"
#include "skein/port.h"

/* Its messages are those of its pipes; every specification knows it. */
extern const skn_kind_t skn_port_kind;

/* For an actor whose pipes exist. NULL and a filled `error` when memory or
 * descriptors are short. */
skn_port_t *skn_port_new(skn_actor_t *actor, skn_error_t *error);
void skn_port_destroy(skn_port_t **port);

/* The host waits for the end and takes no messages meanwhile: from now on
 * skn_port_pump keeps all that arrive, and returns their credit; until the
 * bound is restored, because the host has waited long enough. */
void skn_port_lift_bound(skn_port_t *port);
void skn_port_restore_bound(skn_port_t *port);
void skn_port_pump(skn_port_t *port);
/* The run has ended. */
void skn_port_close(skn_port_t *port);
/* The same for the host, by any thread, without waiting: the next call of the
 * host closes the port. */
void skn_port_alarm(skn_port_t *port);
/* The run was asked to stop, perhaps by a signal handler: the next call of the
 * host finishes the port, and its descriptor is readable until then. */
void skn_port_ring(skn_port_t *port);

#endif
