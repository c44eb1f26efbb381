/* model_preprocessing.c - writes how the rows of texts of a model's data become
 * points. Declared in model.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "formats/dataset/preprocessing.h"
#include "topology/model/model.h"

/* Groups of fewer letters are in too many words. */
#define LETTERS_MIN 3u

skn_status_t
skn_model_preprocessing(const skn_model_t *model,
                        char preprocessing[SKN_PREPROCESSING_BYTES],
                        skn_error_t *error)
{
    const skn_model_data_t *data = &model->data;
    uint32_t value = (uint32_t)data->term_values - SKN_TERM_VALUE_ONE;
    uint32_t letters = (uint32_t)data->letter_groups;
    preprocessing[0] = '\0';
    /* Runs of older versions have no format: their features are numbered. */
    if (skn_model_is_decoder(model) || data->format == SKN_DATA_FORMAT_AUTO ||
        data->format == SKN_DATA_FORMAT_POINTS)
        return SKN_OK;
    const skn_preprocessing_t made = {
        .format = skn_records_names[data->format],
        .texts = data->text_column,
        .categories = data->category_columns,
        .numbers = data->number_columns,
        .labels = data->label_column,
        .separator = data->label_separator,
        .bad_rows = data->bad_rows,
        .words = (uint64_t)data->word_groups,
        .letters_min = letters < LETTERS_MIN ? letters : LETTERS_MIN,
        .letters_max = letters,
        .rows_min = (uint64_t)data->term_rows,
        .features_max = (uint64_t)data->terms_max,
        .weight = skn_feature_weight_names[value % SKN_FEATURE_WEIGHT_COUNT],
        .idf = value >= SKN_FEATURE_WEIGHT_COUNT,
    };
    char *text = skn_preprocessing_write(&made);
    if (!text)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a preprocessing");
    size_t bytes = strlen(text) + 1;
    if (bytes <= SKN_PREPROCESSING_BYTES)
        memcpy(preprocessing, text, bytes);
    free(text);
    return bytes <= SKN_PREPROCESSING_BYTES
               ? SKN_OK
               : skn_fail(error, SKN_BAD_CONFIG,
                          "the names of the columns are too long");
}
