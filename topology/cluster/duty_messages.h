/* duty_messages.h - turns a duty of the membership into the message for its
 * member.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_DUTY_MESSAGES_H
#define TOPOLOGY_CLUSTER_DUTY_MESSAGES_H

#include "topology/cluster/control_messages.h"
#include "topology/cluster/manifests.h"
#include "topology/elastic/balance.h"

/* The data for messages, all owned by the coordinator. */
typedef struct skn_duty_messages {
    const skn_model_t *model;
    const char *const *keys; /* public keys of the nodes */
    const char *run_id;
    const skn_manifests_t *manifests;
    const char *seal; /* seal of the chosen checkpoint */
    const skn_balance_t *balance;
    const char *composed; /* manifest of a composed checkpoint, or NULL */
    /* why the dismissed member failed; NULL if it did not */
    const skn_error_t *fault;
    const char *how; /* in a `dismiss`, the end of the run: "done", "stopped",
                      * "failed"; or "left": it continues without this member */
} skn_duty_messages_t;

/* The state of the run that a `dismiss` reports to its member. */
const char *skn_duty_messages_how(const skn_membership_t *membership);
/* Makes the message, closed by skn_control_message_fini. Its kind is
 * SKN_CONTROL_MESSAGE_UNKNOWN if the duty is not for a member. */
void skn_duty_messages_make(const skn_duty_messages_t *messages,
                            const skn_duty_t *duty,
                            skn_control_message_t *message);

#endif
