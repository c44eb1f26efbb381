/* dataset_note.c - reports omissions and likely mistakes in a data file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/dataset.h"

#include <inttypes.h>
#include <stdlib.h>

#include "formats/source/files.h"
#include "formats/source/stream.h"

/* Writes the file and line of a place. */
#define PLACE_BYTES 320u
static const char *
write_place(const char *path, uint64_t place, char text[PLACE_BYTES])
{
    char *name = skn_files_name(path, place);
    (void)snprintf(text, PLACE_BYTES, "%.260s:%" PRIu64,
                   skn_stream_name_shown(name ? name : path),
                   skn_files_line(place));
    free(name);
    return text;
}

static const char *
plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

bool
skn_dataset_note_unknown(const skn_dataset_info_t *info, const char *path,
                         skn_error_t *note)
{
    const skn_xmc_unknown_t *unknown = &info->unknown;
    char bare[96] = "", labels[48] = "", features[48] = "";
    char place[PLACE_BYTES];
    if (unknown->points == 0)
        return false;
    if (unknown->bare_points > 0)
        (void)snprintf(bare, sizeof(bare),
                       "; %" PRIu64 " point%s no label left and count%s as "
                       "wrong",
                       unknown->bare_points,
                       unknown->bare_points == 1 ? " has" : "s have",
                       unknown->bare_points == 1 ? "s" : "");
    if (unknown->labels > 0)
        (void)snprintf(labels, sizeof(labels), "%" PRIu64 " label%s%s",
                       unknown->labels, plural(unknown->labels),
                       unknown->features > 0 ? " and " : "");
    if (unknown->features > 0)
        (void)snprintf(features, sizeof(features), "%" PRIu64 " feature%s",
                       unknown->features, plural(unknown->features));
    (void)skn_fail(note, SKN_BAD_DATA,
                   "%s:%" PRIu64 ": first of %s%s, in %" PRIu64 " "
                   "point%s, that the model does not have; they are left out%s",
                   write_place(path, unknown->line, place), unknown->column,
                   labels, features, unknown->points, plural(unknown->points),
                   bare);
    if (info->has_texts) {
        (void)skn_fail_hint(note, SKN_BAD_DATA,
                            "the labels of a model are those of its training "
                            "rows");
        return true;
    }
    (void)skn_fail_hint(note, SKN_BAD_DATA,
                        "to train a wider model, begin the training file with "
                        "a line `points features labels`, or set "
                        "data.label_count and data.feature_count");
    return true;
}

bool
skn_dataset_note_unread(const skn_dataset_info_t *info, const char *path,
                        skn_error_t *note)
{
    char place[PLACE_BYTES];
    if (info->unread.points == 0)
        return false;
    (void)skn_fail(note, SKN_BAD_DATA,
                   "%s:1: first of %" PRIu64 " line%s that cannot "
                   "be read; the answer is empty",
                   write_place(path, info->unread.line, place),
                   info->unread.points, plural(info->unread.points));
    (void)skn_fail_hint(note, SKN_BAD_DATA,
                        "a line is label,label feature:value feature:value");
    return true;
}

bool
skn_dataset_note_bad(const skn_dataset_info_t *info, const char *path,
                     skn_error_t *note)
{
    char place[PLACE_BYTES];
    if (info->bad.points == 0)
        return false;
    (void)skn_fail(note, SKN_BAD_DATA,
                   "%s%s (first of %" PRIu64 " row%s that cannot be "
                   "read and %s left out)",
                   write_place(path, info->bad.line, place), info->bad_why,
                   info->bad.points, plural(info->bad.points),
                   info->bad.points == 1 ? "is" : "are");
    (void)skn_fail_hint(note, SKN_BAD_DATA, "data.bad_rows: 0 refuses them");
    return true;
}

bool
skn_dataset_note_odd(const skn_dataset_info_t *info, const char *path,
                     skn_error_t *note)
{
    const skn_xmc_odd_t *odd = &info->odd;
    char place[PLACE_BYTES];
    if (odd->what == SKN_XMC_NOTHING_ODD)
        return false;
    const char *shown = write_place(path, odd->line, place);
    if (odd->what == SKN_XMC_ODD_COUNTS) {
        (void)skn_fail(note, SKN_BAD_DATA,
                       "%s:1: this line looks like a header, but "
                       "is read as a point; the file has %u labels and %u "
                       "features with it",
                       shown, info->label_count, info->feature_count);
        (void)skn_fail_hint(note, SKN_BAD_DATA,
                            "a header is three whole numbers with blanks "
                            "between them: points features labels");
        return true;
    }
    if (odd->what == SKN_XMC_ODD_BYTES) {
        (void)skn_fail(
            note, SKN_BAD_DATA,
            "%s: first of %u row%s not UTF-8; words end at such bytes", shown,
            odd->greatest, odd->greatest == 1 ? " that is" : "s that are");
        (void)skn_fail_hint(note, SKN_BAD_DATA,
                            "convert the file, for example with iconv -f "
                            "latin1 -t utf8");
        return true;
    }
    const char *noun = odd->what == SKN_XMC_ODD_LABEL ? "label" : "feature";
    (void)skn_fail(note, SKN_BAD_DATA,
                   "%s:1: %s %u is far beyond those of all other "
                   "lines, which end at %u, and makes the model have %" PRIu64
                   " %ss",
                   shown, noun, odd->greatest, odd->next,
                   odd->greatest + UINT64_C(1), noun);
    (void)skn_fail_hint(note, SKN_BAD_DATA,
                        "correct the line; or if it is right, begin the file "
                        "with a line `points features labels`");
    return true;
}
