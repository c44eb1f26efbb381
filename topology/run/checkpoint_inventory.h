/* checkpoint_inventory.h - lists the checkpoints in the folders of a run's
 * nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_CHECKPOINT_INVENTORY_H
#define TOPOLOGY_RUN_CHECKPOINT_INVENTORY_H

#include "formats/checkpoint/held.h"
#include "skein/inspection.h"
#include "topology/run/trained.h"

/* { 0 } is empty. */
typedef struct skn_inventory {
    const char **folder; /* run folders; the place has their paths */
    size_t folder_count;
    skn_held_t **held; /* [folder_count] */
    size_t *held_count;
    skn_holder_t *holder; /* [folder_count], the same lists */
    skn_batch_id_t *id;   /* ids in all folders, newest first, each once */
    size_t count;
} skn_inventory_t;

/* `place` must outlive it. Closed by skn_inventory_close, also after a
 * failure. */
skn_status_t skn_inventory_open_all(skn_inventory_t *all,
                                    const skn_trained_place_t *place,
                                    skn_error_t *error);
void skn_inventory_close(skn_inventory_t *all);

/* Whether the link `link` of any folder points to that checkpoint. */
bool skn_inventory_names(const skn_inventory_t *all, const char *link,
                         const skn_batch_id_t *id);
/* Opens the checkpoint from any folder where that is possible. */
skn_checkpoint_t *skn_inventory_open(const skn_inventory_t *all,
                                     const skn_batch_id_t *id,
                                     skn_verify_t verify, skn_error_t *error);
/* Whether all bytes of the checkpoint in folder `k` are as they were written;
 * *whole: the folder has all of them. */
bool skn_inventory_prove(const skn_inventory_t *all, size_t k,
                         const skn_batch_id_t *id, bool *whole,
                         skn_error_t *error);
/* Fills folder[folder_count] with the folders that have files of the
 * checkpoint, and returns their number. *file_count: all of its files. */
size_t skn_inventory_folders(const skn_inventory_t *all,
                             const skn_batch_id_t *id,
                             skn_inspection_folder_t *folder,
                             size_t *file_count);
/* The number of folders that have the file of the checkpoint that the fewest
 * have; 0: one file is in none of them. */
size_t skn_inventory_copies(const skn_inventory_t *all,
                            const skn_batch_id_t *id);

#endif
