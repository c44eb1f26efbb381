/* verb_run.c - skein run: runs any topology file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/follow.h"
#include "cli/base/read_config.h"
#include "cli/base/supervise.h"
#include "cli/base/verbs.h"

/* Several nodes are several processes. */
static skn_status_t
check_node(const cli_call_t *call, const skn_config_info_t *info,
           skn_error_t *error)
{
    if (info->node_count == 0 || cli_value(call, "node"))
        return SKN_OK;
    (void)skn_fail(error, SKN_USAGE,
                   "%s has %u nodes: this process needs to know which "
                   "one it is",
                   call->operands[0], info->node_count);
    return skn_fail_hint(error, SKN_USAGE, "give --node NAME, such as %s",
                         info->nodes[0]);
}

/* The messages of a port are a program's. */
static skn_status_t
refuse_ports(const cli_call_t *call, const skn_config_info_t *info,
             skn_error_t *error)
{
    if (!info->port[0])
        return SKN_OK;
    (void)skn_fail(error, SKN_USAGE,
                   "%s has a port, '%s', whose messages a host program sends "
                   "and takes",
                   call->operands[0], info->port);
    return skn_fail_hint(error, SKN_USAGE,
                         "run it in a program (docs/tasks/ports.md), "
                         "or put actors of a plug-in in its place");
}

static int
run_config(const cli_call_t *call, skn_config_t *config)
{
    skn_error_t error = { 0 };
    const skn_config_info_t info = cli_config_info(config);
    int code = cli_config_report(call, config);
    if (code != 0)
        return code;
    if (refuse_ports(call, &info, &error) != SKN_OK ||
        check_node(call, &info, &error) != SKN_OK)
        return cli_report(call, &error);
    cli_config_warn(call, config);
    skn_topology_t *topology = skn_config_topology(config, &error);
    return topology ? cli_follow(call, &topology, info.node)
                    : cli_report(call, &error);
}

static int
work(const cli_call_t *call, void *job, int attempt)
{
    skn_error_t error = { 0 };
    (void)job, (void)attempt;
    skn_config_t *config =
        cli_config_load(call, 0,
                        (skn_config_options_t){ .sort = SKN_CONFIG_IS_TOPOLOGY,
                                                .starts = true },
                        &error);
    int code = config ? run_config(call, config) : cli_report(call, &error);
    skn_config_destroy(&config);
    return code;
}

static int
run_run(const cli_call_t *call)
{
    /* Standard input cannot be read twice, so there are no restarts. */
    return cli_supervise(call, work, NULL, NULL, NULL);
}

static const cli_option_t options[] = {
    { "node", 0, "NAME", "which node of the topology this process is" },
    CLI_RUN_OPTIONS,
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_run = {
    .name = "run",
    .help = "run a topology file (- for standard input)",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description =
        "Starts every actor of the topology, prints their reports, one JSON\n"
        "object per line, and ends when all actors have ended.",
    .run = run_run,
};
