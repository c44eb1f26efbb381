/* doctor.c - skein doctor: prints what on this machine breaks or slows a run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor_examine.h"
#include "cli/base/verbs.h"

static const char *const words[] = {
    [CLI_FINE] = "fine",
    [CLI_SLOW] = "costs",
    [CLI_BROKEN] = "BROKEN",
};
static const char *const states[] = {
    [CLI_FINE] = "fine",
    [CLI_SLOW] = "slow",
    [CLI_BROKEN] = "broken",
};

static void
print_finding(const cli_call_t *call, const cli_finding_t *finding)
{
    if (!call->json) {
        (void)printf("%-7s %-14s %s\n", words[finding->health], finding->name,
                     finding->found);
        if (finding->fix[0])
            (void)printf("%-7s %-14s to fix: %s\n", "", "", finding->fix);
        return;
    }
    (void)fputs("{\"event\":\"finding\",\"name\":", stdout);
    cli_json_string(finding->name, stdout);
    (void)printf(",\"state\":\"%s\",\"found\":", states[finding->health]);
    cli_json_string(finding->found, stdout);
    (void)fputs(",\"fix\":", stdout);
    cli_json_string(finding->fix, stdout);
    (void)fputs("}\n", stdout);
}

static int
doctor_run(const cli_call_t *call)
{
    static cli_finding_t findings[CLI_FINDINGS_MAX]; /* 12 KiB */
    size_t count = cli_examine("", findings), tally[3] = { 0 };
    for (size_t k = 0; k < count; k++) {
        print_finding(call, &findings[k]);
        tally[findings[k].health]++;
    }
    if (!call->json)
        (void)printf("%zu fine, %zu cost speed, %zu broken\n", tally[CLI_FINE],
                     tally[CLI_SLOW], tally[CLI_BROKEN]);
    return tally[CLI_BROKEN] ? skn_status_exit_code(SKN_UNAVAILABLE) : 0;
}

static const cli_option_t options[] = {
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_doctor = {
    .name = "doctor",
    .help = "examine this machine: what is fine, what costs speed",
    .operands = "",
    .operands_min = 0,
    .operands_max = 0,
    .options = options,
    .description =
        "Examines processing units, memory nodes, kernels, huge pages, limits\n"
        "(those of control groups, too), the load of this machine, and\n"
        "libraries, measures what a run that gives way takes from a busy\n"
        "owner, and prints how to repair what is not fine. The exit code is\n"
        "69 if a run would fail, else 0.",
    .run = doctor_run,
};
