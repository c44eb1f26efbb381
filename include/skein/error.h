/* error.h - a status and a sentence: how functions of Skein report errors.
 *
 * The sentence is made where the fact is known: the fault, its place, and the
 * remedy. Every folder may include this header.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_ERROR_H
#define SKEIN_ERROR_H

#include <stdarg.h>
#include <stddef.h>

#include "skein/text.h"

/* S(NAME, exit code of the command line, meaning). The codes are those of
 * sysexits.h, except 79, which is ours: sysexits.h has no code for
 * divergence. */
#define SKN_STATUSES(S)                                                        \
    S(OK, 0, "ok")                                                             \
    S(USAGE, 64, "the command was called wrongly")                             \
    S(BAD_DATA, 65, "a data file or a checkpoint is refused")                  \
    S(NO_INPUT, 66, "an input cannot be opened")                               \
    S(UNAVAILABLE, 69, "a peer or a service is missing")                       \
    S(INTERNAL, 70, "a bug in Skein")                                          \
    S(NO_MEMORY, 71, "the operating system provides no memory or no thread")   \
    S(CANNOT_CREATE, 73, "an output cannot be created")                        \
    S(STORAGE, 74, "reading or writing failed")                                \
    S(BUSY, 75, "another process holds it; try again later")                   \
    S(BAD_MESSAGE, 76, "a message breaks the protocol")                        \
    S(NO_PERMISSION, 77, "permission denied")                                  \
    S(BAD_CONFIG, 78, "a configuration is refused")                            \
    S(DIVERGED, 79, "training diverged: the loss is not a finite number")      \
    S(TOO_SMALL, 64, "the caller's buffer is too small")

typedef enum skn_status {
#define S(name, code, text) SKN_##name,
    SKN_STATUSES(S)
#undef S
    SKN_STATUS_COUNT
} skn_status_t;

#define SKN_ERROR_TEXT_BYTES 512
#define SKN_ERROR_HINT_BYTES 256

/* Caller's memory; SKN_ZERO is "no error". `hint` may be empty: it is the
 * remedy for the user, apart from `text` so that tools can show both. */
typedef struct skn_error {
    skn_status_t status;
    char text[SKN_ERROR_TEXT_BYTES];
    char hint[SKN_ERROR_HINT_BYTES];
} skn_error_t;

/* Makes `error`, which may be uninitialised, "no error", as SKN_ZERO does, but
 * without writing all of it, which takes longer than a small message does. */
static inline void
skn_error_clear(skn_error_t *error)
{
    error->status = SKN_OK;
    error->text[0] = error->hint[0] = '\0';
}

/* The exit code of the command line for `status`. */
static inline int
skn_status_exit_code(skn_status_t status)
{
    static const int codes[] = {
#define S(name, code, text) code,
        SKN_STATUSES(S)
#undef S
    };
    return status < SKN_STATUS_COUNT ? codes[status] : 70;
}

/* The status of a Skein process that ended with `code`, or of an event with
 * that `code`; SKN_INTERNAL if it belongs to no failure. */
static inline skn_status_t
skn_status_of_exit_code(int code)
{
    static const skn_status_t statuses[] = {
#define S(name, code, text) SKN_##name,
        SKN_STATUSES(S)
#undef S
    };
    int at = 1;
    while (at < SKN_STATUS_COUNT && skn_status_exit_code(statuses[at]) != code)
        at++;
    return at < SKN_STATUS_COUNT ? statuses[at] : SKN_INTERNAL;
}

/* The meaning of `status`, in a few words; static storage. */
static inline const char *
skn_status_text(skn_status_t status)
{
    static const char *const texts[] = {
#define S(name, code, text) text,
        SKN_STATUSES(S)
#undef S
    };
    return status < SKN_STATUS_COUNT ? texts[status] : "unknown status";
}

#ifdef __cplusplus
extern "C" {
#endif

/* Writes a sentence as skn_fail() does into `text`, of `text_bytes` (at least
 * 16): control characters as \n, \t, \x1b and so on, since a path or a word of
 * a file may have them and a sentence is one line. If it is too long its middle
 * is left out: its end has the reason. Any thread. */
SKN_API __attribute__((format(printf, 3, 0))) void skn_error_write(
    char *text, size_t text_bytes, const char *format, va_list arguments);

#ifdef __cplusplus
}
#endif

/* Fills `error` (may be NULL), empties its hint, and returns `status`, so that
 * the call is the return statement. */
__attribute__((format(printf, 3, 4))) static inline skn_status_t
skn_fail(skn_error_t *error, skn_status_t status, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        error->status = status;
        error->hint[0] = '\0';
        skn_error_write(error->text, sizeof(error->text), format, arguments);
        va_end(arguments);
    }
    return status;
}

/* Adds the remedy for the user to a filled `error`. Returns its status. */
__attribute__((format(printf, 3, 4))) static inline skn_status_t
skn_fail_hint(skn_error_t *error, skn_status_t status, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        skn_error_write(error->hint, sizeof(error->hint), format, arguments);
        va_end(arguments);
    }
    return status;
}

#endif
