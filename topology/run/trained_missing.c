/* trained_missing.c - names the files and folders that a trained model lacks.
 *
 * Each node has the manifest of the whole checkpoint: even one folder lists the
 * required files, and the folders beside it show which of them exist.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/run/trained_missing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/checkpoint/held.h"

/* At most this many files, and folders, are named; the others are counted. */
#define NAMED_MAX 3u

typedef struct folder {
    const char *name; /* the last part of its path */
    skn_held_t *held;
    size_t count;
} folder_t;

typedef struct missing {
    skn_node_folders_t parts;
    folder_t *folder; /* [parts.count] */
    const skn_held_t *wanted;
    char text[SKN_ERROR_TEXT_BYTES];
} missing_t;

static const char *
name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void
say(missing_t *missing, const char *format, const char *word)
{
    size_t used = strlen(missing->text);
    (void)snprintf(missing->text + used, sizeof(missing->text) - used, format,
                   word);
}

static void
say_number(missing_t *missing, const char *format, size_t number)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%zu", number);
    say(missing, format, text);
}

static const skn_held_t *
held_of(const folder_t *folder, uint64_t batch, uint64_t generation)
{
    for (size_t k = 0; k < folder->count; k++)
        if (folder->held[k].batch == batch &&
            folder->held[k].generation == generation)
            return &folder->held[k];
    return NULL;
}

/* Chooses the checkpoint that the place should have: the one that it is, else
 * the newest of its run folder, or of all folders of nodes in it. */
static void
choose(missing_t *missing, const skn_trained_place_t *place)
{
    uint64_t batch = 0, generation = 0;
    char *run = realpath(skn_run_folder_path(place->run), NULL);
    const char *own = run ? name_of(run) : "";
    char *whole = place->one ? realpath(place->path, NULL) : NULL;
    bool given =
        whole && skn_batch_name_parse(name_of(whole), &batch, &generation);
    for (size_t k = 0; k < missing->parts.count; k++) {
        const folder_t *folder = &missing->folder[k];
        if (!given && place->nodes.count == 0 && strcmp(folder->name, own) != 0)
            continue;
        const skn_held_t *best = missing->wanted,
                         *held = given ? held_of(folder, batch, generation)
                                 : folder->count > 0 ? &folder->held[0]
                                                     : NULL;
        if (held && (!best || held->batch > best->batch ||
                     (held->batch == best->batch &&
                      held->generation > best->generation)))
            missing->wanted = held;
    }
    free(run);
    free(whole);
}

static bool
is_anywhere(const missing_t *missing, size_t file)
{
    const skn_held_t *wanted = missing->wanted;
    for (size_t k = 0; k < missing->parts.count; k++) {
        const skn_held_t *held =
            held_of(&missing->folder[k], wanted->batch, wanted->generation);
        if (held && strcmp(held->seal, wanted->seal) == 0 &&
            held->file[file].here)
            return true;
    }
    return false;
}

/* Writes the files that are in no folder; returns their number. */
static size_t
say_files(missing_t *missing)
{
    const skn_held_t *wanted = missing->wanted;
    char name[SKN_BATCH_NAME_BYTES];
    size_t count = 0, named = 0;
    for (size_t k = 0; k < wanted->file_count; k++)
        count += !is_anywhere(missing, k);
    skn_batch_name(wanted->batch, wanted->generation, name);
    say(missing, "%s is incomplete: ", name);
    say_number(missing, "%s of ", count);
    say_number(missing, "its %s files, ", wanted->file_count);
    for (size_t k = 0; k < wanted->file_count && named < NAMED_MAX; k++)
        if (!is_anywhere(missing, k))
            say(missing, named++ > 0 ? ", %s" : "%s", wanted->file[k].name);
    if (count > named)
        say(missing, "%s", ", ...");
    say(missing, "%s", count == 1 ? ", is" : ", are");
    say(missing, "%s", " in no node's folder");
    return count;
}

/* Writes the folders that lack the whole batch. */
static void
say_folders(missing_t *missing)
{
    for (size_t k = 0; k < missing->parts.count; k++) {
        const folder_t *folder = &missing->folder[k];
        char name[SKN_BATCH_NAME_BYTES];
        const skn_held_t *held = held_of(folder, missing->wanted->batch,
                                         missing->wanted->generation);
        if (held)
            continue;
        say(missing, "; %s lacks it", folder->name);
        if (folder->count == 0) {
            say(missing, "%s", " (it has no checkpoint)");
            continue;
        }
        skn_batch_name(folder->held[0].batch, folder->held[0].generation, name);
        say(missing, " (its newest is %s)", name);
    }
}

/* Writes the nodes of the config that have no folder, if folders have the names
 * of nodes. */
static void
say_nodes(missing_t *missing, const skn_model_t *model)
{
    bool found[SKN_CLUSTER_NODES_MAX] = { false }, any = false;
    for (size_t n = 0; n < model->node_count; n++)
        for (size_t k = 0; k < missing->parts.count; k++)
            if (strcmp(model->nodes[n].name, missing->folder[k].name) == 0)
                found[n] = any = true;
    for (size_t n = 0; any && n < model->node_count; n++)
        if (!found[n])
            say(missing, "; %s has no folder there", model->nodes[n].name);
}

static skn_status_t
list(missing_t *missing, const skn_trained_place_t *place, skn_error_t *error)
{
    const char *run = skn_run_folder_path(place->run);
    skn_status_t status =
        place->nodes.count > 0
            ? skn_node_folders_in(place->path, &missing->parts, error)
            : skn_node_folders_beside(run, &missing->parts, error);
    if (status == SKN_OK) {
        missing->folder =
            calloc(missing->parts.count + 1, sizeof(*missing->folder));
        if (!missing->folder)
            status = SKN_NO_MEMORY;
    }
    for (size_t k = 0; status == SKN_OK && k < missing->parts.count; k++) {
        folder_t *folder = &missing->folder[k];
        folder->name = name_of(missing->parts.path[k]);
        status = skn_held_list(missing->parts.path[k], &folder->held,
                               &folder->count, error);
    }
    return status;
}

void
skn_trained_missing(const skn_trained_place_t *place, skn_error_t *error)
{
    missing_t missing = { 0 };
    skn_model_t *model = NULL;
    skn_error_t ignored = { 0 };
    skn_status_t status = list(&missing, place, &ignored);
    if (status == SKN_OK)
        status = skn_trained_model(place->run, &model, &ignored);
    /* The files of a single process are in no other folder. */
    if (status == SKN_OK && (missing.parts.count > 1 || model->node_count > 1))
        choose(&missing, place);
    if (missing.wanted) {
        (void)snprintf(missing.text, sizeof(missing.text),
                       "%.160s: ", place->path);
        if (say_files(&missing) > 0) {
            say_folders(&missing);
            say_nodes(&missing, model);
            (void)skn_fail(error, SKN_NO_INPUT, "%s", missing.text);
            (void)skn_fail_hint(error, SKN_NO_INPUT,
                                "copy the folders of the other nodes beside "
                                "those that are there");
        }
    }
    for (size_t k = 0; missing.folder && k < missing.parts.count; k++)
        skn_held_free(&missing.folder[k].held, missing.folder[k].count);
    free(missing.folder);
    skn_model_destroy(&model);
    skn_node_folders_fini(&missing.parts);
}
