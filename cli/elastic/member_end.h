/* member_end.h - the last words of `skein member`, and its exit code.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_MEMBER_END_H
#define CLI_ELASTIC_MEMBER_END_H

#include <jansson.h>

#include "cli/base/stop.h"
#include "cli/base/verb.h"

/* Why a member that did not ask to leave is sent away by a "bye": "stopped" or
 * "failed" is the run; "sent": it goes on without this member. */
const char *cli_member_reason(const json_t *bye);

/* Tells the event `over` (the run is done) or `left` with `reason`, after what
 * failed if `error` has a status. Returns the exit code, which depends on what
 * `stop` has seen. */
int cli_member_end(const cli_call_t *call, bool done, const char *reason,
                   const cli_stop_t *stop, const skn_error_t *error);

#endif
