/* inspection.c - reads and verifies all that a run folder or a checkpoint
 * holds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "topology/run/inspection_internal.h"
#include "topology/run/trained_missing.h"

/* --- warnings ------------------------------------------------------------ */

void
skn_inspection_warn(skn_inspection_t *inspection, const char *text,
                    const char *hint)
{
    size_t count = inspection->info.warning_count;
    skn_error_t *more =
        realloc(inspection->warning, (count + 1) * sizeof(*more));
    if (!more) {
        (void)skn_fail(&inspection->shortage, SKN_NO_MEMORY,
                       "no memory for %zu warnings", count + 1);
        return;
    }
    inspection->warning = more;
    (void)skn_fail(&more[count], SKN_OK, "%s", text);
    if (hint[0])
        (void)skn_fail_hint(&more[count], SKN_OK, "%s", hint);
    inspection->info.warning_count++;
    inspection->info.warnings = more;
}

/* Whether it failed for a lack of memory: then nothing is known. */
static bool
is_short(skn_inspection_t *inspection, const skn_error_t *why)
{
    if (why->status != SKN_NO_MEMORY)
        return false;
    inspection->shortage = *why;
    return true;
}

static void
warn_of_damage(skn_inspection_t *inspection, const char *name,
               const skn_error_t *why)
{
    skn_error_t error = { 0 };
    if (is_short(inspection, why))
        return;
    inspection->info.is_damaged = true;
    (void)skn_fail(&error, SKN_BAD_DATA, "%s cannot be used: %s", name,
                   why->text);
    skn_inspection_warn(inspection, error.text, "");
}

/* --- verification -------------------------------------------------------- */

/* Whether other nodes may have files that are not here. */
static bool
has_nodes(skn_inspection_t *inspection)
{
    skn_model_t *model = NULL;
    skn_error_t error = { 0 };
    bool nodes =
        skn_trained_model(inspection->place.run, &model, &error) != SKN_OK ||
        model->node_count > 1;
    skn_model_destroy(&model);
    (void)is_short(inspection, &error);
    return nodes;
}

static void
prove_best(skn_inspection_t *inspection)
{
    char path[SKN_TEXT_MAX + 64];
    struct stat facts;
    (void)snprintf(path, sizeof(path), "%s/best",
                   skn_run_folder_path(inspection->place.run));
    if (lstat(path, &facts) != 0 || stat(path, &facts) == 0)
        return;
    inspection->info.is_damaged = true;
    skn_inspection_warn(inspection, "`best` names a checkpoint that is missing",
                        "");
}

/* Verifies the checkpoint in the folders of all nodes: damage in one folder is
 * reported even if another folder has a good copy. */
static bool
is_sound_everywhere(skn_inspection_t *inspection, size_t at, bool *whole)
{
    bool sound = true;
    *whole = false;
    for (size_t k = 0; k < inspection->all.folder_count; k++) {
        skn_error_t error = { 0 };
        bool here = false;
        if (!skn_inventory_prove(&inspection->all, k, &inspection->all.id[at],
                                 &here, &error)) {
            warn_of_damage(inspection, inspection->name[at], &error);
            sound = false;
        }
        *whole = *whole || here;
    }
    return sound;
}

static skn_inspection_state_t
prove(skn_inspection_t *inspection, size_t at, bool nodes)
{
    skn_error_t error = { 0 };
    bool whole = true;
    skn_checkpoint_t *checkpoint = skn_inventory_open(
        &inspection->all, &inspection->all.id[at], SKN_VERIFY_ALL, &error);
    bool gathered = checkpoint && skn_checkpoint_is_gathered(checkpoint);
    bool good = checkpoint != NULL;
    skn_checkpoint_close(&checkpoint);
    if (!good && !nodes)
        warn_of_damage(inspection, inspection->name[at], &error);
    if (!nodes)
        return good ? SKN_INSPECTION_WHOLE : SKN_INSPECTION_DAMAGED;
    bool sound = is_sound_everywhere(inspection, at, &whole);
    if (good)
        return gathered && !whole && inspection->place.nodes.count == 0
                   ? SKN_INSPECTION_GATHERED
                   : SKN_INSPECTION_WHOLE;
    return sound ? SKN_INSPECTION_PART : SKN_INSPECTION_DAMAGED;
}

/* Lists the checkpoints of the run, and verifies every byte of them, unless the
 * path is one of them. */
static skn_status_t
read_checkpoints(skn_inspection_t *inspection, skn_error_t *error)
{
    skn_inventory_t *all = &inspection->all;
    size_t count = all->count, folders = all->folder_count;
    bool one = inspection->place.one;
    inspection->checkpoint = calloc(count + 1, sizeof(*inspection->checkpoint));
    inspection->name = calloc(count + 1, sizeof(*inspection->name));
    inspection->folder =
        calloc(count * folders + 1, sizeof(*inspection->folder));
    if (!inspection->checkpoint || !inspection->name || !inspection->folder)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu checkpoints",
                        count);
    bool nodes = !one && has_nodes(inspection);
    if (!one)
        prove_best(inspection);
    for (size_t k = 0; k < count; k++) {
        const skn_batch_id_t *id = &all->id[k];
        skn_inspection_folder_t *folder = &inspection->folder[k * folders];
        skn_inspection_checkpoint_t *checkpoint = &inspection->checkpoint[k];
        skn_batch_name(id->batch, id->generation, inspection->name[k]);
        *checkpoint = (skn_inspection_checkpoint_t){
            .struct_bytes = sizeof(*checkpoint),
            .name = inspection->name[k],
            .batch = id->batch,
            .generation = id->generation,
            .is_best = skn_inventory_names(all, "best", id),
            .is_latest = skn_inventory_names(all, "latest", id),
            .state = one ? SKN_INSPECTION_UNREAD : prove(inspection, k, nodes),
        };
        if (inspection->place.nodes.count == 0)
            continue;
        checkpoint->folders = folder;
        checkpoint->folder_count =
            skn_inventory_folders(all, id, folder, &checkpoint->file_count);
        checkpoint->copy_count = skn_inventory_copies(all, id);
    }
    inspection->info.checkpoint_count = count;
    return SKN_OK;
}

/* --- the checkpoint that is shown ---------------------------------------- */

static void
read_piece(skn_inspection_t *inspection, size_t index)
{
    skn_error_t error = { 0 };
    const skn_piece_t *piece = skn_checkpoint_piece(inspection->shown, index);
    const void *bytes =
        skn_checkpoint_piece_bytes(inspection->shown, index, &error);
    if (bytes)
        skn_hash_text(bytes,
                      (size_t)(piece->rows * piece->columns) *
                          skn_dtype_bytes(piece->dtype),
                      inspection->hash[index]);
    inspection->piece[index] = (skn_inspection_piece_t){
        .row_first = piece->row_first,
        .column_first = piece->column_first,
        .rows = piece->rows,
        .columns = piece->columns,
        .xxh3_128 = inspection->hash[index],
    };
}

static skn_status_t
read_tensors(skn_inspection_t *inspection, skn_error_t *error)
{
    const skn_manifest_t *manifest = skn_checkpoint_manifest(inspection->shown);
    size_t count = skn_checkpoint_tensor_count(inspection->shown);
    size_t pieces = manifest->piece_count;
    inspection->tensor = calloc(count + 1, sizeof(*inspection->tensor));
    inspection->piece = calloc(pieces + 1, sizeof(*inspection->piece));
    inspection->hash = calloc(pieces + 1, sizeof(*inspection->hash));
    if (!inspection->tensor || !inspection->piece || !inspection->hash)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu tensors",
                        count);
    for (size_t k = 0; k < pieces; k++)
        read_piece(inspection, k);
    for (size_t k = 0; k < count; k++) {
        const skn_checkpoint_tensor_t *tensor =
            skn_checkpoint_tensor(inspection->shown, k);
        inspection->tensor[k] = (skn_inspection_tensor_t){
            .struct_bytes = sizeof(*inspection->tensor),
            .name = tensor->name,
            .dtype = skn_dtype_name(tensor->dtype),
            .dims = tensor->dims,
            .rows = tensor->rows,
            .columns = tensor->columns,
            .piece_count = tensor->piece_count,
            .pieces = &inspection->piece[tensor->piece_first],
        };
    }
    inspection->info.tensor_count = count;
    inspection->info.file_count = manifest->file_count;
    for (size_t k = 0; k < manifest->file_count; k++)
        inspection->info.bytes += manifest->file[k].bytes;
    return SKN_OK;
}

static skn_status_t
read_shown(skn_inspection_t *inspection, skn_error_t *error)
{
    skn_inspection_info_t *info = &inspection->info;
    inspection->shown =
        skn_checkpoint_open(inspection->place.path, SKN_VERIFY_ALL, error);
    if (!inspection->shown) {
        skn_trained_missing(&inspection->place, error);
        return error->status;
    }
    const char *metadata = skn_checkpoint_metadata(inspection->shown);
    inspection->metadata =
        skn_json_object_parse("metadata", metadata, strlen(metadata), error);
    if (!inspection->metadata)
        return SKN_BAD_DATA;
    skn_status_t status = skn_checkpoint_weights_sha256(
        inspection->shown, inspection->sha256, error);
    if (status == SKN_OK)
        status = skn_ledger_read(inspection->shown, &inspection->ledger, error);
    if (status == SKN_OK)
        status = read_tensors(inspection, error);
    if (status != SKN_OK)
        return status;
    info->checkpoint_path = skn_checkpoint_path(inspection->shown);
    info->batch = skn_checkpoint_batch(inspection->shown);
    (void)skn_json_u64(inspection->metadata, "epoch", &info->epoch);
    info->is_finished =
        json_is_true(json_object_get(inspection->metadata, "finished"));
    info->weights_sha256 = inspection->sha256;
    info->metadata = metadata;
    info->has_ledger = inspection->ledger.known;
    info->lost = inspection->ledger.lost;
    info->applied_twice = inspection->ledger.applied_twice;
    return SKN_OK;
}

/* Reads the checkpoint to show, if there should be one. */
static void
show(skn_inspection_t *inspection)
{
    skn_error_t why = { 0 };
    bool any = inspection->place.one;
    for (size_t k = 0; k < inspection->all.count; k++)
        any = any || inspection->checkpoint[k].state != SKN_INSPECTION_PART;
    if (any && read_shown(inspection, &why) != SKN_OK &&
        !is_short(inspection, &why)) {
        inspection->failure = why;
        inspection->info.failure = &inspection->failure;
    }
    if (!any && inspection->all.count > 0) {
        skn_trained_missing(&inspection->place, &why);
        if (why.text[0])
            skn_inspection_warn(inspection, why.text, why.hint);
    }
}

/* The tokenizer of a decoder has a hash of its own, which run.json has too, and
 * an id for each row of the embedding. */
static void
check_tokenizer(skn_inspection_t *inspection)
{
    char path[SKN_RUN_FORM_PATH_BYTES];
    skn_error_t why = { 0 };
    if (!skn_trained_form(&inspection->place, SKN_TOKENIZER_NAME, path))
        return;
    skn_tokenizer_t *tokenizer = skn_tokenizer_open(path, &why);
    const skn_checkpoint_tensor_t *table =
        inspection->shown
            ? skn_checkpoint_find(inspection->shown, "embedding.weight")
            : NULL;
    if (tokenizer)
        (void)skn_trained_check_tokenizer(
            &inspection->place, tokenizer,
            table ? (uint32_t)table->rows : skn_tokenizer_ids(tokenizer), &why);
    if (why.text[0])
        warn_of_damage(inspection, SKN_TOKENIZER_NAME, &why);
    skn_tokenizer_destroy(&tokenizer);
}

/* --- open and close ------------------------------------------------------ */

static skn_status_t
inspect(skn_inspection_t *inspection, skn_error_t *error)
{
    skn_inspection_info_t *info = &inspection->info;
    skn_trained_place_t *place = &inspection->place;
    if (skn_slim_is(inspection->path))
        return skn_inspection_read_slim(inspection, error);
    skn_status_t status = skn_trained_find(inspection->path, place, error);
    if (status == SKN_OK)
        status = skn_inventory_open_all(&inspection->all, place, error);
    if (status != SKN_OK)
        return status;
    info->struct_bytes = sizeof(*info);
    info->path = inspection->path;
    info->run_id = skn_run_folder_id(place->run);
    info->created = skn_run_folder_created(place->run);
    info->config = skn_run_folder_config(place->run);
    if (place->note[0])
        skn_inspection_warn(inspection, place->note, "");
    status = read_checkpoints(inspection, error);
    if (status == SKN_OK)
        show(inspection);
    check_tokenizer(inspection);
    if (status == SKN_OK && inspection->shortage.status != SKN_OK) {
        *error = inspection->shortage;
        status = error->status;
    }
    return status;
}

skn_inspection_t *
skn_inspection_open(const char *path, skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    if (!path) {
        (void)skn_fail(error, SKN_USAGE, "the path to inspect is NULL");
        return NULL;
    }
    skn_inspection_t *inspection = calloc(1, sizeof(*inspection));
    char latest[SKN_TEXT_MAX], *copy = strdup(skn_trained_path(path, latest));
    if (!inspection || !copy) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for an inspection");
        free(inspection);
        free(copy);
        return NULL;
    }
    inspection->path = copy;
    if (inspect(inspection, error) != SKN_OK)
        skn_inspection_close(&inspection);
    return inspection;
}

void
skn_inspection_close(skn_inspection_t **inspection)
{
    skn_inspection_t *own = inspection ? *inspection : NULL;
    if (!own)
        return;
    *inspection = NULL;
    json_decref(own->metadata);
    skn_checkpoint_close(&own->shown);
    skn_slim_close(&own->slim);
    skn_inventory_close(&own->all);
    skn_trained_place_fini(&own->place);
    free(own->warning);
    free(own->checkpoint);
    free(own->name);
    free(own->folder);
    free(own->tensor);
    free(own->piece);
    free(own->hash);
    free(own->path);
    free(own);
}

const skn_inspection_info_t *
skn_inspection_info(const skn_inspection_t *inspection)
{
    return inspection ? &inspection->info : NULL;
}

const skn_inspection_checkpoint_t *
skn_inspection_checkpoint(const skn_inspection_t *inspection, size_t index)
{
    return inspection && index < inspection->info.checkpoint_count
               ? &inspection->checkpoint[index]
               : NULL;
}

const skn_inspection_tensor_t *
skn_inspection_tensor(const skn_inspection_t *inspection, size_t index)
{
    return inspection && index < inspection->info.tensor_count
               ? &inspection->tensor[index]
               : NULL;
}
