/* calibrate.h - fits the calibration of a trained run to points of its test
 * set, and keeps it in the run folder.
 *
 * The form `calibration` is sealed JSON (formats/text/json_text.h):
 *
 *     {"format":"skein-calibration","version":1,"batch":1200,"points":3524,
 *     "first":[[-0.7,-1.1],[2.1,0.9]],"later":[[-5.2,-5.5]]
 *     ,"seal_xxh3_128":"..."}
 *
 * without the first line end: of each knot the log-odds of the score and of the
 * probability. It holds for the checkpoint of that batch: scores
 * of another one stay as they are.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_CALIBRATE_H
#define TOPOLOGY_PREDICT_CALIBRATE_H

#include <stdatomic.h>

#include "actors/predict/calibration.h"
#include "formats/dataset/dataset.h"
#include "formats/text/json_text.h"
#include "topology/run/trained.h"

/* The best labels of a point that are fitted to, and measured. */
#define SKN_CALIBRATION_ANSWERS 5u

/* Adds the answers label[SKN_CALIBRATION_ANSWERS] to a point, whose outcomes
 * begin at `outcome`; returns their number. */
size_t skn_outcomes_add(skn_outcome_t *outcome,
                        const skn_dataset_point_t *point, uint64_t number,
                        const uint32_t *label, const float *score);

/* Appends the form for the checkpoint of `batch`. SKN_NO_MEMORY. */
skn_status_t skn_calibration_write(const skn_calibration_t *calibration,
                                   uint64_t batch, skn_json_text_t *form,
                                   skn_error_t *error);
/* Reads it; { 0 } if it is for another batch. SKN_BAD_DATA names `path`. */
skn_status_t skn_calibration_read(const char *path, const char *form,
                                  size_t form_bytes, uint64_t batch,
                                  skn_calibration_t *calibration,
                                  skn_error_t *error);
/* The same from the run folder of a checkpoint; { 0 } if it has none. */
skn_status_t skn_calibration_load(const skn_trained_t *trained,
                                  skn_calibration_t *calibration,
                                  skn_error_t *error);
/* Replaces the scores of the event `prediction`; NULL if memory is short, or it
 * is no such event. The caller frees the new text. */
char *skn_calibration_event(const skn_calibration_t *calibration,
                            const char *event);

typedef struct skn_calibrated {
    skn_calibration_t calibration;
    /* of the best labels: as they were, and as they are (skn_calibration_cross)
     */
    double error_before, error;
} skn_calibrated_t;

/* Fits to at most 10,000 points, evenly spaced, of the test set of the run in
 * the folder `run` (fewer where the output layer is so large that they would
 * take long), whose model `path` names; it replaces an older fit. 0
 * points: the run has no test set. `stop` may be NULL; once it is true, the
 * call ends soon with SKN_UNAVAILABLE. Any thread. */
skn_status_t skn_calibrate(const char *path, const char *run,
                           const atomic_bool *stop,
                           skn_calibrated_t *calibrated, skn_error_t *error);
/* Appends the event `calibration`. */
void skn_calibrated_write_event(const skn_calibrated_t *calibrated,
                                skn_json_text_t *event);

#endif
