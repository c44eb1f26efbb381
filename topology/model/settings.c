/* settings.c - writes and compares the settings that all machines of a run must
 * share.
 *
 * The text is written from the tables of model_tables.c, so that a new key is
 * included without further code; the few keys that each machine may set for
 * itself are listed here.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/model/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/text.h"
#include "skein/limits.h"
#include "topology/model/model_rules.h"
#include "topology/model/model_tables.h"

/* "model.layers.<name>.sampler" */
#define SETTING_PATH_BYTES (SKN_NAME_MAX + 64)
/* Bytes of a value that a message shows: the names of all layers are one
 * value. */
#define SHOWN 60

/* --- writing -------------------------------------------------------------- */

static bool
is_own(const char *path, const skn_option_t *option, skn_slot_t slot)
{
    return slot.kind == SKN_SLOT_NONE || slot.kind == SKN_SLOT_PATH ||
           slot.kind == SKN_SLOT_SIZE || /* sizes of memory */
           strcmp(option->name, "offload") == 0 ||
           (slot.kind == SKN_SLOT_TEXT && strcmp(option->name, "name") == 0) ||
           (strcmp(path, "links") == 0 && strcmp(option->name, "coding") != 0);
}

/* A text may be empty, and have whatever the names of a user's columns have. */
static void
write_value(FILE *file, const char *path, const skn_option_t *option,
            skn_slot_t slot, const char *value)
{
    (void)fprintf(file, "%s.%s ", path, option->name);
    if (slot.kind == SKN_SLOT_TEXT)
        skn_text_escape(SKN_TEXT_JSON, value, file);
    else
        (void)fputs(value, file);
    (void)fputc('\n', file);
}

static void
write_section(FILE *file, const skn_model_t *model, const char *path,
              const skn_section_t *section, const void *base)
{
    char text[SKN_VALUE_TEXT_BYTES], inner[SETTING_PATH_BYTES];
    for (size_t k = 0; section->options[k].name; k++) {
        const skn_option_t *option = &section->options[k];
        if (!is_own(path, option, section->slots[k]) &&
            skn_rules_concern(model, section, option->name))
            write_value(file, path, option, section->slots[k],
                        skn_slot_text(option, section->slots[k], base, text,
                                      sizeof(text)));
    }
    for (const skn_part_t *part = section->parts; part->name; part++) {
        (void)snprintf(inner, sizeof(inner), "%s.%s", path, part->name);
        if (part->form == SKN_FORM_MAPPING)
            write_section(file, model, inner, part->section,
                          (const char *)base + part->offset);
    }
}

static void
write_layer(FILE *file, const skn_model_t *model,
            const skn_model_layer_t *layer)
{
    char path[SETTING_PATH_BYTES];
    (void)snprintf(path, sizeof(path), "model.layers.%.64s", layer->name);
    write_section(file, model, path,
                  layer->output ? &skn_output_section : &skn_hidden_section,
                  layer);
}

/* Writes the section of the whole file that has this name. */
static void
write_part(FILE *file, const char *name, const skn_model_t *model)
{
    for (const skn_part_t *part = skn_model_section.parts; part->name; part++)
        if (strcmp(part->name, name) == 0)
            write_section(file, model, name, part->section,
                          (const char *)model + part->offset);
}

/* The plan uses the rate of links only where a node must hand over in time, or
 * a decoder has micro-batches on them. */
static bool
uses_rate(const skn_model_t *model)
{
    for (size_t k = 0; k < model->node_count; k++)
        if (model->nodes[k].notice_s > 0)
            return true;
    return skn_model_is_decoder(model);
}

static void
write_all(FILE *file, const skn_model_t *model)
{
    (void)fputs("model.layers ", file);
    for (size_t k = 0; k < model->layer_count; k++)
        (void)fprintf(file, "%s%.64s", k > 0 ? "," : "", model->layers[k].name);
    (void)fputc('\n', file);
    for (size_t k = 0; k < model->layer_count; k++)
        write_layer(file, model, &model->layers[k]);
    if (skn_model_is_decoder(model))
        (void)fprintf(file, "model.kind decoder\nmodel.depth %lld\n",
                      (long long)model->decoder.layers);
    write_part(file, "model", model);
    write_part(file, "train", model);
    write_part(file, "data", model);
    (void)fprintf(file, "data.test %s\n",
                  model->data.test[0] || model->data.held_back > 0 ? "given"
                                                                   : "none");
    write_part(file, "checkpoint", model);
    write_part(file, "links", model);
    if (uses_rate(model))
        (void)skn_text_print(file, "links.rate %.17g\n", model->links.rate);
    if (skn_model_is_decoder(model))
        (void)skn_text_print(file, "links.latency %.17g\n",
                             model->links.latency);
    (void)fprintf(file, "coordinator.recovery %s\n",
                  model->coordinator.recovery == SKN_RECOVERY_PARTIAL
                      ? "partial"
                      : "rollback");
}

char *
skn_settings_text(const skn_model_t *model, skn_error_t *error)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    bool good = file != NULL;
    if (file) {
        write_all(file, model);
        good = ferror(file) == 0;
        good = fclose(file) == 0 && good;
    }
    if (good && bytes <= SKN_SETTINGS_BYTES_MAX)
        return text;
    free(text);
    (void)skn_fail(error, SKN_NO_MEMORY, "no memory for the settings of a run");
    return NULL;
}

/* --- comparing ------------------------------------------------------------ */

typedef struct setting_line {
    const char *key, *value;
    int key_bytes, value_bytes;
} setting_line_t;

/* Reads the next line of *text; false at the end, or if it is not a setting. */
static bool
next_line(const char **text, setting_line_t *line)
{
    const char *end = strchr(*text, '\n'), *at = *text;
    if (!end)
        return false;
    for (size_t bytes; at < end; at += bytes) {
        bytes = skn_text_character_bytes(at, end);
        if (bytes == 0 || (bytes == 1 && *at < ' '))
            return false;
    }
    *line = (setting_line_t){ .key = *text };
    line->key_bytes = (int)strcspn(*text, " \n");
    line->value = *text + line->key_bytes + 1;
    line->value_bytes = (int)(end - line->value);
    *text = end + 1;
    return line->key_bytes > 0 && line->value_bytes > 0;
}

static bool
is_text(const char *text)
{
    setting_line_t line;
    if (strnlen(text, SKN_SETTINGS_BYTES_MAX + 1) > SKN_SETTINGS_BYTES_MAX)
        return false;
    while (*text)
        if (!next_line(&text, &line))
            return false;
    return true;
}

/* Finds the line with the key of `wanted`. Both texts usually have the same
 * order, so the search begins at the next line. */
static bool
find(const char *text, const char **from, const setting_line_t *wanted,
     setting_line_t *found)
{
    for (const char *at = *from; next_line(&at, found);)
        if (found->key_bytes == wanted->key_bytes &&
            memcmp(found->key, wanted->key, (size_t)found->key_bytes) == 0) {
            *from = at;
            return true;
        }
    if (*from == text)
        return false;
    *from = text;
    return find(text, from, wanted, found);
}

/* Bytes of a value that are shown, in whole characters. */
static int
shown(const setting_line_t *line)
{
    int bytes = line->value_bytes;
    if (bytes <= SHOWN)
        return bytes;
    for (bytes = SHOWN; bytes > 0 && (line->value[bytes] & 0xc0) == 0x80;)
        bytes--;
    return bytes;
}

/* Whether an -o option alone can make the setting equal on both machines. */
static bool
is_value(const setting_line_t *line)
{
    static const char *const others[] = { "model.layers ", "data.test " };
    for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++)
        if (strncmp(line->key, others[k], strlen(others[k])) == 0)
            return false;
    return line->key_bytes < 3 ||
           memcmp(line->key + line->key_bytes - 3, ".of", 3) != 0;
}

static skn_status_t
refuse(const setting_line_t *run, const setting_line_t *theirs, size_t others,
       const char *name, skn_error_t *error)
{
    char more[60] = "";
    if (others > 0)
        (void)snprintf(more, sizeof(more), " (%zu more key%s)", others,
                       others == 1 ? " differs" : "s differ");
    (void)skn_fail(error, SKN_BAD_CONFIG,
                   "node '%.64s' has another config: %.*s is %.*s there, and "
                   "%.*s in the run%s",
                   name, run->key_bytes, run->key, shown(theirs), theirs->value,
                   shown(run), run->value, more);
    if (!is_value(run) || shown(run) < run->value_bytes)
        return skn_fail_hint(error, SKN_BAD_CONFIG,
                             "start it with the coordinator's file");
    return skn_fail_hint(error, SKN_BAD_CONFIG,
                         "start it with the coordinator's file, and the same "
                         "-o: %.*s=%.*s",
                         run->key_bytes, run->key, shown(run), run->value);
}

skn_status_t
skn_settings_compare(const char *run, const char *theirs, const char *name,
                     skn_error_t *error)
{
    const char *from = theirs;
    setting_line_t mine, its, first_mine = { 0 }, first_its = { 0 };
    size_t count = 0;
    if (!is_text(theirs))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "node '%.64s' describes its config in an unknown way",
                        name);
    while (next_line(&run, &mine)) {
        if (!find(theirs, &from, &mine, &its) ||
            (mine.value_bytes == its.value_bytes &&
             memcmp(mine.value, its.value, (size_t)its.value_bytes) == 0))
            continue;
        if (count++ == 0) {
            first_mine = mine;
            first_its = its;
        }
    }
    return count == 0 ? SKN_OK
                      : refuse(&first_mine, &first_its, count - 1, name, error);
}
