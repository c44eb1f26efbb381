/* trials.h - what the trials of a tuning have come to, on disk as soon as it is
 * known.
 *
 *     {"tune":1, "config":..., "seed":1, ...}                     the head
 *     {"round":0, "candidate":0, "score":0.55, ...}               a trial
 *     {"candidates":16, "ends":3}               what the budget has room for
 *
 * Lines of a journal (formats/folder/journal.h): whatever kills us, the next
 * one goes on behind the last trial that was finished.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TUNE_TRIALS_H
#define CLI_TUNE_TRIALS_H

#include <jansson.h>

#include "cli/tune/halving.h"
#include "cli/tune/trial.h"
#include "formats/folder/journal.h"

typedef struct cli_result {
    bool known;
    double score; /* NAN: it failed */
    double cpu_s, train_s, wall_s;
} cli_result_t;

typedef struct cli_trials {
    skn_journal_t *journal;
    json_t *head; /* of the file; NULL: it has none */
    bool fitted;  /* the line with `candidates` and `ends` is there */
    uint32_t candidates, ends, count; /* `count`: of trials */
    double wall_s;                    /* of all of them */
    cli_result_t result[CLI_ROUNDS_MAX][CLI_CANDIDATES_MAX];
} cli_trials_t;

/* Opens the file, or makes it. `head` says what is tuned, and how; a reference
 * to it is kept. With `resume` the file must be there, and have that head: what
 * differs is told, SKN_USAGE. Without, there must be none: SKN_CANNOT_CREATE.
 * Close it in any case. `trials` was { 0 }. */
skn_status_t cli_trials_open(cli_trials_t *trials, const char *path,
                             json_t *head, bool resume, skn_error_t *error);
/* A trial that has come to its end, DONE or FAILED. */
skn_status_t cli_trials_add(cli_trials_t *trials, uint32_t round,
                            uint32_t candidate, const cli_trial_t *trial,
                            skn_error_t *error);
/* How the rounds are cut down; once. */
skn_status_t cli_trials_fit(cli_trials_t *trials, const cli_halving_t *halving,
                            skn_error_t *error);
void cli_trials_close(cli_trials_t *trials);

#endif
