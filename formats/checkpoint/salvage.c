/* salvage.c - parses salvages, and composes a checkpoint of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/salvage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/folder/folder.h"
#include "formats/checkpoint/ledger.h"

#define WHAT "the salvage"

/* --- reading -------------------------------------------------------------- */

skn_status_t
skn_salvage_read(const char *run_path, char **bytes, size_t *byte_count,
                 skn_error_t *error)
{
    char path[SKN_TEXT_MAX + 64];
    int folder = -1;
    *bytes = NULL;
    *byte_count = 0;
    (void)snprintf(path, sizeof(path), "%s/" SKN_SALVAGE_NAME, run_path);
    skn_status_t status = skn_folder_open(path, &folder, error);
    if (status == SKN_OK)
        status = skn_folder_read_file(folder, path, "manifest.json",
                                      SKN_MANIFEST_BYTES_MAX, bytes, byte_count,
                                      error);
    if (folder >= 0)
        (void)close(folder);
    if (status == SKN_OK)
        status = skn_json_check_seal(path, *bytes, *byte_count, error);
    if (status != SKN_OK) {
        free(*bytes);
        *bytes = NULL;
    }
    return status;
}

/* Reads the batch of each file from the metadata. */
static skn_status_t
read_far(skn_salvage_t *salvage, skn_error_t *error)
{
    const skn_manifest_t *part = &salvage->part;
    json_t *metadata = skn_json_object_parse("metadata", part->metadata,
                                             strlen(part->metadata), error);
    const json_t *files = json_object_get(metadata, "files");
    skn_status_t status = metadata ? SKN_OK : SKN_BAD_DATA;
    salvage->batch = calloc(part->file_count + 1, sizeof(*salvage->batch));
    if (status == SKN_OK && !salvage->batch)
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for a salvage");
    if (status == SKN_OK &&
        !skn_json_u64(metadata, "generation", &salvage->generation))
        status = skn_fail(error, SKN_BAD_DATA, WHAT ": it names no generation");
    for (size_t k = 0; status == SKN_OK && k < part->file_count; k++)
        if (!skn_json_u64(files, part->file[k].name, &salvage->batch[k]) ||
            salvage->batch[k] > part->batch)
            status = skn_fail(error, SKN_BAD_DATA,
                              WHAT ": it does not say which batch %s has "
                                   "reached",
                              part->file[k].name);
    json_decref(metadata);
    return status;
}

skn_status_t
skn_salvage_parse(const char *bytes, size_t byte_count, skn_salvage_t *salvage,
                  skn_error_t *error)
{
    *salvage = (skn_salvage_t){ 0 };
    skn_status_t status = skn_json_check_seal(WHAT, bytes, byte_count, error);
    if (status == SKN_OK)
        status = skn_manifest_parse_part(WHAT, bytes, byte_count,
                                         &salvage->part, error);
    if (status == SKN_OK)
        status = read_far(salvage, error);
    if (status != SKN_OK)
        skn_salvage_fini(salvage);
    return status;
}

void
skn_salvage_fini(skn_salvage_t *salvage)
{
    skn_manifest_fini(&salvage->part);
    free(salvage->batch);
    *salvage = (skn_salvage_t){ 0 };
}

/* --- composing ------------------------------------------------------------ */

/* The same rectangles of the same tensors, in the same order. */
static bool
has_same_pieces(const skn_manifest_t *base, const skn_manifest_file_t *file,
                const skn_manifest_t *part, const skn_manifest_file_t *other)
{
    bool same = file->piece_count == other->piece_count;
    for (size_t k = 0; same && k < file->piece_count; k++)
        same = skn_piece_same(&base->piece[file->piece_first + k].piece,
                              &part->piece[other->piece_first + k].piece);
    return same;
}

/* The salvage whose file replaces `file` of `base`, and its index there; NULL:
 * none. Of two, which is impossible, the newer one. */
static const skn_salvage_t *
find_cut(const skn_manifest_t *base, const skn_manifest_file_t *file,
         const skn_salvage_t *const *salvage, size_t cut_count, size_t *place)
{
    const skn_salvage_t *best = NULL;
    for (size_t k = 0; k < cut_count; k++) {
        const skn_manifest_t *part = &salvage[k]->part;
        size_t at = skn_manifest_find(part, file->name);
        if (at == SIZE_MAX || salvage[k]->batch[at] < base->batch ||
            (best && salvage[k]->batch[at] <= best->batch[*place]) ||
            !has_same_pieces(base, file, part, &part->file[at]))
            continue;
        best = salvage[k];
        *place = at;
    }
    return best;
}

/* The blocks whose batches a file counts. */
static uint64_t
blocks_of(const skn_manifest_t *manifest, const skn_manifest_file_t *file)
{
    uint64_t blocks = 0;
    for (size_t k = 0; k < file->piece_count; k++) {
        const skn_piece_t *piece =
            &manifest->piece[file->piece_first + k].piece;
        const char *dot = strrchr(piece->name, '.');
        if (dot && strcmp(dot + 1, SKN_LEDGER_NAME) == 0)
            blocks += piece->rows;
    }
    return blocks;
}

/* The batch after the last that any block has had. */
static uint64_t
farthest(const skn_manifest_t *base, const skn_salvage_t *const *salvage,
         size_t cut_count)
{
    uint64_t batch = base->batch;
    for (size_t k = 0; k < base->file_count; k++) {
        size_t place = 0;
        const skn_salvage_t *from =
            find_cut(base, &base->file[k], salvage, cut_count, &place);
        if (from && from->batch[place] > batch)
            batch = from->batch[place];
    }
    return batch;
}

/* Adds each file of `base` to *whole, from a salvage or from `base`. */
static skn_status_t
pick(const skn_manifest_t *base, const skn_salvage_t *const *salvage,
     size_t cut_count, skn_manifest_t *whole, skn_salvage_sum_t *sum,
     skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < base->file_count && status == SKN_OK; k++) {
        const skn_manifest_file_t *file = &base->file[k];
        size_t place = k;
        const skn_salvage_t *from =
            find_cut(base, file, salvage, cut_count, &place);
        skn_manifest_t one = from ? from->part : *base;
        uint64_t batch = from ? from->batch[place] : base->batch;
        uint64_t blocks = blocks_of(base, file);
        one.file += place;
        one.file_count = 1;
        *(from ? &sum->kept : &sum->back) += blocks;
        sum->lost += (sum->batch - batch) * blocks;
        status = skn_manifest_merge(whole, &one, error);
    }
    return status;
}

/* The metadata of the run: as in `base`, except for the batch. */
static skn_status_t
write_metadata(const skn_manifest_t *base, uint64_t batch,
               skn_manifest_t *whole, skn_error_t *error)
{
    json_t *object = skn_json_object_parse("metadata", base->metadata,
                                           strlen(base->metadata), error);
    if (!object)
        return SKN_BAD_DATA;
    char *text = NULL;
    if (json_object_set_new(object, "batch", json_integer((json_int_t)batch)) ==
            0 &&
        json_object_set_new(object, "finished", json_false()) == 0)
        text = skn_json_write(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(object);
    if (!text)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for the metadata");
    whole->metadata = text;
    return SKN_OK;
}

skn_status_t
skn_salvage_compose(const skn_manifest_t *base,
                    const skn_salvage_t *const *salvage, size_t cut_count,
                    skn_salvage_sum_t *sum, skn_json_text_t *text,
                    skn_error_t *error)
{
    skn_manifest_t whole = { 0 };
    *sum = (skn_salvage_sum_t){ .batch = farthest(base, salvage, cut_count),
                                .base = base->batch };
    if (sum->batch == base->batch)
        return skn_fail(error, SKN_NO_INPUT,
                        "no block is newer than batch %" PRIu64, base->batch);
    memcpy(whole.run_id, base->run_id, sizeof(whole.run_id));
    whole.batch = sum->batch;
    skn_status_t status = pick(base, salvage, cut_count, &whole, sum, error);
    if (status == SKN_OK)
        status = write_metadata(base, sum->batch, &whole, error);
    if (status == SKN_OK)
        status = skn_manifest_sort(&whole, error);
    if (status == SKN_OK)
        status =
            skn_manifest_text("the composed checkpoint", &whole, text, error);
    skn_manifest_fini(&whole);
    return status;
}
