/* verb_run.c - skein run: runs any topology file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/base/follow.h"
#include "cli/base/supervise.h"
#include "cli/base/verbs.h"
#include "topology/run/shortfall.h"

/* Finds the node of the topology that this process is. */
static skn_status_t
find_node(const cli_call_t *call, const skn_topology_t *topology,
          uint32_t *node, skn_error_t *error)
{
    const skn_wiring_t *wiring = skn_spec_wiring(skn_topology_spec(topology));
    const char *name = cli_value(call, "node");
    skn_status_t status;
    if (wiring->node_count == 0 && !name)
        return SKN_OK;
    for (*node = 0; name && *node < wiring->node_count; ++*node)
        if (strcmp(wiring->nodes[*node].name, name) == 0)
            return SKN_OK;
    if (name)
        status = skn_fail(error, SKN_USAGE, "%s has no node '%.64s'",
                          call->operands[0], name);
    else
        status = skn_fail(error, SKN_USAGE,
                          "%s has %u nodes: this process needs to know which "
                          "one it is",
                          call->operands[0], wiring->node_count);
    return skn_fail_hint(error, status, "give --node NAME%s%s",
                         wiring->node_count > 0 ? ", such as " : "",
                         wiring->node_count > 0 ? wiring->nodes[0].name : "");
}

/* The messages of a port are a program's. */
static skn_status_t
refuse_ports(const cli_call_t *call, const skn_topology_t *topology,
             skn_error_t *error)
{
    const skn_wiring_t *wiring = skn_spec_wiring(skn_topology_spec(topology));
    for (uint32_t k = 0; k < wiring->actor_count; k++)
        if (strcmp(wiring->actors[k].kind->name, "port") == 0) {
            skn_fail(error, SKN_USAGE,
                     "%s has a port, '%s', whose messages a host program sends "
                     "and takes",
                     call->operands[0], wiring->actors[k].name);
            return skn_fail_hint(error, SKN_USAGE,
                                 "run it in a program (docs/tasks/ports.md), "
                                 "or put actors of a plug-in in its place");
        }
    return SKN_OK;
}

static int
follow(const cli_call_t *call, skn_topology_t *topology)
{
    skn_error_t error = { 0 };
    uint32_t node = 0;
    if (refuse_ports(call, topology, &error) != SKN_OK ||
        find_node(call, topology, &node, &error) != SKN_OK) {
        skn_topology_destroy(&topology);
        return cli_report(call, &error);
    }
    const skn_wiring_t *wiring = skn_spec_wiring(skn_topology_spec(topology));
    skn_shortfall_quota(
        "", skn_shortfall_units(wiring, node),
        "put the actors of the file on as many cores as that, at most ",
        cli_warn_to, call);
    return cli_follow(call, &topology, node);
}

static int
work(const cli_call_t *call, void *job, int attempt)
{
    skn_error_t error = { 0 };
    skn_problems_t *problems = skn_problems_new(&error);
    int code;
    (void)job, (void)attempt;
    if (!problems)
        return cli_report(call, &error);
    skn_topology_t *topology =
        skn_topology_load(call->operands[0], problems, &error);
    if (topology)
        code = follow(call, topology);
    else if (skn_problems_count(problems) > 0)
        code = cli_report_problems(call, problems);
    else
        code = cli_report(call, &error);
    skn_problems_destroy(&problems);
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
