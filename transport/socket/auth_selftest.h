/* auth_selftest.h - tests, by connecting to ourselves, that unknown keys are
 * refused.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_AUTH_SELFTEST_H
#define TRANSPORT_SOCKET_AUTH_SELFTEST_H

#include "skein/error.h"

/* Connects to `address` with a key made for this one test. SKN_OK: it was
 * refused, by an authenticator that reported so. SKN_UNAVAILABLE: it was
 * admitted, or there was no answer, or something other than keys failed. Takes
 * milliseconds, at most 3 seconds. */
skn_status_t skn_auth_selftest(void *context, const char *address,
                               const char *server_key, skn_error_t *error);

#endif
