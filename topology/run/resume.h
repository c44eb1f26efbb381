/* resume.h - finds how far the run in a folder has come, and checks that a
 * model may continue it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_RESUME_H
#define TOPOLOGY_RUN_RESUME_H

#include "formats/text/json_text.h"
#include "formats/checkpoint/run_folder.h"
#include "skein/error.h"
#include "skein/limits.h"
#include "topology/model/model.h"

/* The checkpoint from which a run continues. { 0 } is the newest one that is
 * whole in the folder. */
typedef struct skn_from {
    bool given; /* exactly this one */
    bool none;  /* none: from batch 0, whatever the folder holds */
    bool parts; /* some of its files may be on other nodes (copies) */
    bool alone; /* one process resumes it, and no node may still be training */
    bool left;  /* it was a run of several nodes before */
    uint64_t batch, generation;
} skn_from_t;

/* Parses "BATCH", "BATCH-gGENERATION" or "none" into the first and the last two
 * fields. SKN_USAGE. */
skn_status_t skn_from_parse(const char *text, skn_from_t *from,
                            skn_error_t *error);

typedef struct skn_resume {
    bool has_run;        /* the folder holds a run */
    bool has_checkpoint; /* the run has at least one complete checkpoint */
    bool finished;       /* the run finished */
    bool joined;         /* it is joined: `done` has no scores then */
    uint64_t batch, generation;
    uint64_t epoch;  /* completed */
    uint64_t newest; /* batch of the newest checkpoint, damaged or not */
    char run_id[SKN_RUN_ID_BYTES];
    char checkpoint[SKN_TEXT_MAX];      /* folder of the newest one */
    char warning[SKN_ERROR_TEXT_BYTES]; /* newer ones that were refused */
    skn_json_text_t done;               /* finished: repeats the `done` event */
} skn_resume_t;

/* Finds the checkpoint that `from` names in the run folder `path`; an empty
 * folder is no failure. If `path` holds the folders of a run's nodes instead,
 * it becomes a run folder of its own, and the checkpoint is what theirs hold
 * together. Waits for a predecessor that is just being stopped, also one of
 * those nodes (SKN_BUSY after SKN_LOCK_WAIT_MS), but keeps no lock of the
 * folder. Points `best` to the checkpoint that the metadata names, since a
 * killed run may not have done so. SKN_BAD_DATA when there are checkpoints and
 * all of them are damaged. With `parts` a run has finished here only if its
 * last checkpoint is whole here; otherwise continuing makes it so. */
skn_status_t skn_resume_from(const char *path, const skn_from_t *from,
                             skn_resume_t *resume, skn_error_t *error);
/* Refuses a folder that holds a run, or the folders of a run's nodes:
 * SKN_CANNOT_CREATE, or SKN_BUSY when that run is alive and does not end within
 * SKN_LOCK_WAIT_MS. Anything else, such as a run that has saved nothing, is
 * SKN_OK and left as it is. */
skn_status_t skn_resume_refuse(const char *path, skn_error_t *error);
/* Makes the folder of a run whose nodes come and go, if it is missing.
 * SKN_CANNOT_CREATE if one process has saved a run in it: nodes would begin
 * before that state. */
skn_status_t skn_resume_make_top(const char *path, skn_error_t *error);
/* Refuses to continue from `resume` with another network than the run in `path`
 * was begun with: a part of its weights would be taken for the whole, or `eval`
 * and `predict`, which read the config of the beginning, would compute
 * something else. `model` is resolved. Unless it is 0, `text_hash` is the
 * content hash of a decoder's training text, which must be the same, too.
 * SKN_BAD_CONFIG names the difference. */
skn_status_t skn_resume_fits(const skn_resume_t *resume, const char *path,
                             const skn_model_t *model, uint32_t features,
                             uint32_t labels, uint64_t text_hash,
                             skn_error_t *error);
/* Whether it was made of several networks, or of one and a ranker; and whether
 * the newest in the folder was. */
struct skn_checkpoint;
bool skn_resume_is_joined(const struct skn_checkpoint *checkpoint);
bool skn_resume_joined_in(const char *path);
/* Refuses to continue from `resume`, an unfinished run of one network, if
 * several networks or a ranker are requested: SKN_BAD_CONFIG. */
skn_status_t skn_resume_single(const skn_resume_t *resume, const char *path,
                               skn_error_t *error);
/* Lines of a stored config that identify the content of its training file, a
 * decoder's tokenizer, and the vocabulary of texts: comments for every reader
 * but skn_resume_is_same. */
#define SKN_RESUME_DATA "# xxh3 of data.train: "
#define SKN_RESUME_TOKENIZER "# xxh3 of the tokenizer: "
#define SKN_RESUME_VOCABULARY "# xxh3 of the vocabulary: "
/* Whether `hash` is the one in that line of `config`; true if it has no such
 * line, as the runs of older versions. */
bool skn_resume_is_same(const char *config, const char *line, uint64_t hash);
/* Refuses to continue from `resume` with other training points than the run in
 * `path` was begun with (skn_plan_data_t.train_hash). SKN_BAD_CONFIG. A run
 * that did not store this line may continue with any. */
skn_status_t skn_resume_same_data(const skn_resume_t *resume, const char *path,
                                  uint64_t train_hash, skn_error_t *error);
void skn_resume_fini(skn_resume_t *resume);

#endif
