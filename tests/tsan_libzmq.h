/* tsan_libzmq.h - what the thread sanitizer may pass over: memory that libzmq
 * itself allocates, copies and frees. Debian's libzmq is not instrumented, so
 * that the sanitizer sees its calls of free and memcpy and not its atomics.
 * What parcels point at is not passed over: transport/pipe.c says what happens
 * before what. Included by each stress program that runs actors.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TSAN_LIBZMQ_H
#define TESTS_TSAN_LIBZMQ_H

const char *__tsan_default_suppressions(void);

const char *
__tsan_default_suppressions(void)
{
    return "called_from_lib:libzmq.so.5\n";
}

#endif
