/* data.c - opens and hashes the data files of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/data.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/source/stream.h"

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
    struct stat source;
    if (stat(path, &source) != 0 || S_ISREG(source.st_mode))
        return SKN_OK;
    skn_dataset_close(dataset);
    return skn_fail_hint(
        error,
        skn_fail(error, SKN_NO_INPUT,
                 "%s: is not a regular file, and data is read more than once",
                 skn_stream_name_shown(path)),
        "copy it into a file");
}

skn_status_t
skn_data_open(const skn_data_t *data, const char *path, const char *which,
              skn_dataset_t **dataset, skn_error_t *error)
{
    char copy[SKN_TEXT_MAX];
    skn_dataset_options_t options = {
        .normalize = strcmp(data->normalize, "none") == 0 ? SKN_NORMALIZE_NONE
                                                          : SKN_NORMALIZE_L2,
        .memory_bytes = data->memory_bytes,
        .feature_count = data->features,
        .label_count = data->labels,
        .expected_by = "the model",
        .unknown_ignored = strcmp(which, "test") == 0,
        .questions = data->questions && strcmp(which, "test") == 0,
    };
    if (strcmp(data->cache, "none") == 0) {
        options.cache = SKN_CACHE_ANONYMOUS;
    } else if (strcmp(data->cache, "auto") != 0) {
        (void)snprintf(copy, sizeof(copy), "%s-%s.skc", data->cache, which);
        options.cache = SKN_CACHE_PATH;
        options.cache_path = copy;
    }
    skn_status_t status = skn_dataset_open(path, &options, dataset, error);
    return status == SKN_OK ? look_again(path, dataset, error) : status;
}
