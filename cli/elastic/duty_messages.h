/* duty_messages.h - turns a duty of the membership into the message for its
 * member: the coordinator's side of control_messages.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_DUTY_MESSAGES_H
#define CLI_ELASTIC_DUTY_MESSAGES_H

#include <jansson.h>

#include "cli/elastic/manifests.h"
#include "topology/elastic/balance.h"
#include "topology/elastic/membership.h"
#include "topology/model/model.h"

/* The data for messages, all owned by the coordinator. */
typedef struct cli_duty_messages {
    const skn_model_t *model;
    const char *const *keys; /* public keys of the nodes */
    const char *run_id;
    const cli_manifests_t *manifests;
    const char *seal; /* seal of the chosen checkpoint */
    const skn_balance_t *balance;
    json_t *composed; /* manifest of a composed checkpoint */
    /* why the dismissed member failed; NULL if it did not */
    const skn_error_t *fault;
    const char *how; /* in a bye, the end of the run: "done", "stopped",
                      * "failed"; or "left": it continues without this member */
} cli_duty_messages_t;

/* The state of the run that a "bye" reports to its member. */
const char *cli_duty_messages_how(const skn_membership_t *membership);
/* Makes the message, which the caller releases. NULL if memory is short or the
 * duty is not for a member. */
json_t *cli_duty_messages_message(const cli_duty_messages_t *messages,
                                  const skn_duty_t *duty);

#endif
