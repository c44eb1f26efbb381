/* calibrating.h - calibrates the model that a training has made.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TRAINING_CALIBRATING_H
#define TOPOLOGY_TRAINING_CALIBRATING_H

#include "topology/predict/calibrate.h"
#include "topology/training/training_internal.h"

/* Fits the calibration of the run in `path` to its test set, if it has one, and
 * sends the event `calibration`. A failure is a warning: the model is whole.
 * A node fails without one. */
void skn_training_calibrate(skn_training_t *training, const char *path);
/* The calibration of the run that a network predicts by; { 0 }: none. */
skn_calibration_t skn_training_calibration(const skn_network_run_t *network);

#endif
