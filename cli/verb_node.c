/* verb_node.c - skein node: runs one node of a model that trains on several.
 * SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "cli/base/follow.h"
#include "cli/base/trainer.h"
#include "cli/base/verbs.h"
#include "formats/checkpoint/run_folder.h"
#include "skein/predictor.h"

/* A member's worker ends with it, and has the name of its program, which the
 * member need not have started by that name. */
static void
become_leased(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NAME, "skein");
}

static int
node_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    cli_training_t training = {
        .path = call->operands[1],
        .node = call->operands[0],
        .run_id = cli_value(call, "run"),
        .from = cli_value(call, "from"),
        .predict = cli_value(call, "predict"),
        .progress = cli_flag(call, "progress"),
        .leash = cli_flag(call, "leash"),
        .lease = cli_flag(call, "lease"),
    };
    uint32_t generation = 0;
    bool stopped = false;
    const char *number = cli_value(call, "generation");
    bool has_generation = number && strcmp(number, "0") != 0;
    if ((has_generation && cli_count(call, "generation", SKN_GENERATION_MAX,
                                     &generation, &error) != SKN_OK) ||
        cli_count(call, "wait", CLI_WAIT_S_MAX, &training.wait_s, &error) !=
            SKN_OK ||
        cli_count(call, "patience", CLI_WAIT_S_MAX, &training.patience_s,
                  &error) != SKN_OK ||
        cli_count(call, "top", SKN_PREDICTOR_LABELS_MAX, &training.labels,
                  &error) != SKN_OK ||
        cli_requeue_check(call, &error) != SKN_OK)
        return cli_report(call, &error);
    if (training.lease)
        become_leased();
    training.generation = generation;
    training.stopped = &stopped;
    int code = cli_training(call, &training);
    return cli_requeue(call, code, stopped);
}

static const cli_option_t options[] = {
    CLI_OVERRIDE_OPTION,
    { "resume", 0, NULL, "continue the run in checkpoint.path" },
    { "from", 0, "BATCH", "with --resume: from BATCH-gNNNNNN, or none" },
    { "generation", 0, "N", "generation, part of checkpoint names (0)" },
    CLI_PREDICT_OPTIONS,
    { "run", 0, "ID", "32 hex digits, the same for all nodes of a run" },
    { "wait", 0, "SECONDS", "longest wait for the other nodes (120)" },
    { "leash", 0, NULL, "save and stop when standard input ends" },
    { "lease", 0, NULL, "stop at the time that standard input names" },
    { "patience", 0, "SECONDS", "after a stop: longest wait for a marker (2)" },
    CLI_REQUEUE_OPTION,
    { "progress", 0, NULL, "print progress five times a second" },
    { "trace-events", 0, "NS", "print the trace as events, timed from NS" },
    CLI_RUN_OPTIONS,
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_node = {
    .name = "node",
    .help = "be one node of a model that is trained on several",
    .operands = "NAME FILE",
    .operands_min = 2,
    .operands_max = 2,
    .options = options,
    .description =
        "Runs the part of node NAME of the model file, which lists it under\n"
        "`nodes:`. Start each node with the same file, in any order: they\n"
        "wait for each other. The first node of the list takes the options of\n"
        "the run, saves, and reports progress. `skein up` starts them all.",
    .run = node_run,
};
