/* talk.h - what a coordinator and its members say to each other.
 *
 * One JSON object a message, at most SKN_CONTROL_BYTES_MAX, over the lines of
 * transport/socket/control.h. Members say, the coordinator orders:
 *
 *     member: hello, pulse, holds, saved, misses, ended, leaving
 *     coordinator: heard, who, ask, start, pause, abort, bye
 *
 * Both name the version of this talk that they speak; a member whose version
 * is unknown is told so and stays out. docs/elastic-protocol.md lists what is
 * in each object. Who said it is known by the key, never by what it says.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_TALK_H
#define CLI_BASE_TALK_H

#include <jansson.h>

#include "cli/base/verb.h"
#include "formats/checkpoint/held.h"
#include "topology/elastic/membership.h"
#include "topology/model/model.h"
#include "transport/socket/control.h"

/* Raised when what is said changes its meaning. The next version is understood,
 * and those from the least on. */
#define CLI_TALK_VERSION 2
#define CLI_TALK_VERSION_MIN 2

/* Of each part of a checkpoint, whatever the file says: any one folder may
 * vanish. */
#define CLI_TALK_COPIES_MIN 2

/* Checkpoints that a member tells of, the newest; and files of each. */
#define CLI_TALK_HELD_MAX 16u

/* Reads a message, which may be anything: an object, or NULL and
 * SKN_BAD_MESSAGE. Release it with json_decref. */
json_t *cli_talk_read(skn_frame_t frame, skn_error_t *error);
/* Its number at `key`, or 0: of what no number is, too. */
uint64_t cli_talk_number(const json_t *message, const char *key);
/* What a message says of an end of its sender ("code", "text", "hint"), as an
 * error, in printable words: they reach terminals and logs. */
void cli_talk_error(const json_t *message, skn_error_t *error);
/* How an `ended` says that a part has ended; `error` for SKN_ENDING_FAILED,
 * which is also what no other word is. */
skn_ending_t cli_talk_ending(const json_t *message, skn_error_t *error);
/* Nodes of the model as an array of their names, and back: bit k is node k.
 * Names of no node are passed over. NULL: no memory. */
json_t *cli_talk_names(const skn_model_t *model, uint64_t set);
uint64_t cli_talk_set(const skn_model_t *model, const json_t *names);
/* A member's line to its coordinator, as skn_control_dial; warns at once of a
 * name that nobody knows. */
skn_control_t *cli_talk_dial(const cli_call_t *call,
                             const skn_control_options_t *options,
                             skn_error_t *error);
/* Sends `message`, and releases it; it may be NULL: SKN_NO_MEMORY. */
skn_status_t cli_talk_send(skn_control_t *control, uint32_t member,
                           json_t *message, skn_error_t *error);

/* "holds": what is in the run folder at `path`, with the manifests of those
 * whose seal is not in the array `known`. NULL and `error`. */
json_t *cli_talk_holds(const char *path, const json_t *known,
                       skn_error_t *error);
/* What the disk of that folder has room for; 0: not known. */
uint64_t cli_talk_room_bytes(const char *path);
/* The list in it; freed by skn_held_free. SKN_BAD_MESSAGE. */
skn_status_t cli_talk_take_holds(const json_t *message, skn_held_t **list,
                                 size_t *count, skn_error_t *error);

#endif
