/* verb_train.c - skein train: trains the model of a model file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "cli/base/follow.h"
#include "cli/base/process.h"
#include "cli/base/trainer.h"
#include "cli/base/verbs.h"
#include "topology/config/shell_word.h"

/* Whether the folder has what every run folder has. */
static bool
is_run(const char *folder)
{
    static const char *const files[] = { "run.json", "ensemble.yaml" };
    char path[SKN_TEXT_MAX + 32];
    bool is_run = false;
    for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, files[k]);
        is_run = is_run || access(path, F_OK) == 0;
    }
    return is_run;
}

/* Refuses a run folder in place of a model file or data unless the run
 * resumes. */
static skn_status_t
check_folder(const cli_call_t *call, skn_error_t *error)
{
    const char *path = call->operands[0];
    char word[SKN_SHELL_WORD_BYTES];
    if (cli_flag(call, "resume") || !cli_is_folder(path) || !is_run(path))
        return SKN_OK;
    (void)skn_fail(error, SKN_NO_INPUT, "%.200s is a folder, not a model file",
                   path);
    return skn_fail_hint(error, SKN_NO_INPUT,
                         "if it holds a run, continue it with `skein train "
                         "--resume %.200s`",
                         skn_shell_word(path, word));
}

static int
train_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    bool stopped = false;
    if (cli_requeue_check(call, &error) != SKN_OK ||
        check_folder(call, &error) != SKN_OK)
        return cli_report(call, &error);
    const cli_training_t training = { .path = call->operands[0],
                                      .stopped = &stopped };
    int code = cli_training(call, &training);
    return cli_requeue(call, code, stopped);
}

static const cli_option_t options[] = {
    CLI_MODEL_OPTIONS,
    { "resume", 0, NULL, "continue the run in checkpoint.path, or in FILE" },
    CLI_REQUEUE_OPTION,
    CLI_RUN_OPTIONS,
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_train = {
    .name = "train",
    .help = "train a model on a data file, or as a model file says",
    .operands = "FILE...",
    .operands_min = 1,
    .operands_max = 1,
    .several = 1,
    .options = options,
    .description =
        "FILE is a model file, or data: rows of texts and labels (fastText,\n"
        "CSV, TSV, JSON lines) or numbered features, for which every choice\n"
        "is left to auto, and a tenth of whose rows is held back as a test.\n"
        "Data may be several files, a folder, a pattern in quotes, or\n"
        "standard input (-), which is kept in a file first. --text and\n"
        "--labels name the columns of a table:\n"
        "    skein train titles.csv --text title --labels tags\n"
        "    skein predict runs/latest --text 'some words'\n"
        "Compiles the model file into a topology of actors and runs it: one\n"
        "line per epoch, checkpoints in checkpoint.path (default\n"
        "runs/<config>-<UTC>-<id>/). Ctrl-C, SIGTERM, SIGHUP,\n"
        "SIGUSR1, SIGUSR2 and SIGXCPU save a checkpoint and stop with exit\n"
        "code 0; a second Ctrl-C stops at once, with 130.\n"
        "With train.ensemble or train.ranker_trees, which auto may choose,\n"
        "networks are trained one after the other in folders network-N of\n"
        "the run, each with a `done` of its own. When all are done, the\n"
        "ranker is fitted, the networks are joined into one run, and their\n"
        "folders are removed. --resume continues with the first network that\n"
        "is not done.\n"
        "`skein train --resume FOLDER` continues the run in FOLDER with the\n"
        "config that is kept there; -o overrides its keys.",
    .run = train_run,
};
