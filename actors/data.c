/* data.c - data files.  SPDX-License-Identifier: Apache-2.0 */
#include "actors/data.h"

#include <stdio.h>
#include <string.h>

/* Not symmetric: training and test file are no substitute for each other. */
uint64_t
skn_data_hash(uint64_t before, const skn_dataset_t *dataset)
{
    return before * UINT64_C(0x9e3779b97f4a7c15) +
           skn_dataset_info(dataset)->content_hash;
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
    };
    if (strcmp(data->cache, "none") == 0) {
        options.cache = SKN_CACHE_ANONYMOUS;
    } else if (strcmp(data->cache, "auto") != 0) {
        (void)snprintf(copy, sizeof(copy), "%s-%s.skc", data->cache, which);
        options.cache = SKN_CACHE_PATH;
        options.cache_path = copy;
    }
    return skn_dataset_open(path, &options, dataset, error);
}
