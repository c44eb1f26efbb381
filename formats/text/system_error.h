/* system_error.h - turns an errno into a status, a sentence and its remedy.
 *
 * Whoever calls the system and fails reports it through this file, so that
 * running out of descriptors or memory is never taken for a fault of the file
 * that could not be opened. Any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_SYSTEM_ERROR_H
#define FORMATS_TEXT_SYSTEM_ERROR_H

#include "skein/error.h"

/* The status for `code` (an errno): no permission, no memory, or `otherwise`.
 */
skn_status_t skn_errno_status(int code, skn_status_t otherwise);

/* The remedy for `code`. If it has none of its own: NULL for a lack of memory,
 * which the file does not cause, and `otherwise` (may be NULL) for the rest. */
const char *skn_errno_remedy(int code, const char *otherwise);

/* Fails with "SENTENCE: TEXT OF code", the status of skn_errno_status and the
 * remedy of skn_errno_remedy. */
__attribute__((format(printf, 5, 6))) skn_status_t skn_fail_code(
    skn_error_t *error, skn_status_t otherwise, int code, const char *remedy,
    const char *format, ...);

#endif
