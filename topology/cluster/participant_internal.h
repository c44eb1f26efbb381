/* participant_internal.h - the state of a participant, which its sources share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_PARTICIPANT_INTERNAL_H
#define TOPOLOGY_CLUSTER_PARTICIPANT_INTERNAL_H

#include "topology/cluster/control_messages.h"
#include "topology/cluster/member_worker.h"
#include "topology/cluster/participant.h"
#include "transport/socket/reachability.h"

/* Pulses that may be in flight; an answer to an older one renews no lease. */
#define SKN_PULSES_MAX 32u

struct skn_participant {
    skn_party_t *party;
    const skn_model_t *model;
    const skn_model_node_t *node;
    skn_keys_t *own;
    skn_control_t *control;
    skn_worker_settings_t settings;
    skn_worker_t worker;
    char folder[SKN_TEXT_MAX + SKN_NAME_MAX + 2]; /* run folder of this node */
    uint64_t incarnation;
    char *compared; /* settings that the coordinator compares */
    bool connected, ever_connected;
    bool complained;    /* about a message, on this connection */
    bool greeted;       /* the coordinator has our hello */
    bool leaving, over; /* leaving: on notice; over: dismissed */
    bool run_done;      /* dismissed because the run is done */
    const char *reason; /* why it leaves if the run is not done */
    int lock;           /* on the node's part of the run */
    uint64_t opened_ns, pulse_ns, leave_ns, over_ns, saved_told;
    /* When pulse k was sent, at k % SKN_PULSES_MAX; and the end of the lease.
     */
    uint64_t pulse_count, sent_ns[SKN_PULSES_MAX], lease_ns;
    uint32_t wait_s, grace_s;
    /* The last end of a worker, until the next start; its texts are those of
     * `ended_error`. */
    bool has_ended;
    skn_control_ended_t ended;
    skn_error_t ended_error;
    skn_error_t fault; /* our own failure, until the next start */
    skn_reachability_t *probe;
    uint64_t misses;   /* nodes that our worker did not hear */
    bool has_missed;   /* misses were sent: repeat even an empty set */
    uint64_t ended_ns; /* when the worker ended */
    skn_error_t error;
};

/* --- participant_report.c: reports to the coordinator --------------------- */

/* Sends a pulse if one is due, or `now`. */
void skn_participant_pulse(skn_participant_t *participant, bool now);
/* Sends that it wants to leave. */
void skn_participant_send_leaving(skn_participant_t *participant);
/* Sends the list of checkpoints in its folder, but for the manifests that are
 * `known`. */
void skn_participant_send_inventory(skn_participant_t *participant,
                                    const json_t *known);
/* Finds out which nodes it cannot reach, and sends a change of that set. */
void skn_participant_check_reach(skn_participant_t *participant);
/* Sends how its worker has ended, and adds the event. */
void skn_participant_send_ended(skn_participant_t *participant);

/* --- participant_report.c: events ----------------------------------------- */

/* Adds the event `name` of this node. Its member `key` (NULL: there is none)
 * has the text of `format`. */
__attribute__((format(printf, 4, 5))) void skn_participant_tell(
    skn_participant_t *participant, const char *name, const char *key,
    const char *format, ...);
/* Adds the event `part`: the worker "begins", or how it has ended. */
void skn_participant_tell_part(skn_participant_t *participant, const char *how);

#endif
