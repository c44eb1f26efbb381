/* ensemble.c - trains the networks of an ensemble, and joins them.
 *
 * Each is an ordinary run with its own seed: if a signal or a power cut ends
 * one of them early, `--resume` keeps those that are done.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/ensemble.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/resume_command.h"
#include "cli/base/events.h"
#include "cli/base/networks.h"
#include "cli/base/process.h"
#include "cli/ranking.h"
#include "cli/base/stop.h"
#include "formats/text/json_text.h"
#include "topology/config/document.h"
#include "topology/predict/evaluate.h"
#include "topology/predict/join.h"
#include "topology/run/run_config.h"
#include "topology/run/trained.h"

/* The overrides of one network. */
#define OWN_OVERRIDES 4u

typedef struct ensemble_member {
    char path[CLI_NETWORK_PATH_BYTES];
    int64_t seed;
} ensemble_member_t;

static ensemble_member_t
member_of(const cli_outcome_t *whole, uint32_t k)
{
    ensemble_member_t member = { .seed = whole->seed + k };
    (void)cli_network_path(whole->path, k, member.path);
    return member;
}

/* --- one network --------------------------------------------------------- */

/* The state of the run in `path`: nothing there, begun, or done. */
typedef enum state {
    ABSENT,
    BEGUN,
    DONE
} state_t;

/* With SKN_VERIFY_ALL a damaged network is trained again, from an older
 * checkpoint, instead of being refused by the join. */
static state_t
state_of(const char *path, skn_verify_t verify)
{
    skn_error_t error = { 0 };
    skn_progress_t progress = { 0 };
    if (!skn_run_folder_begun(path))
        return ABSENT;
    skn_checkpoint_t *newest = skn_checkpoint_open(path, verify, &error);
    skn_status_t status =
        newest ? skn_progress_read(skn_checkpoint_metadata(newest), &progress,
                                   NULL, &error)
               : error.status;
    skn_checkpoint_close(&newest);
    return status == SKN_OK && progress.finished ? DONE : BEGUN;
}

/* Checks the best checkpoint of a network that is done, which the join will
 * use, before the others are trained. */
static skn_status_t
check_best(const ensemble_member_t *member, skn_error_t *error)
{
    char best[CLI_NETWORK_PATH_BYTES + 8];
    struct stat facts;
    (void)snprintf(best, sizeof(best), "%s/best", member->path);
    if (lstat(best, &facts) != 0)
        return SKN_OK;
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(best, SKN_VERIFY_ALL, error);
    skn_checkpoint_close(&checkpoint);
    return error->status == SKN_OK
               ? SKN_OK
               : skn_fail_hint(error, error->status,
                               "remove %.160s to train it again", member->path);
}

static skn_status_t
check_all_best(const cli_outcome_t *whole, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < whole->networks && status == SKN_OK; k++) {
        ensemble_member_t member = member_of(whole, k);
        if (state_of(member.path, SKN_VERIFY_LAZY) == DONE)
            status = check_best(&member, error);
    }
    return status;
}

static void
tell_member(const cli_call_t *call, const cli_outcome_t *whole,
            const ensemble_member_t *member, uint32_t k, state_t state)
{
    if (call->json) {
        (void)printf("{\"event\":\"network\",\"network\":%u,\"of\":%u"
                     ",\"seed\":%" PRId64 ",\"trained\":%s,\"path\":",
                     k + 1, whole->networks, member->seed,
                     state == DONE ? "true" : "false");
        cli_json_string(member->path, stdout);
        (void)fputs(",\"whole\":", stdout);
        cli_json_string(whole->path, stdout);
        (void)puts("}");
    } else {
        (void)printf("network %u of %u of %s, seed %" PRId64 "%s\n", k + 1,
                     whole->networks, whole->path, member->seed,
                     state == DONE ? ": already trained" : "");
    }
    (void)fflush(stdout);
}

static const cli_option_t *
option_of(const cli_call_t *call, const char *name)
{
    const cli_option_t *option = call->verb->options;
    while (option->name && strcmp(option->name, name) != 0)
        option++;
    return option;
}

/* Makes the call for one network from the call for the ensemble: the last
 * override wins. It resumes only if there is something to resume. */
static skn_status_t
call_of(const cli_call_t *call, const char *const own[OWN_OVERRIDES],
        state_t state, cli_call_t *one, skn_error_t *error)
{
    const cli_option_t *override = option_of(call, "override");
    const cli_option_t *resume = option_of(call, "resume");
    *one = *call;
    one->given_count = 0;
    for (size_t k = 0; k < call->given_count; k++)
        if (call->given[k].option != resume || state == BEGUN)
            one->given[one->given_count++] = call->given[k];
    if (one->given_count + OWN_OVERRIDES > CLI_VALUES_MAX)
        return skn_fail(error, SKN_USAGE,
                        "%zu options, which leave no room for those of the "
                        "networks of an ensemble",
                        call->given_count);
    for (size_t k = 0; k < OWN_OVERRIDES; k++) {
        one->given[one->given_count].option = override;
        one->given[one->given_count++].value = own[k];
    }
    return SKN_OK;
}

static int
train_one(const cli_call_t *call, const cli_outcome_t *whole,
          const ensemble_member_t *member, state_t state, bool *stopped)
{
    /* Standard input was already read, and the ensemble's folder has the
     * config. */
    const char *file = call->operands[0];
    char seed[48];
    cli_call_t one;
    cli_outcome_t outcome = { 0 };
    skn_error_t error = { 0 };
    char *path = skn_override_of("checkpoint.path", member->path, &error);
    (void)snprintf(seed, sizeof(seed), "train.seed=%" PRId64, member->seed);
    const char *const own[OWN_OVERRIDES] = { "train.ensemble=1",
                                             "train.ranker_trees=0", seed,
                                             path };
    skn_status_t status =
        path ? call_of(call, own, state, &one, &error) : error.status;
    const cli_training_t training = { .path = strcmp(file, "-") == 0
                                                  ? whole->path
                                                  : file,
                                      .outcome = &outcome,
                                      .member = true };
    int code = status == SKN_OK ? cli_training(&one, &training)
                                : cli_report(call, &error);
    free(path);
    *stopped = outcome.stopped || outcome.asked;
    return code;
}

/* --- the ensemble -------------------------------------------------------- */

/* Sets what signals do while nothing is trained, so that nothing has to be
 * saved: the networks are saved, and --resume repeats anything that is
 * interrupted. */
static void
heed_signals(const cli_call_t *call, const cli_outcome_t *whole,
             const char *sentence, bool unfinished)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (file && call->json) {
        (void)fputs("{\"event\":\"stopped\",\"path\":", file);
        cli_json_string(whole->path, file);
        (void)fputs("}\n", file);
    } else if (file) {
        (void)fprintf(file, "%s\n", sentence);
        cli_resume_command_write(call, whole->named ? NULL : whole->path, file);
    }
    if (file)
        (void)fclose(file);
    cli_stop_farewell(text, cli_requeue(call, 0, unfinished));
}

/* Prints the `done` event of the ensemble, with scores if there is a test
 * file. */
static skn_status_t
tell_whole(const cli_call_t *call, const cli_outcome_t *whole,
           skn_error_t *error)
{
    skn_trained_t trained;
    skn_progress_t progress = { 0 };
    skn_evaluation_t found = { 0 };
    skn_json_text_t done = { 0 };
    char sha256[SKN_SHA256_TEXT_BYTES];
    skn_status_t status =
        skn_trained_open(&trained, whole->path, SKN_VERIFY_LAZY, error);
    if (status == SKN_OK)
        status = skn_progress_load(trained.checkpoint, &progress, NULL, error);
    if (status == SKN_OK)
        status =
            skn_checkpoint_weights_sha256(trained.checkpoint, sha256, error);
    bool has_test = status == SKN_OK && trained.model->data.test[0];
    skn_trained_close(&trained);
    skn_predictor_t *predictor =
        has_test ? skn_predictor_open(whole->path, error) : NULL;
    if (has_test)
        status = predictor ? skn_evaluate(predictor, NULL, NULL, &found, error)
                           : error->status;
    skn_predictor_close(&predictor);
    if (status != SKN_OK)
        return status;
    if (has_test)
        progress.scores = found.scores;
    skn_progress_write_done(&progress, sha256, &done);
    if (!done.failed)
        cli_event_show(call, done.bytes);
    skn_json_text_fini(&done);
    return SKN_OK;
}

int
cli_ensemble_tell(const cli_call_t *call, const cli_outcome_t *whole)
{
    skn_error_t error = { 0 };
    heed_signals(call, whole, "stopped; to get the scores:", false);
    return tell_whole(call, whole, &error) == SKN_OK ? 0
                                                     : cli_report(call, &error);
}

/* Removes the ensemble's config: the joined network has a run.json now. */
static void
forget_config(const char *path)
{
    char name[SKN_TEXT_MAX + 32];
    (void)snprintf(name, sizeof(name), "%s/" SKN_RUN_CONFIG_ENSEMBLE, path);
    (void)unlink(name);
}

static skn_status_t
join(const cli_call_t *call, const cli_outcome_t *whole, skn_error_t *error)
{
    ensemble_member_t member[SKN_ENSEMBLE_MAX];
    const char *path[SKN_ENSEMBLE_MAX];
    skn_joined_t joined;
    for (uint32_t k = 0; k < whole->networks; k++) {
        member[k] = member_of(whole, k);
        path[k] = member[k].path;
    }
    skn_ranker_t ranker = { 0 };
    skn_join_extra_t extra = { .ranker = &ranker };
    skn_status_t status =
        whole->ranker_trees > 0
            ? cli_rank(call, path[0],
                       &(skn_rank_options_t){ .trees = whole->ranker_trees,
                                              .threads = whole->threads },
                       &ranker, &extra, error)
            : SKN_OK;
    if (status == SKN_OK)
        status = skn_join(whole->path, path, whole->networks, &extra, &joined,
                          error);
    skn_ranker_fini(&ranker);
    if (status != SKN_OK)
        return status;
    if (call->json) {
        (void)fputs("{\"event\":\"join\",\"run\":", stdout);
        (void)printf("\"%s\",\"path\":", joined.run_id);
        cli_json_string(whole->path, stdout);
        (void)printf(",\"networks\":%u,\"units\":%" PRIu64
                     ",\"parameters\":%" PRIu64 "}\n",
                     whole->networks, joined.units, joined.parameters);
    } else {
        (void)skn_text_print(
            stdout,
            "joined %u network%s: %" PRIu64
            " units, %.1f million parameters\nrun    %s\n",
            whole->networks,
            whole->networks > 1 ? "s side by side" : " and its ranker",
            joined.units, (double)joined.parameters * 1e-6, whole->path);
    }
    (void)fflush(stdout);
    /* The first network is removed last: its presence shows that there are
     * networks to remove. */
    for (uint32_t k = whole->networks; k-- > 0 && status == SKN_OK;)
        status = cli_folder_remove(path[k], error);
    forget_config(whole->path);
    return status == SKN_OK ? tell_whole(call, whole, error) : status;
}

static void
tell_stop(const cli_call_t *call, const cli_outcome_t *whole, uint32_t k,
          bool trained)
{
    if (call->json && trained) { /* otherwise the network has printed it */
        (void)fputs("{\"event\":\"stopped\",\"path\":", stdout);
        cli_json_string(whole->path, stdout);
        (void)puts("}");
    }
    if (call->json)
        return;
    (void)printf("stopped %s network %u of %u; ", trained ? "after" : "in",
                 k + 1, whole->networks);
    cli_resume_command_print(call,
                             "to continue:", whole->named ? NULL : whole->path);
}

static void
tell_early_stop(const cli_call_t *call, const cli_outcome_t *whole)
{
    if (call->json)
        (void)puts("{\"event\":\"stopped\",\"begun\":false}");
    else
        cli_resume_command_print(call,
                                 "stopped before the first network; to "
                                 "continue:",
                                 whole->named ? NULL : whole->path);
}

void
cli_ensemble_sweep(const char *path)
{
    skn_error_t error = { 0 };
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(path, SKN_VERIFY_LAZY, &error);
    const char *text = checkpoint ? skn_checkpoint_metadata(checkpoint) : "{}";
    json_t *metadata = json_loads(text, 0, NULL);
    const json_t *joined = json_object_get(metadata, "joined");
    for (uint32_t k = (uint32_t)json_array_size(joined); k-- > 0;) {
        char network[CLI_NETWORK_PATH_BYTES];
        const char *from = skn_json_word(json_array_get(joined, k), "path");
        size_t bytes = strlen(cli_network_path(path, k, network));
        if (strncmp(from, network, bytes) == 0 && from[bytes] == '/' &&
            cli_network_begun(path, k))
            (void)cli_folder_remove(network, &error);
    }
    if (checkpoint)
        forget_config(path);
    json_decref(metadata);
    skn_checkpoint_close(&checkpoint);
}

int
cli_ensemble(const cli_call_t *call, const cli_outcome_t *whole, bool *stopped)
{
    skn_error_t error = { 0 };
    bool is_resume = cli_flag(call, "resume");
    if (whole->asked) { /* during planning */
        *stopped = true;
        tell_early_stop(call, whole);
        return 0;
    }
    heed_signals(call, whole, "stopped; to continue:", true);
    if (is_resume && check_all_best(whole, &error) != SKN_OK)
        return cli_report(call, &error);
    for (uint32_t k = 0; k < whole->networks; k++) {
        ensemble_member_t member = member_of(whole, k);
        heed_signals(call, whole, "stopped; to continue:", true);
        state_t state = state_of(member.path, SKN_VERIFY_ALL);
        bool known = state == DONE && is_resume;
        tell_member(call, whole, &member, k, known ? DONE : ABSENT);
        if (known)
            continue;
        int code = train_one(call, whole, &member, state, stopped);
        bool trained = state_of(member.path, SKN_VERIFY_LAZY) == DONE;
        *stopped = code == 0 && (*stopped || !trained);
        if (*stopped)
            tell_stop(call, whole, k, trained);
        if (code != 0 || *stopped)
            return code;
    }
    heed_signals(call, whole,
                 "stopped, with all networks trained; to continue:", true);
    return join(call, whole, &error) == SKN_OK ? 0 : cli_report(call, &error);
}
