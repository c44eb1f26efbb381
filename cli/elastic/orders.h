/* orders.h - the coordinator's side of talk.h: a duty of the membership as the
 * message that its member is sent.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_ORDERS_H
#define CLI_ELASTIC_ORDERS_H

#include <jansson.h>

#include "cli/elastic/manifests.h"
#include "topology/elastic/balance.h"
#include "topology/elastic/membership.h"
#include "topology/model/model.h"

/* What orders are made of; all of it is the coordinator's. */
typedef struct cli_orders {
    const skn_model_t *model;
    const char *const *keys; /* public ones, of the nodes */
    const char *run_id;
    const cli_manifests_t *manifests;
    const char *seal; /* of the checkpoint that was chosen */
    const skn_balance_t *balance;
    json_t *composed;         /* the manifest of a composed point */
    const skn_error_t *fault; /* what who is told to go failed by; NULL */
    const char *how; /* of a bye: "done", "stopped", "failed" is the run, or
                      * "left": it goes on without this member */
} cli_orders_t;

/* What a member that is told "bye" hears of the run. */
const char *cli_orders_how(const skn_membership_t *membership);
/* The caller's to release. NULL: no memory, or a duty that no member has. */
json_t *cli_orders_message(const cli_orders_t *orders, const skn_duty_t *duty);

#endif
