/* system_error.h - turns an errno into a status, a sentence and its remedy.
 *
 * Code that reports a failed system call uses this file, so that a lack of
 * descriptors or memory is never blamed on the file that could not be opened.
 * The functions are inline because the command, which calls no function of the
 * library that its public headers do not declare, needs them, too. Any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_SYSTEM_ERROR_H
#define FORMATS_TEXT_SYSTEM_ERROR_H

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "skein/error.h"

/* The status for `code`, an errno: SKN_NO_PERMISSION, SKN_NO_MEMORY or
 * `otherwise`. */
static inline skn_status_t
skn_errno_status(int code, skn_status_t otherwise)
{
    switch (code) {
    case EACCES:
    case EPERM:
    case EROFS:
        return SKN_NO_PERMISSION;
    case ENOMEM: /* the process lacks something, whatever the file */
    case EMFILE:
    case ENFILE:
        return SKN_NO_MEMORY;
    default:
        return otherwise;
    }
}

/* The remedy for `code`. A lack of memory has none (NULL), because the file is
 * not its cause; other codes without a remedy of their own have `otherwise`,
 * which may be NULL. */
static inline const char *
skn_errno_remedy(int code, const char *otherwise)
{
    switch (code) {
    case ENOSPC:
    case EDQUOT:
        return "free some space, or choose another disk";
    case EFBIG:
        return "raise the limit on file sizes (ulimit -f)";
    case ENAMETOOLONG:
        return "choose shorter names";
    case EMFILE:
        return "raise the limit on open files (ulimit -n)";
    case ENFILE:
        return "raise the system's limit on open files (fs.file-max)";
    case ENOMEM:
        return NULL;
    default:
        return otherwise;
    }
}

/* Fails with the text "SENTENCE: TEXT OF code", the status
 * skn_errno_status(code, otherwise), and the hint skn_errno_remedy(code,
 * remedy). `format` makes the sentence. `error` may be NULL. */
__attribute__((format(printf, 5, 6))) static inline skn_status_t
skn_fail_code(skn_error_t *error, skn_status_t otherwise, int code,
              const char *remedy, const char *format, ...)
{
    skn_status_t status = skn_errno_status(code, otherwise);
    char sentence[PATH_MAX + SKN_ERROR_TEXT_BYTES];
    const char *hint = skn_errno_remedy(code, remedy);
    va_list arguments;
    if (!error)
        return status;
    va_start(arguments, format);
    skn_error_write(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    (void)skn_fail(error, status, "%s: %s", sentence, strerror(code));
    return hint ? skn_fail_hint(error, status, "%s", hint) : status;
}

#endif
