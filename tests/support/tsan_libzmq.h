/* tsan_libzmq.h - suppresses reports of the thread sanitizer about libzmq:
 * about memory that libzmq itself allocates, copies, decrypts and frees, also
 * through libsodium and the strings of its C++ library (Skein has no C++).
 * Debian's libraries are not instrumented, so that the sanitizer sees their
 * calls of free and memcpy and not libzmq's atomics. Reports about the memory
 * behind parcels are not suppressed: transport/inproc/pipe.c declares its
 * order. Included by each stress program that runs actors.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_TSAN_LIBZMQ_H
#define TESTS_SUPPORT_TSAN_LIBZMQ_H

const char *__tsan_default_suppressions(void);

const char *
__tsan_default_suppressions(void)
{
    return "called_from_lib:libzmq.so.5\n"
           "called_from_lib:libczmq.so.4\n"
           "called_from_lib:libstdc++.so.6\n"
           "called_from_lib:libsodium.so.23\n"
           "called_from_lib:libpgm-5.3.so.0\n";
}

#endif
