/* resume.h - how far the run in a folder has come.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RESUME_H
#define TOPOLOGY_RESUME_H

#include "formats/json_text.h"
#include "skein/error.h"
#include "skein/limits.h"

typedef struct skn_resume {
    bool has_run;        /* the folder holds a run */
    bool has_checkpoint; /* ... with at least one complete checkpoint */
    bool finished;       /* ... and the run came to its end */
    uint64_t batch;
    char checkpoint[SKN_TEXT_MAX]; /* folder of the newest one */
    char warning[SKN_ERROR_TEXT_BYTES]; /* newer ones that were refused */
    skn_json_text_t done; /* finished: the `done` event again */
} skn_resume_t;

/* Looks into the run folder `path`; nothing there is no failure. SKN_BAD_DATA
 * when there are checkpoints and all of them are damaged. */
skn_status_t skn_resume_find(const char *path, skn_resume_t *resume,
                             skn_error_t *error);
void skn_resume_fini(skn_resume_t *resume);

#endif
