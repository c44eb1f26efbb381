/* test_dataset_check.c - tests the refusal of caches that are damaged or forged
 * (formats/dataset/dataset_check.c). SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/dataset_file.h"

#include <criterion/criterion.h>

#include "tests/support/data_folder.h"

/* The sample's cache in memory of exactly its size, so that the sanitizer
 * sees a read behind it. */
static uint8_t *
sample_cache(size_t *bytes)
{
    folder_t folder;
    folder_make(&folder);
    text_write(folder.file, sample_text);
    (void)open_builds(folder.file, NULL);
    uint8_t *wide = file_read(folder.cache, bytes);
    uint8_t *exact = malloc(*bytes);
    memcpy(exact, wide, *bytes);
    free(wide);
    folder_remove(folder.path);
    return exact;
}

static bool
check(const uint8_t *cache, size_t bytes)
{
    const skn_dataset_head_t *head = (const void *)cache;
    return bytes >= sizeof(*head) && skn_dataset_head_check(head, bytes) &&
           skn_dataset_body_check(cache);
}

Test(dataset_check, damage_is_noticed_at_every_byte_and_every_length)
{
    size_t bytes;
    uint8_t *cache = sample_cache(&bytes);
    cr_assert(check(cache, bytes));
    for (size_t at = 0; at < bytes; at++) {
        cache[at] ^= 0x10;
        cr_expect(!check(cache, bytes), "byte %zu", at);
        cache[at] ^= 0x10;
    }
    for (size_t shorter = 0; shorter < bytes; shorter++)
        cr_expect(!check(cache, shorter), "%zu bytes", shorter);
    cr_expect(check(cache, bytes));
    free(cache);
}

/* Signs a damaged cache again, as somebody who means harm would. */
static void
forge(uint8_t *cache, size_t bytes)
{
    skn_dataset_head_t *head = (void *)cache;
    head->payload_hash =
        XXH3_64bits(cache + sizeof(*head), bytes - sizeof(*head));
    head->head_hash = skn_dataset_head_hash(head);
}

/* Whether every point of an accepted cache lies within it, with indices below
 * the sizes. */
static bool
in_bounds(const uint8_t *cache)
{
    const skn_dataset_head_t *head = (const void *)cache;
    skn_dataset_layout_t layout = skn_dataset_layout(head);
    const uint64_t *offset = (const void *)(cache + layout.offset_at);
    const uint32_t *row = (const void *)(cache + layout.row_at);
    for (uint64_t k = 0; k < head->point_count; k++) {
        uint64_t end =
            offset[k] + 2 + row[offset[k]] + 2 * (uint64_t)row[offset[k] + 1];
        const uint32_t *at = row + offset[k];
        if (end > head->row_words)
            return false;
        for (uint32_t l = 0; l < at[0]; l++)
            if (at[2 + l] >= head->label_count)
                return false;
        for (uint32_t f = 0; f < at[1]; f++)
            if (at[2 + at[0] + f] >= head->feature_count)
                return false;
    }
    return true;
}

Test(dataset_check, a_forged_cache_is_refused_or_in_bounds)
{
    static const uint8_t values[] = { 0, 1, 2, 3, 4, 7, 0x7f, 0x80, 0xff };
    size_t bytes, accepted = 0;
    uint8_t *cache = sample_cache(&bytes);
    uint8_t *copy = malloc(bytes);
    for (size_t at = 0; at < bytes; at++)
        for (size_t k = 0; k < sizeof(values); k++) {
            memcpy(copy, cache, bytes);
            copy[at] = values[k];
            forge(copy, bytes);
            bool good = check(copy, bytes);
            cr_expect(!good || in_bounds(copy), "byte %zu is %u", at,
                      values[k]);
            accepted += good;
        }
    cr_expect_gt(accepted, 0u);
    free(copy);
    free(cache);
}

Test(dataset_check, forged_sizes_cannot_overflow)
{
    static const uint64_t values[] = { UINT64_MAX, UINT64_MAX / 4, 1ull << 62,
                                       1ull << 61, 1ull << 32,     UINT32_MAX };
    size_t bytes;
    uint8_t *cache = sample_cache(&bytes);
    uint8_t *copy = malloc(bytes);
    for (size_t at = 0; at + 8 <= sizeof(skn_dataset_head_t); at += 4)
        for (size_t k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
            memcpy(copy, cache, bytes);
            memcpy(copy + at, values + k, 8);
            forge(copy, bytes);
            cr_expect(!check(copy, bytes) || in_bounds(copy));
        }
    free(copy);
    free(cache);
}
