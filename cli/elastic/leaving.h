/* leaving.h - makes nodes leave a test run together and checks what they leave.
 *
 * For `skein torture`. The machines of nodes that have left belong to others:
 * the nodes' folders are removed. Then each part of the newest checkpoint must
 * be on two of the nodes that stayed, or on the only one that did. If all nodes
 * leave, there is no node to take over, and the folders stay.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_LEAVING_H
#define CLI_ELASTIC_LEAVING_H

#include "cli/elastic/local_cluster.h"

/* { .together = K } is the state before the first wave. */
typedef struct cli_leaving {
    uint32_t together;       /* nodes that leave together; 0 and 1: one */
    uint64_t set, ended;     /* nodes of a wave, and those that ended */
    uint64_t told_ns, batch; /* the time and the batch of the notice */
    double *seconds;         /* of each wave, from notice to last end */
    uint32_t count;
} cli_leaving_t;

void cli_leaving_fini(cli_leaving_t *leaving);
/* Gives `together` nodes notice to leave; each comes back within a second after
 * its end. They are drawn from `random`. False: fewer nodes are running. */
bool cli_leaving_tell(cli_leaving_t *leaving, cli_local_cluster_t *cluster,
                      uint64_t *random, uint64_t batch);
/* Whether nodes of the current wave have not ended yet. */
bool cli_leaving_waits(const cli_leaving_t *leaving);
/* Handles the nodes that have ended; to be called after each turn of the
 * cluster. SKN_INTERNAL when copies are missing, SKN_STORAGE, SKN_NO_MEMORY. */
skn_status_t cli_leaving_turn(cli_leaving_t *leaving,
                              const cli_local_cluster_t *cluster,
                              skn_error_t *error);
/* The median and the longest duration of a wave in seconds; 0: there was
 * none. */
double cli_leaving_median(cli_leaving_t *leaving);
double cli_leaving_longest(const cli_leaving_t *leaving);

#endif
