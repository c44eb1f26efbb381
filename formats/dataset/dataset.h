/* dataset.h - opens a data file as an array of points, mapped into memory.
 *
 * The first open of a text file parses it and writes a binary cache; every
 * later one maps the cache. A cache is used only if it is whole (a checksum
 * over all of it), in bounds (every offset and index is checked) and made of
 * this source (sizes, times of change) with these options; else it is silently
 * rebuilt. The check reads the cache once, at memory speed: other programs may
 * have written the file, and no hash in it proves its own origin. A cache is
 * never changed in place, only replaced by rename, so a map stays as it was
 * checked; a program that may write to the file can still truncate it under a
 * running process, as with any mapped file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_DATASET_DATASET_H
#define FORMATS_DATASET_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/dataset/xmc.h"
#include "formats/source/cache.h"
#include "skein/error.h"
#include "skein/limits.h"

typedef struct skn_dataset skn_dataset_t;
struct skn_vocabulary;
struct skn_vocabulary_form;

typedef enum skn_normalize {
    SKN_NORMALIZE_L2,  /* each point's values to length 1; zeros stay zeros */
    SKN_NORMALIZE_NONE /* values as in the file */
} skn_normalize_t;

/* A file may be divided in two, by hashes of its rows: equal rows are in the
 * same part. */
typedef enum skn_dataset_part {
    SKN_DATASET_ALL,
    SKN_DATASET_KEPT,     /* for training */
    SKN_DATASET_HELD_BACK /* for a test */
} skn_dataset_part_t;

/* { 0 } has the defaults. */
typedef struct skn_dataset_options {
    /* How rows of texts become points (preprocessing.h); NULL or "": the file
     * has numbered features. */
    const char *preprocessing;
    /* For rows of texts: that of the model, which outlives the opening. NULL:
     * it is learned from the rows of the part, and kept in the cache. */
    const struct skn_vocabulary *vocabulary;
    skn_dataset_part_t part;
    double held_back; /* share of the rows that are held back */
    skn_normalize_t normalize;
    skn_cache_place_t cache; /* <file>.skc, beside the file if it may */
    const char *cache_path;
    /* For the buffers while a cache is built; 0: 64 MiB; at least 1 MiB. The
     * longest line is in addition. */
    uint64_t memory_bytes;
    /* Rows of texts are made points of by so many threads, of which nothing but
     * time depends; 0: 1. */
    uint32_t threads;
    /* Sizes that another file or a model sets; 0: this file's own. An index
     * beyond them is refused, or left out and counted (unknown_ignored); a
     * header with other sizes is accepted. */
    uint32_t feature_count, label_count;
    bool unknown_ignored;
    /* Numbered features: greatest share of lines that cannot be read and are
     * left out. Texts have it in their preprocessing. */
    double bad_rows;
    bool questions; /* a file of points to predict: see skn_xmc_bounds_t */
    const char *expected_by; /* names the origin of these sizes in sentences */
    /* Called about once a megabyte of the source while a cache is built;
     * false: stop, with SKN_BUSY. total_bytes is 0 for a pipe. */
    bool (*progress)(void *listener, uint64_t done_bytes, uint64_t total_bytes);
    void *listener;
} skn_dataset_options_t;

/* Facts about the whole set. Lives as long as the dataset. */
typedef struct skn_dataset_info {
    uint64_t point_count;
    uint32_t feature_count, label_count;           /* indices are below these */
    uint32_t own_feature_count, own_label_count;   /* of the file itself */
    uint64_t feature_total, label_total;           /* summed over the points */
    uint32_t point_features_max, point_labels_max; /* of any one point */
    uint64_t featureless_count, unlabelled_count;  /* points without */
    uint32_t labels_occurring;       /* labels with a frequency > 0 */
    const uint32_t *label_frequency; /* [label_count], in points */
    uint64_t content_hash;     /* XXH3, 64 bits, of the unpacked source text
                                * and of what makes points of it */
    uint64_t mapped_bytes;     /* mapped while it is open */
    skn_xmc_unknown_t unknown; /* indices that were left out */
    skn_xmc_odd_t odd;         /* a likely mistake in the file */
    skn_xmc_unread_t unread;   /* questions that cannot be read */
    skn_xmc_unread_t bad;      /* rows that were left out */
    const char *bad_why; /* what follows FILE:LINE in the sentence of the first,
                          * as ": the row has 1 columns"; "": not known */
    skn_normalize_t normalize;
    bool has_texts; /* its points are made of rows of texts */
    bool has_header;
    bool built;             /* this open wrote the cache */
    const char *cache_path; /* NULL: the cache is anonymous */
} skn_dataset_info_t;

/* One point, in mapped memory that lives as long as the dataset. */
typedef struct skn_dataset_point {
    const uint32_t *label;   /* [label_count], ascending */
    const uint32_t *feature; /* [feature_count], ascending */
    const float *value;      /* [feature_count], finite */
    uint32_t label_count, feature_count;
} skn_dataset_point_t;
static inline bool
skn_dataset_point_has(const skn_dataset_point_t *point, uint32_t label)
{
    for (uint32_t k = 0; k < point->label_count; k++)
        if (point->label[k] == label)
            return true;
    return false;
}

/* Opens the files of the source `path` (formats/source/files.h), building their
 * cache if need be. `options` may be
 * NULL. SKN_NO_INPUT, SKN_NO_PERMISSION, SKN_BAD_DATA (file:line:column),
 * SKN_STORAGE (also a full disk), SKN_CANNOT_CREATE, SKN_NO_MEMORY, SKN_BUSY
 * (the source changed while it was read, or progress returned false) leave
 * *dataset NULL, no temporary file, and an older cache as it was. Any number of
 * threads and processes may open the same file at once. */
skn_status_t skn_dataset_open(const char *path,
                              const skn_dataset_options_t *options,
                              skn_dataset_t **dataset, skn_error_t *error);
/* Unmaps, frees, sets *dataset to NULL. *dataset may be NULL already. */
void skn_dataset_close(skn_dataset_t **dataset);

/* The vocabulary that was learned from the rows, in its forms, which live as
 * long as the dataset; false: it has none. */
bool skn_dataset_vocabulary(const skn_dataset_t *dataset,
                            struct skn_vocabulary_form *form);

/* Whether a row with this hash belongs to the part. */
bool skn_dataset_has(const skn_dataset_options_t *options, uint64_t hash);

/* Scales the values of a point as SKN_NORMALIZE_L2 does. From any thread. */
void skn_values_normalize(float *value, size_t count);

/* Whether indices of the file at `path` were left out, or it has a likely
 * mistake; then `note` is filled like an error, though it is not one. */
bool skn_dataset_note_unknown(const skn_dataset_info_t *info, const char *path,
                              skn_error_t *note);
bool skn_dataset_note_bad(const skn_dataset_info_t *info, const char *path,
                          skn_error_t *note);
bool skn_dataset_note_unread(const skn_dataset_info_t *info, const char *path,
                             skn_error_t *note);
bool skn_dataset_note_odd(const skn_dataset_info_t *info, const char *path,
                          skn_error_t *note);

/* From any thread. */
const skn_dataset_info_t *skn_dataset_info(const skn_dataset_t *dataset);
/* Point `at` < point_count. From any thread. */
skn_dataset_point_t skn_dataset_point(const skn_dataset_t *dataset,
                                      uint64_t at);

#endif
