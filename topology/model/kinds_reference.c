/* kinds_reference.c - prints the kinds of actors and the messages, from their
 * own tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/model/kinds_reference.h"

#include <inttypes.h>
#include <string.h>

#include "actors/protocol/kinds.h"
#include "actors/protocol/messages.h"
#include "formats/text/json_text.h"
#include "topology/config/nearest.h"
#include "topology/config/values.h"

static const char *const option_types[] = {
    [SKN_OPTION_BOOL] = "truth",  [SKN_OPTION_INT] = "whole number",
    [SKN_OPTION_REAL] = "number", [SKN_OPTION_TEXT] = "text",
    [SKN_OPTION_PATH] = "path",   [SKN_OPTION_CHOICE] = "word",
};

static const char *const field_kinds[] = {
#define K(kind, type, item_bytes, help) #kind,
    SKN_FIELD_KINDS(K)
#undef K
};

const skn_kind_t *const *
skn_kinds_list(void)
{
    return skn_kinds;
}

const skn_kind_t *
skn_kinds_find(const char *name, const char **nearest)
{
    skn_nearest_t wanted = { .wanted = name };
    for (size_t k = 0; skn_kinds[k]; k++) {
        if (strcmp(skn_kinds[k]->name, name) == 0)
            return skn_kinds[k];
        skn_nearest_offer(&wanted, skn_kinds[k]->name);
    }
    *nearest = wanted.best;
    return NULL;
}

static bool
is_number(const skn_option_t *option)
{
    return option->type == SKN_OPTION_INT || option->type == SKN_OPTION_REAL;
}

/* "1 to 64", "at least 1", "fixed|free". */
static void
range_text(const skn_option_t *option, char *text, size_t text_bytes)
{
    if (option->type == SKN_OPTION_BOOL)
        (void)snprintf(text, text_bytes, "true|false");
    else if (is_number(option) && option->max >= 1e15)
        (void)skn_text_write(text, text_bytes, "at least %.10g", option->min);
    else if (is_number(option))
        (void)skn_text_write(text, text_bytes, "%.10g to %.10g", option->min,
                             option->max);
    else
        (void)snprintf(text, text_bytes, "%s",
                       option->choices ? option->choices : "");
}

static void
print_option(const skn_option_t *option, FILE *file)
{
    char range[256];
    range_text(option, range, sizeof(range));
    (void)fprintf(file, "    %-16s %s%s%s", option->name,
                  option_types[option->type], range[0] ? ", " : "", range);
    if (!option->fallback)
        (void)fputs("; required\n", file);
    else if (option->fallback[0])
        (void)fprintf(file, "; default %s\n", option->fallback);
    else
        (void)fputs("; default: none\n", file);
    (void)fprintf(file, "    %-16s   %s\n", "", option->help);
}

static void
print_message(const skn_schema_t *schema, bool fields, FILE *file)
{
    (void)fprintf(file, "    %-16s %s\n", schema->name, schema->help);
    for (size_t k = 0; fields && k < schema->field_count; k++)
        (void)fprintf(file, "      %-16s %-5s %s\n", schema->fields[k].name,
                      field_kinds[schema->fields[k].kind],
                      schema->fields[k].help);
}

void
skn_kind_print(const skn_kind_t *kind, bool fields, FILE *file)
{
    (void)fprintf(file, "%s - %s\n", kind->name, kind->help);
    if (kind->options && kind->options[0].name)
        (void)fputs("  options\n", file);
    for (size_t k = 0; kind->options && kind->options[k].name; k++)
        print_option(&kind->options[k], file);
    if (kind->handlers && kind->handlers[0].schema)
        (void)fputs("  handles\n", file);
    for (size_t k = 0; kind->handlers && kind->handlers[k].schema; k++)
        print_message(kind->handlers[k].schema, fields, file);
    if (kind->sends && kind->sends[0])
        (void)fputs("  sends\n", file);
    for (size_t k = 0; kind->sends && kind->sends[k]; k++)
        print_message(kind->sends[k], fields, file);
}

/* --- JSON ---------------------------------------------------------------- */

static void
add_option(skn_json_text_t *text, const skn_option_t *option)
{
    char least[SKN_REAL_TEXT_BYTES], most[SKN_REAL_TEXT_BYTES];
    skn_json_text_add(text, "{\"name\":\"%s\",\"type\":\"%s\",\"default\":",
                      option->name, option_types[option->type]);
    if (option->fallback)
        skn_json_text_add_string(text, option->fallback);
    else
        skn_json_text_add(text, "null");
    skn_json_text_add(text, ",\"required\":%s",
                      option->fallback ? "false" : "true");
    if (option->type == SKN_OPTION_REAL) {
        skn_value_real_text(option->min, least);
        skn_value_real_text(option->max, most);
        skn_json_text_add(text, ",\"min\":%s,\"max\":%s", least, most);
    } else if (is_number(option)) {
        skn_json_text_add(text, ",\"min\":%.17g,\"max\":%.17g", option->min,
                          option->max);
    }
    if (option->choices) {
        skn_json_text_add(text, ",\"choices\":");
        skn_json_text_add_string(text, option->choices);
    }
    skn_json_text_add(text, ",\"help\":");
    skn_json_text_add_string(text, option->help);
    skn_json_text_add(text, "}");
}

/* True if the field has a limit that JSON can hold: numbers end at 2^53
 * there. */
static bool
is_limited(const skn_field_t *field)
{
    return field->kind != SKN_FIELD_f64 && field->kind != SKN_FIELD_loan &&
           field->max <= UINT64_C(1) << 53;
}

static void
add_message(skn_json_text_t *text, const skn_schema_t *schema)
{
    skn_json_text_add(text, "{\"name\":\"%s\",\"id\":%" PRIu32 ",\"help\":",
                      schema->name, schema->id);
    skn_json_text_add_string(text, schema->help);
    skn_json_text_add(text, ",\"fields\":[");
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        skn_json_text_add(text, "%s{\"name\":\"%s\",\"kind\":\"%s\"",
                          k ? "," : "", field->name, field_kinds[field->kind]);
        if (is_limited(field))
            skn_json_text_add(text, ",\"max\":%" PRIu64, field->max);
        skn_json_text_add(text, ",\"help\":");
        skn_json_text_add_string(text, field->help);
        skn_json_text_add(text, "}");
    }
    skn_json_text_add(text, "]}");
}

void
skn_kind_print_json(const skn_kind_t *kind, FILE *file)
{
    skn_json_text_t text = { 0 };
    skn_json_text_add(&text, "{\"kind\":\"%s\",\"help\":", kind->name);
    skn_json_text_add_string(&text, kind->help);
    skn_json_text_add(&text, ",\"computes\":%s,\"gate\":%s,\"options\":[",
                      kind->is_compute_bound ? "true" : "false",
                      kind->gate ? "true" : "false");
    for (size_t k = 0; kind->options && kind->options[k].name; k++) {
        skn_json_text_add(&text, "%s", k ? "," : "");
        add_option(&text, &kind->options[k]);
    }
    skn_json_text_add(&text, "],\"handles\":[");
    for (size_t k = 0; kind->handlers && kind->handlers[k].schema; k++) {
        skn_json_text_add(&text, "%s", k ? "," : "");
        add_message(&text, kind->handlers[k].schema);
    }
    skn_json_text_add(&text, "],\"sends\":[");
    for (size_t k = 0; kind->sends && kind->sends[k]; k++) {
        skn_json_text_add(&text, "%s", k ? "," : "");
        add_message(&text, kind->sends[k]);
    }
    skn_json_text_add(&text, "]}");
    if (!text.failed)
        (void)fprintf(file, "%s\n", text.bytes);
    skn_json_text_fini(&text);
}

void
skn_messages_reference(FILE *file)
{
    skn_messages_document(file);
}
