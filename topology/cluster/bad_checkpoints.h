/* bad_checkpoints.h - counts failures per checkpoint; two disqualify it.
 *
 * The coordinator chooses by names and lengths of files; their content is read
 * when a generation begins. If that fails twice for one checkpoint, an older
 * one is chosen from then on, until the coordinator is restarted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_BAD_CHECKPOINTS_H
#define TOPOLOGY_CLUSTER_BAD_CHECKPOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/checkpoint/held.h"

#define SKN_BAD_CHECKPOINTS_MAX 16u

typedef struct skn_bad_checkpoints {
    char seal[SKN_BAD_CHECKPOINTS_MAX][SKN_HASH_TEXT_BYTES]; /* disqualified */
    uint32_t count;
    char suspect[SKN_HASH_TEXT_BYTES]; /* has failed once; "": none */
    uint64_t suspect_in;               /* the generation in which it failed */
} skn_bad_checkpoints_t;

/* Reports that a worker of `generation`, which began from the checkpoint with
 * that seal and has trained nothing, failed with `status`. True: the checkpoint
 * is now disqualified. */
bool skn_bad_checkpoints_add(skn_bad_checkpoints_t *bad_checkpoints,
                             const char *seal, uint64_t generation,
                             skn_status_t status);

#endif
