/* control_messages.c - builds and reads the JSON messages between coordinator
 * and members.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/control_messages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "cli/base/process.h"
#include "formats/checkpoint/salvage.h"
#include "formats/text/json_text.h"

/* A manifest is included if it is no longer than this; a coordinator that lacks
 * a manifest learns so from the missing file. */
#define MANIFEST_BYTES_MAX (SKN_CONTROL_BYTES_MAX / 4)
/* The limit for all included manifests, the newest first; as JSON they are up
 * to half longer. A message that is too long would never be sent. */
#define MANIFESTS_BYTES_MAX (SKN_CONTROL_BYTES_MAX / 2)

json_t *
cli_control_read(skn_frame_t frame, skn_error_t *error)
{
    json_error_t why;
    json_t *message =
        json_loadb(frame.at, frame.bytes, JSON_REJECT_DUPLICATES, &why);
    if (json_is_object(message))
        return message;
    json_decref(message);
    (void)skn_fail(error, SKN_BAD_MESSAGE, "a message that is no object");
    return NULL;
}

uint64_t
cli_control_number(const json_t *message, const char *key)
{
    json_int_t number = json_integer_value(json_object_get(message, key));
    return number > 0 ? (uint64_t)number : 0;
}

static void
clean(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at; at++)
        if (*at < ' ' || *at == 127)
            *at = ' ';
}

void
cli_control_error(const json_t *message, skn_error_t *error)
{
    skn_status_t status =
        cli_status_of_code((int)cli_control_number(message, "code"));
    (void)skn_fail(error, status, "%s", skn_json_word(message, "text"));
    (void)skn_fail_hint(error, status, "%s", skn_json_word(message, "hint"));
    clean(error->text);
    clean(error->hint);
}

skn_ending_t
cli_control_ending(const json_t *message, skn_error_t *error)
{
    static const struct {
        const char *word;
        skn_ending_t ending;
    } words[] = { { "well", SKN_ENDING_WELL },
                  { "done", SKN_ENDING_DONE },
                  { "stopped", SKN_ENDING_STOPPED } };
    const char *how = skn_json_word(message, "how");
    for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
        if (strcmp(how, words[k].word) == 0)
            return words[k].ending;
    cli_control_error(message, error);
    return SKN_ENDING_FAILED;
}

json_t *
cli_node_names(const skn_model_t *model, uint64_t set)
{
    json_t *names = json_array();
    for (size_t k = 0; names && k < model->node_count; k++)
        if (set & ((uint64_t)1 << k))
            (void)json_array_append_new(names,
                                        json_string(model->nodes[k].name));
    return names;
}

uint64_t
cli_node_set(const skn_model_t *model, const json_t *names)
{
    uint64_t set = 0;
    size_t n;
    const json_t *item;
    json_array_foreach(names, n, item)
    {
        const char *name = json_string_value(item);
        for (size_t k = 0; name && k < model->node_count; k++)
            if (strcmp(name, model->nodes[k].name) == 0)
                set |= (uint64_t)1 << k;
    }
    return set;
}

skn_control_t *
cli_control_dial(const cli_call_t *call, const skn_control_options_t *options,
                 skn_error_t *error)
{
    skn_control_t *control = skn_control_dial(options, error);
    char text[SKN_ERROR_TEXT_BYTES];
    if (!control || !skn_control_is_unknown(control))
        return control;
    (void)snprintf(text, sizeof(text),
                   "the coordinator's name in %.300s is unknown here",
                   options->address);
    cli_warn(call, text, "it is looked up again; is it spelt right?");
    return control;
}

skn_status_t
cli_control_send(skn_control_t *control, uint32_t member, json_t *message,
                 skn_error_t *error)
{
    char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    json_decref(message);
    if (!text)
        return skn_fail(error, SKN_NO_MEMORY, "no room for a message");
    skn_frame_t frame = { text, strlen(text) };
    skn_status_t status = skn_control_send(control, member, frame, error);
    free(text);
    return status;
}

/* --- the contents of a run folder ----------------------------------------- */

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
    json_t *item = json_pack(
        "{sI sI ss ss sb so}", "batch", (json_int_t)held->batch, "layout",
        (json_int_t)held->generation, "seal", held->seal, "run", held->run_id,
        "finished", held->finished, "files", files_of(held));
    char *manifest = NULL;
    size_t bytes = 0;
    if (!item || !wanted)
        return item;
    skn_error_t nothing = { 0 };
    if (skn_held_manifest(path, held->batch, held->generation, &manifest,
                          &bytes, &nothing) == SKN_OK &&
        bytes <= MANIFEST_BYTES_MAX && bytes <= *room) {
        (void)json_object_set_new(item, "manifest",
                                  json_stringn(manifest, bytes));
        *room -= bytes;
    }
    free(manifest);
    return item;
}

/* Whether an earlier entry, which is newer, has the same seal. */
static bool
was_told(const skn_held_t *list, size_t at)
{
    bool told = false;
    for (size_t k = 0; k < at && !told; k++)
        told = strcmp(list[k].seal, list[at].seal) == 0;
    return told;
}

/* Adds the salvage of a generation that was broken off, if there is one. */
static void
add_cut(const char *path, json_t *message, size_t *room)
{
    char *text = NULL;
    size_t bytes = 0;
    skn_error_t nothing = { 0 };
    if (skn_salvage_read(path, &text, &bytes, &nothing) == SKN_OK &&
        bytes <= MANIFEST_BYTES_MAX) {
        (void)json_object_set_new(message, "cut", json_stringn(text, bytes));
        *room -= bytes;
    }
    free(text);
}

json_t *
cli_holds(const char *path, const json_t *known, skn_error_t *error)
{
    skn_held_t *list = NULL;
    size_t count = 0;
    if (skn_held_list(path, &list, &count, error) != SKN_OK)
        return NULL;
    size_t room = MANIFESTS_BYTES_MAX;
    json_t *items = json_array();
    json_t *message =
        json_pack("{ss so}", "say", "holds", "checkpoints", items);
    if (message)
        add_cut(path, message, &room);
    else
        (void)skn_fail(error, SKN_NO_MEMORY, "no room for a message");
    for (size_t k = 0; message && k < count && k < CLI_CONTROL_HELD_MAX; k++) {
        bool wanted = !is_known(known, list[k].seal) && !was_told(list, k);
        (void)json_array_append_new(items,
                                    describe(path, &list[k], wanted, &room));
    }
    skn_held_free(&list, count);
    return message;
}

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
read_held(const json_t *item, skn_held_t *held)
{
    const json_t *files = json_object_get(item, "files");
    size_t count = json_array_size(files);
    held->batch = cli_control_number(item, "batch");
    held->generation = cli_control_number(item, "layout");
    held->finished = json_is_true(json_object_get(item, "finished"));
    held->file = calloc(count + 1, sizeof(*held->file));
    if (!held->file || count > SKN_CHECKPOINT_FILES_MAX ||
        !skn_hash_text_good(skn_json_word(item, "seal")) ||
        !copy_text(held->seal, sizeof(held->seal),
                   skn_json_word(item, "seal")) ||
        !copy_text(held->run_id, sizeof(held->run_id),
                   skn_json_word(item, "run")))
        return false;
    held->file_count = count;
    for (size_t k = 0; k < count; k++)
        if (!read_file(json_array_get(files, k), &held->file[k]))
            return false;
    return true;
}

skn_status_t
cli_control_take_holds(const json_t *message, skn_held_t **list, size_t *count,
                       skn_error_t *error)
{
    const json_t *items = json_object_get(message, "checkpoints");
    size_t room = json_array_size(items);
    *count = 0;
    *list =
        room > CLI_CONTROL_HELD_MAX ? NULL : calloc(room + 1, sizeof(**list));
    if (!*list)
        return skn_fail(error, SKN_BAD_MESSAGE, "%zu checkpoints", room);
    for (size_t k = 0; k < room; k++) {
        *count = k + 1; /* it has to be freed even if it is incomplete */
        if (!read_held(json_array_get(items, k), &(*list)[k])) {
            skn_held_free(list, *count);
            *count = 0;
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "a checkpoint that cannot be read");
        }
    }
    return SKN_OK;
}

uint64_t
cli_control_room_bytes(const char *path)
{
    struct statvfs disk;
    if (statvfs(path, &disk) != 0)
        return 0;
    uint64_t bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    return bytes < INT64_MAX ? bytes : INT64_MAX;
}
