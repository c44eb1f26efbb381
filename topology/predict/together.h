/* together.h - the same work on several threads, for what is no actor.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_TOGETHER_H
#define TOPOLOGY_PREDICT_TOGETHER_H

#include <stddef.h>
#include <stdint.h>

#define SKN_TOGETHER_MAX 64u

/* Runs `work` on `count` threads, at most SKN_TOGETHER_MAX, of which the caller
 * is one, and returns when all are done. Thread t gets argument + t * bytes.
 * Threads that cannot be had are missing: the work must not need them. */
void skn_together(uint32_t count, void *(*work)(void *), void *argument,
                  size_t bytes);

#endif
