/* address.h - tcp://host:port, read strictly and resolved once.
 *
 * libzmq understands much more than that (interfaces, source addresses, other
 * transports); what stands in a config goes to it only after it came through
 * here.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_ADDRESS_H
#define TRANSPORT_SOCKET_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"

/* "tcp://" + a name of DNS (253) + ":65535", with its NUL. */
#define SKN_ADDRESS_BYTES 272

typedef struct skn_address {
    char text[SKN_ADDRESS_BYTES]; /* for libzmq: with numbers once resolved */
    char host[SKN_ADDRESS_BYTES]; /* without brackets */
    uint16_t port;                /* 0: any free one */
    bool loopback;                /* nobody else can reach it; once resolved */
    bool ipv6;                    /* once resolved */
} skn_address_t;

/* Reads `text`. `any_port`: port 0 and * may stand, for an address that is
 * bound. SKN_BAD_CONFIG with the form that is meant. */
skn_status_t skn_address_read(const char *text, bool any_port,
                              skn_address_t *address, skn_error_t *error);

/* Turns the host into numbers: the name may mean another one tomorrow, and
 * what was checked must be what is used. A name of several addresses is on
 * loopback only if all are, and becomes the first. May ask a name server.
 * SKN_BAD_CONFIG: nobody knows the name. */
skn_status_t skn_address_resolve(skn_address_t *address, skn_error_t *error);

/* Where this machine reaches a resolved address that it has bound: 0.0.0.0
 * and [::] are reached on loopback. `bound` is what libzmq says of it. */
void skn_address_to_dial(const char *bound, char text[SKN_ADDRESS_BYTES]);

#endif
