/* training.c - trains a model from its config: the host's side, and the thread
 * that does the work.
 *
 * This file owns: the copy of the options, the orders of the host, the thread
 * and the order of its work.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/training.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "actors/machine/usage.h"
#include "formats/text/abi.h"
#include "topology/run/run_config.h"
#include "topology/run/trained.h"
#include "topology/training/calibrating.h"
#include "topology/training/ensemble.h"
#include "topology/training/network_run.h"
#include "topology/training/networks.h"
#include "topology/training/training_events.h"
#include "topology/training/training_internal.h"
#include "topology/training/training_state.h"

/* The struct of the first version ends with this member. */
#define OPTIONS_BYTES_MIN                                                      \
    (offsetof(skn_training_options_t, predict_labels) + sizeof(uint32_t))
#define PREDICT_LABELS 5u

/* Wakes the training's thread, and the host's loop: it may be what a signal
 * handler has to reach. */
static void
wake(skn_training_t *training)
{
    skn_task_order(&training->task, 1);
    skn_line_queue_wake(&training->task.queue);
}

/* --- new and destroy ------------------------------------------------------ */

static skn_status_t
check_options(const skn_training_options_t *options, skn_error_t *error)
{
    skn_status_t status =
        skn_abi_check_grown("the training's options", options->struct_bytes,
                            OPTIONS_BYTES_MIN, sizeof(*options), error);
    if (status != SKN_OK)
        return status;
    if (options->run_id && options->run_id[0] &&
        strlen(options->run_id) + 1 != SKN_RUN_ID_BYTES)
        return skn_fail(error, SKN_USAGE,
                        "the run id '%.40s' is not 32 hex digits",
                        options->run_id);
    if (options->progress_ms > SKN_PROGRESS_MS_MAX)
        return skn_fail(error, SKN_USAGE,
                        "progress_ms is %u, at most %u allowed",
                        options->progress_ms, SKN_PROGRESS_MS_MAX);
    if (options->stop_s > SKN_STOP_S_MAX)
        return skn_fail(error, SKN_USAGE, "stop_s is %u, at most %u allowed",
                        options->stop_s, SKN_STOP_S_MAX);
    skn_from_t from;
    if (options->from && options->from[0] &&
        skn_from_parse(options->from, &from, error) != SKN_OK)
        return SKN_USAGE;
    if (options->path && strlen(options->path) >= SKN_TEXT_MAX)
        return skn_fail(error, SKN_USAGE,
                        "the path of the run has %zu bytes, at most %u allowed",
                        strlen(options->path), SKN_TEXT_MAX - 1);
    return SKN_OK;
}

/* Copies the options with all texts that they point to; "" becomes NULL. */
static skn_status_t
own_options(skn_training_t *training, skn_error_t *error)
{
    skn_training_options_t *how = &training->options;
    const char **texts[] = { &how->path,     &how->run_id, &how->trace_path,
                             &how->node,     &how->from,   &how->predict,
                             &training->name };
    size_t text_count = sizeof(texts) / sizeof(texts[0]);
    for (size_t k = 0; k + 1 < text_count; k++)
        if (*texts[k] && !**texts[k])
            *texts[k] = NULL;
    return skn_task_own(&training->task, texts, text_count, &how->overrides,
                        how->override_count, error);
}

/* A training without a config. */
static skn_training_t *
make(const char *name, const skn_training_options_t *options,
     skn_error_t *error)
{
    const skn_training_options_t none = { .struct_bytes = sizeof(none) };
    if (!options)
        options = &none;
    if (check_options(options, error) != SKN_OK)
        return NULL;
    skn_training_t *training = calloc(1, sizeof(*training));
    if (!training) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for a training");
        return NULL;
    }
    memcpy(&training->options, options, options->struct_bytes);
    training->info.path = training->info.run_id = "";
    training->name = name;
    skn_status_t status =
        skn_task_init(&training->task, SKN_TRAINING_NOUN, error);
    if (status == SKN_OK)
        status = own_options(training, error);
    if (training->options.predict_labels == 0)
        training->options.predict_labels = PREDICT_LABELS;
    if (status != SKN_OK)
        skn_training_destroy(&training);
    return training;
}

skn_training_t *
skn_training_new(const char *yaml, const char *name,
                 const skn_training_options_t *options, skn_error_t *error)
{
    if (!yaml) {
        skn_fail(error, SKN_USAGE, "skn_training_new: the config is NULL");
        return NULL;
    }
    skn_training_t *training = make(name ? name : "config", options, error);
    if (!training)
        return NULL;
    training->text_bytes = strlen(yaml);
    training->text = strdup(yaml);
    if (!training->text) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for a config of %zu bytes",
                 training->text_bytes);
        skn_training_destroy(&training);
    }
    return training;
}

skn_training_t *
skn_training_load(const char *path, const skn_training_options_t *options,
                  skn_error_t *error)
{
    if (!path) {
        skn_fail(error, SKN_USAGE, "skn_training_load: the path is NULL");
        return NULL;
    }
    char latest[SKN_TEXT_MAX];
    path = skn_trained_path(path, latest);
    skn_training_t *training = make(path, options, error);
    if (training)
        training->is_folder = skn_run_config_is_folder(path);
    return training;
}

void
skn_training_destroy(skn_training_t **training)
{
    skn_training_t *old = training ? *training : NULL;
    int saved = errno;
    if (!old)
        return;
    *training = NULL;
    if (skn_training_check(old, "", NULL) != SKN_OK)
        return; /* the parent's threads still use the memory */
    skn_training_break(old);
    (void)skn_training_wait(old, NULL);
    skn_network_run_fini(&old->whole);
    skn_task_fini(&old->task);
    free(old->text);
    free(old->text_name);
    free(old->idle_texts[0]);
    free(old->idle_texts[1]);
    free(old->report);
    free(old->done);
    free(old);
    errno = saved;
}

/* --- the plan ------------------------------------------------------------- */

static skn_status_t
plan(skn_training_t *training, skn_error_t *error)
{
    const skn_training_options_t *how = &training->options;
    skn_network_run_t *whole = &training->whole;
    whole->overrides = calloc(how->override_count + 1, sizeof(char *));
    if (!whole->overrides)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for overrides");
    for (uint32_t k = 0; k < how->override_count; k++)
        whole->overrides[k] = how->overrides[k];
    whole->override_count = how->override_count;
    whole->is_resume = how->resume || how->from;
    whole->is_again = how->path && how->run_id;
    whole->begins_with_others = how->elastic;
    if (how->path)
        (void)snprintf(whole->path, sizeof(whole->path), "%s", how->path);
    if (how->run_id)
        (void)snprintf(whole->run_id, sizeof(whole->run_id), "%s", how->run_id);
    skn_status_t status = skn_network_run_plan(training, whole, error);
    skn_training_set_run(training);
    if (status == SKN_OK)
        status = skn_ensemble_check(training, &training->is_ensemble, error);
    return status;
}

/* --- the thread ----------------------------------------------------------- */

/* Trains the one network of the training, or finds that the run is complete. */
static skn_status_t
train_single(skn_training_t *training, skn_error_t *error)
{
    skn_network_run_t *whole = &training->whole;
    skn_status_t status = skn_network_run_train(training, whole, error);
    if (status == SKN_OK && training->ranks_last)
        return whole->is_done ? skn_ensemble_rank(training, error) : status;
    if (training->done) {
        if (status == SKN_OK)
            skn_training_calibrate(training, whole->path);
        skn_line_queue_put(&training->task.queue, training->done);
    }
    if (status != SKN_OK)
        return status;
    if (whole->is_resume && skn_networks_begun(whole->path, 0))
        skn_ensemble_sweep(whole->path);
    return whole->run.resume.finished && whole->run.resume.joined
               ? skn_ensemble_score(training, error)
               : status;
}

static void *
thread_main(void *argument)
{
    skn_training_t *training = argument;
    skn_error_t error = { 0 };
    training->cpu_begin_ns = skn_usage_cpu_ns();
    skn_status_t status = plan(training, &error);
    if (status == SKN_OK && atomic_load(&training->stop)) {
        training->was_stopped = true;
        skn_training_send_unbegun(training);
    } else if (status == SKN_OK && training->is_ensemble)
        status = skn_ensemble_train(training, &error);
    else if (status == SKN_OK)
        status = train_single(training, &error);
    if (status == SKN_OK && atomic_load(&training->breaks) &&
        !training->whole.is_done)
        status =
            skn_fail(&error, SKN_UNAVAILABLE, "the training was broken off");
    if (status != SKN_OK && training->task.failure.status == SKN_OK)
        (void)skn_training_fail(training, &error);
    skn_training_set_over(training);
    skn_line_queue_end(&training->task.queue);
    return NULL;
}

skn_status_t
skn_training_start(skn_training_t *training, skn_error_t *error)
{
    skn_status_t status =
        skn_training_check(training, "skn_training_start", error);
    return status == SKN_OK
               ? skn_task_start(&training->task, thread_main, training, error)
               : status;
}

/* --- while it runs -------------------------------------------------------- */

int
skn_training_fd(const skn_training_t *training)
{
    return training ? training->task.queue.descriptor : -1;
}

skn_status_t
skn_training_event(skn_training_t *training, int timeout_ms, char *line,
                   size_t line_bytes, skn_error_t *error)
{
    skn_status_t status =
        skn_training_check(training, "skn_training_event", error);
    if (status != SKN_OK)
        return status;
    status =
        skn_task_event(&training->task, timeout_ms, line, line_bytes, error);
    /* The thread waits for the host to read half of the events. */
    if (status == SKN_OK &&
        skn_line_queue_count(&training->task.queue) == SKN_EVENTS_MAX / 2)
        wake(training);
    return status;
}

size_t
skn_training_event_bytes(skn_training_t *training)
{
    return skn_training_check(training, "", NULL) == SKN_OK
               ? skn_line_queue_bytes(&training->task.queue)
               : 0;
}

/* The next three may run in a signal handler: only atomics and writes. */

void
skn_training_save(skn_training_t *training)
{
    if (skn_training_check(training, "", NULL) != SKN_OK)
        return;
    (void)atomic_fetch_add(&training->saves, 1);
    wake(training);
}

void
skn_training_stop(skn_training_t *training)
{
    if (skn_training_check(training, "", NULL) != SKN_OK)
        return;
    atomic_store(&training->stop, true);
    wake(training);
}

void
skn_training_break(skn_training_t *training)
{
    if (skn_training_check(training, "", NULL) != SKN_OK)
        return;
    atomic_store(&training->breaks, true);
    skn_training_stop(training);
}

skn_status_t
skn_training_wait(skn_training_t *training, skn_error_t *error)
{
    skn_status_t status =
        skn_training_check(training, "skn_training_wait", error);
    if (status != SKN_OK)
        return status;
    if (training->task.has_thread) {
        atomic_store(&training->waits, true);
        wake(training);
    }
    return skn_task_wait(&training->task, error);
}
