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
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/text/abi.h"
#include "formats/text/system_error.h"
#include "topology/training/ensemble.h"
#include "topology/training/network_run.h"
#include "topology/training/networks.h"
#include "topology/training/training_events.h"
#include "topology/training/training_internal.h"
#include "topology/training/training_state.h"
#include "transport/socket/thread_start.h"

/* The struct of the first version ends with this member. */
#define OPTIONS_BYTES_MIN                                                      \
    (offsetof(skn_training_options_t, predict_labels) + sizeof(uint32_t))
#define PREDICT_LABELS 5u

/* Wakes the training's thread, and the host's loop: it may be what a signal
 * handler has to reach. */
static void
wake(skn_training_t *training)
{
    uint64_t one = 1;
    int saved = errno;
    ssize_t written = write(training->orders, &one, sizeof(one));
    (void)written; /* a full counter is readable already */
    errno = saved;
    skn_line_queue_wake(&training->queue);
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
    for (uint32_t k = 0; k < options->override_count; k++)
        if (!options->overrides || !options->overrides[k])
            return skn_fail(error, SKN_USAGE, "override %u is NULL", k);
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

/* Replaces *text by a copy that the training owns; "" becomes NULL. */
static bool
own(skn_training_t *training, size_t *count, const char **text)
{
    if (!*text || !**text) {
        *text = NULL;
        return true;
    }
    *text = training->owned[*count] = strdup(*text);
    return training->owned[(*count)++] != NULL;
}

/* Copies the options with all texts that they point to. */
static bool
own_options(skn_training_t *training)
{
    skn_training_options_t *how = &training->options;
    const char **texts[] = { &how->path, &how->run_id, &how->trace_path,
                             &how->node, &how->from,   &how->predict };
    const char **overrides = NULL;
    size_t count = 0, text_count = sizeof(texts) / sizeof(texts[0]);
    uint32_t given = how->override_count;
    training->owned = calloc(text_count + given + 2, sizeof(char *));
    overrides = calloc(given + 1, sizeof(*overrides));
    bool good = training->owned && overrides;
    if (good)
        training->owned[count++] = (char *)overrides;
    else
        free(overrides);
    for (uint32_t k = 0; good && k < given; k++) {
        overrides[k] = training->owned[count] = strdup(how->overrides[k]);
        good = training->owned[count++] != NULL;
    }
    for (size_t k = 0; good && k < text_count; k++)
        good = own(training, &count, texts[k]);
    how->overrides = overrides;
    return good;
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
    training->orders = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    skn_status_t status =
        skn_line_queue_init(&training->queue, "the training", error);
    if (status == SKN_OK && training->orders < 0)
        status = skn_fail_code(error, SKN_NO_MEMORY, errno, NULL,
                               "cannot create a descriptor for orders");
    training->name = strdup(name);
    if (status == SKN_OK && (!training->name || !own_options(training)))
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for a training");
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
    struct stat facts;
    if (!path) {
        skn_fail(error, SKN_USAGE, "skn_training_load: the path is NULL");
        return NULL;
    }
    skn_training_t *training = make(path, options, error);
    if (training)
        training->is_folder = stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
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
    if (skn_training_is_elsewhere(old))
        return; /* the parent's threads still use the memory */
    skn_training_break(old);
    (void)skn_training_wait(old, NULL);
    skn_network_run_fini(&old->whole);
    skn_line_queue_fini(&old->queue);
    if (old->orders >= 0)
        (void)close(old->orders);
    for (char **text = old->owned; text && *text; text++)
        free(*text);
    free(old->owned);
    free(old->name);
    free(old->text);
    free(old->idle_texts[0]);
    free(old->idle_texts[1]);
    free(old->report);
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

/* Records a failure, and sends its event unless that was done. */
static skn_status_t
conclude(skn_training_t *training, skn_status_t status,
         const skn_error_t *error)
{
    return status == SKN_OK || training->status != SKN_OK
               ? training->status
               : skn_training_fail(training, error);
}

static skn_status_t
give_failure(const skn_training_t *training, skn_error_t *error)
{
    if (training->status != SKN_OK && error)
        *error = training->error;
    return training->status;
}

/* --- the thread ----------------------------------------------------------- */

/* Trains the one network of the training, or finds that the run is complete. */
static skn_status_t
train_single(skn_training_t *training, skn_error_t *error)
{
    skn_network_run_t *whole = &training->whole;
    skn_status_t status = skn_network_run_train(training, whole, error);
    if (status != SKN_OK || training->options.node)
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
    (void)conclude(training, status, &error);
    skn_training_set_over(training);
    skn_line_queue_end(&training->queue);
    return NULL;
}

skn_status_t
skn_training_start(skn_training_t *training, skn_error_t *error)
{
    if (!training)
        return skn_fail(error, SKN_USAGE,
                        "skn_training_start: the training is NULL");
    if (training->started)
        return skn_fail(error, SKN_USAGE, "the training was started already");
    atomic_store(&training->process, skn_process_mark());
    int refused =
        skn_thread_start(&training->thread, NULL, thread_main, training);
    if (refused != 0)
        return skn_fail(error, SKN_NO_MEMORY,
                        "cannot start the thread of a training: %s",
                        strerror(refused));
    (void)pthread_setname_np(training->thread, "training");
    training->started = true;
    return SKN_OK;
}

/* --- while it runs -------------------------------------------------------- */

int
skn_training_fd(const skn_training_t *training)
{
    return training ? training->queue.descriptor : -1;
}

skn_status_t
skn_training_event(skn_training_t *training, int timeout_ms, char *line,
                   size_t line_bytes, skn_error_t *error)
{
    if (!training)
        return skn_fail(error, SKN_USAGE,
                        "skn_training_event: the training is NULL");
    if (skn_training_is_elsewhere(training))
        return skn_training_refuse_child("skn_training_event", error);
    skn_status_t status = skn_line_queue_take(
        &training->queue, training->started ? timeout_ms : 0, line,
        line ? line_bytes : 0, error);
    /* The thread waits for the host to read half of the events. */
    if (status == SKN_OK &&
        skn_line_queue_count(&training->queue) == SKN_EVENTS_MAX / 2)
        wake(training);
    return status;
}

size_t
skn_training_event_bytes(skn_training_t *training)
{
    return training && !skn_training_is_elsewhere(training)
               ? skn_line_queue_bytes(&training->queue)
               : 0;
}

/* The next three may run in a signal handler: only atomics and writes. */

void
skn_training_save(skn_training_t *training)
{
    if (!training || skn_training_is_elsewhere(training))
        return;
    (void)atomic_fetch_add(&training->saves, 1);
    wake(training);
}

void
skn_training_stop(skn_training_t *training)
{
    if (!training || skn_training_is_elsewhere(training))
        return;
    atomic_store(&training->stop, true);
    wake(training);
}

void
skn_training_break(skn_training_t *training)
{
    if (!training || skn_training_is_elsewhere(training))
        return;
    atomic_store(&training->breaks, true);
    skn_training_stop(training);
}

skn_status_t
skn_training_wait(skn_training_t *training, skn_error_t *error)
{
    if (!training)
        return skn_fail(error, SKN_USAGE,
                        "skn_training_wait: the training is NULL");
    if (skn_training_is_elsewhere(training))
        return skn_training_refuse_child("skn_training_wait", error);
    if (training->started && !training->joined) {
        atomic_store(&training->waits, true);
        wake(training);
        (void)pthread_join(training->thread, NULL);
        training->joined = true;
    }
    return give_failure(training, error);
}
