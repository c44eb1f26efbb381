/* keeper_lead.c - the side of a keeper that leads checkpoints: the order of
 * their steps (skn_keeping_t in messages.h), and what a failure of one means.
 *
 * The keeper of the first node sends each step to the others, if there are any,
 * and takes it itself at once: alone, it sends and awaits nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/checkpoints/keeper_internal.h"
#include "formats/checkpoint/held.h"
#include "formats/checkpoint/ledger.h"
#include "formats/text/json_text.h"

/* After this many checkpoints in a row that could not be kept, an elastic run
 * fails, so that the coordinator leaves out the node that could not: otherwise
 * ever more training would be unsaved. */
#define FAILURES_MAX 5u

/* --- steps --------------------------------------------------------------- */

static skn_status_t
send_step(skn_actor_t *actor, skn_keeper_t *keeper, const skn_keep_t *keep,
          skn_error_t *error)
{
    skn_status_t status =
        skn_keeper_is_alone(keeper)
            ? SKN_OK
            : skn_actor_send(actor, &skn_keep_schema, keep, error);
    return status == SKN_OK ? skn_keeper_step(actor, keeper, keep, error)
                            : status;
}

/* Sends a step of the checkpoint in work. */
static skn_status_t
tell_step(skn_actor_t *actor, skn_keeper_t *keeper, skn_keeping_t step,
          skn_bytes_t manifest, skn_error_t *error)
{
    skn_keep_t keep = { .step = (uint32_t)step,
                        .batch = keeper->save->batch,
                        .generation = keeper->generation,
                        .best = keeper->save->best,
                        .run = "",
                        .manifest = manifest };
    skn_step_reports_expect(&keeper->reports, step, keeper->save->batch);
    return send_step(actor, keeper, &keep, error);
}

skn_status_t
skn_keeper_lead_start(skn_actor_t *actor, skn_keeper_t *keeper,
                      skn_error_t *error)
{
    const char *path = skn_actor_option_text(actor, "checkpoint");
    const char *name = strrchr(path, '/');
    skn_batch_id_t id = { 0 };
    char *bytes = NULL;
    size_t count = 0;
    skn_status_t status = SKN_OK;
    if (path[0] && !skn_batch_name_parse(name ? name + 1 : path, &id.batch,
                                         &id.generation))
        return skn_fail(error, SKN_BAD_CONFIG, "%s is not a checkpoint", path);
    if (path[0])
        status = skn_held_manifest(skn_run_folder_path(keeper->run), id.batch,
                                   id.generation, &bytes, &count, error);
    skn_keep_t keep = { .step = SKN_KEEP_START,
                        .batch = id.batch,
                        .generation = id.generation,
                        .restores = skn_actor_receivers(
                                        actor, &skn_restored_schema) > 0,
                        .run = skn_run_folder_id(keeper->run),
                        .manifest = { (uint8_t *)bytes, count } };
    if (status == SKN_OK)
        status = send_step(actor, keeper, &keep, error);
    free(bytes);
    return status;
}

/* All keepers have sent their owners what they had: lets them begin. */
static skn_status_t
let_go(skn_actor_t *actor, skn_keeper_t *keeper, skn_error_t *error)
{
    skn_keep_t keep = { .step = SKN_KEEP_GO, .run = "" };
    skn_saved_t all = { .batch = keeper->restorer.fetcher.batch,
                        .path = "",
                        .weights_sha256 = "" };
    skn_status_t status = send_step(actor, keeper, &keep, error);
    return status == SKN_OK
               ? skn_actor_send(actor, &skn_saved_schema, &all, error)
               : status;
}

/* --- the end of a checkpoint --------------------------------------------- */

static skn_status_t
warn(skn_actor_t *actor, const char *what, const char *hint, skn_error_t *error)
{
    skn_json_text_t text = { 0 };
    skn_json_text_add(&text, "{\"event\":\"warning\",\"message\":");
    skn_json_text_add_string(&text, what);
    skn_json_text_add(&text, ",\"hint\":");
    skn_json_text_add_string(&text, hint);
    skn_json_text_add(&text, "}");
    skn_status_t status =
        text.failed ? SKN_OK
                    : skn_actor_send_event(actor, error, "%s", text.bytes);
    skn_json_text_fini(&text);
    return status;
}

static skn_status_t
end_save(skn_actor_t *actor, skn_keeper_t *keeper, const skn_saved_t *saved,
         skn_error_t *error)
{
    skn_message_drop(keeper->save);
    keeper->save = NULL;
    return skn_actor_send(actor, &skn_saved_schema, saved, error);
}

/* The model itself must not be lost, nor the state that leaving nodes have
 * handed over; failures in between are only reported, up to a limit where
 * another node can take over. */
static skn_status_t
give_up(skn_actor_t *actor, skn_keeper_t *keeper, skn_error_t *error)
{
    skn_error_t failure = keeper->reports.failure;
    char hint[SKN_ERROR_HINT_BYTES];
    skn_saved_t none = { .batch = keeper->save->batch,
                         .path = "",
                         .weights_sha256 = "" };
    bool is_renamed = keeper->reports.step >= SKN_KEEP_COMMIT;
    bool is_needed = keeper->save->hash || keeper->keepers < keeper->nodes;
    skn_gatherer_close(&keeper->gatherer);
    keeper->failures++;
    if (!skn_keeper_is_alone(keeper) && keeper->generation > 0 &&
        keeper->failures >= FAILURES_MAX)
        is_needed = true;
    skn_status_t status = is_needed || is_renamed
                              ? SKN_OK
                              : tell_step(actor, keeper, SKN_KEEP_DROP,
                                          (skn_bytes_t){ 0 }, error);
    skn_run_folder_after_failure(keeper->run, failure.hint, hint);
    if (is_needed) {
        *error = failure;
        memcpy(error->hint, hint, sizeof(hint));
        return failure.status;
    }
    if (status == SKN_OK)
        status = warn(actor, failure.text, hint, error);
    return status == SKN_OK ? end_save(actor, keeper, &none, error) : status;
}

/* All nodes have settled. A failure there has left too much, or a link that
 * names an older checkpoint. */
static skn_status_t
finish(skn_actor_t *actor, skn_keeper_t *keeper, skn_error_t *error)
{
    char name[SKN_BATCH_NAME_BYTES], path[SKN_KEPT_PATH_BYTES];
    char hex[SKN_SHA256_TEXT_BYTES] = "";
    skn_ledger_verdict_t verdict = { 0 };
    skn_error_t *failure = &keeper->reports.failure;
    skn_status_t status = SKN_OK;
    skn_batch_name(keeper->save->batch, keeper->generation, name);
    (void)snprintf(path, sizeof(path), "%s/%s",
                   skn_run_folder_path(keeper->run), name);
    if (failure->status != SKN_OK)
        status = warn(actor, failure->text,
                      "the checkpoint is saved; `latest`, `best` or older "
                      "checkpoints may be as they were",
                      error);
    if (status == SKN_OK && keeper->save->hash &&
        skn_ledger_read_back(path, hex, &verdict, failure) != SKN_OK)
        return give_up(actor, keeper, error);
    keeper->failures = 0;
    skn_saved_t saved = { .batch = keeper->save->batch,
                          .path = path,
                          .weights_sha256 = hex,
                          .ledger = verdict.known,
                          .lost = verdict.lost,
                          .applied_twice = verdict.applied_twice };
    return status == SKN_OK ? end_save(actor, keeper, &saved, error) : status;
}

/* --- from step to step --------------------------------------------------- */

skn_status_t
skn_keeper_on_save(skn_actor_t *actor, void *state, const void *message,
                   skn_error_t *error)
{
    skn_keeper_t *keeper = state;
    const skn_save_t *save = message;
    if (save->metadata.count == 0 ||
        save->metadata.at[save->metadata.count - 1] != '\0')
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: the metadata of batch %llu has no NUL at its end",
                        skn_actor_name(actor), (unsigned long long)save->batch);
    if (!skn_keeper_leads(keeper) || !keeper->run)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: asked to save batch %llu, but %s",
                        skn_actor_name(actor), (unsigned long long)save->batch,
                        skn_keeper_leads(keeper) ? "read_only is set"
                                                 : "another keeper leads");
    if (keeper->save)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: asked to save batch %llu before batch %llu was "
                        "saved",
                        skn_actor_name(actor), (unsigned long long)save->batch,
                        (unsigned long long)keeper->save->batch);
    keeper->save = skn_message_keep(message);
    return tell_step(actor, keeper, SKN_KEEP_OPEN, (skn_bytes_t){ 0 }, error);
}

static skn_status_t
seal_all(skn_actor_t *actor, skn_keeper_t *keeper, skn_error_t *error)
{
    skn_json_text_t text = { 0 };
    skn_step_reports_t *reports = &keeper->reports;
    skn_status_t status = skn_step_reports_seal(
        reports, skn_checkpoint_writer_path(keeper->receiver.writer),
        (const char *)keeper->save->metadata.at, &text, &reports->failure);
    status = status == SKN_OK
                 ? tell_step(actor, keeper, SKN_KEEP_SEAL,
                             (skn_bytes_t){ (uint8_t *)text.bytes, text.count },
                             error)
                 : give_up(actor, keeper, error);
    skn_json_text_fini(&text);
    return status;
}

/* The best model and the last one are whole on the lead's node, where predict,
 * eval or a copy of the folder finds them. */
static skn_status_t
gather(skn_actor_t *actor, skn_keeper_t *keeper, skn_error_t *error)
{
    skn_step_reports_t *reports = &keeper->reports;
    skn_fetcher_t fetcher = { 0 };
    uint64_t ticket = keeper->gatherer.fetcher.next_ticket;
    skn_status_t status = SKN_OK;
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(skn_checkpoint_writer_path(keeper->receiver.writer),
                            SKN_VERIFY_HERE, &reports->failure);
    status = checkpoint
                 ? skn_fetcher_open(&fetcher, checkpoint, 0, keeper->nodes,
                                    true, &reports->failure)
                 : reports->failure.status;
    if (ticket > fetcher.next_ticket)
        fetcher.next_ticket = ticket;
    uint32_t *file = calloc(reports->whole.file_count + 1, sizeof(*file));
    if (!file && status == SKN_OK)
        status = skn_fail(&reports->failure, SKN_NO_MEMORY,
                          "no memory for a list of %zu files",
                          reports->whole.file_count);
    for (uint32_t k = 1; k < reports->nodes && status == SKN_OK; k++)
        status = skn_fetcher_hold(&fetcher, actor, k, file,
                                  skn_step_reports_files(reports, k, file),
                                  &reports->failure);
    free(file);
    skn_gatherer_begin(&keeper->gatherer, &fetcher, keeper->receiver.writer);
    return status == SKN_OK ? SKN_OK : give_up(actor, keeper, error);
}

skn_status_t
skn_keeper_lead_gather(skn_actor_t *actor, skn_keeper_t *keeper, bool *idle,
                       skn_error_t *error)
{
    bool over;
    skn_status_t status = skn_gatherer_step(&keeper->gatherer, actor, idle,
                                            &over, &keeper->reports.failure);
    if (status != SKN_OK)
        return give_up(actor, keeper, error);
    if (!over)
        return SKN_OK;
    skn_gatherer_close(&keeper->gatherer);
    return tell_step(actor, keeper, SKN_KEEP_COMMIT, (skn_bytes_t){ 0 }, error);
}

skn_status_t
skn_keeper_on_kept(skn_actor_t *actor, void *state, const void *message,
                   skn_error_t *error)
{
    skn_keeper_t *keeper = state;
    skn_step_reports_t *reports = &keeper->reports;
    const skn_bytes_t none = { 0 };
    bool all = false, is_alone = skn_keeper_is_alone(keeper);
    skn_status_t status =
        skn_step_reports_take(reports, actor, message, &all, error);
    if (status != SKN_OK || !all)
        return status;
    if (reports->failure.status != SKN_OK && reports->step != SKN_KEEP_SETTLE)
        return give_up(actor, keeper, error);
    switch (reports->step) {
    case SKN_KEEP_GO:
        return let_go(actor, keeper, error);
    case SKN_KEEP_OPEN:
        /* Only now: owners must not send state before all are ready. */
        skn_step_reports_expect(reports, SKN_KEEP_WRITE, reports->batch);
        return skn_actor_send(actor, &skn_save_schema, keeper->save, error);
    case SKN_KEEP_WRITE:
        return seal_all(actor, keeper, error);
    case SKN_KEEP_SEAL:
        return keeper->save->hash && !is_alone
                   ? gather(actor, keeper, error)
                   : tell_step(actor, keeper, SKN_KEEP_COMMIT, none, error);
    case SKN_KEEP_COMMIT:
        return tell_step(actor, keeper, SKN_KEEP_SETTLE, none, error);
    case SKN_KEEP_SETTLE:
        return finish(actor, keeper, error);
    case SKN_KEEP_START:
    case SKN_KEEP_DROP:
    case SKN_KEEP_COUNT:
        break;
    }
    return SKN_OK;
}
