/* tuning.c - runs the rounds of a tuning, one trial after the other.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/tune/tuning.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/bar.h"
#include "cli/base/events.h"
#include "cli/base/process.h"
#include "formats/folder/folder.h"
#include "topology/config/document.h"
#include "transport/socket/clock.h"

/* The share of the remaining budget that is planned: a forecast is not
 * exact. */
#define BUDGET_SHARE 0.9

const char *
cli_tuning_differs(const cli_tuning_t *tuning, uint32_t candidate,
                   char text[CLI_DIFFERS_BYTES])
{
    return cli_candidate_describe(&tuning->space, &tuning->candidate[candidate],
                                  text, CLI_DIFFERS_BYTES);
}

static void
tell_trial(const cli_tuning_t *tuning, uint32_t round, uint32_t candidate,
           const char *why)
{
    const cli_result_t *result = &tuning->trials.result[round][candidate];
    double epochs = tuning->candidate[candidate].value[CLI_TUNED_EPOCHS] *
                    cli_halving_share(&tuning->halving, round);
    char text[CLI_DIFFERS_BYTES];
    (void)cli_tuning_differs(tuning, candidate, text);
    if (tuning->call->json) {
        json_t *event =
            json_pack("{sssIsIsssssfsf}", "event", "trial", "round",
                      (json_int_t)round + 1, "candidate", (json_int_t)candidate,
                      "differs", text, "metric", tuning->metric, "epochs",
                      epochs, "cpu_seconds", result->cpu_s);
        if (isnan(result->score))
            (void)json_object_set_new(event, "message", json_string(why));
        else
            (void)json_object_set_new(event, "score", json_real(result->score));
        cli_event_put(event);
        return;
    }
    if (isnan(result->score))
        (void)skn_text_print(stdout, "%5u  %6.2f  failed        -  %s: %s\n",
                             round + 1, epochs, text, why);
    else
        (void)skn_text_print(stdout, "%5u  %6.2f  %6.4f  %7.1f  %s\n",
                             round + 1, epochs, result->score, result->cpu_s,
                             text);
    (void)fflush(stdout);
}

/* --- trials --------------------------------------------------------------- */

typedef struct order {
    const char *list[CLI_VALUES_MAX + CLI_TRIAL_OVERRIDES_MAX];
    size_t count;
    char text[CLI_TRIAL_OVERRIDES_MAX][SKN_NAME_MAX + 96];
    uint32_t texts;
    char *path; /* the last entry of the list */
} order_t;

__attribute__((format(printf, 2, 3))) static void
add(order_t *order, const char *format, ...)
{
    assert(order->texts < CLI_TRIAL_OVERRIDES_MAX);
    char *text = order->text[order->texts++];
    va_list arguments;
    va_start(arguments, format);
    (void)skn_text_write_list(text, sizeof(order->text[0]), format, arguments);
    va_end(arguments);
    order->list[order->count++] = text;
}

/* Lists the overrides that turn a run of the user's file into a trial. */
static void
list_overrides(const cli_tuning_t *tuning, uint32_t round, uint32_t candidate,
               const char *path, order_t *order)
{
    const skn_model_train_t *train = &tuning->model->train;
    const cli_candidate_t *whole = &tuning->candidate[candidate];
    double share = cli_halving_share(&tuning->halving, round);
    cli_length_t length = cli_candidate_length(&tuning->space, whole, share);
    cli_candidate_t values = cli_candidate_shorter(whole, share);
    order->count = tuning->override_count;
    memcpy(order->list, tuning->overrides,
           order->count * sizeof(order->list[0]));
    for (int k = 0; k < CLI_TUNED_COUNT; k++) {
        char key[SKN_NAME_MAX + 64], value[32];
        if (tuning->space.free[k])
            add(order, "%s=%s",
                cli_space_key(&tuning->space, (cli_tuned_t)k, key, sizeof(key)),
                cli_candidate_value(&values, (cli_tuned_t)k, value,
                                    sizeof(value)));
    }
    add(order, "data.test=\"\"");
    add(order, "train.epochs=%" PRIu64, length.epochs);
    add(order, "train.max_batches=%" PRIu64, length.max_batches);
    add(order, "train.validate=%.17g", train->validate);
    add(order, "train.ensemble=1");
    add(order, "train.ranker_trees=0");
    add(order, "train.patience=0");
    add(order, "train.evaluate.every_epochs=0");
    add(order, "train.evaluate.topk=%" PRId64,
        train->evaluate.topk < 5 ? (int64_t)5 : train->evaluate.topk);
    add(order, "checkpoint.every_batches=0");
    add(order, "checkpoint.every_epochs=0");
    order->path = skn_override_of("checkpoint.path", path, NULL);
    order->list[order->count++] = order->path;
}

/* Runs a trial that has no result yet. A trial that was stopped, or came too
 * late, gets none. */
static skn_status_t
try_one(cli_tuning_t *tuning, uint32_t round, uint32_t candidate,
        cli_trial_t *trial, skn_error_t *error)
{
    char path[SKN_TEXT_MAX + 16];
    order_t order = { 0 };
    (void)snprintf(path, sizeof(path), "%s/trial", tuning->folder);
    list_overrides(tuning, round, candidate, path, &order);
    const cli_trial_order_t wanted = {
        .file = tuning->file,
        .overrides = order.list,
        .override_count = order.count,
        .metric = tuning->metric,
        .stop = &tuning->stop,
        .until_ns = tuning->until_ns,
        .self_path = tuning->self_path,
    };
    skn_status_t status =
        order.path ? skn_folder_remove_tree(path, error)
                   : skn_fail(error, SKN_NO_MEMORY, "no memory for a path");
    if (status == SKN_OK)
        status = cli_trial_run(&wanted, trial, error);
    free(order.path);
    if (status != SKN_OK)
        return status;
    /* A trial that has ended when a stop is requested counts, and is the
     * last. */
    tuning->stopped =
        trial->end == CLI_TRIAL_STOPPED || tuning->stop.asked_by > 0;
    tuning->late = trial->end == CLI_TRIAL_LATE;
    /* Without auto's result there is no comparison, so a resume begins with it
     * again. */
    bool is_needed = round == 0 && candidate == 0;
    if (trial->end == CLI_TRIAL_DONE ||
        (trial->end == CLI_TRIAL_FAILED && !is_needed)) {
        status =
            cli_trials_add(&tuning->trials, round, candidate, trial, error);
        tell_trial(tuning, round, candidate, trial->text);
    }
    return status == SKN_OK ? skn_folder_remove_tree(path, error) : status;
}

/* --- rounds --------------------------------------------------------------- */

/* Forecasts the time of a trial from the same candidate's in the round before,
 * or from auto's. */
static double
forecast_s(const cli_tuning_t *tuning, uint32_t round, uint32_t candidate)
{
    const cli_result_t *base = &tuning->trials.result[0][0];
    const cli_result_t *before =
        round > 0 ? &tuning->trials.result[round - 1][candidate] : base;
    double cost = round > 0 ? 1 : tuning->cost[candidate];
    uint32_t of = round > 0 ? round - 1 : 0;
    double ratio = cli_halving_share(&tuning->halving, round) /
                   cli_halving_share(&tuning->halving, of);
    return before->wall_s + before->train_s * (ratio * cost - 1);
}

static double
left_s(const cli_tuning_t *tuning)
{
    uint64_t now_ns = skn_monotonic_ns();
    return tuning->until_ns > now_ns
               ? (double)(tuning->until_ns - now_ns) * 1e-9
               : 0;
}

/* Fits the rounds to the budget by the speed of auto's first trial on this
 * machine, and prints the expected time. */
static skn_status_t
fit(cli_tuning_t *tuning, skn_error_t *error)
{
    cli_trials_t *trials = &tuning->trials;
    cli_halving_t *halving = &tuning->halving;
    const cli_result_t *base = &trials->result[0][0];
    cli_halving_pace_t pace = {
        .full_s = base->train_s / cli_halving_share(halving, 0),
        .extra_s = base->wall_s - base->train_s,
    };
    for (uint32_t k = 1; k < halving->candidates; k++)
        pace.mean_cost += tuning->cost[k] / (halving->candidates - 1);
    skn_status_t status = SKN_OK;
    if (!trials->fitted && tuning->until_ns > 0)
        cli_halving_fit(halving, &pace,
                        (left_s(tuning) + base->wall_s) * BUDGET_SHARE);
    if (!trials->fitted)
        status = cli_trials_fit(trials, halving, error);
    halving->candidates = trials->candidates;
    halving->ends = trials->ends;
    if (!tuning->call->json) {
        char time[32];
        cli_bar_time(cli_halving_seconds(halving, &pace), time, sizeof(time));
        (void)printf("       about %s in all, with %u candidates, %u round%s\n",
                     time, halving->candidates, halving->ends,
                     halving->ends == 1 ? "" : "s");
        (void)fflush(stdout);
    }
    return status;
}

static void
scores_of(const cli_tuning_t *tuning, uint32_t round, double *score)
{
    for (uint32_t k = 0; k < CLI_CANDIDATES_MAX; k++) {
        const cli_result_t *result = &tuning->trials.result[round][k];
        score[k] = result->known ? result->score : NAN;
    }
}

static skn_status_t
run_round(cli_tuning_t *tuning, uint32_t round, const uint32_t *list,
          uint32_t count, skn_error_t *error)
{
    cli_trial_t trial;
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < count && status == SKN_OK; k++) {
        if (tuning->trials.result[round][list[k]].known) {
            tell_trial(tuning, round, list[k], "as before");
            continue;
        }
        bool first = round == 0 && list[k] == 0;
        if (tuning->until_ns > 0 && !first &&
            forecast_s(tuning, round, list[k]) > left_s(tuning))
            tuning->late = true;
        else
            status = try_one(tuning, round, list[k], &trial, error);
        if (tuning->stopped || tuning->late)
            return status;
        if (status == SKN_OK && first && trial.end == CLI_TRIAL_FAILED)
            status = skn_fail_hint(
                error,
                skn_fail(error, trial.status,
                         "the file itself cannot be trained: %s", trial.text),
                "%s", trial.hint);
    }
    return status;
}

skn_status_t
cli_tuning_run(cli_tuning_t *tuning, skn_error_t *error)
{
    uint32_t list[CLI_CANDIDATES_MAX] = { 0 };
    double score[CLI_CANDIDATES_MAX];
    uint32_t count = 0;
    if (tuning->budget_s > 0) /* time of earlier processes counts, too */
        tuning->until_ns =
            skn_monotonic_ns() +
            (uint64_t)(fmax(0, tuning->budget_s - tuning->trials.wall_s) * 1e9);
    skn_status_t status = run_round(tuning, 0, list, 1, error);
    if (status == SKN_OK && !tuning->stopped && !tuning->late)
        status = fit(tuning, error);
    for (; count < tuning->halving.candidates; count++)
        list[count] = count;
    for (uint32_t round = 0; round < tuning->halving.ends && status == SKN_OK &&
                             !tuning->stopped && !tuning->late;
         round++) {
        if (round > 0) {
            scores_of(tuning, round - 1, score);
            count =
                cli_halving_survivors(&tuning->halving, round - 1, score, list);
        }
        if (count == 1 && list[0] == 0 && round > 0)
            break;                  /* nothing to compare it with */
        uint32_t done = round == 0; /* auto's trial */
        status = run_round(tuning, round, list + done, count - done, error);
    }
    return status;
}

/* --- the result ----------------------------------------------------------- */

bool
cli_tuning_judge(const cli_tuning_t *tuning, cli_verdict_t *verdict)
{
    double score[CLI_CANDIDATES_MAX];
    uint32_t order[CLI_CANDIDATES_MAX], ranked = 0,
                                        round = tuning->halving.ends;
    while (ranked < 2 && round > 0) {
        scores_of(tuning, --round, score);
        ranked = cli_halving_rank(score, CLI_CANDIDATES_MAX, order);
    }
    if (ranked == 0)
        return false;
    double best = score[order[0]];
    *verdict = (cli_verdict_t){
        .round = round,
        .best = order[0],
        .score = best,
        .auto_score = score[0],
        .error = NAN,
        .share = cli_halving_share(&tuning->halving, round),
    };
    /* A term of PSP may be greater than 1, so it is not a share. */
    if (strncmp(tuning->metric, "psp", 3) != 0)
        verdict->error = cli_halving_error(
            best, score[0], (double)tuning->plan.data.validate_points);
    return true;
}
