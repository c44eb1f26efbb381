/* training_time.h - the time and the bytes between nodes that count as
 * training: those of evaluations are left out, and those of earlier processes
 * of the run added.
 *
 * Clock messages bring the totals. Not checked: that they grow.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_COURSE_TRAINING_TIME_H
#define ACTORS_COURSE_TRAINING_TIME_H

#include <stdint.h>

#include "actors/course/progress.h"
#include "skein/actor.h"

/* The totals of a clock message. */
typedef struct skn_time_count {
    uint64_t wall_ns, cpu_ns;
    uint64_t sent_bytes, received_bytes; /* between nodes */
} skn_time_count_t;

typedef struct skn_training_time {
    /* training = now - origin; the origin moves past what is left out */
    skn_time_count_t origin, last; /* last: of the clock before this one */
    /* totals of earlier processes */
    double seconds_resumed, cpu_seconds_resumed;
    uint64_t sent_bytes_resumed, received_bytes_resumed;
} skn_training_time_t;

/* Continues from the totals of `progress`, which a checkpoint may have
 * brought. */
void skn_training_time_init(skn_training_time_t *time,
                            const skn_progress_t *progress);
/* Training begins at this clock. CPU time counts from where clocks begin:
 * reading the data is a part of it. */
void skn_training_time_start(skn_training_time_t *time,
                             const skn_clock_t *clock);
/* Sets the totals of `progress` to those at this clock. */
void skn_training_time_mark(skn_training_time_t *time, const skn_clock_t *clock,
                            skn_progress_t *progress);
/* Leaves out everything since the last clock: an evaluation. */
void skn_training_time_skip(skn_training_time_t *time,
                            const skn_clock_t *clock);
/* Leaves out the bytes since the last clock, but not the time: a checkpoint. */
void skn_training_time_skip_bytes(skn_training_time_t *time,
                                  const skn_clock_t *clock);

#endif
