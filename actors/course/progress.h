/* progress.h - what a run has achieved so far: the part of its state that is
 * no weight. It goes into every checkpoint and comes back at a resume.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_COURSE_PROGRESS_H
#define ACTORS_COURSE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "actors/protocol/messages.h"
#include "actors/combine/rounding.h"
#include "formats/checkpoint/ledger.h"
#include "formats/text/json_text.h"

/* A set of scores, -1 where there is no test (or validation) data. */
typedef struct skn_scores {
    double p1, p3, p5, psp1, psp3, psp5, ndcg3, ndcg5;
} skn_scores_t;

typedef struct skn_progress {
    uint64_t batch, epoch; /* applied; completed */
    double seconds;        /* of training, evaluation excluded */
    double cpu_seconds;    /* of all processes, evaluation excluded */
    uint64_t nodes;        /* that work on it now; 0 and 1: no wire */
    uint64_t wire_bytes_sent, wire_bytes_received; /* training only */
    double loss; /* mean of the last complete epoch */
    /* What codings of links do to gradients (rounding.h): of the last epoch
     * where it was measured, -1 if it never was; sums of the epoch in work. */
    double gradient_error;
    skn_rounding_t rounding;
    skn_scores_t scores; /* of the last evaluation */
    uint64_t best_epoch; /* 0: none */
    uint64_t best_batch; /* the checkpoint that holds the best model */
    double best_p1;      /* on the validation points */
    skn_scores_t best_scores;
    char best_sha256[65];
    skn_ledger_verdict_t ledger; /* of the last save; not kept */
    uint64_t stale_epochs;       /* since the best */
    bool finished;
    /* The epoch in work, so that a resume inside it loses no loss. */
    double loss_sum;
    uint64_t loss_rows, active, possible;
    uint64_t loss_batches, distinct; /* rows touched, summed over batches */
    uint64_t listed, capped; /* rows of lists; those that the cap has cut */
    uint64_t measured;       /* results that tell mass and recall */
    double mass_sum, recall_sum;
    /* late: stale: parts of hidden gradients that were not waited for, parts
     * of normalisers that were estimated. */
    uint64_t late, estimated;
} skn_progress_t;

/* No scores, nothing done. */
void skn_progress_init(skn_progress_t *progress);
/* Takes what one shard says of one batch into the epoch in work. */
void skn_progress_add(skn_progress_t *progress, const skn_result_t *result);
/* The mean loss of the epoch in work; 0 where it is next to 0, or nothing was
 * counted. */
double skn_progress_loss(const skn_progress_t *progress);
/* Takes what was measured of a span of batches; what is no number is not. */
void skn_progress_add_rounding(skn_progress_t *progress,
                               const skn_rounding_t *rounding);
/* The sums of the epoch in work start anew. */
void skn_progress_new_epoch(skn_progress_t *progress);
/* A checkpoint that is composed of cuts (formats/checkpoint/cut.h) may be of a
 * later epoch than what is said of the run beside it. Epochs that ended in
 * between were told by then; what is left of their sums is not of the one in
 * work. */
void skn_progress_catch_up(skn_progress_t *progress,
                           uint64_t batches_per_epoch);
/* Appends the members as JSON, without the braces around them. */
void skn_progress_write(const skn_progress_t *progress, skn_json_text_t *text);
/* Reads the metadata of a checkpoint: an object with what skn_progress_write
 * wrote, and "history", a list of epoch events, which are appended to `history`
 * (may be NULL) with commas between. SKN_BAD_DATA. */
skn_status_t skn_progress_read(const char *json, skn_progress_t *progress,
                               skn_json_text_t *history, skn_error_t *error);
/* Reads the metadata of `checkpoint`. A checkpoint cannot name its own hash:
 * where it holds the best model itself, best_sha256 is computed, unless some of
 * its files are on other nodes: it is empty then. */
skn_status_t skn_progress_load(skn_checkpoint_t *checkpoint,
                               skn_progress_t *progress,
                               skn_json_text_t *history, skn_error_t *error);
/* Whether the best model is that of the batch in hand; and its hash is not
 * known yet. */
bool skn_progress_is_best(const skn_progress_t *progress);
bool skn_progress_lacks_hash(const skn_progress_t *progress);
/* Appends what the sampler did: the rows that it had computed, and, where it
 * was looked at, how good they were. */
void skn_progress_write_draws(const skn_progress_t *progress,
                              skn_json_text_t *text);
/* Appends the whole `done` event: of the best model if there was validation,
 * else of the last one, whose hash is `sha256`. */
void skn_progress_write_done(const skn_progress_t *progress, const char *sha256,
                             skn_json_text_t *text);
/* ,"p1":...,"ndcg5":... ; nothing for scores that are not there. */
void skn_scores_write(const skn_scores_t *scores, const char *prefix,
                      skn_json_text_t *text);
skn_scores_t skn_scores_of(const skn_metrics_t *metrics);

#endif
