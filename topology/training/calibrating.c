/* calibrating.c - calibrates the model that a training has made, and sends what
 * came of it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/training/calibrating.h"

#include "topology/training/training_events.h"
#include "topology/training/training_state.h"

/* The weights of a predictor, and its copy in the order of its kernels. */
#define BYTES_A_PARAMETER (2 * sizeof(float))

/* Whether one of several nodes, which has a share of the network to train, has
 * the memory to ask all of it. */
static bool
has_memory(const skn_training_t *training)
{
    return !training->options.node ||
           BYTES_A_PARAMETER * training->whole.run.plan.parameters <=
               skn_memory_available_bytes();
}

void
skn_training_calibrate(skn_training_t *training, const char *path)
{
    char text[SKN_ERROR_TEXT_BYTES];
    skn_error_t error = { 0 };
    skn_calibrated_t calibrated;
    skn_json_text_t event = { 0 };
    if (!has_memory(training))
        return;
    skn_training_set_phase(training, SKN_TRAINING_JOINS);
    skn_status_t status =
        skn_calibrate(path, path, &training->stop, &calibrated, &error);
    /* The parts of other nodes may be on their machines, or be too large to be
     * here as well; `skein join` puts them together. A run that is stopped now
     * is calibrated when it is resumed. */
    if (status != SKN_OK &&
        (training->options.node || atomic_load(&training->stop)))
        return;
    if (status != SKN_OK) {
        (void)snprintf(text, sizeof(text),
                       "the model is not calibrated: %.400s", error.text);
        skn_training_warn(training, text, error.hint);
    } else if (calibrated.calibration.points > 0) {
        skn_calibrated_write_event(&calibrated, &event);
        skn_training_send(training, &event);
    }
}

skn_calibration_t
skn_training_calibration(const skn_network_run_t *network)
{
    skn_calibration_t found = { 0 };
    skn_error_t error = { 0 };
    skn_trained_t trained;
    if (skn_trained_open(&trained, network->path, SKN_VERIFY_LAZY, &error) ==
        SKN_OK)
        (void)skn_calibration_load(&trained, &found, &error);
    skn_trained_close(&trained);
    return found;
}
