/* member_end.c - the last event and the exit code of `skein member`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/member/member_end.h"

#include <string.h>

#include "cli/base/resume_command.h"
#include "cli/base/events.h"

const char *
cli_member_reason(const char *how)
{
    return strcmp(how, "stopped") == 0  ? "stopped"
           : strcmp(how, "failed") == 0 ? "failed"
                                        : "sent";
}

int
cli_member_end(const cli_call_t *call, bool done, const char *reason,
               const cli_stop_t *stop, const skn_error_t *error)
{
    bool failed = error->status != SKN_OK;
    int code = failed ? cli_report(call, error) : 0;
    bool over = done && !failed;
    if (call->json && over)
        cli_event_put(
            json_pack("{ss ss}", "event", "over", "node", call->operands[0]));
    else if (call->json)
        cli_event_put(json_pack("{ss ss ss}", "event", "left", "node",
                                call->operands[0], "reason",
                                failed ? "failed" : reason));
    else if (!over && !failed)
        cli_resume_command_print(call, "to take part again:", NULL);
    return over ? 0 : cli_stop_code(stop, cli_requeue(call, code, true));
}
