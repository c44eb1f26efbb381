/* tuning.c - searches for a config: the host's side, and the thread that does
 * the work.
 *
 *     model file ─▶ auto's choice ─▶ candidates around it   (candidates.h)
 *                                        │ rounds           (halving.h)
 *     tune.journal ◀─ score ◀─ trial ◀───┘                  (trials.h, trial.h)
 *          └─▶ the best one: tune.yaml                      (tuned.h)
 *
 * This file owns: the copy of the options, the order to stop, the thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/tuning.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/abi.h"
#include "topology/tuning/rounds.h"
#include "topology/tuning/search.h"
#include "topology/tuning/tuning_events.h"

/* The structs of the first version end with these members. */
#define TUNING_BYTES_MIN                                                       \
    (offsetof(skn_tuning_options_t, seed) + sizeof(uint32_t))
#define TUNING_INFO_BYTES_MIN                                                  \
    (offsetof(skn_tuning_info_t, idle) + sizeof(const skn_training_idle_t *))

#define TUNING_NOUN "the tuning"

#define CANDIDATES_DEFAULT 16u
#define ROUNDS_DEFAULT 3u
#define KEEP_DEFAULT (1.0 / 3)
#define SEED_DEFAULT 1u
/* Thirty years: in nanoseconds, a sum of two is still below 2^64. */
#define BUDGET_S_MAX 9.5e8
#define METRICS "p1, p3, p5, psp1, psp3, psp5, ndcg3 or ndcg5"

/* --- options -------------------------------------------------------------- */

static bool
is_metric(const char *name)
{
    static const char *const names[] = { "p1",   "p3",   "p5",    "psp1",
                                         "psp3", "psp5", "ndcg3", "ndcg5" };
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
        if (strcmp(name, names[k]) == 0)
            return true;
    return false;
}

static skn_status_t
check_options(const skn_tuning_options_t *how, skn_error_t *error)
{
    skn_status_t status =
        skn_abi_check_grown("the tuning's options", how->struct_bytes,
                            TUNING_BYTES_MIN, sizeof(*how), error);
    if (status != SKN_OK)
        return status;
    if (!how->path || !how->path[0])
        return skn_fail(error, SKN_USAGE,
                        "skn_tuning_new: the path of the config is missing");
    if (strcmp(how->path, "-") == 0)
        return skn_fail(error, SKN_USAGE,
                        "each trial reads the model file: it cannot be "
                        "standard input");
    if (how->folder && strlen(how->folder) >= SKN_TEXT_MAX)
        return skn_fail(error, SKN_USAGE,
                        "the folder's path has %zu bytes, at most %u allowed",
                        strlen(how->folder), SKN_TEXT_MAX - 1);
    if (how->candidates > SKN_CANDIDATES_MAX || how->rounds > SKN_ROUNDS_MAX)
        return skn_fail(error, SKN_USAGE,
                        "%u candidates in %u rounds, at most %u in %u allowed",
                        how->candidates, how->rounds, SKN_CANDIDATES_MAX,
                        SKN_ROUNDS_MAX);
    if (!(how->keep >= 0 && how->keep < 1) || !(how->budget_s >= 0) ||
        !(how->budget_s <= BUDGET_S_MAX))
        return skn_fail(error, SKN_USAGE,
                        "keep must be at least 0 and below 1, budget_s at "
                        "least 0 and at most 950000000");
    if (how->metric && !is_metric(how->metric))
        return skn_fail(error, SKN_USAGE,
                        "the metric must be " METRICS ", found '%.40s'",
                        how->metric);
    return SKN_OK;
}

/* Copies all texts that the options point to, and puts the defaults. */
static skn_status_t
own_options(skn_tuning_t *tuning, skn_error_t *error)
{
    skn_tuning_options_t *how = &tuning->options;
    const char **texts[] = { &how->path, &how->folder, &how->died,
                             &how->metric };
    if (!how->metric)
        how->metric = "p1";
    how->candidates = how->candidates ? how->candidates : CANDIDATES_DEFAULT;
    how->rounds = how->rounds ? how->rounds : ROUNDS_DEFAULT;
    how->keep = how->keep > 0 ? how->keep : KEEP_DEFAULT;
    how->seed = how->seed ? how->seed : SEED_DEFAULT;
    return skn_task_own(&tuning->task, texts, sizeof(texts) / sizeof(texts[0]),
                        &how->overrides, how->override_count, error);
}

/* --- new and destroy ------------------------------------------------------ */

static void
release(skn_tuning_t *tuning)
{
    skn_trials_close(&tuning->trials);
    skn_model_destroy(&tuning->model);
    skn_problems_destroy(&tuning->problems);
    skn_task_fini(&tuning->task);
    free(tuning);
}

static skn_status_t
fill(skn_tuning_t *tuning, const skn_tuning_options_t *options,
     skn_error_t *error)
{
    memcpy(&tuning->options, options, options->struct_bytes);
    tuning->info.folder = "";
    skn_status_t status = skn_task_init(&tuning->task, TUNING_NOUN, error);
    if (status == SKN_OK)
        status = own_options(tuning, error);
    if (status != SKN_OK)
        return status;
    const skn_tuning_options_t *how = &tuning->options;
    tuning->halving = (skn_halving_t){ .candidates = how->candidates,
                                       .rounds = how->rounds,
                                       .ends = how->rounds,
                                       .keep = how->keep };
    tuning->died = how->resume ? how->died : NULL;
    tuning->problems = skn_problems_new(error);
    return tuning->problems ? SKN_OK : SKN_NO_MEMORY;
}

skn_tuning_t *
skn_tuning_new(const skn_tuning_options_t *options, skn_error_t *error)
{
    if (!options) {
        (void)skn_fail(error, SKN_USAGE,
                       "skn_tuning_new: the options are NULL");
        return NULL;
    }
    if (check_options(options, error) != SKN_OK)
        return NULL;
    skn_tuning_t *tuning = calloc(1, sizeof(*tuning));
    if (!tuning) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a tuning");
        return NULL;
    }
    if (fill(tuning, options, error) != SKN_OK) {
        release(tuning);
        return NULL;
    }
    return tuning;
}

static skn_status_t
check(const skn_tuning_t *tuning, const char *function, skn_error_t *error)
{
    return skn_task_check(tuning ? &tuning->task : NULL, TUNING_NOUN, function,
                          error);
}

void
skn_tuning_destroy(skn_tuning_t **tuning)
{
    skn_tuning_t *old = tuning ? *tuning : NULL;
    int saved = errno;
    if (!old)
        return;
    *tuning = NULL;
    if (check(old, "", NULL) != SKN_OK)
        return; /* the parent's thread still uses the memory */
    skn_tuning_stop(old);
    (void)skn_tuning_wait(old, NULL);
    release(old);
    errno = saved;
}

/* --- the thread ----------------------------------------------------------- */

static skn_status_t
search(skn_tuning_t *tuning, skn_error_t *error)
{
    skn_status_t status = skn_search_prepare(tuning, error);
    if (status != SKN_OK)
        return status;
    tuning->was_stopped = atomic_load(&tuning->stop);
    if (tuning->was_stopped)
        return SKN_OK;
    status = skn_search_open(tuning, error);
    if (status != SKN_OK)
        return status;
    skn_tuning_send_begin(tuning);
    status = skn_rounds_run(tuning, error);
    return status == SKN_OK && !tuning->was_stopped
               ? skn_search_conclude(tuning, error)
               : status;
}

static void *
thread_main(void *argument)
{
    skn_tuning_t *tuning = argument;
    skn_error_t error = { 0 };
    skn_status_t status = search(tuning, &error);
    if (status != SKN_OK || skn_problems_count(tuning->problems) > 0)
        skn_tuning_fail(tuning, &error);
    else if (tuning->was_stopped)
        skn_tuning_send_stopped(tuning);
    skn_trials_close(&tuning->trials); /* another tuning may resume it */
    skn_tuning_set_over(tuning);
    skn_line_queue_end(&tuning->task.queue);
    return NULL;
}

skn_status_t
skn_tuning_start(skn_tuning_t *tuning, skn_error_t *error)
{
    skn_status_t status = check(tuning, "skn_tuning_start", error);
    return status == SKN_OK
               ? skn_task_start(&tuning->task, thread_main, tuning, error)
               : status;
}

/* --- while it runs -------------------------------------------------------- */

int
skn_tuning_fd(const skn_tuning_t *tuning)
{
    return tuning ? tuning->task.queue.descriptor : -1;
}

skn_status_t
skn_tuning_event(skn_tuning_t *tuning, int timeout_ms, char *line,
                 size_t line_bytes, skn_error_t *error)
{
    skn_status_t status = check(tuning, "skn_tuning_event", error);
    return status == SKN_OK ? skn_task_event(&tuning->task, timeout_ms, line,
                                             line_bytes, error)
                            : status;
}

/* May run in a signal handler: only atomics and writes. */
void
skn_tuning_stop(skn_tuning_t *tuning)
{
    if (check(tuning, "", NULL) != SKN_OK)
        return;
    atomic_store(&tuning->stop, true);
    skn_task_order(&tuning->task, 1);
    skn_line_queue_wake(&tuning->task.queue);
}

skn_status_t
skn_tuning_wait(skn_tuning_t *tuning, skn_error_t *error)
{
    skn_status_t status = check(tuning, "skn_tuning_wait", error);
    return status == SKN_OK ? skn_task_wait(&tuning->task, error) : status;
}

skn_status_t
skn_tuning_info(const skn_tuning_t *tuning, skn_tuning_info_t *info,
                skn_error_t *error)
{
    if (!tuning || !info)
        return skn_fail(error, SKN_USAGE, "skn_tuning_info: the %s is NULL",
                        tuning ? "info" : "tuning");
    skn_status_t status =
        skn_abi_check_grown("the tuning's info", info->struct_bytes,
                            TUNING_INFO_BYTES_MIN, sizeof(*info), error);
    if (status != SKN_OK)
        return status;
    status = check(tuning, "skn_tuning_info", error);
    if (status != SKN_OK)
        return status;
    uint32_t bytes = info->struct_bytes;
    pthread_mutex_t *mutex = (pthread_mutex_t *)&tuning->task.queue.mutex;
    (void)pthread_mutex_lock(mutex);
    memcpy(info, &tuning->info, bytes);
    (void)pthread_mutex_unlock(mutex);
    info->struct_bytes = bytes;
    return SKN_OK;
}
