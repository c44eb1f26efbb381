/* rounds.c - runs the rounds of a tuning, one trial after the other.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/tuning/rounds.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/folder/folder.h"
#include "topology/tuning/tuning_events.h"
#include "transport/socket/clock.h"

/* The share of the remaining budget that is planned: a forecast is not
 * exact. */
#define BUDGET_SHARE 0.9

/* --- trials --------------------------------------------------------------- */

/* Overrides of a trial beside those of its keys, at most. */
#define OWN_OVERRIDES_MAX 24u
_Static_assert(SKN_TUNED_COUNT + 11 <= OWN_OVERRIDES_MAX, "room for all");

typedef struct order {
    const char **list; /* the user's, then the trial's */
    size_t count;
    char text[OWN_OVERRIDES_MAX][SKN_NAME_MAX + 96];
    uint32_t texts;
} order_t;

__attribute__((format(printf, 2, 3))) static void
add(order_t *order, const char *format, ...)
{
    assert(order->texts < OWN_OVERRIDES_MAX);
    char *text = order->text[order->texts++];
    va_list arguments;
    va_start(arguments, format);
    (void)skn_text_write_list(text, sizeof(order->text[0]), format, arguments);
    va_end(arguments);
    order->list[order->count++] = text;
}

/* Lists the overrides that turn a run of the user's file into a trial. */
static skn_status_t
list_overrides(const skn_tuning_t *tuning, uint32_t round, uint32_t candidate,
               order_t *order, skn_error_t *error)
{
    const skn_tuning_options_t *how = &tuning->options;
    const skn_model_train_t *train = &tuning->model->train;
    const skn_candidate_t *whole = &tuning->candidate[candidate];
    double share = skn_halving_share(&tuning->halving, round);
    skn_trial_length_t length =
        skn_candidate_length(&tuning->space, whole, share);
    skn_candidate_t values = skn_candidate_shorter(whole, share);
    order->list =
        calloc(how->override_count + OWN_OVERRIDES_MAX, sizeof(char *));
    if (!order->list)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for overrides");
    for (; order->count < how->override_count; order->count++)
        order->list[order->count] = how->overrides[order->count];
    for (int k = 0; k < SKN_TUNED_COUNT; k++) {
        char key[SKN_NAME_MAX + 64], value[32];
        if (tuning->space.free[k])
            add(order, "%s=%s",
                skn_space_key(&tuning->space, (skn_tuned_t)k, key, sizeof(key)),
                skn_candidate_value(&values, (skn_tuned_t)k, value,
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
    return SKN_OK;
}

/* Trains in the folder `path`, which is empty before and afterwards. */
static skn_status_t
train_one(skn_tuning_t *tuning, uint32_t round, uint32_t candidate,
          const char *path, skn_trial_t *trial, skn_error_t *error)
{
    order_t order = { 0 };
    skn_status_t status = skn_folder_remove_tree(path, error);
    if (status == SKN_OK)
        status = list_overrides(tuning, round, candidate, &order, error);
    if (status == SKN_OK) {
        const skn_trial_order_t wanted = {
            .file = tuning->options.path,
            .overrides = order.list,
            .override_count = order.count,
            .folder = path,
            .metric = tuning->options.metric,
            .stop = &tuning->stop,
            .wake = tuning->task.orders,
            .until_ns = tuning->until_ns,
        };
        skn_tuning_set_trial(tuning, round, candidate);
        status = skn_trial_run(&wanted, trial, error);
    }
    free(order.list);
    skn_status_t removed =
        skn_folder_remove_tree(path, status == SKN_OK ? error : NULL);
    return status == SKN_OK ? removed : status;
}

/* The trial in which the process before this one died. */
static void
fail_as_before(skn_tuning_t *tuning, skn_trial_t *trial)
{
    *trial = (skn_trial_t){ .end = SKN_TRIAL_FAILED, .score = NAN };
    (void)skn_fail(&trial->error, SKN_INTERNAL, "%s", tuning->died);
    tuning->died = NULL;
}

/* Runs a trial that has no result yet. A trial that was stopped, or came too
 * late, gets none. */
static skn_status_t
try_one(skn_tuning_t *tuning, uint32_t round, uint32_t candidate,
        skn_trial_t *trial, skn_error_t *error)
{
    char path[SKN_TEXT_MAX + 16];
    skn_status_t status = SKN_OK;
    (void)snprintf(path, sizeof(path), "%s/trial", tuning->folder);
    if (tuning->died)
        fail_as_before(tuning, trial);
    else
        status = train_one(tuning, round, candidate, path, trial, error);
    if (status != SKN_OK)
        return status;
    /* A trial that has ended when a stop is requested counts, and is the
     * last. */
    tuning->was_stopped =
        trial->end == SKN_TRIAL_STOPPED || atomic_load(&tuning->stop);
    tuning->is_late = trial->end == SKN_TRIAL_LATE;
    /* Without auto's result there is no comparison, so a resume begins with it
     * again. */
    bool is_needed = round == 0 && candidate == 0;
    if (trial->end == SKN_TRIAL_DONE ||
        (trial->end == SKN_TRIAL_FAILED && !is_needed)) {
        status =
            skn_trials_add(&tuning->trials, round, candidate, trial, error);
        skn_tuning_send_trial(tuning, round, candidate, trial->error.text);
    }
    return status;
}

/* --- rounds --------------------------------------------------------------- */

/* Forecasts the time of a trial from the same candidate's in the round before,
 * or from auto's. */
static double
forecast_s(const skn_tuning_t *tuning, uint32_t round, uint32_t candidate)
{
    const skn_trial_result_t *base = &tuning->trials.result[0][0];
    const skn_trial_result_t *before =
        round > 0 ? &tuning->trials.result[round - 1][candidate] : base;
    double cost = round > 0 ? 1 : tuning->cost[candidate];
    uint32_t of = round > 0 ? round - 1 : 0;
    double ratio = skn_halving_share(&tuning->halving, round) /
                   skn_halving_share(&tuning->halving, of);
    return before->wall_s + before->train_s * (ratio * cost - 1);
}

static double
left_s(const skn_tuning_t *tuning)
{
    uint64_t now_ns = skn_monotonic_ns();
    return tuning->until_ns > now_ns
               ? (double)(tuning->until_ns - now_ns) * 1e-9
               : 0;
}

/* Fits the rounds to the budget by the speed of auto's first trial on this
 * machine, and prints the expected time. */
static skn_status_t
fit(skn_tuning_t *tuning, skn_error_t *error)
{
    skn_trials_t *trials = &tuning->trials;
    skn_halving_t *halving = &tuning->halving;
    const skn_trial_result_t *base = &trials->result[0][0];
    skn_halving_pace_t pace = {
        .full_s = base->train_s / skn_halving_share(halving, 0),
        .extra_s = base->wall_s - base->train_s,
    };
    for (uint32_t k = 1; k < halving->candidates; k++)
        pace.mean_cost += tuning->cost[k] / (halving->candidates - 1);
    skn_status_t status = SKN_OK;
    if (!trials->fitted && tuning->until_ns > 0)
        skn_halving_fit(halving, &pace,
                        (left_s(tuning) + base->wall_s) * BUDGET_SHARE);
    if (!trials->fitted)
        status = skn_trials_fit(trials, halving, error);
    halving->candidates = trials->candidates;
    halving->ends = trials->ends;
    skn_tuning_send_forecast(tuning, skn_halving_seconds(halving, &pace));
    return status;
}

static void
scores_of(const skn_tuning_t *tuning, uint32_t round, double *score)
{
    for (uint32_t k = 0; k < SKN_CANDIDATES_MAX; k++) {
        const skn_trial_result_t *result = &tuning->trials.result[round][k];
        score[k] = result->known ? result->score : NAN;
    }
}

static skn_status_t
run_round(skn_tuning_t *tuning, uint32_t round, const uint32_t *list,
          uint32_t count, skn_error_t *error)
{
    skn_trial_t trial;
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < count && status == SKN_OK; k++) {
        if (tuning->trials.result[round][list[k]].known) {
            skn_tuning_send_trial(tuning, round, list[k], "as before");
            continue;
        }
        bool first = round == 0 && list[k] == 0;
        if (tuning->until_ns > 0 && !first && !tuning->died &&
            forecast_s(tuning, round, list[k]) > left_s(tuning))
            tuning->is_late = true;
        else
            status = try_one(tuning, round, list[k], &trial, error);
        if (tuning->was_stopped || tuning->is_late)
            return status;
        if (status == SKN_OK && first && trial.end == SKN_TRIAL_FAILED)
            status =
                skn_fail_hint(error,
                              skn_fail(error, trial.error.status,
                                       "the file itself cannot be trained: %s",
                                       trial.error.text),
                              "%s", trial.error.hint);
    }
    return status;
}

skn_status_t
skn_rounds_run(skn_tuning_t *tuning, skn_error_t *error)
{
    uint32_t list[SKN_CANDIDATES_MAX] = { 0 };
    double score[SKN_CANDIDATES_MAX];
    uint32_t count = 0;
    if (tuning->options.budget_s >
        0) /* time of earlier processes counts, too */
        tuning->until_ns =
            skn_monotonic_ns() + (uint64_t)(fmax(0, tuning->options.budget_s -
                                                        tuning->trials.wall_s) *
                                            1e9);
    skn_status_t status = run_round(tuning, 0, list, 1, error);
    if (status == SKN_OK && !tuning->was_stopped && !tuning->is_late)
        status = fit(tuning, error);
    for (; count < tuning->halving.candidates; count++)
        list[count] = count;
    for (uint32_t round = 0; round < tuning->halving.ends && status == SKN_OK &&
                             !tuning->was_stopped && !tuning->is_late;
         round++) {
        if (round > 0) {
            scores_of(tuning, round - 1, score);
            count =
                skn_halving_survivors(&tuning->halving, round - 1, score, list);
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
skn_rounds_judge(const skn_tuning_t *tuning, skn_tuned_result_t *result)
{
    double score[SKN_CANDIDATES_MAX];
    uint32_t order[SKN_CANDIDATES_MAX], ranked = 0,
                                        round = tuning->halving.ends;
    while (ranked < 2 && round > 0) {
        scores_of(tuning, --round, score);
        ranked = skn_halving_rank(score, SKN_CANDIDATES_MAX, order);
    }
    if (ranked == 0)
        return false;
    double best = score[order[0]];
    *result = (skn_tuned_result_t){
        .round = round,
        .best = order[0],
        .score = best,
        .auto_score = score[0],
        .error = NAN,
        .share = skn_halving_share(&tuning->halving, round),
    };
    /* A term of PSP may be greater than 1, so it is not a share. */
    if (strncmp(tuning->options.metric, "psp", 3) != 0)
        result->error = skn_halving_error(
            best, score[0], (double)tuning->plan.data.validate_points);
    return true;
}
