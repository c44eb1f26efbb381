/* manifest_merge.c - merges the manifests of several nodes into one.
 *
 * Declared in manifest.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/manifest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

size_t
skn_manifest_find(const skn_manifest_t *manifest, const char *name)
{
    for (size_t k = 0; k < manifest->file_count; k++)
        if (strcmp(manifest->file[k].name, name) == 0)
            return k;
    return SIZE_MAX;
}

static bool
same_piece(const skn_manifest_piece_t *a, const skn_manifest_piece_t *b)
{
    return skn_piece_same(&a->piece, &b->piece) &&
           a->offset_bytes == b->offset_bytes && strcmp(a->hash, b->hash) == 0;
}

bool
skn_manifest_same_file(const skn_manifest_t *whole, size_t at,
                       const skn_manifest_t *part, size_t index)
{
    const skn_manifest_file_t *a = &whole->file[at], *b = &part->file[index];
    bool same = a->bytes == b->bytes && a->header_bytes == b->header_bytes &&
                strcmp(a->header_hash, b->header_hash) == 0 &&
                a->piece_count == b->piece_count;
    for (size_t k = 0; same && k < a->piece_count; k++)
        same = same_piece(&whole->piece[a->piece_first + k],
                          &part->piece[b->piece_first + k]);
    return same;
}

/* Makes room for the files and pieces of `part`. */
static skn_status_t
grow(skn_manifest_t *whole, const skn_manifest_t *part, skn_error_t *error)
{
    size_t files = whole->file_count + part->file_count;
    size_t pieces = whole->piece_count + part->piece_count;
    if (files > SKN_CHECKPOINT_FILES_MAX || pieces > SKN_SAFETENSORS_COUNT_MAX)
        return skn_fail(error, SKN_BAD_DATA,
                        "%zu files and %zu tensors, at most %u and %u allowed",
                        files, pieces, SKN_CHECKPOINT_FILES_MAX,
                        SKN_SAFETENSORS_COUNT_MAX);
    skn_manifest_file_t *file =
        realloc(whole->file, (files + 1) * sizeof(*file));
    if (file)
        whole->file = file;
    skn_manifest_piece_t *piece =
        realloc(whole->piece, (pieces + 1) * sizeof(*piece));
    if (piece)
        whole->piece = piece;
    return file && piece ? SKN_OK
                         : skn_fail(error, SKN_NO_MEMORY,
                                    "no memory for a list of %zu files", files);
}

/* Appends file `index` of `part`; there is room. */
static void
append(skn_manifest_t *whole, const skn_manifest_t *part, size_t index)
{
    const skn_manifest_file_t *from = &part->file[index];
    skn_manifest_file_t *to = &whole->file[whole->file_count];
    *to = *from;
    to->piece_first = whole->piece_count;
    for (size_t k = 0; k < from->piece_count; k++) {
        skn_manifest_piece_t *piece = &whole->piece[whole->piece_count++];
        *piece = part->piece[from->piece_first + k];
        piece->file = (uint32_t)whole->file_count;
    }
    whole->file_count++;
}

skn_status_t
skn_manifest_merge(skn_manifest_t *whole, const skn_manifest_t *part,
                   skn_error_t *error)
{
    skn_status_t status = grow(whole, part, error);
    for (size_t k = 0; status == SKN_OK && k < part->file_count; k++) {
        size_t at = skn_manifest_find(whole, part->file[k].name);
        if (at == SIZE_MAX)
            append(whole, part, k);
        else if (!skn_manifest_same_file(whole, at, part, k))
            status = skn_fail(error, SKN_BAD_DATA,
                              "two nodes have written different bytes as %s",
                              part->file[k].name);
    }
    return status;
}

static int
by_name(const void *left, const void *right)
{
    return strcmp(((const skn_manifest_file_t *)left)->name,
                  ((const skn_manifest_file_t *)right)->name);
}

skn_status_t
skn_manifest_sort(skn_manifest_t *manifest, skn_error_t *error)
{
    skn_manifest_t sorted = { 0 };
    if (manifest->file_count == 0)
        return SKN_OK;
    skn_status_t status = grow(&sorted, manifest, error);
    if (status == SKN_OK) {
        /* Pieces are found by the old indices, which the files keep. */
        qsort(manifest->file, manifest->file_count, sizeof(*manifest->file),
              by_name);
        for (size_t k = 0; k < manifest->file_count; k++)
            append(&sorted, manifest, k);
        assert(sorted.piece_count == manifest->piece_count);
        free(manifest->file);
        free(manifest->piece);
        manifest->file = sorted.file;
        manifest->piece = sorted.piece;
        return SKN_OK;
    }
    skn_manifest_fini(&sorted);
    return status;
}
