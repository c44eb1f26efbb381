/* trained.h - locates and opens a trained model: a checkpoint, its run folder,
 * and the config that the run was started with.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_TRAINED_H
#define TOPOLOGY_RUN_TRAINED_H

#include "formats/checkpoint/checkpoint.h"
#include "formats/checkpoint/node_folders.h"
#include "formats/checkpoint/run_form.h"
#include "formats/tokens/tokenizer.h"
#include "topology/model/model.h"

/* The model that a path names. { 0 } is closed. */
typedef struct skn_trained_place {
    char path[SKN_TEXT_MAX + 32]; /* the path to open: a checkpoint, or a folder
                                   * that skn_checkpoint_open accepts */
    bool one;                     /* it is one checkpoint */
    skn_run_folder_t *run;        /* has the config; open for reading only */
    skn_node_folders_t
        nodes; /* run folders of nodes in `path`; count 0: none */
    char note[SKN_ERROR_TEXT_BYTES]; /* for the user; "": none */
} skn_trained_place_t;

/* In the folder of a tuning, which is no run. */
#define SKN_TUNING_JOURNAL "tune.journal"

/* The path that `path` means: FOLDER/latest, unless there is such a file, is
 * the run in FOLDER that was written to last, of those with a checkpoint if
 * there are any; then it is written to `latest`. */
const char *skn_trained_path(const char *path, char latest[SKN_TEXT_MAX]);

/* Finds what `path` is: a checkpoint, a run folder, a folder with the run
 * folders of a run's nodes, or that of a run whose networks are not joined yet:
 * then the place is one of these networks, which the note reports. So it does
 * where `path` is one node's folder in that of a run that has gone on without
 * it: the place is that of the run. The path is that of skn_trained_path.
 * SKN_NO_INPUT, SKN_BAD_DATA.
 * Closed by skn_trained_place_fini, also after a failure. */
skn_status_t skn_trained_find(const char *path, skn_trained_place_t *place,
                              skn_error_t *error);
/* The same, but a run folder is itself the place, wherever its run has gone
 * on. */
skn_status_t skn_trained_find_here(const char *path, skn_trained_place_t *place,
                                   skn_error_t *error);
void skn_trained_place_fini(skn_trained_place_t *place);
/* Writes the path of the file form `name` (run_form.h), which the folder of a
 * node has, or the run folder; false: there is none. */
bool skn_trained_form(const skn_trained_place_t *place, const char *name,
                      char path[SKN_RUN_FORM_PATH_BYTES]);
/* Refuses a tokenizer that the model was not trained with: it has other words
 * than run.json says, or not `ids` tokens. SKN_BAD_DATA. */
skn_status_t skn_trained_check_tokenizer(const skn_trained_place_t *place,
                                         const skn_tokenizer_t *tokenizer,
                                         uint32_t ids, skn_error_t *error);
/* Makes a model of the config in run.json. */
skn_status_t skn_trained_model(const skn_run_folder_t *run, skn_model_t **model,
                               skn_error_t *error);

/* The same from the text of a config. */
skn_status_t skn_trained_model_of(const char *config, skn_model_t **model,
                                  skn_error_t *error);

/* Opens the checkpoint of the place: the one that the path names; else the best
 * one of the run, if it has one; else its newest that is whole. *gone: `best`
 * names a checkpoint that is gone. If nodes have a part each and some are
 * missing, the error names the folders and what each lacks. */
skn_checkpoint_t *skn_trained_checkpoint(const skn_trained_place_t *place,
                                         skn_verify_t verify, bool *gone,
                                         skn_error_t *error);

/* { 0 } is closed. */
typedef struct skn_trained {
    skn_trained_place_t place;
    skn_checkpoint_t *checkpoint;
    skn_model_t *model; /* the config, every value decided */
    /* what was refused, is gone, or is not joined yet; "": nothing */
    char warning[2 * SKN_ERROR_TEXT_BYTES];
} skn_trained_t;

/* Opens the model that skn_trained_find finds. Closed by skn_trained_close,
 * also after a failure. */
skn_status_t skn_trained_open(skn_trained_t *trained, const char *path,
                              skn_verify_t verify, skn_error_t *error);
void skn_trained_close(skn_trained_t *trained);
/* Whether a load that ended with `status` is to be tried again with
 * SKN_VERIFY_ALL. Weights are verified as they are read (SKN_VERIFY_LAZY); the
 * moments need not be. Only if that finds damage is everything verified, to use
 * an older checkpoint. */
static inline bool
skn_trained_may_be_older(const skn_trained_t *trained, skn_status_t status)
{
    return status == SKN_BAD_DATA && trained->checkpoint && !trained->place.one;
}

#endif
