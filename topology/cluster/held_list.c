/* held_list.c - writes and reads the checkpoints in a run folder as a message.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/held_list.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "formats/checkpoint/salvage.h"
#include "formats/text/json_text.h"

/* A manifest is included if it is no longer than this; a coordinator that lacks
 * a manifest learns so from the missing file. */
#define MANIFEST_BYTES_MAX (SKN_CONTROL_BYTES_MAX / 4)
/* The limit for all included manifests, the newest first; as JSON they are up
 * to half longer. A message that is too long would never be sent. */
#define MANIFESTS_BYTES_MAX (SKN_CONTROL_BYTES_MAX / 2)

/* --- writing -------------------------------------------------------------- */

static bool
is_known(const json_t *known, const char *seal)
{
    size_t k;
    const json_t *item;
    json_array_foreach(known, k, item)
    {
        const char *text = json_string_value(item);
        if (text && strcmp(text, seal) == 0)
            return true;
    }
    return false;
}

/* Makes [["output.0.safetensors", true], ...]. */
static json_t *
files_of(const skn_held_t *held)
{
    json_t *files = json_array();
    for (size_t k = 0; files && k < held->file_count; k++)
        (void)json_array_append_new(
            files, json_pack("[sb]", held->file[k].name, held->file[k].here));
    return files;
}

/* Describes a checkpoint, with its manifest if that is wanted and fits into
 * *room. */
static json_t *
describe(const char *path, const skn_held_t *held, bool wanted, size_t *room)
{
    char *manifest = NULL;
    size_t bytes = 0;
    skn_error_t nothing = { 0 };
    json_t *files = files_of(held);
    skn_control_checkpoint_t checkpoint = {
        .batch = held->batch,
        .layout = held->generation,
        .seal = held->seal,
        .run = held->run_id,
        .finished = held->finished,
        .files = files,
    };
    if (wanted &&
        skn_held_manifest(path, held->batch, held->generation, &manifest,
                          &bytes, &nothing) == SKN_OK &&
        bytes <= MANIFEST_BYTES_MAX && bytes <= *room) {
        checkpoint.manifest = manifest;
        *room -= bytes;
    }
    json_t *item =
        skn_json_record_write(&skn_control_checkpoint_record, &checkpoint);
    json_decref(files);
    free(manifest);
    return item;
}

/* Whether an earlier entry, which is newer, has the same seal. */
static bool
is_repeated(const skn_held_t *list, size_t at)
{
    bool found = false;
    for (size_t k = 0; k < at && !found; k++)
        found = strcmp(list[k].seal, list[at].seal) == 0;
    return found;
}

/* The manifest of what a generation that broke off has left here, or NULL. */
static json_t *
salvage_of(const char *path, size_t *room)
{
    char *text = NULL;
    size_t bytes = 0;
    skn_error_t nothing = { 0 };
    json_t *salvage = NULL;
    if (skn_salvage_read(path, &text, &bytes, &nothing) == SKN_OK &&
        bytes <= MANIFEST_BYTES_MAX) {
        salvage = json_stringn(text, bytes);
        *room -= bytes;
    }
    free(text);
    return salvage;
}

void
skn_held_list_make(const char *path, const json_t *known,
                   skn_control_message_t *message, skn_error_t *error)
{
    skn_held_t *list = NULL;
    size_t count = 0, room = MANIFESTS_BYTES_MAX;
    json_t *items = json_array();
    *message = (skn_control_message_t){
        .kind = SKN_CONTROL_MESSAGE_INVENTORY,
        .owned = json_pack("[o]", items),
        .inventory.checkpoints = items,
    };
    if (skn_held_list(path, &list, &count, error) != SKN_OK)
        return;
    json_t *salvage = salvage_of(path, &room);
    if (salvage && json_array_append_new(message->owned, salvage) == 0)
        message->inventory.salvage = json_string_value(salvage);
    for (size_t k = 0; k < count && k < SKN_HELD_LIST_MAX; k++) {
        bool wanted = !is_known(known, list[k].seal) && !is_repeated(list, k);
        (void)json_array_append_new(items,
                                    describe(path, &list[k], wanted, &room));
    }
    skn_held_free(&list, count);
}

uint64_t
skn_room_bytes(const char *path)
{
    struct statvfs disk;
    if (statvfs(path, &disk) != 0)
        return 0;
    uint64_t bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    return bytes < INT64_MAX ? bytes : INT64_MAX;
}

/* --- reading -------------------------------------------------------------- */

static bool
copy_text(char *to, size_t bytes, const char *from)
{
    return (size_t)snprintf(to, bytes, "%s", from) < bytes;
}

static bool
read_file(const json_t *item, skn_held_file_t *file)
{
    const char *name = json_string_value(json_array_get(item, 0));
    file->here = json_is_true(json_array_get(item, 1));
    return name && copy_text(file->name, sizeof(file->name), name);
}

static bool
read_held(const json_t *item, skn_held_t *held, const char **manifest)
{
    skn_control_checkpoint_t is;
    skn_error_t nothing = { 0 };
    if (skn_json_record_read(&skn_control_checkpoint_record, item, &is,
                             &nothing) != SKN_OK)
        return false;
    size_t count = json_array_size(is.files);
    held->batch = is.batch;
    held->generation = is.layout;
    held->finished = is.finished;
    *manifest = is.manifest;
    held->file = calloc(count + 1, sizeof(*held->file));
    if (!held->file || count > SKN_CHECKPOINT_FILES_MAX ||
        !skn_hash_text_good(is.seal) ||
        !copy_text(held->seal, sizeof(held->seal), is.seal) ||
        !copy_text(held->run_id, sizeof(held->run_id), is.run))
        return false;
    held->file_count = count;
    for (size_t k = 0; k < count; k++)
        if (!read_file(json_array_get(is.files, k), &held->file[k]))
            return false;
    return true;
}

skn_status_t
skn_held_list_read(const skn_control_inventory_t *inventory, skn_held_t **list,
                   size_t *count, const char *manifest[SKN_HELD_LIST_MAX],
                   skn_error_t *error)
{
    size_t room = json_array_size(inventory->checkpoints);
    *count = 0;
    *list = room > SKN_HELD_LIST_MAX ? NULL : calloc(room + 1, sizeof(**list));
    if (!*list)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "inventory: %zu checkpoints, at most %u allowed", room,
                        SKN_HELD_LIST_MAX);
    for (size_t k = 0; k < room; k++) {
        *count = k + 1; /* it has to be freed even if it is incomplete */
        if (!read_held(json_array_get(inventory->checkpoints, k), &(*list)[k],
                       &manifest[k])) {
            skn_held_free(list, *count);
            *count = 0;
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "inventory: checkpoint %zu has a malformed seal, "
                            "run or list of files",
                            k);
        }
    }
    return SKN_OK;
}
