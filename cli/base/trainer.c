/* training.c - starts the run of a model file and follows it to its end.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/auto_report.h"
#include "cli/base/follow.h"
#include "cli/base/networks.h"
#include "cli/base/process.h"
#include "cli/base/supervise.h"
#include "cli/base/training.h"
#include "formats/text/json_text.h"
#include "formats/checkpoint/manifest.h"
#include "topology/run/model_run.h"
#include "topology/run/shortfall.h"
#include "topology/run/run_config.h"
#include "transport/socket/clock.h"

/* The digits of a run's id that remain before the 8 digits of the
 * generation. */
#define LINK_RUN_DIGITS (SKN_RUN_ID_BYTES - 9)

/* The interval at which the bar is redrawn. */
#define PROGRESS_MS 200

/* The state that survives a death of the worker, and the place of the run. */
typedef struct job {
    volatile bool begun; /* training has begun, or may have */
    char run_path[SKN_TEXT_MAX];
    char run_id[SKN_RUN_ID_BYTES];
    char link_id[SKN_RUN_ID_BYTES];
    const cli_training_t *training;
    cli_yielding_options_t yielding; /* valid if `yielding_known` */
    volatile bool yielding_known;
    volatile bool stopped; /* it was asked to stop before it was done */
    cli_outcome_t outcome; /* networks that are not trained here; without a
                            * path */
} job_t;

/* The parent's state for yielding. */
typedef struct yielding {
    const cli_call_t *call;
    const job_t *job;
    cli_yielding_t *yielding;
    bool tried;
} yielding_t;

static void
warn_shortfall(const cli_call_t *call, const skn_model_run_t *run)
{
    const skn_plan_t *plan = &run->plan;
    skn_shortfall_model(run->model, run->node, cli_warn_to, call);
    bool nodes = plan->node_count > 0;
    skn_shortfall_quota("", nodes ? plan->nodes[run->node].units : plan->units,
                        nodes ? "set its `cores` in the file to "
                              : SKN_SHORTFALL_CORES,
                        cli_warn_to, call);
}

/* Warns that `auto` offloads Adam's moments to a file, which makes the run
 * slower. */
static void
warn_offload(const cli_call_t *call, const skn_plan_t *plan,
             const char *run_path)
{
    char text[SKN_ERROR_TEXT_BYTES];
    if (plan->offload_bytes == 0 || !plan->offload_auto)
        return;
    (void)snprintf(text, sizeof(text),
                   "adam's moments do not fit into memory: %" PRIu64 " MiB go "
                   "to an unnamed file in %.300s",
                   plan->offload_bytes >> 20,
                   skn_plan_offload_path(plan->model, run_path));
    cli_warn(call, text,
             "optimizer adagrad needs no file; train.optimizer.offload_path "
             "sets another folder");
}

/* Warns that no points are held back for validation: then there is no best
 * model and no early stopping. */
static void
warn_validate(const cli_call_t *call, const skn_model_run_t *run)
{
    char text[SKN_ERROR_TEXT_BYTES];
    if (run->model->train.validate <= 0.0 || run->plan.data.validate_points > 0)
        return;
    (void)skn_text_write(
        text, sizeof(text),
        "train.validate=%g holds back none of %" PRIu64 " points",
        run->model->train.validate, run->plan.data.train_points);
    cli_warn(call, text, "the newest model counts as the best one");
}

void
cli_training_notes(const cli_call_t *call, const skn_plan_t *plan)
{
    for (uint32_t k = 0; k < plan->data.note_count; k++)
        cli_warn(call, plan->data.note[k].text, plan->data.note[k].hint);
}

/* Prints ,"auto":{...}. */
static void
print_chosen(skn_model_run_t *run)
{
    json_t *chosen = cli_auto_report(&run->plan, run->model);
    char *text =
        chosen ? json_dumps(chosen, JSON_COMPACT | JSON_REAL_PRECISION(12))
               : NULL;
    (void)printf(",\"auto\":%s", text ? text : "{}");
    free(text);
    json_decref(chosen);
}

/* Prints the choices for people, once: the networks of an ensemble share
 * them. */
static void
tell_chosen(skn_model_run_t *run)
{
    json_t *chosen = cli_auto_report(&run->plan, run->model);
    cli_auto_report_print(chosen, stdout);
    json_decref(chosen);
}

static void
announce(const cli_call_t *call, skn_model_run_t *run, const job_t *job)
{
    const skn_plan_t *plan = &run->plan;
    if (call->json) {
        (void)printf("{\"event\":\"start\",\"run\":\"%s\",\"config\":",
                     job->run_id);
        cli_json_string(run->model->source, stdout);
        (void)printf(",\"parameters\":%" PRIu64 ",\"actors\":%u"
                     ",\"memory_mb\":%" PRIu64 ",\"offload_mb\":%" PRIu64
                     ",\"path\":",
                     plan->parameters, run->actor_count,
                     plan->memory_bytes >> 20, plan->offload_bytes >> 20);
        cli_json_string(job->run_path, stdout);
        (void)printf(",\"unlabelled\":%" PRIu64 ",\"featureless\":%" PRIu64,
                     plan->data.unlabelled, plan->data.featureless);
        print_chosen(run);
        (void)puts("}");
    } else {
        char file[48] = "";
        if (plan->offload_bytes > 0)
            (void)snprintf(file, sizeof(file), ", %" PRIu64 " MiB in a file",
                           plan->offload_bytes >> 20);
        (void)skn_text_print(
            stdout,
            "data   %" PRIu64 " training points, %u features, %u labels, %.2f "
            "per point; %" PRIu64 " test points\n",
            plan->data.train_points, plan->data.features, plan->data.labels,
            plan->data.labels_per_point, plan->data.test_points);
        if (plan->data.unlabelled > 0 || plan->data.featureless > 0)
            (void)printf("       %" PRIu64 " points without labels are not "
                         "trained on, %" PRIu64 " without features are\n",
                         plan->data.unlabelled, plan->data.featureless);
        (void)skn_text_print(
            stdout,
            "model  %.1f million parameters, %u actors on %u unit%s, "
            "about %" PRIu64 " MiB of memory%s\nrun    %s\n",
            (double)plan->parameters * 1e-6, run->actor_count, plan->units,
            plan->units == 1 ? "" : "s", plan->memory_bytes >> 20, file,
            job->run_path);
        if (!job->training->member)
            tell_chosen(run);
    }
    (void)fflush(stdout);
}

static void
announce_resume(const cli_call_t *call, const skn_model_run_t *run,
                const job_t *job)
{
    if (run->resume.warning[0])
        cli_warn(call, run->resume.warning, "an older checkpoint is used");
    if (!run->resume.has_checkpoint && job->training->from)
        return; /* it was meant to start at batch 0 */
    if (!run->resume.has_checkpoint) {
        cli_warn(call, "there is no complete checkpoint to resume from",
                 "the run starts at batch 0");
        return;
    }
    skn_json_text_t event = { 0 };
    skn_json_text_add(&event, "{\"event\":\"resume\",\"path\":");
    skn_json_text_add_string(&event, job->run_path);
    skn_json_text_add(&event, ",\"batch\":%" PRIu64 "}", run->resume.batch);
    if (!event.failed)
        cli_event_show(call, event.bytes);
    skn_json_text_fini(&event);
}

/* Makes the id that links compare, from the run and its generation, so that
 * nodes of an older generation cannot talk to nodes of a newer one. */
static void
name_links(job_t *job)
{
    memcpy(job->link_id, job->run_id, sizeof(job->link_id));
    if (job->run_id[0] && job->training->generation > 0)
        (void)snprintf(job->link_id + LINK_RUN_DIGITS,
                       sizeof(job->link_id) - LINK_RUN_DIGITS, "%08" PRIx32,
                       (uint32_t)job->training->generation);
}

/* Whether a coordinator may continue from this node's state when another node
 * dies. */
static bool
may_cut(const skn_model_run_t *run, const job_t *job)
{
    return job->training->lease && !job->training->predict &&
           run->model->coordinator.recovery == SKN_RECOVERY_PARTIAL;
}

/* The start options of a run with several nodes. */
static skn_start_options_t
start_options(const skn_model_run_t *run, job_t *job, bool is_resume)
{
    const skn_model_idle_t *idle = &run->model->idle;
    name_links(job);
    return (skn_start_options_t){
        .node = run->node,
        .run_id =
            run->model->node_count > 0 && job->run_id[0] ? job->link_id : NULL,
        .wait_s = job->training->wait_s,
        .data_hash = run->data_hash,
        .resume = is_resume,
        .predict = job->training->predict != NULL,
        .tells_traffic = job->training->lease,
        .keeps_state = may_cut(run, job),
        .send_bytes_per_s =
            idle->enabled ? (uint64_t)(idle->bandwidth * 1e6 / 8.0) : 0,
        .background = idle->enabled,
    };
}

static int
go(const cli_call_t *call, skn_model_run_t *run, job_t *job, bool is_resume,
   uint64_t begin_ns)
{
    skn_start_options_t options = start_options(run, job, is_resume);
    if (run->resume.finished) {
        announce_resume(call, run, job);
        if (is_resume)
            cli_warn(call, "this run has finished: there is nothing to train",
                     "to train another model, or more epochs, start a new run "
                     "with another checkpoint.path");
        job->outcome.joined = run->resume.joined && job->training->outcome;
        if (!job->outcome.joined)
            cli_event_show(call, run->resume.done.bytes);
        return 0;
    }
    if (run->node == 0 && job->training->predict)
        cli_training_notes(call, &run->plan);
    if (run->node == 0 && !job->training->predict) {
        if (is_resume)
            announce_resume(call, run, job);
        if (run->left_nodes > 0)
            cli_warn(call,
                     "the run continues in this one process; once it has "
                     "saved, its nodes cannot continue it",
                     "to continue on the nodes, stop now and use `skein up`");
        announce(call, run, job);
        cli_training_notes(call, &run->plan);
        warn_validate(call, run);
        warn_offload(call, &run->plan, job->run_path);
    }
    warn_shortfall(call, run);
    cli_follow_t follow = {
        .options = &options,
        .begun = run->model->node_count > 0 ? NULL : &job->begun,
        .stopped = &job->stopped,
        .leash = job->training->leash,
        .lease = job->training->lease,
        .salvage_path = may_cut(run, job) ? job->run_path : NULL,
        .generation = job->training->generation,
        .stop = { .run_path = job->run_path,
                  .is_named = job->outcome.named,
                  .is_part = job->training->member },
        .prepare_ns = skn_monotonic_ns() - begin_ns,
    };
    return cli_follow(call, &run->topology, &follow);
}

/* Passes the settings `idle:` of the model file to the parent, which applies
 * them. */
static void
leave_to_parent(void *shared, const skn_model_t *model)
{
    job_t *job = shared;
    job->outcome.named = model->checkpoint.path[0] != '\0' &&
                         strcmp(job->training->path, "-") != 0;
    if (!model->idle.enabled)
        return;
    cli_yielding_worker();
    if (job->yielding_known)
        return;
    cli_yielding_options_of(&model->idle, job->training->node == NULL,
                            &job->yielding);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    job->yielding_known = true;
}

static cli_yielding_wish_t
look(void *state, pid_t worker)
{
    yielding_t *yielding_state = state;
    skn_error_t error = { 0 };
    if (!yielding_state->job->yielding_known)
        return CLI_YIELDING_STAY;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (!yielding_state->yielding && !yielding_state->tried) {
        yielding_state->tried = true;
        yielding_state->yielding = cli_yielding_open(
            yielding_state->call, &yielding_state->job->yielding, &error);
        if (!yielding_state->yielding)
            cli_warn(yielding_state->call, error.text,
                     "the run does not give way");
    }
    return yielding_state->yielding
               ? cli_yielding_step(yielding_state->yielding, worker)
               : CLI_YIELDING_STAY;
}

static void
hurry(void *state)
{
    yielding_t *yielding_state = state;
    if (yielding_state->yielding)
        cli_yielding_hurry(yielding_state->yielding);
}

/* Whether the result is joined from separately trained parts. */
static bool
has_parts(const skn_model_train_t *train)
{
    return train->ensemble > 1 || train->ranker_trees > 0;
}

/* A folder with networks of an ensemble belongs to the ensemble until they are
 * joined: a run.json without a checkpoint there is the ensemble's. */
static skn_status_t
check_ensemble(const skn_model_run_t *run, const job_t *job, bool is_resume,
               skn_error_t *error)
{
    const skn_model_train_t *train = &run->model->train;
    bool begun = cli_networks_begun(job->run_path, 0);
    if (begun && (!is_resume || !has_parts(train))) {
        (void)skn_fail(error, SKN_CANNOT_CREATE,
                       "%.200s holds networks that are not joined",
                       job->run_path);
        return skn_fail_hint(error, SKN_CANNOT_CREATE, "%s",
                             is_resume
                                 ? "give the train.ensemble and "
                                   "train.ranker_trees that it was started "
                                   "with, or another folder"
                                 : "continue with --resume, or choose another "
                                   "folder");
    }
    skn_status_t status =
        begun ? cli_networks_fit(run, job->run_path, error) : SKN_OK;
    for (size_t k = 0; k + 1 < run->model->layer_count; k++) {
        const skn_model_layer_t *layer = &run->model->layers[k];
        if (status == SKN_OK && train->ensemble * layer->units > SKN_HIDDEN_MAX)
            status =
                skn_fail(error, SKN_BAD_CONFIG,
                         "layer %s of %" PRId64 " networks would have %" PRId64
                         " units, at most %u allowed",
                         layer->name, train->ensemble,
                         train->ensemble * layer->units, SKN_HIDDEN_MAX);
    }
    if (status == SKN_OK && train->ensemble > 1 &&
        train->seed > (int64_t)SKN_WHOLE_MAX - train->ensemble)
        status = skn_fail(error, SKN_BAD_CONFIG,
                          "train.seed is %" PRId64 ": the seeds of %" PRId64 " "
                          "networks would go beyond 2^53",
                          train->seed, train->ensemble);
    return status;
}

/* Prints the choices for the ensemble before its networks are trained. */
static void
tell_whole(const cli_call_t *call, skn_model_run_t *run)
{
    if (call->json) {
        (void)fputs("{\"event\":\"auto\"", stdout);
        print_chosen(run);
        (void)puts("}");
    } else {
        tell_chosen(run);
    }
    (void)fflush(stdout);
}

/* Sets *left if the caller has several networks to train, which is not so if
 * the folder has a run of a single network. */
static skn_status_t
leave_ensemble(const cli_call_t *call, skn_model_run_t *run, job_t *job,
               bool is_resume, bool *left, skn_error_t *error)
{
    const skn_model_train_t *train = &run->model->train;
    bool begun = cli_networks_begun(job->run_path, 0);
    skn_status_t status = SKN_OK;
    *left = false;
    if (job->training->outcome && has_parts(train))
        status = skn_resume_single(&run->resume, job->run_path, error);
    if (status != SKN_OK || !job->training->outcome ||
        run->resume.has_checkpoint || (run->resume.has_run && !begun))
        return status;
    status = check_ensemble(run, job, is_resume, error);
    *left = status == SKN_OK && has_parts(train);
    if (*left) {
        job->outcome = (cli_outcome_t){
            .networks = (uint32_t)train->ensemble,
            .ranker_trees = (uint32_t)train->ranker_trees,
            .threads = run->plan.units,
            .seed = train->seed,
            .named = job->outcome.named,
        };
        tell_whole(call, run);
        status =
            skn_run_config_keep(job->run_path, &run->whole, is_resume, error);
    }
    return status;
}

static int
work(const cli_call_t *call, void *shared, int attempt)
{
    job_t *job = shared;
    const char *overrides[CLI_VALUES_MAX];
    skn_error_t error = { 0 };
    skn_problems_t *problems = skn_problems_new(&error);
    skn_model_run_t run = { 0 };
    bool left = false,
         shown = cli_bar_possible(call) || job->training->progress;
    int code = 0;
    uint64_t begin_ns = skn_monotonic_ns();
    skn_model_run_options_t options = {
        .path = job->training->path,
        .overrides = overrides,
        .override_count = cli_overrides(call, overrides),
        .progress_ms = shown ? PROGRESS_MS : 0,
        .resume = cli_flag(call, "resume") || job->training->from,
        .from = job->training->from,
        .generation = job->training->generation,
        .patience_s = job->training->patience_s,
        .again = attempt > 0,
        .must_be_new = true,
        .from_run = cli_is_folder(job->training->path),
        .node = job->training->node,
        .predict = job->training->predict,
        .predict_labels = job->training->labels,
        .run_path = job->run_path,
        .run_id = job->run_id,
        .on_model = leave_to_parent,
        .on_model_state = job,
    };
    job->stopped = false;
    if (!problems)
        return cli_report(call, &error);
    skn_status_t status = skn_model_run_open(&run, &options, problems, &error);
    if (skn_problems_count(problems) > 0)
        code = cli_report_problems(call, problems);
    else if (status != SKN_OK)
        code = cli_report(call, &error);
    else if (leave_ensemble(call, &run, job, options.resume, &left, &error) !=
             SKN_OK)
        code = cli_report(call, &error);
    else if (!left)
        code = go(call, &run, job, options.resume || options.again, begin_ns);
    skn_model_run_close(&run);
    skn_problems_destroy(&problems);
    return code;
}

int
cli_training(const cli_call_t *call, const cli_training_t *training)
{
    job_t *job = cli_shared_new(sizeof(*job));
    skn_error_t error = { 0 };
    if (!job) {
        (void)skn_fail(&error, SKN_NO_MEMORY,
                       "no memory to share with a worker process");
        return cli_report(call, &error);
    }
    job->training = training;
    if (training->run_id) {
        if (strlen(training->run_id) + 1 != sizeof(job->run_id)) {
            (void)skn_fail(&error, SKN_USAGE,
                           "the run id '%.40s' is not 32 hex digits",
                           training->run_id);
            return cli_report(call, &error);
        }
        memcpy(job->run_id, training->run_id, sizeof(job->run_id));
    }
    yielding_t yielding_state = { .call = call, .job = job };
    bool asked = false;
    const cli_parent_work_t parent = { .step = look,
                                       .hurry = hurry,
                                       .state = &yielding_state,
                                       .gives_memory = training->node == NULL,
                                       .stopped = &job->stopped,
                                       .asked = &asked,
                                       .leashed = training->leash,
                                       .leased = training->lease };
    /* The death of one node ends the run, because the other nodes depend on its
     * state: no restart. */
    int code = cli_supervise(call, work, job,
                             training->node ? NULL : &job->begun, &parent);
    cli_yielding_close(&yielding_state.yielding);
    if (training->stopped)
        *training->stopped = job->stopped;
    if (training->outcome) {
        *training->outcome = job->outcome;
        training->outcome->stopped = job->stopped;
        training->outcome->asked = asked;
        memcpy(training->outcome->path, job->run_path, sizeof(job->run_path));
    }
    return code;
}
