/* markers.h - computes the batches at which a run has markers, and what is due
 * at each; it sends no messages.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_COURSE_MARKERS_H
#define ACTORS_COURSE_MARKERS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct skn_markers {
    uint64_t batches_per_epoch; /* at least 1 */
    uint64_t total_batches;
    uint64_t every_batches, every_epochs; /* between checkpoints; 0: none */
    uint64_t evaluate_every; /* epochs; 0: only at the end of the run */
    uint64_t
        evaluate_batches; /* between evaluations within an epoch; 0: none */
} skn_markers_t;

/* The marker after batch `first`: the end of an epoch or of the run, a
 * checkpoint, or an evaluation, whichever is first. */
uint64_t skn_markers_next(const skn_markers_t *markers, uint64_t first);
/* The number of epochs that the batches below `batch` belong to. */
uint64_t skn_markers_epochs_begun(const skn_markers_t *markers, uint64_t batch);
/* Whether the batches below `batch` complete an epoch after the first `epochs`.
 * The last epoch of a run may be short. */
bool skn_markers_epoch_is_whole(const skn_markers_t *markers, uint64_t batch,
                                uint64_t epochs);
/* Whether an evaluation is due at `batch`, where no epoch ends. */
bool skn_markers_evaluates_within(const skn_markers_t *markers, uint64_t batch);
/* Whether an evaluation is due after `epoch` epochs, at `batch`. */
bool skn_markers_evaluates(const skn_markers_t *markers, uint64_t batch,
                           uint64_t epoch);
/* Whether a checkpoint is due at `batch`, where `epoch` epochs have ended;
 * 0: no epoch ends there. */
bool skn_markers_saves(const skn_markers_t *markers, uint64_t batch,
                       uint64_t epoch);

#endif
