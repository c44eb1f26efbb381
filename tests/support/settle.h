/* settle.h - waits until sockets and threads that were given up are gone.
 *
 * CZMQ closes sockets in a thread of its own, and an actor's thread leaves a
 * moment after it has reported that it does: a count taken at once may be too
 * high.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SETTLE_H
#define TESTS_SUPPORT_SETTLE_H

#include <dirent.h>
#include <poll.h>
#include <stddef.h>

/* How often a count is repeated, a millisecond apart. */
#define SETTLE_LOOKS_MAX 10000

static inline size_t
settle_entries(const char *folder)
{
    DIR *list = opendir(folder);
    size_t count = 0;
    while (list && readdir(list))
        count++;
    if (list)
        (void)closedir(list);
    return count - 2; /* "." and ".." */
}

/* Counts the entries of a folder of /proc until they are at most `wanted`;
 * returns the last count. */
static inline size_t
settle_at_most(const char *folder, size_t wanted)
{
    size_t count = settle_entries(folder);
    for (int k = 0; count > wanted && k < SETTLE_LOOKS_MAX; k++) {
        (void)poll(NULL, 0, 1);
        count = settle_entries(folder);
    }
    return count;
}

/* The count that stays the same for a while. */
static inline size_t
settle_stable(const char *folder)
{
    size_t count = settle_entries(folder);
    for (int same = 0; same < 50; same++) {
        (void)poll(NULL, 0, 1);
        size_t now = settle_entries(folder);
        if (now != count)
            same = 0;
        count = now;
    }
    return count;
}

#define SETTLE_THREADS "/proc/self/task"
#define SETTLE_DESCRIPTORS "/proc/self/fd"

#endif
