/* held.h - lists the checkpoints that nodes hold in part, chooses a whole one.
 *
 * Each of the nodes has a folder of its own, with the manifest of the whole
 * checkpoint and some of its files (`checkpoint.copies`). To choose one to
 * resume from, a node collects these lists and checks that every file is on
 * some node.
 *
 *     skn_held_list("run", &list, &count, &error);      on each node
 *     held = skn_held_choose(holders, 3, run_id);        on one of them
 *     skn_held_manifest(...) on one, skn_held_adopt(...) on those without it
 *
 * Any thread; each call opens and closes what it needs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_HELD_H
#define FORMATS_CHECKPOINT_HELD_H

#include "formats/checkpoint/run_folder.h"

typedef struct skn_held_file {
    char name[SKN_NAME_MAX + 1];
    bool here; /* has the length in the manifest; not verified */
} skn_held_file_t;

/* A checkpoint with a sound manifest. Two with the same seal are the same
 * checkpoint, file by file. */
typedef struct skn_held {
    uint64_t batch, generation;
    char seal[SKN_HASH_TEXT_BYTES];
    char run_id[SKN_RUN_ID_BYTES];
    bool finished;         /* the run ended with it */
    skn_held_file_t *file; /* in the order of the manifest */
    size_t file_count;
} skn_held_t;

/* The checkpoints in the run folder `run_path`, newest first. A missing folder
 * has an empty list; a checkpoint without a sound manifest is left out. Needs
 * no lock: a run may continue there. *list is freed by skn_held_free. */
skn_status_t skn_held_list(const char *run_path, skn_held_t **list,
                           size_t *count, skn_error_t *error);
/* Frees, sets *list to NULL, which it may be already. */
void skn_held_free(skn_held_t **list, size_t count);

/* The manifest of one of them, its seal checked; *bytes is the caller's to free
 * and ends with a NUL that *byte_count leaves out. SKN_NO_INPUT when it is
 * missing, SKN_BAD_DATA when it is damaged. */
skn_status_t skn_held_manifest(const char *run_path, uint64_t batch,
                               uint64_t generation, char **bytes,
                               size_t *byte_count, skn_error_t *error);
/* Writes a manifest from another node into the folder, so that a run may resume
 * from it there. Creates the folder if it is missing, as one of the run
 * `run_id`, whose config is added when the run begins there. The same manifest,
 * and all files, are left as they are. SKN_BAD_DATA for a manifest that is
 * damaged or of another run, SKN_CANNOT_CREATE if the folder holds another run,
 * SKN_BUSY if a process trains in it. */
skn_status_t skn_held_adopt(const char *run_path, const char *run_id,
                            uint64_t batch, uint64_t generation,
                            const char *bytes, size_t byte_count,
                            skn_error_t *error);

/* The same for a checkpoint that was composed of salvages (salvage.h), which
 * replaces one of that name: its files that are in other checkpoints here, or
 * in the salvage, are hard linked into it. Files that cannot be linked are
 * missing here. */
skn_status_t skn_held_compose(const char *run_path, const char *run_id,
                              uint64_t batch, uint64_t generation,
                              const char *bytes, size_t byte_count,
                              skn_error_t *error);

/* The checkpoints that one node holds. */
typedef struct skn_holder {
    const skn_held_t *held;
    size_t count;
} skn_holder_t;

/* The newest checkpoint of `run_id` (NULL: of any run) whose files are each
 * with one of the holders, except those with one of `without_count` seals; it
 * is in one of their lists. NULL: there is none, and skn_held_none reports
 * it. */
const skn_held_t *skn_held_choose(const skn_holder_t *holders,
                                  size_t holder_count, const char *run_id,
                                  char (*without)[SKN_HASH_TEXT_BYTES],
                                  size_t without_count);
/* The number of holders of the file of `held` that the fewest have: if one less
 * than that fail, the checkpoint is still whole. */
size_t skn_held_copies(const skn_holder_t *holders, size_t holder_count,
                       const skn_held_t *held);
void skn_held_none(const skn_holder_t *holders, size_t holder_count,
                   skn_error_t *error);

#endif
