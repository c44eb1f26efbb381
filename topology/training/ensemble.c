/* ensemble.c - trains several networks one after the other, fits the ranker and
 * joins them: the thread's part of a training that has more than one run.
 *
 * Each network is an ordinary run with its own seed: if a stop or a power cut
 * ends one of them early, a resume keeps those that are done.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/training/ensemble.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/course/progress.h"
#include "formats/folder/folder.h"
#include "topology/config/shell_word.h"
#include "topology/predict/evaluate.h"
#include "topology/predict/join.h"
#include "topology/predict/rank.h"
#include "topology/run/run_config.h"
#include "topology/run/trained.h"
#include "topology/training/calibrating.h"
#include "topology/training/network_run.h"
#include "topology/training/networks.h"
#include "topology/training/training_events.h"
#include "topology/training/training_state.h"

/* The overrides of one network. */
#define OWN_OVERRIDES 4u

/* The networks of a training. */
typedef struct ensemble {
    skn_training_t *training;
    const char *path; /* the folder of the whole */
    uint32_t networks, ranker_trees, threads;
    int64_t seed; /* of the first network */
    bool is_resume;
} ensemble_t;

typedef struct ensemble_member {
    char path[SKN_NETWORK_PATH_BYTES];
    int64_t seed;
} ensemble_member_t;

static ensemble_member_t
member_of(const ensemble_t *ensemble, uint32_t k)
{
    ensemble_member_t member = { .seed = ensemble->seed + k };
    (void)skn_network_path(ensemble->path, k, member.path);
    return member;
}

static ensemble_t
ensemble_of(skn_training_t *training)
{
    const skn_network_run_t *whole = &training->whole;
    const skn_plan_t *plan = &whole->run.plan;
    const skn_model_train_t *train = &whole->run.model->train;
    return (ensemble_t){
        .training = training,
        .path = whole->path,
        .networks = (uint32_t)train->ensemble,
        .ranker_trees = (uint32_t)train->ranker_trees,
        .threads = plan->node_count > 0 ? plan->nodes[whole->run.node].units
                                        : plan->units,
        .seed = train->seed,
        .is_resume = whole->is_resume || whole->is_again,
    };
}

/* On several nodes each one trains its share of every network, and the first,
 * which has the run's folder, fits the ranker and joins them. */
static bool
leads(const skn_training_t *training)
{
    return training->whole.run.node == 0;
}

/* --- what may be trained -------------------------------------------------- */

/* Whether the result is joined from separately trained parts. */
static bool
has_parts(const skn_model_train_t *train)
{
    return train->ensemble > 1 || train->ranker_trees > 0;
}

/* Refuses networks that would be too large together. */
static skn_status_t
check_sizes(const skn_model_t *model, skn_error_t *error)
{
    const skn_model_train_t *train = &model->train;
    for (size_t k = 0; k + 1 < model->layer_count; k++) {
        const skn_model_layer_t *layer = &model->layers[k];
        if (train->ensemble * layer->units > SKN_HIDDEN_MAX)
            return skn_fail(error, SKN_BAD_CONFIG,
                            "layer %s of %" PRId64 " networks would have "
                            "%" PRId64 " units, at most %u allowed",
                            layer->name, train->ensemble,
                            train->ensemble * layer->units, SKN_HIDDEN_MAX);
    }
    if (train->ensemble > 1 &&
        train->seed > (int64_t)SKN_WHOLE_MAX - train->ensemble)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "train.seed is %" PRId64 ": the seeds of %" PRId64 " "
                        "networks would go beyond 2^53",
                        train->seed, train->ensemble);
    return SKN_OK;
}

/* A folder with networks of an ensemble belongs to the ensemble until they are
 * joined: a run.json without a checkpoint there is the ensemble's. */
static skn_status_t
check_folder(const skn_network_run_t *whole, bool begun, skn_error_t *error)
{
    bool is_resume = whole->is_resume || whole->is_again;
    if (!begun || (is_resume && has_parts(&whole->run.model->train)))
        return SKN_OK;
    (void)skn_fail(error, SKN_CANNOT_CREATE,
                   "%.200s holds networks that are not joined", whole->path);
    return skn_fail_hint(error, SKN_CANNOT_CREATE, "%s",
                         is_resume
                             ? "give the train.ensemble and train.ranker_trees "
                               "that it was started with, or another folder"
                             : "continue with --resume, or choose another "
                               "folder");
}

skn_status_t
skn_ensemble_check(skn_training_t *training, bool *is_ensemble,
                   skn_error_t *error)
{
    const skn_network_run_t *whole = &training->whole;
    const skn_resume_t *resume = &whole->run.resume;
    const skn_model_train_t *train = &whole->run.model->train;
    *is_ensemble = false;
    training->ranks_last = training->options.elastic && leads(training) &&
                           !training->options.predict &&
                           train->ranker_trees > 0;
    if (training->options.predict || training->options.elastic)
        return SKN_OK;
    if (!leads(training)) {
        *is_ensemble = has_parts(train);
        return check_sizes(whole->run.model, error);
    }
    bool begun = skn_networks_begun(whole->path, 0);
    skn_status_t status = has_parts(train)
                              ? skn_resume_single(resume, whole->path, error)
                              : SKN_OK;
    if (status != SKN_OK || resume->finished || resume->has_checkpoint ||
        (resume->has_run && !begun))
        return status;
    status = check_folder(whole, begun, error);
    if (status == SKN_OK && begun)
        status = skn_networks_fit(&whole->run, whole->path, error);
    if (status == SKN_OK)
        status = check_sizes(whole->run.model, error);
    *is_ensemble = status == SKN_OK && has_parts(train);
    return status;
}

/* --- one network ---------------------------------------------------------- */

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
    char best[SKN_NETWORK_PATH_BYTES + 8];
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
check_all_best(const ensemble_t *ensemble, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < ensemble->networks && status == SKN_OK; k++) {
        ensemble_member_t member = member_of(ensemble, k);
        if (state_of(member.path, SKN_VERIFY_LAZY) == DONE)
            status = check_best(&member, error);
    }
    return status;
}

static void
send_member(const ensemble_t *ensemble, const ensemble_member_t *member,
            uint32_t k, bool trained)
{
    skn_json_text_t event = { 0 };
    skn_json_text_add(&event,
                      "{\"event\":\"network\",\"network\":%u,\"of\":%u"
                      ",\"seed\":%" PRId64 ",\"trained\":%s,\"path\":",
                      k + 1, ensemble->networks, member->seed,
                      trained ? "true" : "false");
    skn_json_text_add_string(&event, member->path);
    skn_json_text_add(&event, ",\"whole\":");
    skn_json_text_add_string(&event, ensemble->path);
    skn_json_text_add(&event, "}");
    skn_training_send(ensemble->training, &event);
}

/* The overrides of the training, and after them those of the network: the last
 * one of a key counts. They are of the same kind as a user's, so that the
 * network is the one that a user would train by them. */
static skn_status_t
set_overrides(const skn_training_t *training, skn_network_run_t *network,
              const char *const own[OWN_OVERRIDES], skn_error_t *error)
{
    const skn_training_options_t *how = &training->options;
    uint32_t given = how->override_count;
    network->overrides =
        calloc(given + OWN_OVERRIDES, sizeof(*network->overrides));
    if (!network->overrides)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u overrides",
                        given + OWN_OVERRIDES);
    for (size_t k = 0; k < given; k++)
        network->overrides[k] = how->overrides[k];
    for (size_t k = 0; k < OWN_OVERRIDES; k++)
        network->overrides[given + k] = own[k];
    network->override_count = given + OWN_OVERRIDES;
    return SKN_OK;
}

/* Trains the network. */
static skn_status_t
train_member(const ensemble_t *ensemble, const ensemble_member_t *member,
             bool is_resume, skn_network_run_t *network, skn_error_t *error)
{
    char seed[48];
    char *path = skn_override_of("checkpoint.path", member->path, error);
    if (!path)
        return SKN_NO_MEMORY;
    (void)snprintf(seed, sizeof(seed), "train.seed=%" PRId64, member->seed);
    const char *const own[OWN_OVERRIDES] = { "train.ensemble=1",
                                             "train.ranker_trees=0", seed,
                                             path };
    network->is_resume = is_resume;
    skn_status_t status =
        set_overrides(ensemble->training, network, own, error);
    if (status == SKN_OK)
        status = skn_network_run_plan(ensemble->training, network, error);
    if (status == SKN_OK && !atomic_load(&ensemble->training->stop))
        status = skn_network_run_train(ensemble->training, network, error);
    free(path);
    return status;
}

/* Trains network `k` unless that was done before. Several nodes begin every
 * network together, since only the first one knows which are done: there, a
 * network that is done ends at once. *stopped: it was asked to stop, in it or
 * after it. */
static skn_status_t
take_member(const ensemble_t *ensemble, uint32_t k, bool *stopped,
            skn_error_t *error)
{
    skn_training_t *training = ensemble->training;
    bool is_leader = leads(training), is_node = training->options.node;
    ensemble_member_t member = member_of(ensemble, k);
    skn_training_set_network(training, k + 1, ensemble->networks);
    state_t state = is_leader ? state_of(member.path, SKN_VERIFY_ALL) : ABSENT;
    bool known = state == DONE && ensemble->is_resume;
    if (is_leader)
        send_member(ensemble, &member, k, known);
    if (known && !is_node)
        return SKN_OK;
    skn_network_run_t *network = calloc(1, sizeof(*network));
    if (!network)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a network");
    network->begins_with_others = is_node;
    network->part = is_node && ensemble->networks > 1 ? k + 1 : 0;
    skn_status_t status = train_member(
        ensemble, &member, ensemble->is_resume && (is_node || state == BEGUN),
        network, error);
    bool was_told = network->is_stopped; /* by its own event `stopped` */
    bool is_done = is_leader ? network->is_done : !network->is_stopped;
    *stopped = status == SKN_OK && (atomic_load(&training->stop) || !is_done);
    skn_network_run_fini(network);
    free(network);
    if (*stopped && !was_told && is_leader)
        skn_training_send_stopped(training, ensemble->path);
    return status;
}

/* --- the whole ------------------------------------------------------------ */

static skn_status_t
score(skn_training_t *training, const char *path, skn_error_t *error)
{
    skn_trained_t trained;
    skn_progress_t progress = { 0 };
    skn_evaluation_t found = { 0 };
    skn_json_text_t done = { 0 };
    char sha256[SKN_SHA256_TEXT_BYTES];
    skn_training_set_phase(training, SKN_TRAINING_JOINS);
    if (atomic_load(&training->stop)) { /* an evaluation takes long */
        skn_training_send_stopped(training, path);
        return SKN_OK;
    }
    skn_status_t status =
        skn_trained_open(&trained, path, SKN_VERIFY_LAZY, error);
    if (status == SKN_OK)
        status = skn_progress_load(trained.checkpoint, &progress, NULL, error);
    if (status == SKN_OK)
        status =
            skn_checkpoint_weights_sha256(trained.checkpoint, sha256, error);
    bool has_test = status == SKN_OK && (trained.model->data.test[0] ||
                                         trained.model->data.held_back > 0);
    skn_trained_close(&trained);
    if (has_test)
        skn_training_calibrate(training, path);
    skn_predictor_t *predictor =
        has_test ? skn_predictor_open(path, error) : NULL;
    if (has_test)
        status = predictor ? skn_evaluate(predictor, NULL, NULL, &found, error)
                           : error->status;
    skn_predictor_close(&predictor);
    if (status != SKN_OK)
        return status;
    if (has_test)
        progress.scores = found.scores;
    skn_progress_write_done(&progress, sha256, &done);
    skn_training_send(training, &done);
    training->whole.is_done = true;
    return SKN_OK;
}

skn_status_t
skn_ensemble_score(skn_training_t *training, skn_error_t *error)
{
    return score(training, training->whole.path, error);
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
fit_ranker(const ensemble_t *ensemble, const char *path, skn_ranker_t *ranker,
           skn_join_extra_t *extra, skn_error_t *error)
{
    skn_ranked_t ranked;
    skn_json_text_t event = { 0 };
    const skn_rank_options_t options = { .trees = ensemble->ranker_trees,
                                         .threads = ensemble->threads,
                                         .stop = &ensemble->training->stop };
    if (ensemble->ranker_trees == 0)
        return SKN_OK;
    skn_status_t status = skn_rank(ranker, path, &options, &ranked, error);
    extra->seconds = ranked.seconds;
    extra->cpu_seconds = ranked.cpu_seconds;
    if (status != SKN_OK)
        return status;
    skn_ranked_write_event(&ranked, options.trees, &event);
    skn_training_send(ensemble->training, &event);
    return SKN_OK;
}

static void
send_joined(const ensemble_t *ensemble, const skn_joined_t *joined)
{
    skn_json_text_t event = { 0 };
    skn_json_text_add(
        &event, "{\"event\":\"join\",\"run\":\"%s\",\"path\":", joined->run_id);
    skn_json_text_add_string(&event, ensemble->path);
    skn_json_text_add(&event,
                      ",\"networks\":%u,\"units\":%" PRIu64
                      ",\"parameters\":%" PRIu64 "}",
                      ensemble->networks, joined->units, joined->parameters);
    skn_training_send(ensemble->training, &event);
}

/* Fits the ranker to the first of the networks `path`, and joins them. */
static skn_status_t
join_paths(const ensemble_t *ensemble, const char *const *path,
           skn_join_extra_t *extra, skn_error_t *error)
{
    skn_joined_t joined;
    skn_ranker_t ranker = { 0 };
    extra->ranker = &ranker;
    skn_status_t status = fit_ranker(ensemble, path[0], &ranker, extra, error);
    if (status == SKN_OK)
        status = skn_join(ensemble->path, path, ensemble->networks, extra,
                          &joined, error);
    skn_ranker_fini(&ranker);
    if (status == SKN_OK)
        send_joined(ensemble, &joined);
    return status;
}

static skn_status_t
join(const ensemble_t *ensemble, skn_error_t *error)
{
    ensemble_member_t member[SKN_ENSEMBLE_MAX];
    const char *path[SKN_ENSEMBLE_MAX];
    skn_join_extra_t extra = { 0 };
    for (uint32_t k = 0; k < ensemble->networks; k++) {
        member[k] = member_of(ensemble, k);
        path[k] = member[k].path;
    }
    skn_status_t status = join_paths(ensemble, path, &extra, error);
    if (status != SKN_OK)
        return status;
    /* The first network is removed last: its presence shows that there are
     * networks to remove. */
    for (uint32_t k = ensemble->networks; k-- > 0 && status == SKN_OK;)
        status = skn_folder_remove_tree(path[k], error);
    forget_config(ensemble->path);
    return status == SKN_OK ? skn_ensemble_score(ensemble->training, error)
                            : status;
}

void
skn_ensemble_sweep(const char *path)
{
    skn_error_t error = { 0 };
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(path, SKN_VERIFY_LAZY, &error);
    const char *text = checkpoint ? skn_checkpoint_metadata(checkpoint) : "{}";
    json_t *metadata = skn_json_read(text);
    const json_t *joined = json_object_get(metadata, "joined");
    for (uint32_t k = (uint32_t)json_array_size(joined); k-- > 0;) {
        char network[SKN_NETWORK_PATH_BYTES];
        const char *from = skn_json_word(json_array_get(joined, k), "path");
        size_t bytes = strlen(skn_network_path(path, k, network));
        if (strncmp(from, network, bytes) == 0 && from[bytes] == '/' &&
            skn_network_begun(path, k))
            (void)skn_folder_remove_tree(network, &error);
    }
    if (checkpoint)
        forget_config(path);
    json_decref(metadata);
    skn_checkpoint_close(&checkpoint);
}

static skn_status_t
begin(const ensemble_t *ensemble, skn_error_t *error)
{
    skn_training_t *training = ensemble->training;
    skn_training_send_auto(training, &training->whole.run);
    skn_status_t status = skn_run_config_keep(
        ensemble->path, &training->whole.run.whole, ensemble->is_resume, error);
    return status == SKN_OK && ensemble->is_resume
               ? check_all_best(ensemble, error)
               : status;
}

skn_status_t
skn_ensemble_train(skn_training_t *training, skn_error_t *error)
{
    const ensemble_t ensemble = ensemble_of(training);
    bool stopped = false;
    skn_status_t status = leads(training) ? begin(&ensemble, error) : SKN_OK;
    for (uint32_t k = 0; k < ensemble.networks && status == SKN_OK && !stopped;
         k++)
        status = take_member(&ensemble, k, &stopped, error);
    training->was_stopped = stopped;
    if (status != SKN_OK || stopped || !leads(training))
        return status;
    skn_training_set_phase(training, SKN_TRAINING_JOINS);
    status = join(&ensemble, error);
    if (status == SKN_UNAVAILABLE && atomic_load(&training->stop)) {
        training->was_stopped = true;
        skn_training_send_stopped(training, ensemble.path);
        status = SKN_OK;
    }
    return status;
}

/* --- nodes that come and go ----------------------------------------------- */

/* Refuses if this machine, which leads by chance, lacks the memory. */
static skn_status_t
check_memory(const skn_training_t *training, skn_error_t *error)
{
    uint64_t needs = training->whole.run.plan.after_bytes;
    uint64_t available = skn_memory_available_bytes();
    return needs <= available
               ? SKN_OK
               : skn_fail(error, SKN_NO_MEMORY,
                          "about %" PRIu64 " MiB of memory are needed, %" PRIu64
                          " MiB are available",
                          needs >> 20, available >> 20);
}

/* Goes on with the network alone, which the folders of the nodes have. */
static void
leave_ranker(skn_training_t *training, const char *top,
             const skn_error_t *error)
{
    char text[SKN_ERROR_TEXT_BYTES], hint[SKN_ERROR_TEXT_BYTES];
    char word[SKN_SHELL_WORD_BYTES];
    (void)snprintf(text, sizeof(text), "the ranker is left out: %.400s",
                   error->text);
    (void)snprintf(
        hint, sizeof(hint),
        "where the folders of all nodes are, `skein join %.200s --trees "
        "%" PRId64 " --into FOLDER` adds it",
        skn_shell_word(top, word),
        training->whole.run.model->train.ranker_trees);
    skn_training_warn(training, text, hint);
    if (training->done)
        skn_line_queue_put(&training->task.queue, training->done);
}

/* The whole model is there; its scores are those of the network alone. */
static void
warn_unscored(skn_training_t *training, const skn_error_t *error)
{
    char text[SKN_ERROR_TEXT_BYTES];
    (void)snprintf(text, sizeof(text),
                   "the model with its ranker is not scored: %.400s",
                   error->text);
    skn_training_warn(training, text, "`skein eval` scores it");
    if (training->done)
        skn_line_queue_put(&training->task.queue, training->done);
}

skn_status_t
skn_ensemble_rank(skn_training_t *training, skn_error_t *error)
{
    const skn_network_run_t *whole = &training->whole;
    const char *slash = strrchr(whole->path, '/');
    char top[SKN_TEXT_MAX];
    (void)snprintf(top, sizeof(top), "%.*s",
                   slash ? (int)(slash - whole->path) : 1,
                   slash ? whole->path : ".");
    const char *const paths[] = { whole->path };
    ensemble_t ensemble = ensemble_of(training);
    ensemble.path = top;
    ensemble.networks = 1;
    skn_join_extra_t extra = { .run_id = whole->run_id,
                               .generation = training->options.generation + 1 };
    skn_training_set_network(training, 1, 1);
    skn_training_set_phase(training, SKN_TRAINING_JOINS);
    bool is_joined =
        skn_resume_joined_in(top); /* by a leader that died since */
    skn_status_t status = is_joined ? SKN_OK : check_memory(training, error);
    if (status == SKN_OK && !is_joined)
        status = join_paths(&ensemble, paths, &extra, error);
    is_joined = status == SKN_OK;
    if (is_joined)
        status = score(training, top, error);
    if (status == SKN_OK)
        return SKN_OK;
    if (atomic_load(&training->stop)) {
        training->was_stopped = true;
        skn_training_send_stopped(training, top);
    } else if (is_joined) {
        warn_unscored(training, error);
    } else {
        leave_ranker(training, top, error);
    }
    return SKN_OK;
}
