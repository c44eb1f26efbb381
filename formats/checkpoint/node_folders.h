/* node_folders.h - the run folders of a run's nodes, lying side by side.
 *
 * An elastic run has a folder with a run folder a node in it; the nodes of any
 * other run may have been copied into one. What they hold together is read as
 * if it lay in one place (checkpoint.h):
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
    char **path; /* run folders of that run, in the order of their names */
    size_t count;
    char run_id[SKN_RUN_ID_BYTES];
    /* Two folders of different runs, where nothing says which one is meant:
     * `count` is 0 then. "": there are no such. */
    char other[2][SKN_NAME_MAX + 1];
} skn_node_folders_t;

/* The parts in the folder `path`: those of the run that it holds itself, if it
 * holds one. Else they must all be of one run, and be several, or lie beside a
 * coordinator's journal. None is no failure: `count` is 0. */
skn_status_t skn_node_folders_in(const char *path, skn_node_folders_t *parts,
                                 skn_error_t *error);
/* The parts beside the run folder `run_path`, itself among them. */
skn_status_t skn_node_folders_beside(const char *run_path,
                                     skn_node_folders_t *parts,
                                     skn_error_t *error);
/* Frees; `parts` is { 0 } afterwards. */
void skn_node_folders_fini(skn_node_folders_t *parts);

#endif
