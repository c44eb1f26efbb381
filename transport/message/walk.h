/* walk.h - bounds the size and depth of msgpack before it is parsed.
 *
 * Five bytes can make msgpack-c 4.0.0 reserve 8 GiB, and a long array of nil
 * costs 24 times its size. After this check neither can happen.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_MESSAGE_WALK_H
#define TRANSPORT_MESSAGE_WALK_H

#include <stddef.h>

#include "skein/error.h"

/* SKN_OK if `bytes` hold exactly one msgpack value, with nothing after it: at
 * most SKN_HEADER_BYTES_MAX bytes, SKN_HEADER_DEPTH_MAX arrays or maps nested,
 * SKN_HEADER_NODES_MAX values; every announced count fits into the remaining
 * bytes; no extension types. Else SKN_BAD_MESSAGE, with the offset. No
 * allocation, no recursion; time grows with `byte_count` only. */
skn_status_t skn_walk_check(const void *bytes, size_t byte_count,
                            skn_error_t *error);

#endif
