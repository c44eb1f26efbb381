/* sanitized.h - decides which of many similar cases a test runs, by sanitizer
 * and by `SKEIN_TESTS`.
 *
 * A sanitizer finds invalid reads and writes; runs without one check that every
 * case gives the right numbers. Under the address sanitizer no process can run
 * in a small address space, either: tests of short memory are left out there.
 * Otherwise `make test-all` and the nightly run have every case
 * (SKEIN_TESTS=all, which tests/run.sh sets), and `make test` has some.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SANITIZED_H
#define TESTS_SUPPORT_SANITIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

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

/* Whether case k of many alike is left out: under a sanitizer one of five is
 * enough, in `make test` one of three; the first is always among them. */
static inline bool
is_spared(size_t k)
{
    return UNDER_SANITIZER ? k % 5 != 0 : k % 3 != 0 && !getenv("SKEIN_TESTS");
}

#endif
