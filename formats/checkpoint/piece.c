/* piece.c - checks rectangles of global tensors: each by itself, and together.
 *
 * This file owns: the rule that the pieces of a global tensor cover it exactly
 * once (no two overlap, and their areas add up to its area). Declared in
 * manifest.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/folder/folder.h"
#include "formats/checkpoint/manifest.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool
is_whole(const skn_piece_t *piece)
{
    return piece->rows == piece->global_rows &&
           piece->columns == piece->global_columns;
}

skn_safetensor_t
skn_piece_tensor(const skn_piece_t *piece)
{
    skn_safetensor_t tensor = { .dtype = piece->dtype,
                                .dims = piece->dims,
                                .shape = { piece->rows, piece->columns } };
    if (is_whole(piece))
        (void)snprintf(tensor.name, sizeof(tensor.name), "%s", piece->name);
    else
        (void)snprintf(tensor.name, sizeof(tensor.name),
                       "%s@%" PRIu64 ",%" PRIu64, piece->name, piece->row_first,
                       piece->column_first);
    return tensor;
}

/* Whether [first, first + count) is within [0, total). */
static bool
is_within(uint64_t first, uint64_t count, uint64_t total)
{
    return first <= total && count <= total - first;
}

skn_status_t
skn_piece_check(const skn_piece_t *piece, skn_error_t *error)
{
    uint64_t global_bytes;
    if (!skn_file_name_good(piece->name))
        return skn_fail(error, SKN_BAD_DATA,
                        "the name of a tensor is not 1 to %u of "
                        "[A-Za-z0-9_.-] without a leading dot",
                        SKN_NAME_MAX);
    if (piece->dims < 1 || piece->dims > 2)
        return skn_fail(error, SKN_BAD_DATA,
                        "tensor %s: %u dimensions, 1 or 2 allowed", piece->name,
                        piece->dims);
    skn_safetensor_t whole = { .dtype = piece->dtype,
                               .dims = 2,
                               .shape = { piece->global_rows,
                                          piece->global_columns } };
    (void)snprintf(whole.name, sizeof(whole.name), "%s", piece->name);
    skn_status_t status = skn_safetensor_size(&whole, &global_bytes, error);
    if (status != SKN_OK)
        return status;
    bool column_good = piece->dims == 2 ||
                       (piece->columns == 1 && piece->global_columns == 1 &&
                        piece->column_first == 0);
    bool empty_good = is_whole(piece) || (piece->rows && piece->columns);
    if (!column_good || !empty_good || piece->global_rows > INT64_MAX ||
        piece->global_columns > INT64_MAX ||
        !is_within(piece->row_first, piece->rows, piece->global_rows) ||
        !is_within(piece->column_first, piece->columns, piece->global_columns))
        return skn_fail(
            error, SKN_BAD_DATA,
            "tensor %s: %" PRIu64 " x %" PRIu64 " at (%" PRIu64 ", %" PRIu64
            ") is not a piece of %" PRIu64 " x %" PRIu64,
            piece->name, piece->rows, piece->columns, piece->row_first,
            piece->column_first, piece->global_rows, piece->global_columns);
    return SKN_OK;
}

static int
by_place(const void *left, const void *right, void *pieces)
{
    const skn_manifest_piece_t *all = pieces;
    const skn_piece_t *a = &all[*(const size_t *)left].piece;
    const skn_piece_t *b = &all[*(const size_t *)right].piece;
    int names = strcmp(a->name, b->name);
    if (names != 0)
        return names;
    if (a->row_first != b->row_first)
        return a->row_first < b->row_first ? -1 : 1;
    if (a->column_first != b->column_first)
        return a->column_first < b->column_first ? -1 : 1;
    return 0;
}

size_t *
skn_manifest_order(const skn_manifest_t *manifest, skn_error_t *error)
{
    size_t count = manifest->piece_count;
    size_t *order = malloc((count + 1) * sizeof(*order));
    if (!order) {
        skn_fail(error, SKN_NO_MEMORY, "no memory to sort %zu tensors", count);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof(*order), by_place, manifest->piece);
    return order;
}

static skn_status_t
check_agreement(const char *path, const skn_piece_t *a, const skn_piece_t *b,
                skn_error_t *error)
{
    if (a->dtype == b->dtype && a->dims == b->dims &&
        a->global_rows == b->global_rows &&
        a->global_columns == b->global_columns)
        return SKN_OK;
    return skn_fail(error, SKN_BAD_DATA,
                    "%s: tensor %s: its pieces differ in dtype or global shape",
                    path, a->name);
}

/* `b` does not start above `a`. Two pieces of an empty tensor overlap. */
static bool
overlap(const skn_piece_t *a, const skn_piece_t *b)
{
    if (a->global_rows == 0 || a->global_columns == 0)
        return true;
    return b->row_first < a->row_first + a->rows &&
           a->column_first < b->column_first + b->columns &&
           b->column_first < a->column_first + a->columns;
}

/* Checks the pieces order[0 .. count), which are all of one global tensor. */
static skn_status_t
check_tensor(const char *path, const skn_manifest_piece_t *all,
             const size_t *order, size_t count, skn_error_t *error)
{
    assert(count > 0);
    const skn_piece_t *first = &all[order[0]].piece;
    uint64_t area = 0, global_area = first->global_rows * first->global_columns;
    for (size_t i = 0; i < count; i++) {
        const skn_piece_t *a = &all[order[i]].piece;
        skn_status_t status = check_agreement(path, first, a, error);
        if (status != SKN_OK)
            return status;
        area += a->rows * a->columns;
        if (area > global_area) /* checked at each step: it cannot overflow */
            break;
    }
    for (size_t i = 0; area >= global_area && i < count; i++)
        for (size_t k = i + 1; k < count; k++) {
            const skn_piece_t *a = &all[order[i]].piece;
            const skn_piece_t *b = &all[order[k]].piece;
            if (overlap(a, b))
                return skn_fail(error, SKN_BAD_DATA,
                                "%s: tensor %s: the pieces at (%" PRIu64
                                ", %" PRIu64 ") and (%" PRIu64 ", %" PRIu64
                                ") overlap",
                                path, first->name, a->row_first,
                                a->column_first, b->row_first, b->column_first);
            if (b->row_first >= a->row_first + a->rows)
                break; /* so do all later ones */
        }
    if (area != global_area)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: tensor %s: its pieces hold %" PRIu64 " of %" PRIu64
                        " elements",
                        path, first->name, area, global_area);
    return SKN_OK;
}

skn_status_t
skn_manifest_check_cover(const char *path, const skn_manifest_t *manifest,
                         const size_t *order, skn_error_t *error)
{
    const skn_manifest_piece_t *all = manifest->piece;
    for (size_t first = 0, end; first < manifest->piece_count; first = end) {
        end = first + 1;
        while (end < manifest->piece_count &&
               strcmp(all[order[first]].piece.name,
                      all[order[end]].piece.name) == 0)
            end++;
        skn_status_t status =
            check_tensor(path, all, order + first, end - first, error);
        if (status != SKN_OK)
            return status;
    }
    return SKN_OK;
}

bool
skn_piece_same(const skn_piece_t *piece, const skn_piece_t *other)
{
    return strcmp(piece->name, other->name) == 0 &&
           piece->dtype == other->dtype && piece->dims == other->dims &&
           piece->rows == other->rows && piece->columns == other->columns &&
           piece->global_rows == other->global_rows &&
           piece->global_columns == other->global_columns &&
           piece->row_first == other->row_first &&
           piece->column_first == other->column_first;
}
