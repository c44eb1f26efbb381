/* course.c - actor that leads a run: spans of batches, epochs, evaluation,
 * checkpoints, the best model, the end.
 *
 *     SPAN ─reached─▶ ─┬─ end of epoch ─▶ EVALUATE... ─▶ ─┬─▶ SAVE ─▶ SPAN
 *                      └─ checkpoint is due ──────────────┘      └─▶ END
 *
 * EVALUATE and SAVE are left out where they are not due. A stop cuts EVALUATE,
 * and the resumed run begins with it. Between spans the window is empty: every
 * number reported here covers all batches below `batch`.
 * Times come from clock messages; evaluations are subtracted.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "actors/protocol/kinds.h"
#include "actors/protocol/messages.h"
#include "actors/course/markers.h"
#include "actors/course/progress.h"
#include "actors/course/throughput.h"
#include "actors/course/training_time.h"
#include "actors/protocol/settings.h"
#include "actors/runtime/reporting.h"
#include "formats/checkpoint/checkpoint.h"

/* Why a clock message was requested. */
enum {
    CLOCK_START,
    CLOCK_MARKER,
    CLOCK_EVALUATED,
    CLOCK_SAVED /* several nodes: bytes of a checkpoint are not training */
};

/* The events of epochs are kept in checkpoints up to this, for `skein
 * inspect`. */
#define HISTORY_BYTES_MAX 49152

typedef struct course {
    skn_progress_t progress;
    skn_markers_t markers;
    uint64_t span_end, first_batch; /* span_end: of the current span;
                                     * first_batch: this process's */
    uint64_t patience;
    double patience_s; /* most time to the next marker, when stopped */
    bool has_validation, has_test;
    bool has_keeper; /* otherwise nothing is saved */
    skn_training_time_t time;
    uint32_t nodes;        /* nodes of the run */
    double seconds_before; /* at the end of the last epoch */
    double rows_before;    /* samples of this epoch, trained before a resume */
    uint64_t rss_bytes;
    skn_throughput_t throughput;
    int pass_halves;  /* halves of an evaluation: metrics, empty window */
    uint32_t shards;  /* shards that send a result of each batch */
    uint64_t results; /* results of this process, so far */
    bool at_marker;   /* the window is empty, results are outstanding */
    bool training, is_evaluating, saving; /* waiting for an answer to this */
    bool restoring, is_prediction;
    bool must_resave;  /* the checkpoint we began from must be written again */
    bool hands_over;   /* then stop, so that serving members may leave */
    bool halting;      /* the span was asked to end where it is */
    uint32_t saves;    /* requests of the host that need no other checkpoint */
    uint32_t answered; /* those among them that an event has counted */
    bool saving_best, epoch_done, stopping, stale;
    bool warned; /* about the error of codings */
    skn_purpose_t evaluating;
    skn_progress_t before; /* the evaluation: what a stop goes back to */
    skn_scores_t validation;
    skn_json_text_t history;
    char sha256[65];
} course_t;

static skn_status_t
send_go(skn_actor_t *actor, uint64_t first, uint64_t end, uint32_t purpose,
        skn_error_t *error)
{
    skn_go_t go = { .first = first, .end = end, .purpose = purpose };
    return skn_actor_send(actor, &skn_go_schema, &go, error);
}

/* Reports a text that may be longer than one format, and frees it. */
static skn_status_t
tell(skn_actor_t *actor, skn_json_text_t *text, skn_error_t *error)
{
    skn_status_t status =
        text->failed ? skn_fail(error, SKN_NO_MEMORY, "no memory for an event")
                     : skn_actor_send_event(actor, error, "%s", text->bytes);
    skn_json_text_fini(text);
    return status;
}

static bool
is_last(const course_t *course)
{
    return course->progress.batch >= course->markers.total_batches ||
           course->stale;
}

/* --- spans --------------------------------------------------------------- */

static skn_status_t
next_span(skn_actor_t *actor, course_t *course, skn_error_t *error)
{
    uint64_t first = course->progress.batch;
    uint64_t end = skn_markers_next(&course->markers, first);
    assert(!course->training && end > first);
    course->span_end = end;
    course->training = true;
    skn_throughput_work(&course->throughput, skn_actor_time_ns(actor));
    return send_go(actor, first, end, SKN_PURPOSE_TRAIN, error);
}

/* --- the end ------------------------------------------------------------- */

static skn_status_t
end_run(skn_actor_t *actor, course_t *course, skn_error_t *error)
{
    skn_json_text_t text = { 0 };
    if (course->stopping)
        skn_progress_write_stopped(&course->progress, &text);
    else
        skn_progress_write_done(&course->progress, course->sha256, &text);
    skn_status_t status = tell(actor, &text, error);
    if (status == SKN_OK)
        status = send_go(actor, 0, 0, SKN_GO_FINISH, error);
    skn_actor_finish(actor);
    return status;
}

/* --- checkpoints --------------------------------------------------------- */

/* Whether the host has requested a checkpoint since the last one. */
static bool
save_is_wanted(const skn_actor_t *actor, const course_t *course)
{
    return course->has_keeper && skn_actor_saves_wanted(actor) != course->saves;
}

static skn_status_t
save(skn_actor_t *actor, course_t *course, skn_error_t *error)
{
    skn_json_text_t text = { 0 };
    skn_progress_t *progress = &course->progress;
    assert(!course->saving && !course->training);
    skn_throughput_pause(&course->throughput);
    course->saves = skn_actor_saves_wanted(actor);
    course->saving = skn_actor_set_saving(actor, true);
    skn_throughput_rest(&course->throughput, skn_actor_time_ns(actor));
    progress->finished =
        is_last(course) && !course->stopping && !course->must_resave;
    skn_json_text_add(&text, "{");
    skn_progress_write(progress, &text);
    skn_json_text_add(&text, ",\"history\":[%s]}",
                      course->history.count ? course->history.bytes : "");
    if (text.failed) {
        skn_json_text_fini(&text);
        return skn_fail(error, SKN_NO_MEMORY, "no memory for the metadata");
    }
    skn_save_t message = {
        .batch = progress->batch,
        .best = course->saving_best,
        .hash = course->saving_best || progress->finished,
        .metadata = { (uint8_t *)text.bytes, text.count + 1 },
    };
    skn_status_t status =
        skn_actor_send(actor, &skn_save_schema, &message, error);
    skn_json_text_fini(&text);
    return status;
}

/* After all work at a marker: saves if it is due, or continues. */
static skn_status_t
close_marker(skn_actor_t *actor, course_t *course, skn_error_t *error)
{
    const skn_progress_t *progress = &course->progress;
    bool last = is_last(course) || course->stopping;
    bool due = last || course->saving_best || save_is_wanted(actor, course) ||
               skn_markers_saves(&course->markers, progress->batch,
                                 course->epoch_done ? progress->epoch : 0);
    course->epoch_done = false;
    if (due && course->has_keeper)
        return save(actor, course, error);
    return last ? end_run(actor, course, error)
                : next_span(actor, course, error);
}

/* Fails for an answer that was not asked for. */
static skn_status_t
unasked(const skn_actor_t *actor, const char *what, uint64_t number,
        skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_MESSAGE, "%s: %s %llu was not requested",
                    skn_actor_name(actor), what, (unsigned long long)number);
}

/* True if an epoch that was not reported yet is completely trained. */
static bool
epoch_is_whole(const course_t *course)
{
    const skn_progress_t *progress = &course->progress;
    return skn_markers_epoch_is_whole(&course->markers, progress->batch,
                                      progress->epoch);
}

/* All owners have their state. If the nodes have changed, the checkpoint is
 * written again before training continues, so that each part has its copies; at
 * the end of a run the save that is due does this. */
static skn_status_t
begin_after_restore(skn_actor_t *actor, course_t *course, skn_error_t *error)
{
    const skn_progress_t *progress = &course->progress;
    course->restoring = false;
    if (is_last(course) && !epoch_is_whole(course))
        course->must_resave = false;
    if (!course->must_resave)
        return skn_actor_ask_clock(actor, CLOCK_START, error);
    course->saving_best = skn_progress_is_best(progress);
    return save(actor, course, error);
}

/* It answers requests that came while it was written, too: nothing was trained
 * meanwhile. */
static skn_status_t
tell_checkpoint(skn_actor_t *actor, course_t *course, const skn_saved_t *saved,
                skn_error_t *error)
{
    skn_json_text_t text = { 0 };
    skn_json_text_add(&text, "{\"event\":\"checkpoint\",\"path\":");
    skn_json_text_add_string(&text, saved->path);
    skn_json_text_add(
        &text, ",\"batch\":%llu,\"busy_s\":%.3f",
        (unsigned long long)saved->batch,
        skn_throughput_busy_s(&course->throughput, skn_actor_time_ns(actor)));
    course->saves = skn_actor_saves_wanted(actor);
    if (course->saves != course->answered)
        skn_json_text_add(&text, ",\"answers\":%u",
                          course->saves - course->answered);
    skn_json_text_add(&text, "}");
    course->answered = course->saves;
    return tell(actor, &text, error);
}

static skn_status_t
on_saved(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    course_t *course = state;
    const skn_saved_t *saved = message;
    skn_status_t status = SKN_OK;
    if (course->restoring)
        return begin_after_restore(actor, course, error);
    if (!course->saving || saved->batch != course->progress.batch)
        return unasked(actor, "a checkpoint of batch", saved->batch, error);
    course->saving = skn_actor_set_saving(actor, false);
    if (saved->path[0])
        status = tell_checkpoint(actor, course, saved, error);
    course->progress.ledger =
        (skn_ledger_verdict_t){ saved->ledger, saved->lost,
                                saved->applied_twice };
    (void)snprintf(course->sha256, sizeof(course->sha256), "%s",
                   saved->weights_sha256);
    if (course->saving_best)
        memcpy(course->progress.best_sha256, course->sha256,
               sizeof(course->sha256));
    course->saving_best = false;
    if (status != SKN_OK)
        return status;
    if (course->must_resave) {
        course->must_resave = false;
        if (!(course->stopping = course->hands_over))
            return skn_actor_ask_clock(actor, CLOCK_START, error);
    }
    if (course->stopping && !saved->path[0] &&
        !skn_actor_option_bool(actor, "may_lose"))
        return skn_fail(error, SKN_STORAGE,
                        "the run was stopped and could not save batch %llu; "
                        "see the warning before this one",
                        (unsigned long long)course->progress.batch);
    if (is_last(course) || course->stopping)
        return end_run(actor, course, error);
    if (course->nodes > 1)
        return skn_actor_ask_clock(actor, CLOCK_SAVED, error);
    return next_span(actor, course, error);
}

/* --- epochs -------------------------------------------------------------- */

static skn_status_t
tell_epoch(skn_actor_t *actor, course_t *course, bool evaluated,
           skn_error_t *error)
{
    skn_progress_t *progress = &course->progress;
    skn_json_text_t text = { 0 };
    double rows = (double)progress->loss_rows;
    skn_epoch_t epoch = {
        .rows_per_s = progress->seconds > course->seconds_before
                          ? (rows - course->rows_before) /
                                (progress->seconds - course->seconds_before)
                          : 0.0,
        .scores = evaluated ? &progress->scores : NULL,
        .validation =
            evaluated && course->has_validation ? &course->validation : NULL,
        .rss_bytes = course->rss_bytes,
    };
    progress->loss = skn_progress_loss(progress);
    skn_progress_write_epoch(progress, &epoch, &text);
    if (!text.failed && course->history.count + text.count < HISTORY_BYTES_MAX)
        skn_json_text_add(&course->history, "%s%s",
                          course->history.count ? "," : "", text.bytes);
    course->seconds_before = progress->seconds;
    course->rows_before = 0;
    skn_progress_new_epoch(progress);
    return tell(actor, &text, error);
}

static void
judge(course_t *course)
{
    skn_progress_t *progress = &course->progress;
    /* A decoder trains all its steps, and its last state is its model. */
    bool keeps_last = progress->batch_tokens > 0 && course->patience == 0;
    if (!course->has_validation || keeps_last)
        return;
    if (skn_progress_judge(progress, course->validation.p1,
                           !course->epoch_done))
        course->saving_best = course->has_keeper;
    course->stale =
        course->patience > 0 && progress->stale_epochs >= course->patience;
}

/* Reports an evaluation within an epoch. */
static skn_status_t
tell_evaluation(skn_actor_t *actor, course_t *course, skn_error_t *error)
{
    skn_json_text_t text = { 0 };
    skn_progress_write_validation(&course->progress, &text);
    skn_progress_new_line(&course->progress);
    course->progress.evaluation_due = 0;
    return tell(actor, &text, error);
}

/* Reports an epoch, or an evaluation within one. */
static skn_status_t
close_report(skn_actor_t *actor, course_t *course, bool evaluated,
             skn_error_t *error)
{
    skn_status_t status = course->epoch_done
                              ? tell_epoch(actor, course, evaluated, error)
                              : tell_evaluation(actor, course, error);
    if (evaluated)
        judge(course);
    if (skn_actor_stop_wanted(actor))
        course->stopping = !is_last(course);
    return status == SKN_OK ? close_marker(actor, course, error) : status;
}

static skn_status_t
evaluate(skn_actor_t *actor, course_t *course, skn_purpose_t purpose,
         skn_error_t *error)
{
    assert(!course->is_evaluating && !course->training);
    skn_throughput_pause(&course->throughput);
    course->evaluating = purpose;
    course->pass_halves = 0;
    course->is_evaluating = true;
    skn_throughput_work(&course->throughput, skn_actor_time_ns(actor));
    return send_go(actor, 0, 0, purpose, error);
}

/* The window is empty and the time is known: handles an epoch that is complete.
 * A run that was told to stop evaluates it after its resume. */
static skn_status_t
on_marker(skn_actor_t *actor, course_t *course, skn_error_t *error)
{
    skn_progress_t *progress = &course->progress;
    progress->evaluation_due =
        !epoch_is_whole(course) && course->has_validation &&
        skn_markers_evaluates_within(&course->markers, progress->batch);
    course->before = *progress;
    if (progress->evaluation_due && !course->stopping)
        return evaluate(actor, course, SKN_PURPOSE_VALIDATE, error);
    if (!epoch_is_whole(course) || course->stopping)
        return close_marker(actor, course, error);
    progress->epoch =
        skn_markers_epochs_begun(&course->markers, progress->batch);
    course->epoch_done = true;
    bool has_evaluations = course->has_validation || course->has_test;
    if (!has_evaluations ||
        !skn_markers_evaluates(&course->markers, progress->batch,
                               progress->epoch))
        return close_report(actor, course, false, error);
    return evaluate(actor, course,
                    course->has_validation ? SKN_PURPOSE_VALIDATE
                                           : SKN_PURPOSE_TEST,
                    error);
}

static skn_status_t
on_clock(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    course_t *course = state;
    const skn_clock_t *clock = message;
    course->rss_bytes = clock->rss_bytes;
    switch (clock->tag) {
    case CLOCK_START:
        skn_training_time_start(&course->time, clock);
        if (course->is_prediction)
            return evaluate(actor, course, SKN_PURPOSE_TEST, error);
        /* A resume may find an unreported epoch, or no work left. */
        if (epoch_is_whole(course) || course->progress.evaluation_due)
            return skn_actor_ask_clock(actor, CLOCK_MARKER, error);
        return is_last(course) ? close_marker(actor, course, error)
                               : next_span(actor, course, error);
    case CLOCK_SAVED:
        skn_training_time_skip_bytes(&course->time, clock);
        return next_span(actor, course, error);
    case CLOCK_EVALUATED:
        skn_training_time_skip(&course->time, clock);
        if (course->stopping)
            return close_marker(actor, course, error);
        return close_report(actor, course, true, error);
    default:
        skn_training_time_mark(&course->time, clock, &course->progress);
        return on_marker(actor, course, error);
    }
}

/* A pass is over when the metrics are here and its window is empty. */
static skn_status_t
pass_half_over(skn_actor_t *actor, course_t *course, skn_error_t *error)
{
    if (++course->pass_halves < 2)
        return SKN_OK;
    course->is_evaluating = false;
    if (course->is_prediction) {
        skn_status_t status = send_go(actor, 0, 0, SKN_GO_FINISH, error);
        skn_actor_finish(actor);
        return status;
    }
    if (course->evaluating == SKN_PURPOSE_VALIDATE && course->has_test)
        return evaluate(actor, course, SKN_PURPOSE_TEST, error);
    return skn_actor_ask_clock(actor, CLOCK_EVALUATED, error);
}

/* A stop has cut the pass: the resumed run begins the evaluation again. */
static skn_status_t
drop_evaluation(skn_actor_t *actor, course_t *course, skn_error_t *error)
{
    course->progress = course->before;
    course->is_evaluating = course->epoch_done = false;
    course->stopping = true;
    return skn_actor_ask_clock(actor, CLOCK_EVALUATED, error);
}

static skn_status_t
on_pass(skn_actor_t *actor, course_t *course, const skn_reached_t *reached,
        skn_error_t *error)
{
    if (!course->is_evaluating ||
        reached->purpose != (uint32_t)course->evaluating ||
        (reached->cut && !skn_actor_stop_wanted(actor)))
        return unasked(actor, "a pass of purpose", reached->purpose, error);
    return reached->cut ? drop_evaluation(actor, course, error)
                        : pass_half_over(actor, course, error);
}

/* The marker is passed when every shard has sent its result of every batch. */
static skn_status_t
close_window(skn_actor_t *actor, course_t *course, skn_error_t *error)
{
    uint64_t batches = course->progress.batch - course->first_batch;
    if (!course->at_marker || course->results < batches * course->shards)
        return SKN_OK;
    course->at_marker = false;
    return skn_actor_ask_clock(actor, CLOCK_MARKER, error);
}

/* Takes the error of link codings in gradients since the last marker. The
 * warning is given once in a run. */
static skn_status_t
take_rounding(skn_actor_t *actor, course_t *course,
              const skn_reached_t *reached, skn_error_t *error)
{
    skn_progress_t *progress = &course->progress;
    skn_rounding_t rounding = { reached->changed, reached->square };
    skn_progress_add_rounding(progress, &rounding);
    if (course->warned || progress->rounding.square <= 0 ||
        progress->gradient_error <= SKN_ROUNDING_ERROR_MAX)
        return SKN_OK;
    course->warned = true;
    return skn_actor_send_event(
        actor, error,
        "{\"event\":\"warning\",\"message\":\"the coding of links changes the "
        "gradients of hidden layers by %.1f%% (batch %llu)\",\"hint\":\"more "
        "than %g%% may cost precision: choose a finer links.coding, or f32; "
        "the error is smaller with train.merge: late or loss: one_vs_all\"}",
        100 * progress->gradient_error, (unsigned long long)reached->batch,
        100 * SKN_ROUNDING_ERROR_MAX);
}

static skn_status_t
on_reached(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *error)
{
    course_t *course = state;
    const skn_reached_t *reached = message;
    if (reached->purpose != SKN_PURPOSE_TRAIN)
        return on_pass(actor, course, reached, error);
    if (!course->training || reached->batch > course->span_end ||
        reached->batch < course->progress.batch)
        return unasked(actor, "a marker at batch", reached->batch, error);
    course->training = false;
    course->progress.batch = reached->batch;
    course->halting = false;
    if (skn_actor_stop_wanted(actor))
        course->stopping = !is_last(course);
    skn_status_t status = take_rounding(actor, course, reached, error);
    if (status != SKN_OK)
        return status;
    /* Results come on a pipe of their own, and may arrive after the message
     * that the window is empty. */
    course->at_marker = true;
    return close_window(actor, course, error);
}

static skn_status_t
on_metrics(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *error)
{
    course_t *course = state;
    const skn_metrics_t *metrics = message;
    if (!course->is_evaluating ||
        metrics->purpose != (uint32_t)course->evaluating)
        return unasked(actor, "a pass of purpose", metrics->purpose, error);
    if (metrics->purpose == SKN_PURPOSE_VALIDATE) {
        course->validation = skn_scores_of(metrics);
        course->progress.validation_nats = metrics->nats;
    } else {
        course->progress.test_nats = metrics->nats;
    }
    if (metrics->purpose == SKN_PURPOSE_TEST || !course->has_test)
        course->progress.scores = skn_scores_of(metrics);
    return pass_half_over(actor, course, error);
}

/* True if the next marker is near, at the average speed so far. A run that is
 * told to stop, or to save, then continues to it: stopped there, it resumes
 * with the same bits as without the stop; in between, a window of batches would
 * have seen older weights. A user who presses Ctrl-C does not expect to wait
 * more than two seconds. */
static bool
marker_is_near(const course_t *course, uint64_t batch, uint64_t now_ns)
{
    uint64_t done = batch + 1 - course->first_batch;
    double seconds = (double)(now_ns - course->time.origin.wall_ns) * 1e-9;
    return done > 0 && (double)(course->span_end - batch) * seconds <=
                           course->patience_s * (double)done;
}

/* Reports progress between the ends of epochs. */
static skn_status_t
tell_progress(skn_actor_t *actor, course_t *course, uint64_t batch,
              skn_error_t *error)
{
    const skn_progress_t *progress = &course->progress;
    uint64_t now_ns = skn_actor_time_ns(actor);
    skn_throughput_rate_t rate;
    if (!skn_throughput_due(&course->throughput, batch, now_ns, &rate))
        return SKN_OK;
    skn_json_text_t text = { 0 };
    skn_json_text_add(
        &text,
        "{\"event\":\"progress\",\"batch\":%" PRIu64 ",\"batches\":%" PRIu64
        ",\"epoch\":%" PRIu64 ",\"epochs\":%" PRIu64 ",\"loss\":%.6f,"
        "\"examples_per_s\":%.1f,\"batches_per_s\":%.3f,\"busy_s\":%.3f",
        batch + 1, course->markers.total_batches,
        batch / course->markers.batches_per_epoch + 1,
        skn_markers_epochs_begun(&course->markers,
                                 course->markers.total_batches),
        skn_progress_loss(progress), rate.rows_per_s, rate.batches_per_s,
        skn_throughput_busy_s(&course->throughput, now_ns));
    skn_progress_write_steps(progress, batch + 1, &text);
    skn_progress_write_recent(progress, &text);
    skn_json_text_add(&text, "}");
    return tell(actor, &text, error);
}

static skn_status_t
on_result(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *error)
{
    course_t *course = state;
    const skn_result_t *result = message;
    skn_progress_t *progress = &course->progress;
    skn_progress_add(progress, result);
    course->results++;
    if (result->shard == 0) {
        course->throughput.rows += result->rows;
        skn_status_t status =
            tell_progress(actor, course, result->batch, error);
        if (status != SKN_OK)
            return status;
    }
    if (course->at_marker)
        return close_window(actor, course, error);
    bool is_wanted =
        skn_actor_stop_wanted(actor) || save_is_wanted(actor, course);
    if (!is_wanted || course->halting ||
        marker_is_near(course, result->batch, skn_actor_time_ns(actor)))
        return SKN_OK;
    course->halting = true;
    skn_halt_t halt = { .batch = result->batch };
    return skn_actor_send(actor, &skn_halt_schema, &halt, error);
}

/* --- open and close ------------------------------------------------------ */

static uint64_t
option_u64(const skn_actor_t *actor, const char *name)
{
    return (uint64_t)skn_actor_option_int(actor, name);
}

static skn_status_t
read_progress(course_t *course, const char *path, skn_error_t *error)
{
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(path, SKN_VERIFY_HERE, error);
    if (!checkpoint)
        return error->status;
    skn_status_t status = skn_progress_load(checkpoint, &course->progress,
                                            &course->history, error);
    skn_checkpoint_close(&checkpoint);
    return status;
}

static skn_status_t
course_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    course_t *course = state;
    const char *resume = skn_actor_option_text(actor, "resume");
    uint64_t epochs = option_u64(actor, "epochs");
    uint64_t limit = option_u64(actor, "max_batches");
    uint64_t epoch_batches = option_u64(actor, "batches_per_epoch");
    uint64_t all = epochs * epoch_batches;
    course->markers = (skn_markers_t){
        .batches_per_epoch = epoch_batches,
        .total_batches = limit > 0 && limit < all ? limit : all,
        .every_batches = option_u64(actor, "every_batches"),
        .every_epochs = option_u64(actor, "every_epochs"),
        .evaluate_every = option_u64(actor, "evaluate_every"),
        .evaluate_batches = option_u64(actor, "evaluate_batches"),
    };
    course->patience = option_u64(actor, "patience");
    course->shards = (uint32_t)option_u64(actor, "shards");
    course->patience_s = (double)option_u64(actor, "patience_s");
    course->throughput.every_ns = option_u64(actor, "progress_ms") * 1000000u;
    course->has_validation = skn_actor_option_bool(actor, "validates");
    course->has_test = skn_actor_option_bool(actor, "tests");
    course->is_prediction = skn_actor_option_bool(actor, "predicts");
    course->hands_over = skn_actor_option_bool(actor, "hands_over");
    course->has_keeper = skn_actor_receivers(actor, &skn_save_schema) > 0;
    skn_progress_init(&course->progress);
    if (resume[0]) {
        skn_status_t status = read_progress(course, resume, error);
        if (status != SKN_OK)
            return status;
        skn_progress_catch_up(&course->progress,
                              course->markers.batches_per_epoch);
    }
    skn_training_time_init(&course->time, &course->progress);
    course->nodes = (uint32_t)option_u64(actor, "nodes");
    course->progress.batch_tokens = option_u64(actor, "micro_tokens");
    course->progress.step_batches = option_u64(actor, "step_batches");
    course->progress.steps =
        course->markers.total_batches / course->progress.step_batches;
    course->progress.bytes_per_token =
        skn_actor_option_real(actor, "bytes_per_token");
    course->progress.nodes = course->nodes;
    course->seconds_before = course->progress.seconds;
    course->rows_before = (double)course->progress.loss_rows;
    course->first_batch = course->progress.batch;
    course->stale = course->patience > 0 &&
                    course->progress.stale_epochs >= course->patience;
    return SKN_OK;
}

static skn_status_t
course_start(skn_actor_t *actor, void *state, skn_error_t *error)
{
    course_t *course = state;
    course->restoring = skn_actor_option_bool(actor, "restores");
    course->must_resave =
        course->restoring && (skn_actor_option_bool(actor, "resaves") ||
                              skn_progress_lacks_hash(&course->progress));
    return course->restoring
               ? SKN_OK /* bytes sent until then are not training */
               : skn_actor_ask_clock(actor, CLOCK_START, error);
}

static void
course_close(skn_actor_t *actor, void *state)
{
    course_t *course = state;
    (void)actor;
    skn_json_text_fini(&course->history);
}

static const skn_option_t options[] = {
    { "batches_per_epoch", SKN_OPTION_INT, NULL, 1, 1e15, NULL,
      "number of batches in an epoch" },
    SKN_OPTION_OF("epochs", NULL, SKN_SETTING_EPOCHS),
    { "shards", SKN_OPTION_INT, "1", 1, SKN_SHARD_MAX, NULL,
      "number of output shards, each of which sends a result for each batch" },
    { "nodes", SKN_OPTION_INT, "1", 1, SKN_SHARD_MAX, NULL,
      "number of nodes; with several, `done` reports the bytes sent" },
    { "max_batches", SKN_OPTION_INT, "0", 0, 1e15, NULL,
      "stop after this many batches; 0: no limit" },
    SKN_OPTION_OF("every_batches", "0", SKN_SETTING_EVERY_BATCHES),
    SKN_OPTION_OF("every_epochs", "0", SKN_SETTING_EVERY_EPOCHS),
    SKN_OPTION_OF("evaluate_every", "1", SKN_SETTING_EVALUATE_EVERY),
    { "evaluate_batches", SKN_OPTION_INT, "0", 0, 1e15, NULL,
      "batches between evaluations on validation points within an epoch; 0: "
      "none" },
    { "micro_tokens", SKN_OPTION_INT, "0", 0, SKN_BATCH_ROWS_MAX, NULL,
      "tokens of a batch of text; 0: the data are not a text" },
    { "step_batches", SKN_OPTION_INT, "1", 1, 1e15, NULL,
      "batches of a step, where the data are a text" },
    { "bytes_per_token", SKN_OPTION_REAL, "0", 0, 1e6, NULL,
      "bytes of the validation text for each token; 0: not known" },
    { "validates", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "evaluate on validation points" },
    { "tests", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "evaluate on a test file" },
    SKN_OPTION_OF("patience", "0", SKN_SETTING_PATIENCE),
    { "progress_ms", SKN_OPTION_INT, "0", 0, SKN_PROGRESS_MS_MAX, NULL,
      "time between progress events; 0: none" },
    { "patience_s", SKN_OPTION_INT, "2", 0, SKN_STOP_S_MAX, NULL,
      "when stopped, first continue to the next marker if that takes at most "
      "this long" },
    { "resume", SKN_OPTION_TEXT, "", 0, 0, NULL,
      "checkpoint whose progress is continued" },
    { "predicts", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "predict: one pass over the test file, then end" },
    { "restores", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "first wait until keepers have sent owners their state" },
    { "resaves", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "save a checkpoint again before training" },
    { "hands_over", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "stop after that checkpoint" },
    { "may_lose", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "when stopped, succeed even if the last checkpoint cannot be written" },
    { 0 },
};

static const skn_handler_t handlers[] = {
    { &skn_clock_schema, on_clock, NULL },
    { &skn_reached_schema, on_reached, NULL },
    { &skn_metrics_schema, on_metrics, NULL },
    { &skn_result_schema, on_result, NULL },
    { &skn_saved_schema, on_saved, NULL },
    { 0 },
};

static const skn_schema_t *const sends[] = {
    &skn_go_schema,
    &skn_halt_schema,
    &skn_save_schema,
    NULL,
};

static const skn_schema_t *const gathers[] = { NULL };

static const skn_schema_t *const needs[] = {
    &skn_reached_schema,
    NULL,
};

const skn_kind_t skn_course = {
    .struct_bytes = sizeof(skn_kind_t),
    .name = "course",
    .help = "leads a run through its epochs, evaluations and checkpoints to "
            "the end",
    .state_bytes = sizeof(course_t),
    .options = options,
    .handlers = handlers,
    .sends = sends,
    .gathers = gathers,
    .needs = needs,
    .open = course_open,
    .start = course_start,
    .close = course_close,
    .gate = true,
};
