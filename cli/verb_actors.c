/* verb_actors.c - skein actors: lists the kinds of actors and their options.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/verbs.h"
#include "skein/config.h"

static int
actors_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    skn_reference_t reference =
        call->json ? SKN_REFERENCE_KINDS_JSON : SKN_REFERENCE_KINDS;
    skn_status_t status = SKN_OK;
    if (call->operand_count == 0)
        status = skn_reference_print(reference, NULL, stdout, &error);
    for (size_t k = 0; k < call->operand_count && status == SKN_OK; k++)
        status =
            skn_reference_print(reference, call->operands[k], stdout, &error);
    return status == SKN_OK ? 0 : cli_report(call, &error);
}

static const cli_option_t options[] = {
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_actors = {
    .name = "actors",
    .help = "list the kinds of actors, or describe one",
    .operands = "[KIND...]",
    .operands_min = 0,
    .operands_max = CLI_VALUES_MAX,
    .options = options,
    .description =
        "Without KIND: one line per kind. With it: its options with type,\n"
        "range and default, and the messages that it handles and sends, with\n"
        "their fields.",
    .run = actors_run,
};
