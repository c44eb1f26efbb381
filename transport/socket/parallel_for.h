/* parallel_for.h - runs the same work on several threads, for code outside
 * actors.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_PARALLEL_FOR_H
#define TRANSPORT_SOCKET_PARALLEL_FOR_H

#include <stddef.h>
#include <stdint.h>

#define SKN_PARALLEL_MAX 64u

/* Runs `work` on `count` threads, at most SKN_PARALLEL_MAX, one of which is the
 * caller's, and returns when all are done. Thread t gets argument + t * bytes.
 * If fewer threads can be created, the work must be complete without the
 * others. */
void skn_parallel_for(uint32_t count, void *(*work)(void *), void *argument,
                      size_t bytes);

#endif
