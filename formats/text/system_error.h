/* system_error.h - turns an errno into a status, a sentence and its remedy.
 *
 * Whoever calls the system and fails reports it through this file, so that
 * running out of descriptors or memory is never taken for a fault of the file
 * that could not be opened. The functions are inline: the command has them,
 * too, which calls nothing of the library but what its headers declare. Any
 * thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_SYSTEM_ERROR_H
#define FORMATS_TEXT_SYSTEM_ERROR_H

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "skein/error.h"

/* The status for `code` (an errno): no permission, no memory, or `otherwise`.
 */
static inline skn_status_t
skn_errno_status(int code, skn_status_t otherwise)
{
    switch (code) {
    case EACCES:
    case EPERM:
    case EROFS:
        return SKN_NO_PERMISSION;
    case ENOMEM: /* a lack of resources here does not depend on the file */
    case EMFILE:
    case ENFILE:
        return SKN_NO_MEMORY;
    default:
        return otherwise;
    }
}

/* The remedy for `code`. If it has none of its own: NULL for a lack of memory,
 * which the file does not cause, and `otherwise` (may be NULL) for the rest. */
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

/* Fails with "SENTENCE: TEXT OF code", the status of skn_errno_status and the
 * remedy of skn_errno_remedy. */
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
