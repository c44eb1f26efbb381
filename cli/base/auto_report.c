/* auto_report.c - formats the choices of `auto` as JSON for an event, and as
 * lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/auto_report.h"
#include "formats/text/json_text.h"

#include <string.h>

/* The value as JSON: a number, true, false, or else a string. */
static json_t *
value_of(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    if (value && (json_is_number(value) || json_is_boolean(value)))
        return value;
    json_decref(value);
    return json_string(text);
}

json_t *
cli_auto_report(skn_plan_t *plan, const skn_model_t *model)
{
    json_t *chosen = json_object();
    skn_error_t ignored = { 0 };
    if (skn_model_write_why(model, &plan->reasons, NULL, &ignored) != SKN_OK) {
        json_decref(chosen);
        return NULL;
    }
    for (size_t k = 0; k < plan->reasons.count; k++) {
        const skn_reason_t *reason = &plan->reasons.at[k];
        if (reason->value[0]) /* no value: it has no effect with the others */
            (void)json_object_set_new(
                chosen, reason->key,
                json_pack("{soss}", "value", value_of(reason->value), "reason",
                          skn_reason_why(reason)));
    }
    return chosen;
}

/* Whether the value affects the trained model and differs between data sets. */
static bool
matters(const char *key)
{
    static const char *const ends[] = {
        ".batch_rows", ".dropout",      ".ensemble",        ".epochs",
        ".rate",       ".ranker_trees", ".label_smoothing", ".optimizer.kind",
        ".rows",       ".sampler.kind", ".units",
    };
    size_t bytes = strlen(key);
    for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++) {
        size_t end = strlen(ends[k]);
        if (bytes > end && strcmp(key + bytes - end, ends[k]) == 0)
            return true;
    }
    return false;
}

void
cli_auto_report_print(const json_t *chosen, FILE *file)
{
    const char *key, *title = "auto";
    json_t *one;
    json_object_foreach((json_t *)(uintptr_t)chosen, key, one)
    {
        if (!matters(key))
            continue;
        char *value = json_dumps(json_object_get(one, "value"),
                                 JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
        const char *text = json_string_value(json_object_get(one, "value"));
        /* In the form that -o accepts. */
        (void)fprintf(file, "%-6s %s=%s: %s\n", title, key,
                      text    ? text
                      : value ? value
                              : "",
                      skn_json_word(one, "reason"));
        title = "";
        free(value);
    }
}
