/* clock.h - reads the monotonic clock of the runtime and the links.
 *
 * CLOCK_MONOTONIC: the same for all processes of a machine, and never set back.
 * Any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_CLOCK_H
#define TRANSPORT_SOCKET_CLOCK_H

#include <stdint.h>
#include <time.h>

#define SKN_SECOND_NS UINT64_C(1000000000)

static inline uint64_t
skn_monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SKN_SECOND_NS + (uint64_t)now.tv_nsec;
}

static inline uint64_t
skn_monotonic_ms(void)
{
    return skn_monotonic_ns() / (SKN_SECOND_NS / 1000);
}

#endif
