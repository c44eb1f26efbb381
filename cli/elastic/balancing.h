/* balancing.h - what a coordinator does with topology/elastic/balance.h: the
 * speeds in its journal, in what it orders, in what it says.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_BALANCING_H
#define CLI_ELASTIC_BALANCING_H

#include <jansson.h>

#include "topology/elastic/balance.h"
#include "topology/elastic/membership.h"
#include "topology/model/model.h"

/* Of the nodes of `model`; `speeds` are those of a journal, 0: the file's. */
skn_balance_t *cli_balancing_new(const skn_model_t *model, const double *speeds,
                                 skn_error_t *error);
/* {"a": 1.0, ...}; and from that into `speeds`, those that are in it. */
json_t *cli_balancing_json(const skn_balance_t *balance,
                           const skn_model_t *model);
void cli_balancing_read(const json_t *object, const skn_model_t *model,
                        double *speeds);
/* Looks at each generation from when it runs. Not to go on: it should be ended;
 * the membership knows then who is left out or taken back, and `text` says why,
 * to people: who had how much to do, and what is hoped for. `*looked` is the
 * generation that was looked at last. */
skn_balance_verdict_t cli_balancing_turn(skn_balance_t *balance,
                                         uint64_t *looked,
                                         const skn_model_t *model,
                                         skn_membership_t *membership,
                                         char *text, size_t text_bytes);
/* ... and begins the next generation, once that was said. */
void cli_balancing_renew(skn_balance_verdict_t verdict,
                         const skn_model_t *model,
                         skn_membership_t *membership);

#endif
