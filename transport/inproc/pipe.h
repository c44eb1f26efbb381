/* pipe.h - the sockets that carry parcels between the actors of one process.
 *
 * A parcel is 24 bytes: its type, the slot of the receiver, and a pointer or a
 * number. It fits into a ZeroMQ message without an allocation, so that a
 * payload of any size costs the same. Inboxes are PULL sockets that bind,
 * outlets are PUSH sockets that connect; credits bound what is queued, so that
 * the high-water marks are off.
 *
 * One socket belongs to one thread. Why libzmq and not zsock_t:
 * docs/decisions/0002-context.md.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_INPROC_PIPE_H
#define TRANSPORT_INPROC_PIPE_H

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

/* A ZeroMQ context with room for `socket_count` sockets; inproc sockets leave
 * its I/O thread idle. NULL and a filled `error` when the system refuses. */
void *skn_context_new(uint32_t socket_count, skn_error_t *error);
/* All its sockets must be closed. Sets *context to NULL. */
void skn_context_destroy(void **context);

/* Binds `address` (inproc://...). Freed by skn_inbox_close. */
skn_inbox_t *skn_inbox_open(void *context, const char *address,
                            skn_error_t *error);
/* Parcels that were not taken are lost: take them first. Sets *inbox to
 * NULL. */
void skn_inbox_close(skn_inbox_t **inbox);
/* Takes one parcel if there is one; never waits. */
bool skn_inbox_take(skn_inbox_t *inbox, skn_parcel_t *parcel);

/* Waits until one of `count` (at most 4) inboxes has a parcel, or `descriptor`
 * (-1: none) is readable, at most `timeout_ms` (-1: forever). It returns early
 * when a signal interrupts it, or when skn_inbox_take has not yet found one of
 * the inboxes empty. NULL inboxes are skipped. */
void skn_inbox_wait(skn_inbox_t *const *inboxes, size_t count, int descriptor,
                    int timeout_ms);

/* For a poll() together with other descriptors: readable when a parcel may have
 * arrived, if skn_inbox_is_empty was true before the wait. */
int skn_inbox_descriptor(const skn_inbox_t *inbox);
/* Whether the last skn_inbox_take found nothing. */
bool skn_inbox_is_empty(const skn_inbox_t *inbox);

/* Connects to `address`, which may be bound later. */
skn_outlet_t *skn_outlet_open(void *context, const char *address,
                              skn_error_t *error);
void skn_outlet_close(skn_outlet_t **outlet);
/* Never waits. Fails only when the system is out of memory. */
skn_status_t skn_outlet_put(skn_outlet_t *outlet, const skn_parcel_t *parcel,
                            skn_error_t *error);

#endif
