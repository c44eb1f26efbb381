/* participant.h - one machine's part in an elastic run: follows the
 * coordinator's messages, and starts a worker for each generation.
 *
 *     participant = skn_participant_open(&options, &error);
 *     while (skn_participant_works(participant)) {
 *         skn_participant_wait(participant, orders);
 *         if (asked_to_leave)
 *             skn_participant_leave(participant);
 *         skn_participant_turn(participant);
 *     }
 *     status = skn_participant_finish(participant, &error);
 *     skn_participant_close(&participant);
 *
 * It writes to no stream and handles no signal; what it has to say is an event
 * of its party. One thread owns it.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_PARTICIPANT_H
#define TOPOLOGY_CLUSTER_PARTICIPANT_H

#include "topology/cluster/party.h"

typedef struct skn_participant skn_participant_t;

typedef struct skn_participant_options {
    skn_party_t *party; /* its config has been read; outlives the participant */
    const char *node;   /* the name of this node; outlives it, too */
    const char *program; /* the command, `skein`; outlives it, too */
    uint32_t wait_s, grace_s, patience_s; /* as in skn_member_options_t */
    bool progress;
} skn_participant_options_t;

/* Locks the node's part of the run, and begins to connect to the coordinator.
 * NULL: SKN_USAGE (no such node, no coordinator, no checkpoint.path), SKN_BUSY
 * (another process is this node), failures of the folder and of the keys, or as
 * skn_control_dial. */
skn_participant_t *skn_participant_open(
    const skn_participant_options_t *options, skn_error_t *error);
/* Sets *participant to NULL, which it may be already. skn_participant_finish
 * was called, or skn_participant_turn never. */
void skn_participant_close(skn_participant_t **participant);

/* Whether there is more to do. */
bool skn_participant_works(skn_participant_t *participant);
/* Waits for a message, a line of the worker, the descriptor `orders`, or .1
 * s. */
void skn_participant_wait(skn_participant_t *participant, int orders);
/* Hands over its state and leaves, within the time of grace. */
void skn_participant_leave(skn_participant_t *participant);
/* Does what is due by now. */
void skn_participant_turn(skn_participant_t *participant);

/* Kills a worker that is left, and adds the last events: the failure, if there
 * is one, which is returned; then `over` or `left`. */
skn_status_t skn_participant_finish(skn_participant_t *participant,
                                    skn_error_t *error);

/* The folder of the node's part of the run. */
const char *skn_participant_folder(const skn_participant_t *participant);
/* The generation that its worker runs; 0: none. */
uint64_t skn_participant_generation(const skn_participant_t *participant);
bool skn_participant_is_connected(const skn_participant_t *participant);

#endif
