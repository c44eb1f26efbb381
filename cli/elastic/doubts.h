/* doubts.h - checkpoints that were chosen, and could not be read.
 *
 * Who chooses sees names and lengths of files; what is in them is read when a
 * generation begins. Where that fails twice for one checkpoint, an older one is
 * chosen from then on, until the coordinator is started again.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_DOUBTS_H
#define CLI_ELASTIC_DOUBTS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/checkpoint/held.h"

#define CLI_DOUBTS_MAX 16u

typedef struct cli_doubts {
    char seal[CLI_DOUBTS_MAX][SKN_HASH_TEXT_BYTES]; /* passed over */
    uint32_t count;
    char suspect[SKN_HASH_TEXT_BYTES]; /* failed once; "": none */
    uint64_t suspect_in;               /* the generation that it failed in */
} cli_doubts_t;

/* A part of `generation`, which began from the checkpoint of that seal and has
 * trained nothing, has failed with `status`. True: it is passed over now. */
bool cli_doubts_add(cli_doubts_t *doubts, const char *seal, uint64_t generation,
                    skn_status_t status);

#endif
