/* member_end.h - the last event and the exit code of `skein member`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_MEMBER_MEMBER_END_H
#define CLI_MEMBER_MEMBER_END_H

#include "cli/base/stop.h"
#include "cli/base/verb.h"

/* Why a `dismiss` with that `how` ends a member that did not ask to leave:
 * "stopped" or "failed" if the run was, "sent" if it continues without this
 * member. */
const char *cli_member_reason(const char *how);

/* Prints the error if `error` has a status, then the event `over` (the run is
 * done) or `left` with `reason`. Returns the exit code, which depends on the
 * signals that `stop` has seen. */
int cli_member_end(const cli_call_t *call, bool done, const char *reason,
                   const cli_stop_t *stop, const skn_error_t *error);

#endif
