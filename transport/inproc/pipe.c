/* pipe.c - PUSH and PULL sockets that carry parcels, and threads, by CZMQ.
 *
 * This file owns: every ZeroMQ socket between actors of one process, the
 * options they are made with, and the settings of CZMQ.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/inproc/pipe.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

/* CZMQ would note the source line of every socket, and search that list when it
 * closes one. */
#define ZSOCK_NOCHECK
#include <czmq.h>

#include "formats/text/system_error.h"
#include "transport/message/thread_order.h"
#include "transport/socket/process_mark.h"
#include "transport/socket/socket.h"
#include "transport/socket/thread_start.h"

/* A lot: parcels that one ZeroMQ message carries. Its sender goes on putting
 * parcels into it until it is full, or until the receiver has taken all of them
 * and closes it, so that a receiver that is awake gets many by one message.
 *
 *     sender     parcel[n], then state n -> n + 1     (closed: starts another)
 *     receiver   takes parcel[0 .. n), then state n -> n | CLOSED
 *
 * A lot that is full or whose sender has left is freed by the receiver, one
 * that was closed by the sender. As large as malloc keeps for the next call. */
#define LOT_PARCELS_MAX 42u
#define LOT_CLOSED (1u << 30) /* the receiver takes no more from it */
#define LOT_LEFT (1u << 31)   /* the sender puts no more into it */
#define LOT_COUNT (LOT_CLOSED - 1)
typedef struct skn_lot {
    atomic_uint state; /* the number of parcels, and the two bits */
    skn_parcel_t parcel[LOT_PARCELS_MAX];
} skn_lot_t;

/* `empty`: the last read found nothing. Only then does the descriptor of a
 * socket signal the next parcel: it is edge triggered, and a read that finds
 * nothing arms it (zmq_getsockopt(3), ZMQ_FD). `seen_empty`: the wait has just
 * found that it did not; a read that finds nothing costs two system calls. */
struct skn_inbox {
    skn_lot_t *lot;       /* NULL: none is being taken */
    uint32_t taken, seen; /* of its parcels */
    zsock_t *zsock;
    void *socket; /* of `zsock` */
    int descriptor;
    bool empty, seen_empty, readable;
    const atomic_uint *given; /* orders: how many there were; NULL: no orders */
    uint32_t looked;          /* at so many of these */
};
struct skn_outlet {
    zsock_t *zsock;
    void *socket;
    skn_lot_t *lot; /* that it puts parcels into; NULL: none */
    uint32_t count; /* of its parcels */
};
struct skn_thread {
    zactor_t *zactor; /* NULL: not begun */
    int reserved[2];  /* descriptors for its two sockets, until it begins */
    void (*run)(skn_inbox_t *orders, void *argument);
    void *argument;
    atomic_uint ordered; /* counts the orders, each after it was sent */
};

#define WAIT_INBOXES_MAX 4
#define CACHE_LINE_BYTES 64u
/* Enough for a thread that only waits, on any processor. */
#define TRIAL_STACK_BYTES ((size_t)64 << 10)

_Static_assert(sizeof(skn_parcel_t) <= 24,
               "a ZeroMQ message holds a parcel without an allocation");

/* --- CZMQ's context ------------------------------------------------------- */

/* Our sockets. libzmq counts mailboxes of its own, and the host may have some:
 * SPARE_SOCKETS are left for them. */
static atomic_uint socket_count;
#define SPARE_SOCKETS 64
/* libzmq has 16 bytes for each that there may be. A topology of 1,000 actors
 * in a ring has 7,000. */
#define SOCKETS_MAX 16384

/* Held by a thread from its look for free descriptors or threads until it has
 * used them. */
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

/* The process exits without having ended its topologies. CZMQ then waits 200 ms
 * and closes the pipes of the threads, which must not touch them any more: they
 * stop where they are. The thread that exits goes on. */
static atomic_bool is_exiting;
static pthread_t exiting_thread;

static void
on_exit_of_process(void)
{
    if (atomic_load(&socket_count) == 0)
        return;
    exiting_thread = pthread_self();
    atomic_store(&is_exiting, true);
    zsys_set_logstream(NULL); /* it would complain on standard output */
}

bool
skn_pipes_have_ended(void)
{
    return atomic_load(&is_exiting);
}

static void
stop_at_exit(void)
{
    if (atomic_load_explicit(&is_exiting, memory_order_acquire) &&
        !pthread_equal(exiting_thread, pthread_self()))
        for (;;)
            (void)pause();
}

/* Sets CZMQ up once in a process. A child that fork() made starts with another
 * CZMQ, which has forgotten its settings. */
static void *
context_of_process(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const int signals[] = { SIGINT, SIGTERM };
    static atomic_uint process;
    static bool has_handler;
    struct sigaction before[2], after;
    struct rlimit limit;
    /* Without the lock: another thread may hold it during a fork(). */
    if (atomic_load(&process) == skn_process_mark())
        return zsys_init();
    (void)pthread_mutex_lock(&lock);
    bool is_first = atomic_load(&process) != skn_process_mark();
    for (size_t k = 0; is_first && k < 2; k++)
        (void)sigaction(signals[k], NULL, &before[k]);
    if (is_first)
        zsys_handler_set(NULL);
    void *context = zsys_init();
    if (!has_handler)
        has_handler = atexit(on_exit_of_process) == 0;
    /* Handlers that the host had let CZMQ install are gone now. */
    for (size_t k = 0; is_first && k < 2; k++)
        if (sigaction(signals[k], NULL, &after) == 0 &&
            after.sa_handler != before[k].sa_handler)
            (void)sigaction(signals[k], &before[k], NULL);
    /* Each socket has a descriptor, so that more sockets than those are of no
     * use. Without an effect if the host has opened a socket before. */
    if (is_first && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        int most =
            limit.rlim_cur < SOCKETS_MAX ? (int)limit.rlim_cur : SOCKETS_MAX;
        if (most > zmq_ctx_get(context, ZMQ_MAX_SOCKETS))
            (void)zmq_ctx_set(context, ZMQ_MAX_SOCKETS, most);
        atomic_store(&socket_count, 0);
        (void)pthread_mutex_init(&start_lock, NULL);
        atomic_store(&process, skn_process_mark());
    }
    (void)pthread_mutex_unlock(&lock);
    return context;
}

static skn_status_t
check_room(uint32_t count, uint32_t open, skn_error_t *error)
{
    int most = zmq_ctx_get(context_of_process(), ZMQ_MAX_SOCKETS);
    if ((uint64_t)count + open + SPARE_SOCKETS <= (uint64_t)most)
        return SKN_OK;
    (void)skn_fail(error, SKN_NO_MEMORY,
                   "the topology needs %u sockets, but CZMQ's context has room "
                   "for %d in this process, and %u are open",
                   count, most, open);
    return skn_fail_hint(error, SKN_NO_MEMORY,
                         "raise ulimit -n before the first topology starts, or "
                         "use fewer actors");
}

skn_status_t
skn_pipes_reserve(uint32_t count, skn_error_t *error)
{
    (void)context_of_process(); /* it sets socket_count */
    return check_room(count, atomic_load(&socket_count), error);
}

/* Counts sockets before they are opened, if there is room for them: several
 * topologies may start at once. */
static skn_status_t
count_sockets(uint32_t count, skn_error_t *error)
{
    (void)context_of_process();
    uint32_t open = atomic_load(&socket_count);
    skn_status_t status;
    do
        status = check_room(count, open, error);
    while (status == SKN_OK &&
           !atomic_compare_exchange_weak(&socket_count, &open, open + count));
    return status;
}

/* Reserves `count` descriptors for sockets, and counts those: zsock_new ends
 * the process if it gets no descriptor. */
static skn_status_t
reserve_descriptors(int *reserved, int count, skn_error_t *error)
{
    int opened = 0;
    if (count_sockets((uint32_t)count, error) != SKN_OK)
        return SKN_NO_MEMORY;
    while (opened < count && (reserved[opened] = eventfd(0, EFD_CLOEXEC)) >= 0)
        opened++;
    if (opened == count)
        return SKN_OK;
    skn_status_t status = skn_fail_code(error, SKN_NO_MEMORY, errno, NULL,
                                        "cannot create a ZeroMQ socket");
    while (opened > 0)
        (void)close(reserved[--opened]);
    atomic_fetch_sub(&socket_count, (uint32_t)count);
    return status;
}

void
skn_start_lock(void)
{
    (void)context_of_process(); /* a child of fork() gets a lock of its own */
    (void)pthread_mutex_lock(&start_lock);
}

void
skn_start_unlock(void)
{
    (void)pthread_mutex_unlock(&start_lock);
}

/* The only place where sockets get their options. */
static zsock_t *
socket_open(int type, skn_error_t *error)
{
    int reserved;
    zsock_t *zsock = NULL;
    skn_start_lock();
    if (reserve_descriptors(&reserved, 1, error) == SKN_OK) {
        (void)close(reserved);
        zsock = zsock_new(type);
    }
    skn_start_unlock();
    if (!zsock)
        return NULL;
    zsock_set_unbounded(zsock);
    zsock_set_linger(zsock, 0);
    return zsock;
}

static void
socket_close(zsock_t **zsock)
{
    zsock_destroy(zsock);
    atomic_fetch_sub(&socket_count, 1);
}

/* --- inboxes -------------------------------------------------------------- */

static void
inbox_of(skn_inbox_t *inbox, zsock_t *zsock)
{
    *inbox = (skn_inbox_t){ .zsock = zsock,
                            .socket = zsock_resolve(zsock),
                            .descriptor = zsock_fd(zsock) };
}

skn_inbox_t *
skn_inbox_open(const char *address, skn_error_t *error)
{
    skn_inbox_t *inbox = calloc(1, sizeof(*inbox));
    if (!inbox) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for an inbox");
        return NULL;
    }
    zsock_t *zsock = socket_open(ZMQ_PULL, error);
    if (zsock && TEMP_FAILURE_RETRY(zsock_bind(zsock, "%s", address)) < 0) {
        skn_fail(error, SKN_INTERNAL, "cannot bind %s: %s", address,
                 zmq_strerror(errno));
        socket_close(&zsock);
    }
    if (!zsock) {
        free(inbox);
        return NULL;
    }
    inbox_of(inbox, zsock);
    return inbox;
}

/* Prefetches a message, and its header in front of it, from the sender's
 * core. */
static void
prefetch_message(const void *pointer)
{
    __builtin_prefetch((const void *)((uintptr_t)pointer - CACHE_LINE_BYTES));
    __builtin_prefetch(pointer);
}

/* Takes a parcel of the inbox's lot; false: there is none, and the inbox is
 * done with that lot. */
static bool
take_of_lot(skn_inbox_t *inbox, skn_parcel_t *parcel)
{
    skn_lot_t *lot = inbox->lot;
    uint32_t state = inbox->seen;
    while (inbox->taken == (state & LOT_COUNT)) {
        state = atomic_load_explicit(&lot->state, memory_order_acquire);
        if (inbox->taken < (state & LOT_COUNT))
            break;
        if (inbox->taken == LOT_PARCELS_MAX || (state & LOT_LEFT)) {
            free(lot);
            inbox->lot = NULL;
            return false;
        }
        if (atomic_compare_exchange_strong(&lot->state, &state,
                                           state | LOT_CLOSED)) {
            inbox->lot = NULL;
            return false;
        }
    }
    inbox->seen = state & LOT_COUNT;
    *parcel = lot->parcel[inbox->taken++];
    if (inbox->taken < inbox->seen)
        prefetch_message(lot->parcel[inbox->taken].pointer);
    if (parcel->pointer)
        skn_happens_after(parcel->pointer);
    return true;
}

void
skn_inbox_close(skn_inbox_t **inbox)
{
    skn_parcel_t parcel;
    if (!*inbox)
        return;
    socket_close(&(*inbox)->zsock);
    while ((*inbox)->lot && take_of_lot(*inbox, &parcel))
        ;
    free(*inbox);
    *inbox = NULL;
}

/* Whether nothing came to an inbox of orders since it was found empty: a look
 * costs two system calls, and the loop of an actor looks often. */
static bool
has_no_order(skn_inbox_t *inbox)
{
    if (!inbox->given)
        return false;
    uint32_t given = atomic_load_explicit(inbox->given, memory_order_acquire);
    bool has_none = inbox->empty && !inbox->readable && given == inbox->looked;
    inbox->looked = given;
    inbox->readable = false;
    return has_none;
}

bool
skn_inbox_take(skn_inbox_t *inbox, skn_parcel_t *parcel)
{
    stop_at_exit();
    if (inbox->lot && take_of_lot(inbox, parcel))
        return true;
    if (inbox->seen_empty || has_no_order(inbox)) {
        inbox->seen_empty = false;
        return false;
    }
    int bytes = skn_socket_take(inbox->socket, parcel, sizeof(*parcel));
    inbox->empty = bytes < 0;
    if (bytes < 0)
        return false;
    if (bytes != (int)sizeof(*parcel))
        *parcel = (skn_parcel_t){ .type = SKN_PARCEL_FOREIGN };
    if (parcel->pointer)
        skn_happens_after(parcel->pointer);
    if (parcel->type == SKN_PARCEL_LOT) {
        inbox->lot = parcel->pointer;
        inbox->taken = inbox->seen = 0;
        return take_of_lot(inbox, parcel); /* it has at least one */
    }
    return true;
}

void
skn_inbox_look(skn_inbox_t *inbox)
{
    inbox->seen_empty = false;
}

/* poll, not zmq_poll, which examines every socket before and after: eight
 * system calls for three inboxes, where this makes one. */
void
skn_inbox_wait(skn_inbox_t *const *inboxes, size_t count,
               const struct pollfd *other, int timeout_ms)
{
    struct pollfd items[WAIT_INBOXES_MAX + 1];
    nfds_t item_count = 0;
    assert(count <= WAIT_INBOXES_MAX);
    for (size_t k = 0; k < count; k++) {
        if (!inboxes[k])
            continue;
        if (!inboxes[k]->empty)
            return; /* an inbox is not known to be empty */
        items[item_count++] =
            (struct pollfd){ inboxes[k]->descriptor, POLLIN, 0 };
    }
    if (other)
        items[item_count++] = *other;
    int ready = poll(items, item_count, timeout_ms);
    stop_at_exit();
    if (ready < 0)
        return;
    item_count = 0;
    for (size_t k = 0; k < count; k++)
        if (inboxes[k]) {
            inboxes[k]->readable = items[item_count++].revents != 0;
            inboxes[k]->seen_empty = !inboxes[k]->readable;
        }
}

int
skn_inbox_descriptor(const skn_inbox_t *inbox)
{
    return inbox->descriptor;
}

bool
skn_inbox_is_empty(const skn_inbox_t *inbox)
{
    return inbox->empty;
}

/* --- outlets -------------------------------------------------------------- */

skn_outlet_t *
skn_outlet_open(const char *address, skn_error_t *error)
{
    skn_outlet_t *outlet = calloc(1, sizeof(*outlet));
    if (!outlet) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for an outlet");
        return NULL;
    }
    outlet->zsock = socket_open(ZMQ_PUSH, error);
    if (outlet->zsock &&
        TEMP_FAILURE_RETRY(zsock_connect(outlet->zsock, "%s", address)) < 0) {
        skn_fail(error, SKN_INTERNAL, "cannot connect to %s: %s", address,
                 zmq_strerror(errno));
        socket_close(&outlet->zsock);
    }
    if (!outlet->zsock) {
        free(outlet);
        return NULL;
    }
    outlet->socket = zsock_resolve(outlet->zsock);
    return outlet;
}

/* The outlet puts no more into its lot. */
static void
leave_lot(skn_outlet_t *outlet)
{
    skn_lot_t *lot = outlet->lot;
    outlet->lot = NULL;
    if (lot && (atomic_fetch_or(&lot->state, LOT_LEFT) & LOT_CLOSED))
        free(lot);
}

void
skn_outlet_close(skn_outlet_t **outlet)
{
    if (!*outlet)
        return;
    socket_close(&(*outlet)->zsock);
    leave_lot(*outlet);
    free(*outlet);
    *outlet = NULL;
}

static skn_status_t
send_parcel(const skn_outlet_t *outlet, const skn_parcel_t *parcel,
            skn_error_t *error)
{
    if (TEMP_FAILURE_RETRY(zmq_send(outlet->socket, parcel, sizeof(*parcel),
                                    ZMQ_DONTWAIT)) == sizeof(*parcel))
        return SKN_OK;
    return skn_fail(error, SKN_INTERNAL, "a parcel could not be sent: %s",
                    zmq_strerror(errno));
}

/* Puts a parcel into the lot that the receiver has not closed yet; false: there
 * is none. A lot that was closed is the outlet's again, and empty. */
static bool
put_into_lot(skn_outlet_t *outlet, const skn_parcel_t *parcel)
{
    skn_lot_t *lot = outlet->lot;
    if (!lot)
        return false;
    lot->parcel[outlet->count] = *parcel;
    if (atomic_fetch_add_explicit(&lot->state, 1, memory_order_acq_rel) &
        LOT_CLOSED)
        return false;
    if (++outlet->count == LOT_PARCELS_MAX)
        outlet->lot = NULL; /* the receiver's */
    return true;
}

skn_status_t
skn_outlet_put(skn_outlet_t *outlet, const skn_parcel_t *parcel,
               skn_error_t *error)
{
    stop_at_exit();
    if (parcel->pointer)
        skn_happens_before(parcel->pointer);
    if (put_into_lot(outlet, parcel))
        return SKN_OK;
    skn_lot_t *lot = outlet->lot ? outlet->lot : malloc(sizeof(*lot));
    outlet->lot = NULL;
    if (!lot)
        return send_parcel(outlet, parcel, error);
    lot->parcel[0] = *parcel;
    atomic_store_explicit(&lot->state, 1, memory_order_release);
    skn_happens_before(lot);
    const skn_parcel_t message = { .type = SKN_PARCEL_LOT, .pointer = lot };
    skn_status_t status = send_parcel(outlet, &message, error);
    if (status != SKN_OK) {
        free(lot);
        return status;
    }
    outlet->lot = lot;
    outlet->count = 1;
    return SKN_OK;
}

/* --- threads -------------------------------------------------------------- */

static void
thread_main(zsock_t *pipe, void *argument)
{
    skn_thread_t *thread = argument;
    skn_inbox_t orders;
    inbox_of(&orders, pipe);
    orders.given = &thread->ordered;
    (void)zsock_signal(pipe, 0);
    thread->run(&orders, thread->argument);
    skn_happens_before(thread); /* its end, for skn_thread_end */
}

static void *
wait_for_others(void *argument)
{
    pthread_rwlock_t *all_are_started = argument;
    (void)pthread_rwlock_rdlock(all_are_started);
    (void)pthread_rwlock_unlock(all_are_started);
    return NULL;
}

uint32_t
skn_threads_try(uint32_t count, int *code)
{
    pthread_rwlock_t all_are_started = PTHREAD_RWLOCK_INITIALIZER;
    pthread_attr_t small;
    const pthread_attr_t *stack = &small;
    uint32_t started = 0;
    pthread_t *threads = calloc((size_t)count + 1, sizeof(*threads));
    *code = threads ? 0 : ENOMEM;
    (void)pthread_attr_init(&small);
    (void)pthread_attr_setstacksize(&small, TRIAL_STACK_BYTES);
    (void)pthread_rwlock_wrlock(&all_are_started);
    while (started < count && *code == 0) {
        *code = skn_thread_start(&threads[started], stack, wait_for_others,
                                 &all_are_started);
        started += *code == 0;
        if (*code == EINVAL && stack) { /* the host's thread-local data, which
                                         * is on the stack, does not fit */
            stack = NULL;
            *code = 0;
        }
    }
    (void)pthread_rwlock_unlock(&all_are_started);
    for (uint32_t k = 0; k < started; k++)
        (void)pthread_join(threads[k], NULL);
    (void)pthread_attr_destroy(&small);
    free(threads);
    return started;
}

skn_thread_t *
skn_thread_new(void (*run)(skn_inbox_t *, void *), void *argument,
               skn_error_t *error)
{
    skn_thread_t *thread = calloc(1, sizeof(*thread));
    if (!thread)
        skn_fail(error, SKN_NO_MEMORY, "no memory for a thread");
    if (!thread || reserve_descriptors(thread->reserved, 2, error) != SKN_OK) {
        free(thread);
        return NULL;
    }
    thread->run = run;
    thread->argument = argument;
    return thread;
}

void
skn_thread_begin(skn_thread_t *thread)
{
    sigset_t before;
    skn_thread_mask(&before);
    for (int k = 0; k < 2; k++)
        (void)close(thread->reserved[k]);
    thread->zactor = zactor_new(thread_main, thread);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void
skn_thread_order(skn_thread_t *thread, const skn_parcel_t *parcel)
{
    if (parcel->pointer)
        skn_happens_before(parcel->pointer);
    (void)TEMP_FAILURE_RETRY(zmq_send(zactor_resolve(thread->zactor), parcel,
                                      sizeof(*parcel), ZMQ_DONTWAIT));
    atomic_fetch_add(&thread->ordered, 1);
}

void
skn_thread_end(skn_thread_t **thread)
{
    sigset_t before;
    if (!*thread)
        return;
    if ((*thread)->zactor) {
        skn_thread_mask(&before); /* a signal would end the wait for it */
        zactor_destroy(&(*thread)->zactor);
        skn_happens_after(*thread);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    } else {
        for (int k = 0; k < 2; k++)
            (void)close((*thread)->reserved[k]);
    }
    atomic_fetch_sub(&socket_count, 2);
    free(*thread);
    *thread = NULL;
}
