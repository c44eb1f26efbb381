/* coordinator.c - the course of a run: spans of batches, epochs, evaluation,
 * checkpoints, the best model, the end.
 *
 *     SPAN ─reached─▶ ─┬─ end of epoch ─▶ EVALUATE... ─▶ ─┬─▶ SAVE ─▶ SPAN
 *                      └─ checkpoint is due ──────────────┘      └─▶ END
 *
 * Between spans the window is empty: every number told here is about all
 * batches below `batch`. Times come from clock messages, less evaluations.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "actors/protocol/kinds.h"
#include "actors/protocol/messages.h"
#include "actors/course/progress.h"
#include "actors/course/watched.h"
#include "actors/runtime/reporting.h"
#include "formats/checkpoint/checkpoint.h"

/* What a clock message was asked for. */
enum {
    CLOCK_START,
    CLOCK_MARKER,
    CLOCK_EVALUATED,
    CLOCK_SAVED /* of several nodes: what a checkpoint sends is no training */
};

/* Epochs whose lines are kept in checkpoints, for `skein inspect`. */
#define HISTORY_BYTES_MAX 49152

/* What all nodes have sent to each other and received. */
typedef struct wire_bytes {
    uint64_t sent, received;
} wire_bytes_t;

typedef struct coordinator {
    skn_progress_t progress;
    uint64_t batches_per_epoch, total_batches;
    uint64_t span_end, first_batch; /* of the span in work; of this process */
    uint64_t every_batches, every_epochs; /* checkpoints; 0: not */
    uint64_t evaluate_every, patience;
    double patience_s; /* to the next marker, when stopped */
    bool validates, tests;
    bool saves; /* there is a checkpointer */
    /* Clocks: train time = now - origin - evaluated. */
    uint64_t wall_origin_ns, cpu_origin_ns;
    uint64_t wall_before_ns, cpu_before_ns; /* when an evaluation began */
    uint32_t nodes;                         /* of the run */
    wire_bytes_t wire_origin, wire_before, wire_resumed; /* as the clocks */
    double seconds_resumed, cpu_seconds_resumed; /* of earlier processes */
    double seconds_before;                       /* at the last epoch's end */
    double rows_before; /* of this epoch, trained before a resume */
    uint64_t rss_bytes;
    skn_watched_t watched;
    int pass_halves;  /* of an evaluation: metrics, empty window */
    uint32_t shards;  /* that tell results of each batch */
    uint64_t results; /* of this process, so far */
    bool at_marker;   /* the window is empty, results are still to come */
    bool training, looking, saving; /* what an answer is awaited of */
    bool restoring, predicts;
    bool resaves;    /* what we begin from is still to be written again */
    bool hands_over; /* ... and then it pauses: who only gave may go */
    bool halting, saving_best, epoch_done, stopping, stale;
    bool warned; /* of the error of codings */
    skn_purpose_t evaluating;
    skn_scores_t validation;
    skn_json_text_t history;
    char sha256[65];
} coordinator_t;

static skn_status_t
send_go(skn_actor_t *actor, uint64_t first, uint64_t end, uint32_t purpose,
        skn_error_t *error)
{
    skn_go_t go = { .first = first, .end = end, .purpose = purpose };
    return skn_actor_send(actor, &skn_go_schema, &go, error);
}

/* Tells a text that may be longer than one format, and frees it. */
static skn_status_t
tell(skn_actor_t *actor, skn_json_text_t *text, skn_error_t *error)
{
    skn_status_t status =
        text->failed ? skn_fail(error, SKN_NO_MEMORY, "no room for an event")
                     : skn_actor_tell(actor, error, "%s", text->bytes);
    skn_json_text_fini(text);
    return status;
}

static bool
is_last(const coordinator_t *coordinator)
{
    return coordinator->progress.batch >= coordinator->total_batches ||
           coordinator->stale;
}

/* --- spans --------------------------------------------------------------- */

static uint64_t
least_multiple_above(uint64_t value, uint64_t step)
{
    return (value / step + 1) * step;
}

static skn_status_t
next_span(skn_actor_t *actor, coordinator_t *coordinator, skn_error_t *error)
{
    uint64_t first = coordinator->progress.batch;
    uint64_t end = least_multiple_above(first, coordinator->batches_per_epoch);
    if (coordinator->every_batches > 0) {
        uint64_t due = least_multiple_above(first, coordinator->every_batches);
        end = due < end ? due : end;
    }
    if (end > coordinator->total_batches)
        end = coordinator->total_batches;
    coordinator->span_end = end;
    coordinator->training = true;
    skn_watched_work(&coordinator->watched, skn_actor_time_ns(actor));
    return send_go(actor, first, end, SKN_PURPOSE_TRAIN, error);
}

/* --- the end ------------------------------------------------------------- */

static skn_status_t
tell_done(skn_actor_t *actor, const coordinator_t *coordinator,
          skn_error_t *error)
{
    skn_json_text_t text = { 0 };
    skn_progress_write_done(&coordinator->progress, coordinator->sha256, &text);
    return tell(actor, &text, error);
}

static skn_status_t
end_run(skn_actor_t *actor, coordinator_t *coordinator, skn_error_t *error)
{
    skn_status_t status;
    if (coordinator->stopping)
        status = skn_actor_tell(
            actor, error,
            "{\"event\":\"stopped\",\"batch\":%llu,\"epoch\":%llu,"
            "\"seconds\":%.3f,\"cpu_seconds\":%.3f}",
            (unsigned long long)coordinator->progress.batch,
            (unsigned long long)coordinator->progress.epoch,
            coordinator->progress.seconds, coordinator->progress.cpu_seconds);
    else
        status = tell_done(actor, coordinator, error);
    if (status == SKN_OK)
        status = send_go(actor, 0, 0, SKN_GO_FINISH, error);
    skn_actor_finish(actor);
    return status;
}

/* --- checkpoints --------------------------------------------------------- */

static skn_status_t
save(skn_actor_t *actor, coordinator_t *coordinator, skn_error_t *error)
{
    skn_json_text_t text = { 0 };
    skn_progress_t *progress = &coordinator->progress;
    coordinator->watched.told_ns = 0;
    coordinator->saving = skn_actor_set_saving(actor, true);
    skn_watched_rest(&coordinator->watched, skn_actor_time_ns(actor));
    progress->finished =
        is_last(coordinator) && !coordinator->stopping && !coordinator->resaves;
    skn_json_text_add(&text, "{");
    skn_progress_write(progress, &text);
    skn_json_text_add(&text, ",\"history\":[%s]}",
                      coordinator->history.count ? coordinator->history.bytes
                                                 : "");
    if (text.failed) {
        skn_json_text_fini(&text);
        return skn_fail(error, SKN_NO_MEMORY, "no room for the metadata");
    }
    skn_save_t message = {
        .batch = progress->batch,
        .best = coordinator->saving_best,
        .hash = coordinator->saving_best || progress->finished,
        .metadata = { (uint8_t *)text.bytes, text.count + 1 },
    };
    skn_status_t status =
        skn_actor_send(actor, &skn_save_schema, &message, error);
    skn_json_text_fini(&text);
    return status;
}

/* After everything that belongs to a marker: save if it is due, or go on. */
static skn_status_t
close_marker(skn_actor_t *actor, coordinator_t *coordinator, skn_error_t *error)
{
    const skn_progress_t *progress = &coordinator->progress;
    bool last = is_last(coordinator) || coordinator->stopping;
    bool due = last || coordinator->saving_best;
    if (coordinator->every_batches > 0 &&
        progress->batch % coordinator->every_batches == 0)
        due = true;
    if (coordinator->every_epochs > 0 && coordinator->epoch_done &&
        progress->epoch % coordinator->every_epochs == 0)
        due = true;
    coordinator->epoch_done = false;
    if (due && coordinator->saves)
        return save(actor, coordinator, error);
    return last ? end_run(actor, coordinator, error)
                : next_span(actor, coordinator, error);
}

/* An answer to what was not asked. */
static skn_status_t
unasked(const skn_actor_t *actor, const char *what, uint64_t number,
        skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_MESSAGE, "%s: %s %llu was not asked for",
                    skn_actor_name(actor), what, (unsigned long long)number);
}

static uint64_t
epochs_begun(const coordinator_t *coordinator)
{
    return (coordinator->progress.batch + coordinator->batches_per_epoch - 1) /
           coordinator->batches_per_epoch;
}

/* Whether all batches of an epoch are trained that was not told yet. */
static bool
epoch_is_whole(const coordinator_t *coordinator)
{
    const skn_progress_t *progress = &coordinator->progress;
    return epochs_begun(coordinator) > progress->epoch &&
           (progress->batch % coordinator->batches_per_epoch == 0 ||
            progress->batch >= coordinator->total_batches);
}

/* All owners have their state. Where other nodes have it now than before, each
 * part of it gets its copies again before anything is trained; at the end of a
 * run the save that is due does it. */
static skn_status_t
on_restored(skn_actor_t *actor, coordinator_t *coordinator, skn_error_t *error)
{
    const skn_progress_t *progress = &coordinator->progress;
    coordinator->restoring = false;
    if (is_last(coordinator) && !epoch_is_whole(coordinator))
        coordinator->resaves = false;
    if (!coordinator->resaves)
        return skn_actor_ask_clock(actor, CLOCK_START, error);
    coordinator->saving_best = skn_progress_is_best(progress);
    return save(actor, coordinator, error);
}

static skn_status_t
on_saved(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    coordinator_t *coordinator = state;
    const skn_saved_t *saved = message;
    skn_status_t status = SKN_OK;
    if (coordinator->restoring)
        return on_restored(actor, coordinator, error);
    if (!coordinator->saving || saved->batch != coordinator->progress.batch)
        return unasked(actor, "a checkpoint of batch", saved->batch, error);
    coordinator->saving = skn_actor_set_saving(actor, false);
    if (saved->path[0]) {
        skn_json_text_t text = { 0 };
        skn_json_text_add(&text, "{\"event\":\"checkpoint\",\"path\":");
        skn_json_text_add_string(&text, saved->path);
        skn_json_text_add(&text, ",\"batch\":%llu,\"busy_s\":%.3f}",
                          (unsigned long long)saved->batch,
                          skn_watched_busy_s(&coordinator->watched,
                                             skn_actor_time_ns(actor)));
        status = tell(actor, &text, error);
    }
    coordinator->progress.ledger =
        (skn_ledger_verdict_t){ saved->ledger, saved->lost,
                                saved->applied_twice };
    (void)snprintf(coordinator->sha256, sizeof(coordinator->sha256), "%s",
                   saved->weights_sha256);
    if (coordinator->saving_best)
        memcpy(coordinator->progress.best_sha256, coordinator->sha256,
               sizeof(coordinator->sha256));
    coordinator->saving_best = false;
    if (status != SKN_OK)
        return status;
    if (coordinator->resaves) {
        coordinator->resaves = false;
        if (!(coordinator->stopping = coordinator->hands_over))
            return skn_actor_ask_clock(actor, CLOCK_START, error);
    }
    if (coordinator->stopping && !saved->path[0] &&
        !skn_actor_option_bool(actor, "may_lose"))
        return skn_fail(error, SKN_STORAGE,
                        "told to stop, the run could not save batch %llu; the "
                        "warning before this says why",
                        (unsigned long long)coordinator->progress.batch);
    if (is_last(coordinator) || coordinator->stopping)
        return end_run(actor, coordinator, error);
    if (coordinator->nodes > 1)
        return skn_actor_ask_clock(actor, CLOCK_SAVED, error);
    return next_span(actor, coordinator, error);
}

/* --- epochs -------------------------------------------------------------- */

static skn_status_t
tell_epoch(skn_actor_t *actor, coordinator_t *coordinator, bool evaluated,
           skn_error_t *error)
{
    skn_progress_t *progress = &coordinator->progress;
    skn_json_text_t text = { 0 };
    double rows = (double)progress->loss_rows;
    progress->loss = skn_progress_loss(progress);
    skn_json_text_add(
        &text,
        "{\"event\":\"epoch\",\"epoch\":%llu,\"batches\":%llu,"
        "\"seconds\":%.3f,\"cpu_seconds\":%.3f,"
        "\"examples_per_s\":%.1f,\"loss\":%.6f",
        (unsigned long long)progress->epoch,
        (unsigned long long)progress->batch, progress->seconds,
        progress->cpu_seconds,
        progress->seconds > coordinator->seconds_before
            ? (rows - coordinator->rows_before) /
                  (progress->seconds - coordinator->seconds_before)
            : 0.0,
        progress->loss);
    if (evaluated) {
        skn_scores_write(&progress->scores, "", &text);
        if (coordinator->validates)
            skn_scores_write(&coordinator->validation, "validate_", &text);
    }
    skn_progress_write_draws(progress, &text);
    skn_json_text_add(&text, ",\"rss_mb\":%.1f}",
                      (double)coordinator->rss_bytes / 1048576.0);
    if (!text.failed &&
        coordinator->history.count + text.count < HISTORY_BYTES_MAX)
        skn_json_text_add(&coordinator->history, "%s%s",
                          coordinator->history.count ? "," : "", text.bytes);
    coordinator->seconds_before = progress->seconds;
    coordinator->rows_before = 0;
    skn_progress_new_epoch(progress);
    return tell(actor, &text, error);
}

static void
judge(coordinator_t *coordinator)
{
    skn_progress_t *progress = &coordinator->progress;
    if (!coordinator->validates)
        return;
    if (coordinator->validation.p1 > progress->best_p1) {
        progress->best_p1 = coordinator->validation.p1;
        progress->best_epoch = progress->epoch;
        progress->best_batch = progress->batch;
        progress->best_scores = progress->scores;
        progress->stale_epochs = 0;
        coordinator->saving_best = coordinator->saves;
    } else {
        progress->stale_epochs++;
    }
    coordinator->stale = coordinator->patience > 0 &&
                         progress->stale_epochs >= coordinator->patience;
}

static skn_status_t
close_epoch(skn_actor_t *actor, coordinator_t *coordinator, bool evaluated,
            skn_error_t *error)
{
    skn_status_t status = tell_epoch(actor, coordinator, evaluated, error);
    if (evaluated)
        judge(coordinator);
    if (status == SKN_OK && skn_actor_stop_wanted(actor))
        coordinator->stopping = !is_last(coordinator);
    return status == SKN_OK ? close_marker(actor, coordinator, error) : status;
}

static skn_status_t
evaluate(skn_actor_t *actor, coordinator_t *coordinator, skn_purpose_t purpose,
         skn_error_t *error)
{
    coordinator->watched.told_ns = 0;
    coordinator->evaluating = purpose;
    coordinator->pass_halves = 0;
    coordinator->looking = true;
    skn_watched_work(&coordinator->watched, skn_actor_time_ns(actor));
    return send_go(actor, 0, 0, purpose, error);
}

/* The window is empty and the time is known: is an epoch complete? A run that
 * is told to stop evaluates it after its resume. */
static skn_status_t
on_marker(skn_actor_t *actor, coordinator_t *coordinator, skn_error_t *error)
{
    skn_progress_t *progress = &coordinator->progress;
    if (!epoch_is_whole(coordinator) || coordinator->stopping)
        return close_marker(actor, coordinator, error);
    progress->epoch = epochs_begun(coordinator);
    coordinator->epoch_done = true;
    bool looks = coordinator->validates || coordinator->tests;
    bool due = progress->batch >= coordinator->total_batches ||
               (coordinator->evaluate_every > 0 &&
                progress->epoch % coordinator->evaluate_every == 0);
    if (!looks || !due)
        return close_epoch(actor, coordinator, false, error);
    return evaluate(actor, coordinator,
                    coordinator->validates ? SKN_PURPOSE_VALIDATE
                                           : SKN_PURPOSE_TEST,
                    error);
}

/* What was sent since the clock before was no training. */
static void
leave_out(coordinator_t *coordinator, const skn_clock_t *clock)
{
    coordinator->wire_origin.sent +=
        clock->wire_sent_bytes - coordinator->wire_before.sent;
    coordinator->wire_origin.received +=
        clock->wire_received_bytes - coordinator->wire_before.received;
}

static void
count_wire(coordinator_t *coordinator, const skn_clock_t *clock)
{
    skn_progress_t *progress = &coordinator->progress;
    progress->wire_bytes_sent = coordinator->wire_resumed.sent +
                                clock->wire_sent_bytes -
                                coordinator->wire_origin.sent;
    progress->wire_bytes_received = coordinator->wire_resumed.received +
                                    clock->wire_received_bytes -
                                    coordinator->wire_origin.received;
}

static skn_status_t
on_clock(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    coordinator_t *coordinator = state;
    const skn_clock_t *clock = message;
    skn_progress_t *progress = &coordinator->progress;
    wire_bytes_t wire = { clock->wire_sent_bytes, clock->wire_received_bytes };
    coordinator->rss_bytes = clock->rss_bytes;
    if (clock->tag == CLOCK_EVALUATED || clock->tag == CLOCK_SAVED)
        leave_out(coordinator, clock);
    coordinator->wire_before = wire;
    if (clock->tag == CLOCK_SAVED)
        return next_span(actor, coordinator, error);
    if (clock->tag == CLOCK_START) {
        coordinator->wall_origin_ns = clock->wall_ns;
        coordinator->wire_origin = wire;
        if (coordinator->predicts)
            return evaluate(actor, coordinator, SKN_PURPOSE_TEST, error);
        /* A resume may find an epoch that was not told, or nothing to do. */
        if (epoch_is_whole(coordinator))
            return skn_actor_ask_clock(actor, CLOCK_MARKER, error);
        return is_last(coordinator) ? close_marker(actor, coordinator, error)
                                    : next_span(actor, coordinator, error);
    }
    if (clock->tag == CLOCK_EVALUATED) {
        coordinator->wall_origin_ns +=
            clock->wall_ns - coordinator->wall_before_ns;
        coordinator->cpu_origin_ns +=
            clock->cpu_ns - coordinator->cpu_before_ns;
        return close_epoch(actor, coordinator, true, error);
    }
    coordinator->wall_before_ns = clock->wall_ns;
    coordinator->cpu_before_ns = clock->cpu_ns;
    progress->seconds =
        coordinator->seconds_resumed +
        (double)(clock->wall_ns - coordinator->wall_origin_ns) * 1e-9;
    progress->cpu_seconds =
        coordinator->cpu_seconds_resumed +
        (double)(clock->cpu_ns - coordinator->cpu_origin_ns) * 1e-9;
    count_wire(coordinator, clock);
    return on_marker(actor, coordinator, error);
}

/* A pass is over when the metrics are here and its window is empty. */
static skn_status_t
pass_half_over(skn_actor_t *actor, coordinator_t *coordinator,
               skn_error_t *error)
{
    if (++coordinator->pass_halves < 2)
        return SKN_OK;
    coordinator->looking = false;
    if (coordinator->predicts) {
        skn_status_t status = send_go(actor, 0, 0, SKN_GO_FINISH, error);
        skn_actor_finish(actor);
        return status;
    }
    if (coordinator->evaluating == SKN_PURPOSE_VALIDATE && coordinator->tests)
        return evaluate(actor, coordinator, SKN_PURPOSE_TEST, error);
    return skn_actor_ask_clock(actor, CLOCK_EVALUATED, error);
}

/* The marker is passed when every shard has told its result of every batch. */
static skn_status_t
close_window(skn_actor_t *actor, coordinator_t *coordinator, skn_error_t *error)
{
    uint64_t batches = coordinator->progress.batch - coordinator->first_batch;
    if (!coordinator->at_marker ||
        coordinator->results < batches * coordinator->shards)
        return SKN_OK;
    coordinator->at_marker = false;
    return skn_actor_ask_clock(actor, CLOCK_MARKER, error);
}

/* What codings of links did to gradients since the last marker. Told once a
 * run: whoever reads it changes the file or knows. */
static skn_status_t
take_rounding(skn_actor_t *actor, coordinator_t *coordinator,
              const skn_reached_t *reached, skn_error_t *error)
{
    skn_progress_t *progress = &coordinator->progress;
    skn_rounding_t rounding = { reached->changed, reached->square };
    skn_progress_add_rounding(progress, &rounding);
    progress->late += reached->late;
    if (coordinator->warned || progress->rounding.square <= 0 ||
        progress->gradient_error <= SKN_ROUNDING_ERROR_MAX)
        return SKN_OK;
    coordinator->warned = true;
    return skn_actor_tell(
        actor, error,
        "{\"event\":\"warning\",\"message\":\"the coding of links changes "
        "the gradients of hidden layers by %.1f%% (batch %llu)\","
        "\"hint\":\"more than %g%% may cost precision: take a finer "
        "links.coding, or f32; the error is smaller with train.merge: late, "
        "and with loss: one_vs_all\"}",
        100 * progress->gradient_error, (unsigned long long)reached->batch,
        100 * SKN_ROUNDING_ERROR_MAX);
}

static skn_status_t
on_reached(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *error)
{
    coordinator_t *coordinator = state;
    const skn_reached_t *reached = message;
    if (reached->purpose != SKN_PURPOSE_TRAIN)
        return coordinator->looking &&
                       reached->purpose == (uint32_t)coordinator->evaluating
                   ? pass_half_over(actor, coordinator, error)
                   : unasked(actor, "a pass of purpose", reached->purpose,
                             error);
    if (!coordinator->training || reached->batch > coordinator->span_end ||
        reached->batch < coordinator->progress.batch)
        return unasked(actor, "a marker at batch", reached->batch, error);
    coordinator->training = false;
    coordinator->progress.batch = reached->batch;
    if (coordinator->halting || skn_actor_stop_wanted(actor))
        coordinator->stopping = !is_last(coordinator);
    skn_status_t status = take_rounding(actor, coordinator, reached, error);
    if (status != SKN_OK)
        return status;
    /* Results come on a way of their own, and may be later than the word that
     * the window is empty. */
    coordinator->at_marker = true;
    return close_window(actor, coordinator, error);
}

static skn_status_t
on_metrics(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *error)
{
    coordinator_t *coordinator = state;
    const skn_metrics_t *metrics = message;
    if (!coordinator->looking ||
        metrics->purpose != (uint32_t)coordinator->evaluating)
        return unasked(actor, "a pass of purpose", metrics->purpose, error);
    if (metrics->purpose == SKN_PURPOSE_VALIDATE)
        coordinator->validation = skn_scores_of(metrics);
    if (metrics->purpose == SKN_PURPOSE_TEST || !coordinator->tests)
        coordinator->progress.scores = skn_scores_of(metrics);
    return pass_half_over(actor, coordinator, error);
}

/* Whether the next marker comes soon, as fast as it went so far. A run that is
 * told to stop goes on to it then: stopped there, it resumes to the same bits
 * as if it had not been; in between, a window of batches would have seen older
 * weights. More than two seconds is not what somebody expects who presses
 * Ctrl-C. */
static bool
marker_is_near(const coordinator_t *coordinator, uint64_t batch,
               uint64_t now_ns)
{
    uint64_t done = batch + 1 - coordinator->first_batch;
    double seconds = (double)(now_ns - coordinator->wall_origin_ns) * 1e-9;
    return done > 0 && (double)(coordinator->span_end - batch) * seconds <=
                           coordinator->patience_s * (double)done;
}

/* Between the ends of epochs. */
static skn_status_t
tell_progress(skn_actor_t *actor, coordinator_t *coordinator, uint64_t batch,
              skn_error_t *error)
{
    const skn_progress_t *progress = &coordinator->progress;
    uint64_t now_ns = skn_actor_time_ns(actor);
    skn_watched_rate_t rate;
    if (!skn_watched_due(&coordinator->watched, batch, now_ns, &rate))
        return SKN_OK;
    return skn_actor_tell(
        actor, error,
        "{\"event\":\"progress\",\"batch\":%llu,\"batches\":%llu,"
        "\"epoch\":%llu,\"epochs\":%llu,\"loss\":%.6f,"
        "\"examples_per_s\":%.1f,\"batches_per_s\":%.3f,\"busy_s\":%.3f}",
        (unsigned long long)batch + 1,
        (unsigned long long)coordinator->total_batches,
        (unsigned long long)(batch / coordinator->batches_per_epoch + 1),
        (unsigned long long)((coordinator->total_batches +
                              coordinator->batches_per_epoch - 1) /
                             coordinator->batches_per_epoch),
        skn_progress_loss(progress), rate.rows_per_s, rate.batches_per_s,
        skn_watched_busy_s(&coordinator->watched, now_ns));
}

static skn_status_t
on_result(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *error)
{
    coordinator_t *coordinator = state;
    const skn_result_t *result = message;
    skn_progress_t *progress = &coordinator->progress;
    skn_progress_add(progress, result);
    coordinator->results++;
    if (result->shard == 0) {
        coordinator->watched.rows += result->rows;
        skn_status_t status =
            tell_progress(actor, coordinator, result->batch, error);
        if (status != SKN_OK)
            return status;
    }
    if (coordinator->at_marker)
        return close_window(actor, coordinator, error);
    if (!skn_actor_stop_wanted(actor) || coordinator->halting ||
        marker_is_near(coordinator, result->batch, skn_actor_time_ns(actor)))
        return SKN_OK;
    coordinator->halting = true;
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
read_progress(coordinator_t *coordinator, const char *path, skn_error_t *error)
{
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(path, SKN_VERIFY_HERE, error);
    if (!checkpoint)
        return error->status;
    skn_status_t status = skn_progress_load(checkpoint, &coordinator->progress,
                                            &coordinator->history, error);
    skn_checkpoint_close(&checkpoint);
    return status;
}

static skn_status_t
coordinator_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    coordinator_t *coordinator = state;
    const char *resume = skn_actor_option_text(actor, "resume");
    uint64_t epochs = option_u64(actor, "epochs");
    uint64_t limit = option_u64(actor, "max_batches");
    coordinator->batches_per_epoch = option_u64(actor, "batches_per_epoch");
    coordinator->total_batches = epochs * coordinator->batches_per_epoch;
    if (limit > 0 && limit < coordinator->total_batches)
        coordinator->total_batches = limit;
    coordinator->every_batches = option_u64(actor, "every_batches");
    coordinator->every_epochs = option_u64(actor, "every_epochs");
    coordinator->evaluate_every = option_u64(actor, "evaluate_every");
    coordinator->patience = option_u64(actor, "patience");
    coordinator->shards = (uint32_t)option_u64(actor, "shards");
    coordinator->patience_s = (double)option_u64(actor, "patience_s");
    coordinator->watched.every_ns = option_u64(actor, "progress_ms") * 1000000u;
    coordinator->validates = skn_actor_option_bool(actor, "validates");
    coordinator->tests = skn_actor_option_bool(actor, "tests");
    coordinator->predicts = skn_actor_option_bool(actor, "predicts");
    coordinator->hands_over = skn_actor_option_bool(actor, "hands_over");
    coordinator->saves = skn_actor_receivers(actor, &skn_save_schema) > 0;
    skn_progress_init(&coordinator->progress);
    if (resume[0]) {
        skn_status_t status = read_progress(coordinator, resume, error);
        if (status != SKN_OK)
            return status;
        skn_progress_catch_up(&coordinator->progress,
                              coordinator->batches_per_epoch);
    }
    coordinator->seconds_resumed = coordinator->progress.seconds;
    coordinator->cpu_seconds_resumed = coordinator->progress.cpu_seconds;
    coordinator->nodes = (uint32_t)option_u64(actor, "nodes");
    coordinator->progress.nodes = coordinator->nodes;
    coordinator->wire_resumed.sent = coordinator->progress.wire_bytes_sent;
    coordinator->wire_resumed.received =
        coordinator->progress.wire_bytes_received;
    coordinator->seconds_before = coordinator->progress.seconds;
    coordinator->rows_before = (double)coordinator->progress.loss_rows;
    coordinator->first_batch = coordinator->progress.batch;
    coordinator->stale =
        coordinator->patience > 0 &&
        coordinator->progress.stale_epochs >= coordinator->patience;
    return SKN_OK;
}

static skn_status_t
coordinator_start(skn_actor_t *actor, void *state, skn_error_t *error)
{
    coordinator_t *coordinator = state;
    coordinator->restoring = skn_actor_option_bool(actor, "restores");
    coordinator->resaves = coordinator->restoring &&
                           (skn_actor_option_bool(actor, "resaves") ||
                            skn_progress_lacks_hash(&coordinator->progress));
    return coordinator->restoring
               ? SKN_OK /* what is sent till then is no training */
               : skn_actor_ask_clock(actor, CLOCK_START, error);
}

static void
coordinator_close(skn_actor_t *actor, void *state)
{
    coordinator_t *coordinator = state;
    (void)actor;
    skn_json_text_fini(&coordinator->history);
}

static const skn_option_t options[] = {
    { "batches_per_epoch", SKN_OPTION_INT, NULL, 1, 1e15, NULL,
      "batches that make an epoch" },
    { "epochs", SKN_OPTION_INT, NULL, 1, 1e9, NULL, "epochs to train" },
    { "shards", SKN_OPTION_INT, "1", 1, SKN_SHARD_MAX, NULL,
      "output shards, each of which tells a result of each batch" },
    { "nodes", SKN_OPTION_INT, "1", 1, SKN_SHARD_MAX, NULL,
      "nodes of the run; of several, `done` tells what they have sent" },
    { "max_batches", SKN_OPTION_INT, "0", 0, 1e15, NULL,
      "batches to train at most; 0: no limit" },
    { "every_batches", SKN_OPTION_INT, "0", 0, 1e15, NULL,
      "batches between checkpoints; 0: not by batches" },
    { "every_epochs", SKN_OPTION_INT, "0", 0, 1e9, NULL,
      "epochs between checkpoints; 0: not by epochs" },
    { "evaluate_every", SKN_OPTION_INT, "1", 0, 1e9, NULL,
      "epochs between evaluations; 0: only at the end" },
    { "validates", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "there are validation points" },
    { "tests", SKN_OPTION_BOOL, "false", 0, 0, NULL, "there is a test file" },
    { "patience", SKN_OPTION_INT, "0", 0, 1e9, NULL,
      "epochs without a better validation P@1 before the end; 0: never" },
    { "progress_ms", SKN_OPTION_INT, "0", 0, 86400000, NULL,
      "time between events that tell how far an epoch is; 0: none" },
    { "patience_s", SKN_OPTION_INT, "2", 0, 86400, NULL,
      "told to stop, go on to the next marker if that takes no longer" },
    { "resume", SKN_OPTION_TEXT, "", 0, 0, NULL,
      "checkpoint that says how far the run has come" },
    { "predicts", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "one pass over the test file, and the end" },
    { "restores", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "wait till the checkpointer has given owners their state" },
    { "resaves", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "then save it again, before anything is trained" },
    { "hands_over", SKN_OPTION_BOOL, "false", 0, 0, NULL, "and stop then" },
    { "may_lose", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "told to stop, end well even if the last checkpoint cannot be written" },
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

const skn_kind_t skn_coordinator = {
    .name = "coordinator",
    .help = "the course of a run: epochs, evaluations, checkpoints, the end",
    .state_bytes = sizeof(coordinator_t),
    .options = options,
    .handlers = handlers,
    .sends = sends,
    .gathers = gathers,
    .needs = needs,
    .open = coordinator_open,
    .start = coordinator_start,
    .close = coordinator_close,
    .gate = true,
};
