/* text.h - writes and reads numbers in C form in any locale of the host, and
 * escapes texts.
 *
 * In a program that has called setlocale(), printf() may write 0.5 as "0,5" and
 * strtod() may stop at the point. Skein's output and input are for machines, so
 * that all numbers with a point go through these functions. They change the
 * locale of the calling thread for the length of the call only; any thread may
 * call them, while others call setlocale().
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_TEXT_H
#define SKEIN_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#define SKN_API __attribute__((visibility("default")))

/* Initialises a struct of these headers with zeros, in C and in C++: an error
 * before anything failed, or the end of a table. */
/* clang-format off */
#ifdef __cplusplus
#define SKN_ZERO {}
#else
#define SKN_ZERO { 0 }
#endif
/* clang-format on */

#ifdef __cplusplus
extern "C" {
#endif

/* Like snprintf, vsnprintf, fprintf and vfprintf. */
SKN_API __attribute__((format(printf, 3, 4))) int skn_text_write(
    char *text, size_t text_bytes, const char *format, ...);
SKN_API __attribute__((format(printf, 3, 0))) int skn_text_write_list(
    char *text, size_t text_bytes, const char *format, va_list arguments);
SKN_API __attribute__((format(printf, 2, 3))) int skn_text_print(
    FILE *file, const char *format, ...);
SKN_API __attribute__((format(printf, 2, 0))) int skn_text_print_list(
    FILE *file, const char *format, va_list arguments);

/* Like strtod: the number at the start of `text`; *end (`end` may be NULL) is
 * set to the first byte after it, `text` itself if there is none. */
SKN_API double skn_text_real(const char *text, char **end);

typedef enum skn_text_form {
    SKN_TEXT_LINE, /* one line of a terminal or log: \n, \x1b and so on for
                    * control characters, which a path may have */
    SKN_TEXT_JSON  /* a JSON string with its quotes; U+FFFD for each byte that
                    * is not UTF-8 */
} skn_text_form_t;

/* Prints `text` in that form; write errors show in ferror(file). Nothing for
 * NULL or an unknown form. */
SKN_API void skn_text_escape(skn_text_form_t form, const char *text,
                             FILE *file);

#ifdef __cplusplus
}
#endif

#endif
