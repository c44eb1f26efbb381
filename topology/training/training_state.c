/* training_state.c - what a host can ask of a training: its phase, its run, the
 * settings of its config, its last report.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/training/training_state.h"

#include <stdlib.h>
#include <string.h>
#include "formats/text/abi.h"

/* The struct of the first version ends with this member. */
#define INFO_BYTES_MIN                                                         \
    (offsetof(skn_training_info_t, idle) + sizeof(const skn_training_idle_t *))

static void
begin(skn_training_t *training)
{
    (void)pthread_mutex_lock(&training->task.queue.mutex);
}

static void
end(skn_training_t *training)
{
    (void)pthread_mutex_unlock(&training->task.queue.mutex);
    skn_line_queue_wake(&training->task.queue);
}

void
skn_training_set_phase(skn_training_t *training, skn_training_phase_t phase)
{
    begin(training);
    training->info.phase = phase;
    if (phase == SKN_TRAINING_TRAINS)
        training->info.has_begun = true;
    end(training);
}

void
skn_training_set_config(skn_training_t *training, const skn_model_t *model)
{
    const skn_model_idle_t *idle = &model->idle;
    if (training->info.idle)
        return;
    const char *file = training->idle_texts[0] = strdup(idle->notice.file);
    const char *command = training->idle_texts[1] =
        strdup(idle->notice.command);
    training->idle = skn_training_idle_of(model);
    training->idle.notice_file = file ? file : "";
    training->idle.notice_command = command ? command : "";
    begin(training);
    training->info.idle = &training->idle;
    training->info.path_is_chosen =
        !model->checkpoint.path[0] && !training->options.path;
    end(training);
}

void
skn_training_set_run(skn_training_t *training)
{
    begin(training);
    memcpy(training->path, training->whole.path, sizeof(training->path));
    memcpy(training->run_id, training->whole.run_id, sizeof(training->run_id));
    training->info.path = training->path;
    training->info.run_id = training->run_id;
    end(training);
}

void
skn_training_set_network(skn_training_t *training, uint32_t network,
                         uint32_t count)
{
    begin(training);
    training->info.phase = SKN_TRAINING_PLANS;
    training->info.network = network;
    training->info.network_count = count;
    end(training);
}

void
skn_training_set_over(skn_training_t *training)
{
    begin(training);
    training->info.phase = SKN_TRAINING_OVER;
    training->info.was_stopped =
        training->task.failure.status == SKN_OK && training->was_stopped;
    end(training);
}

void
skn_training_set_report(skn_training_t *training, char *table)
{
    begin(training);
    free(training->report);
    training->report = table;
    end(training);
}

skn_status_t
skn_training_info(const skn_training_t *training, skn_training_info_t *info,
                  skn_error_t *error)
{
    skn_training_t *own = (skn_training_t *)(uintptr_t)training;
    skn_training_info_t found;
    if (!training || !info)
        return skn_fail(error, SKN_USAGE, "skn_training_info: the %s is NULL",
                        training ? "info" : "training");
    uint32_t bytes = info->struct_bytes;
    skn_status_t status = skn_abi_check_grown(
        "the training's info", bytes, INFO_BYTES_MIN, sizeof(*info), error);
    if (status != SKN_OK)
        return status;
    status = skn_training_check(training, "skn_training_info", error);
    if (status != SKN_OK)
        return status;
    begin(own);
    found = own->info;
    (void)pthread_mutex_unlock(&own->task.queue.mutex);
    found.struct_bytes = bytes;
    memcpy(info, &found, bytes);
    return SKN_OK;
}

void
skn_training_report(const skn_training_t *training, FILE *file)
{
    skn_training_t *own = (skn_training_t *)(uintptr_t)training;
    if (!file || skn_training_check(training, "", NULL) != SKN_OK)
        return;
    begin(own);
    if (own->report)
        (void)fputs(own->report, file);
    (void)pthread_mutex_unlock(&own->task.queue.mutex);
}
