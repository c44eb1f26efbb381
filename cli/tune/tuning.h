/* tuning.h - runs the rounds of a tuning, one trial after the other.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TUNE_TUNING_H
#define CLI_TUNE_TUNING_H

#include "cli/base/stop.h"
#include "cli/tune/trials.h"
#include "cli/tune/tuned.h"
#include "cli/base/verb.h"
#include "topology/plan/plan.h"

#define CLI_DIFFERS_BYTES 256

typedef struct cli_tuning {
    const cli_call_t *call;
    const char *file, *metric;
    const char *overrides[CLI_VALUES_MAX];
    size_t override_count;
    uint32_t seed;
    double budget_s;    /* 0: no limit */
    skn_model_t *model; /* model of the trials, resolved */
    skn_plan_t plan;
    cli_space_t space;
    cli_halving_t halving;
    cli_candidate_t candidate[CLI_CANDIDATES_MAX];
    double cost[CLI_CANDIDATES_MAX];
    cli_trials_t trials;
    char folder[SKN_TEXT_MAX], self_path[4096];
    cli_stop_t stop;
    uint64_t until_ns; /* 0: no limit */
    bool stopped, late;
    skn_problems_t *problems;
} cli_tuning_t;

/* Writes in what a candidate differs from auto. Returns `text`. */
const char *cli_tuning_differs(const cli_tuning_t *tuning, uint32_t candidate,
                               char text[CLI_DIFFERS_BYTES]);
/* Runs all trials without a result and prints the results; until the end, the
 * end of the budget (`late`), or a signal (`stopped`). A failed trial is not an
 * error, except the first one of auto. */
skn_status_t cli_tuning_run(cli_tuning_t *tuning, skn_error_t *error);
/* Judges by the last round with two scores or, if none has, with one. False:
 * nothing was trained. */
bool cli_tuning_judge(const cli_tuning_t *tuning, cli_verdict_t *verdict);

#endif
