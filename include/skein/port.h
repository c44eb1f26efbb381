/* port.h - the ends of pipes at which a host program sends and takes messages.
 *
 * A port is an actor without a thread: `{ name: in, kind: port }` in the
 * topology. It may send and take every message that its pipes carry, under the
 * same credit as any actor, and its host takes the place of handlers:
 *
 *     skn_port_t *in = skn_topology_port(topology, "in", &error);
 *     skn_port_t *out = skn_topology_port(topology, "out", &error);
 *     status = skn_port_send(in, &number_schema, &number, &error);
 *     (the loop reports that skn_port_fd(out) is readable)
 *     while ((message = skn_port_take(out, &schema, &error)))
 *         use(message), skn_message_drop(message);
 *     skn_port_finish(in);
 *
 * No function waits, and none runs code of the host on another thread. Any
 * thread may call them, several at once, from the topology's start until it is
 * destroyed; in a child made by fork() they are SKN_USAGE. The run goes on
 * until every port is finished and all its pipes have ended, which is noticed
 * by calls of the port and by skn_topology_wait. A failure or a
 * stop ends the ports; the topology's own descriptor (skn_topology_fd) and
 * skn_topology_wait say why.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_PORT_H
#define SKEIN_PORT_H

#include "skein/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct skn_port skn_port_t;

/* The port called `name` of a topology that was started; it belongs to the
 * topology. For the topology's thread. NULL and SKN_USAGE if there is none on
 * this node. */
SKN_API skn_port_t *skn_topology_port(skn_topology_t *topology,
                                      const char *name, skn_error_t *error);

/* A descriptor for poll, epoll, libuv or zloop: readable while a message waits,
 * after a send was refused with SKN_BUSY and there is credit again, and when
 * the port's pipes or the run have ended; level triggered. Of a port that only
 * sends it is readable after a stop until a call has said so
 * (SKN_UNAVAILABLE), and from the run's end on. It may be readable for nothing:
 * then skn_port_take returns SKN_BUSY; if the port only sends, its next send
 * shows whether there is credit. One thread waits for it: a credit that another
 * thread uses is news for nobody else. -1 if `port` is NULL. */
SKN_API int skn_port_fd(const skn_port_t *port);

/* As skn_actor_message: a message to fill and to post, from the port's pool. */
SKN_API void *skn_port_message(skn_port_t *port, const skn_schema_t *schema,
                               const size_t *counts, skn_error_t *error);
/* Sends a message made by skn_port_message, or kept. SKN_BUSY: a receiver that
 * it goes to has given no credit, and the message is still the caller's. In all
 * other cases the runtime takes it over. SKN_UNAVAILABLE: the port was
 * finished, or the run was stopped or has ended. SKN_USAGE: the port has no
 * pipe for it, or a text of the message is NULL. */
SKN_API skn_status_t skn_port_post(skn_port_t *port, const void *message,
                                   skn_error_t *error);
/* The same for a struct of the caller's, which is copied if it is sent. */
SKN_API skn_status_t skn_port_send(skn_port_t *port, const skn_schema_t *schema,
                                   const void *message, skn_error_t *error);

/* The next message that has arrived, and its schema (NULL: not needed); the
 * caller drops it (skn_message_drop). Its credit goes back at once. NULL and
 * SKN_BUSY if there is none yet, SKN_USAGE if the port has no pipes into it,
 * SKN_UNAVAILABLE if none will come: all pipes
 * into the port have ended, or, as the sentence then says, the run was broken
 * off. */
SKN_API const void *skn_port_take(skn_port_t *port, const skn_schema_t **schema,
                                  skn_error_t *error);

/* Ends the pipes on which the port sends: their receivers drain and end. After
 * a stop (skn_topology_stop) the next call of any function does the same, which
 * the descriptor's readiness asks for. */
SKN_API void skn_port_finish(skn_port_t *port);

#ifdef __cplusplus
}
#endif

#endif
