/* plan_auto_texts.c - resolves `auto` for what a file of data is, and for the
 * features of its texts, each with its reason. Declared in plan_auto.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan/plan_auto.h"

#include <string.h>
#include <sys/stat.h>

#include "formats/records/records.h"

static void
resolve_features(skn_model_data_t *data, skn_reasons_t *reasons)
{
    (void)skn_plan_decide(reasons, "data.word_groups", &data->word_groups, 1,
                          "single words");
    (void)skn_plan_decide(reasons, "data.letter_groups", &data->letter_groups,
                          0, "words are features already");
    (void)skn_plan_decide(reasons, "data.term_rows", &data->term_rows, 2,
                          "what is in one row alone is not met again");
    if (data->term_values == SKN_TERM_VALUE_AUTO) {
        data->term_values = SKN_TERM_VALUE_ONE;
        skn_reasons_add(reasons, "data.term_values",
                        "which words there are says enough");
    }
}

/* Whether the file can be read twice: a look at a pipe would take what is read
 * later. */
static bool
can_be_looked_at(const char *path)
{
    struct stat file;
    return stat(path, &file) != 0 || S_ISREG(file.st_mode);
}

skn_status_t
skn_plan_auto_texts(skn_model_t *model, skn_reasons_t *reasons,
                    skn_error_t *error)
{
    skn_model_data_t *data = &model->data;
    const char *separator;
    skn_records_options_t how = {
        .format = (skn_records_format_t)data->format,
        .text_columns = data->text_column,
        .label_column = data->label_column,
    };
    if (data->format == SKN_DATA_FORMAT_AUTO && !can_be_looked_at(data->train))
        how.format = SKN_RECORDS_POINTS; /* which are refused when opened */
    skn_status_t status =
        how.format == SKN_RECORDS_AUTO
            ? skn_records_recognise(data->train, &how, &how.format, error)
            : SKN_OK;
    if (status != SKN_OK)
        return status;
    if (data->format == SKN_DATA_FORMAT_AUTO)
        skn_reasons_add(reasons, "data.format", "the first line looks like it");
    data->format = (skn_data_format_t)how.format;
    if (how.format == SKN_RECORDS_POINTS)
        return SKN_OK;
    if (strcmp(data->label_separator, "auto") == 0) {
        status =
            skn_records_find_separator(data->train, &how, &separator, error);
        if (status != SKN_OK)
            return status;
        data->label_separator = separator;
        skn_reasons_add(reasons, "data.label_separator",
                        separator[0] ? "its parts are met in other rows"
                                     : "no parts of labels are met again");
    }
    resolve_features(data, reasons);
    return SKN_OK;
}
