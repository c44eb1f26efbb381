/* lsan_libfyaml.h - suppresses one report of the leak sanitizer: libfyaml
 * 0.7.12 itself loses 512 bytes when a quoted text has eight or more quotes in
 * it (an iterator that it does not finish). The unit tests run without this
 * line, and find libfyaml memory that Skein does not free.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_LSAN_LIBFYAML_H
#define TESTS_FUZZ_LSAN_LIBFYAML_H

const char *__lsan_default_suppressions(void);

const char *
__lsan_default_suppressions(void)
{
    return "leak:libfyaml.so\n";
}

#endif
