/* trial.c - trains one candidate of a tuning to its score.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/tuning/trial.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/json_text.h"
#include "skein/training.h"
#include "transport/socket/clock.h"

#define WAIT_MS_MAX 60000u

typedef struct watch {
    const skn_trial_order_t *order;
    skn_trial_t *trial;
    skn_training_t *training;
    bool is_ended; /* it was told to end */
    char line[SKN_EVENT_BYTES_MAX];
} watch_t;

static void
take_event(watch_t *watch)
{
    skn_trial_t *trial = watch->trial;
    json_t *event = skn_json_read(watch->line);
    const char *name = skn_json_word(event, "event");
    char key[32];
    (void)snprintf(key, sizeof(key), "validate_%s", watch->order->metric);
    const json_t *score = json_object_get(event, key);
    if (strcmp(name, "epoch") == 0 && score) {
        trial->score = json_number_value(score);
    } else if (strcmp(name, "done") == 0) {
        trial->cpu_s = skn_json_number(event, "cpu_seconds");
        trial->train_s = skn_json_number(event, "seconds");
        trial->end = isnan(trial->score) ? SKN_TRIAL_FAILED : SKN_TRIAL_DONE;
    }
    json_decref(event);
}

/* Ends a trial that is not done when it must. */
static void
look(watch_t *watch)
{
    const skn_trial_order_t *order = watch->order;
    bool stops = atomic_load(order->stop);
    bool is_late = order->until_ns > 0 && skn_monotonic_ns() >= order->until_ns;
    if (watch->is_ended || watch->trial->end == SKN_TRIAL_DONE ||
        !(stops || is_late))
        return;
    watch->is_ended = true;
    watch->trial->end = stops ? SKN_TRIAL_STOPPED : SKN_TRIAL_LATE;
    skn_training_break(watch->training);
}

static int
wait_ms(const watch_t *watch)
{
    uint64_t now_ns = skn_monotonic_ns(), until_ns = watch->order->until_ns;
    if (until_ns == 0 || watch->is_ended)
        return -1;
    if (now_ns >= until_ns)
        return 0;
    uint64_t left_ms = (until_ns - now_ns) / 1000000 + 1;
    return (int)(left_ms < WAIT_MS_MAX ? left_ms : WAIT_MS_MAX);
}

static void
follow(watch_t *watch)
{
    skn_status_t status = SKN_OK;
    while (status != SKN_UNAVAILABLE) {
        skn_trial_end_t end = watch->trial->end;
        status = skn_training_event(watch->training, 0, watch->line,
                                    sizeof(watch->line), NULL);
        if (status == SKN_OK)
            take_event(watch);
        if (watch->is_ended)
            watch->trial->end = end;
        look(watch);
        if (status != SKN_BUSY)
            continue;
        struct pollfd polled[] = {
            { skn_training_fd(watch->training), POLLIN, 0 },
            { atomic_load(watch->order->stop) ? -1 : watch->order->wake, POLLIN,
              0 },
        };
        (void)poll(polled, 2, wait_ms(watch));
    }
}

/* Trains; a failure is the trial's. */
static skn_status_t
train(watch_t *watch, skn_error_t *error)
{
    const skn_trial_order_t *order = watch->order;
    const skn_training_options_t options = {
        .struct_bytes = sizeof(options),
        .overrides = order->overrides,
        .override_count = (uint32_t)order->override_count,
        .path = order->folder,
    };
    watch->training = skn_training_load(order->file, &options, error);
    if (!watch->training)
        return error->status;
    skn_status_t status = skn_training_start(watch->training, error);
    if (status == SKN_OK) {
        follow(watch);
        status = skn_training_wait(watch->training, error);
    }
    skn_training_destroy(&watch->training);
    return status;
}

skn_status_t
skn_trial_run(const skn_trial_order_t *order, skn_trial_t *trial,
              skn_error_t *error)
{
    watch_t *watch = calloc(1, sizeof(*watch));
    uint64_t begun_ns = skn_monotonic_ns();
    *trial = (skn_trial_t){ .end = SKN_TRIAL_FAILED, .score = NAN };
    if (!watch)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a trial");
    watch->order = order;
    watch->trial = trial;
    skn_status_t status = train(watch, &trial->error);
    if (status == SKN_OK && trial->end == SKN_TRIAL_FAILED)
        (void)skn_fail(&trial->error, SKN_INTERNAL, "it ended without a score");
    trial->wall_s = (double)(skn_monotonic_ns() - begun_ns) * 1e-9;
    free(watch);
    return SKN_OK;
}
