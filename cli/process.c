/* process.c - clock, signals, exit codes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/process.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>

uint64_t
cli_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

skn_status_t
cli_signals_take(const int *numbers, int *descriptor, skn_error_t *error)
{
    sigset_t set;
    (void)sigemptyset(&set);
    for (; *numbers; numbers++)
        (void)sigaddset(&set, *numbers);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    *descriptor = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return *descriptor >= 0
               ? SKN_OK
               : skn_fail(error, SKN_UNAVAILABLE, "no signal descriptor: %s",
                          strerror(errno));
}

skn_status_t
cli_status_of_code(int code)
{
    for (int k = 1; k < SKN_STATUS_COUNT; k++)
        if (skn_status_exit_code((skn_status_t)k) == code)
            return (skn_status_t)k;
    return SKN_INTERNAL;
}
