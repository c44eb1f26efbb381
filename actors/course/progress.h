/* progress.h - progress of a run: the part of its state other than weights. It
 * is stored in every checkpoint and restored at a resume.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_COURSE_PROGRESS_H
#define ACTORS_COURSE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "actors/protocol/messages.h"
#include "actors/combine/rounding.h"
#include "formats/checkpoint/ledger.h"
#include "formats/text/json_text.h"
#include "skein/evaluation.h"

typedef struct skn_progress {
    uint64_t batch, epoch; /* applied; completed */
    double seconds;        /* training time, without evaluation */
    double cpu_seconds;    /* total of all processes, without evaluation */
    uint64_t nodes;        /* nodes that train now; 0 and 1: no wire */
    uint64_t wire_bytes_sent, wire_bytes_received; /* training only */
    double loss; /* mean of the last complete epoch */
    /* Error of link codings in gradients (rounding.h): in the last epoch in
     * which it was measured, -1: never; then the sums of the epoch in work. */
    double gradient_error;
    skn_rounding_t rounding;
    skn_scores_t scores; /* scores of the last evaluation */
    uint64_t best_epoch; /* 0: none */
    uint64_t best_batch; /* the checkpoint that holds the best model */
    double best_p1;      /* on the validation points */
    /* The loss on the validation points, at the last evaluation and of the best
     * model; and on the test points, at the last; -1: not known. */
    double validation_nats, best_nats, test_nats;
    /* A text has tokens in a batch, and bytes for each token that evaluations
     * predict; zeros: the data are not a text. */
    uint64_t batch_tokens;
    double bytes_per_token;
    skn_scores_t best_scores;
    char best_sha256[65];
    skn_ledger_verdict_t ledger; /* verdict on the last save; not stored */
    uint64_t stale_epochs; /* since the best one; of a text, evaluations */
    bool finished;
    /* the epoch in work, so that a resume inside it loses no loss */
    double loss_sum;
    uint64_t loss_rows, active, possible;
    uint64_t loss_batches, distinct; /* rows touched, summed over batches */
    uint64_t listed, capped; /* rows of lists; rows that the cap has cut off */
    uint64_t measured;       /* results with mass and recall */
    double mass_sum, recall_sum;
    /* loss_sum and loss_rows at the last loss that was reported */
    double line_loss_sum;
    uint64_t line_loss_rows;
    /* 1: an evaluation within an epoch is due at `batch`: a stop has skipped
     * it, or ended it early */
    uint64_t evaluation_due;
    /* Not stored. Of a text: batches of a step, and steps of the run. */
    uint64_t step_batches, steps;
} skn_progress_t;

/* Initialises: no scores, no batches. */
void skn_progress_init(skn_progress_t *progress);
/* Adds the result of one shard for one batch to the epoch in work. */
void skn_progress_add(skn_progress_t *progress, const skn_result_t *result);
/* The mean loss of the epoch in work; 0 if it is nearly 0, or nothing was
 * counted. */
double skn_progress_loss(const skn_progress_t *progress);
/* Begins another line: what was counted until now is not recent any more. */
void skn_progress_new_line(skn_progress_t *progress);
/* Appends ,"recent_loss": the mean loss since the line began, of a text that
 * has trained since. */
void skn_progress_write_recent(const skn_progress_t *progress,
                               skn_json_text_t *text);
/* Adds the error measured in a span of batches, unless it is not a number. */
void skn_progress_add_rounding(skn_progress_t *progress,
                               const skn_rounding_t *rounding);
/* Resets the sums of the epoch in work. */
void skn_progress_new_epoch(skn_progress_t *progress);
/* A checkpoint that is composed of salvages (formats/checkpoint/salvage.h) may
 * be of a later epoch than the progress stored with it. Epochs that ended in
 * between were reported by then; the remaining sums do not belong to the epoch
 * in work. */
void skn_progress_catch_up(skn_progress_t *progress,
                           uint64_t batches_per_epoch);
/* Appends the members as JSON, without the braces around them. */
void skn_progress_write(const skn_progress_t *progress, skn_json_text_t *text);
/* Reads the metadata of a checkpoint: an object with the members that
 * skn_progress_write wrote, and "history", a list of epoch events, which are
 * appended to `history` (may be NULL), separated by commas. SKN_BAD_DATA. */
skn_status_t skn_progress_read(const char *json, skn_progress_t *progress,
                               skn_json_text_t *history, skn_error_t *error);
/* Reads the metadata of `checkpoint`. A checkpoint cannot contain its own hash:
 * if it holds the best model itself, best_sha256 is computed. It is empty if
 * some of its files are on other nodes. */
skn_status_t skn_progress_load(skn_checkpoint_t *checkpoint,
                               skn_progress_t *progress,
                               skn_json_text_t *history, skn_error_t *error);
/* Takes the P@1 on the validation points at the end of an epoch, or of a text
 * validation_nats, there or within an epoch. True if the model is the best so
 * far. */
bool skn_progress_judge(skn_progress_t *progress, double p1, bool is_within);
/* True if the best model is that of the current batch; and if its hash is not
 * known yet. */
bool skn_progress_is_best(const skn_progress_t *progress);
bool skn_progress_lacks_hash(const skn_progress_t *progress);
/* Appends the sampler's figures: the rows that were computed, and, where
 * measured, how good they were. */
void skn_progress_write_draws(const skn_progress_t *progress,
                              skn_json_text_t *text);
/* Appends ,"validation_nats": and, of a text, ,"bits_per_byte":, if the loss on
 * the validation points is known. */
void skn_progress_write_nats(const skn_progress_t *progress, double nats,
                             skn_json_text_t *text);
/* Appends ,"step": and ,"steps": of a text of which `batches` batches are
 * trained, the last of them in that step. */
void skn_progress_write_steps(const skn_progress_t *progress, uint64_t batches,
                              skn_json_text_t *text);
/* Appends the whole `validation` event. */
void skn_progress_write_validation(const skn_progress_t *progress,
                                   skn_json_text_t *text);
/* Appends the whole `stopped` event. */
void skn_progress_write_stopped(const skn_progress_t *progress,
                                skn_json_text_t *text);
/* The fields of an `epoch` event that are not in the progress. The scores are
 * NULL if there was no such evaluation. */
typedef struct skn_epoch {
    double rows_per_s;
    const skn_scores_t *scores, *validation;
    uint64_t rss_bytes;
} skn_epoch_t;
/* Appends the whole `epoch` event. */
void skn_progress_write_epoch(const skn_progress_t *progress,
                              const skn_epoch_t *epoch, skn_json_text_t *text);
/* Appends the whole `done` event: for the best model if there was validation,
 * else for the last one, whose hash is `sha256`. */
void skn_progress_write_done(const skn_progress_t *progress, const char *sha256,
                             skn_json_text_t *text);
/* ,"p1":...,"ndcg5":... ; nothing for missing scores. */
void skn_scores_write(const skn_scores_t *scores, const char *prefix,
                      skn_json_text_t *text);
skn_scores_t skn_scores_of(const skn_metrics_t *metrics);

#endif
