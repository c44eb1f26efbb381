/* process_mark.h - a number that tells a process from the children that fork()
 * makes of it, without a system call.
 *
 * A child has the handles of its parent and none of its threads, and the locks
 * in them may be held for ever.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_PROCESS_MARK_H
#define TRANSPORT_SOCKET_PROCESS_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"

/* The number of this process, never 0. No ancestor of it that called this has
 * the same one. All three may be called by any thread and in a signal
 * handler. */
uint32_t skn_process_mark(void);
/* Whether `mark` is of an ancestor; false for 0, which is of none yet. */
bool skn_process_is_other(uint32_t mark);
/* SKN_USAGE if it is: `function` was called with `noun` ("the port"). */
skn_status_t skn_process_check(uint32_t mark, const char *function,
                               const char *noun, skn_error_t *error);

#endif
