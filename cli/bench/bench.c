/* bench.c - skein bench: measures messages and kernels on this machine.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/bench/bench_flow.h"
#include "cli/bench/bench_kernels.h"
#include "cli/base/verbs.h"

static int
run_kernels(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    uint32_t runs = SKN_BENCH_RUNS_MAX;
    const char *wanted = call->operand_count > 1 ? call->operands[1] : "";
    skn_status_t status =
        cli_count(call, "runs", SKN_BENCH_RUNS_MAX, &runs, &error);
    if (status == SKN_OK)
        status =
            skn_bench_kernels(stdout, call->json, wanted, (int)runs, &error);
    return status == SKN_OK ? 0 : cli_report(call, &error);
}

static int
bench_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    const char *what = call->operands[0];
    if (strcmp(what, "kernels") == 0)
        return run_kernels(call);
    if (strcmp(what, "flow") != 0) {
        (void)skn_fail(&error, SKN_USAGE, "unknown benchmark '%s'", what);
        (void)skn_fail_hint(&error, SKN_USAGE, "available: flow, kernels");
    } else if (call->operand_count > 1 || cli_value(call, "runs")) {
        (void)skn_fail(&error, SKN_USAGE, "bench flow takes no %s",
                       call->operand_count > 1 ? "name" : "--runs");
        (void)skn_fail_hint(&error, SKN_USAGE, "bench kernels does");
    } else {
        return skn_bench_flow(stdout, call->json);
    }
    return cli_report(call, &error);
}

static const cli_option_t options[] = {
    { "runs", 0, "N", "kernels: number of runs per median, 1 to 25 (25)" },
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_bench = {
    .name = "bench",
    .help = "measure messages and kernels on this machine",
    .operands = "flow | kernels [NAME]",
    .operands_min = 1,
    .operands_max = 2,
    .options = options,
    .description =
        "flow: rate and latency of every pattern of pipes, at 64 B, 4 KiB and\n"
        "1 MiB, beside bare libzmq and memcpy. Takes about 20 s.\n\n"
        "kernels: each kernel whose name contains NAME, in the shapes that\n"
        "training meets, on one core, with the instruction set that training\n"
        "would use (SKEIN_ISA forces a lower one). Measures first what the\n"
        "core can do at most: operations in registers, bytes from its\n"
        "second-level cache and from memory. A kernel's bound is the limit\n"
        "that it would meet first; its percentage says how near it comes.\n"
        "Takes 15 to 30 s and 400 MB.\n\n"
        "Measure on a machine that does nothing else.",
    .run = bench_run,
};
