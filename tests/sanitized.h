/* sanitized.h - what a test leaves out where each step takes ten times as long.
 *
 * A sanitizer looks for reads and writes that are wrong in themselves; that
 * every case gives the right numbers is seen without one. Under that of
 * addresses no process can live in a small address space, either: tests of
 * short memory are left out there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SANITIZED_H
#define TESTS_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ADDRESS_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define UNDER_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ADDRESS_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define UNDER_THREAD_SANITIZER 1
#endif
#endif
#if defined(UNDER_ADDRESS_SANITIZER) || defined(UNDER_THREAD_SANITIZER)
#define UNDER_SANITIZER 1
#else
#define UNDER_SANITIZER 0
#endif

/* Case k of many alike: one of five is enough there, the first among them. */
#define SPARED(k) (UNDER_SANITIZER && (k) % 5 != 0)

#endif
