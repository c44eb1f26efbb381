/* control_messages.h - the messages between a coordinator and its members.
 *
 * Each message is one JSON object of at most SKN_CONTROL_BYTES_MAX, on the
 * connections of transport/socket/control.h. Members report, the coordinator
 * orders:
 *
 *     member: hello, pulse, holds, saved, misses, ended, leaving
 *     coordinator: heard, who, ask, start, pause, abort, bye
 *
 * Both state the version of this protocol that they use; a member with an
 * unknown version gets that answer and stays out.
 * docs/reference/elastic-protocol.md lists the fields of each object. The
 * sender is identified by its key, never by the content.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_CONTROL_MESSAGES_H
#define CLI_BASE_CONTROL_MESSAGES_H

#include <jansson.h>

#include "cli/base/verb.h"
#include "formats/checkpoint/held.h"
#include "topology/elastic/membership.h"
#include "topology/model/model.h"
#include "transport/socket/control.h"

/* The version is raised when a message changes its meaning. Accepted versions
 * range from the least one to the next one. */
#define CLI_CONTROL_VERSION 2
#define CLI_CONTROL_VERSION_MIN 2

/* The least number of copies of each part of a checkpoint, whatever the file
 * sets: any one folder may vanish. */
#define CLI_CONTROL_COPIES_MIN 2

/* The most checkpoints that a member reports, the newest ones, and the most
 * files of each. */
#define CLI_CONTROL_HELD_MAX 16u

/* Reads a message, which may contain anything: returns an object, or NULL and
 * SKN_BAD_MESSAGE. Release it with json_decref. */
json_t *cli_control_read(skn_frame_t frame, skn_error_t *error);
/* The number at `key`; 0 if there is none or it is not a number. */
uint64_t cli_control_number(const json_t *message, const char *key);
/* Reads the cause of the sender's end ("code", "text", "hint") as an error, in
 * printable characters: it reaches terminals and logs. */
void cli_control_error(const json_t *message, skn_error_t *error);
/* Reads from an `ended` how a worker has ended; sets `error` for
 * SKN_ENDING_FAILED, which is also the result for an unknown value. */
skn_ending_t cli_control_ending(const json_t *message, skn_error_t *error);
/* Convert a set of the model's nodes to an array of their names, and back: bit
 * k is node k. Unknown names are ignored. NULL if memory is short. */
json_t *cli_node_names(const skn_model_t *model, uint64_t set);
uint64_t cli_node_set(const skn_model_t *model, const json_t *names);
/* Opens a member's connection to its coordinator, as skn_control_dial; warns at
 * once if the host name is unknown. */
skn_control_t *cli_control_dial(const cli_call_t *call,
                                const skn_control_options_t *options,
                                skn_error_t *error);
/* Sends `message` and releases it; NULL yields SKN_NO_MEMORY. */
skn_status_t cli_control_send(skn_control_t *control, uint32_t member,
                              json_t *message, skn_error_t *error);

/* Makes a "holds": the checkpoints in the run folder at `path`, with the
 * manifests of those whose seal is not in the array `known`. NULL and `error`
 * on failure. */
json_t *cli_holds(const char *path, const json_t *known, skn_error_t *error);
/* The free space on that folder's disk; 0: unknown. */
uint64_t cli_control_room_bytes(const char *path);
/* Reads the list of a "holds", to be freed by skn_held_free.
 * SKN_BAD_MESSAGE. */
skn_status_t cli_control_take_holds(const json_t *message, skn_held_t **list,
                                    size_t *count, skn_error_t *error);

#endif
