/* fuzz_records.c - feeds any bytes to the readers of rows, each format in turn,
 * and cuts what they return into words.
 *
 * The first byte chooses the format and the options. A bad row must have a
 * sentence, and the reading must come to its end: there are no more rows than
 * bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "formats/features/words.h"
#include "formats/records/records.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void
require(bool promise)
{
    if (!promise)
        __builtin_trap();
}

/* Looks at every byte of a row. */
static void
use_row(const skn_records_row_t *row)
{
    skn_words_t words = { 0 };
    for (size_t k = 0; k < row->text_count; k++)
        require(skn_words_add(&words, row->text[k].at, row->text[k].bytes));
    for (size_t k = 0; k < row->label_count; k++)
        require(row->label[k].bytes > 0 &&
                skn_words_add(&words, row->label[k].at, row->label[k].bytes));
    skn_words_fini(&words);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static const char *const separators[] = { "", ";", ", ", "|" };
    if (count == 0)
        return 0;
    const skn_records_options_t options = {
        .format = (skn_records_format_t)(bytes[0] % SKN_RECORDS_FORMAT_COUNT),
        .text_columns = bytes[0] & 32 ? "text, b" : NULL,
        .category_columns = count % 2 ? "kind" : NULL,
        .number_columns = count % 3 ? NULL : "price",
        .label_separator = separators[bytes[0] >> 6],
        .labels_optional = bytes[0] & 16,
        .otherwise = bytes[0] & 8 ? SKN_RECORDS_FASTTEXT : SKN_RECORDS_AUTO,
    };
    skn_records_t *records = skn_records_open_text(
        (const char *)bytes + 1, count - 1, "fuzz", &options, NULL);
    skn_records_kind_t kind = SKN_RECORDS_ROW;
    skn_records_row_t row;
    const skn_error_t *refusal;
    for (size_t rows = 0; records && kind != SKN_RECORDS_END; rows++) {
        require(rows <= count);
        if (skn_records_next(records, true, &kind, &row, &refusal, NULL) !=
            SKN_OK)
            break;
        if (kind == SKN_RECORDS_BAD)
            require(refusal->text[0] && row.line > 0);
        else if (kind == SKN_RECORDS_ROW)
            use_row(&row);
    }
    skn_records_close(&records);
    return 0;
}
