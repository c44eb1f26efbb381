/* tuning_events.c - the events and the state that a tuning shows its host.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/tuning/tuning_events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/json_text.h"
#include "topology/training/training_state.h"

const char *
skn_tuning_differs(const skn_tuning_t *tuning, uint32_t candidate,
                   char text[SKN_DIFFERS_BYTES])
{
    return skn_candidate_describe(&tuning->space, &tuning->candidate[candidate],
                                  text, SKN_DIFFERS_BYTES);
}

/* A string of JSON; bytes of `text` that are not UTF-8 become U+FFFD. */
static json_t *
string_of(const char *text)
{
    json_t *string = json_string(text);
    skn_json_text_t quoted = { 0 };
    if (string)
        return string;
    skn_json_text_add_string(&quoted, text);
    string =
        quoted.failed ? NULL : json_loads(quoted.bytes, JSON_DECODE_ANY, NULL);
    skn_json_text_fini(&quoted);
    return string;
}

/* Sends an event and releases it. */
static void
send(skn_tuning_t *tuning, json_t *event)
{
    char *line = event ? skn_json_write(event, JSON_COMPACT) : NULL;
    if (line)
        skn_line_queue_put(&tuning->task.queue, line);
    free(line);
    json_decref(event);
}

/* --- warnings and errors -------------------------------------------------- */

void
skn_tuning_warn_at(const void *tuning, const skn_model_place_t *place,
                   const char *message, const char *hint)
{
    json_t *event = json_pack("{ss}", "event", "warning");
    if (place && place->line > 0) {
        (void)json_object_set_new(event, "file", string_of(place->origin));
        (void)json_object_set_new(event, "line", json_integer(place->line));
        (void)json_object_set_new(event, "column", json_integer(place->column));
    }
    (void)json_object_set_new(event, "message", string_of(message));
    (void)json_object_set_new(event, "hint", string_of(hint));
    /* The callers know a tuning by a pointer that they do not follow. */
    send((skn_tuning_t *)(uintptr_t)tuning, event);
}

void
skn_tuning_fail(skn_tuning_t *tuning, const skn_error_t *error)
{
    skn_json_text_t event = { 0 };
    size_t count = skn_problems_count(tuning->problems);
    tuning->task.failure = *error;
    if (count > 0)
        (void)skn_problems_error(tuning->problems, &tuning->task.failure);
    for (size_t k = 0; skn_problems_write_event(tuning->problems, k, &event);
         k++) {
        if (!event.failed)
            skn_line_queue_put(&tuning->task.queue, event.bytes);
        skn_json_text_fini(&event);
    }
    if (count == 0)
        send(tuning,
             json_pack("{sssisoso}", "event", "error", "code",
                       skn_status_exit_code(error->status), "message",
                       string_of(error->text), "hint", string_of(error->hint)));
}

/* --- the course of the search --------------------------------------------- */

/* The values of the keys that are varied, as auto chose them. */
static json_t *
auto_values(const skn_tuning_t *tuning)
{
    json_t *values = json_object();
    for (int k = 0; k < SKN_TUNED_COUNT; k++) {
        char key[SKN_NAME_MAX + 64], value[32];
        const char *name =
            skn_space_key(&tuning->space, (skn_tuned_t)k, key, sizeof(key));
        if (tuning->space.free[k])
            (void)json_object_set_new(values, name,
                                      json_string(skn_candidate_value(
                                          &tuning->space.base, (skn_tuned_t)k,
                                          value, sizeof(value))));
    }
    return values;
}

void
skn_tuning_send_begin(skn_tuning_t *tuning)
{
    const skn_plan_data_t *data = &tuning->plan.data;
    const skn_halving_t *halving = &tuning->halving;
    (void)pthread_mutex_lock(&tuning->task.queue.mutex);
    tuning->info.folder = tuning->folder;
    tuning->info.has_begun = true;
    tuning->info.trial_count = tuning->trials.count;
    (void)pthread_mutex_unlock(&tuning->task.queue.mutex);
    send(tuning,
         json_pack("{sssosIsIsIsIsIsIssso}", "event", "tune", "path",
                   string_of(tuning->folder), "candidates",
                   (json_int_t)halving->candidates, "rounds",
                   (json_int_t)halving->rounds, "train_points",
                   (json_int_t)data->train_points, "validate_points",
                   (json_int_t)data->validate_points, "trials",
                   (json_int_t)tuning->trials.count, "labels",
                   (json_int_t)data->labels, "metric", tuning->options.metric,
                   "auto", auto_values(tuning)));
    for (uint32_t k = 0; k < data->note_count; k++)
        skn_tuning_warn_at(tuning, NULL, data->note[k].text,
                           data->note[k].hint);
}

void
skn_tuning_send_forecast(skn_tuning_t *tuning, double seconds)
{
    send(tuning,
         json_pack("{sssfsIsI}", "event", "forecast", "seconds", seconds,
                   "candidates", (json_int_t)tuning->halving.candidates,
                   "rounds", (json_int_t)tuning->halving.ends));
}

void
skn_tuning_send_trial(skn_tuning_t *tuning, uint32_t round, uint32_t candidate,
                      const char *why)
{
    const skn_trial_result_t *result = &tuning->trials.result[round][candidate];
    double epochs = tuning->candidate[candidate].value[SKN_TUNED_EPOCHS] *
                    skn_halving_share(&tuning->halving, round);
    char text[SKN_DIFFERS_BYTES];
    (void)skn_tuning_differs(tuning, candidate, text);
    json_t *event = json_pack(
        "{sssIsIsssssfsf}", "event", "trial", "round", (json_int_t)round + 1,
        "candidate", (json_int_t)candidate, "differs", text, "metric",
        tuning->options.metric, "epochs", epochs, "cpu_seconds", result->cpu_s);
    if (isnan(result->score))
        (void)json_object_set_new(event, "message", string_of(why));
    else
        (void)json_object_set_new(event, "score", json_real(result->score));
    (void)pthread_mutex_lock(&tuning->task.queue.mutex);
    tuning->info.trial_count = tuning->trials.count;
    (void)pthread_mutex_unlock(&tuning->task.queue.mutex);
    send(tuning, event);
}

void
skn_tuning_send_result(skn_tuning_t *tuning, const skn_tuned_result_t *result,
                       const char *said)
{
    char what[SKN_DIFFERS_BYTES];
    (void)skn_tuning_differs(tuning, result->best, what);
    json_t *event = json_pack(
        "{sssosIsssssfsfsIsb}", "event", "tuned", "path",
        string_of(tuning->folder), "candidate", (json_int_t)result->best,
        "differs", what, "metric", tuning->options.metric, "score",
        result->score, "share", result->share, "validate_points",
        (json_int_t)tuning->plan.data.validate_points, "late",
        (int)tuning->is_late);
    if (!isnan(result->auto_score))
        (void)json_object_set_new(event, "auto_score",
                                  json_real(result->auto_score));
    if (!isnan(result->error))
        (void)json_object_set_new(event, "error", json_real(result->error));
    (void)json_object_set_new(event, "verdict", json_string(said));
    send(tuning, event);
}

void
skn_tuning_send_stopped(skn_tuning_t *tuning)
{
    json_t *event = json_pack("{ss}", "event", "stopped");
    if (tuning->info.has_begun)
        (void)json_object_set_new(
            event, "trials", json_integer((json_int_t)tuning->trials.count));
    else
        (void)json_object_set_new(event, "begun", json_false());
    send(tuning, event);
}

/* --- the state ------------------------------------------------------------ */

static void
begin(skn_tuning_t *tuning)
{
    (void)pthread_mutex_lock(&tuning->task.queue.mutex);
}

static void
end(skn_tuning_t *tuning)
{
    (void)pthread_mutex_unlock(&tuning->task.queue.mutex);
    skn_line_queue_wake(&tuning->task.queue);
}

void
skn_tuning_set_config(skn_tuning_t *tuning)
{
    tuning->idle = skn_training_idle_of(tuning->model);
    begin(tuning);
    tuning->info.idle = &tuning->idle;
    end(tuning);
}

void
skn_tuning_set_trial(skn_tuning_t *tuning, uint32_t round, uint32_t candidate)
{
    begin(tuning);
    tuning->info.round = round + 1;
    tuning->info.candidate = candidate;
    end(tuning);
}

void
skn_tuning_set_over(skn_tuning_t *tuning)
{
    begin(tuning);
    tuning->info.is_over = true;
    tuning->info.was_stopped = tuning->was_stopped;
    end(tuning);
}
