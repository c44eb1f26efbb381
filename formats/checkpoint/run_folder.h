/* run_folder.h - the folder of a training run: lock, checkpoints, links.
 *
 *     RUN/lock                  held by the process that trains
 *     RUN/run.json              the id of the run, and its config (sealed)
 *     RUN/batch-000000001234/   a complete checkpoint (checkpoint.h)
 *     RUN/batch-000000001234-g000007/   the same, written by generation 7
 *     RUN/labels                the names of the labels (run_labels.h)
 *     RUN/tokenizer             that of a decoder (run_form.h)
 *     RUN/latest, RUN/best      symbolic links to two of them
 *     RUN/cut/                  blocks salvaged when a generation broke off
 *                               (salvage.h); the next checkpoint removes it
 *     RUN/.tmp-...              unfinished or half removed; swept at open
 *
 * Links and not text files, so that `RUN/best` is itself a path for every
 * command and every other tool. A file system without links still works:
 * readers look for the greatest batch, never for `latest`; of two of the same
 * batch, the one of the later generation is the newer.
 *
 * A folder is used by one thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_RUN_FOLDER_H
#define FORMATS_CHECKPOINT_RUN_FOLDER_H

#include "formats/checkpoint/manifest.h"

/* "batch-", 12 digits, "-g", 6 digits, and the NUL. */
#define SKN_BATCH_NAME_BYTES 27
#define SKN_GENERATION_MAX 999999u
#define SKN_SALVAGE_NAME "cut"
#define SKN_CALIBRATION_NAME "calibration"
#define SKN_LABELS_NAME "labels"
#define SKN_TOKENIZER_NAME "tokenizer"
#define SKN_VOCABULARY_NAME "vocabulary"
#define SKN_LOCK_WAIT_MS 5000u /* a predecessor that is being stopped */

typedef struct skn_run_folder skn_run_folder_t;

/* Identifies a checkpoint of a run: a later generation may write a batch again,
 * in another layout (several nodes). */
typedef struct skn_batch_id {
    uint64_t batch, generation;
} skn_batch_id_t;

typedef struct skn_run_options {
    bool resume;             /* false: the folder must hold no run yet */
    bool only_ask;           /* only check whether it would be refused */
    const char *run_id;      /* of a new run; NULL: drawn at random */
    const char *config_text; /* of a new run; UTF-8 */
    uint32_t wait_ms;        /* to wait for the lock: SKN_LOCK_WAIT_MS */
} skn_run_options_t;

/* Locks the folder (SKN_BUSY: "PATH is held by process PID"), removes
 * unfinished files of dead processes, and makes or reads run.json. A new run
 * creates the folder and its parents, and replaces a run that has saved
 * nothing; SKN_CANNOT_CREATE when there is a checkpoint, or a run and anything
 * beside it: a file of the user's, a link to a missing checkpoint. A resume
 * fails with SKN_NO_INPUT when there is no run; where it has no checkpoint, or
 * its manifest was put into the folder before it began there (held.h),
 * `config_text` becomes the run's.
 * *checkpoint_count (may be NULL) is the number of checkpoints in the folder; 0
 * after a resume: the run starts at batch 0. NULL on failure. */
skn_run_folder_t *skn_run_folder_open(const char *path,
                                      const skn_run_options_t *options,
                                      size_t *checkpoint_count,
                                      skn_error_t *error);
/* Whether a run was begun in the folder: it has a run.json, sound or not. */
bool skn_run_folder_begun(const char *path);
/* Opens the folder only to read it, without the lock, even while another
 * process writes in it. Functions that change it must not be called. NULL and
 * SKN_NO_INPUT when it holds no run, or SKN_BAD_DATA. */
skn_run_folder_t *skn_run_folder_open_read_only(const char *path,
                                                skn_error_t *error);
/* Unlocks, frees, sets *run to NULL; *run may be NULL already. */
void skn_run_folder_close(skn_run_folder_t **run);

/* Alive until the next call of skn_run_folder_follow. */
const char *skn_run_folder_path(const skn_run_folder_t *run);
/* The contents of run.json; alive as long as `run`. `created` is in UTC, ISO
 * 8601. */
const char *skn_run_folder_id(const skn_run_folder_t *run);
const char *skn_run_folder_config(const skn_run_folder_t *run);
const char *skn_run_folder_created(const skn_run_folder_t *run);
/* For openat; owned by the run folder. */
int skn_run_folder_descriptor(const skn_run_folder_t *run);

/* "batch-000000001234" in generation 0, "batch-000000001234-g000007" in 7. */
void skn_batch_name(uint64_t batch, uint64_t generation,
                    char name[SKN_BATCH_NAME_BYTES]);
/* False for every other name. */
bool skn_batch_name_parse(const char *name, uint64_t *batch,
                          uint64_t *generation);
/* SKN_BAD_DATA if the name of the folder `path` is that of another batch than
 * `batch`, the one in its manifest; any other name is accepted. */
skn_status_t skn_batch_check_name(const char *path, uint64_t batch,
                                  skn_error_t *error);
/* The checkpoints in the open folder `folder`, newest first; *list is the
 * caller's to free. They are found by name, and are not verified. */
skn_status_t skn_run_folder_batches(int folder, const char *path,
                                    skn_batch_id_t **list, size_t *count,
                                    skn_error_t *error);

/* The hint after a save that has failed: `remedy` (of that failure; may be
 * empty), and the last saved batch of the run. */
void skn_run_folder_after_failure(const skn_run_folder_t *run,
                                  const char *remedy,
                                  char text[SKN_ERROR_HINT_BYTES]);

/* Points `best` at a checkpoint: prune does not remove it, also where this
 * failed, and tries again. */
skn_status_t skn_run_folder_mark_best(skn_run_folder_t *run, uint64_t batch,
                                      uint64_t generation, skn_error_t *error);
/* The folder may have been moved since it was opened, and is written to all the
 * same: from now on its path is the new one. Each checkpoint does this twice:
 * skn_checkpoint_begin, and skn_run_folder_mark_latest. */
void skn_run_folder_follow(skn_run_folder_t *run);
/* Points `latest` at a checkpoint. SKN_NO_INPUT: it is not there. */
skn_status_t skn_run_folder_mark_latest(skn_run_folder_t *run, uint64_t batch,
                                        uint64_t generation,
                                        skn_error_t *error);
/* Removes the checkpoints up to this one, except the newest `keep` batches of
 * them (at least one) and the one that `best` names; of a batch that stays,
 * only the latest generation does. Later ones are left alone: they are damaged,
 * or belong to a future that forget_after did not remove. Removes the salvage.
 * */
skn_status_t skn_run_folder_prune(skn_run_folder_t *run, uint64_t batch,
                                  uint64_t generation, uint32_t keep,
                                  skn_error_t *error);
/* Removes every checkpoint after this one: a run that goes back on purpose must
 * not find its abandoned future at the next resume. */
skn_status_t skn_run_folder_forget_after(skn_run_folder_t *run, uint64_t batch,
                                         uint64_t generation,
                                         skn_error_t *error);

/* Draws the id of a new run. SKN_UNAVAILABLE. */
skn_status_t skn_run_id_draw(char id[SKN_RUN_ID_BYTES], skn_error_t *error);

#endif
