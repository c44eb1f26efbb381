/* held_list.h - writes and reads the message `inventory`: the checkpoints in a
 * node's run folder.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_HELD_LIST_H
#define TOPOLOGY_CLUSTER_HELD_LIST_H

#include "topology/cluster/control_messages.h"
#include "formats/checkpoint/held.h"

/* The least number of copies of each part of a checkpoint, whatever the file
 * sets: any one folder may vanish. */
#define SKN_COPIES_MIN 2

/* The most checkpoints that a member reports, the newest ones. */
#define SKN_HELD_LIST_MAX 16u

/* Makes the message for the run folder at `path`, with the manifests of the
 * checkpoints whose seal is not in the array `known`. Closed by
 * skn_control_message_fini, also after a failure, when it lists nothing and
 * `error` is set. */
void skn_held_list_make(const char *path, const json_t *known,
                        skn_control_message_t *message, skn_error_t *error);
/* Reads its list, to be freed by skn_held_free. `manifest` gets the text of
 * each checkpoint's manifest, which stays the message's; "": it has none.
 * SKN_BAD_MESSAGE. */
skn_status_t skn_held_list_read(const skn_control_inventory_t *inventory,
                                skn_held_t **list, size_t *count,
                                const char *manifest[SKN_HELD_LIST_MAX],
                                skn_error_t *error);
/* The free space on the disk of a folder; 0: unknown. */
uint64_t skn_room_bytes(const char *path);

#endif
