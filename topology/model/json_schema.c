/* json_schema.c - prints the JSON Schema of the model file, for editors.
 *
 * Walks the tables of model_tables.c. Draft 2020-12: json-schema.org, "JSON
 * Schema: A Media Type for Describing JSON Documents" (2022).
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "formats/folder/folder.h"
#include "skein/limits.h"
#include "actors/protocol/decoder.h"
#include "topology/model/model_tables.h"
#include "topology/model/reference.h"

/* The output so far: its file, the depth of nesting, and whether a comma is
 * due. */
typedef struct json {
    FILE *file;
    int depth;
    bool started; /* the open object or list has an item */
} json_t;

static void
put_text(json_t *json, const char *text, size_t text_bytes)
{
    (void)fputc('"', json->file);
    for (size_t k = 0; k < text_bytes; k++) {
        if (text[k] == '"' || text[k] == '\\')
            (void)fputc('\\', json->file);
        (void)fputc(text[k], json->file);
    }
    (void)fputc('"', json->file);
}

/* Begins a new line for the next item and prints its key, unless that is
 * NULL. */
static void
put_key(json_t *json, const char *key)
{
    if (json->depth > 0)
        (void)fprintf(json->file, "%s\n%*s", json->started ? "," : "",
                      2 * json->depth, "");
    json->started = true;
    if (key) {
        put_text(json, key, strlen(key));
        (void)fputs(": ", json->file);
    }
}

static void
open_with(json_t *json, const char *key, char bracket)
{
    put_key(json, key);
    (void)fputc(bracket, json->file);
    json->depth++;
    json->started = false;
}

static void
close_with(json_t *json, char bracket)
{
    json->depth--;
    if (json->started)
        (void)fprintf(json->file, "\n%*s", 2 * json->depth, "");
    (void)fputc(bracket, json->file);
    json->started = true;
}

static void
pair(json_t *json, const char *key, const char *text)
{
    put_key(json, key);
    put_text(json, text, strlen(text));
}

static void
pair_number(json_t *json, const char *key, double number)
{
    put_key(json, key);
    (void)skn_text_print(json->file, "%.16g", number);
}

/* Prints the words of "a|b" as a list. */
static void
pair_words(json_t *json, const char *key, const char *choices)
{
    open_with(json, key, '[');
    while (choices) {
        size_t bytes = strcspn(choices, "|");
        put_key(json, NULL);
        put_text(json, choices, bytes);
        choices = choices[bytes] ? choices + bytes + 1 : NULL;
    }
    close_with(json, ']');
}

/* --- values -------------------------------------------------------------- */

static void
put_number_type(json_t *json, const skn_option_t *option)
{
    pair(json, "type", option->type == SKN_OPTION_INT ? "integer" : "number");
    pair_number(json, "minimum", option->min);
    if (option->max < (double)INT64_MAX)
        pair_number(json, "maximum", option->max);
}

static void
open_any(json_t *json)
{
    open_with(json, "anyOf", '[');
    open_with(json, NULL, '{');
}

static void
next_any(json_t *json)
{
    close_with(json, '}');
    open_with(json, NULL, '{');
}

static void
close_any(json_t *json)
{
    close_with(json, '}');
    close_with(json, ']');
}

/* Allows a number and, where the option takes them, a size with a unit or
 * auto. */
static void
put_number(json_t *json, const skn_option_t *option, skn_slot_kind_t slot_kind)
{
    bool takes_auto = skn_option_takes_auto(option);
    if (!takes_auto && slot_kind != SKN_SLOT_SIZE) {
        put_number_type(json, option);
        return;
    }
    open_any(json);
    put_number_type(json, option);
    if (slot_kind == SKN_SLOT_SIZE) {
        next_any(json);
        pair(json, "type", "string");
        pair(json, "pattern", "^[1-9][0-9]*[KMGT]iB$");
    }
    if (takes_auto) {
        next_any(json);
        pair(json, "const", "auto");
    }
    close_any(json);
}

static void
put_type(json_t *json, const skn_option_t *option, skn_slot_kind_t slot_kind)
{
    switch (option->type) {
    case SKN_OPTION_BOOL:
        pair(json, "type", "boolean");
        break;
    case SKN_OPTION_INT:
    case SKN_OPTION_REAL:
        put_number(json, option, slot_kind);
        break;
    case SKN_OPTION_CHOICE:
        pair_words(json, "enum", option->choices);
        break;
    case SKN_OPTION_PATH:
        if (option->min > 0) {
            pair_words(json, "type", "string|array");
            open_with(json, "items", '{');
            pair(json, "type", "string");
            close_with(json, '}');
        } else {
            pair(json, "type", "string");
        }
        if (!option->fallback || option->fallback[0])
            pair_number(json, "minLength", 1);
        break;
    case SKN_OPTION_TEXT:
        pair(json, "type", "string");
        break;
    }
}

static void
put_default(json_t *json, const skn_option_t *option)
{
    bool is_plain =
        option->type == SKN_OPTION_BOOL ||
        ((option->type == SKN_OPTION_INT || option->type == SKN_OPTION_REAL) &&
         strcmp(option->fallback, "auto") != 0 &&
         strstr(option->fallback, "iB") == NULL);
    if (!is_plain) {
        pair(json, "default", option->fallback);
        return;
    }
    put_key(json, "default");
    (void)fputs(option->fallback, json->file);
}

static void
put_option(json_t *json, const skn_option_t *option, skn_slot_kind_t slot_kind)
{
    open_with(json, option->name, '{');
    pair(json, "description", option->help);
    put_type(json, option, slot_kind);
    if (option->fallback)
        put_default(json, option);
    close_with(json, '}');
}

/* --- sections ------------------------------------------------------------ */

static void put_section(json_t *json, const skn_section_t *section);

static void
put_layers(json_t *json)
{
    open_any(json);
    pair(json, "type", "array");
    pair_number(json, "minItems", 2);
    open_with(json, "items", '{');
    open_any(json);
    put_section(json, &skn_hidden_section);
    next_any(json);
    put_section(json, &skn_output_section);
    close_any(json);
    close_with(json, '}');
    next_any(json);
    pair(json, "type", "integer");
    pair_number(json, "minimum", 1);
    pair_number(json, "maximum", SKN_DECODER_LAYERS_MAX);
    close_any(json);
}

static void
put_cores(json_t *json)
{
    open_any(json);
    pair(json, "const", "auto");
    next_any(json);
    pair(json, "type", "integer");
    pair_number(json, "minimum", 1);
    pair_number(json, "maximum", SKN_ACTORS_MAX);
    next_any(json);
    pair(json, "type", "string");
    pair(json, "pattern", "^[0-9]+-[0-9]+$");
    next_any(json);
    pair(json, "type", "array");
    pair_number(json, "minItems", 1);
    put_key(json, "uniqueItems");
    (void)fputs("true", json->file);
    open_with(json, "items", '{');
    pair(json, "type", "integer");
    pair_number(json, "minimum", 0);
    pair_number(json, "maximum", SKN_ACTORS_MAX - 1);
    close_with(json, '}');
    close_any(json);
}

static void
put_part(json_t *json, const skn_part_t *part)
{
    open_with(json, part->name, '{');
    switch (part->form) {
    case SKN_FORM_MAPPING:
        put_section(json, part->section);
        break;
    case SKN_FORM_LAYERS:
        pair(json, "description", part->help);
        put_layers(json);
        break;
    case SKN_FORM_NODES:
        pair(json, "description", part->help);
        pair(json, "type", "array");
        pair_number(json, "maxItems", SKN_CLUSTER_NODES_MAX);
        open_with(json, "items", '{');
        put_section(json, part->section);
        close_with(json, '}');
        break;
    case SKN_FORM_PATHS:
        pair(json, "description", part->help);
        pair(json, "type", "array");
        open_with(json, "items", '{');
        pair(json, "type", "string");
        close_with(json, '}');
        break;
    case SKN_FORM_CORES:
        pair(json, "description", part->help);
        put_cores(json);
        break;
    }
    close_with(json, '}');
}

/* Prints the members of an object's schema, which the caller has opened. */
static void
put_section(json_t *json, const skn_section_t *section)
{
    pair(json, "description", section->help);
    pair(json, "type", "object");
    put_key(json, "additionalProperties");
    (void)fputs("false", json->file);
    open_with(json, "required", '[');
    for (const skn_option_t *option = section->options; option->name; option++)
        if (!option->fallback)
            pair(json, NULL, option->name);
    for (const skn_part_t *part = section->parts; part->name; part++)
        if (skn_part_is_required(part))
            pair(json, NULL, part->name);
    close_with(json, ']');
    open_with(json, "properties", '{');
    for (size_t k = 0; section->options[k].name; k++)
        put_option(json, &section->options[k], section->slots[k].kind);
    for (const skn_part_t *part = section->parts; part->name; part++)
        put_part(json, part);
    close_with(json, '}');
}

skn_status_t
skn_json_schema_print(FILE *file, skn_error_t *error)
{
    json_t json = { .file = file };
    open_with(&json, NULL, '{');
    pair(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    pair(&json, "title", "Skein model file, version 1");
    put_section(&json, &skn_model_section);
    close_with(&json, '}');
    (void)fputc('\n', file);
    return skn_file_finish(file, "writing the schema", error);
}
