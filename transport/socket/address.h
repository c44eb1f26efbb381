/* address.h - parses addresses tcp://host:port strictly and resolves them once.
 *
 * libzmq understands much more than that (interfaces, source addresses, other
 * transports); an address from a config reaches it only after it was parsed
 * here.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_ADDRESS_H
#define TRANSPORT_SOCKET_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"

/* "tcp://" + a name of DNS (253) + ":65535", with its NUL. */
#define SKN_ADDRESS_BYTES 272

typedef struct skn_address {
    char text[SKN_ADDRESS_BYTES]; /* for libzmq: numeric once resolved */
    char host[SKN_ADDRESS_BYTES]; /* without brackets */
    uint16_t port;                /* 0: any free port */
    bool loopback; /* not reachable from outside; once resolved */
    bool ipv6;     /* once resolved */
} skn_address_t;

/* Parses `text`. `any_port`: port 0 and * are allowed, for an address that is
 * bound. SKN_BAD_CONFIG, with the form that is expected. */
skn_status_t skn_address_read(const char *text, bool any_port,
                              skn_address_t *address, skn_error_t *error);

/* Turns the host into numbers: the name may resolve differently tomorrow, and
 * the address that was checked must be the one that is used. A name with
 * several addresses is on loopback only if all are, and becomes the first of
 * them. May ask a name server. SKN_BAD_CONFIG: the name cannot be resolved. */
skn_status_t skn_address_resolve(skn_address_t *address, skn_error_t *error);

/* The address at which this machine reaches a resolved address that it has
 * bound: 0.0.0.0 and [::] are reached on loopback. `bound` is the address that
 * libzmq reports. */
void skn_address_to_dial(const char *bound, char text[SKN_ADDRESS_BYTES]);

#endif
