/* dataset_build.c - writes the cache of a data file in bounded memory.
 *
 * This file owns: the counts of labels while building.
 * Rows of texts are read once more before, to learn their vocabulary. First
 * pass: text to rows. Second: from the rows just written to offsets and
 * frequencies; more passes only if the labels do not fit into the budget. Not
 * here: the place of the file and its writing (formats/source/cache.h), the
 * checks of its layout (dataset_check.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/dataset_file.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "formats/dataset/text_rows.h"
#include "formats/dataset/xmc.h"
#include "formats/source/files.h"

#define MEMORY_BYTES_DEFAULT (64u << 20)
#define MEMORY_BYTES_MIN (1u << 20)
/* Larger writes are not faster. */
#define BUFFER_BYTES_MAX (4u << 20)
#define PROGRESS_BYTES (1u << 20)
/* The part of the mapped rows that stays resident after the second pass has
 * read it: a multiple of every page size. */
#define SYNC_BEHIND_BYTES (16u << 20)
/* From here on a label that occurs in only one line is refused as a mistake:
 * its table would take a gigabyte. */
#define STRAY_LABEL_MAX (UINT32_C(1) << 27)

typedef struct build {
    const char *source_name;
    const skn_dataset_options_t *options;
    skn_cache_temp_t *temp;
    skn_cache_writer_t writer;
    uint32_t *count; /* [count_room], frequencies of a range of labels */
    size_t count_room;
    uint64_t told_bytes;
    skn_dataset_head_t head;
    /* The vocabulary of rows of texts, if it is learned. */
    char *features, *names;
    skn_vocabulary_form_t form;
    skn_vocabulary_t *learned;
} build_t;

/* The open file: one of the two. */
typedef struct row_source {
    skn_xmc_reader_t *points;
    skn_text_rows_t *texts;
} row_source_t;

static const skn_lines_t *
source_lines(const row_source_t *source)
{
    return source->texts ? skn_text_rows_lines(source->texts)
                         : skn_xmc_lines(source->points);
}

static bool
has_texts(const skn_dataset_options_t *options)
{
    return options->preprocessing && options->preprocessing[0];
}

static uint64_t
memory_bytes(const skn_dataset_options_t *options)
{
    uint64_t memory = options->memory_bytes;
    if (memory == 0)
        memory = MEMORY_BYTES_DEFAULT;
    return memory < MEMORY_BYTES_MIN ? MEMORY_BYTES_MIN : memory;
}

bool
skn_dataset_has(const skn_dataset_options_t *options, uint64_t hash)
{
    /* The upper 53 bits as a fraction of 1. */
    bool is_held = (double)(hash >> 11) * 0x1p-53 < options->held_back;
    return options->part == SKN_DATASET_ALL ||
           is_held == (options->part == SKN_DATASET_HELD_BACK);
}

/* --- first pass: text to rows ------------------------------------------- */

/* Divides the values by their length, computed in double. */
void
skn_values_normalize(float *value, size_t count)
{
    double square = 0;
    for (size_t k = 0; k < count; k++)
        square += (double)value[k] * (double)value[k];
    if (square == 0)
        return;
    double scale = 1 / sqrt(square);
    for (size_t k = 0; k < count; k++)
        value[k] = (float)(value[k] * scale);
}

static skn_status_t
row_put(build_t *build, const skn_xmc_point_t *point, skn_error_t *error)
{
    uint32_t counts[SKN_DATASET_ROW_WORDS] = { (uint32_t)point->label_count,
                                               (uint32_t)point->feature_count };
    skn_dataset_row_account(&build->head, counts[0], counts[1]);
    if (build->options->normalize == SKN_NORMALIZE_L2)
        skn_values_normalize(point->value, point->feature_count);
    skn_status_t status =
        skn_cache_put(&build->writer, counts, sizeof(counts), error);
    if (status == SKN_OK)
        status =
            skn_cache_put(&build->writer, point->label,
                          point->label_count * sizeof(*point->label), error);
    if (status == SKN_OK)
        status = skn_cache_put(&build->writer, point->feature,
                               point->feature_count * sizeof(*point->feature),
                               error);
    if (status == SKN_OK)
        status =
            skn_cache_put(&build->writer, point->value,
                          point->feature_count * sizeof(*point->value), error);
    return status;
}

static skn_status_t
progress_tell(build_t *build, uint64_t done_bytes, skn_error_t *error)
{
    const skn_dataset_options_t *options = build->options;
    if (!options->progress || done_bytes - build->told_bytes < PROGRESS_BYTES)
        return SKN_OK;
    build->told_bytes = done_bytes;
    if (options->progress(options->listener, done_bytes,
                          build->head.source_bytes))
        return SKN_OK;
    return skn_fail(error, SKN_BUSY, "%s: reading was stopped",
                    skn_stream_name_shown(build->source_name));
}

static skn_status_t
source_next(row_source_t *source, skn_xmc_point_t *point, bool *more,
            skn_error_t *error)
{
    return source->texts ? skn_text_rows_next(source->texts, point, more, error)
                         : skn_xmc_next(source->points, point, more, error);
}

/* Whether a point of numbered features belongs to the part: they decide. Rows
 * of texts were chosen when they were read. */
static bool
is_of_part(const build_t *build, const row_source_t *source,
           const skn_xmc_point_t *point)
{
    if (source->texts || build->options->part == SKN_DATASET_ALL)
        return true;
    uint64_t hash = XXH3_64bits(point->feature,
                                point->feature_count * sizeof(*point->feature));
    return skn_dataset_has(
        build->options,
        XXH3_64bits_withSeed(
            point->value, point->feature_count * sizeof(*point->value), hash));
}

static skn_status_t
rows_put(build_t *build, row_source_t *source, skn_error_t *error)
{
    skn_xmc_point_t point;
    skn_status_t status = SKN_OK;
    bool more = true;
    skn_xmc_point_init(&point);
    while (status == SKN_OK) {
        status = source_next(source, &point, &more, error);
        if (status != SKN_OK || !more)
            break;
        if (is_of_part(build, source, &point))
            status = row_put(build, &point, error);
        if (status == SKN_OK)
            status = progress_tell(
                build, skn_lines_source_bytes(source_lines(source)), error);
    }
    skn_xmc_point_fini(&point);
    return status;
}

/* Looks at the files, so that a later change can be detected. */
static skn_status_t
source_look(const build_t *build, uint64_t *bytes, uint64_t *fingerprint,
            skn_error_t *error)
{
    skn_files_t files;
    skn_status_t status = skn_files_init(&files, build->source_name, error);
    *bytes = files.total_bytes;
    *fingerprint = files.fingerprint;
    skn_files_fini(&files);
    return status;
}

static void
unknown_take(skn_dataset_head_t *head, const skn_dataset_options_t *options,
             const skn_xmc_unknown_t *unknown)
{
    if (unknown->points == 0)
        return;
    head->unknown_labels = unknown->labels;
    head->unknown_features = unknown->features;
    head->unknown_points = unknown->points;
    head->unknown_bare = unknown->bare_points;
    head->unknown_line = unknown->line;
    head->unknown_column = unknown->column;
    head->expected_features = options->feature_count;
    head->expected_labels = options->label_count;
}

/* The reason of the first bad row without its file, which may be opened by
 * another name. */
static void
bad_take(skn_dataset_head_t *head, const skn_xmc_sizes_t *sizes)
{
    char line[24];
    head->bad_rows = sizes->bad.points;
    head->bad_line = sizes->bad.line;
    (void)snprintf(line, sizeof(line), ":%" PRIu64 ":",
                   skn_files_line(sizes->bad.line));
    const char *why = sizes->bad_why ? strstr(sizes->bad_why, line) : NULL;
    if (why)
        (void)snprintf(head->bad_why, sizeof(head->bad_why), "%.255s",
                       why + strlen(line) - 1);
}

static void
sizes_take(skn_dataset_head_t *head, const skn_dataset_options_t *options,
           const row_source_t *source, const skn_xmc_odd_t *odd)
{
    skn_xmc_sizes_t sizes = source->texts ? skn_text_rows_sizes(source->texts)
                                          : skn_xmc_sizes(source->points);
    unknown_take(head, options, &sizes.unknown);
    head->odd_what = odd->what;
    head->odd_line = odd->line;
    head->odd_greatest = odd->greatest;
    head->odd_next = odd->next;
    head->unread_points = sizes.unread.points;
    head->unread_line = sizes.unread.line;
    bad_take(head, &sizes);
    head->has_header = sizes.has_header;
    head->feature_count = sizes.feature_count;
    head->label_count = sizes.label_count;
    head->feature_seen = sizes.feature_seen;
    head->label_seen = sizes.label_seen;
    head->content_hash = skn_lines_hash(source_lines(source));
}

/* The next step writes a table of all labels: 8 bytes for each, of which a
 * single typing mistake can make gigabytes. */
static skn_status_t
check_stray(const build_t *build, const skn_xmc_odd_t *odd, skn_error_t *error)
{
    const skn_dataset_info_t info = { .odd = *odd };
    if (odd->what != SKN_XMC_ODD_LABEL || odd->greatest < STRAY_LABEL_MAX)
        return SKN_OK;
    (void)skn_dataset_note_odd(&info, build->source_name, error);
    return SKN_BAD_DATA;
}

static skn_status_t
source_open(const build_t *build, row_source_t *source, skn_error_t *error)
{
    const skn_dataset_options_t *options = build->options;
    const skn_vocabulary_t *vocabulary =
        options->vocabulary ? options->vocabulary : build->learned;
    skn_xmc_bounds_t bounds = { .expected_features = options->feature_count,
                                .expected_labels = options->label_count,
                                .expected_by = options->expected_by,
                                .unknown_ignored = options->unknown_ignored,
                                .bad_rows = options->bad_rows,
                                .questions = options->questions,
                                .labels_optional = options->questions };
    if (!has_texts(options))
        return skn_xmc_open(build->source_name, &bounds, &source->points,
                            error);
    source->texts =
        skn_text_rows_open(build->source_name, options, vocabulary, error);
    return source->texts ? SKN_OK : error->status;
}

static skn_status_t
source_read(build_t *build, skn_error_t *error)
{
    skn_dataset_head_t *head = &build->head;
    row_source_t source = { 0 };
    uint64_t bytes, fingerprint;
    skn_status_t status = source_look(build, &head->source_bytes,
                                      &head->source_fingerprint, error);
    if (status == SKN_OK)
        status = source_open(build, &source, error);
    if (status == SKN_OK)
        status = rows_put(build, &source, error);
    if (status == SKN_OK)
        status = source_look(build, &bytes, &fingerprint, error);
    if (status == SKN_OK && (bytes != head->source_bytes ||
                             fingerprint != head->source_fingerprint))
        status = skn_fail(error, SKN_BUSY, "%s: changed while it was read",
                          skn_stream_name_shown(build->source_name));
    if (status == SKN_OK) {
        const skn_xmc_odd_t odd = source.points
                                      ? skn_xmc_odd(source.points)
                                      : skn_text_rows_odd(source.texts);
        sizes_take(head, build->options, &source, &odd);
        status = check_stray(build, &odd, error);
    }
    skn_xmc_close(&source.points);
    skn_text_rows_close(&source.texts);
    return status;
}

/* Learns the vocabulary of rows of texts, unless it is given. */
static skn_status_t
vocabulary_learn(build_t *build, skn_error_t *error)
{
    const skn_dataset_options_t *options = build->options;
    if (!has_texts(options) || options->vocabulary)
        return SKN_OK;
    skn_status_t status = skn_text_rows_learn(
        build->source_name, options, &build->learned, &build->features,
        &build->names, &build->form, error);
    build->head.features_bytes = build->form.features_bytes;
    build->head.names_bytes = build->form.names_bytes;
    return status;
}

/* --- second pass: rows to offsets and frequencies ----------------------- */

/* Walks over the rows in `file`, which we have written: counts the labels from
 * `first` on that have an entry in build->count, and writes the offsets if
 * `offsets` is set. */
static skn_status_t
rows_walk(build_t *build, uint8_t *file, uint64_t first, bool offsets,
          skn_error_t *error)
{
    const uint32_t *row = (const void *)(file + sizeof(skn_dataset_head_t));
    uint64_t at = 0, behind = 0;
    memset(build->count, 0, build->count_room * sizeof(*build->count));
    for (uint64_t k = 0; k < build->head.point_count; k++) {
        const uint32_t *label = row + at + SKN_DATASET_ROW_WORDS;
        for (uint32_t l = 0; l < row[at]; l++)
            if (label[l] - first < build->count_room)
                build->count[label[l] - first]++;
        skn_status_t status =
            offsets ? skn_cache_put(&build->writer, &at, sizeof(at), error)
                    : SKN_OK;
        if (status != SKN_OK)
            return status;
        at += SKN_DATASET_ROW_WORDS + row[at] + 2 * (uint64_t)row[at + 1];
        if (at * sizeof(*row) - behind >= 2 * SYNC_BEHIND_BYTES) {
            (void)madvise(file + behind, SYNC_BEHIND_BYTES, MADV_DONTNEED);
            behind += SYNC_BEHIND_BYTES;
        }
    }
    return offsets ? skn_cache_put(&build->writer, &at, sizeof(at), error)
                   : SKN_OK;
}

/* Writes the counts of build->count for the labels from `first` on. */
static skn_status_t
counts_put(build_t *build, uint64_t first, skn_error_t *error)
{
    uint64_t count = build->head.label_seen - first;
    if (count > build->count_room)
        count = build->count_room;
    for (uint64_t k = 0; k < count; k++)
        build->head.labels_occurring += build->count[k] > 0;
    return skn_cache_put(&build->writer, build->count,
                         count * sizeof(*build->count), error);
}

static skn_status_t
tables_put(build_t *build, skn_error_t *error)
{
    const skn_dataset_head_t *head = &build->head;
    skn_dataset_layout_t layout = skn_dataset_layout(head);
    uint64_t rows_end = layout.row_at + head->row_words * sizeof(uint32_t);
    skn_status_t status = skn_cache_align(&build->writer, error);
    if (status == SKN_OK)
        status = skn_cache_flush(&build->writer, error);
    if (status != SKN_OK)
        return status;
    void *file =
        mmap(NULL, rows_end, PROT_READ, MAP_SHARED, build->temp->fd, 0);
    if (file == MAP_FAILED)
        return skn_fail(error, SKN_NO_MEMORY, "%s: cannot be mapped: %s",
                        skn_stream_name_shown(build->temp->final),
                        strerror(errno));
    (void)madvise(file, rows_end, MADV_SEQUENTIAL);
    uint64_t first = 0;
    do {
        status = rows_walk(build, file, first, first == 0, error);
        if (status == SKN_OK && first == 0)
            status = skn_cache_align(&build->writer, error);
        if (status == SKN_OK)
            status = counts_put(build, first, error);
        first += build->count_room;
    } while (status == SKN_OK && first < head->label_seen);
    (void)munmap(file, rows_end);
    if (status == SKN_OK && head->features_bytes > 0)
        status = skn_cache_put(&build->writer, build->form.features,
                               build->form.features_bytes, error);
    if (status == SKN_OK && head->names_bytes > 0)
        status = skn_cache_put(&build->writer, build->form.names,
                               build->form.names_bytes, error);
    return status == SKN_OK ? skn_cache_flush(&build->writer, error) : status;
}

/* --- the whole ---------------------------------------------------------- */

static skn_status_t
build_init(build_t *build, skn_error_t *error)
{
    uint64_t memory = memory_bytes(build->options);
    size_t room = BUFFER_BYTES_MAX;
    if (memory / 4 < room)
        room = (size_t)(memory / 4);
    build->count_room = (memory - room) / sizeof(*build->count);
    if (build->count_room > SKN_UNIT_MAX)
        build->count_room = SKN_UNIT_MAX;
    skn_dataset_head_t *head = &build->head;
    memcpy(head->magic, SKN_DATASET_MAGIC, sizeof(head->magic));
    head->version = SKN_DATASET_VERSION;
    head->byte_order = SKN_DATASET_BYTE_ORDER;
    head->normalize = (uint32_t)build->options->normalize;
    head->questions = build->options->questions;
    head->bad_share = build->options->bad_rows;
    head->preprocessing_hash = skn_dataset_preprocessing_hash(build->options);
    head->vocabulary_hash =
        build->options->vocabulary ? build->options->vocabulary->hash : 0;
    return skn_cache_writer_init(&build->writer, build->temp, sizeof(*head),
                                 room, error);
}

/* Allocates the counts once the number of labels is known. */
static skn_status_t
counts_init(build_t *build, skn_error_t *error)
{
    if (build->count_room > build->head.label_seen)
        build->count_room = build->head.label_seen;
    if (build->count_room == 0)
        build->count_room = 1;
    build->count = calloc(build->count_room, sizeof(*build->count));
    if (!build->count)
        return skn_fail(
            error, SKN_NO_MEMORY, "%s: no memory to count %zu labels",
            skn_stream_name_shown(build->source_name), build->count_room);
    return SKN_OK;
}

static skn_status_t
head_put(build_t *build, skn_error_t *error)
{
    skn_dataset_head_t *head = &build->head;
    head->file_bytes = skn_dataset_layout(head).file_bytes;
    assert(head->file_bytes == build->writer.at);
    head->payload_hash = skn_cache_payload_hash(&build->writer);
    head->head_hash = skn_dataset_head_hash(head);
    return skn_cache_put_head(&build->writer, head, sizeof(*head), error);
}

skn_status_t
skn_dataset_build(const char *path, const skn_dataset_options_t *options,
                  skn_cache_temp_t *temp, skn_error_t *error)
{
    build_t build = { .source_name = path, .options = options, .temp = temp };
    skn_status_t status = build_init(&build, error);
    if (status == SKN_OK)
        status = vocabulary_learn(&build, error);
    if (status == SKN_OK)
        status = source_read(&build, error);
    if (status == SKN_OK)
        status = counts_init(&build, error);
    if (status == SKN_OK)
        status = tables_put(&build, error);
    if (status == SKN_OK)
        status = head_put(&build, error);
    free(build.count);
    free(build.features);
    free(build.names);
    skn_vocabulary_destroy(&build.learned);
    skn_cache_writer_fini(&build.writer);
    return status;
}
