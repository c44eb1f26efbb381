/* clock_jump.c - a preloaded library that makes a program's wall clock jump.
 *
 * For LD_PRELOAD: from the program's start on, and then every 50 ms by the
 * monotonic clock, the wall clock that the program sees jumps: an hour ahead,
 * an hour back, to 1970, to 2100. The monotonic clocks are not changed, as on a
 * system whose time is set. $SKEIN_CLOCK_READS (a file) gets a byte for each
 * reading of the wall clock, so that a test knows whether it is read.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define HOUR_S 3600
#define EACH_NS 50000000

/* By the kernel, not by libc: that is what is replaced here. */
static void
ask(clockid_t clock, struct timespec *now)
{
    (void)syscall(SYS_clock_gettime, clock, now);
}

static void
jump(struct timespec *now)
{
    struct timespec steady;
    const char *path = getenv("SKEIN_CLOCK_READS");
    ask(CLOCK_MONOTONIC, &steady);
    switch (steady.tv_nsec / EACH_NS % 4) {
    case 0:
        now->tv_sec += HOUR_S;
        break;
    case 1:
        now->tv_sec -= HOUR_S;
        break;
    case 2:
        now->tv_sec = steady.tv_sec;
        break;
    default:
        now->tv_sec = 4102444800;
        break;
    }
    int file =
        path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file >= 0) {
        ssize_t written = write(file, ".", 1);
        (void)written;
        (void)close(file);
    }
}

EXPORT int
clock_gettime(clockid_t clock, struct timespec *now)
{
    ask(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        jump(now);
    return 0;
}

EXPORT int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec fine;
    (void)zone;
    ask(CLOCK_REALTIME, &fine);
    jump(&fine);
    now->tv_sec = fine.tv_sec;
    now->tv_usec = fine.tv_nsec / 1000;
    return 0;
}

EXPORT time_t
time(time_t *seconds)
{
    struct timespec now;
    ask(CLOCK_REALTIME, &now);
    jump(&now);
    if (seconds)
        *seconds = now.tv_sec;
    return now.tv_sec;
}
