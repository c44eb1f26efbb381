/* references.c - prints, for a host, any reference of the built-in tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "skein/config.h"
#include "topology/model/kinds_reference.h"
#include "topology/model/model_tables.h"
#include "topology/model/reference.h"

/* Prints each key: layers by the names that the examples use, and no nodes. */
static void
print_keys(const skn_section_t *section, const char *path, FILE *file)
{
    char inner[128];
    for (const skn_option_t *option = section->options; option->name; option++)
        if (path[0])
            (void)fprintf(file, "%s.%s\n", path, option->name);
    for (const skn_part_t *part = section->parts; part->name; part++) {
        (void)snprintf(inner, sizeof(inner), "%s%s%s", path, path[0] ? "." : "",
                       part->name);
        if (part->form == SKN_FORM_MAPPING) {
            print_keys(part->section, inner, file);
        } else if (part->form == SKN_FORM_LAYERS) {
            print_keys(&skn_hidden_section, "model.layers.hidden", file);
            print_keys(&skn_output_section, "model.layers.output", file);
        } else {
            (void)fprintf(file, "%s\n", inner);
        }
    }
}

static void
print_kinds(bool json, FILE *file)
{
    const skn_kind_t *const *kinds = skn_kinds_list();
    for (size_t k = 0; kinds[k]; k++) {
        if (json)
            skn_kind_print_json(kinds[k], file);
        else
            (void)fprintf(file, "%-14s %s\n", kinds[k]->name, kinds[k]->help);
    }
}

static skn_status_t
print_kind(const char *name, bool json, FILE *file, skn_error_t *error)
{
    const char *nearest = NULL;
    const skn_kind_t *kind = skn_kinds_find(name, &nearest);
    if (!kind) {
        (void)skn_fail(error, SKN_USAGE, "unknown actor kind '%s'", name);
        return nearest ? skn_fail_hint(error, SKN_USAGE, "did you mean '%s'?",
                                       nearest)
                       : skn_fail_hint(error, SKN_USAGE,
                                       "`skein actors` lists them");
    }
    if (json)
        skn_kind_print_json(kind, file);
    else
        skn_kind_print(kind, true, file);
    return SKN_OK;
}

skn_status_t
skn_reference_print(skn_reference_t reference, const char *kind, FILE *file,
                    skn_error_t *error)
{
    bool json = reference == SKN_REFERENCE_KINDS_JSON;
    skn_status_t status = SKN_OK;
    if (!file)
        return skn_fail(error, SKN_USAGE,
                        "skn_reference_print: the file is NULL");
    switch (reference) {
    case SKN_REFERENCE_CONFIG:
        return skn_model_reference_print(file, error);
    case SKN_REFERENCE_SCHEMA:
        return skn_json_schema_print(file, error);
    case SKN_REFERENCE_KEYS:
        print_keys(&skn_model_section, "", file);
        break;
    case SKN_REFERENCE_MESSAGES:
        skn_messages_reference(file);
        break;
    case SKN_REFERENCE_KINDS:
    case SKN_REFERENCE_KINDS_JSON:
        if (kind)
            status = print_kind(kind, json, file, error);
        else
            print_kinds(json, file);
        break;
    default:
        return skn_fail(error, SKN_USAGE,
                        "skn_reference_print: there is no reference %d",
                        (int)reference);
    }
    return status == SKN_OK && (fflush(file) != 0 || ferror(file))
               ? skn_fail(error, SKN_STORAGE, "writing the reference: %s",
                          strerror(errno))
               : status;
}
