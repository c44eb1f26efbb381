/* canary.h - does the door really keep strangers out?
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_CANARY_H
#define TRANSPORT_SOCKET_CANARY_H

#include "skein/error.h"

/* Dials `address` with a key made for this one try. SKN_OK: it was refused, by
 * an authenticator that said so. SKN_UNAVAILABLE: it was let in, or nobody
 * answered, or something else than keys was amiss. Takes milliseconds, at most
 * 3 seconds. */
skn_status_t skn_canary_try(void *context, const char *address,
                            const char *server_key, skn_error_t *error);

#endif
