/* system_error.c - turns an errno into a status, a sentence and its remedy.
 *
 * This file owns: which errno becomes which status, and what a user can do
 * about it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/system_error.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

skn_status_t
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

const char *
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

skn_status_t
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
