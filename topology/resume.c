/* resume.c - the newest checkpoint of a run.  SPDX-License-Identifier: Apache-2.0 */
#include "topology/resume.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actors/progress.h"
#include "formats/checkpoint.h"

static skn_status_t
read_checkpoint(skn_checkpoint_t *checkpoint, skn_resume_t *resume,
                skn_error_t *error)
{
    skn_progress_t progress;
    char sha256[SKN_SHA256_TEXT_BYTES] = "";
    skn_status_t status = skn_progress_read(
        skn_checkpoint_metadata(checkpoint), &progress, NULL, error);
    resume->has_checkpoint = true;
    resume->batch = skn_checkpoint_batch(checkpoint);
    (void)snprintf(resume->checkpoint, sizeof(resume->checkpoint), "%s",
                   skn_checkpoint_path(checkpoint));
    (void)snprintf(resume->warning, sizeof(resume->warning), "%s",
                   skn_checkpoint_warning(checkpoint));
    if (status != SKN_OK || !progress.finished)
        return status;
    resume->finished = true;
    status = skn_checkpoint_weights_sha256(checkpoint, sha256, error);
    if (status == SKN_OK)
        skn_progress_write_done(&progress, sha256, &resume->done);
    return status;
}

skn_status_t
skn_resume_find(const char *path, skn_resume_t *resume, skn_error_t *error)
{
    char file[SKN_TEXT_MAX];
    skn_error_t reason = { 0 };
    memset(resume, 0, sizeof(*resume));
    (void)snprintf(file, sizeof(file), "%s/run.json", path);
    resume->has_run = access(file, F_OK) == 0;
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(path, SKN_VERIFY_ALL, &reason);
    if (!checkpoint && reason.status == SKN_NO_INPUT)
        return SKN_OK;
    if (!checkpoint) {
        if (error)
            *error = reason;
        return reason.status;
    }
    skn_status_t status = read_checkpoint(checkpoint, resume, error);
    skn_checkpoint_close(&checkpoint);
    return status;
}

void
skn_resume_fini(skn_resume_t *resume)
{
    skn_json_text_fini(&resume->done);
}
