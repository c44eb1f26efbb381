/* trials.c - writes and reads the journal of a tuning's trials.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/tuning/trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/text/json_text.h"

static bool
read_u32(const json_t *line, const char *key, uint32_t most, uint32_t *value)
{
    uint64_t number = 0;
    if (!skn_json_u64(line, key, &number) || number > most)
        return false;
    *value = (uint32_t)number;
    return true;
}

static void
keep(skn_trials_t *trials, uint32_t round, uint32_t candidate,
     const skn_trial_result_t *result)
{
    trials->count++;
    trials->wall_s += result->wall_s;
    trials->result[round][candidate] = *result;
}

static skn_status_t
take(void *job, const json_t *line, skn_error_t *error)
{
    skn_trials_t *trials = job;
    uint32_t round = 0, candidate = 0;
    if (json_object_get(line, "tune")) {
        json_decref(trials->head);
        trials->head = json_deep_copy(line);
    } else if (read_u32(line, "round", SKN_ROUNDS_MAX - 1, &round) &&
               read_u32(line, "candidate", SKN_CANDIDATES_MAX - 1,
                        &candidate)) {
        const json_t *score = json_object_get(line, "score");
        const skn_trial_result_t result = {
            .known = true,
            .score = score ? json_number_value(score) : NAN,
            .cpu_s = skn_json_number(line, "cpu_s"),
            .train_s = skn_json_number(line, "train_s"),
            .wall_s = skn_json_number(line, "wall_s"),
        };
        keep(trials, round, candidate, &result);
    } else if (read_u32(line, "candidates", SKN_CANDIDATES_MAX,
                        &trials->candidates) &&
               read_u32(line, "ends", SKN_ROUNDS_MAX, &trials->ends) &&
               trials->candidates > 0 && trials->ends > 0) {
        trials->fitted = true;
    } else {
        return skn_fail(error, SKN_BAD_DATA,
                        "a line of the file does not belong to a tuning");
    }
    return SKN_OK;
}

/* Adds `line` and releases it. */
static skn_status_t
add(skn_trials_t *trials, json_t *line, skn_error_t *error)
{
    char *text = line ? skn_json_write(line, JSON_COMPACT) : NULL;
    skn_status_t status =
        text ? skn_journal_add(trials->journal, text, error)
             : skn_fail(error, SKN_NO_MEMORY, "no memory for a line");
    free(text);
    json_decref(line);
    return status;
}

/* Reports the first member in which the file's head differs from ours. */
static skn_status_t
compare(const skn_trials_t *trials, const char *path, json_t *head,
        skn_error_t *error)
{
    const char *key;
    json_t *ours;
    json_object_foreach(head, key, ours)
    {
        const json_t *theirs = json_object_get(trials->head, key);
        if (theirs && json_equal(ours, theirs))
            continue;
        char *was = theirs ? skn_json_write(theirs, JSON_ENCODE_ANY) : NULL;
        char *is = skn_json_write(ours, JSON_ENCODE_ANY);
        (void)skn_fail(error, SKN_USAGE,
                       "%s was started with another '%s': %.60s, not %.60s",
                       path, key, was ? was : "none", is ? is : "this");
        free(was);
        free(is);
        return skn_fail_hint(error, SKN_USAGE,
                             "give the options that it was started with, or "
                             "another --folder");
    }
    return SKN_OK;
}

skn_status_t
skn_trials_open(skn_trials_t *trials, const char *path, json_t *head,
                bool resume, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    bool there = access(path, F_OK) == 0;
    if (resume && !there) {
        status = skn_fail(error, SKN_NO_INPUT,
                          "%s does not hold a tuning to resume", path);
        return skn_fail_hint(error, status, "leave out --resume");
    }
    trials->journal = skn_journal_open(path, take, trials, error);
    if (!trials->journal)
        return error->status;
    if (!trials->head) { /* new, or killed before its first line */
        trials->head = json_incref(head);
        return add(trials, json_incref(head), error);
    }
    if (resume)
        return compare(trials, path, head, error);
    status =
        skn_fail(error, SKN_CANNOT_CREATE, "%s already holds a tuning", path);
    return skn_fail_hint(error, status,
                         "continue it with --resume, or give another --folder");
}

skn_status_t
skn_trials_add(skn_trials_t *trials, uint32_t round, uint32_t candidate,
               const skn_trial_t *trial, skn_error_t *error)
{
    bool done = trial->end == SKN_TRIAL_DONE;
    const skn_trial_result_t result = {
        .known = true,
        .score = done ? trial->score : NAN,
        .cpu_s = trial->cpu_s,
        .train_s = trial->train_s,
        .wall_s = trial->wall_s,
    };
    json_t *line =
        json_pack("{sIsIsfsfsf}", "round", (json_int_t)round, "candidate",
                  (json_int_t)candidate, "cpu_s", result.cpu_s, "train_s",
                  result.train_s, "wall_s", result.wall_s);
    (void)json_object_set_new(line, done ? "score" : "error",
                              done ? json_real(trial->score)
                                   : json_string(trial->error.text));
    keep(trials, round, candidate, &result);
    return add(trials, line, error);
}

skn_status_t
skn_trials_fit(skn_trials_t *trials, const skn_halving_t *halving,
               skn_error_t *error)
{
    trials->fitted = true;
    trials->candidates = halving->candidates;
    trials->ends = halving->ends;
    return add(trials,
               json_pack("{sIsI}", "candidates",
                         (json_int_t)halving->candidates, "ends",
                         (json_int_t)halving->ends),
               error);
}

void
skn_trials_close(skn_trials_t *trials)
{
    skn_journal_close(&trials->journal);
    json_decref(trials->head);
    trials->head = NULL;
}
