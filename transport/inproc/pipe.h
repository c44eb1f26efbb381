/* pipe.h - the CZMQ sockets and threads by which actors of one process work.
 *
 * A parcel is 24 bytes: its type, the slot of the receiver, and a pointer or a
 * number. It fits into a ZeroMQ message without an allocation, so that a
 * payload of any size costs the same. Inboxes are PULL sockets that bind,
 * outlets are PUSH sockets that connect, all of them zsock_t in CZMQ's context
 * of the process; parcels pass through the ZeroMQ sockets below them, because
 * zmsg and zframe copy. Credits bound what is queued, so that the high-water
 * marks are off. A thread is a zactor_t, whose pipe carries the orders of the
 * thread that made it (docs/decisions/0031-czmq-pipelines.md).
 *
 * One socket belongs to one thread.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_INPROC_PIPE_H
#define TRANSPORT_INPROC_PIPE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

/* Longest address of an inbox, with its NUL. */
#define SKN_INBOX_ADDRESS_BYTES 128

typedef struct skn_parcel {
    uint32_t type; /* defined by the runtime */
    uint32_t slot;
    uint64_t number;
    void *pointer; /* the receiver owns it */
} skn_parcel_t;

typedef struct skn_inbox skn_inbox_t;
typedef struct skn_outlet skn_outlet_t;

/* Prepares CZMQ for `count` more sockets, before they are opened. CZMQ leaves
 * the process's signals alone from then on; handlers of SIGINT and SIGTERM that
 * the host has installed, by CZMQ or by itself, stay. SKN_NO_MEMORY if CZMQ's
 * context cannot hold so many. Any thread. */
skn_status_t skn_pipes_reserve(uint32_t count, skn_error_t *error);

/* Whether the process exits although sockets are open: they are not to be
 * touched any more, and all threads but the one that exits have stopped. */
bool skn_pipes_have_ended(void);

/* Binds `address` (inproc://...). Freed by skn_inbox_close. */
skn_inbox_t *skn_inbox_open(const char *address, skn_error_t *error);
/* Parcels that were not taken are lost: take them first. Sets *inbox to
 * NULL. */
void skn_inbox_close(skn_inbox_t **inbox);
/* Takes one parcel if there is one; never waits. The first call after a wait
 * that saw nothing in this inbox does not look again. */
bool skn_inbox_take(skn_inbox_t *inbox, skn_parcel_t *parcel);

/* The next take looks, whatever the last wait saw. */
void skn_inbox_look(skn_inbox_t *inbox);

/* Waits until one of `count` (at most 4) inboxes has a parcel, or `other`
 * (NULL: none) has an event, at most `timeout_ms` (-1: forever). It returns
 * early when a signal interrupts it, or when skn_inbox_take has not yet found
 * one of the inboxes empty. NULL inboxes are skipped. */
void skn_inbox_wait(skn_inbox_t *const *inboxes, size_t count,
                    const struct pollfd *other, int timeout_ms);

/* For a poll() together with other descriptors: readable when a parcel may have
 * arrived, if skn_inbox_is_empty was true before the wait. */
int skn_inbox_descriptor(const skn_inbox_t *inbox);
/* Whether the last skn_inbox_take found nothing. */
bool skn_inbox_is_empty(const skn_inbox_t *inbox);

/* Connects to `address`, which may be bound later. */
skn_outlet_t *skn_outlet_open(const char *address, skn_error_t *error);
void skn_outlet_close(skn_outlet_t **outlet);
/* Never waits. Fails only when the system is out of memory. */
skn_status_t skn_outlet_put(skn_outlet_t *outlet, const skn_parcel_t *parcel,
                            skn_error_t *error);

/* The type of a parcel that stands for any other message: CZMQ's "$TERM", by
 * which zactor_destroy asks a thread to return. */
#define SKN_PARCEL_FOREIGN UINT32_MAX
/* The type of a parcel that stands for several; pipe.c alone sees it. */
#define SKN_PARCEL_LOT (UINT32_MAX - 1)

typedef struct skn_thread skn_thread_t;

/* Between these, no other thread opens inboxes and outlets or is between them:
 * what skn_threads_try and skn_thread_new find is there for skn_thread_begin,
 * which other threads may call meanwhile. */
void skn_start_lock(void);
void skn_start_unlock(void);

/* Starts `count` threads that do nothing, all of which exist at one moment, and
 * ends them: the system then most likely grants that many. Returns how many it
 * granted, and sets *code to the errno of the first refusal, or 0. */
uint32_t skn_threads_try(uint32_t count, int *code);

/* Makes a thread for `run(orders, argument)`, and reserves the descriptors that
 * it needs. NULL: SKN_NO_MEMORY, also if there are no descriptors. */
skn_thread_t *skn_thread_new(void (*run)(skn_inbox_t *orders, void *argument),
                             void *argument, skn_error_t *error);
/* Starts the thread; `orders` lives until `run` returns. The thread leaves
 * signals to the host's threads (thread_start.h). Any thread may call this, for
 * one thread each. If the system refuses the thread, CZMQ waits for it for
 * ever: call skn_threads_try before. */
void skn_thread_begin(skn_thread_t *thread);
/* Sends a parcel to the thread's `orders`, or nothing if a thousand wait there
 * already. The thread has begun. One caller at a time. */
void skn_thread_order(skn_thread_t *thread, const skn_parcel_t *parcel);
/* Sends "$TERM", unless `run` has returned, waits until it has, and frees. Sets
 * *thread to NULL, which it may be already. */
void skn_thread_end(skn_thread_t **thread);

#endif
