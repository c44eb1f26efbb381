/* verb_check.c - skein check: validates a model or topology file, and its data.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "cli/base/read_config.h"
#include "cli/base/verbs.h"

static const char *
plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static void
print_ok(const cli_call_t *call, const skn_config_info_t *info)
{
    bool is_model = info->sort == SKN_CONFIG_IS_MODEL;
    const char *path = call->operands[0];
    if (!call->json) {
        (void)fputs("ok: ", stdout);
        cli_print_paths(path);
    }
    if (!call->json && is_model) {
        (void)printf(" %s a model of %u layer%s\n",
                     strchr(path, '\n') ? "are" : "is", info->layer_count,
                     plural(info->layer_count));
    } else if (!call->json) {
        (void)printf(" is a topology of %u actor%s and %u pipe%s\n",
                     info->actor_count, plural(info->actor_count),
                     info->pipe_count, plural(info->pipe_count));
    } else {
        (void)fputs("{\"event\":\"ok\",\"file\":", stdout);
        cli_json_string(path, stdout);
        (void)printf(",\"sort\":\"%s\",\"name\":",
                     is_model ? "model" : "topology");
        cli_json_string(info->name, stdout);
        if (is_model)
            (void)printf(",\"layers\":%u}\n", info->layer_count);
        else
            (void)printf(",\"actors\":%u,\"pipes\":%u}\n", info->actor_count,
                         info->pipe_count);
    }
}

static void
print_data(const cli_call_t *call, const skn_config_info_t *info)
{
    (void)printf(
        call->json ? "{\"event\":\"data\",\"train_points\":%" PRIu64
                     ",\"validate_points\":%" PRIu64 ",\"test_points\":%" PRIu64
                     ",\"features\":%" PRIu32 ",\"labels\":%" PRIu32 "}\n"
                   : "data: %" PRIu64 " training points, %" PRIu64
                     " validation points, %" PRIu64 " test points, %" PRIu32
                     " features, %" PRIu32 " labels\n",
        info->train_points, info->validate_points, info->test_points,
        info->features, info->labels);
}

static int
check(const cli_call_t *call, skn_config_t *config)
{
    skn_error_t error = { 0 };
    skn_config_info_t info = cli_config_info(config);
    int code = cli_config_report(call, config);
    if (code != 0)
        return code;
    if (cli_flag(call, "data") && info.sort == SKN_CONFIG_IS_TOPOLOGY) {
        (void)skn_fail(&error, SKN_USAGE,
                       "--data is for model files, and %.300s is a topology",
                       call->operands[0]);
        return cli_report(call, &error);
    }
    print_ok(call, &info);
    if (cli_flag(call, "data"))
        (void)skn_config_plan(config, &error);
    info = cli_config_info(config);
    if (info.has_data)
        print_data(call, &info);
    cli_config_warn(call, config);
    return cli_config_report(call, config);
}

static int
check_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    skn_config_t *config = cli_config_load(
        call, 0, (skn_config_options_t){ .plugins = true }, &error);
    int code = config ? check(call, config) : cli_report(call, &error);
    skn_config_destroy(&config);
    return code;
}

static const cli_option_t options[] = {
    CLI_MODEL_OPTIONS,
    { "data", 0, NULL, "read the data files, too" },
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_check = {
    .name = "check",
    .help = "look for mistakes in a model or topology file",
    .operands = "FILE...",
    .operands_min = 1,
    .operands_max = 1,
    .several = 1,
    .options = options,
    .description =
        "Reads the file, and starts nothing. All mistakes are printed at\n"
        "once, each with its line and column, and the exit code is 78. Where\n"
        "the file asks for more than this machine has, a warning says so.\n"
        "Data files are opened with --data alone: each line is read as `skein\n"
        "train` would, the first mistake of each file is printed, and the\n"
        "exit code is 65, or 66 for a file that is missing. The cache that\n"
        "data.cache asks for is written, so that the run need not read them\n"
        "again. A run that this machine has no room for is an error, too.",
    .run = check_run,
};
