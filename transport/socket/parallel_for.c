/* parallel_for.c - runs the same work on several threads, for code outside
 * actors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/parallel_for.h"

#include "transport/socket/thread_start.h"

void
skn_parallel_for(uint32_t count, void *(*work)(void *), void *argument,
                 size_t bytes)
{
    pthread_t thread[SKN_PARALLEL_MAX];
    char *own = argument;
    uint32_t started = 0;
    if (count > SKN_PARALLEL_MAX)
        count = SKN_PARALLEL_MAX;
    while (started + 1 < count &&
           skn_thread_start(&thread[started], NULL, work,
                            own + (started + 1) * bytes) == 0)
        started++;
    (void)work(argument);
    for (uint32_t t = 0; t < started; t++)
        (void)pthread_join(thread[t], NULL);
}
