/* auto_report.c - prints what `auto` has chosen, for people.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/auto_report.h"
#include "formats/text/json_text.h"

#include <string.h>

/* Whether the value affects the trained model and differs between data sets. */
static bool
matters(const char *key)
{
    static const char *const ends[] = {
        ".batch_rows",      ".dropout",        ".ensemble",
        ".epochs",          ".rate",           ".ranker_trees",
        ".label_smoothing", ".optimizer.kind", ".rows",
        ".sampler.kind",    ".units",          ".format",
        ".label_separator", ".word_groups",    ".letter_groups",
        ".term_values",
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
        /* Numbered features need no other line. */
        if (!matters(key) || strcmp(skn_json_word(one, "value"), "points") == 0)
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
