/* resume.c - the newest checkpoint of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors/progress.h"
#include "formats/checkpoint.h"

static skn_status_t
read_checkpoint(skn_run_folder_t *run, skn_checkpoint_t *checkpoint,
                skn_resume_t *resume, skn_error_t *error)
{
    skn_progress_t progress;
    char sha256[SKN_SHA256_TEXT_BYTES] = "";
    skn_status_t status = skn_progress_load(checkpoint, &progress, NULL, error);
    resume->has_checkpoint = true;
    resume->batch = skn_checkpoint_batch(checkpoint);
    (void)snprintf(resume->checkpoint, sizeof(resume->checkpoint), "%s",
                   skn_checkpoint_path(checkpoint));
    (void)snprintf(resume->warning, sizeof(resume->warning), "%s",
                   skn_checkpoint_warning(checkpoint));
    if (status == SKN_OK && progress.best_epoch > 0)
        (void)skn_run_folder_mark_best(run, progress.best_batch, NULL);
    if (status != SKN_OK || !progress.finished)
        return status;
    resume->finished = true;
    status = skn_checkpoint_weights_sha256(checkpoint, sha256, error);
    if (status == SKN_OK)
        skn_progress_write_done(&progress, sha256, &resume->done);
    return status;
}

static skn_status_t
find_newest(skn_run_folder_t *run, skn_resume_t *resume, skn_error_t *error)
{
    uint64_t *batch = NULL;
    size_t count = 0;
    skn_status_t status =
        skn_run_folder_batches(skn_run_folder_descriptor(run),
                               skn_run_folder_path(run), &batch, &count, error);
    if (status == SKN_OK && count > 0)
        resume->newest = batch[0];
    free(batch);
    if (status != SKN_OK || count == 0)
        return status;
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(skn_run_folder_path(run), SKN_VERIFY_ALL, error);
    if (!checkpoint)
        return error->status;
    status = read_checkpoint(run, checkpoint, resume, error);
    skn_checkpoint_close(&checkpoint);
    return status;
}

static bool
holds_run(const char *path)
{
    char file[SKN_TEXT_MAX + 16];
    (void)snprintf(file, sizeof(file), "%s/run.json", path);
    return access(file, F_OK) == 0;
}

skn_status_t
skn_resume_refuse(const char *path, skn_error_t *error)
{
    skn_error_t own = { 0 };
    skn_run_options_t options = { .wait_ms = SKN_LOCK_WAIT_MS };
    if (!error)
        error = &own;
    if (!holds_run(path))
        return SKN_OK;
    skn_run_folder_t *run = skn_run_folder_open(path, &options, NULL, error);
    if (!run)
        return error->status;
    skn_run_folder_close(&run); /* it has gone in between */
    return SKN_OK;
}

skn_status_t
skn_resume_find(const char *path, skn_resume_t *resume, skn_error_t *error)
{
    skn_error_t own = { 0 };
    skn_run_options_t options = { .resume = true, .wait_ms = SKN_LOCK_WAIT_MS };
    if (!error)
        error = &own;
    memset(resume, 0, sizeof(*resume));
    resume->has_run = holds_run(path);
    if (!resume->has_run)
        return SKN_OK;
    skn_run_folder_t *run = skn_run_folder_open(path, &options, NULL, error);
    if (!run)
        return error->status;
    memcpy(resume->run_id, skn_run_folder_id(run), SKN_RUN_ID_BYTES);
    skn_status_t status = find_newest(run, resume, error);
    skn_run_folder_close(&run);
    return status;
}

void
skn_resume_fini(skn_resume_t *resume)
{
    skn_json_text_fini(&resume->done);
}
