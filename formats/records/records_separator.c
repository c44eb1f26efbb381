/* records_separator.c - finds what divides the labels of a column, by a look at
 * the first rows.
 *
 * A semicolon or bar divides if a part is met in two cells. Names have commas,
 * too: these divide if there are at most half as many different parts as
 * different cells with commas, or if one in twenty of the cells without a comma
 * is such a part. "Paris, France" is one label, "python, numpy" are two.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "formats/records/records.h"
#include "formats/text/strings.h"

#define ROWS_LOOKED_AT 2000u

static const char *const candidates[] = { ";", "|", "," };
#define CANDIDATE_COUNT (sizeof(candidates) / sizeof(candidates[0]))

typedef struct look {
    skn_strings_t all; /* different cells */
    /* of a candidate */
    skn_strings_t parts;
    uint64_t part_total;                  /* of all cells */
    uint32_t divided, alone, alone_known; /* different cells with it; without;
                                           * those of them that are parts */
} look_t;

/* Adds the parts of a cell. False: no memory. */
static bool
add_parts(look_t *look, skn_span_t cell, char separator)
{
    const char *at = cell.at, *end = cell.at + cell.bytes;
    while (at <= end) {
        const char *stop =
            at < end ? memchr(at, separator, (size_t)(end - at)) : NULL;
        const skn_span_t part = skn_span_trimmed(
            (skn_span_t){ at, (size_t)((stop ? stop : end) - at) });
        look->part_total += part.bytes > 0;
        if (part.bytes > 0 && skn_strings_add(&look->parts, part.at,
                                              part.bytes) == SKN_STRINGS_NONE)
            return false;
        if (!stop)
            break;
        at = stop + 1;
    }
    return true;
}

static skn_span_t
cell_at(const look_t *look, uint32_t k)
{
    skn_span_t cell;
    cell.at = skn_strings_at(&look->all, k, &cell.bytes);
    return cell;
}

/* Counts for one candidate. False: no memory. */
static bool
count(look_t *look, char separator)
{
    skn_strings_fini(&look->parts);
    look->divided = look->alone = look->alone_known = 0;
    look->part_total = 0;
    for (uint32_t k = 0; k < look->all.count; k++) {
        const skn_span_t cell = cell_at(look, k);
        if (!memchr(cell.at, separator, cell.bytes))
            continue;
        look->divided++;
        if (!add_parts(look, cell, separator))
            return false;
    }
    for (uint32_t k = 0; k < look->all.count; k++) {
        const skn_span_t cell = cell_at(look, k);
        if (memchr(cell.at, separator, cell.bytes))
            continue;
        look->alone++;
        look->alone_known += skn_strings_find(&look->parts, cell.at,
                                              cell.bytes) != SKN_STRINGS_NONE;
    }
    return true;
}

static bool
divides(const look_t *look, char separator)
{
    if (look->divided == 0)
        return false;
    if (separator != ',')
        return look->parts.count < look->part_total || look->alone_known > 0;
    return 2 * look->parts.count <= look->divided ||
           20 * look->alone_known > look->alone;
}

static skn_status_t
read_cells(skn_records_t *records, look_t *look, skn_error_t *error)
{
    skn_records_kind_t kind = SKN_RECORDS_ROW;
    skn_records_row_t row;
    const skn_error_t *refusal;
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < ROWS_LOOKED_AT && status == SKN_OK; k++) {
        status = skn_records_next(records, true, &kind, &row, &refusal, error);
        if (status != SKN_OK || kind == SKN_RECORDS_END)
            break;
        for (size_t l = 0; l < row.label_count && status == SKN_OK; l++)
            if (skn_strings_add(&look->all, row.label[l].at,
                                row.label[l].bytes) == SKN_STRINGS_NONE)
                status = skn_fail(error, SKN_NO_MEMORY, "no memory for labels");
    }
    return status;
}

skn_status_t
skn_records_find_separator(const char *path,
                           const skn_records_options_t *options,
                           const char **separator, skn_error_t *error)
{
    skn_records_options_t whole = *options;
    look_t look = { 0 };
    whole.label_separator = "";
    *separator = "";
    skn_records_t *records = skn_records_open(path, &whole, error);
    if (!records)
        return error->status;
    skn_status_t status = read_cells(records, &look, error);
    for (size_t k = 0; k < CANDIDATE_COUNT && status == SKN_OK; k++) {
        if (!count(&look, candidates[k][0]))
            status = skn_fail(error, SKN_NO_MEMORY, "no memory for labels");
        else if (divides(&look, candidates[k][0])) {
            *separator = candidates[k];
            break;
        }
    }
    skn_strings_fini(&look.all);
    skn_strings_fini(&look.parts);
    skn_records_close(&records);
    return status;
}
