/* join_text.c - writes the config and the metadata of a joint network.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/course/progress.h"
#include "topology/predict/join_internal.h"
#include "topology/run/resume.h"
#include "topology/run/run_config.h"

/* --- the config ---------------------------------------------------------- */

static void
set(skn_document_t *document, skn_json_text_t *text, skn_problems_t *problems)
{
    if (text->failed)
        (void)skn_problems_fail(problems, SKN_NO_MEMORY, "no memory for a key");
    else
        (void)skn_document_set(document, text->bytes, problems);
    skn_json_text_fini(text);
}

static void
set_layers(const skn_join_t *join, skn_document_t *document,
           skn_problems_t *problems)
{
    for (size_t at = 0; at < join->layer_count; at++) {
        const skn_join_layer_t *layer = &join->layer[at];
        skn_json_text_t text = { 0 };
        skn_json_text_add(&text, "model.layers.%s.", layer->name);
        if (layer->output)
            skn_json_text_add(&text, "weights=%s",
                              layer->dtype == SKN_DTYPE_F32 ? "f32" : "bf16");
        else
            skn_json_text_add(&text, "units=%" PRIu64, layer->units);
        set(document, &text, problems);
    }
}

const char *
skn_join_vocabulary(const char *config, char line[SKN_JOIN_LINE_BYTES])
{
    const char *at = strstr(config, SKN_RESUME_VOCABULARY);
    line[0] = '\0';
    if (at)
        (void)snprintf(line, SKN_JOIN_LINE_BYTES, "%.*s\n",
                       (int)strcspn(at, "\n"), at);
    return line;
}

char *
skn_join_config(const skn_join_t *join, skn_error_t *error)
{
    const char *config = skn_run_folder_config(join->part[0].place.run);
    char *bytes = NULL, line[SKN_JOIN_LINE_BYTES];
    size_t byte_count = 0;
    skn_problems_t *problems = skn_problems_new(error);
    skn_json_text_t path = { 0 }, ranker = { 0 };
    if (!problems)
        return NULL;
    skn_document_t *document = skn_run_config_parse(config, problems);
    if (document) {
        set_layers(join, document, problems);
        skn_json_text_add(&path, "checkpoint.path=");
        skn_json_text_add_string(&path, join->into);
        set(document, &path, problems);
        skn_json_text_add(&ranker, "train.ranker_trees=%u",
                          join->extra.ranker ? join->extra.ranker->tree_count
                                             : 0);
        set(document, &ranker, problems);
    }
    skn_status_t status = skn_problems_error(problems, error);
    FILE *file = status == SKN_OK ? open_memstream(&bytes, &byte_count) : NULL;
    if (file) {
        status = skn_document_write(skn_document_root(document), file,
                                    "writing the topology", error);
        (void)fputs(skn_join_vocabulary(config, line), file);
        if (fclose(file) != 0 || status != SKN_OK) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (!bytes && status == SKN_OK)
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for the config");
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
    return bytes;
}

/* --- the metadata -------------------------------------------------------- */

/* Appends the epochs of network `k` to those of the networks before it. */
static skn_status_t
add_history(const skn_join_t *join, size_t k, json_t *history,
            skn_error_t *error)
{
    const char *own = skn_checkpoint_metadata(join->part[k].checkpoint);
    json_t *metadata =
        skn_json_object_parse("metadata", own, strlen(own), error);
    if (!metadata)
        return error->status;
    json_t *epochs = json_object_get(metadata, "history");
    for (size_t at = 0; at < json_array_size(epochs); at++) {
        json_t *epoch = json_array_get(epochs, at);
        if (join->count > 1)
            (void)json_object_set_new(epoch, "network",
                                      json_integer((json_int_t)k + 1));
        (void)json_array_append(history, epoch);
    }
    json_decref(metadata);
    return SKN_OK;
}

/* Sums and means of the networks' progress. */
static skn_status_t
add_progress(const skn_join_t *join, skn_json_text_t *text, skn_error_t *error)
{
    skn_progress_t all;
    skn_progress_init(&all);
    for (size_t k = 0; k < join->count; k++) {
        skn_progress_t one;
        skn_status_t status =
            skn_progress_read(skn_checkpoint_metadata(join->part[k].checkpoint),
                              &one, NULL, error);
        if (status != SKN_OK)
            return status;
        all.seconds += one.seconds;
        all.cpu_seconds += one.cpu_seconds;
        all.loss += one.loss / (double)join->count;
        if (one.epoch > all.epoch)
            all.epoch = one.epoch;
    }
    all.seconds += join->extra.seconds;
    all.cpu_seconds += join->extra.cpu_seconds;
    all.batch = join->joined->batch;
    all.finished = true;
    skn_progress_write(&all, text);
    return SKN_OK;
}

skn_status_t
skn_join_metadata(const skn_join_t *join, skn_json_text_t *text,
                  skn_error_t *error)
{
    json_t *history = json_array();
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < join->count && status == SKN_OK; k++)
        status = add_history(join, k, history, error);
    skn_json_text_add(text, "{");
    if (status == SKN_OK)
        status = add_progress(join, text, error);
    for (size_t k = 0; k < join->count; k++) {
        const skn_checkpoint_t *checkpoint = join->part[k].checkpoint;
        skn_json_text_add(text, k ? "," : ",\"joined\":[");
        skn_json_text_add(text,
                          "{\"run\":\"%s\",\"batch\":%" PRIu64 ",\"path\":",
                          skn_checkpoint_run_id(checkpoint),
                          skn_checkpoint_batch(checkpoint));
        skn_json_text_add_string(text, skn_checkpoint_path(checkpoint));
        skn_json_text_add(text, "}");
    }
    char *epochs =
        skn_json_write(history, JSON_COMPACT | JSON_REAL_PRECISION(10));
    skn_json_text_add(text, "],\"history\":%s}", epochs ? epochs : "");
    if (status == SKN_OK && (text->failed || !epochs))
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for metadata");
    free(epochs);
    json_decref(history);
    return status;
}
