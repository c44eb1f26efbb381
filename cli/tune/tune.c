/* tune.c - skein tune: finds a better config than `auto` by successive halving.
 *
 *     model file ─▶ auto's choice ─▶ candidates around it   (candidates.h)
 *                                        │ rounds           (halving.h)
 *     tune.journal ◀─ score ◀─ trial ◀───┘                  (trials.h, trial.h)
 *          └─▶ the best one: tune.yaml                      (tuned.h)
 *
 * Trials see only the training file, a part of which is held back.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/resume_command.h"
#include "cli/base/events.h"
#include "cli/base/process.h"
#include "cli/base/auto_report.h"
#include "cli/tune/tuning.h"
#include "cli/base/verbs.h"
#include "formats/folder/folder.h"
#include "topology/run/model_run.h"
#include "topology/run/shortfall.h"

#define CANDIDATES_DEFAULT 16u
#define ROUNDS_DEFAULT 3u
#define KEEP_DEFAULT (1.0 / 3)
/* The share that is held back if the file sets none. */
#define VALIDATE_DEFAULT 0.05
#define SEED_MAX 1000000000u

/* --- options -------------------------------------------------------------- */

static skn_status_t
refuse(const char *option, const char *wanted, const char *found,
       skn_error_t *error)
{
    return skn_fail(error, SKN_USAGE, "--%s must be %s, found '%.40s'", option,
                    wanted, found);
}

static skn_status_t
read_metric(cli_tuning_t *tuning, skn_error_t *error)
{
    static const char *const names[] = { "p1",   "p3",   "p5",    "psp1",
                                         "psp3", "psp5", "ndcg3", "ndcg5" };
    const char *text = cli_value(tuning->call, "metric");
    tuning->metric = text ? text : names[0];
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
        if (strcmp(tuning->metric, names[k]) == 0)
            return SKN_OK;
    return refuse("metric", "p1, p3, p5, psp1, psp3, psp5, ndcg3 or ndcg5",
                  text, error);
}

static skn_status_t
read_options(cli_tuning_t *tuning, skn_error_t *error)
{
    const cli_call_t *call = tuning->call;
    const char *keep = cli_value(call, "keep"),
               *budget = cli_value(call, "budget");
    cli_halving_t *halving = &tuning->halving;
    tuning->file = call->operands[0];
    tuning->override_count = cli_overrides(call, tuning->overrides);
    tuning->seed = 1;
    *halving = (cli_halving_t){ .candidates = CANDIDATES_DEFAULT,
                                .rounds = ROUNDS_DEFAULT,
                                .keep = KEEP_DEFAULT };
    skn_status_t status =
        cli_count(call, "seed", SEED_MAX, &tuning->seed, error);
    if (status == SKN_OK)
        status = cli_count(call, "candidates", CLI_CANDIDATES_MAX,
                           &halving->candidates, error);
    if (status == SKN_OK)
        status =
            cli_count(call, "rounds", CLI_ROUNDS_MAX, &halving->rounds, error);
    halving->ends = halving->rounds;
    if (status == SKN_OK && keep &&
        !cli_halving_read_share(keep, &halving->keep))
        status = refuse("keep", "a share such as 1/3", keep, error);
    if (status == SKN_OK && budget &&
        !cli_halving_read_time(budget, &tuning->budget_s))
        status = refuse("budget",
                        "a time such as 90s, 10m or 2h, and below 30 years",
                        budget, error);
    if (status == SKN_OK && strcmp(tuning->file, "-") == 0)
        status = skn_fail(error, SKN_USAGE,
                          "each trial reads the model file: it cannot be "
                          "standard input");
    return status == SKN_OK ? read_metric(tuning, error) : status;
}

/* --- the model ------------------------------------------------------------ */

/* Reads the user's model, with points held back and without its test file. */
static skn_status_t
read_model(cli_tuning_t *tuning, skn_error_t *error)
{
    const char *overrides[CLI_VALUES_MAX + 2];
    size_t count = tuning->override_count;
    char held[64];
    memcpy(overrides, tuning->overrides, count * sizeof(*overrides));
    overrides[count++] = "data.test=\"\"";
    skn_status_t status =
        skn_model_read(tuning->file, overrides, count, &tuning->model,
                       tuning->problems, error);
    if (status != SKN_OK)
        return status;
    if (tuning->model->node_count > 1) {
        status = skn_fail(error, SKN_USAGE,
                          "%s has %zu nodes; trials are of one process",
                          tuning->file, tuning->model->node_count);
        return skn_fail_hint(error, status, "give -o 'nodes=[]'");
    }
    if (tuning->model->train.validate > 0)
        return SKN_OK;
    skn_model_destroy(&tuning->model);
    (void)skn_text_write(held, sizeof(held), "train.validate=%g",
                         VALIDATE_DEFAULT);
    overrides[count++] = held;
    return skn_model_read(tuning->file, overrides, count, &tuning->model,
                          tuning->problems, error);
}

static skn_status_t
prepare(cli_tuning_t *tuning, skn_error_t *error)
{
    skn_plan_data_t *data = &tuning->plan.data;
    skn_status_t status = read_model(tuning, error);
    if (status != SKN_OK)
        return status;
    const skn_model_t *model = tuning->model;
    bool is_half =
        model->layers[model->layer_count - 1].weights == SKN_WEIGHTS_BF16 &&
        model->train.updates == SKN_UPDATES_LOAN;
    uint32_t units = skn_unit_count(error);
    if (units == 0)
        return error->status;
    status = skn_plan_make(&tuning->plan, tuning->model, units, error);
    if (status == SKN_OK && data->validate_points == 0) {
        status = skn_fail(error, SKN_BAD_DATA,
                          "%s: none of %" PRIu64 " points is held back",
                          tuning->model->data.train, data->train_points);
        (void)skn_fail_hint(error, status, "give -o train.validate=0.2");
    }
    if (status != SKN_OK)
        return status;
    skn_shortfall_model(tuning->model, SKN_SHORTFALL_NOBODY, cli_warn_to,
                        tuning->call);
    skn_shortfall_quota("", tuning->plan.units, SKN_SHORTFALL_CORES,
                        cli_warn_to, tuning->call);
    cli_space_init(&tuning->space, tuning->model, data->train_points,
                   data->labels, data->labels_per_point);
    for (size_t k = 0; k < tuning->override_count; k++)
        cli_space_fix(&tuning->space, tuning->overrides[k]);
    if (is_half) /* set by the file, not the plan: adam is refused */
        tuning->space.free[CLI_TUNED_OPTIMIZER] = false;
    tuning->halving.candidates =
        cli_candidates_draw(&tuning->space, tuning->seed,
                            tuning->halving.candidates, tuning->candidate);
    for (uint32_t k = 0; k < tuning->halving.candidates; k++)
        tuning->cost[k] =
            cli_candidate_cost(&tuning->space, &tuning->candidate[k]);
    return SKN_OK;
}

/* --- the journal's head --------------------------------------------------- */

/* Hashes the model with all values decided. Returns `hash`. */
static const char *
hash_model(const skn_model_t *model, char hash[SKN_HASH_TEXT_BYTES])
{
    char *text = NULL;
    size_t bytes = 0;
    skn_error_t nothing = { 0 };
    FILE *file = open_memstream(&text, &bytes);
    bool good = file && skn_model_write(model, file, &nothing) == SKN_OK;
    good = file && fclose(file) == 0 && good;
    skn_hash_text(good ? text : "", good ? bytes : 0, hash);
    free(text);
    return hash;
}

/* Makes the head: everything that determines the scores. */
static json_t *
head_of(const cli_tuning_t *tuning)
{
    char model[SKN_HASH_TEXT_BYTES], data[32];
    (void)snprintf(data, sizeof(data), "%016" PRIx64,
                   tuning->plan.data.content_hash);
    json_t *overrides = json_array();
    for (size_t k = 0; k < tuning->override_count; k++)
        (void)json_array_append_new(overrides,
                                    json_string(tuning->overrides[k]));
    return json_pack(
        "{sisssosssssIsIsIsfsfss}", "tune", 1, "file", tuning->file,
        "overrides", overrides, "model", hash_model(tuning->model, model),
        "data", data, "seed", (json_int_t)tuning->seed, "candidates",
        (json_int_t)tuning->halving.candidates, "rounds",
        (json_int_t)tuning->halving.rounds, "keep", tuning->halving.keep,
        "validate", tuning->model->train.validate, "metric", tuning->metric);
}

static skn_status_t
open_folder(cli_tuning_t *tuning, skn_error_t *error)
{
    const char *given = cli_value(tuning->call, "folder");
    const char *run = tuning->model->checkpoint.path;
    bool resume = cli_flag(tuning->call, "resume");
    char path[SKN_TEXT_MAX + 16];
    int folder = -1;
    if (given || run[0])
        (void)snprintf(tuning->folder, sizeof(tuning->folder), "%s%s",
                       given ? given : run, given ? "" : "-tune");
    else
        (void)snprintf(tuning->folder, sizeof(tuning->folder),
                       "runs/%.128s-tune", tuning->model->name);
    skn_status_t status =
        resume ? SKN_OK : skn_folder_create(tuning->folder, &folder, error);
    if (folder >= 0)
        (void)close(folder);
    if (status != SKN_OK)
        return status;
    json_t *head = head_of(tuning);
    (void)snprintf(path, sizeof(path), "%s/tune.journal", tuning->folder);
    status = head ? cli_trials_open(&tuning->trials, path, head, resume, error)
                  : skn_fail(error, SKN_NO_MEMORY, "no memory for a line");
    json_decref(head);
    return status;
}

/* --- output --------------------------------------------------------------- */

static void
announce(const cli_tuning_t *tuning)
{
    const skn_plan_data_t *data = &tuning->plan.data;
    const cli_halving_t *halving = &tuning->halving;
    if (tuning->call->json) {
        cli_event_put(json_pack(
            "{sssssIsIsIsIsI}", "event", "tune", "path", tuning->folder,
            "candidates", (json_int_t)halving->candidates, "rounds",
            (json_int_t)halving->rounds, "train_points",
            (json_int_t)data->train_points, "validate_points",
            (json_int_t)data->validate_points, "trials",
            (json_int_t)tuning->trials.count));
        return;
    }
    (void)printf("data   %" PRIu64 " training points, %" PRIu64
                 " held back, %u labels\n"
                 "tune   %u candidates, %u round%s, in %s\nauto  ",
                 data->train_points, data->validate_points, data->labels,
                 halving->candidates, halving->rounds,
                 halving->rounds == 1 ? "" : "s", tuning->folder);
    for (int k = 0; k < CLI_TUNED_COUNT; k++) {
        char key[SKN_NAME_MAX + 64], value[32];
        const char *name =
            cli_space_key(&tuning->space, (cli_tuned_t)k, key, sizeof(key));
        if (tuning->space.free[k])
            (void)printf(" %s %s", strrchr(name, '.') + 1,
                         cli_candidate_value(&tuning->space.base,
                                             (cli_tuned_t)k, value,
                                             sizeof(value)));
    }
    (void)printf("\nround  epochs  %6s    CPU s  differs from auto\n",
                 tuning->metric);
    (void)fflush(stdout);
}

/* --- the result ----------------------------------------------------------- */

static void
comment(const cli_tuning_t *tuning, const cli_verdict_t *verdict,
        const char *said, skn_json_text_t *text)
{
    char what[CLI_DIFFERS_BYTES];
    skn_json_text_add(text,
                      "# tune.yaml - the best variant of %s that `skein tune` "
                      "found: %u candidates, %u round%s,\n"
                      "# seed %u, %u trials.\n",
                      tuning->file, tuning->halving.candidates,
                      tuning->halving.ends,
                      tuning->halving.ends == 1 ? "" : "s", tuning->seed,
                      tuning->trials.count);
    skn_json_text_add(text, "# Differs from auto: %s.\n",
                      verdict->best
                          ? cli_tuning_differs(tuning, verdict->best, what)
                          : "in nothing");
    skn_json_text_add(text,
                      "# %s of the %" PRIu64 " training points that were held "
                      "back: %.4f,\n# %s.\n",
                      tuning->metric, tuning->plan.data.validate_points,
                      verdict->score, said);
}

static void
tell_verdict(const cli_tuning_t *tuning, const cli_verdict_t *verdict,
             const char *said)
{
    char what[CLI_DIFFERS_BYTES];
    (void)cli_tuning_differs(tuning, verdict->best, what);
    if (!tuning->call->json) {
        (void)skn_text_print(
            stdout, "best   %s: %s %.4f\n       %s%s\nwrote  %s/tune.yaml\n",
            what, tuning->metric, verdict->score, said,
            tuning->late ? "; the time is used up" : "", tuning->folder);
        return;
    }
    json_t *event = json_pack(
        "{sssssIsssssfsfsIsb}", "event", "tuned", "path", tuning->folder,
        "candidate", (json_int_t)verdict->best, "differs", what, "metric",
        tuning->metric, "score", verdict->score, "share", verdict->share,
        "validate_points", (json_int_t)tuning->plan.data.validate_points,
        "late", (int)tuning->late);
    if (!isnan(verdict->auto_score))
        (void)json_object_set_new(event, "auto_score",
                                  json_real(verdict->auto_score));
    if (!isnan(verdict->error))
        (void)json_object_set_new(event, "error", json_real(verdict->error));
    cli_event_put(event);
}

static skn_status_t
conclude(cli_tuning_t *tuning, skn_error_t *error)
{
    cli_verdict_t verdict;
    skn_json_text_t text = { 0 };
    char said[256];
    if (!cli_tuning_judge(tuning, &verdict))
        return skn_fail_hint(
            error,
            skn_fail(error, SKN_USAGE,
                     "the budget was used up before a trial was done"),
            "give a larger --budget, or fewer epochs");
    (void)cli_verdict_describe(&verdict, said, sizeof(said));
    comment(tuning, &verdict, said, &text);
    const cli_tuned_file_t file = {
        .file = tuning->file,
        .overrides = tuning->overrides,
        .override_count = tuning->override_count,
        .space = &tuning->space,
        .best = &tuning->candidate[verdict.best],
        .comment = text.bytes,
        .folder = tuning->folder,
    };
    skn_status_t status =
        text.failed ? skn_fail(error, SKN_NO_MEMORY, "no memory for a comment")
                    : cli_tuned_write(&file, tuning->problems, error);
    skn_json_text_fini(&text);
    if (status != SKN_OK)
        return status;
    tell_verdict(tuning, &verdict, said);
    return SKN_OK;
}

/* --- the verb ------------------------------------------------------------- */

static skn_status_t
stop_early(const cli_tuning_t *tuning)
{
    if (tuning->call->json)
        cli_event_put(json_pack("{sssI}", "event", "stopped", "trials",
                                (json_int_t)tuning->trials.count));
    else {
        (void)printf("stopped after %u trials; ", tuning->trials.count);
        cli_resume_command_print(tuning->call, "to continue:", NULL);
    }
    return SKN_OK;
}

/* Sets what signals do while the data is read, which may take minutes. */
static void
heed_signals(const cli_tuning_t *tuning)
{
    cli_stop_farewell(strdup(tuning->call->json
                                 ? "{\"event\":\"stopped\",\"begun\":false}\n"
                                 : "stopped before a trial began\n"),
                      0);
}

static skn_status_t
work(cli_tuning_t *tuning, skn_error_t *error)
{
    cli_output_outlive();
    heed_signals(tuning);
    skn_status_t status =
        cli_self_path(tuning->self_path, sizeof(tuning->self_path), error);
    if (status == SKN_OK)
        status = prepare(tuning, error);
    if (status == SKN_OK)
        status = cli_stop_open(&tuning->stop, error);
    if (status == SKN_OK)
        status = open_folder(tuning, error);
    if (status != SKN_OK)
        return status;
    announce(tuning);
    cli_plan_notes(tuning->call, &tuning->plan);
    status = cli_tuning_run(tuning, error);
    if (status != SKN_OK)
        return status;
    return tuning->stopped ? stop_early(tuning) : conclude(tuning, error);
}

static int
tune_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    cli_tuning_t *tuning = calloc(1, sizeof(*tuning));
    int code = 0;
    if (tuning)
        tuning->problems = skn_problems_new(&error);
    if (!tuning || !tuning->problems) {
        free(tuning);
        (void)skn_fail(&error, SKN_NO_MEMORY, "no memory for a tuning");
        return cli_report(call, &error);
    }
    tuning->call = call;
    tuning->stop = (cli_stop_t){ .json = call->json,
                                 .doing = "trials that are done are kept",
                                 .insisting = "quit at once",
                                 .descriptor = -1 };
    skn_status_t status = read_options(tuning, &error);
    if (status == SKN_OK)
        status = work(tuning, &error);
    if (skn_problems_count(tuning->problems) > 0)
        code = cli_report_problems(call, tuning->problems);
    else if (status != SKN_OK)
        code = cli_report(call, &error);
    code = cli_stop_code(&tuning->stop, code);
    cli_stop_close(&tuning->stop);
    cli_trials_close(&tuning->trials);
    skn_model_destroy(&tuning->model);
    skn_problems_destroy(&tuning->problems);
    free(tuning);
    return code;
}

static const cli_option_t options[] = {
    CLI_OVERRIDE_OPTION,
    { "candidates", 0, "N", "number of configs to try (16)" },
    { "rounds", 0, "R", "rounds until trials have their full length (3)" },
    { "keep", 0, "SHARE", "candidates of a round that enter the next (1/3)" },
    { "budget", 0, "TIME", "time for all trials: 90s, 10m, 2h" },
    { "metric", 0, "NAME", "p1 (default), p3, p5, psp1 ..., ndcg3, ndcg5" },
    { "seed", 0, "S", "seed of the choice of candidates (1)" },
    { "folder", 0, "PATH",
      "folder of the tuning (that of the run with -tune)" },
    { "resume", 0, NULL, "continue the tuning in the folder" },
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_tune = {
    .name = "tune",
    .help = "search for a better config than auto's choice",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description =
        "Successive halving: trains the config as `auto` resolves it, and\n"
        "others that differ from it in one to three keys (rate, epochs,\n"
        "units, dropout, label_smoothing, batch_rows, rows, optimizer, loss),\n"
        "each for a short time; keeps the best third, trains those three\n"
        "times longer, and so on. Keys given by -o are not varied. Scores are\n"
        "taken on training points that are held back (train.validate, default\n"
        "0.05); the test file is not opened. At the end it writes tune.yaml\n"
        "into its folder, a file for `skein train`, and prints how much\n"
        "better it scores. Ctrl-C, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and\n"
        "SIGXCPU stop it; --resume continues after the last trial that was\n"
        "done.",
    .run = tune_run,
};
