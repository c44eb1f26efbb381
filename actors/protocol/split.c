/* split.c - splits a training file into training and validation points.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/split.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/draws.h"

skn_status_t
skn_split_init(skn_split_t *split, const skn_dataset_t *dataset,
               double validate, uint64_t seed, skn_error_t *error)
{
    uint64_t count = skn_dataset_info(dataset)->point_count;
    uint64_t key = skn_draw_key(seed, SKN_DRAW_SPLIT, 0);
    memset(split, 0, sizeof(*split));
    if (count > UINT32_MAX)
        return skn_fail(error, SKN_BAD_DATA,
                        "%llu training points, at most %u allowed",
                        (unsigned long long)count, UINT32_MAX);
    split->train = malloc((count + 1) * sizeof(uint32_t));
    split->validate = malloc((count + 1) * sizeof(uint32_t));
    if (!split->train || !split->validate) {
        skn_split_fini(split);
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %llu points",
                        (unsigned long long)count);
    }
    for (uint32_t k = 0; k < count; k++) {
        if (skn_dataset_point(dataset, k).label_count == 0)
            continue;
        skn_philox_t random = skn_philox_at(key, k, 0);
        if ((double)skn_philox_unit(random.word[0]) < validate)
            split->validate[split->validate_count++] = k;
        else
            split->train[split->train_count++] = k;
    }
    uint32_t held = split->validate_count;
    if (split->train_count > 0)
        return SKN_OK;
    skn_split_fini(split);
    if (held == 0)
        return skn_fail(error, SKN_BAD_DATA,
                        "the training file has no point with a label");
    (void)skn_fail(error, SKN_BAD_DATA,
                   "train.validate %g would hold back all %u training points "
                   "with labels",
                   validate, held);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "lower it, or give another train.seed");
}

void
skn_split_fini(skn_split_t *split)
{
    free(split->train);
    free(split->validate);
    memset(split, 0, sizeof(*split));
}
