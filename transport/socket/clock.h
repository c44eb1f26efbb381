/* clock.h - the monotonic clock that the runtime and the links read times from.
 *
 * CLOCK_MONOTONIC: the same for all processes of a machine, and never set back.
 * Any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_CLOCK_H
#define TRANSPORT_SOCKET_CLOCK_H

#include <stdint.h>

#define SKN_SECOND_NS UINT64_C(1000000000)

uint64_t skn_monotonic_ns(void);
uint64_t skn_monotonic_ms(void);

#endif
