/* training_events.c - the events that a training sends itself, beside those of
 * its actors: JSON lines for the host.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/training/training_events.h"

#include <inttypes.h>

#include "formats/text/json_text.h"
#include "topology/training/chosen.h"

void
skn_training_send(skn_training_t *training, skn_json_text_t *event)
{
    if (!event->failed)
        skn_line_queue_put(&training->task.queue, event->bytes);
    skn_json_text_fini(event);
}

static void
add_text(skn_json_text_t *event, const char *key, const char *text)
{
    skn_json_text_add(event, ",\"%s\":", key);
    skn_json_text_add_string(event, text);
}

/* --- warnings and errors -------------------------------------------------- */

void
skn_training_warn_at(const void *training, const skn_model_place_t *place,
                     const char *message, const char *hint)
{
    skn_json_text_t event = { 0 };
    skn_json_text_add(&event, "{\"event\":\"warning\"");
    if (place && place->line > 0) {
        add_text(&event, "file", place->origin);
        skn_json_text_add(&event, ",\"line\":%u,\"column\":%u", place->line,
                          place->column);
    }
    add_text(&event, "message", message);
    add_text(&event, "hint", hint);
    skn_json_text_add(&event, "}");
    /* The callers know a training by a pointer that they do not follow. */
    skn_training_send((skn_training_t *)(uintptr_t)training, &event);
}

void
skn_training_warn(skn_training_t *training, const char *message,
                  const char *hint)
{
    skn_training_warn_at(training, NULL, message, hint);
}

static skn_status_t
keep(skn_training_t *training, const skn_error_t *error)
{
    if (training->task.failure.status == SKN_OK)
        training->task.failure = *error;
    return error->status;
}

skn_status_t
skn_training_fail(skn_training_t *training, const skn_error_t *error)
{
    skn_json_text_t event = { 0 };
    skn_json_text_add(&event, "{\"event\":\"error\",\"code\":%d",
                      skn_status_exit_code(error->status));
    add_text(&event, "message", error->text);
    add_text(&event, "hint", error->hint);
    skn_json_text_add(&event, "}");
    skn_training_send(training, &event);
    return keep(training, error);
}

skn_status_t
skn_training_refuse(skn_training_t *training, const skn_problems_t *problems)
{
    skn_error_t error = { 0 };
    skn_json_text_t event = { 0 };
    for (size_t k = 0; skn_problems_write_event(problems, k, &event); k++)
        skn_training_send(training, &event);
    (void)skn_problems_error(problems, &error);
    return keep(training, &error);
}

/* --- the start ------------------------------------------------------------ */

void
skn_training_send_auto(skn_training_t *training, skn_model_run_t *run)
{
    skn_json_text_t event = { 0 };
    skn_json_text_add(&event, "{\"event\":\"auto\"");
    skn_chosen_write(&run->plan.reasons, run->model, &event);
    skn_json_text_add(&event, "}");
    skn_training_send(training, &event);
}

void
skn_training_send_start(skn_training_t *training, skn_network_run_t *network)
{
    skn_model_run_t *run = &network->run;
    const skn_plan_t *plan = &run->plan;
    const skn_plan_data_t *data = &plan->data;
    skn_json_text_t event = { 0 };
    skn_json_text_add(&event, "{\"event\":\"start\",\"run\":\"%s\"",
                      network->run_id);
    add_text(&event, "config", run->model->source);
    skn_json_text_add(&event,
                      ",\"parameters\":%" PRIu64 ",\"actors\":%u"
                      ",\"memory_mb\":%" PRIu64 ",\"offload_mb\":%" PRIu64,
                      plan->parameters, run->actor_count,
                      plan->memory_bytes >> 20, plan->offload_bytes >> 20);
    add_text(&event, "path", network->path);
    skn_json_text_add(&event,
                      ",\"unlabelled\":%" PRIu64 ",\"featureless\":%" PRIu64,
                      data->unlabelled, data->featureless);
    skn_json_text_add(&event,
                      ",\"train_points\":%" PRIu64 ",\"test_points\":%" PRIu64
                      ",\"features\":%u,\"labels\":%u"
                      ",\"labels_per_point\":%.4f,\"cores\":%u",
                      data->train_points, data->test_points, data->features,
                      data->labels, data->labels_per_point, plan->units);
    if (skn_model_is_decoder(run->model))
        skn_json_text_add(&event,
                          ",\"validate_points\":%" PRIu64
                          ",\"files_left_out\":%" PRIu64
                          ",\"step_tokens\":%" PRId64,
                          data->validate_points, data->files_left_out,
                          run->model->train.batch_tokens);
    if (data->first_left_out[0])
        add_text(&event, "first_left_out", data->first_left_out);
    skn_chosen_write(&run->plan.reasons, run->model, &event);
    skn_json_text_add(&event, "}");
    skn_training_send(training, &event);
}

void
skn_training_send_resume(skn_training_t *training,
                         const skn_network_run_t *network)
{
    const skn_resume_t *resume = &network->run.resume;
    skn_json_text_t event = { 0 };
    if (resume->warning[0])
        skn_training_warn(training, resume->warning,
                          "an older checkpoint is used");
    if (!resume->has_checkpoint &&
        (training->options.from ||
         (!resume->has_run &&
          (!training->options.resume || network->begins_with_others))))
        return; /* it was meant to start at batch 0 */
    if (!resume->has_checkpoint) {
        skn_training_warn(training,
                          "there is no complete checkpoint to resume from",
                          "the run starts at batch 0");
        return;
    }
    skn_json_text_add(&event, "{\"event\":\"resume\"");
    add_text(&event, "path", network->path);
    skn_json_text_add(&event, ",\"batch\":%" PRIu64, resume->batch);
    /* A finished run is not planned, and its plan has 0. */
    if (skn_model_is_decoder(network->run.model) &&
        network->run.plan.accumulate > 0)
        skn_json_text_add(&event, ",\"step\":%" PRIu64,
                          resume->batch / network->run.plan.accumulate);
    skn_json_text_add(&event, "}");
    skn_training_send(training, &event);
}

/* --- the end -------------------------------------------------------------- */

void
skn_training_send_unbegun(skn_training_t *training)
{
    skn_json_text_t event = { 0 };
    skn_json_text_add(&event, "{\"event\":\"stopped\",\"begun\":false}");
    skn_training_send(training, &event);
}

void
skn_training_send_stopped(skn_training_t *training, const char *path)
{
    skn_json_text_t event = { 0 };
    skn_json_text_add(&event, "{\"event\":\"stopped\"");
    add_text(&event, "path", path);
    skn_json_text_add(&event, "}");
    skn_training_send(training, &event);
}
