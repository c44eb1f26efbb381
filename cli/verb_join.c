/* verb_join.c - skein join: joins several trained networks to one model.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "skein/join.h"
#include "skein/limits.h"
#include "skein/text.h"
#include "cli/base/events.h"
#include "cli/base/verbs.h"

/* Prints the event of the ranker: its size and what it has cost. */
static void
show_ranker(const cli_call_t *call, uint32_t trees, const skn_joined_t *joined)
{
    char event[320];
    (void)skn_text_write(event, sizeof(event),
                         "{\"event\":\"ranker\",\"trees\":%u,\"nodes\":%" PRIu64
                         ",\"weights\":%" PRIu64 ",\"bytes\":%" PRIu64
                         ",\"seconds\":%.3f,\"cpu_seconds\":%.3f}",
                         trees, joined->ranker_nodes, joined->ranker_weights,
                         joined->ranker_bytes, joined->ranker_seconds,
                         joined->ranker_cpu_seconds);
    cli_event_show(call, event);
}

static void
show_calibration(const cli_call_t *call, const skn_joined_t *joined)
{
    char event[256];
    (void)skn_text_write(event, sizeof(event),
                         "{\"event\":\"calibration\",\"points\":%" PRIu64
                         ",\"error_before\":%.5f,\"error\":%.5f}",
                         joined->calibration_points,
                         joined->calibration_error_before,
                         joined->calibration_error);
    cli_event_show(call, event);
}

static int
join_run(const cli_call_t *call)
{
    const char *into = cli_value(call, "into");
    skn_joined_t joined = { .struct_bytes = sizeof(joined) };
    skn_error_t error = { 0 };
    skn_join_options_t options = { .struct_bytes = sizeof(options) };
    if (!into) {
        (void)skn_fail(&error, SKN_USAGE, "join needs --into FOLDER");
        (void)skn_fail_hint(&error, SKN_USAGE,
                            "FOLDER is where the run folder of the joined "
                            "model is made");
        return cli_report(call, &error);
    }
    skn_status_t status =
        cli_count(call, "trees", SKN_RANKER_TREES_MAX, &options.trees, &error);
    if (status == SKN_OK)
        status = skn_networks_join(into, call->operands, call->operand_count,
                                   &options, &joined, &error);
    if (status != SKN_OK)
        return cli_report(call, &error);
    if (options.trees > 0)
        show_ranker(call, options.trees, &joined);
    if (call->json) {
        (void)printf("{\"event\":\"join\",\"run\":\"%s\",\"path\":",
                     joined.run_id);
        cli_json_string(into, stdout);
        (void)printf(",\"networks\":%zu,\"features\":%" PRIu64
                     ",\"units\":%" PRIu64 ",\"labels\":%" PRIu64
                     ",\"parameters\":%" PRIu64 ",\"batch\":%" PRIu64 "}\n",
                     call->operand_count, joined.features, joined.units,
                     joined.labels, joined.parameters, joined.batch);
    } else {
        (void)skn_text_print(stdout,
                             "model  %zu network%s: %" PRIu64
                             " features, %" PRIu64 " units, %" PRIu64
                             " labels, %.1f million parameters\nrun    %s\n",
                             call->operand_count,
                             call->operand_count > 1 ? "s side by side"
                             : options.trees > 0     ? " and its ranker"
                                                 : " out of its nodes' folders",
                             joined.features, joined.units, joined.labels,
                             (double)joined.parameters * 1e-6, into);
    }
    if (joined.calibration_points > 0)
        show_calibration(call, &joined);
    return 0;
}

static const cli_option_t options[] = {
    { "trees", 0, "N", "trees of a ranker, fitted to the first one's data" },
    { "into", 0, "FOLDER", "where to make the run folder of the joined model" },
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_join = {
    .name = "join",
    .help = "make one model of several trained networks",
    .operands = "PATH [PATH...]",
    .operands_min = 1,
    .operands_max = 16,
    .options = options,
    .description =
        "Each PATH is a run folder (its best model, or its newest), a\n"
        "checkpoint in one, or the folder with those of a run's nodes, of the\n"
        "same layers, features and labels: runs of one file with another\n"
        "train.seed, on any machines. The joined model has their units side\n"
        "by side and the mean of their logits, and nearly always ranks better\n"
        "than any of them; it is as large and as slow as all of them\n"
        "together:\n"
        "    skein train m.yaml -o train.seed=1 -o checkpoint.path=runs/1\n"
        "    skein train m.yaml -o train.seed=2 -o checkpoint.path=runs/2\n"
        "    skein join runs/1 runs/2 --into runs/both\n"
        "    skein eval runs/both\n"
        "It has no moments, so it cannot be trained further. 2 to 16 can be\n"
        "joined; whether they were done, or learnt from the same points, is\n"
        "not checked. --trees grows a ranker, which sorts their best labels\n"
        "again (train.ranker_trees); with it one PATH is enough. One PATH is\n"
        "also enough if it holds the folders of a run's nodes, whose parts\n"
        "are then put together. Rankers that the networks have are left out.",
    .run = join_run,
};
