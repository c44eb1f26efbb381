/* member_rates.h - rates and states of members, for the live view of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_MEMBER_RATES_H
#define TOPOLOGY_CLUSTER_MEMBER_RATES_H

#include "formats/text/json_text.h"
#include "topology/elastic/balance.h"
#include "topology/elastic/harvest.h"
#include "topology/elastic/membership.h"

/* The last pulse of a member, and the rates since the one before. */
typedef struct skn_member_rate {
    uint64_t ns, batch, cpu_ns, sent_bytes, generation;
    double batches_per_s, cores, bytes_per_s;
} skn_member_rate_t;

typedef struct skn_member_rates {
    skn_member_rate_t rate[SKN_CLUSTER_NODES_MAX];
    uint64_t told_ns;
} skn_member_rates_t;

void skn_member_rates_hello(skn_member_rates_t *rates, uint32_t member);
void skn_member_rates_pulse(skn_member_rates_t *rates, uint32_t member,
                            const skn_harvest_pulse_t *pulse, uint64_t now_ns);
/* Makes the event `nodes` if one is due, else NULL. */
json_t *skn_member_rates_event(skn_member_rates_t *rates,
                               const skn_membership_t *membership,
                               const skn_balance_t *balance,
                               const char *const *names, uint32_t count,
                               uint64_t now_ns);

#endif
