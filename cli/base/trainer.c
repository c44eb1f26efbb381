/* trainer.c - runs one training in a worker process: its options, and what the
 * parent does beside it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/trainer.h"

#include <string.h>

#include "cli/base/follow.h"
#include "cli/base/process.h"
#include "cli/base/supervise.h"
#include "cli/base/train_loop.h"
#include "cli/base/trace_events.h"
#include "cli/base/worker_yielding.h"
#include "formats/checkpoint/manifest.h"

/* The interval at which the bar is redrawn. */
#define PROGRESS_MS 200

/* The state that a dead worker leaves to the next one. */
typedef struct job {
    const cli_training_t *training;
    char run_path[SKN_TEXT_MAX]; /* "": not known yet */
    char run_id[SKN_RUN_ID_BYTES];
    cli_yielding_share_t yielding;
    volatile bool is_unnamed; /* the command does not name its run's folder */
    volatile bool begun;      /* training has begun, or may have */
    volatile bool stopped;    /* it was asked to stop before it was done */
} job_t;

/* Whether the path may name something else when it is read again: standard
 * input, and the newest run (FOLDER/latest). */
static bool
is_passing(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(path, "-") == 0 ||
           strcmp(slash ? slash + 1 : path, "latest") == 0;
}

/* --- the worker ----------------------------------------------------------- */

/* Keeps for the parent, and for the next worker, what is known of the run. */
static void
note(void *shared, const skn_training_info_t *info)
{
    job_t *job = shared;
    if (info->idle)
        cli_yielding_share(&job->yielding, info->idle,
                           job->training->node == NULL);
    if (info->path[0] && !job->run_path[0]) {
        (void)snprintf(job->run_path, sizeof(job->run_path), "%s", info->path);
        (void)snprintf(job->run_id, sizeof(job->run_id), "%s", info->run_id);
        job->is_unnamed =
            info->path_is_chosen || strcmp(job->training->path, "-") == 0;
    }
    if (info->has_begun && !job->training->node)
        job->begun = true;
}

static int
work(const cli_call_t *call, void *shared, int attempt)
{
    job_t *job = shared;
    const cli_training_t *how = job->training;
    const char *overrides[CLI_VALUES_MAX];
    skn_error_t error = { 0 };
    cli_trace_events_t trace = { "" };
    uint32_t warn_after_s = 0;
    bool again = attempt > 0 && job->run_path[0];
    bool progress = cli_bar_possible(call) || how->progress;
    skn_training_options_t options = {
        .struct_bytes = sizeof(options),
        .overrides = overrides,
        .override_count = (uint32_t)cli_overrides(call, overrides),
        .resume = cli_flag(call, "resume"),
        .path = again ? job->run_path : NULL,
        .run_id = again ? job->run_id : how->run_id,
        .progress_ms = progress ? PROGRESS_MS : 0,
        .stop_s = how->patience_s,
        .trace_path = cli_value(call, "trace"),
        .wire = cli_flag(call, "wire"),
        .no_binding = cli_flag(call, "no-binding"),
        .report = cli_flag(call, "report"),
        .node = how->node,
        .wait_s = how->wait_s,
        .from = how->from,
        .generation = how->generation,
        .elastic = how->lease,
        .predict = how->predict,
        .predict_labels = how->labels,
    };
    job->stopped = false;
    if (cli_count(call, "warn-after", CLI_WAIT_S_MAX, &warn_after_s, &error) !=
            SKN_OK ||
        cli_trace_events_begin(&trace, call, &options.trace_path,
                               &options.trace_origin_ns, &error) != SKN_OK)
        return cli_report(call, &error);
    options.warn_after_ms = warn_after_s * 1000;
    cli_train_loop_t loop = {
        /* The first worker has read it; the run has the config. */
        .path = again && is_passing(how->path) ? job->run_path : how->path,
        .options = &options,
        .leash = how->leash,
        .lease = how->lease,
        .note = note,
        .job = job,
        .run_path = job->run_path,
        .is_unnamed = &job->is_unnamed,
        .begun = &job->begun,
        .stopped = &job->stopped,
    };
    int code = cli_train_loop(call, &loop);
    cli_trace_events_end(&trace, code == 0);
    if (loop.unread && code == 0)
        return cli_output_end_unread();
    return code;
}

/* --- the parent ----------------------------------------------------------- */

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
    cli_yielding_watch_t watch = { .call = call, .share = &job->yielding };
    const cli_parent_work_t parent = { .step = cli_yielding_look,
                                       .hurry = cli_yielding_hasten,
                                       .state = &watch,
                                       .gives_memory = training->node == NULL,
                                       .stopped = &job->stopped,
                                       .leashed = training->leash,
                                       .leased = training->lease };
    /* The death of one node ends the run, because the other nodes depend on its
     * state: no restart. */
    int code = cli_supervise(call, work, job,
                             training->node ? NULL : &job->begun, &parent);
    cli_yielding_close(&watch.yielding);
    *training->stopped = job->stopped;
    return code;
}
