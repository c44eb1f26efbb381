/* networks.c - finds an ensemble's networks and checks their configs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/training/networks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "topology/run/trained.h"

const char *
skn_network_path(const char *whole, uint32_t k,
                 char path[SKN_NETWORK_PATH_BYTES])
{
    size_t bytes = strlen(whole);
    while (bytes > 1 && whole[bytes - 1] == '/')
        bytes--;
    (void)snprintf(path, SKN_NETWORK_PATH_BYTES, "%.*s/network-%u", (int)bytes,
                   whole, k + 1);
    return path;
}

bool
skn_network_begun(const char *whole, uint32_t k)
{
    char path[SKN_NETWORK_PATH_BYTES];
    return skn_run_folder_begun(skn_network_path(whole, k, path));
}

bool
skn_networks_begun(const char *whole, uint32_t first)
{
    while (first < SKN_ENSEMBLE_MAX && !skn_network_begun(whole, first))
        first++;
    return first < SKN_ENSEMBLE_MAX;
}

/* A model as text, with the parts of `as` that do not affect the trained model:
 * paths, and the use of machines. The caller frees it. */
static char *
text_of(const skn_model_t *model, const skn_model_t *as, int64_t seed,
        skn_error_t *error)
{
    skn_model_t text = *as;
    char *bytes = NULL;
    size_t byte_count = 0;
    skn_model_layer_t *layers =
        calloc(model->layer_count, sizeof(*model->layers));
    FILE *file = layers ? open_memstream(&bytes, &byte_count) : NULL;
    text.layers = layers;
    text.layer_count = model->layer_count;
    text.data.normalize = model->data.normalize;
    text.train = model->train;
    text.train.seed = seed;
    text.train.ensemble = 1;
    text.train.ranker_trees = 0;
    text.train.evaluate = as->train.evaluate;
    text.train.optimizer.offload = as->train.optimizer.offload;
    text.train.optimizer.offload_path = as->train.optimizer.offload_path;
    for (size_t k = 0; layers && k < model->layer_count; k++) {
        layers[k] = model->layers[k];
        if (k < as->layer_count)
            layers[k].shards = as->layers[k].shards;
    }
    skn_status_t status =
        file ? skn_model_write(&text, file, error)
             : skn_fail(error, SKN_NO_MEMORY, "no memory for a config");
    if (file && fclose(file) != 0 && status == SKN_OK)
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for a config");
    free(layers);
    if (status == SKN_OK)
        return bytes;
    free(bytes);
    return NULL;
}

/* The length of the line at `text`, after the blanks and the dash of a list,
 * which are skipped. */
static int
line_of(const char **text)
{
    *text += strspn(*text, " -");
    return (int)strcspn(*text, "\n");
}

static skn_status_t
compare(const char *path, const char *old, const char *new, skn_error_t *error)
{
    while (*old && *new) {
        size_t left = strcspn(old, "\n"), right = strcspn(new, "\n");
        if (left != right || strncmp(old, new, left) != 0)
            break;
        old += left + (old[left] != '\0');
        new += right + (new[right] != '\0');
    }
    if (!*old && !*new)
        return SKN_OK;
    int left = line_of(&old), right = line_of(&new);
    (void)skn_fail(
        error, SKN_BAD_CONFIG,
        "%.200s was started with `%.*s`, but the config now has `%.*s`", path,
        left, old, right, new);
    return skn_fail_hint(error, SKN_BAD_CONFIG,
                         "give the value that it was started with, or another "
                         "checkpoint.path");
}

static skn_status_t
fit_one(const skn_model_run_t *run, const char *path, int64_t seed,
        skn_error_t *error)
{
    char *old = NULL, *new = NULL;
    skn_model_t *begun = NULL;
    const skn_resume_t there = { .has_checkpoint = true };
    skn_run_folder_t *folder = skn_run_folder_open_read_only(path, error);
    skn_status_t status =
        folder ? skn_trained_model(folder, &begun, error) : error->status;
    if (status == SKN_OK) {
        old = text_of(begun, run->model, begun->train.seed, error);
        new = old ? text_of(run->model, run->model, seed, error) : NULL;
        status = new ? compare(path, old, new, error) : error->status;
    }
    if (status == SKN_OK)
        status = skn_resume_same_data(&there, path, run->plan.data.train_hash,
                                      error);
    free(old);
    free(new);
    skn_model_destroy(&begun);
    skn_run_folder_close(&folder);
    return status;
}

skn_status_t
skn_networks_fit(const skn_model_run_t *run, const char *whole,
                 skn_error_t *error)
{
    const skn_model_train_t *train = &run->model->train;
    char path[SKN_NETWORK_PATH_BYTES];
    skn_status_t status = SKN_OK;
    if (skn_networks_begun(whole, (uint32_t)train->ensemble)) {
        (void)skn_fail(error, SKN_BAD_CONFIG,
                       "%.200s holds more networks than the %" PRId64
                       " of train.ensemble",
                       whole, train->ensemble);
        return skn_fail_hint(error, SKN_BAD_CONFIG,
                             "give the number that it was started with, or "
                             "another checkpoint.path");
    }
    for (uint32_t k = 0; k < (uint32_t)train->ensemble && status == SKN_OK; k++)
        if (skn_network_begun(whole, k))
            status = fit_one(run, skn_network_path(whole, k, path),
                             train->seed + k, error);
    return status;
}
