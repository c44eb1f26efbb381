/* data.c - opens and hashes the data files of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/data.h"

#include <stdio.h>
#include <string.h>

#include "formats/source/files.h"

skn_data_t
skn_data_of(const skn_actor_t *actor)
{
    return (skn_data_t){
        .train = skn_actor_option_text(actor, "train"),
        .test = "",
        .preprocessing = skn_actor_option_text(actor, "preprocessing"),
        .bad_rows = skn_actor_option_real(actor, "bad_rows"),
        .held_back = skn_actor_option_real(actor, "held_back"),
        .normalize = skn_actor_option_text(actor, "normalize"),
        .cache = skn_actor_option_text(actor, "cache"),
    };
}

bool
skn_data_has_test(const skn_data_t *data)
{
    return data->test[0] || data->held_back > 0;
}

/* Not symmetric: training and test file must not be swapped. */
uint64_t
skn_data_hash(uint64_t before, const skn_dataset_t *dataset)
{
    return before * UINT64_C(0x9e3779b97f4a7c15) +
           skn_dataset_info(dataset)->content_hash;
}

/* Several actors read the data, each from its beginning: with a source that can
 * be read only once, such as a pipe, the second one would wait for ever. */
static skn_status_t
look_again(const char *path, skn_dataset_t **dataset, skn_error_t *error)
{
    skn_files_t files;
    skn_status_t status = skn_files_init(&files, path, error);
    if (status == SKN_OK)
        status = skn_files_check_regular(&files, path, error);
    skn_files_fini(&files);
    if (status != SKN_OK)
        skn_dataset_close(dataset);
    return status;
}

/* Opens `path`, the "train" or "test" file. */
static skn_status_t
open_file(const skn_data_t *data, const char *path, const char *which,
          skn_dataset_options_t *options, skn_dataset_t **dataset,
          skn_error_t *error)
{
    char copy[SKN_TEXT_MAX];
    options->preprocessing = data->preprocessing;
    options->held_back = data->held_back;
    if (!data->preprocessing || !data->preprocessing[0])
        options->bad_rows = data->bad_rows;
    options->normalize = strcmp(data->normalize, "none") == 0
                             ? SKN_NORMALIZE_NONE
                             : SKN_NORMALIZE_L2;
    options->memory_bytes = data->memory_bytes;
    options->threads = data->threads;
    options->feature_count = data->features;
    options->label_count = data->labels;
    options->expected_by = "the model";
    if (strcmp(data->cache, "none") == 0) {
        options->cache = SKN_CACHE_ANONYMOUS;
    } else if (strcmp(data->cache, "auto") != 0) {
        (void)snprintf(copy, sizeof(copy), "%s-%s.skc", data->cache, which);
        options->cache = SKN_CACHE_PATH;
        options->cache_path = copy;
    }
    skn_status_t status = skn_dataset_open(path, options, dataset, error);
    return status == SKN_OK ? look_again(path, dataset, error) : status;
}

skn_status_t
skn_data_open_train(const skn_data_t *data, skn_dataset_t **dataset,
                    skn_error_t *error)
{
    skn_dataset_options_t options = {
        .part = data->held_back > 0 ? SKN_DATASET_KEPT : SKN_DATASET_ALL,
    };
    return open_file(data, data->train, "train", &options, dataset, error);
}

skn_status_t
skn_data_open_test(const skn_data_t *data, const skn_dataset_t *train,
                   skn_dataset_t **dataset, skn_error_t *error)
{
    bool is_share = data->held_back > 0 && !data->questions;
    skn_vocabulary_t *learned = NULL;
    skn_vocabulary_form_t form;
    skn_dataset_options_t options = {
        .part = is_share ? SKN_DATASET_HELD_BACK : SKN_DATASET_ALL,
        .unknown_ignored = true,
        .questions = data->questions,
    };
    if (!data->vocabulary && train && skn_dataset_vocabulary(train, &form)) {
        learned = skn_vocabulary_read(data->train, &form, error);
        if (!learned)
            return error->status;
    }
    options.vocabulary = data->vocabulary ? data->vocabulary : learned;
    skn_status_t status = open_file(data, is_share ? data->train : data->test,
                                    "test", &options, dataset, error);
    skn_vocabulary_destroy(&learned);
    return status;
}
