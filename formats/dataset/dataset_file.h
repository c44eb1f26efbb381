/* dataset_file.h - a dataset's cache file: layout and checks.
 *
 * For dataset*.c only.
 *
 *     head        576 bytes, below
 *     rows        u32 words, one row a point, in the order of the source:
 *                 label_count feature_count label.. feature.. value..
 *     offsets     u64 [point_count + 1], the row's first word; at a multiple
 *                 of 64 bytes, like the next
 *     frequency   u32 [label_seen], points that have the label; a source's
 *                 header with more labels does not make the file larger
 *     features    the vocabulary that was learned from rows of texts
 *     names       (vocabulary.h), in its file forms
 *
 * A point is contiguous: training reads points in random order, and has one
 * cache miss for each, not three. Rows have their own length, so that offsets
 * are computed by walking over them without a second temporary file. Numbers
 * are in the byte order of the machine, which the head names.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_DATASET_DATASET_FILE_H
#define FORMATS_DATASET_DATASET_FILE_H

#include "formats/dataset/dataset.h"

#define SKN_DATASET_MAGIC "SKEIN\0ds" /* with a NUL: not a text file */
#define SKN_DATASET_VERSION 5u
#define SKN_DATASET_BYTE_ORDER 0x01020304u
/* The first two words of a row: its counts. */
#define SKN_DATASET_ROW_WORDS 2u

typedef struct skn_dataset_head {
    char magic[8]; /* SKN_DATASET_MAGIC */
    uint32_t version, byte_order;
    uint64_t file_bytes;
    /* The source of the cache. */
    uint64_t source_bytes, source_fingerprint; /* skn_files_t */
    uint32_t normalize, has_header;
    uint64_t content_hash;
    /* Its contents. */
    uint64_t point_count, row_words, feature_total, label_total;
    uint64_t featureless_count, unlabelled_count;
    uint32_t feature_count, label_count; /* the source's own sizes */
    uint32_t feature_seen, label_seen;   /* greatest index + 1 */
    uint32_t point_features_max, point_labels_max;
    uint32_t labels_occurring, unused;
    uint64_t payload_hash; /* XXH3 of everything after the head */
    /* The indices that were left out, and the sizes that they exceeded; zeros
     * if there were none. Then the likely mistake (skn_xmc_odd_t). Lines are
     * places (skn_files_place). */
    uint64_t unknown_labels, unknown_features, unknown_points, unknown_bare;
    uint64_t unknown_line, unknown_column;
    uint32_t expected_features, expected_labels;
    uint64_t odd_line;
    uint32_t odd_what, odd_greatest, odd_next;
    uint32_t questions; /* options.questions: not a cache for training */
    uint64_t unread_points, unread_line;
    uint64_t bad_rows, bad_line;
    /* Hashes of the options that make points: the preprocessing and the part,
     * and a vocabulary that was given. 0: none. */
    uint64_t preprocessing_hash, vocabulary_hash;
    uint64_t features_bytes, names_bytes; /* of the vocabulary that is kept */
    double bad_share;                     /* options.bad_rows */
    uint8_t padding[312 - 296];
    char bad_why[256];  /* of the first bad row, with its NUL: dataset.h */
    uint64_t head_hash; /* XXH3 of the head before this field */
} skn_dataset_head_t;
_Static_assert(sizeof(skn_dataset_head_t) == 576, "the head of the file");

/* The offsets of the parts in bytes. */
typedef struct skn_dataset_layout {
    uint64_t row_at, offset_at, frequency_at, features_at, names_at, file_bytes;
} skn_dataset_layout_t;

/* Valid for point_count <= SKN_POINTS_MAX and row_words < 2^60. */
skn_dataset_layout_t skn_dataset_layout(const skn_dataset_head_t *head);
uint64_t skn_dataset_head_hash(const skn_dataset_head_t *head);
/* head.preprocessing_hash of these options. */
uint64_t skn_dataset_preprocessing_hash(const skn_dataset_options_t *options);

/* Checks that the head of a file of `file_bytes` bytes is of this version and
 * undamaged, with parts that fill the file exactly. */
bool skn_dataset_head_check(const skn_dataset_head_t *head,
                            uint64_t file_bytes);
/* Checks that everything after a checked head is in bounds, agrees with the
 * head, and has its checksum. `file` is the mapped file. */
bool skn_dataset_body_check(const void *file);

/* Adds the counts of one row to the totals of `head`. */
void skn_dataset_row_account(skn_dataset_head_t *head, uint32_t label_count,
                             uint32_t feature_count);

/* Parses `path` and writes a whole cache to the empty file. Does not sync. */
skn_status_t skn_dataset_build(const char *path,
                               const skn_dataset_options_t *options,
                               skn_cache_temp_t *temp, skn_error_t *error);
#endif
