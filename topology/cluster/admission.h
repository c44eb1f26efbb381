/* admission.h - decides which processes with a member's key may join a run.
 *
 * A member with different settings is refused at its `hello`: if it joined, it
 * would end the generation for all. A second process with the key of a live
 * member is refused, too. To find out whether the member lives, the coordinator
 * asks it for another `hello`. The second process waits until that arrives, or
 * until the member's connection has ended or it has been silent for so long
 * that it counts as dead.
 *
 *     member c   coordinator   another c
 *         |           |<-- hello --|
 *         |<- identify|            |
 *         |-- hello ->|            |
 *         |           |- refuse -->|
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_ADMISSION_H
#define TOPOLOGY_CLUSTER_ADMISSION_H

#include "topology/cluster/control_messages.h"

typedef struct skn_admission {
    char *settings; /* the run's settings, from the coordinator's file */
    const char *const *names;
    skn_control_t *control;             /* set and owned by the caller */
    const skn_membership_t *membership; /* set and owned by the caller */
    struct skn_admission_member {
        char told[SKN_ERROR_TEXT_BYTES + 16]; /* reported refusal */
        uint64_t incarnation;        /* of the admitted process; 0: none was */
        bool is_connected;           /* its connection is open */
        bool is_waiting;             /* a second process is */
        skn_control_hello_t waiting; /* its hello, without the settings */
        uint64_t asked_ns;           /* when the admitted process was asked */
        uint64_t complaint_ns;       /* time of the last warning */
    } member[SKN_CLUSTER_NODES_MAX];
} skn_admission_t;

/* `admission` must be zeroed, and closed even after a failure. `names` must
 * outlive it. SKN_NO_MEMORY. */
skn_status_t skn_admission_init(skn_admission_t *admission,
                                const skn_model_t *model,
                                const char *const *names, skn_error_t *error);
void skn_admission_fini(skn_admission_t *admission);

/* True if the admitted member sent the message. Otherwise it has been answered,
 * and *news is set on the first refusal for a given reason. */
bool skn_admission_take(skn_admission_t *admission,
                        const skn_control_arrival_t *arrival,
                        const skn_control_message_t *message, uint64_t now_ns,
                        const char **news);
/* Whether to warn about another unreadable message of `member`: once a
 * second. */
bool skn_admission_complains(skn_admission_t *admission, uint32_t member,
                             uint64_t now_ns);
/* Reports that the connection of the admitted process has ended. */
void skn_admission_lost(skn_admission_t *admission, uint32_t member);
/* Admits a waiting process whose predecessor is gone, and sets *member and
 * *hello. False: there is none. */
bool skn_admission_next(skn_admission_t *admission, uint64_t now_ns,
                        uint32_t *member, skn_control_hello_t *hello);

#endif
