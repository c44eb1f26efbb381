/* member_internal.h - the state of a member, which the sources of `skein
 * member` share.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_MEMBER_MEMBER_INTERNAL_H
#define CLI_MEMBER_MEMBER_INTERNAL_H

#include "cli/base/stop.h"
#include "topology/cluster/control_messages.h"
#include "cli/member/member_worker.h"
#include "transport/socket/reachability.h"

/* Pulses that may be in flight; an answer to an older one renews no lease. */
#define CLI_PULSES_MAX 32u

typedef struct cli_member {
    const cli_call_t *call;
    skn_model_t *model;
    const skn_model_node_t *node;
    skn_keys_t *own;
    skn_control_t *control;
    cli_worker_t worker;
    char folder[SKN_TEXT_MAX + SKN_NAME_MAX + 2]; /* run folder of this node */
    uint64_t incarnation;
    char *settings; /* settings that the coordinator compares */
    bool connected, ever_connected, leash;
    bool complained;    /* about a message, on this connection */
    bool greeted;       /* the coordinator has our hello */
    bool leaving, over; /* leaving: on notice; over: dismissed */
    bool run_done;      /* dismissed because the run is done */
    const char *reason; /* why it leaves if the run is not done */
    bool resting;       /* leaves to return memory, and comes back */
    cli_stop_t stop;
    int lock;
    uint64_t opened_ns, pulse_ns, leave_ns, over_ns, saved_told;
    /* When pulse k was sent, at k % CLI_PULSES_MAX; and the end of the lease.
     * */
    uint64_t pulse_count, sent_ns[CLI_PULSES_MAX], lease_ns;
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
    cli_bar_t bar;
    skn_error_t error;
} cli_member_t;

/* --- member_report.c: reports to the coordinator -------------------------- */

/* Sends a message, if the connection accepts one: whatever matters is repeated
 * with a later pulse. */
bool cli_member_send(cli_member_t *member,
                     const skn_control_message_t *message);
/* The generation that its worker runs; 0: none. */
uint64_t cli_member_generation(const cli_member_t *member);
/* Sends a pulse if one is due, or `now`. */
void cli_member_pulse(cli_member_t *member, bool now);
/* Sends that it wants to leave. */
void cli_member_send_leaving(cli_member_t *member);
/* Sends the list of checkpoints in its folder, but for the manifests that are
 * `known`. */
void cli_member_send_inventory(cli_member_t *member, const json_t *known);
/* Finds out which nodes it cannot reach, and sends a change of that set. */
void cli_member_check_reach(cli_member_t *member);
/* Sends how its worker has ended, and prints it. */
void cli_member_send_ended(cli_member_t *member);

/* --- member_report.c: lines for people ------------------------------------ */

/* Prints a line about the state of this node, unless events are printed. */
__attribute__((format(printf, 2, 3))) void cli_member_print(
    cli_member_t *member, const char *format, ...);
/* Prints a line, or the event `part`, for logs of several members: the worker
 * "begins", or how it has ended. */
void cli_member_print_part(cli_member_t *member, const char *how);

#endif
