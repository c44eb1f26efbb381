/* inspection_internal.h - the fields of an inspection, for the source that
 * prints it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_INSPECTION_INTERNAL_H
#define TOPOLOGY_RUN_INSPECTION_INTERNAL_H

#include "formats/checkpoint/ledger.h"
#include "formats/checkpoint/slim.h"
#include "skein/inspection.h"
#include "topology/run/checkpoint_inventory.h"

struct skn_inspection {
    char *path;
    skn_trained_place_t place;
    skn_inventory_t all;
    skn_checkpoint_t *shown; /* may be NULL */
    skn_slim_t *slim;        /* NULL: it is no exported model */
    json_t *metadata;        /* of the one that is shown */
    char sha256[SKN_SHA256_TEXT_BYTES];
    skn_ledger_verdict_t ledger;
    skn_inspection_info_t info;
    skn_error_t failure, *warning;
    skn_error_t shortage; /* of memory, which is no damage; or SKN_OK */
    /* [all.count]; the folders of each are [all.folder_count] of `folder` */
    skn_inspection_checkpoint_t *checkpoint;
    char (*name)[SKN_BATCH_NAME_BYTES];
    skn_inspection_folder_t *folder;
    /* [info.tensor_count]; all pieces, in the order of the tensors */
    skn_inspection_tensor_t *tensor;
    skn_inspection_piece_t *piece;
    char (*hash)[SKN_HASH_TEXT_BYTES];
};

/* Adds a warning. */
void skn_inspection_warn(skn_inspection_t *inspection, const char *text,
                         const char *hint);
/* inspection_slim.c: of an exported model. */
skn_status_t skn_inspection_read_slim(skn_inspection_t *inspection,
                                      skn_error_t *error);

#endif
