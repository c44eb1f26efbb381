/* trained.h - where a trained model lies: a checkpoint, its run folder, and
 * the config that the run was started with.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_TRAINED_H
#define TOPOLOGY_RUN_TRAINED_H

#include "formats/checkpoint/checkpoint.h"
#include "formats/checkpoint/node_folders.h"
#include "topology/model/model.h"

/* What a path of a trained model names. { 0 } is closed. */
typedef struct skn_trained_place {
    char path[SKN_TEXT_MAX + 32]; /* what is opened: a checkpoint, or a folder
                                   * that skn_checkpoint_open knows */
    bool one;                     /* it is one checkpoint */
    skn_run_folder_t *run; /* that has the config; by skn_run_folder_look */
    skn_node_folders_t
        nodes; /* run folders of nodes in `path`; count 0: none */
    char note[SKN_ERROR_TEXT_BYTES]; /* what the user has to know; "" */
} skn_trained_place_t;

/* Finds out what `path` is: a checkpoint, a run folder, a folder with the run
 * folders of a run's nodes, or that of a run whose networks are not joined yet:
 * then it is one of them, which the note says. SKN_NO_INPUT, SKN_BAD_DATA.
 * Closed by skn_trained_place_fini, also after a failure. */
skn_status_t skn_trained_find(const char *path, skn_trained_place_t *place,
                              skn_error_t *error);
void skn_trained_place_fini(skn_trained_place_t *place);
/* The config in run.json as a model. */
skn_status_t skn_trained_model(const skn_run_folder_t *run, skn_model_t **model,
                               skn_error_t *error);

/* The checkpoint that the place stands for: the one that it is; else the best
 * of the run, if it has one, else its newest that is whole. *gone: there should
 * be a best one. Where nodes have a part each and some is missing, the sentence
 * says which folder lacks what. */
skn_checkpoint_t *skn_trained_checkpoint(const skn_trained_place_t *place,
                                         skn_verify_t verify, bool *gone,
                                         skn_error_t *error);

/* { 0 } is closed. */
typedef struct skn_trained {
    skn_trained_place_t place;
    skn_checkpoint_t *checkpoint;
    skn_model_t *model; /* the config, every value decided */
    /* What was refused, is gone, or is not joined yet; "": nothing. */
    char warning[2 * SKN_ERROR_TEXT_BYTES];
} skn_trained_t;

/* Opens what skn_trained_find finds. Closed by skn_trained_close, also after a
 * failure. */
skn_status_t skn_trained_open(skn_trained_t *trained, const char *path,
                              skn_verify_t verify, skn_error_t *error);
void skn_trained_close(skn_trained_t *trained);

#endif
