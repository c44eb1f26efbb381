/* clock.c - reads the monotonic clock.  SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/clock.h"

#include <time.h>

uint64_t
skn_monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SKN_SECOND_NS + (uint64_t)now.tv_nsec;
}

uint64_t
skn_monotonic_ms(void)
{
    return skn_monotonic_ns() / (SKN_SECOND_NS / 1000);
}
