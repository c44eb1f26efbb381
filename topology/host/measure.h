/* measure.h - measures what the machine gave a run, and what other processes
 * used of it.
 *
 * Samples the process, its control groups and its cores at the beginning and at
 * the end. What the system does not report stays unknown; that is no failure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_HOST_MEASURE_H
#define TOPOLOGY_HOST_MEASURE_H

#include "actors/runtime/figures.h"

typedef struct skn_measure {
    bool begun;
    uint32_t units; /* cores whose ticks are counted; 0: unknown */
    uint64_t cpu_ns, throttled_ns, busy_ticks;
} skn_measure_t;

/* `root` goes before /proc and /sys: "" except in tests. */
void skn_measure_begin(skn_measure_t *measure, const char *root);
/* Fills in the changes since the beginning; nothing if it was not begun. */
void skn_measure_end(const skn_measure_t *measure, const char *root,
                     skn_figures_t *figures);

#endif
