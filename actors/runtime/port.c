/* port.c - sends and takes messages at the ends of pipes that the host holds.
 *
 *     post ──▶ credit? ──▶ outgoing.c ──▶ outlets
 *     take ◀── arrived ◀── inbox          descriptor: inbox or bell readable
 * The descriptor of an inbox is edge triggered: the bell stays readable while
 * messages have been taken from the inbox and not by the host, and at the end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/runtime/port.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "actors/runtime/system_internal.h"
#include "transport/message/schema.h"
#include "transport/socket/process_mark.h"

const skn_kind_t skn_port_kind = {
    .struct_bytes = sizeof(skn_kind_t),
    .name = "port",
    .help = "the host program sends and takes its messages",
    .gate = true,
};

struct skn_port {
    pthread_mutex_t lock;
    skn_actor_t *actor;
    skn_queue_t arrived;
    int descriptor;         /* epoll of the inbox and the bell */
    int bell;               /* eventfd */
    bool is_ringing;        /* the bell is readable */
    bool is_finished;       /* it sends no more */
    bool is_closed;         /* the run has ended */
    atomic_bool is_alarmed; /* to be closed */
    atomic_bool was_rung;   /* the bell was made readable without the lock */
    bool is_stopped;        /* finished because the run was asked to stop */
    bool has_told;          /* the host knows that it sends no more */
    bool is_watching;       /* the descriptor is readable when the inbox is */
    uint32_t process;       /* skn_process_mark of the process that made it */
    bool was_empty;      /* the inbox, behind the message that was taken last */
    bool is_unbound;     /* credit returns when a message arrives */
    uint32_t paid_count; /* the first of `arrived`, whose credit was
                             * returned before the host takes them */
    bool has_ended;      /* reported to the host's inbox */
};

/* --- for the runtime ------------------------------------------------------ */

static bool
watch(const skn_port_t *port, int descriptor)
{
    struct epoll_event event = { .events = EPOLLIN };
    return descriptor >= 0 && port->descriptor >= 0 &&
           epoll_ctl(port->descriptor, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

skn_port_t *
skn_port_new(skn_actor_t *actor, skn_error_t *error)
{
    skn_port_t *port = skn_system_array(1, sizeof(*port), error);
    if (!port)
        return NULL;
    (void)pthread_mutex_init(&port->lock, NULL);
    port->actor = actor;
    port->descriptor = epoll_create1(EPOLL_CLOEXEC);
    port->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    port->process = skn_process_mark();
    /* The inbox of a port that only sends gets credit, which is news only after
     * a refusal (check_send). */
    port->is_watching = actor->in_edge_count > 0;
    if (!watch(port, port->bell) ||
        (port->is_watching &&
         !watch(port, skn_inbox_descriptor(actor->inbox)))) {
        skn_fail(error, SKN_NO_MEMORY,
                 "cannot create the descriptor of port %s: %s",
                 actor->wired->name, strerror(errno));
        skn_port_destroy(&port);
        return NULL;
    }
    actor->phase = SKN_PHASE_RUNNING;
    return port;
}

void
skn_port_destroy(skn_port_t **port)
{
    skn_parcel_t parcel;
    if (!*port)
        return;
    while (skn_queue_take(&(*port)->arrived, &parcel))
        skn_payload_drop(parcel.pointer);
    skn_queue_fini(&(*port)->arrived);
    if ((*port)->bell >= 0)
        (void)close((*port)->bell);
    if ((*port)->descriptor >= 0)
        (void)close((*port)->descriptor);
    (void)pthread_mutex_destroy(&(*port)->lock);
    free(*port);
    *port = NULL;
}

/* --- under the lock ------------------------------------------------------- */

/* Whether no more messages can arrive. */
static bool
is_over(const skn_port_t *port)
{
    const skn_actor_t *actor = port->actor;
    return port->is_closed || actor->open_edges + actor->open_peers == 0;
}

/* Makes the bell readable if there is something to take, or nothing will be; of
 * a port that only sends, if the host does not know yet that it was finished,
 * and at the end. */
static void
set_bell(skn_port_t *port)
{
    bool takes = port->actor->in_edge_count > 0;
    bool rings = port->arrived.count > 0 || port->is_closed ||
                 (takes ? is_over(port) : port->is_stopped && !port->has_told);
    uint64_t one = 1;
    if (rings == port->is_ringing)
        return;
    ssize_t bytes = rings ? write(port->bell, &one, sizeof(one))
                          : read(port->bell, &one, sizeof(one));
    (void)bytes; /* it was the other way round */
    port->is_ringing = rings;
}

/* The run goes on without this port once it sends and gets no more. */
static void
check_end(skn_port_t *port)
{
    if (port->has_ended || !is_over(port) ||
        (!port->is_finished && port->actor->out_edge_count > 0))
        return;
    port->has_ended = true;
    port->actor->phase = SKN_PHASE_ENDED;
    skn_actor_report(port->actor, SKN_PARCEL_ENDED, NULL);
}

/* Returns the credit of all that has arrived. */
static skn_status_t
pay(skn_port_t *port, skn_error_t *error)
{
    const skn_queue_t *arrived = &port->arrived;
    skn_status_t status = SKN_OK;
    for (; port->paid_count < arrived->count && status == SKN_OK;
         port->paid_count++)
        status = skn_incoming_owe(
            port->actor, skn_queue_at(arrived, port->paid_count)->slot, error);
    return status;
}

static skn_status_t
take_parcel(skn_port_t *port, const skn_parcel_t *parcel, skn_error_t *error)
{
    skn_actor_t *actor = port->actor;
    switch (parcel->type) {
    case SKN_PARCEL_CREDIT:
        return skn_outgoing_credit(actor, parcel->slot,
                                   (uint32_t)parcel->number, error);
    case SKN_PARCEL_END:
        return skn_incoming_end(actor, parcel->slot, error);
    default:
        assert(parcel->type == SKN_PARCEL_MESSAGE);
        if (skn_queue_put(&port->arrived, parcel))
            return port->is_unbound ? pay(port, error) : SKN_OK;
        skn_payload_drop(parcel->pointer);
        return skn_fail(error, SKN_NO_MEMORY,
                        "%s: no memory for more than %u messages that wait",
                        actor->wired->name, port->arrived.count);
    }
}

/* Empties the inbox, so that its descriptor signals what comes next. */
static void
collect(skn_port_t *port)
{
    skn_parcel_t parcel;
    while (skn_inbox_take(port->actor->inbox, &parcel)) {
        skn_error_t error;
        skn_error_clear(&error);
        if (take_parcel(port, &parcel, &error) != SKN_OK)
            skn_actor_fail(port->actor, &error);
    }
}

static void
finish(skn_port_t *port)
{
    skn_error_t error;
    skn_error_clear(&error);
    if (port->is_finished)
        return;
    port->is_finished = true;
    if (skn_outgoing_end(port->actor, false, &error) != SKN_OK ||
        skn_outgoing_end(port->actor, true, &error) != SKN_OK)
        skn_actor_fail(port->actor, &error);
    check_end(port);
    set_bell(port);
}

/* Ends a port that has to end, before anything else is done with it. */
static void
lock(skn_port_t *port)
{
    (void)pthread_mutex_lock(&port->lock);
    if (atomic_load(&port->was_rung) && atomic_exchange(&port->was_rung, false))
        port->is_ringing = true;
    port->is_closed = port->is_closed || atomic_load(&port->is_alarmed);
    if (!port->is_finished && skn_system_stops(port->actor->system)) {
        port->is_stopped = true;
        finish(port);
    }
}

/* Makes the descriptor of a port that only sends readable with the next credit,
 * or no longer. */
static bool
watch_credit(skn_port_t *port, bool watches)
{
    int inbox = skn_inbox_descriptor(port->actor->inbox);
    if (port->actor->in_edge_count > 0 || watches == port->is_watching)
        return true;
    port->is_watching = watches;
    return watches
               ? watch(port, inbox)
               : epoll_ctl(port->descriptor, EPOLL_CTL_DEL, inbox, NULL) == 0;
}

static skn_status_t
check_send(skn_port_t *port, const skn_schema_t *schema, const void *message,
           skn_error_t *error)
{
    skn_actor_t *actor = port->actor;
    const char *name = actor->wired->name;
    port->has_told = port->is_finished;
    if (port->is_finished || port->is_closed)
        return skn_fail(error, SKN_UNAVAILABLE,
                        "port %s sends no more: it was finished, or the run "
                        "was stopped or has ended",
                        name);
    if (skn_actor_receivers(actor, schema) == 0)
        return skn_fail(error, SKN_USAGE, "port %s has no pipe for '%s'", name,
                        schema->name);
    if (!skn_outgoing_has_credit(actor, schema, message))
        collect(port);
    bool is_refused = !skn_outgoing_has_credit(actor, schema, message);
    if (!watch_credit(port, is_refused))
        return skn_fail(error, SKN_NO_MEMORY, "port %s cannot wait: %s", name,
                        strerror(errno));
    if (is_refused)
        return skn_fail(error, SKN_BUSY,
                        "port %s: the receivers of '%s' take no more at the "
                        "moment",
                        name, schema->name);
    return SKN_OK;
}

/* Takes what has arrived into the caller's hands: counts it, and returns its
 * credit. */
static const void *
hand_over(skn_port_t *port, const skn_parcel_t *parcel, skn_error_t *error)
{
    skn_actor_t *actor = port->actor;
    const void *message = parcel->pointer;
    skn_status_t status = skn_incoming_count(actor, parcel, &message, error);
    if (port->paid_count > 0)
        port->paid_count--;
    else if (status == SKN_OK)
        status = skn_incoming_owe(actor, parcel->slot, error);
    if (status == SKN_OK)
        return message;
    skn_payload_drop(message);
    skn_actor_fail(actor, error);
    return NULL;
}

static bool
is_inherited(const skn_port_t *port, const char *call, skn_error_t *error)
{
    return skn_process_check(port->process, call, "the port", error) != SKN_OK;
}

/* --- for the host --------------------------------------------------------- */

int
skn_port_fd(const skn_port_t *port)
{
    return port ? port->descriptor : -1;
}

void *
skn_port_message(skn_port_t *port, const skn_schema_t *schema,
                 const size_t *counts, skn_error_t *error)
{
    if (!port) {
        skn_fail(error, SKN_USAGE, "skn_port_message: the port is NULL");
        return NULL;
    }
    if (is_inherited(port, "skn_port_message", error))
        return NULL;
    lock(port);
    void *message = skn_actor_message(port->actor, schema, counts, error);
    (void)pthread_mutex_unlock(&port->lock);
    return message;
}

skn_status_t
skn_port_post(skn_port_t *port, const void *message, skn_error_t *error)
{
    if (!port || !message) {
        skn_message_drop(message);
        return skn_fail(error, SKN_USAGE, "skn_port_post: the %s is NULL",
                        port ? "message" : "port");
    }
    if (is_inherited(port, "skn_port_post", error)) {
        skn_message_drop(message);
        return SKN_USAGE;
    }
    lock(port);
    skn_status_t status =
        check_send(port, skn_payload_of(message)->schema, message, error);
    if (status == SKN_OK)
        status = skn_actor_post(port->actor, message, error);
    else if (status != SKN_BUSY)
        skn_payload_drop(message);
    set_bell(port);
    (void)pthread_mutex_unlock(&port->lock);
    return status;
}

skn_status_t
skn_port_send(skn_port_t *port, const skn_schema_t *schema, const void *message,
              skn_error_t *error)
{
    if (!port || !schema || !message)
        return skn_fail(error, SKN_USAGE, "skn_port_send: the %s is NULL",
                        !port     ? "port"
                        : !schema ? "schema"
                                  : "message");
    if (is_inherited(port, "skn_port_send", error))
        return SKN_USAGE;
    lock(port);
    skn_status_t status = check_send(port, schema, message, error);
    if (status == SKN_OK)
        status = skn_actor_send(port->actor, schema, message, error);
    set_bell(port);
    (void)pthread_mutex_unlock(&port->lock);
    return status;
}

const void *
skn_port_take(skn_port_t *port, const skn_schema_t **schema, skn_error_t *error)
{
    skn_error_t own;
    skn_parcel_t parcel;
    const void *message = NULL;
    if (!error)
        error = &own;
    if (!port) {
        skn_fail(error, SKN_USAGE, "skn_port_take: the port is NULL");
        return NULL;
    }
    if (is_inherited(port, "skn_port_take", error))
        return NULL;
    lock(port);
    /* After a look that found nothing, the next message makes the descriptor
     * readable: another look, which costs two system calls, is left to the next
     * call, unless there may be none because the run has ended. */
    if (port->arrived.count == 0 && (!port->was_empty || port->is_closed))
        collect(port);
    port->was_empty = port->arrived.count > 0;
    if (skn_queue_take(&port->arrived, &parcel)) {
        message = hand_over(port, &parcel, error);
    } else if (port->actor->in_edge_count == 0) {
        port->has_told = port->is_finished;
        skn_fail(error, SKN_USAGE, "port %s has no pipes into it",
                 port->actor->wired->name);
    } else if (is_over(port)) {
        const skn_actor_t *actor = port->actor;
        bool is_broken_off = actor->open_edges + actor->open_peers > 0;
        skn_fail(error, SKN_UNAVAILABLE, "no more messages arrive at port %s%s",
                 actor->wired->name,
                 is_broken_off ? ": the run failed or was aborted, and "
                                 "skn_topology_wait says why"
                               : "");
    } else {
        skn_fail(error, SKN_BUSY, "no message has arrived at port %s yet",
                 port->actor->wired->name);
        if (skn_incoming_return_credit(port->actor, error) != SKN_OK)
            skn_actor_fail(port->actor, error);
    }
    check_end(port);
    set_bell(port);
    (void)pthread_mutex_unlock(&port->lock);
    if (message && schema)
        *schema = skn_payload_of(message)->schema;
    return message;
}

void
skn_port_finish(skn_port_t *port)
{
    if (!port || is_inherited(port, "skn_port_finish", NULL))
        return;
    lock(port);
    finish(port);
    port->has_told = true;
    set_bell(port);
    (void)pthread_mutex_unlock(&port->lock);
}

void
skn_port_lift_bound(skn_port_t *port)
{
    skn_error_t error;
    skn_error_clear(&error);
    lock(port);
    port->is_unbound = true;
    if (pay(port, &error) != SKN_OK)
        skn_actor_fail(port->actor, &error);
    (void)pthread_mutex_unlock(&port->lock);
}

void
skn_port_restore_bound(skn_port_t *port)
{
    lock(port);
    port->is_unbound = false;
    (void)pthread_mutex_unlock(&port->lock);
}

void
skn_port_pump(skn_port_t *port)
{
    skn_error_t error;
    skn_error_clear(&error);
    lock(port);
    collect(port);
    if (skn_incoming_return_credit(port->actor, &error) != SKN_OK)
        skn_actor_fail(port->actor, &error);
    check_end(port);
    set_bell(port);
    (void)pthread_mutex_unlock(&port->lock);
}

void
skn_port_ring(skn_port_t *port)
{
    uint64_t one = 1;
    atomic_store(&port->was_rung, true);
    ssize_t bytes = write(port->bell, &one, sizeof(one));
    (void)bytes; /* a full counter is readable already */
}

void
skn_port_alarm(skn_port_t *port)
{
    atomic_store(&port->is_alarmed, true);
    skn_port_ring(port);
}

void
skn_port_close(skn_port_t *port)
{
    lock(port);
    port->is_closed = true;
    set_bell(port);
    (void)pthread_mutex_unlock(&port->lock);
}
