/* balancing.h - applies the balance of a run: journal, membership, messages.
 *
 * Connects topology/elastic/balance.h to the coordinator.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_BALANCING_H
#define TOPOLOGY_CLUSTER_BALANCING_H

#include "formats/text/json_text.h"
#include "topology/elastic/balance.h"
#include "topology/elastic/membership.h"
#include "topology/model/model.h"

/* Makes the balance of the nodes of `model`; `speeds` are from a journal, 0:
 * the file's. */
skn_balance_t *skn_balancing_new(const skn_model_t *model, const double *speeds,
                                 skn_error_t *error);
/* Write the speeds as {"a": 1.0, ...}, and read from that into `speeds` those
 * that it contains. */
json_t *skn_balancing_json(const skn_balance_t *balance,
                           const skn_model_t *model);
void skn_balancing_read(const json_t *object, const skn_model_t *model,
                        double *speeds);
/* Compares the nodes of each generation from when it runs. A verdict other than
 * SKN_BALANCE_GO_ON means that the generation should end: the membership then
 * knows which node is left out or taken back, and `text` explains it to people,
 * with the load of each node and the expected gain. `*looked` is the last
 * generation that was compared. */
skn_balance_verdict_t skn_balancing_turn(skn_balance_t *balance,
                                         uint64_t *looked,
                                         const skn_model_t *model,
                                         skn_membership_t *membership,
                                         char *text, size_t text_bytes);
/* Begins the next generation, after that text was printed. */
void skn_balancing_renew(skn_balance_verdict_t verdict,
                         const skn_model_t *model,
                         skn_membership_t *membership);

#endif
