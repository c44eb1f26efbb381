/* progress.c - updates the progress of a run, and writes and reads it as JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/course/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All numbers of skn_scores_t and skn_progress_t. */
#define SCORES(S) S(p1) S(p3) S(p5) S(psp1) S(psp3) S(psp5) S(ndcg3) S(ndcg5)
#define COUNTS(N)                                                              \
    N(batch)                                                                   \
    N(epoch)                                                                   \
    N(best_epoch)                                                              \
    N(best_batch)                                                              \
    N(stale_epochs)                                                            \
    N(loss_rows)                                                               \
    N(active)                                                                  \
    N(possible)                                                                \
    N(loss_batches)                                                            \
    N(distinct)                                                                \
    N(measured)                                                                \
    N(listed)                                                                  \
    N(capped)                                                                  \
    N(line_loss_rows)                                                          \
    N(evaluation_due)                                                          \
    N(batch_tokens)                                                            \
    N(nodes) N(wire_bytes_sent) N(wire_bytes_received)
#define REALS(N)                                                               \
    N(seconds)                                                                 \
    N(cpu_seconds)                                                             \
    N(loss)                                                                    \
    N(best_p1)                                                                 \
    N(validation_nats)                                                         \
    N(best_nats)                                                               \
    N(test_nats)                                                               \
    N(bytes_per_token)                                                         \
    N(loss_sum)                                                                \
    N(line_loss_sum)                                                           \
    N(mass_sum)                                                                \
    N(recall_sum) N(gradient_error) N(rounding.changed) N(rounding.square)

/* A loss below this is reported as 0. A model that is sure of everything has 0,
 * or a rounding error: -0.000000 would look like a mistake. */
#define LOSS_MIN 5e-7

void
skn_progress_init(skn_progress_t *progress)
{
    memset(progress, 0, sizeof(*progress));
    progress->best_p1 = progress->gradient_error = -1.0;
    progress->validation_nats = progress->best_nats = -1.0;
    progress->test_nats = -1.0;
#define S(name) progress->scores.name = progress->best_scores.name = -1.0;
    SCORES(S)
#undef S
}

static double
mean_loss(double sum, uint64_t rows)
{
    double loss = rows > 0 ? sum / (double)rows : 0.0;
    return fabs(loss) < LOSS_MIN ? 0.0 : loss;
}

double
skn_progress_loss(const skn_progress_t *progress)
{
    return mean_loss(progress->loss_sum, progress->loss_rows);
}

void
skn_progress_new_line(skn_progress_t *progress)
{
    progress->line_loss_sum = progress->loss_sum;
    progress->line_loss_rows = progress->loss_rows;
}

void
skn_progress_write_recent(const skn_progress_t *progress, skn_json_text_t *text)
{
    uint64_t rows = progress->loss_rows - progress->line_loss_rows;
    if (progress->batch_tokens > 0 && rows > 0)
        skn_json_text_add(
            text, ",\"recent_loss\":%.6f",
            mean_loss(progress->loss_sum - progress->line_loss_sum, rows));
}

void
skn_progress_add(skn_progress_t *progress, const skn_result_t *result)
{
    progress->loss_sum += result->loss;
    if (result->shard == 0) { /* all shards have the same samples */
        progress->loss_rows += result->rows;
        progress->loss_batches++;
    }
    progress->active += result->active;
    progress->possible += result->owned * result->rows;
    progress->distinct += result->distinct;
    progress->listed += result->listed;
    progress->capped += result->capped;
    if (result->recall >= 0) {
        progress->measured++;
        progress->mass_sum += result->mass;
        progress->recall_sum += result->recall;
    }
}

void
skn_progress_add_rounding(skn_progress_t *progress,
                          const skn_rounding_t *rounding)
{
    if (skn_rounding_error(rounding) < 0)
        return;
    progress->rounding.changed += rounding->changed;
    progress->rounding.square += rounding->square;
    progress->gradient_error = skn_rounding_error(&progress->rounding);
}

void
skn_progress_new_epoch(skn_progress_t *progress)
{
    progress->rounding = (skn_rounding_t){ 0 };
    progress->loss_sum = progress->mass_sum = progress->recall_sum = 0;
    progress->loss_rows = progress->loss_batches = 0;
    progress->active = progress->possible = 0;
    progress->distinct = progress->measured = 0;
    progress->listed = progress->capped = 0;
    skn_progress_new_line(progress);
}

void
skn_progress_catch_up(skn_progress_t *progress, uint64_t batches_per_epoch)
{
    /* An epoch that ends exactly here is reported when the run begins. */
    uint64_t told =
        progress->batch > 0 ? (progress->batch - 1) / batches_per_epoch : 0;
    if (progress->epoch >= told)
        return;
    progress->epoch = told;
    skn_progress_new_epoch(progress);
}

skn_scores_t
skn_scores_of(const skn_metrics_t *metrics)
{
    skn_scores_t scores;
#define S(name) scores.name = metrics->name;
    SCORES(S)
#undef S
    return scores;
}

void
skn_scores_write(const skn_scores_t *scores, const char *prefix,
                 skn_json_text_t *text)
{
#define S(name)                                                                \
    if (scores->name >= 0)                                                     \
        skn_json_text_add(text, ",\"%s" #name "\":%.5f", prefix, scores->name);
    SCORES(S)
#undef S
}

/* %.17g: a double reads back unchanged. */
void
skn_progress_write(const skn_progress_t *progress, skn_json_text_t *text)
{
    skn_json_text_add(text, "\"finished\":%s,\"best_sha256\":\"%s\"",
                      progress->finished ? "true" : "false",
                      progress->best_sha256);
#define N(name)                                                                \
    skn_json_text_add(text, ",\"" #name "\":%" PRIu64, progress->name);
    COUNTS(N)
#undef N
#define N(name) skn_json_text_add(text, ",\"" #name "\":%.17g", progress->name);
    REALS(N)
#undef N
#define S(name)                                                                \
    skn_json_text_add(text, ",\"" #name "\":%.17g,\"best_" #name "\":%.17g",   \
                      progress->scores.name, progress->best_scores.name);
    skn_json_text_add(text, ",\"scores\":{\"of\":\"last\"");
    SCORES(S)
#undef S
    skn_json_text_add(text, "}");
}

static void
append_history(const json_t *list, skn_json_text_t *history)
{
    for (size_t k = 0; k < json_array_size(list); k++) {
        char *line = skn_json_write(json_array_get(list, k),
                                    JSON_COMPACT | JSON_REAL_PRECISION(10));
        if (line)
            skn_json_text_add(history, "%s%s", history->count ? "," : "", line);
        free(line);
    }
}

skn_status_t
skn_progress_read(const char *json, skn_progress_t *progress,
                  skn_json_text_t *history, skn_error_t *error)
{
    json_t *object =
        skn_json_object_parse("metadata", json, strlen(json), error);
    if (!object)
        return SKN_BAD_DATA;
    skn_progress_init(progress);
    const json_t *scores = json_object_get(object, "scores");
    const char *sha = skn_json_string(object, "best_sha256");
    skn_status_t status = SKN_OK;
    if (!skn_json_u64(object, "batch", &progress->batch) || !scores || !sha)
        status = skn_fail(error, SKN_BAD_DATA,
                          "the checkpoint's metadata lacks its progress");
    if (sha)
        (void)snprintf(progress->best_sha256, sizeof(progress->best_sha256),
                       "%s", sha);
    progress->finished = json_is_true(json_object_get(object, "finished"));
#define N(name) (void)skn_json_u64(object, #name, &progress->name);
    COUNTS(N)
#undef N
#define N(name) /* older checkpoints lack some */                              \
    if (json_object_get(object, #name))                                        \
        progress->name = skn_json_number(object, #name);
    REALS(N)
#undef N
#define S(name)                                                                \
    progress->scores.name = skn_json_number(scores, #name);                    \
    progress->best_scores.name = skn_json_number(scores, "best_" #name);
    SCORES(S)
#undef S
    if (history)
        append_history(json_object_get(object, "history"), history);
    json_decref(object);
    return status;
}

/* A decoder is judged by its loss, other models by P@1. A loss that is not
 * finite is -1. */
static bool
is_better(const skn_progress_t *progress, double p1)
{
    if (progress->batch_tokens == 0)
        return p1 > progress->best_p1;
    return progress->validation_nats >= 0 &&
           (progress->best_nats < 0 ||
            progress->validation_nats < progress->best_nats);
}

bool
skn_progress_judge(skn_progress_t *progress, double p1, bool is_within)
{
    bool is_best = is_better(progress, p1);
    progress->stale_epochs = is_best ? 0 : progress->stale_epochs + 1;
    if (!is_best)
        return false;
    progress->best_p1 = p1;
    progress->best_epoch = progress->epoch + is_within;
    progress->best_batch = progress->batch;
    progress->best_scores = progress->scores;
    progress->best_nats = progress->validation_nats;
    return true;
}

bool
skn_progress_is_best(const skn_progress_t *progress)
{
    return progress->best_epoch > 0 && progress->best_batch == progress->batch;
}

bool
skn_progress_lacks_hash(const skn_progress_t *progress)
{
    return skn_progress_is_best(progress) && !progress->best_sha256[0];
}

skn_status_t
skn_progress_load(skn_checkpoint_t *checkpoint, skn_progress_t *progress,
                  skn_json_text_t *history, skn_error_t *error)
{
    skn_status_t status = skn_progress_read(skn_checkpoint_metadata(checkpoint),
                                            progress, history, error);
    if (status == SKN_OK && skn_progress_is_best(progress) &&
        skn_checkpoint_is_whole(checkpoint))
        status = skn_checkpoint_weights_sha256(checkpoint,
                                               progress->best_sha256, error);
    return status;
}

void
skn_progress_write_draws(const skn_progress_t *progress, skn_json_text_t *text)
{
    double active = (double)progress->active;
    double batches = (double)progress->loss_batches;
    double measured = (double)progress->measured;
    skn_json_text_add(text, ",\"active_fraction\":%.6f",
                      progress->possible ? active / (double)progress->possible
                                         : 0.0);
    if (progress->loss_batches > 0)
        skn_json_text_add(text, ",\"distinct_rows\":%.1f",
                          (double)progress->distinct / batches);
    if (progress->capped > 0)
        skn_json_text_add(text, ",\"capped_fraction\":%.6f",
                          (double)progress->capped / (double)progress->listed);
    if (progress->rounding.square > 0)
        skn_json_text_add(text, ",\"gradient_error\":%.4g",
                          progress->gradient_error);
    if (progress->measured > 0)
        skn_json_text_add(
            text, ",\"sampler_mass\":%.6f,\"sampler_recall\":%.6f",
            progress->mass_sum / measured, progress->recall_sum / measured);
}

void
skn_progress_write_nats(const skn_progress_t *progress, double nats,
                        skn_json_text_t *text)
{
    if (nats < 0)
        return;
    skn_json_text_add(text, ",\"validation_nats\":%.6f", nats);
    if (progress->bytes_per_token > 0)
        skn_json_text_add(text, ",\"bits_per_byte\":%.6f",
                          nats / (M_LN2 * progress->bytes_per_token));
}

static void
write_test_nats(const skn_progress_t *progress, skn_json_text_t *text)
{
    if (progress->test_nats >= 0)
        skn_json_text_add(text, ",\"test_nats\":%.6f", progress->test_nats);
}

void
skn_progress_write_steps(const skn_progress_t *progress, uint64_t batches,
                         skn_json_text_t *text)
{
    uint64_t step = progress->step_batches;
    if (progress->batch_tokens > 0 && step > 0)
        skn_json_text_add(text, ",\"step\":%" PRIu64 ",\"steps\":%" PRIu64,
                          (batches + step - 1) / step, progress->steps);
}

void
skn_progress_write_validation(const skn_progress_t *progress,
                              skn_json_text_t *text)
{
    skn_json_text_add(text,
                      "{\"event\":\"validation\",\"batch\":%" PRIu64
                      ",\"seconds\":%.3f,\"cpu_seconds\":%.3f,\"loss\":%.6f",
                      progress->batch, progress->seconds, progress->cpu_seconds,
                      skn_progress_loss(progress));
    skn_progress_write_steps(progress, progress->batch, text);
    skn_progress_write_recent(progress, text);
    skn_progress_write_nats(progress, progress->validation_nats, text);
    skn_json_text_add(text, "}");
}

void
skn_progress_write_stopped(const skn_progress_t *progress,
                           skn_json_text_t *text)
{
    skn_json_text_add(text,
                      "{\"event\":\"stopped\",\"batch\":%" PRIu64
                      ",\"epoch\":%" PRIu64
                      ",\"seconds\":%.3f,\"cpu_seconds\":%.3f",
                      progress->batch, progress->epoch, progress->seconds,
                      progress->cpu_seconds);
    skn_progress_write_steps(progress, progress->batch, text);
    skn_json_text_add(text, "}");
}

void
skn_progress_write_epoch(const skn_progress_t *progress,
                         const skn_epoch_t *epoch, skn_json_text_t *text)
{
    skn_json_text_add(text,
                      "{\"event\":\"epoch\",\"epoch\":%" PRIu64
                      ",\"batches\":%" PRIu64
                      ",\"seconds\":%.3f,\"cpu_seconds\":%.3f,"
                      "\"examples_per_s\":%.1f,\"loss\":%.6f",
                      progress->epoch, progress->batch, progress->seconds,
                      progress->cpu_seconds, epoch->rows_per_s, progress->loss);
    if (progress->batch_tokens > 0)
        skn_json_text_add(text, ",\"tokens_per_s\":%.1f", epoch->rows_per_s);
    skn_progress_write_steps(progress, progress->batch, text);
    skn_progress_write_recent(progress, text);
    if (epoch->scores) {
        skn_scores_write(epoch->scores, "", text);
        write_test_nats(progress, text);
    }
    if (epoch->validation) {
        skn_scores_write(epoch->validation, "validate_", text);
        skn_progress_write_nats(progress, progress->validation_nats, text);
    }
    skn_progress_write_draws(progress, text);
    skn_json_text_add(text, ",\"rss_mb\":%.1f}",
                      (double)epoch->rss_bytes / 1048576.0);
}

void
skn_progress_write_done(const skn_progress_t *progress, const char *sha256,
                        skn_json_text_t *text)
{
    bool best = progress->best_epoch > 0;
    skn_json_text_add(text,
                      "{\"event\":\"done\",\"epochs\":%" PRIu64
                      ",\"batches\":%" PRIu64
                      ",\"seconds\":%.3f,\"cpu_seconds\":%.3f,"
                      "\"loss\":%.6f",
                      progress->epoch, progress->batch, progress->seconds,
                      progress->cpu_seconds, progress->loss);
    skn_scores_write(best ? &progress->best_scores : &progress->scores, "",
                     text);
    skn_progress_write_nats(
        progress, best ? progress->best_nats : progress->validation_nats, text);
    if (!best)
        write_test_nats(progress, text);
    if (progress->batch_tokens > 0 && progress->seconds > 0)
        skn_json_text_add(text, ",\"tokens_per_s\":%.1f",
                          (double)(progress->batch * progress->batch_tokens) /
                              progress->seconds);
    if (progress->nodes > 1)
        skn_json_text_add(text,
                          ",\"nodes\":%" PRIu64 ",\"wire_bytes_sent\":%" PRIu64
                          ",\"wire_bytes_received\":%" PRIu64,
                          progress->nodes, progress->wire_bytes_sent,
                          progress->wire_bytes_received);
    if (progress->nodes > 1 && progress->gradient_error >= 0)
        skn_json_text_add(text, ",\"gradient_error\":%.4g",
                          progress->gradient_error);
    if (best)
        skn_json_text_add(text,
                          ",\"model\":\"best\",\"best_epoch\":%" PRIu64
                          ",\"validate_p1\":%.5f",
                          progress->best_epoch, progress->best_p1);
    skn_ledger_write(&progress->ledger, text);
    skn_json_text_add(text, ",\"weights_sha256\":\"%s\"}",
                      best ? progress->best_sha256 : sha256);
}
