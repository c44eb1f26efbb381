/* leaving.h - `skein torture`: nodes that are told to leave at the same moment,
 * and what must hold when the last of them has ended.
 *
 * The machines of those that have left are somebody else's: their folders are
 * removed. Then each part of the newest checkpoint must lie on two of the nodes
 * that stayed, or on the one that did. Where all nodes leave, nobody could take
 * over, and the folders stay.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_LEAVING_H
#define CLI_ELASTIC_LEAVING_H

#include "cli/elastic/crew.h"

/* { .together = K } is none. */
typedef struct cli_leaving {
    uint32_t together;       /* nodes that leave at once; 0 and 1: one */
    uint64_t set, ended;     /* of a wave: bits of nodes; of those, ... */
    uint64_t told_ns, batch; /* when they were told, and how far the run was */
    double *seconds;         /* of each wave, from the word to the last end */
    uint32_t count;
} cli_leaving_t;

void cli_leaving_fini(cli_leaving_t *leaving);
/* Tells `together` nodes to leave; each comes back within a second after its
 * end. `random` is drawn from. False: not so many of them run now. */
bool cli_leaving_tell(cli_leaving_t *leaving, cli_crew_t *crew,
                      uint64_t *random, uint64_t batch);
/* Whether some of those that were told have not ended yet. */
bool cli_leaving_waits(const cli_leaving_t *leaving);
/* Sees to those that have ended, after each turn of the crew. SKN_INTERNAL when
 * copies are missing, SKN_STORAGE, SKN_NO_MEMORY. */
skn_status_t cli_leaving_turn(cli_leaving_t *leaving, const cli_crew_t *crew,
                              skn_error_t *error);
/* Seconds that a wave took: half of them less. 0: there was none. */
double cli_leaving_median(cli_leaving_t *leaving);
double cli_leaving_longest(const cli_leaving_t *leaving);

#endif
