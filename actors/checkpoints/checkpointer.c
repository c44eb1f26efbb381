/* checkpointer.c - actor that writes the state of all owners into one
 * checkpoint, on the first node.
 *
 * At a marker every updater streams its tensors to it, chunk by chunk; credit
 * keeps a few chunks in memory, never a shard. When the last shard is complete
 * the checkpoint appears under its name, or not at all. A full disk is a
 * warning: the older checkpoints stay and training continues. Owners on nodes
 * without a copy of the run get their state back from here before the run
 * continues (restorer.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/checkpoints/state_receiver.h"
#include "actors/protocol/kinds.h"
#include "actors/protocol/messages.h"
#include "actors/checkpoints/restorer.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/text/json_text.h"
#include "formats/checkpoint/ledger.h"

typedef struct checkpointer {
    skn_run_folder_t *run;
    skn_state_receiver_t receiver;
    uint32_t keep;
    uint64_t generation;
    skn_restorer_t restorer;
    const skn_save_t *save; /* kept while a checkpoint is written */
} checkpointer_t;

static skn_status_t
on_save(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    checkpointer_t *checkpointer = state;
    const skn_save_t *save = message;
    if (save->metadata.count == 0 ||
        save->metadata.at[save->metadata.count - 1] != '\0')
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: the metadata of batch %llu has no NUL at its end",
                        skn_actor_name(actor), (unsigned long long)save->batch);
    if (!checkpointer->run)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: asked to save batch %llu, but read_only is set",
                        skn_actor_name(actor), (unsigned long long)save->batch);
    if (checkpointer->save)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: asked to save batch %llu before batch %llu was "
                        "saved",
                        skn_actor_name(actor), (unsigned long long)save->batch,
                        (unsigned long long)checkpointer->save->batch);
    checkpointer->save = skn_message_keep(message);
    skn_state_receiver_begin(&checkpointer->receiver, checkpointer->run,
                             save->batch, checkpointer->generation);
    /* Forwarded only now: the updaters must not send state before we are
     * ready. */
    return skn_actor_send(actor, &skn_save_schema, message, error);
}

static skn_status_t
on_tensor(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *error)
{
    checkpointer_t *checkpointer = state;
    return skn_state_receiver_tensor(&checkpointer->receiver, actor, message,
                                     error);
}

/* Finds the number of the run's checkpoints and the batch of the newest (or
 * 0). */
static skn_status_t
find_newest(const skn_run_folder_t *run, size_t *count, uint64_t *newest,
            skn_error_t *error)
{
    skn_batch_id_t *list = NULL;
    *count = 0;
    skn_status_t status =
        skn_run_folder_batches(skn_run_folder_descriptor(run),
                               skn_run_folder_path(run), &list, count, error);
    *newest = status == SKN_OK && *count > 0 ? list[0].batch : 0;
    free(list);
    return status;
}

static skn_status_t
tell_failure(skn_actor_t *actor, const checkpointer_t *checkpointer,
             skn_error_t *error)
{
    skn_json_text_t text = { 0 };
    char hint[SKN_ERROR_HINT_BYTES];
    skn_run_folder_after_failure(checkpointer->run,
                                 checkpointer->receiver.failure.hint, hint);
    skn_json_text_add(&text, "{\"event\":\"warning\",\"message\":");
    skn_json_text_add_string(&text, checkpointer->receiver.failure.text);
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
finish(skn_actor_t *actor, checkpointer_t *checkpointer, skn_error_t *error)
{
    char path[SKN_TEXT_MAX], name[SKN_BATCH_NAME_BYTES];
    char hex[SKN_SHA256_TEXT_BYTES] = "";
    skn_ledger_verdict_t verdict = { 0 };
    const skn_save_t *save = checkpointer->save;
    skn_error_t *failure = &checkpointer->receiver.failure, warning = { 0 };
    skn_status_t status = failure->status;
    skn_batch_name(save->batch, checkpointer->generation, name);
    (void)snprintf(path, sizeof(path), "%s/%s",
                   skn_run_folder_path(checkpointer->run), name);
    if (status == SKN_OK)
        status = skn_checkpoint_finish(&checkpointer->receiver.writer,
                                       (const char *)save->metadata.at,
                                       checkpointer->keep, &warning, failure);
    if (status == SKN_OK && checkpointer->generation > 0)
        (void)skn_run_folder_forget_after(checkpointer->run, save->batch,
                                          checkpointer->generation, &warning);
    if (status == SKN_OK && save->best)
        status = skn_run_folder_mark_best(checkpointer->run, save->batch,
                                          checkpointer->generation, failure);
    if (status == SKN_OK && save->hash)
        status = skn_ledger_read_back(path, hex, &verdict, failure);
    if (status != SKN_OK && save->hash) {
        *error = *failure; /* the model itself is not saved: no mere warning */
        skn_run_folder_after_failure(checkpointer->run, failure->hint,
                                     error->hint);
        return status;
    }
    if (status != SKN_OK) {
        path[0] = '\0';
        status = tell_failure(actor, checkpointer, error);
    }
    skn_saved_t saved = { .batch = save->batch,
                          .path = path,
                          .weights_sha256 = hex,
                          .ledger = verdict.known,
                          .lost = verdict.lost,
                          .applied_twice = verdict.applied_twice };
    if (status == SKN_OK)
        status = skn_actor_send(actor, &skn_saved_schema, &saved, error);
    skn_message_drop(save);
    checkpointer->save = NULL;
    return status;
}

static skn_status_t
on_chunk(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    checkpointer_t *checkpointer = state;
    bool all;
    skn_status_t status = skn_state_receiver_chunk(&checkpointer->receiver,
                                                   actor, message, &all, error);
    return status == SKN_OK && all ? finish(actor, checkpointer, error)
                                   : status;
}

/* --- restoring --- */

static skn_status_t
on_want(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    checkpointer_t *checkpointer = state;
    return skn_restorer_take(&checkpointer->restorer, actor, message, error);
}

static skn_status_t
checkpointer_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    skn_restorer_t *restorer = &((checkpointer_t *)state)->restorer;
    skn_saved_t all = { .batch = restorer->fetcher.batch,
                        .path = "",
                        .weights_sha256 = "" };
    bool idle, over;
    skn_status_t status =
        skn_restorer_send(restorer, actor, &idle, &over, error);
    if (idle)
        skn_actor_rest(actor);
    if (status != SKN_OK || !over)
        return status;
    skn_restorer_close(restorer);
    return skn_actor_send(actor, &skn_saved_schema, &all, error);
}

/* --- open and close --- */

/* While this run was planned, another process may have continued it. */
static skn_status_t
check_newest(const skn_actor_t *actor, const skn_run_folder_t *run,
             skn_error_t *error)
{
    const char *path = skn_run_folder_path(run);
    size_t count;
    uint64_t newest;
    skn_status_t status = find_newest(run, &count, &newest, error);
    if (status != SKN_OK)
        return status;
    if (newest == (uint64_t)skn_actor_option_int(actor, "newest"))
        return SKN_OK;
    status =
        skn_fail(error, SKN_BUSY, "%s: another process has written batch %llu",
                 path, (unsigned long long)newest);
    return skn_fail_hint(error, status,
                         "resume again to continue from that batch");
}

static skn_status_t
open_restorer(const skn_actor_t *actor, checkpointer_t *checkpointer,
              skn_error_t *error)
{
    skn_restorer_t *restorer = &checkpointer->restorer;
    const char *path = skn_actor_option_text(actor, "checkpoint");
    uint32_t owners = skn_actor_receivers(actor, &skn_restored_schema);
    skn_checkpoint_t *checkpoint = NULL;
    skn_status_t status = skn_restorer_open(restorer, owners, error);
    if (status != SKN_OK || owners == 0)
        return status;
    if (path[0]) {
        checkpoint = skn_checkpoint_open(path, SKN_VERIFY_LAZY, error);
        if (!checkpoint)
            return error->status;
    }
    return skn_restorer_begin(restorer, checkpoint, 0, 1, error);
}

static skn_status_t
checkpointer_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    checkpointer_t *checkpointer = state;
    checkpointer->keep = (uint32_t)skn_actor_option_int(actor, "keep");
    checkpointer->generation =
        (uint64_t)skn_actor_option_int(actor, "generation");
    skn_status_t status = skn_state_receiver_open(
        &checkpointer->receiver,
        (uint32_t)skn_actor_option_int(actor, "owners"), error);
    if (status != SKN_OK)
        return status;
    bool is_read_only = skn_actor_option_bool(actor, "read_only");
    skn_run_options_t options = {
        .resume = skn_actor_option_bool(actor, "resume"),
        .run_id = skn_actor_option_text(actor, "run"),
        .config_text = skn_actor_option_text(actor, "config"),
        .wait_ms = SKN_LOCK_WAIT_MS,
    };
    if (!options.run_id[0])
        options.run_id = NULL;
    if (!is_read_only)
        checkpointer->run = skn_run_folder_open(
            skn_actor_option_text(actor, "path"), &options, NULL, error);
    if (!is_read_only && !checkpointer->run)
        return error->status;
    if (options.resume && !is_read_only)
        status = check_newest(actor, checkpointer->run, error);
    return status == SKN_OK ? open_restorer(actor, checkpointer, error)
                            : status;
}

static void
checkpointer_close(skn_actor_t *actor, void *state)
{
    checkpointer_t *checkpointer = state;
    (void)actor;
    skn_message_drop(checkpointer->save);
    skn_state_receiver_close(&checkpointer->receiver);
    skn_restorer_close(&checkpointer->restorer);
    skn_run_folder_close(&checkpointer->run);
}

static const skn_option_t options[] = {
    { "path", SKN_OPTION_PATH, NULL, 0, 0, NULL, "folder of the run" },
    { "resume", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "resume: the folder already holds the run" },
    { "newest", SKN_OPTION_INT, "0", 0, SKN_WHOLE_MAX, NULL,
      "resume: batch of the newest checkpoint in the folder; 0: none" },
    { "checkpoint", SKN_OPTION_TEXT, "", 0, 0, NULL,
      "resume: checkpoint from which owners request their state; empty: none" },
    { "read_only", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "send owners their state, but never write to the folder" },
    { "run", SKN_OPTION_TEXT, "", 0, 0, NULL,
      "id of a new run, 32 hex digits; empty: random" },
    { "config", SKN_OPTION_TEXT, "", 0, SKN_CONFIG_BYTES_MAX, NULL,
      "text of the config, stored in the folder" },
    { "owners", SKN_OPTION_INT, NULL, 1, SKN_ACTORS_MAX, NULL,
      "updaters whose state makes up a checkpoint" },
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
    { 0 },
};

static const skn_schema_t *const sends[] = {
    &skn_save_schema,
    &skn_saved_schema,
    &skn_restored_schema,
    NULL,
};

static const skn_schema_t *const gathers[] = { NULL };

static const skn_schema_t *const needs[] = {
    &skn_save_schema,
    &skn_tensor_schema,
    &skn_chunk_schema,
    NULL,
};

const skn_kind_t skn_checkpointer = {
    .name = "checkpointer",
    .help = "writes the state of all updaters into checkpoints",
    .state_bytes = sizeof(checkpointer_t),
    .options = options,
    .handlers = handlers,
    .sends = sends,
    .gathers = gathers,
    .needs = needs,
    .open = checkpointer_open,
    .produce = checkpointer_produce,
    .close = checkpointer_close,
};
