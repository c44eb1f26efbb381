/* read_config.c - reads the config of a command line, and reports its
 * problems.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/read_config.h"

skn_config_t *
cli_config_load(const cli_call_t *call, size_t operand,
                skn_config_options_t how, skn_error_t *error)
{
    const char *overrides[2 * CLI_VALUES_MAX];
    size_t count = cli_overrides(call, overrides);
    for (uint32_t k = 0; k < how.override_count && k < CLI_VALUES_MAX; k++)
        overrides[count++] = how.overrides[k];
    how.struct_bytes = sizeof(how);
    how.override_count = (uint32_t)count;
    how.overrides = overrides;
    how.node = cli_value(call, "node");
    return skn_config_load(call->operands[operand], &how, error);
}

/* Whether the problems are faults of a file, which have their lines, and not
 * of what it needs. */
static bool
is_of_file(skn_config_t *config, const skn_config_problem_t *first)
{
    return first->status == SKN_BAD_CONFIG ||
           cli_config_info(config).sort == SKN_CONFIG_REFUSED;
}

int
cli_config_report(const cli_call_t *call, skn_config_t *config)
{
    const skn_config_problem_t *problem = skn_config_problem(config, 0);
    if (!problem)
        return 0;
    int code = skn_status_exit_code(problem->status);
    (void)fflush(stdout);
    if (is_of_file(config, problem)) {
        (void)skn_config_print(config, SKN_CONFIG_PROBLEMS, stderr, NULL);
        if (call->json)
            (void)skn_config_print(config, SKN_CONFIG_PROBLEM_EVENTS, stdout,
                                   NULL);
        (void)fflush(stdout);
        return code;
    }
    for (size_t k = 0; (problem = skn_config_problem(config, k)); k++) {
        char text[CLI_PROBLEM_BYTES];
        skn_error_t error;
        (void)skn_fail(&error, problem->status, "%s",
                       cli_problem_text(problem, text));
        (void)skn_fail_hint(&error, problem->status, "%s", problem->hint);
        (void)cli_report(call, &error);
    }
    return code;
}

void
cli_config_warn(const cli_call_t *call, skn_config_t *config)
{
    const skn_config_problem_t *warning;
    for (size_t k = 0; (warning = skn_config_warning(config, k)); k++)
        cli_warn_at(call, warning);
}

skn_config_info_t
cli_config_info(skn_config_t *config)
{
    skn_config_info_t info = { .struct_bytes = sizeof(info) };
    (void)skn_config_info(config, &info, NULL);
    return info;
}

const char *
cli_config_value(skn_config_t *config, const char *key)
{
    const char *value = skn_config_value(config, key);
    return value ? value : "";
}

const char *
cli_config_ssh(skn_config_t *config, const char *name)
{
    char key[SKN_NAME_MAX + 16];
    (void)snprintf(key, sizeof(key), "nodes.%.*s.ssh", (int)SKN_NAME_MAX, name);
    return cli_config_value(config, key);
}
