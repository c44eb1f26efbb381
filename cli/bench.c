/* bench.c - skein bench: how fast this machine is at what Skein does.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/bench_flow.h"
#include "cli/verbs.h"

static int
bench_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    if (strcmp(call->operands[0], "flow") == 0)
        return skn_bench_flow(stdout, call->json);
    (void)skn_fail(&error, SKN_USAGE, "there is no bench '%s'",
                   call->operands[0]);
    (void)skn_fail_hint(&error, SKN_USAGE, "there are: flow");
    return cli_report(call, &error);
}

static const cli_option_t options[] = {
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_bench = {
    .name = "bench",
    .help = "measure how fast messages flow on this machine",
    .operands = "flow",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description =
        "flow: rate and latency of every pattern of pipes, at 64 B, 4 KiB and\n"
        "1 MiB, beside bare libzmq and memcpy. Takes about 20 s; measure on a\n"
        "machine that does nothing else.",
    .run = bench_run,
};
