/* verb_inspect.c - skein inspect: prints what a run folder holds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/verbs.h"
#include "skein/inspection.h"

static int
inspect_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    skn_inspection_t *inspection =
        skn_inspection_open(call->operands[0], &error);
    const skn_inspection_info_t *info = skn_inspection_info(inspection);
    for (size_t k = 0; info && k < info->warning_count; k++)
        cli_warn(call, info->warnings[k].text, info->warnings[k].hint);
    if (info && info->failure)
        error = *info->failure;
    if (error.status == SKN_OK)
        (void)skn_inspection_print(
            inspection, call->json ? SKN_INSPECTION_JSON : SKN_INSPECTION_TEXT,
            stdout, &error);
    int code = 0;
    if (error.status != SKN_OK)
        code = cli_report(call, &error);
    else if (!call->json && cli_flag(call, "config"))
        (void)printf("config\n%s", info->config);
    if (code == 0 && info->is_damaged)
        code = skn_status_exit_code(SKN_BAD_DATA);
    skn_inspection_close(&inspection);
    return code;
}

static const cli_option_t options[] = {
    { "config", 0, NULL, "also print the config of the run" },
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_inspect = {
    .name = "inspect",
    .help = "show what a run folder, a checkpoint or an exported model holds",
    .operands = "PATH",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description =
        "Reads every byte and compares all hashes: damaged files are listed,\n"
        "and then the exit code is 65. Prints the run, its checkpoints, and\n"
        "of the newest whole one (or the one that PATH is) the tensors with\n"
        "their hashes, weights_sha256, and the history of epochs. Of a run on\n"
        "several nodes each node's folder may have only a part: PATH may be\n"
        "the folder that holds theirs, and then each line names the nodes\n"
        "that have it.",
    .run = inspect_run,
};
