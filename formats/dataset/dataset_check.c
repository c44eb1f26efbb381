/* dataset_check.c - checks that a cache file is sound before it is used.
 *
 * This file owns: nothing. A cache is input like any other: the size of every
 * part, every offset and every index is compared with its bound before the
 * first point is returned. One sequential pass, the checksum with it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/dataset_file.h"

#include <string.h>

#include <xxhash.h>

/* Bytes that are hashed while they are in the CPU's cache after the check. */
#define CHECK_STEP_BYTES (1u << 18)

typedef struct check_walk {
    const skn_dataset_head_t *head;
    const uint32_t *row;    /* [row_words] */
    const uint64_t *offset; /* [point_count + 1] */
    uint64_t at;            /* in words */
    skn_dataset_head_t sum; /* the totals of the rows so far */
} check_walk_t;

static uint64_t
part_align(uint64_t bytes)
{
    return (bytes + 63) & ~(uint64_t)63;
}

skn_dataset_layout_t
skn_dataset_layout(const skn_dataset_head_t *head)
{
    skn_dataset_layout_t layout;
    layout.row_at = sizeof(*head);
    layout.offset_at =
        part_align(layout.row_at + head->row_words * sizeof(uint32_t));
    layout.frequency_at = part_align(
        layout.offset_at + (head->point_count + 1) * sizeof(uint64_t));
    layout.features_at =
        layout.frequency_at + (uint64_t)head->label_seen * sizeof(uint32_t);
    layout.names_at = layout.features_at + head->features_bytes;
    layout.file_bytes = layout.names_at + head->names_bytes;
    return layout;
}

uint64_t
skn_dataset_head_hash(const skn_dataset_head_t *head)
{
    return XXH3_64bits(head, offsetof(skn_dataset_head_t, head_hash));
}

bool
skn_dataset_head_check(const skn_dataset_head_t *head, uint64_t file_bytes)
{
    if (memcmp(head->magic, SKN_DATASET_MAGIC, sizeof(head->magic)) != 0 ||
        head->version != SKN_DATASET_VERSION ||
        head->byte_order != SKN_DATASET_BYTE_ORDER ||
        head->head_hash != skn_dataset_head_hash(head))
        return false;
    if (head->point_count > SKN_POINTS_MAX ||
        head->row_words > file_bytes / sizeof(uint32_t) ||
        head->features_bytes > file_bytes || head->names_bytes > file_bytes ||
        head->feature_count > SKN_UNIT_MAX ||
        head->label_count > SKN_UNIT_MAX ||
        head->feature_seen > head->feature_count ||
        head->label_seen > head->label_count ||
        head->bad_why[sizeof(head->bad_why) - 1] != '\0')
        return false;
    skn_dataset_layout_t layout = skn_dataset_layout(head);
    return layout.file_bytes == file_bytes && head->file_bytes == file_bytes;
}

uint64_t
skn_dataset_preprocessing_hash(const skn_dataset_options_t *options)
{
    const char *preprocessing =
        options->preprocessing ? options->preprocessing : "";
    double share = options->part == SKN_DATASET_ALL ? 0 : options->held_back;
    uint64_t hash =
        XXH3_64bits_withSeed(&share, sizeof(share), (uint64_t)options->part);
    if (!preprocessing[0] && options->part == SKN_DATASET_ALL)
        return 0;
    return XXH3_64bits_withSeed(preprocessing, strlen(preprocessing), hash);
}

void
skn_dataset_row_account(skn_dataset_head_t *head, uint32_t label_count,
                        uint32_t feature_count)
{
    head->point_count++;
    head->row_words +=
        SKN_DATASET_ROW_WORDS + label_count + 2 * (uint64_t)feature_count;
    head->label_total += label_count;
    head->feature_total += feature_count;
    head->unlabelled_count += label_count == 0;
    head->featureless_count += feature_count == 0;
    if (label_count > head->point_labels_max)
        head->point_labels_max = label_count;
    if (feature_count > head->point_features_max)
        head->point_features_max = feature_count;
}

/* Whether index[count] is ascending and ends below `limit`. */
static bool
rises_below(const uint32_t *index, uint32_t count, uint32_t limit)
{
    uint32_t wrong = 0;
    for (uint32_t k = 1; k < count; k++)
        wrong |= index[k] <= index[k - 1];
    return count == 0 || (!wrong && index[count - 1] < limit);
}

/* Whether no value is infinite or not a number: exponent bits not all set. */
static bool
all_finite(const uint32_t *value_bits, uint32_t count)
{
    uint32_t wrong = 0;
    for (uint32_t k = 0; k < count; k++)
        wrong |= (value_bits[k] & 0x7f800000u) == 0x7f800000u;
    return !wrong;
}

/* Checks the row at walk->at and steps over it. */
static bool
row_check(check_walk_t *walk)
{
    const skn_dataset_head_t *head = walk->head;
    uint64_t left = head->row_words - walk->at;
    if (walk->offset[walk->sum.point_count] != walk->at ||
        left < SKN_DATASET_ROW_WORDS)
        return false;
    const uint32_t *row = walk->row + walk->at;
    uint32_t label_count = row[0], feature_count = row[1];
    if (label_count > SKN_LINE_ITEMS_MAX || feature_count > SKN_LINE_ITEMS_MAX)
        return false;
    uint32_t words = SKN_DATASET_ROW_WORDS + label_count + 2 * feature_count;
    if (words > left)
        return false;
    const uint32_t *label = row + SKN_DATASET_ROW_WORDS;
    const uint32_t *feature = label + label_count;
    if (!rises_below(label, label_count, head->label_seen) ||
        !rises_below(feature, feature_count, head->feature_seen) ||
        !all_finite(feature + feature_count, feature_count))
        return false;
    walk->at += words;
    skn_dataset_row_account(&walk->sum, label_count, feature_count);
    return true;
}

static bool
totals_agree(const skn_dataset_head_t *a, const skn_dataset_head_t *b)
{
    return a->point_count == b->point_count && a->row_words == b->row_words &&
           a->label_total == b->label_total &&
           a->feature_total == b->feature_total &&
           a->unlabelled_count == b->unlabelled_count &&
           a->featureless_count == b->featureless_count &&
           a->point_labels_max == b->point_labels_max &&
           a->point_features_max == b->point_features_max;
}

/* Whether the frequencies add up to the labels of all points. */
static bool
frequencies_agree(const skn_dataset_head_t *head, const uint32_t *frequency)
{
    uint64_t total = 0;
    uint32_t occurring = 0;
    for (uint32_t label = 0; label < head->label_seen; label++) {
        total += frequency[label];
        occurring += frequency[label] > 0;
    }
    return total == head->label_total && occurring == head->labels_occurring;
}

bool
skn_dataset_body_check(const void *file)
{
    const uint8_t *byte = file;
    const skn_dataset_head_t *head = file;
    skn_dataset_layout_t layout = skn_dataset_layout(head);
    check_walk_t walk = { .head = head,
                          .row = (const void *)(byte + layout.row_at),
                          .offset = (const void *)(byte + layout.offset_at) };
    XXH3_state_t *hash = XXH3_createState();
    if (!hash || XXH3_64bits_reset(hash) != XXH_OK) {
        (void)XXH3_freeState(hash);
        return false;
    }
    uint64_t hashed = layout.row_at;
    bool good = true;
    while (good && walk.sum.point_count < head->point_count) {
        good = row_check(&walk);
        uint64_t checked = layout.row_at + walk.at * sizeof(uint32_t);
        if (checked - hashed < CHECK_STEP_BYTES)
            continue;
        (void)XXH3_64bits_update(hash, byte + hashed, checked - hashed);
        hashed = checked;
    }
    (void)XXH3_64bits_update(hash, byte + hashed, layout.file_bytes - hashed);
    good =
        good && walk.offset[head->point_count] == head->row_words &&
        totals_agree(&walk.sum, head) &&
        frequencies_agree(head, (const void *)(byte + layout.frequency_at)) &&
        XXH3_64bits_digest(hash) == head->payload_hash;
    (void)XXH3_freeState(hash);
    return good;
}
