/* fuzz_dataset.c - feeds any bytes to the reader of a data file's cache.
 *
 * The checksums are corrected first, as an attacker would do: data that the
 * check then accepts must be within the file, with every index below the sizes
 * in the header.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/dataset/dataset_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void
require(bool promise)
{
    if (!promise)
        __builtin_trap();
}

/* Reads every point as skn_dataset_point does; the sanitizer watches. */
static void
points_require(const uint8_t *file)
{
    const skn_dataset_head_t *head = (const void *)file;
    skn_dataset_layout_t layout = skn_dataset_layout(head);
    const uint64_t *offset = (const void *)(file + layout.offset_at);
    const uint32_t *words = (const void *)(file + layout.row_at);
    for (uint64_t k = 0; k < head->point_count; k++) {
        const uint32_t *row = words + offset[k];
        const uint32_t *label = row + SKN_DATASET_ROW_WORDS;
        const uint32_t *feature = label + row[0];
        for (uint32_t l = 0; l < row[0]; l++)
            require(label[l] < head->label_count);
        for (uint32_t f = 0; f < row[1]; f++) {
            float value;
            memcpy(&value, feature + row[1] + f, sizeof(value));
            require(feature[f] < head->feature_count && isfinite(value));
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    if (count < sizeof(skn_dataset_head_t))
        return 0;
    /* A copy of exactly this size: a read behind it is seen. */
    uint8_t *file = malloc(count);
    if (!file)
        return 0;
    memcpy(file, bytes, count);
    skn_dataset_head_t *head = (void *)file;
    memcpy(head->magic, SKN_DATASET_MAGIC, sizeof(head->magic));
    head->version = SKN_DATASET_VERSION;
    head->byte_order = SKN_DATASET_BYTE_ORDER;
    head->file_bytes = count;
    head->payload_hash =
        XXH3_64bits(file + sizeof(*head), count - sizeof(*head));
    head->head_hash = skn_dataset_head_hash(head);
    if (skn_dataset_head_check(head, count) && skn_dataset_body_check(file))
        points_require(file);
    free(file);
    return 0;
}
