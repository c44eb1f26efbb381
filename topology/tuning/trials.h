/* trials.h - writes and reads the journal of a tuning's trials.
 *
 *     {"tune":1, "config":..., "seed":1, ...}                     the head
 *     {"round":0, "candidate":0, "score":0.55, ...}               a trial
 *     {"candidates":16, "ends":3}               what the budget allows
 *
 * These are lines of a journal (formats/folder/journal.h), each written as soon
 * as its result is known: after a crash, the next process continues after the
 * last finished trial.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TUNING_TRIALS_H
#define TOPOLOGY_TUNING_TRIALS_H

#include "topology/tuning/halving.h"
#include "topology/tuning/trial.h"
#include "formats/folder/journal.h"

typedef struct skn_trial_result {
    bool known;
    double score; /* NAN: the trial failed */
    double cpu_s, train_s, wall_s;
} skn_trial_result_t;

typedef struct skn_trials {
    skn_journal_t *journal;
    json_t *head; /* first line of the file; NULL: none */
    bool fitted;  /* the file has the line with `candidates` */
    uint32_t candidates, ends, count; /* `count`: number of trials */
    double wall_s;                    /* total of all trials */
    skn_trial_result_t result[SKN_ROUNDS_MAX][SKN_CANDIDATES_MAX];
} skn_trials_t;

/* Opens or creates the file. `head` describes the tuning; a reference to it is
 * kept. With `resume` the file must exist and have the same head: a difference
 * is reported, SKN_USAGE. Without, it must not exist: SKN_CANNOT_CREATE. Close
 * it in any case. `trials` was { 0 }. */
skn_status_t skn_trials_open(skn_trials_t *trials, const char *path,
                             json_t *head, bool resume, skn_error_t *error);
/* Adds a trial that has ended, DONE or FAILED. */
skn_status_t skn_trials_add(skn_trials_t *trials, uint32_t round,
                            uint32_t candidate, const skn_trial_t *trial,
                            skn_error_t *error);
/* Adds how the budget reduces the rounds; once. */
skn_status_t skn_trials_fit(skn_trials_t *trials, const skn_halving_t *halving,
                            skn_error_t *error);
void skn_trials_close(skn_trials_t *trials);

#endif
