/* dataset.h - a data file as a read-only array of points, mapped into memory.
 *
 * The first open of a text file parses it and writes a binary cache; every
 * later one maps the cache. A cache is used only if it is whole (a checksum
 * over all of it), in bounds (every offset and index is checked) and made of
 * this source (size, time of change) with these options; else it is written
 * again, silently. The check reads the cache once, at memory speed: a cache is
 * a file that others may have written, and no hash in it can vouch for itself.
 * A cache is never changed in place, only replaced by rename, so a map stays
 * what was checked; whoever may write to the file can still cut it short under
 * a running process, as with any mapped file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_DATASET_DATASET_H
#define FORMATS_DATASET_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/dataset/xmc.h"
#include "skein/error.h"
#include "skein/limits.h"

typedef struct skn_dataset skn_dataset_t;

typedef enum skn_normalize {
    SKN_NORMALIZE_L2,  /* each point's values to length 1; zeros stay zeros */
    SKN_NORMALIZE_NONE /* values as they stand in the file */
} skn_normalize_t;

typedef enum skn_cache_place {
    /* <file>.skc beside the source; where that cannot be written, also for lack
     * of room, a file in $XDG_CACHE_HOME/skein or ~/.cache/skein; and if
     * neither, anonymous. */
    SKN_CACHE_AUTO,
    SKN_CACHE_PATH,     /* options.cache_path, and nowhere else */
    SKN_CACHE_ANONYMOUS /* a file without a name in $TMPDIR or /tmp */
} skn_cache_place_t;

/* { 0 } are the defaults. */
typedef struct skn_dataset_options {
    skn_normalize_t normalize;
    skn_cache_place_t cache;
    const char *cache_path;
    /* For the buffers while a cache is built; 0: 64 MiB; at least 1 MiB is
     * taken. The longest line comes on top. */
    uint64_t memory_bytes;
    /* Sizes that another file or a model sets; 0: this file's own. An index
     * beyond them is refused, or left out and counted (unknown_ignored); a
     * header with other sizes is not. */
    uint32_t feature_count, label_count;
    bool unknown_ignored;
    bool
        questions; /* a file that is asked: skn_xmc_bounds_t says what it has */
    const char *expected_by; /* whose sizes these are, for the sentence */
    /* Called about once a megabyte of the source while a cache is built;
     * false: stop, with SKN_BUSY. total_bytes is 0 for a pipe. */
    bool (*progress)(void *listener, uint64_t done_bytes, uint64_t total_bytes);
    void *listener;
} skn_dataset_options_t;

/* What is known of the whole set. Lives as long as the dataset. */
typedef struct skn_dataset_info {
    uint64_t point_count;
    uint32_t feature_count, label_count;           /* indices are below these */
    uint32_t own_feature_count, own_label_count;   /* by the file itself */
    uint64_t feature_total, label_total;           /* summed over the points */
    uint32_t point_features_max, point_labels_max; /* of any one point */
    uint64_t featureless_count, unlabelled_count;  /* points without */
    uint32_t labels_occurring;       /* labels with a frequency > 0 */
    const uint32_t *label_frequency; /* [label_count], in points */
    uint64_t content_hash;     /* XXH3, 64 bits, of the unpacked source text */
    uint64_t mapped_bytes;     /* that all of it takes while it is open */
    skn_xmc_unknown_t unknown; /* what was left out */
    skn_xmc_odd_t odd;         /* what may be a mistake in the file */
    skn_xmc_unread_t unread;   /* questions without an answer */
    skn_normalize_t normalize;
    bool has_header;
    bool built;             /* this open wrote the cache */
    const char *cache_path; /* NULL: the cache has no name */
} skn_dataset_info_t;

/* One point, in the mapped memory: lives as long as the dataset. */
typedef struct skn_dataset_point {
    const uint32_t *label;   /* [label_count], ascending */
    const uint32_t *feature; /* [feature_count], ascending */
    const float *value;      /* [feature_count], finite */
    uint32_t label_count, feature_count;
} skn_dataset_point_t;

/* Opens the text file `path`, building its cache if need be. `options` may be
 * NULL. SKN_NO_INPUT, SKN_NO_PERMISSION, SKN_BAD_DATA (file:line:column),
 * SKN_STORAGE (also a full disk), SKN_CANNOT_CREATE, SKN_NO_MEMORY, SKN_BUSY
 * (the source changed while it was read, or progress said stop) leave *dataset
 * NULL, no temporary file, and an older cache as it was. Any number of threads
 * and processes may open the same file at once. */
skn_status_t skn_dataset_open(const char *path,
                              const skn_dataset_options_t *options,
                              skn_dataset_t **dataset, skn_error_t *error);
/* Unmaps, frees, sets *dataset to NULL. *dataset may be NULL already. */
void skn_dataset_close(skn_dataset_t **dataset);

/* What SKN_NORMALIZE_L2 does to the values of a point. From any thread. */
void skn_values_normalize(float *value, size_t count);

/* Whether something was left out of the file at `path`, or is odd in it; then
 * `note` is filled, as for an error, though it is none. */
bool skn_dataset_note_unknown(const skn_dataset_info_t *info, const char *path,
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
