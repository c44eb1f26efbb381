/* run.c - skein run: any topology file.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/follow.h"
#include "cli/supervise.h"
#include "cli/verbs.h"

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
        code = cli_follow(call, &topology, NULL);
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
    /* Standard input cannot be read a second time: no restarts. */
    return cli_supervise(call, work, NULL, NULL);
}

static const cli_option_t options[] = {
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
        "Starts every actor of the topology, prints what they tell, one JSON\n"
        "object a line, and ends when all have come to their end.",
    .run = run_run,
};
