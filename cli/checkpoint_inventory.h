/* checkpoint_inventory.h - lists the checkpoints in the folders of a run's
 * nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CHECKPOINT_INVENTORY_H
#define CLI_CHECKPOINT_INVENTORY_H

#include "formats/checkpoint/held.h"
#include "topology/run/trained.h"

/* { 0 } is empty. */
typedef struct cli_checkpoint_inventory {
    const char **folder; /* run folders; the place has their paths */
    size_t folder_count;
    skn_held_t **held; /* [folder_count] */
    size_t *held_count;
    skn_batch_id_t *id; /* ids in all folders, newest first, each once */
    size_t count;
} cli_checkpoint_inventory_t;

/* `place` must outlive it. Closed by cli_inventory_close, also after a
 * failure. */
skn_status_t cli_inventory_open_all(cli_checkpoint_inventory_t *all,
                                    const skn_trained_place_t *place,
                                    skn_error_t *error);
void cli_inventory_close(cli_checkpoint_inventory_t *all);

/* Whether the link `link` of any folder points to that checkpoint. */
bool cli_inventory_names(const cli_checkpoint_inventory_t *all,
                         const char *link, const skn_batch_id_t *id);
/* Opens the checkpoint from any folder where that is possible. */
skn_checkpoint_t *cli_inventory_open(const cli_checkpoint_inventory_t *all,
                                     const skn_batch_id_t *id,
                                     skn_verify_t verify, skn_error_t *error);
/* Whether all bytes of the checkpoint in folder `k` are as they were written;
 * *whole: the folder has all of them. */
bool cli_inventory_prove(const cli_checkpoint_inventory_t *all, size_t k,
                         const skn_batch_id_t *id, bool *whole,
                         skn_error_t *error);
/* Prints " n0 3 of 8 files, n1 5" on standard output. */
void cli_inventory_print(const cli_checkpoint_inventory_t *all,
                         const skn_batch_id_t *id);
/* Writes ,"folders":[{"folder":"n0","files":3},...],"files":8. */
void cli_inventory_write(const cli_checkpoint_inventory_t *all,
                         const skn_batch_id_t *id, skn_json_text_t *text);

#endif
