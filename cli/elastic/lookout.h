/* lookout.h - rates and states of members, for the live view of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_LOOKOUT_H
#define CLI_ELASTIC_LOOKOUT_H

#include <jansson.h>

#include "topology/elastic/balance.h"
#include "topology/elastic/harvest.h"
#include "topology/elastic/membership.h"

/* The last pulse of a member, and the rates since the one before. */
typedef struct cli_lookout_seat {
    uint64_t ns, batch, cpu_ns, sent_bytes, generation;
    double batches_per_s, cores, bytes_per_s;
} cli_lookout_seat_t;

typedef struct cli_lookout {
    cli_lookout_seat_t seat[SKN_CLUSTER_NODES_MAX];
    uint64_t told_ns;
} cli_lookout_t;

void cli_lookout_hello(cli_lookout_t *lookout, uint32_t member);
void cli_lookout_pulse(cli_lookout_t *lookout, uint32_t member,
                       const skn_harvest_pulse_t *pulse, uint64_t now_ns);
/* Makes the event `nodes` if one is due, else NULL. */
json_t *cli_lookout_event(cli_lookout_t *lookout,
                          const skn_membership_t *membership,
                          const skn_balance_t *balance,
                          const char *const *names, uint32_t count,
                          uint64_t now_ns);

#endif
