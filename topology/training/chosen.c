/* chosen.c - writes the choices of `auto`, with their reasons, as JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/training/chosen.h"

#include <stdio.h>
#include <stdlib.h>

/* Adds `value` of a model file: a number, a truth value, or else a string. */
static void
add_value(skn_json_text_t *event, const char *value)
{
    char *list = NULL, *text = NULL;
    json_t *read =
        asprintf(&list, "[%s]", value) >= 0 ? skn_json_read(list) : NULL;
    const json_t *one =
        json_array_size(read) == 1 ? json_array_get(read, 0) : NULL;
    if (json_is_number(one) || json_is_boolean(one))
        text = skn_json_write(one, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
    if (text)
        skn_json_text_add(event, "%s", text);
    else
        skn_json_text_add_string(event, value);
    free(text);
    free(list);
    json_decref(read);
}

void
skn_chosen_write(skn_reasons_t *reasons, const skn_model_t *model,
                 skn_json_text_t *event)
{
    skn_error_t ignored = { 0 };
    const char *comma = "";
    skn_status_t status = skn_model_write_why(model, reasons, NULL, &ignored);
    skn_json_text_add(event, ",\"auto\":{");
    for (size_t k = 0; status == SKN_OK && k < reasons->count; k++) {
        const skn_reason_t *reason = &reasons->at[k];
        if (!reason->value[0]) /* it has no effect with the others */
            continue;
        skn_json_text_add(event, "%s", comma);
        comma = ",";
        skn_json_text_add_string(event, reason->key);
        skn_json_text_add(event, ":{\"value\":");
        add_value(event, reason->value);
        skn_json_text_add(event, ",\"reason\":");
        skn_json_text_add_string(event, skn_reason_why(reason));
        skn_json_text_add(event, "}");
    }
    skn_json_text_add(event, "}");
}
