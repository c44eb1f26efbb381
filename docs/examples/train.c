/* train.c - trains a model, saves it on demand, stops, resumes, and predicts.
 * cc train.c $(pkg-config --cflags --libs skein) -o train
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <skein/event.h>
#include <skein/predictor.h>
#include <skein/training.h>

static const char config[] =
    "skein: 1\n"
    "data: { train: train.txt.zst }\n"
    "model: { layers: [{ name: hidden, units: 16 }, { name: output }] }\n"
    "train: { epochs: 8 }\n"
    "checkpoint: { path: run, every_epochs: 0 }\n";

/* Trains to the end; or, at first, saves after an epoch, and stops then. */
static skn_status_t
train(bool resume, skn_error_t *error)
{
    static char line[SKN_EVENT_BYTES_MAX];
    skn_training_options_t options = SKN_ZERO;
    options.struct_bytes = sizeof(options);
    options.resume = resume;
    options.progress_ms = 200;
    skn_training_t *training =
        skn_training_new(config, "train.c", &options, error);
    skn_status_t status =
        training ? skn_training_start(training, error) : error->status;
    while (status == SKN_OK || status == SKN_BUSY) {
        struct pollfd polled = { skn_training_fd(training), POLLIN, 0 };
        (void)poll(&polled, 1, -1); /* and all else that the host waits for */
        status = skn_training_event(training, 0, line, sizeof(line), NULL);
        if (status == SKN_OK)
            printf("%.78s\n", line);
        if (status == SKN_OK && !resume && skn_event_is(line, "epoch"))
            skn_training_save(training);
        if (status == SKN_OK && !resume && skn_event_is(line, "checkpoint"))
            skn_training_stop(training);
    }
    status = training ? skn_training_wait(training, error) : status;
    skn_training_destroy(&training);
    return status;
}

int
main(void)
{
    skn_error_t error = SKN_ZERO;
    size_t offset[] = { 0, 1 };
    uint32_t feature[] = { 7 }, label[1];
    float value[] = { 1 }, score[1];
    skn_points_t points = { 1, offset, feature, value };
    if (train(false, &error) != SKN_OK || train(true, &error) != SKN_OK)
        return fprintf(stderr, "%s\n", error.text), 1;
    skn_predictor_t *predictor = skn_predictor_open("run", &error);
    if (skn_predictor_best(predictor, &points, 1, label, score, NULL) == SKN_OK)
        printf("label %u, %.2f\n", (unsigned)label[0], (double)score[0]);
    skn_predictor_close(&predictor);
    return skn_status_exit_code(error.status);
}
