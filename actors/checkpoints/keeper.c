/* keeper.c - actor that keeps checkpoints of a run in a folder of its node, and
 * sends owners their state from one.
 *
 * Where it is alone, the owners of all nodes send it their state. Where every
 * node has a keeper (`checkpoint.copies`), the owners of a node send theirs to
 * its keeper and to those of the next nodes. The keeper of the first node leads
 * a checkpoint from step to step (keeper_lead.c): all have opened; all have
 * written and synced; all have the one manifest of everything; all have
 * renamed; and only then are older checkpoints removed. So at every moment,
 * with two copies, whichever one folder is lost, the others hold a whole
 * checkpoint.
 *
 * Before a run continues, a keeper sends owners their state, from local files
 * and from those of other nodes (restorer.h, fetcher.h). A node that leaves has
 * no owners; its keeper only sends to others.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/checkpoints/keeper_internal.h"
#include "actors/protocol/corpus.h"
#include "actors/protocol/data.h"
#include "actors/protocol/kinds.h"
#include "actors/protocol/settings.h"
#include "formats/checkpoint/run_form.h"
#include "formats/text/json_text.h"

/* True if the node is leaving: it sends what it holds, and keeps no new
 * state. */
static bool
only_gives(const skn_keeper_t *keeper)
{
    return keeper->node >= keeper->keepers;
}

/* --- reports ------------------------------------------------------------- */

/* Reports to the lead that `step` is done, with the list of the files that were
 * written if there are any; or what failed. The lead takes its own report at
 * once; alone, with its failure as it is. */
static skn_status_t
report(skn_actor_t *actor, skn_keeper_t *keeper, uint32_t step, uint64_t batch,
       const skn_error_t *failure, const skn_json_text_t *list,
       skn_error_t *error)
{
    char text[SKN_ERROR_TEXT_BYTES + 128] = "";
    bool has_failed = failure->status != SKN_OK;
    if (has_failed)
        (void)snprintf(text, sizeof(text), "%s%s", keeper->who, failure->text);
    skn_kept_t kept = {
        .node = keeper->node, .step = step, .batch = batch, .failure = text
    };
    if (list && !has_failed)
        kept.list = (skn_bytes_t){ (uint8_t *)list->bytes, list->count };
    if (!skn_keeper_leads(keeper))
        return skn_actor_send(actor, &skn_kept_schema, &kept, error);
    if (has_failed && skn_keeper_is_alone(keeper))
        keeper->reports.failure = *failure;
    return skn_keeper_on_kept(actor, keeper, &kept, error);
}

/* All of our state is written: reports the files, or what failed. */
static skn_status_t
report_files(skn_actor_t *actor, skn_keeper_t *keeper, skn_error_t *error)
{
    skn_state_receiver_t *receiver = &keeper->receiver;
    skn_error_t *failure = &receiver->failure;
    skn_manifest_t manifest = { 0 };
    skn_json_text_t text = { 0 };
    if (failure->status == SKN_OK &&
        skn_checkpoint_list(receiver->writer, "{}", &manifest, failure) ==
            SKN_OK) {
        skn_manifest_print(&manifest, &text);
        (void)skn_json_text_seal(&text, failure);
    }
    skn_manifest_fini(&manifest);
    skn_status_t status = report(actor, keeper, SKN_KEEP_WRITE, receiver->batch,
                                 failure, &text, error);
    skn_json_text_fini(&text);
    return status;
}

/* --- the state of owners ------------------------------------------------- */

static skn_status_t
on_tensor(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *error)
{
    skn_keeper_t *keeper = state;
    return skn_state_receiver_tensor(&keeper->receiver, actor, message, error);
}

static skn_status_t
on_chunk(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    skn_keeper_t *keeper = state;
    bool all;
    skn_status_t status = skn_state_receiver_chunk(&keeper->receiver, actor,
                                                   message, &all, error);
    return status == SKN_OK && all ? report_files(actor, keeper, error)
                                   : status;
}

/* --- restoring ----------------------------------------------------------- */

static skn_status_t
on_want(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    skn_keeper_t *keeper = state;
    return skn_restorer_take(&keeper->restorer, actor, message, error);
}

static skn_status_t
take_holding(skn_actor_t *actor, skn_keeper_t *keeper,
             const skn_holding_t *holding, skn_error_t *error)
{
    skn_fetcher_t *fetcher = &keeper->restorer.fetcher;
    skn_status_t status =
        skn_fetcher_hold(fetcher, actor, holding->node, holding->file.at,
                         holding->file.count, error);
    keeper->restorer.ready = fetcher->reported == keeper->nodes;
    return status;
}

static skn_status_t
on_holding(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *error)
{
    skn_keeper_t *keeper = state;
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

/* Opens the checkpoint that the run continues from, where no other node has a
 * part of it to send. */
static skn_status_t
restore_alone(const skn_actor_t *actor, skn_keeper_t *keeper,
              skn_error_t *error)
{
    const char *path = skn_actor_option_text(actor, "checkpoint");
    skn_checkpoint_t *checkpoint = NULL;
    if (path[0]) {
        checkpoint = skn_checkpoint_open(path, SKN_VERIFY_LAZY, error);
        if (!checkpoint)
            return error->status;
    }
    return skn_restorer_begin(&keeper->restorer, checkpoint, 0, 1, error);
}

/* Opens the checkpoint that the run continues from, and tells the other nodes
 * which of its files are here. */
static skn_status_t
start_restoring(skn_actor_t *actor, skn_keeper_t *keeper,
                const skn_keep_t *keep, skn_error_t *error)
{
    char name[SKN_BATCH_NAME_BYTES], path[SKN_KEPT_PATH_BYTES];
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
on_fetch(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    skn_keeper_t *keeper = state;
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
    skn_keeper_t *keeper = state;
    const skn_fetched_t *fetched = message;
    return skn_fetcher_take(fetched->ticket & SKN_TICKET_SEALED
                                ? &keeper->gatherer.fetcher
                                : &keeper->restorer.fetcher,
                            actor, fetched, error);
}

/* --- the folder ---------------------------------------------------------- */

/* While this run was planned, another process may have continued it. */
static skn_status_t
check_newest(const skn_actor_t *actor, const skn_run_folder_t *run,
             skn_error_t *error)
{
    const char *path = skn_run_folder_path(run);
    skn_batch_id_t *list = NULL;
    size_t count = 0;
    skn_status_t status = skn_run_folder_batches(skn_run_folder_descriptor(run),
                                                 path, &list, &count, error);
    uint64_t newest = status == SKN_OK && count > 0 ? list[0].batch : 0;
    free(list);
    if (status != SKN_OK ||
        newest == (uint64_t)skn_actor_option_int(actor, "newest"))
        return status;
    status =
        skn_fail(error, SKN_BUSY, "%s: another process has written batch %llu",
                 path, (unsigned long long)newest);
    return skn_fail_hint(error, status,
                         "resume again to continue from that batch");
}

/* A run that goes on without the file keeps the names that it has. */
static skn_status_t
keep_labels(const skn_actor_t *actor, const skn_run_folder_t *run,
            const skn_run_options_t *options, skn_error_t *error)
{
    const char *labels = skn_actor_option_text(actor, "labels");
    return labels[0] || !options->resume
               ? skn_run_form_copy(run, SKN_LABELS_NAME, labels, error)
               : SKN_OK;
}

/* The tokenizer of the training text, which a decoder needs to be used. */
static skn_status_t
keep_tokenizer(const skn_actor_t *actor, const skn_run_folder_t *run,
               skn_error_t *error)
{
    const char *train = skn_actor_option_text(actor, "train");
    const skn_corpus_t corpus = skn_corpus_of(actor);
    skn_tokens_t *tokens = NULL;
    size_t bytes;
    if (!skn_actor_option_bool(actor, "tokens"))
        return SKN_OK;
    skn_status_t status =
        skn_corpus_open(&corpus, train, "train", NULL, &tokens, error);
    if (status != SKN_OK)
        return status;
    char *form = skn_tokenizer_write(skn_tokens_tokenizer(tokens), &bytes);
    status =
        form ? skn_run_form_keep(run, SKN_TOKENIZER_NAME, form, bytes, error)
             : skn_fail(error, SKN_NO_MEMORY, "no memory for a tokenizer");
    free(form);
    skn_tokens_close(&tokens);
    return status;
}

/* The vocabulary of rows of texts, and the names of the labels among it. */
static skn_status_t
keep_vocabulary(const skn_actor_t *actor, const skn_run_folder_t *run,
                skn_error_t *error)
{
    const skn_data_t data = skn_data_of(actor);
    skn_vocabulary_form_t form;
    skn_dataset_t *train = NULL;
    size_t bytes;
    if (!data.preprocessing[0])
        return SKN_OK;
    skn_status_t status = skn_data_open_train(&data, &train, error);
    if (status != SKN_OK)
        return status;
    (void)skn_dataset_vocabulary(train, &form);
    char *whole = skn_vocabulary_write(&form, &bytes);
    status =
        whole ? skn_run_form_keep(run, SKN_VOCABULARY_NAME, whole, bytes, error)
              : skn_fail(error, SKN_NO_MEMORY, "no memory for a vocabulary");
    if (status == SKN_OK)
        status = skn_run_form_keep(run, SKN_LABELS_NAME, form.names,
                                   (size_t)form.names_bytes, error);
    free(whole);
    skn_dataset_close(&train);
    return status;
}

/* Opens the folder of the run, or makes it: of several nodes, one may have had
 * none. */
static skn_status_t
enter_run(const skn_actor_t *actor, skn_keeper_t *keeper, const char *run_id,
          skn_error_t *error)
{
    const char *path = skn_actor_option_text(actor, "path");
    bool is_alone = skn_keeper_is_alone(keeper);
    skn_run_options_t options = {
        .resume = skn_actor_option_bool(actor, "resume") &&
                  (is_alone || skn_run_folder_begun(path)),
        .run_id = run_id[0] ? run_id : NULL,
        .config_text = skn_actor_option_text(actor, "config"),
        .wait_ms = SKN_LOCK_WAIT_MS,
    };
    keeper->run = skn_run_folder_open(path, &options, NULL, error);
    if (!keeper->run || keep_labels(actor, keeper->run, &options, error) ||
        keep_tokenizer(actor, keeper->run, error) ||
        keep_vocabulary(actor, keeper->run, error))
        return error->status;
    if (is_alone)
        return options.resume ? check_newest(actor, keeper->run, error)
                              : SKN_OK;
    const char *found = skn_run_folder_id(keeper->run);
    if (!options.run_id || strcmp(found, run_id) == 0)
        return SKN_OK;
    (void)skn_fail(error, SKN_CANNOT_CREATE,
                   "%s%s holds run %.6s, this is run %.6s", keeper->who, path,
                   found, run_id);
    return skn_fail_hint(error, SKN_CANNOT_CREATE,
                         "give the node another checkpoint.path");
}

/* --- steps --------------------------------------------------------------- */

static skn_status_t
start_here(skn_actor_t *actor, skn_keeper_t *keeper, const skn_keep_t *keep,
           skn_error_t *error)
{
    skn_status_t status = skn_keeper_leads(keeper)
                              ? SKN_OK
                              : enter_run(actor, keeper, keep->run, error);
    keeper->started = true;
    keeper->must_restore = keep->restores;
    if (only_gives(keeper) && !keeper->must_restore)
        skn_actor_finish(actor);
    return status == SKN_OK && keeper->must_restore
               ? start_restoring(actor, keeper, keep, error)
               : status;
}

static void
go_here(skn_actor_t *actor, skn_keeper_t *keeper)
{
    keeper->restorer.must_wait = false;
    if (only_gives(keeper)) /* all have what they lacked */
        skn_actor_finish(actor);
}

static void
open_here(skn_keeper_t *keeper, const skn_keep_t *keep, skn_error_t *failure)
{
    skn_state_receiver_begin(&keeper->receiver, keeper->run, keep->batch,
                             keep->generation);
    *failure = keeper->receiver.failure;
}

static void
seal_here(skn_keeper_t *keeper, const skn_keep_t *keep, skn_error_t *failure)
{
    (void)skn_checkpoint_seal(keeper->receiver.writer,
                              (const char *)keep->manifest.at,
                              keep->manifest.count, failure);
}

static void
commit_here(skn_keeper_t *keeper, skn_error_t *failure)
{
    keeper->receiver.shard_count = 0; /* their writers go with it */
    (void)skn_checkpoint_commit(&keeper->receiver.writer, NULL, failure);
}

/* Makes the new checkpoint `latest` (and `best`), and removes those that it
 * replaces: the oldest, beyond checkpoints_max, and later batches that were
 * abandoned. A failure of that leaves too many, which does no harm: the lead
 * warns of it. Readers do without `latest`: the oldest go also where it cannot
 * be set, unless the new one is not there. A keeper that was always alone
 * leaves later batches: they are damaged, as the run has continued from its
 * newest sound one. */
static void
settle_here(skn_keeper_t *keeper, const skn_keep_t *keep, skn_error_t *failure)
{
    skn_run_folder_t *run = keeper->run;
    uint64_t batch = keep->batch, generation = keep->generation;
    if (skn_run_folder_mark_latest(run, batch, generation, failure) !=
        SKN_NO_INPUT)
        (void)skn_run_folder_prune(run, batch, generation,
                                   keeper->checkpoints_max, failure);
    if (!skn_keeper_is_alone(keeper) || generation > 0)
        (void)skn_run_folder_forget_after(run, batch, generation, failure);
    if (keep->best)
        (void)skn_run_folder_mark_best(run, batch, generation, failure);
}

static void
drop_here(skn_keeper_t *keeper)
{
    skn_state_receiver_drop(&keeper->receiver);
    keeper->receiver.open = false;
}

skn_status_t
skn_keeper_step(skn_actor_t *actor, skn_keeper_t *keeper,
                const skn_keep_t *keep, skn_error_t *error)
{
    skn_error_t failure = { 0 };
    if (keep->step != SKN_KEEP_SEAL)
        skn_checkpoint_close(&keeper->sealed);
    switch ((skn_keeping_t)keep->step) {
    case SKN_KEEP_START:
        return start_here(actor, keeper, keep, error);
    case SKN_KEEP_GO:
        go_here(actor, keeper);
        return SKN_OK;
    case SKN_KEEP_DROP:
        drop_here(keeper);
        return SKN_OK;
    case SKN_KEEP_OPEN:
        open_here(keeper, keep, &failure);
        break;
    case SKN_KEEP_SEAL:
        seal_here(keeper, keep, &failure);
        break;
    case SKN_KEEP_COMMIT:
        commit_here(keeper, &failure);
        break;
    case SKN_KEEP_SETTLE:
        settle_here(keeper, keep, &failure);
        break;
    case SKN_KEEP_WRITE:
    case SKN_KEEP_COUNT:
        break;
    }
    return report(actor, keeper, keep->step, keep->batch, &failure, NULL,
                  error);
}

static skn_status_t
on_keep(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    skn_keeper_t *keeper = state;
    const skn_keep_t *keep = message;
    uint32_t step = keep->step;
    bool is_written = step == SKN_KEEP_SEAL || step == SKN_KEEP_COMMIT;
    if (step > SKN_KEEP_GO && only_gives(keeper))
        return SKN_OK;
    if (skn_keeper_leads(keeper) || step == SKN_KEEP_WRITE ||
        (is_written && !keeper->receiver.writer))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: step %u of batch %llu, which is not being saved",
                        skn_actor_name(actor), step,
                        (unsigned long long)keep->batch);
    return skn_keeper_step(actor, keeper, keep, error);
}

/* --- open, start, produce, close ----------------------------------------- */

static skn_status_t
keeper_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    skn_keeper_t *keeper = state;
    skn_restorer_t *restorer = &keeper->restorer;
    const skn_error_t none = { 0 };
    bool idle = true, over = false;
    skn_status_t status = SKN_OK;
    if (keeper->gatherer.active) {
        status = skn_keeper_lead_gather(actor, keeper, &idle, error);
    } else if (keeper->must_restore && !only_gives(keeper)) {
        if (restorer->ready && !keeper->has_restored &&
            restorer->complete == restorer->owners) {
            keeper->has_restored = true;
            return report(actor, keeper, SKN_KEEP_GO, 0, &none, NULL, error);
        }
        status = skn_restorer_send(restorer, actor, &idle, &over, error);
    }
    if (idle)
        skn_actor_rest(actor);
    if (status == SKN_OK && over) {
        keeper->must_restore = false;
        skn_restorer_close(restorer);
    }
    return status;
}

/* Checks which of the keepers this one is. */
static skn_status_t
take_place(const skn_actor_t *actor, skn_keeper_t *keeper, uint32_t senders,
           skn_error_t *error)
{
    uint32_t nodes = keeper->nodes = skn_actor_peers(actor);
    keeper->node = skn_actor_index(actor);
    if (nodes > SKN_CLUSTER_NODES_MAX)
        return skn_fail(error, SKN_BAD_CONFIG, "%u keepers, at most %u allowed",
                        nodes, SKN_CLUSTER_NODES_MAX);
    keeper->keepers = (uint32_t)skn_actor_option_int(actor, "keepers");
    if (keeper->keepers == 0 || keeper->keepers > nodes)
        keeper->keepers = nodes;
    if (!skn_keeper_is_alone(keeper))
        (void)snprintf(keeper->who, sizeof(keeper->who),
                       "node '%.64s': ", skn_actor_option_text(actor, "node"));
    if ((senders == 0) != only_gives(keeper))
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: %u owners send their state to keeper %u, but "
                        "only the first %u keep checkpoints",
                        skn_actor_name(actor), senders, keeper->node,
                        keeper->keepers);
    if (nodes > 1 && skn_actor_option_bool(actor, "read_only"))
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: one of %u keepers cannot be read_only",
                        skn_actor_name(actor), nodes);
    return SKN_OK;
}

/* The lead enters the run, and if it is alone it opens the checkpoint too: then
 * nobody else is to be sent a start. */
static skn_status_t
lead_open(const skn_actor_t *actor, skn_keeper_t *keeper, skn_error_t *error)
{
    skn_status_t status =
        skn_step_reports_open(&keeper->reports, keeper->keepers, error);
    skn_step_reports_expect(&keeper->reports, SKN_KEEP_GO, 0);
    if (status == SKN_OK && !skn_actor_option_bool(actor, "read_only"))
        status = enter_run(actor, keeper, skn_actor_option_text(actor, "run"),
                           error);
    keeper->must_restore =
        skn_keeper_is_alone(keeper) && keeper->restorer.owners > 0;
    return status == SKN_OK && keeper->must_restore
               ? restore_alone(actor, keeper, error)
               : status;
}

static skn_status_t
keeper_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    skn_keeper_t *keeper = state;
    uint32_t restored_owners = skn_actor_receivers(actor, &skn_restored_schema);
    uint32_t senders = (uint32_t)skn_actor_option_int(actor, "owners");
    keeper->generation = (uint64_t)skn_actor_option_int(actor, "generation");
    keeper->checkpoints_max = (uint32_t)skn_actor_option_int(actor, "keep");
    skn_status_t status = take_place(actor, keeper, senders, error);
    if (status == SKN_OK && senders > 0)
        status = skn_state_receiver_open(&keeper->receiver, senders, error);
    if (status == SKN_OK)
        status = skn_restorer_open(&keeper->restorer, restored_owners, error);
    keeper->restorer.must_wait = true;
    return status == SKN_OK && skn_keeper_leads(keeper)
               ? lead_open(actor, keeper, error)
               : status;
}

static skn_status_t
keeper_start(skn_actor_t *actor, void *state, skn_error_t *error)
{
    skn_keeper_t *keeper = state;
    return skn_keeper_leads(keeper) && !skn_keeper_is_alone(keeper)
               ? skn_keeper_lead_start(actor, keeper, error)
               : SKN_OK;
}

static void
keeper_close(skn_actor_t *actor, void *state)
{
    skn_keeper_t *keeper = state;
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
    { "node", SKN_OPTION_TEXT, "", 0, 0, NULL,
      "name of this node; empty: a single keeper" },
    { "resume", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "the folder already holds the run, or, with several keepers, may"
      " hold it" },
    { "newest", SKN_OPTION_INT, "0", 0, SKN_WHOLE_MAX, NULL,
      "resume, single keeper: newest batch in the folder; 0: none" },
    { "checkpoint", SKN_OPTION_TEXT, "", 0, 0, NULL,
      "first node: checkpoint from which owners request their state; empty: "
      "none" },
    { "read_only", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "single keeper: send owners their state, but never write to the folder" },
    { "run", SKN_OPTION_TEXT, "", 0, 0, NULL,
      "first node: id of a new run, 32 hex digits; empty: random" },
    { "config", SKN_OPTION_TEXT, "", 0, SKN_CONFIG_BYTES_MAX, NULL,
      "text of the config, stored in the folder" },
    { "labels", SKN_OPTION_PATH, "", 0, 0, NULL,
      "file of the labels' names, copied to the folder; empty: none" },
    { "train", SKN_OPTION_PATH, "", 0, 0, NULL,
      "with `tokens` or `preprocessing`: the training file, whose tokenizer or "
      "vocabulary is kept in the folder" },
    SKN_DATA_OPTIONS,
    SKN_TEXT_OPTIONS,
    { "owners", SKN_OPTION_INT, NULL, 0, SKN_ACTORS_MAX, NULL,
      "owners that send their state to this node; 0: the node is leaving" },
    { "keepers", SKN_OPTION_INT, "0", 0, SKN_CLUSTER_NODES_MAX, NULL,
      "how many nodes, counted from the first, keep checkpoints; the others "
      "only send what they hold of `checkpoint`; 0: all" },
    SKN_OPTION_OF("keep", "3", SKN_SETTING_KEEP),
    { "generation", SKN_OPTION_INT, "0", 0, SKN_GENERATION_MAX, NULL,
      "generation of the nodes, used in the names of checkpoints" },
    { 0 },
};

static const skn_handler_t handlers[] = {
    { &skn_save_schema, skn_keeper_on_save, NULL },
    { &skn_tensor_schema, on_tensor, NULL },
    { &skn_chunk_schema, on_chunk, NULL },
    { &skn_want_schema, on_want, NULL },
    { &skn_keep_schema, on_keep, NULL },
    { &skn_kept_schema, skn_keeper_on_kept, NULL },
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
    &skn_save_schema,
    &skn_tensor_schema,
    &skn_chunk_schema,
    NULL,
};

const skn_kind_t skn_keeper = {
    .struct_bytes = sizeof(skn_kind_t),
    .name = "keeper",
    .help = "keeps checkpoints of the run in a folder of its node",
    .state_bytes = sizeof(skn_keeper_t),
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
