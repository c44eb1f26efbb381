/* verb_plan.c - skein plan: prints the topology that a model file becomes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/read_config.h"
#include "cli/base/verbs.h"

static int
plan(const cli_call_t *call, skn_config_t *config)
{
    skn_error_t error = { 0 };
    if (skn_config_plan(config, &error) != SKN_OK)
        return cli_config_report(call, config);
    cli_config_warn(call, config);
    skn_config_part_t part =
        cli_flag(call, "model") ? SKN_CONFIG_MODEL : SKN_CONFIG_TOPOLOGY;
    return skn_config_print(config, part, stdout, &error) == SKN_OK
               ? 0
               : cli_report(call, &error);
}

static int
plan_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    skn_config_t *config = cli_config_load(
        call, 0, (skn_config_options_t){ .sort = SKN_CONFIG_IS_MODEL }, &error);
    int code = config ? plan(call, config) : cli_report(call, &error);
    skn_config_destroy(&config);
    return code;
}

static const cli_option_t options[] = {
    CLI_MODEL_OPTIONS,
    { "model", 0, NULL, "print the model file with every value instead" },
    CLI_DOCUMENT_OPTIONS,
    { 0 },
};

const cli_verb_t cli_plan = {
    .name = "plan",
    .help = "print the topology that a model file becomes",
    .operands = "FILE...",
    .operands_min = 1,
    .operands_max = 1,
    .several = 1,
    .options = options,
    .description =
        "Decides everything that the model file leaves open and prints every\n"
        "actor and pipe as a topology file, which `skein run` runs as it is:\n"
        "`skein plan FILE | skein run -` trains what `skein train FILE` does,\n"
        "without the ensemble and the ranker that it may add. With --model, a\n"
        "comment gives the reason for each value that was auto; what is\n"
        "still auto is decided by the run, or has no effect.\n"
        "For several nodes, comments at its head forecast what each node\n"
        "holds, bytes and seconds per batch, and the bottleneck; if one node\n"
        "alone should be faster, they say `use one node`.",
    .run = plan_run,
};
