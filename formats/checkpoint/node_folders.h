/* node_folders.h - finds the run folders of a run's nodes within one folder.
 *
 * An elastic run has a folder that holds one run folder for each node; those of
 * any other run may have been copied into one. Their checkpoint files are read
 * as if they were in one place (checkpoint.h):
 *
 *     runs/three/coordinator.journal
 *     runs/three/n0/{run.json, batch-000000000116-g000002/, ...}
 *     runs/three/n1/{run.json, batch-000000000116-g000002/, ...}
 *
 * Any thread; needs no lock.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_NODE_FOLDERS_H
#define FORMATS_CHECKPOINT_NODE_FOLDERS_H

#include "formats/checkpoint/run_folder.h"

/* The file in that folder that a coordinator writes and keeps locked. */
#define SKN_COORDINATOR_JOURNAL "coordinator.journal"

typedef struct skn_node_folders {
    char **path; /* run folders of that run, sorted by name */
    size_t count;
    char run_id[SKN_RUN_ID_BYTES];
    /* Two folders of different runs, if it is not known which one is meant:
     * `count` is 0 then. "": none. */
    char other[2][SKN_NAME_MAX + 1];
} skn_node_folders_t;

/* The run folders in the folder `path`: those of its own run, if it is a run
 * folder itself. Else they must all be of one run, and be several, or be beside
 * a coordinator's journal. None is not a failure: `count` is 0. */
skn_status_t skn_node_folders_in(const char *path, skn_node_folders_t *parts,
                                 skn_error_t *error);
/* The run folders beside the run folder `run_path`, including itself. */
skn_status_t skn_node_folders_beside(const char *run_path,
                                     skn_node_folders_t *parts,
                                     skn_error_t *error);
/* Frees; `parts` is { 0 } afterwards. */
void skn_node_folders_fini(skn_node_folders_t *parts);

#endif
