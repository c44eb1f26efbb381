/* load_report.h - sends the event `load` once a second: how busy a node of an
 * elastic run is.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TRAINING_LOAD_REPORT_H
#define TOPOLOGY_TRAINING_LOAD_REPORT_H

#include "skein/topology.h"
#include "topology/idle/load.h"
#include "topology/training/training_internal.h"

typedef struct skn_load_report {
    bool sends;
    uint64_t next_ns; /* when the next event is due */
    double quota;     /* processing units that we may use; 0: all */
    skn_node_load_t load;
} skn_load_report_t;

void skn_load_report_init(skn_load_report_t *report, bool sends);
/* Sends the event if it is due. */
void skn_load_report_step(skn_load_report_t *report, skn_training_t *training,
                          const skn_topology_t *topology);
/* How long until then; -1: forever. */
int skn_load_report_timeout_ms(const skn_load_report_t *report);

#endif
