/* dataset.c - opens a data file as an array of points, by its cache.
 *
 * This file owns: the decision whether a cache fits. Not here: the checks
 * (dataset_check.c), the writing (dataset_build.c), the names and the map
 * (formats/source/cache.h), the layout (dataset_file.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/dataset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "formats/dataset/dataset_file.h"
#include "formats/dataset/vocabulary.h"
#include "formats/source/files.h"
#include "formats/source/stream.h"

struct skn_dataset {
    skn_cache_t cache;
    const uint32_t *row;    /* [row_words] */
    const uint64_t *offset; /* [point_count + 1] */
    /* A copy of the frequencies if there are more labels than the cache has
     * seen; else NULL. */
    void *wider;
    size_t wider_bytes;
    skn_dataset_info_t info;
};

static skn_status_t
no_memory(const char *path, skn_error_t *error)
{
    return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for the dataset",
                    skn_stream_name_shown(path));
}

/* An open in progress. */
typedef struct dataset_opening {
    const char *path;
    skn_files_t files;
    const skn_dataset_options_t *options;
} dataset_opening_t;

/* Whether the labels, or the features, of a cache are exactly those below
 * `wanted`. */
static bool
sort_fits(uint32_t seen, uint64_t unknown, uint32_t expected, uint32_t wanted,
          bool unknown_ignored)
{
    if (unknown > 0)
        return unknown_ignored && expected == wanted;
    return wanted == 0 || seen <= wanted;
}

/* Whether the mapped file is a whole cache of this source with these options.
 * Indices beyond the expected sizes do not fit either: then a rebuild finds the
 * line for the error sentence. */
static bool
cache_fits(void *owner, const skn_cache_t *cache)
{
    const dataset_opening_t *opening = owner;
    const skn_dataset_options_t *options = opening->options;
    const skn_dataset_head_t *head = cache->file;
    if (cache->file_bytes < sizeof(*head) ||
        !skn_dataset_head_check(head, cache->file_bytes) ||
        head->source_bytes != opening->files.total_bytes ||
        head->source_fingerprint != opening->files.fingerprint ||
        head->normalize != (uint32_t)options->normalize ||
        head->preprocessing_hash != skn_dataset_preprocessing_hash(options) ||
        head->vocabulary_hash !=
            (options->vocabulary ? options->vocabulary->hash : 0) ||
        head->questions != (uint32_t)options->questions ||
        (head->bad_rows > 0 && head->bad_share != options->bad_rows))
        return false;
    if (!sort_fits(head->feature_seen, head->unknown_features,
                   head->expected_features, options->feature_count,
                   options->unknown_ignored) ||
        !sort_fits(head->label_seen, head->unknown_labels,
                   head->expected_labels, options->label_count,
                   options->unknown_ignored))
        return false;
    (void)madvise(cache->file, cache->file_bytes, MADV_WILLNEED);
    return skn_dataset_body_check(cache->file);
}

static skn_status_t
cache_write(void *owner, skn_cache_temp_t *temp, skn_error_t *error)
{
    const dataset_opening_t *opening = owner;
    return skn_dataset_build(opening->path, opening->options, temp, error);
}

/* Points info at [label_count] frequencies: those of the cache, or a wider copy
 * whose tail is zero. */
static skn_status_t
frequency_open(skn_dataset_t *dataset, const uint32_t *frequency,
               const char *path, skn_error_t *error)
{
    const skn_dataset_head_t *head = dataset->cache.file;
    dataset->info.label_frequency = frequency;
    if (dataset->info.label_count <= head->label_seen)
        return SKN_OK;
    size_t bytes = (size_t)dataset->info.label_count * sizeof(*frequency);
    void *wider = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (wider == MAP_FAILED)
        return no_memory(path, error);
    memcpy(wider, frequency, (size_t)head->label_seen * sizeof(*frequency));
    dataset->wider = wider;
    dataset->wider_bytes = bytes;
    /* No page of its tail is written. */
    dataset->info.mapped_bytes += head->label_seen * sizeof(*frequency);
    dataset->info.label_frequency = wider;
    return SKN_OK;
}

static skn_status_t
view_open(skn_dataset_t *dataset, const char *path,
          const skn_dataset_options_t *options, skn_error_t *error)
{
    const uint8_t *byte = dataset->cache.file;
    const skn_dataset_head_t *head = dataset->cache.file;
    skn_dataset_layout_t layout = skn_dataset_layout(head);
    dataset->row = (const void *)(byte + layout.row_at);
    dataset->offset = (const void *)(byte + layout.offset_at);
    dataset->info = (skn_dataset_info_t){
        .point_count = head->point_count,
        .feature_count = options->feature_count ? options->feature_count
                                                : head->feature_count,
        .label_count =
            options->label_count ? options->label_count : head->label_count,
        .own_feature_count = head->feature_count,
        .own_label_count = head->label_count,
        .feature_total = head->feature_total,
        .label_total = head->label_total,
        .point_features_max = head->point_features_max,
        .point_labels_max = head->point_labels_max,
        .featureless_count = head->featureless_count,
        .unlabelled_count = head->unlabelled_count,
        .labels_occurring = head->labels_occurring,
        .content_hash = head->content_hash ^ head->preprocessing_hash,
        .unknown = { head->unknown_labels, head->unknown_features,
                     head->unknown_points, head->unknown_bare,
                     head->unknown_line, head->unknown_column },
        .unread = { head->unread_points, head->unread_line },
        .bad = { head->bad_rows, head->bad_line },
        .bad_why = head->bad_why,
        .odd = { head->odd_what, head->odd_line, head->odd_greatest,
                 head->odd_next },
        .mapped_bytes = dataset->cache.file_bytes,
        .normalize = options->normalize,
        .has_texts = options->preprocessing && options->preprocessing[0],
        .has_header = head->has_header != 0,
        .built = dataset->info.built,
        .cache_path = dataset->cache.path,
    };
    return frequency_open(dataset, (const void *)(byte + layout.frequency_at),
                          path, error);
}

/* Maps the cache of the source, which is built if need be. */
static skn_status_t
cache_open(skn_dataset_t *dataset, dataset_opening_t *opening,
           skn_error_t *error)
{
    const skn_dataset_options_t *options = opening->options;
    skn_cache_places_t places = { 0 };
    char *stem = skn_files_cache_stem(&opening->files, opening->path);
    const skn_cache_form_t form = {
        .source = stem,
        .can_be_named = opening->files.is_regular,
        .mode = opening->files.mode,
        .place = options->cache,
        .path = options->cache_path,
        .magic = SKN_DATASET_MAGIC,
        .suffix = options->vocabulary || options->part == SKN_DATASET_HELD_BACK
                      ? ".test.skc"
                      : ".skc",
    };
    skn_status_t status = stem ? skn_cache_places_init(&places, &form, error)
                               : no_memory(opening->path, error);
    if (status == SKN_OK &&
        !skn_cache_find(&places, cache_fits, opening, &dataset->cache)) {
        dataset->info.built = true;
        status = skn_cache_build(&places, cache_write, opening, &dataset->cache,
                                 error);
    }
    skn_cache_places_fini(&places);
    free(stem);
    return status;
}

skn_status_t
skn_dataset_open(const char *path, const skn_dataset_options_t *options_given,
                 skn_dataset_t **dataset_out, skn_error_t *error)
{
    static const skn_dataset_options_t defaults = { 0 };
    const skn_dataset_options_t *options =
        options_given ? options_given : &defaults;
    dataset_opening_t opening = { .path = path, .options = options };
    *dataset_out = NULL;
    skn_dataset_t *dataset = calloc(1, sizeof(*dataset));
    if (!dataset)
        return no_memory(path, error);
    skn_status_t status = skn_files_init(&opening.files, path, error);
    if (status == SKN_OK)
        status = cache_open(dataset, &opening, error);
    if (status == SKN_OK)
        status = view_open(dataset, path, options, error);
    skn_files_fini(&opening.files);
    if (status != SKN_OK)
        skn_dataset_close(&dataset);
    *dataset_out = dataset;
    return status;
}

bool
skn_dataset_vocabulary(const skn_dataset_t *dataset,
                       skn_vocabulary_form_t *form)
{
    const char *byte = dataset->cache.file;
    const skn_dataset_head_t *head = dataset->cache.file;
    const skn_dataset_layout_t layout = skn_dataset_layout(head);
    *form = (skn_vocabulary_form_t){ byte + layout.features_at,
                                     byte + layout.names_at,
                                     head->features_bytes, head->names_bytes };
    return head->features_bytes > 0;
}

void
skn_dataset_close(skn_dataset_t **dataset)
{
    skn_dataset_t *closing = *dataset;
    *dataset = NULL;
    if (!closing)
        return;
    skn_cache_unmap(&closing->cache);
    if (closing->wider)
        (void)munmap(closing->wider, closing->wider_bytes);
    free(closing);
}

const skn_dataset_info_t *
skn_dataset_info(const skn_dataset_t *dataset)
{
    return &dataset->info;
}

skn_dataset_point_t
skn_dataset_point(const skn_dataset_t *dataset, uint64_t at)
{
    assert(at < dataset->info.point_count);
    const uint32_t *row = dataset->row + dataset->offset[at];
    const uint32_t *label = row + SKN_DATASET_ROW_WORDS;
    const uint32_t *feature = label + row[0];
    return (skn_dataset_point_t){
        .label = label,
        .feature = feature,
        .value = (const float *)(const void *)(feature + row[1]),
        .label_count = row[0],
        .feature_count = row[1],
    };
}
