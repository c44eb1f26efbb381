/* trained.h - where a trained model lies: a checkpoint, its run folder, and
 * the config that the run was started with.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TRAINED_H
#define TOPOLOGY_TRAINED_H

#include "formats/checkpoint.h"
#include "topology/model.h"

/* { 0 } is closed. */
typedef struct skn_trained {
    skn_checkpoint_t *checkpoint;
    skn_run_folder_t *run; /* opened with skn_run_folder_look */
    skn_model_t *model;    /* the config, every value decided */
    bool one;              /* the path named one checkpoint, not a run */
    const char *warning;   /* what was refused, or is gone; "": nothing */
} skn_trained_t;

/* The run folder that `path` is, or that the checkpoint `path` lies in;
 * *one: it is a checkpoint. NULL and SKN_NO_INPUT or SKN_BAD_DATA. */
skn_run_folder_t *skn_trained_run(const char *path, bool *one,
                                  skn_error_t *error);
/* The config in run.json as a model. */
skn_status_t skn_trained_model(const skn_run_folder_t *run, skn_model_t **model,
                               skn_error_t *error);

/* skn_checkpoint_open; where other nodes have the files that are missing
 * (`checkpoint.copies`), that is what the sentence says. */
skn_checkpoint_t *skn_trained_checkpoint(const char *path, skn_verify_t verify,
                                         skn_error_t *error);

/* Opens a run folder (its `best` if there is one, else the newest that is
 * whole) or a checkpoint in one. Closed by skn_trained_close, also after a
 * failure. */
skn_status_t skn_trained_open(skn_trained_t *trained, const char *path,
                              skn_verify_t verify, skn_error_t *error);
void skn_trained_close(skn_trained_t *trained);

#endif
