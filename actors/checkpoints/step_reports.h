/* step_reports.h - the leading keeper's record of what all keepers have done in
 * a step of a checkpoint, and the one manifest of what they wrote.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_CHECKPOINTS_STEP_REPORTS_H
#define ACTORS_CHECKPOINTS_STEP_REPORTS_H

#include "actors/protocol/messages.h"
#include "formats/checkpoint/checkpoint.h"
#include "skein/actor.h"

typedef struct skn_step_reports {
    uint32_t nodes;
    uint64_t batch;
    skn_keeping_t step; /* the one that reports are awaited for */
    uint64_t reported;  /* bits of nodes */
    skn_error_t failure;
    skn_manifest_t *parts; /* [nodes] files that each has written */
    skn_manifest_t whole;  /* when all have written */
} skn_step_reports_t;

/* SKN_NO_MEMORY. Closed by skn_step_reports_close, also after a failure. */
skn_status_t skn_step_reports_open(skn_step_reports_t *reports, uint32_t nodes,
                                   skn_error_t *error);
void skn_step_reports_close(skn_step_reports_t *reports);
/* Expects reports of this step from now on; with SKN_KEEP_OPEN a new checkpoint
 * begins, of `batch`. */
void skn_step_reports_expect(skn_step_reports_t *reports, skn_keeping_t step,
                             uint64_t batch);
/* Takes a report; *all: it was the last one of its step. A failure of a node
 * goes into `failure`. SKN_BAD_MESSAGE for a report out of turn. */
skn_status_t skn_step_reports_take(skn_step_reports_t *reports,
                                   const skn_actor_t *actor,
                                   const skn_kept_t *kept, bool *all,
                                   skn_error_t *error);
/* The sealed manifest of all files that were written, in the order of their
 * names, so that the same layout gives the same manifest. SKN_BAD_DATA when
 * they are not a whole checkpoint: then the message begins with `path`. */
skn_status_t skn_step_reports_seal(skn_step_reports_t *reports,
                                   const char *path, const char *metadata,
                                   skn_json_text_t *text, skn_error_t *error);
/* The indices in the whole manifest of the files that `node` has written;
 * `file` has room for all. */
size_t skn_step_reports_files(const skn_step_reports_t *reports, uint32_t node,
                              uint32_t *file);

#endif
