/* run_config.c - reads the config of a run folder, and stores an ensemble's.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/run/run_config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/folder/folder.h"
#include "topology/model/model_text.h"
#include "topology/run/trained.h"

/* Options that were removed (decisions 0029 and 0030): every run.json of before
 * has them. */
static const char *const gone[] = {
    "train.late",
    "train.staleness_max",
    "model.layers.sampler.lists",
    "model.layers.sampler.list_rows",
};

bool
skn_run_config_is_whole(const char *folder)
{
    char path[SKN_TEXT_MAX + 32];
    (void)snprintf(path, sizeof(path), "%s/" SKN_RUN_CONFIG_ENSEMBLE, folder);
    return access(path, F_OK) == 0;
}

bool
skn_run_config_is_folder(const char *path)
{
    struct stat facts;
    char config[SKN_TEXT_MAX + 32];
    skn_trained_place_t place = { 0 };
    if (stat(path, &facts) != 0 || !S_ISDIR(facts.st_mode))
        return false;
    (void)snprintf(config, sizeof(config), "%s/run.json", path);
    bool is_run = skn_run_config_is_whole(path) || access(config, F_OK) == 0 ||
                  skn_trained_find(path, &place, NULL) == SKN_OK;
    skn_trained_place_fini(&place);
    return is_run || !skn_model_is_data(path);
}

/* The text of the config in `folder`; the caller frees it. */
static char *
config_of(const char *folder, skn_error_t *error)
{
    char *text = NULL;
    size_t bytes = 0;
    int descriptor = -1;
    if (skn_run_config_is_whole(folder)) {
        if (skn_folder_open(folder, &descriptor, error) == SKN_OK)
            (void)skn_folder_read_file(
                descriptor, folder, SKN_RUN_CONFIG_ENSEMBLE,
                SKN_CONFIG_BYTES_MAX, &text, &bytes, error);
        if (descriptor >= 0)
            (void)close(descriptor);
        return text;
    }
    skn_trained_place_t place = { 0 };
    if (skn_trained_find(folder, &place, error) == SKN_OK && place.one)
        (void)skn_fail(error, SKN_USAGE,
                       "%.200s is a checkpoint: give the run folder that "
                       "contains it",
                       folder);
    else if (place.run && !(text = strdup(skn_run_folder_config(place.run))))
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for the config");
    skn_trained_place_fini(&place);
    return text;
}

skn_document_t *
skn_run_config_parse(const char *config, skn_problems_t *problems)
{
    /* A name without a folder: its paths are resolved already. */
    skn_document_t *document =
        skn_document_parse(config, strlen(config), "run.json", problems);
    for (size_t k = 0; document && k < sizeof(gone) / sizeof(gone[0]); k++)
        skn_document_drop(document, gone[k]);
    return document;
}

skn_status_t
skn_run_config_read(const char *folder, const char *const *overrides,
                    size_t override_count, skn_model_t **model,
                    struct skn_problems *problems, skn_error_t *error)
{
    char *config = config_of(folder, error);
    if (!config)
        return error->status;
    char *path = skn_override_of("checkpoint.path", folder, error);
    skn_document_t *document = skn_run_config_parse(config, problems);
    skn_status_t status = path ? SKN_OK : SKN_NO_MEMORY;
    if (document && path)
        (void)skn_document_set(document, path, problems);
    for (size_t k = 0; document && k < override_count; k++)
        (void)skn_document_set(document, overrides[k], problems);
    if (document && path)
        status = skn_model_check(document, model, problems, error);
    if (skn_problems_count(problems) > 0)
        status = skn_problems_error(problems, error);
    skn_document_destroy(&document);
    free(path);
    free(config);
    return status;
}

skn_status_t
skn_run_config_keep(const char *folder, const skn_model_t *model,
                    bool is_resume, skn_error_t *error)
{
    char *text = NULL;
    size_t bytes = 0;
    int descriptor = -1;
    if (is_resume && skn_run_config_is_whole(folder))
        return SKN_OK;
    FILE *file = open_memstream(&text, &bytes);
    skn_status_t status =
        file ? skn_model_write(model, file, error)
             : skn_fail(error, SKN_NO_MEMORY, "no memory for the config");
    if (file && fclose(file) != 0 && status == SKN_OK)
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for the config");
    if (status == SKN_OK)
        status = skn_folder_create(folder, &descriptor, error);
    if (status == SKN_OK)
        status = skn_folder_remove(descriptor, folder, SKN_RUN_CONFIG_ENSEMBLE,
                                   error);
    if (status == SKN_OK)
        status = skn_folder_write_file(
            descriptor, folder, SKN_RUN_CONFIG_ENSEMBLE, text, bytes, error);
    if (descriptor >= 0)
        (void)close(descriptor);
    free(text);
    return status;
}
