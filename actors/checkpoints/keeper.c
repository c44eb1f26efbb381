/* keeper.c - actor that keeps a node's share of the checkpoints in the node's
 * own folder.
 *
 * Every node has one (`checkpoint.copies`). The owners of a node send their
 * state to its keeper and to those of the next nodes. The keeper of the first
 * node leads a checkpoint from step to step (messages.h): all have opened; all
 * have written and synced; all have the one manifest of everything; all have
 * renamed; and only then are older checkpoints removed. So at every moment all
 * folders but any one (with two copies) together hold a whole checkpoint.
 *
 * Before a run continues, a keeper sends the node's owners their state, from
 * local files and from those of other nodes (restorer.h, fetcher.h). A node
 * that leaves has no owners; its keeper only sends to others.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/checkpoints/gatherer.h"
#include "actors/checkpoints/state_receiver.h"
#include "actors/checkpoints/step_reports.h"
#include "actors/protocol/kinds.h"
#include "actors/checkpoints/restorer.h"
#include "formats/checkpoint/held.h"
#include "formats/text/json_text.h"
#include "formats/checkpoint/ledger.h"

/* After this many checkpoints in a row that could not be kept, an elastic run
 * fails, so that the coordinator leaves out the node that could not: otherwise
 * ever more training would be unsaved. */
#define FAILURES_MAX 5u

#define KEEPER_PATH_BYTES (SKN_TEXT_MAX + SKN_BATCH_NAME_BYTES + 8)

typedef struct keeper {
    uint32_t node, nodes;
    uint32_t keepers; /* the first nodes, which keep; others only send */
    char who[SKN_NAME_MAX + 16]; /* begins messages that other nodes show */
    skn_run_folder_t *run;
    uint64_t generation;
    uint32_t keep;
    skn_state_receiver_t receiver;
    skn_checkpoint_t *sealed; /* local part of the checkpoint in work */
    skn_restorer_t restorer;
    bool must_restore,
        has_restored; /* owners ask for state; all of ours have it */
    bool started;
    const skn_holding_t *early[SKN_CLUSTER_NODES_MAX]; /* before start */
    uint32_t early_count;
    /* for the first node: */
    skn_step_reports_t reports;
    const skn_save_t *save; /* kept while a checkpoint is made */
    skn_gatherer_t gatherer;
    uint32_t failures; /* failed checkpoints in a row */
} keeper_t;

static bool
leads(const keeper_t *keeper)
{
    return keeper->node == 0;
}

/* True if the node is leaving: it sends what it holds, and keeps no new
 * state. */
static bool
only_gives(const keeper_t *keeper)
{
    return keeper->node >= keeper->keepers;
}

/* --- reports ------------------------------------------------------------- */

/* Reports to the lead that `step` is done, or what failed. */
static skn_status_t
report(skn_actor_t *actor, const keeper_t *keeper, skn_keeping_t step,
       uint64_t batch, const skn_error_t *failure, skn_error_t *error)
{
    char text[SKN_ERROR_TEXT_BYTES + 128] = "";
    if (failure && failure->status != SKN_OK)
        (void)snprintf(text, sizeof(text), "%s: %s", keeper->who,
                       failure->text);
    skn_kept_t kept = { .node = keeper->node,
                        .step = (uint32_t)step,
                        .batch = batch,
                        .failure = text };
    return skn_actor_send(actor, &skn_kept_schema, &kept, error);
}

/* All of our state is written: reports the files, or what failed. */
static skn_status_t
report_files(skn_actor_t *actor, keeper_t *keeper, skn_error_t *error)
{
    skn_state_receiver_t *receiver = &keeper->receiver;
    skn_manifest_t manifest = { 0 };
    skn_json_text_t text = { 0 };
    if (receiver->failure.status == SKN_OK &&
        skn_checkpoint_list(receiver->writer, "{}", &manifest,
                            &receiver->failure) == SKN_OK) {
        skn_manifest_print(&manifest, &text);
        (void)skn_json_text_seal(&text, &receiver->failure);
    }
    skn_manifest_fini(&manifest);
    skn_status_t status;
    if (receiver->failure.status != SKN_OK) {
        status = report(actor, keeper, SKN_KEEP_WRITE, receiver->batch,
                        &receiver->failure, error);
    } else {
        skn_kept_t kept = { .node = keeper->node,
                            .step = SKN_KEEP_WRITE,
                            .batch = receiver->batch,
                            .failure = "",
                            .list = { (uint8_t *)text.bytes, text.count } };
        status = skn_actor_send(actor, &skn_kept_schema, &kept, error);
    }
    skn_json_text_fini(&text);
    return status;
}

/* --- the state of owners ------------------------------------------------- */

static skn_status_t
on_tensor(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *error)
{
    keeper_t *keeper = state;
    return skn_state_receiver_tensor(&keeper->receiver, actor, message, error);
}

static skn_status_t
on_chunk(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    keeper_t *keeper = state;
    bool all;
    skn_status_t status = skn_state_receiver_chunk(&keeper->receiver, actor,
                                                   message, &all, error);
    return status == SKN_OK && all ? report_files(actor, keeper, error)
                                   : status;
}

/* --- steps --------------------------------------------------------------- */

/* Opens the folder of the run, or makes it. */
static skn_status_t
enter_run(const skn_actor_t *actor, keeper_t *keeper, const char *run_id,
          skn_error_t *error)
{
    const char *path = skn_actor_option_text(actor, "path");
    skn_run_options_t options = {
        .resume = skn_actor_option_bool(actor, "resume") &&
                  skn_run_folder_begun(path),
        .run_id = run_id && run_id[0] ? run_id : NULL,
        .config_text = skn_actor_option_text(actor, "config"),
        .wait_ms = SKN_LOCK_WAIT_MS,
    };
    keeper->run = skn_run_folder_open(path, &options, NULL, error);
    if (!keeper->run)
        return error->status;
    const char *found = skn_run_folder_id(keeper->run);
    if (!options.run_id || strcmp(found, options.run_id) == 0)
        return SKN_OK;
    (void)skn_fail(error, SKN_CANNOT_CREATE,
                   "%s: %s holds run %.6s, this is run %.6s", keeper->who, path,
                   found, run_id);
    return skn_fail_hint(error, SKN_CANNOT_CREATE,
                         "give the node another checkpoint.path");
}

static skn_status_t
take_holding(skn_actor_t *actor, keeper_t *keeper, const skn_holding_t *holding,
             skn_error_t *error)
{
    skn_fetcher_t *fetcher = &keeper->restorer.fetcher;
    skn_status_t status =
        skn_fetcher_hold(fetcher, actor, holding->node, holding->file.at,
                         holding->file.count, error);
    keeper->restorer.ready = fetcher->told == keeper->nodes;
    return status;
}

/* Opens the checkpoint that the run continues from, and tells the other nodes
 * which of its files are here. */
static skn_status_t
start_restoring(skn_actor_t *actor, keeper_t *keeper, const skn_keep_t *keep,
                skn_error_t *error)
{
    char name[SKN_BATCH_NAME_BYTES], path[KEEPER_PATH_BYTES];
    skn_checkpoint_t *checkpoint = NULL;
    if (keep->manifest.count > 0) {
        skn_batch_name(keep->batch, keep->generation, name);
        (void)snprintf(path, sizeof(path), "%s/%s",
                       skn_run_folder_path(keeper->run), name);
        checkpoint = skn_checkpoint_open_here(
            path, (const char *)keep->manifest.at, keep->manifest.count, error);
        if (!checkpoint)
            return error->status;
    }
    skn_status_t status = skn_restorer_begin(
        &keeper->restorer, checkpoint, keeper->node, keeper->nodes, error);
    if (status == SKN_OK && checkpoint)
        status = skn_fetcher_tell(&keeper->restorer.fetcher, actor, error);
    for (uint32_t k = 0; k < keeper->early_count && status == SKN_OK; k++)
        status = take_holding(actor, keeper, keeper->early[k], error);
    return status;
}

static skn_status_t
start_here(skn_actor_t *actor, keeper_t *keeper, const skn_keep_t *keep,
           skn_error_t *error)
{
    skn_status_t status =
        leads(keeper) ? SKN_OK : enter_run(actor, keeper, keep->run, error);
    keeper->started = true;
    keeper->must_restore = keep->restores;
    if (only_gives(keeper) && !keeper->must_restore)
        skn_actor_finish(actor);
    return status == SKN_OK && keeper->must_restore
               ? start_restoring(actor, keeper, keep, error)
               : status;
}

/* Removes what the new checkpoint replaces: later batches that were abandoned,
 * and checkpoints that are too old. A failure here leaves too many, which does
 * no harm. */
static void
settle_here(keeper_t *keeper, const skn_keep_t *keep, skn_error_t *failure)
{
    skn_run_folder_t *run = keeper->run;
    uint64_t batch = keep->batch, generation = keep->generation;
    if (skn_run_folder_mark_latest(run, batch, generation, failure) != SKN_OK)
        return;
    if (keep->best &&
        skn_run_folder_mark_best(run, batch, generation, failure) != SKN_OK)
        return;
    if (skn_run_folder_forget_after(run, batch, generation, failure) == SKN_OK)
        (void)skn_run_folder_prune(run, batch, generation, keeper->keep,
                                   failure);
}

static skn_status_t
on_keep(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    keeper_t *keeper = state;
    const skn_keep_t *keep = message;
    skn_keeping_t step = (skn_keeping_t)keep->step;
    skn_state_receiver_t *receiver = &keeper->receiver;
    skn_error_t failure = { 0 };
    if (step == SKN_KEEP_START)
        return start_here(actor, keeper, keep, error);
    if (step == SKN_KEEP_GO) {
        keeper->restorer.must_wait = false;
        if (only_gives(keeper)) /* all have what they lacked */
            skn_actor_finish(actor);
        return SKN_OK;
    }
    if (only_gives(keeper))
        return SKN_OK;
    bool is_writing = step == SKN_KEEP_SEAL || step == SKN_KEEP_COMMIT;
    if (step == SKN_KEEP_WRITE || (is_writing && !receiver->writer))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: step %u of batch %llu, which is not being saved",
                        skn_actor_name(actor), keep->step,
                        (unsigned long long)keep->batch);
    if (step != SKN_KEEP_SEAL)
        skn_checkpoint_close(&keeper->sealed);
    if (step == SKN_KEEP_DROP) {
        skn_state_receiver_drop(receiver);
        receiver->open = false;
        return SKN_OK;
    }
    if (step == SKN_KEEP_OPEN) {
        skn_state_receiver_begin(receiver, keeper->run, keep->batch,
                                 keep->generation);
        failure = receiver->failure;
    } else if (step == SKN_KEEP_SEAL) {
        (void)skn_checkpoint_seal(receiver->writer,
                                  (const char *)keep->manifest.at,
                                  keep->manifest.count, &failure);
    } else if (step == SKN_KEEP_COMMIT) {
        receiver->shard_count = 0; /* their writers go with it */
        (void)skn_checkpoint_commit(&receiver->writer, NULL, &failure);
    } else if (step == SKN_KEEP_SETTLE) {
        settle_here(keeper, keep, &failure);
    }
    return report(actor, keeper, step, keep->batch, &failure, error);
}

/* --- parts for other nodes, and from them -------------------------------- */

static skn_status_t
on_want(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    keeper_t *keeper = state;
    return skn_restorer_take(&keeper->restorer, actor, message, error);
}

static skn_status_t
on_holding(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *error)
{
    keeper_t *keeper = state;
    if (keeper->started)
        return take_holding(actor, keeper, message, error);
    /* Other nodes may get the start before this one: it has another sender. */
    if (keeper->early_count == keeper->nodes)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: a node reported twice what it holds",
                        skn_actor_name(actor));
    keeper->early[keeper->early_count++] = skn_message_keep(message);
    return SKN_OK;
}

static skn_status_t
on_fetch(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    keeper_t *keeper = state;
    const skn_fetch_t *fetch = message;
    const skn_checkpoint_writer_t *writer = keeper->receiver.writer;
    skn_error_t fault = { 0 };
    if (fetch->sealed && !keeper->sealed && writer)
        keeper->sealed = skn_checkpoint_open(skn_checkpoint_writer_path(writer),
                                             SKN_VERIFY_HERE, &fault);
    return skn_fetcher_serve(
        fetch->sealed ? keeper->sealed : keeper->restorer.fetcher.checkpoint,
        actor, keeper->who, fetch, error);
}

static skn_status_t
on_fetched(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *error)
{
    keeper_t *keeper = state;
    const skn_fetched_t *fetched = message;
    return skn_fetcher_take(fetched->ticket & 1 ? &keeper->gatherer.fetcher
                                                : &keeper->restorer.fetcher,
                            actor, fetched, error);
}

/* --- the lead ------------------------------------------------------------ */

static skn_status_t
tell_step(skn_actor_t *actor, keeper_t *keeper, skn_keeping_t step,
          skn_bytes_t manifest, skn_error_t *error)
{
    skn_keep_t keep = { .step = (uint32_t)step,
                        .batch = keeper->save->batch,
                        .generation = keeper->generation,
                        .best = keeper->save->best,
                        .run = "",
                        .manifest = manifest };
    skn_step_reports_expect(&keeper->reports, step, keeper->save->batch);
    return skn_actor_send(actor, &skn_keep_schema, &keep, error);
}

static skn_status_t
tell_failure(skn_actor_t *actor, const keeper_t *keeper, const char *what,
             bool over, skn_error_t *error)
{
    skn_json_text_t text = { 0 };
    char hint[SKN_ERROR_HINT_BYTES];
    skn_run_folder_after_failure(keeper->run, "", hint);
    skn_json_text_add(&text, "{\"event\":\"warning\",\"message\":");
    skn_json_text_add_string(&text, what);
    skn_json_text_add(&text, ",\"hint\":\"%s\"}",
                      over ? "older checkpoints stay in its folder" : hint);
    skn_status_t status =
        text.failed ? SKN_OK
                    : skn_actor_send_event(actor, error, "%s", text.bytes);
    skn_json_text_fini(&text);
    return status;
}

static skn_status_t
end_save(skn_actor_t *actor, keeper_t *keeper, const skn_saved_t *saved,
         skn_error_t *error)
{
    skn_message_drop(keeper->save);
    keeper->save = NULL;
    return skn_actor_send(actor, &skn_saved_schema, saved, error);
}

/* The model itself must not be lost, nor the state that leaving nodes have
 * handed over; failures in between are only reported, up to a limit. */
static skn_status_t
give_up(skn_actor_t *actor, keeper_t *keeper, skn_error_t *error)
{
    skn_error_t failure = keeper->reports.failure;
    skn_saved_t none = { .batch = keeper->save->batch,
                         .path = "",
                         .weights_sha256 = "" };
    bool renamed = keeper->reports.step == SKN_KEEP_COMMIT;
    skn_gatherer_close(&keeper->gatherer);
    keeper->failures++;
    if (keeper->save->hash || keeper->keepers < keeper->nodes ||
        (keeper->generation > 0 && keeper->failures >= FAILURES_MAX)) {
        *error = failure;
        return failure.status;
    }
    skn_status_t status = renamed ? SKN_OK
                                  : tell_step(actor, keeper, SKN_KEEP_DROP,
                                              (skn_bytes_t){ 0 }, error);
    if (status == SKN_OK)
        status = tell_failure(actor, keeper, failure.text, false, error);
    return status == SKN_OK ? end_save(actor, keeper, &none, error) : status;
}

static skn_status_t
on_save(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    keeper_t *keeper = state;
    const skn_save_t *save = message;
    if (save->metadata.count == 0 ||
        save->metadata.at[save->metadata.count - 1] != '\0')
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: the metadata of batch %llu has no NUL at its end",
                        skn_actor_name(actor), (unsigned long long)save->batch);
    if (!leads(keeper) || keeper->save)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: asked to save batch %llu out of turn",
                        skn_actor_name(actor), (unsigned long long)save->batch);
    keeper->save = skn_message_keep(message);
    return tell_step(actor, keeper, SKN_KEEP_OPEN, (skn_bytes_t){ 0 }, error);
}

static skn_status_t
seal_all(skn_actor_t *actor, keeper_t *keeper, skn_error_t *error)
{
    skn_json_text_t text = { 0 };
    skn_step_reports_t *reports = &keeper->reports;
    skn_status_t status =
        skn_step_reports_seal(reports, (const char *)keeper->save->metadata.at,
                              &text, &reports->failure);
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
gather(skn_actor_t *actor, keeper_t *keeper, skn_error_t *error)
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

static skn_status_t
step_gathering(skn_actor_t *actor, keeper_t *keeper, bool *idle,
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

/* All nodes have settled. */
static skn_status_t
finish(skn_actor_t *actor, keeper_t *keeper, skn_error_t *error)
{
    char name[SKN_BATCH_NAME_BYTES], path[KEEPER_PATH_BYTES];
    char hex[SKN_SHA256_TEXT_BYTES] = "";
    skn_ledger_verdict_t verdict = { 0 };
    const skn_error_t *failure = &keeper->reports.failure;
    skn_status_t status = SKN_OK;
    keeper->failures = 0;
    skn_batch_name(keeper->save->batch, keeper->generation, name);
    (void)snprintf(path, sizeof(path), "%s/%s",
                   skn_run_folder_path(keeper->run), name);
    if (failure->status != SKN_OK)
        status = tell_failure(actor, keeper, failure->text, true, error);
    if (status == SKN_OK && keeper->save->hash)
        status = skn_ledger_read_back(path, hex, &verdict, error);
    skn_saved_t saved = { .batch = keeper->save->batch,
                          .path = path,
                          .weights_sha256 = hex,
                          .ledger = verdict.known,
                          .lost = verdict.lost,
                          .applied_twice = verdict.applied_twice };
    return status == SKN_OK ? end_save(actor, keeper, &saved, error) : status;
}

/* All keepers have sent their owners what they had: lets them begin. */
static skn_status_t
let_go(skn_actor_t *actor, keeper_t *keeper, skn_error_t *error)
{
    skn_keep_t keep = { .step = SKN_KEEP_GO, .run = "" };
    skn_saved_t all = { .batch = keeper->restorer.fetcher.batch,
                        .path = "",
                        .weights_sha256 = "" };
    skn_status_t status = skn_actor_send(actor, &skn_keep_schema, &keep, error);
    return status == SKN_OK
               ? skn_actor_send(actor, &skn_saved_schema, &all, error)
               : status;
}

static skn_status_t
on_kept(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    keeper_t *keeper = state;
    skn_step_reports_t *reports = &keeper->reports;
    bool all = false;
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
        skn_step_reports_expect(reports, SKN_KEEP_WRITE, reports->batch);
        return skn_actor_send(actor, &skn_save_schema, keeper->save, error);
    case SKN_KEEP_WRITE:
        return seal_all(actor, keeper, error);
    case SKN_KEEP_SEAL:
        return keeper->save->hash ? gather(actor, keeper, error)
                                  : tell_step(actor, keeper, SKN_KEEP_COMMIT,
                                              (skn_bytes_t){ 0 }, error);
    case SKN_KEEP_COMMIT:
        return tell_step(actor, keeper, SKN_KEEP_SETTLE, (skn_bytes_t){ 0 },
                         error);
    case SKN_KEEP_SETTLE:
        return finish(actor, keeper, error);
    case SKN_KEEP_START:
    case SKN_KEEP_DROP:
    case SKN_KEEP_COUNT:
        break;
    }
    return SKN_OK;
}

/* --- open, start, produce, close ----------------------------------------- */

static skn_status_t
keeper_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    keeper_t *keeper = state;
    skn_restorer_t *restorer = &keeper->restorer;
    bool idle = true, over = false;
    if (keeper->gatherer.active) {
        skn_status_t status = step_gathering(actor, keeper, &idle, error);
        if (idle)
            skn_actor_rest(actor);
        return status;
    }
    if (!keeper->must_restore || only_gives(keeper)) {
        skn_actor_rest(actor);
        return SKN_OK;
    }
    if (keeper->restorer.ready && !keeper->has_restored &&
        restorer->complete == restorer->owners) {
        keeper->has_restored = true;
        return report(actor, keeper, SKN_KEEP_GO, 0, NULL, error);
    }
    skn_status_t status =
        skn_restorer_send(restorer, actor, &idle, &over, error);
    if (idle)
        skn_actor_rest(actor);
    if (status == SKN_OK && over) {
        keeper->must_restore = false;
        skn_restorer_close(restorer);
    }
    return status;
}

static skn_status_t
keeper_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    keeper_t *keeper = state;
    keeper->node = skn_actor_index(actor);
    keeper->nodes = skn_actor_peers(actor);
    if (keeper->nodes > SKN_CLUSTER_NODES_MAX)
        return skn_fail(error, SKN_BAD_CONFIG, "%u keepers, at most %u allowed",
                        keeper->nodes, SKN_CLUSTER_NODES_MAX);
    (void)snprintf(keeper->who, sizeof(keeper->who), "node '%.64s'",
                   skn_actor_option_text(actor, "node"));
    keeper->keepers = (uint32_t)skn_actor_option_int(actor, "keepers");
    if (keeper->keepers == 0 || keeper->keepers > keeper->nodes)
        keeper->keepers = keeper->nodes;
    keeper->generation = (uint64_t)skn_actor_option_int(actor, "generation");
    keeper->keep = (uint32_t)skn_actor_option_int(actor, "keep");
    uint32_t owners = skn_actor_receivers(actor, &skn_restored_schema);
    int64_t senders = skn_actor_option_int(actor, "owners");
    if ((senders == 0) != only_gives(keeper))
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: %lld owners send their state to keeper %u, but "
                        "only the first %u keep checkpoints",
                        skn_actor_name(actor), (long long)senders, keeper->node,
                        keeper->keepers);
    skn_status_t status =
        senders > 0 ? skn_state_receiver_open(&keeper->receiver,
                                              (uint32_t)senders, error)
                    : SKN_OK;
    if (status == SKN_OK)
        status = skn_restorer_open(&keeper->restorer, owners, error);
    keeper->restorer.must_wait = true;
    if (status != SKN_OK || !leads(keeper))
        return status;
    status = skn_step_reports_open(&keeper->reports, keeper->keepers, error);
    skn_step_reports_expect(&keeper->reports, SKN_KEEP_GO, 0);
    return status == SKN_OK
               ? enter_run(actor, keeper, skn_actor_option_text(actor, "run"),
                           error)
               : status;
}

/* The lead sends all keepers the id of the run and the checkpoint that it
 * continues from. */
static skn_status_t
keeper_start(skn_actor_t *actor, void *state, skn_error_t *error)
{
    keeper_t *keeper = state;
    const char *path = skn_actor_option_text(actor, "checkpoint");
    const char *name = strrchr(path, '/');
    skn_batch_id_t id = { 0 };
    char *bytes = NULL;
    size_t count = 0;
    skn_status_t status = SKN_OK;
    if (!leads(keeper))
        return SKN_OK;
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
        status = skn_actor_send(actor, &skn_keep_schema, &keep, error);
    free(bytes);
    return status;
}

static void
keeper_close(skn_actor_t *actor, void *state)
{
    keeper_t *keeper = state;
    (void)actor;
    skn_message_drop(keeper->save);
    for (uint32_t k = 0; k < keeper->early_count; k++)
        skn_message_drop(keeper->early[k]);
    skn_gatherer_close(&keeper->gatherer);
    skn_checkpoint_close(&keeper->sealed);
    skn_state_receiver_close(&keeper->receiver);
    skn_restorer_close(&keeper->restorer);
    skn_step_reports_close(&keeper->reports);
    skn_run_folder_close(&keeper->run);
}

static const skn_option_t options[] = {
    { "path", SKN_OPTION_PATH, NULL, 0, 0, NULL,
      "folder of the run on this node" },
    { "node", SKN_OPTION_TEXT, NULL, 0, 0, NULL, "name of this node" },
    { "resume", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "the folder may already hold the run" },
    { "checkpoint", SKN_OPTION_TEXT, "", 0, 0, NULL,
      "first node: checkpoint in its folder from which the run resumes" },
    { "run", SKN_OPTION_TEXT, "", 0, 0, NULL,
      "first node: id of a new run, 32 hex digits; empty: random" },
    { "config", SKN_OPTION_TEXT, "", 0, SKN_CONFIG_BYTES_MAX, NULL,
      "text of the config, stored in the folder" },
    { "owners", SKN_OPTION_INT, NULL, 0, SKN_ACTORS_MAX, NULL,
      "owners that send their state to this node; 0: the node is leaving" },
    { "keepers", SKN_OPTION_INT, "0", 0, SKN_CLUSTER_NODES_MAX, NULL,
      "how many nodes, counted from the first, keep checkpoints; the others "
      "only send what they hold of `checkpoint`; 0: all" },
    { "keep", SKN_OPTION_INT, "3", 1, 1000000, NULL,
      "number of checkpoints to keep" },
    { "generation", SKN_OPTION_INT, "0", 0, SKN_GENERATION_MAX, NULL,
      "generation of the nodes, used in the names of checkpoints" },
    { 0 },
};

static const skn_handler_t handlers[] = {
    { &skn_save_schema, on_save, NULL },
    { &skn_tensor_schema, on_tensor, NULL },
    { &skn_chunk_schema, on_chunk, NULL },
    { &skn_want_schema, on_want, NULL },
    { &skn_keep_schema, on_keep, NULL },
    { &skn_kept_schema, on_kept, NULL },
    { &skn_holding_schema, on_holding, NULL },
    { &skn_fetch_schema, on_fetch, NULL },
    { &skn_fetched_schema, on_fetched, NULL },
    { 0 },
};

static const skn_schema_t *const sends[] = {
    &skn_save_schema,  &skn_saved_schema,   &skn_restored_schema,
    &skn_keep_schema,  &skn_kept_schema,    &skn_holding_schema,
    &skn_fetch_schema, &skn_fetched_schema, NULL,
};

static const skn_schema_t *const gathers[] = { NULL };

static const skn_schema_t *const needs[] = {
    &skn_keep_schema,
    NULL,
};

const skn_kind_t skn_keeper = {
    .name = "keeper",
    .help = "keeps a node's share of checkpoints in the node's own folder",
    .state_bytes = sizeof(keeper_t),
    .options = options,
    .handlers = handlers,
    .sends = sends,
    .gathers = gathers,
    .needs = needs,
    .open = keeper_open,
    .start = keeper_start,
    .produce = keeper_produce,
    .close = keeper_close,
};
