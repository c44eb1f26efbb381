/* thread_order.h - declares to a thread sanitizer what happens before what.
 *
 * Putting a parcel happens before taking it, and the last use of a payload
 * before its reuse: libzmq's queues and our atomics ensure this. The sanitizer
 * of a host cannot see into libraries that were built without it, so these
 * functions declare the order, for the memory at `at` and for nothing else. The
 * names are weak: only a program that was built with the sanitizer has them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_MESSAGE_THREAD_ORDER_H
#define TRANSPORT_MESSAGE_THREAD_ORDER_H

#include <stdint.h>

/* As in sanitizer/tsan_interface.h, but weak. */
extern void __tsan_release(void *at) __attribute__((weak));
extern void __tsan_acquire(void *at) __attribute__((weak));

static inline void
skn_happens_before(const void *at)
{
    if (__tsan_release)
        __tsan_release((void *)(uintptr_t)at);
}

static inline void
skn_happens_after(const void *at)
{
    if (__tsan_acquire)
        __tsan_acquire((void *)(uintptr_t)at);
}

#endif
