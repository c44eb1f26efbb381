/* held.h - what a run folder holds of checkpoints that several nodes keep.
 *
 * Each of the nodes has a folder of its own, with the manifest of the whole
 * checkpoint and some of its files (`checkpoint.copies`). Whoever has to choose
 * one to go on from collects these lists and looks which files are somewhere.
 *
 *     skn_held_list("run", &list, &count, &error);      on each node
 *     held = skn_held_choose(holders, 3, run_id);        on one of them
 *     skn_held_manifest(...) there, skn_held_adopt(...) on those without it
 *
 * Any thread; each call opens and closes what it needs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_HELD_H
#define FORMATS_CHECKPOINT_HELD_H

#include "formats/checkpoint/run_folder.h"

typedef struct skn_held_file {
    char name[SKN_NAME_MAX + 1];
    bool here; /* with the length that the manifest says; not verified */
} skn_held_file_t;

/* A checkpoint with a sound manifest. Two that have the same seal are the same
 * checkpoint, file by file. */
typedef struct skn_held {
    uint64_t batch, generation;
    char seal[SKN_HASH_TEXT_BYTES];
    char run_id[SKN_RUN_ID_BYTES];
    bool finished;         /* the run came to its end there */
    skn_held_file_t *file; /* in the order of the manifest */
    size_t file_count;
} skn_held_t;

/* What is in the run folder `run_path`, newest first. A folder that is not
 * there has an empty list; what has no sound manifest is left out. Needs no
 * lock: whoever trains there may go on. *list is freed by skn_held_free. */
skn_status_t skn_held_list(const char *run_path, skn_held_t **list,
                           size_t *count, skn_error_t *error);
/* Frees, sets *list to NULL; it may be. */
void skn_held_free(skn_held_t **list, size_t count);

/* The manifest of one of them, its seal checked; *bytes is the caller's to free
 * and ends with a NUL that *byte_count leaves out. SKN_NO_INPUT when it is not
 * there, SKN_BAD_DATA when it is damaged. */
skn_status_t skn_held_manifest(const char *run_path, uint64_t batch,
                               uint64_t generation, char **bytes,
                               size_t *byte_count, skn_error_t *error);
/* Puts a manifest from elsewhere into the folder, so that a run may go on from
 * it there. Makes the folder if it is not there, as one of the run `run_id`,
 * whose config follows when the run begins there. The same manifest, and all
 * files, are left as they are. SKN_BAD_DATA for a manifest that is damaged or
 * another's, SKN_CANNOT_CREATE where the folder holds another run, SKN_BUSY
 * where somebody trains in it. */
skn_status_t skn_held_adopt(const char *run_path, const char *run_id,
                            uint64_t batch, uint64_t generation,
                            const char *bytes, size_t byte_count,
                            skn_error_t *error);

/* The same for one that was composed of cuts (cut.h), in place of another of
 * that name: files of it that lie in other checkpoints here, or in the cut, get
 * their names in it, too (hard links). Where that cannot be, they are not here.
 */
skn_status_t skn_held_compose(const char *run_path, const char *run_id,
                              uint64_t batch, uint64_t generation,
                              const char *bytes, size_t byte_count,
                              skn_error_t *error);

/* What one node holds. */
typedef struct skn_holder {
    const skn_held_t *held;
    size_t count;
} skn_holder_t;

/* The newest checkpoint of `run_id` (NULL: of any run) of which each file is
 * with one of the holders, but for those with one of `without_count` seals; it
 * is in one of their lists. NULL: there is none, and skn_held_none says so. */
const skn_held_t *skn_held_choose(const skn_holder_t *holders,
                                  size_t holder_count, const char *run_id,
                                  char (*without)[SKN_HASH_TEXT_BYTES],
                                  size_t without_count);
/* How many of the holders have that file of `held` which fewest have: with one
 * less than that of them, any, it is still whole. */
size_t skn_held_copies(const skn_holder_t *holders, size_t holder_count,
                       const skn_held_t *held);
void skn_held_none(const skn_holder_t *holders, size_t holder_count,
                   skn_error_t *error);

#endif
