/* process_mark.h - a number that tells a process from the children that fork()
 * makes of it, without a system call.
 *
 * A child has its parent's handles and none of its threads, so that a lock in a
 * handle may stay locked for ever. All functions may be called by any thread
 * and in a signal handler.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_PROCESS_MARK_H
#define TRANSPORT_SOCKET_PROCESS_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"

/* The number of this process, never 0. It differs from the numbers of all
 * ancestors that called this. */
uint32_t skn_process_mark(void);
/* Whether `mark` is the number of an ancestor; false for 0, the mark of a
 * handle that no process owns yet. */
bool skn_process_is_other(uint32_t mark);
/* SKN_USAGE if it is; the message says that `function` was called with `noun`,
 * such as "the port". */
skn_status_t skn_process_check(uint32_t mark, const char *function,
                               const char *noun, skn_error_t *error);

#endif
