/* tuned.c - writes the model file that a tuning results in.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/model/model_text.h"
#include "topology/tuning/tuned.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/folder/folder.h"
#include "formats/text/json_text.h"
#include "topology/config/document.h"

#define NAME "tune.yaml"

static void
compare(const skn_tuned_result_t *verdict, char *text, size_t bytes)
{
    double more = verdict->score - verdict->auto_score;
    if (verdict->best == 0)
        (void)snprintf(text, bytes, "nothing better than auto was found");
    else if (isnan(verdict->auto_score))
        (void)snprintf(text, bytes, "the trial of auto itself failed");
    else if (isnan(verdict->error))
        (void)skn_text_write(text, bytes, "%.4f more than auto", more);
    else if (more <= verdict->error)
        (void)skn_text_write(
            text, bytes,
            "%.4f more than auto, within the standard error of "
            "%.4f: it may be no better",
            more, verdict->error);
    else
        (void)skn_text_write(
            text, bytes, "%.4f more than auto, with a standard error of %.4f%s",
            more, verdict->error,
            more < 2 * verdict->error ? ": likely better" : "");
}

const char *
skn_tuned_describe(const skn_tuned_result_t *verdict, char *text, size_t bytes)
{
    compare(verdict, text, bytes);
    size_t used = strlen(text);
    if (verdict->share < 1)
        (void)skn_text_write(
            text + used, bytes - used,
            "; trials had %.2g of the full length, and whole runs may differ",
            verdict->share);
    return text;
}

/* --- keys ----------------------------------------------------------------- */

/* Makes `path` absolute, to be freed by the caller. NULL if memory is short. */
static char *
whole_of(const char *path)
{
    bool word = strcmp(path, "auto") == 0 || strcmp(path, "none") == 0;
    char *here = path[0] == '/' || word ? NULL : getcwd(NULL, 0), *whole = NULL;
    if (asprintf(&whole, "%s%s%s", here ? here : "", here ? "/" : "", path) < 0)
        whole = NULL;
    free(here);
    return whole;
}

static void
no_room(skn_problems_t *problems)
{
    (void)skn_problems_add(problems, (skn_mark_t){ .origin = NAME },
                           "no memory for a key");
}

static void
set(skn_document_t *document, skn_json_text_t *text, skn_problems_t *problems)
{
    if (text->failed)
        no_room(problems);
    else
        (void)skn_document_set(document, text->bytes, problems);
    skn_json_text_fini(text);
}

static void
set_text(skn_document_t *document, const char *key, const char *text,
         skn_problems_t *problems)
{
    char *override = skn_override_of(key, text, NULL);
    if (override)
        (void)skn_document_set(document, override, problems);
    else
        no_room(problems);
    free(override);
}

static void
set_path(skn_document_t *document, const char *key, const char *path,
         skn_problems_t *problems)
{
    char *whole = path[0] ? whole_of(path) : NULL;
    if (whole)
        set_text(document, key, whole, problems);
    else if (path[0])
        no_room(problems);
    free(whole);
}

static void
set_paths(skn_document_t *document, const skn_model_t *model,
          skn_problems_t *problems)
{
    skn_json_text_t text = { 0 };
    set_path(document, "data.train", model->data.train, problems);
    set_path(document, "data.test", model->data.test, problems);
    if (strcmp(model->data.cache, "auto") != 0)
        set_path(document, "data.cache", model->data.cache, problems);
    set_path(document, "checkpoint.path", model->checkpoint.path, problems);
    set_path(document, "idle.notice.file", model->idle.notice.file, problems);
    /* "[ -f x ]" would be a list in YAML, but is a shell command here. */
    if (model->idle.notice.command[0])
        set_text(document, "idle.notice.command", model->idle.notice.command,
                 problems);
    for (size_t k = 0; k < model->plugin_count; k++) {
        char *whole = whole_of(model->plugins[k]);
        skn_json_text_add(&text, k ? ", " : "plugins=[");
        if (whole)
            skn_json_text_add_string(&text, whole);
        text.failed = text.failed || !whole;
        free(whole);
    }
    if (model->plugin_count > 0) {
        skn_json_text_add(&text, "]");
        set(document, &text, problems);
    }
    for (size_t k = 0; k < model->node_count; k++) {
        char key[SKN_NAME_MAX + 16];
        (void)snprintf(key, sizeof(key), "nodes.%s.key", model->nodes[k].name);
        set_path(document, key, model->nodes[k].key, problems);
    }
}

/* Sets the keys that were found: all of them if any differs, because a key that
 * is `auto` may depend on another one and would change with it. */
static void
set_found(skn_document_t *document, const skn_tuned_file_t *tuned,
          skn_problems_t *problems)
{
    const skn_space_t *space = tuned->space;
    if (memcmp(tuned->best, &space->base, sizeof(space->base)) == 0)
        return;
    for (int k = 0; k < SKN_TUNED_COUNT; k++) {
        char key[SKN_NAME_MAX + 64], value[32];
        skn_json_text_t text = { 0 };
        if (!space->free[k])
            continue;
        skn_json_text_add(
            &text, "%s=%s",
            skn_space_key(space, (skn_tuned_t)k, key, sizeof(key)),
            skn_candidate_value(tuned->best, (skn_tuned_t)k, value,
                                sizeof(value)));
        set(document, &text, problems);
    }
}

/* --- the file ------------------------------------------------------------- */

static skn_status_t
write_whole(const char *folder, const char *bytes, size_t byte_count,
            skn_error_t *error)
{
    int descriptor = -1;
    skn_status_t status = skn_folder_open(folder, &descriptor, error);
    if (status != SKN_OK)
        return status;
    status = skn_folder_replace_file(descriptor, folder, NAME, bytes,
                                     byte_count, error);
    (void)close(descriptor);
    return status;
}

static skn_status_t
print(const skn_tuned_file_t *tuned, const skn_document_t *document,
      skn_error_t *error)
{
    char *bytes = NULL;
    size_t byte_count = 0;
    FILE *file = open_memstream(&bytes, &byte_count);
    if (!file)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %s", NAME);
    (void)fputs(tuned->comment, file);
    skn_status_t status = skn_document_write(skn_document_root(document), file,
                                             "writing the model", error);
    if (fclose(file) != 0 && status == SKN_OK)
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for %s", NAME);
    if (status == SKN_OK)
        status = write_whole(tuned->folder, bytes, byte_count, error);
    free(bytes);
    return status;
}

skn_status_t
skn_tuned_write(const skn_tuned_file_t *tuned, skn_problems_t *problems,
                skn_error_t *error)
{
    skn_model_t *model = NULL;
    skn_document_t *document = NULL;
    skn_status_t status =
        skn_model_read(tuned->file, tuned->overrides, tuned->override_count,
                       &model, problems, error);
    if (status == SKN_OK)
        document = skn_model_document_load(tuned->file, problems);
    if (document) {
        for (size_t k = 0; k < tuned->override_count; k++)
            (void)skn_document_set(document, tuned->overrides[k], problems);
        set_paths(document, model, problems);
        set_found(document, tuned, problems);
    }
    if (status == SKN_OK)
        status = skn_problems_error(problems, error);
    if (status == SKN_OK)
        status = print(tuned, document, error);
    skn_document_destroy(&document);
    skn_model_destroy(&model);
    return status;
}
