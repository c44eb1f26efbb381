/* model_write.c - prints a model as a model file.
 *
 * Builds the tree by the tables of model_tables.c and lets document_write.c
 * print it, so that the reader accepts the output.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/model/model.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "topology/config/document.h"
#include "topology/model/model_rules.h"
#include "topology/model/model_tables.h"

typedef struct writer {
    const skn_model_t *model;
    skn_reasons_t *reasons; /* reasons of some values; or NULL */
    skn_document_t *document;
    skn_problems_t *problems;       /* reports only that memory is short */
    char key[SKN_REASON_KEY_BYTES]; /* key of the value being written, as for
                                     * -o */
} writer_t;

/* Appends `name` to the key; returns the previous end, for leave(). */
static size_t
enter(writer_t *writer, const char *name)
{
    size_t end = strlen(writer->key);
    (void)snprintf(writer->key + end, sizeof(writer->key) - end, "%s%s",
                   end > 0 ? "." : "", name);
    return end;
}

static void
leave(writer_t *writer, size_t end)
{
    writer->key[end] = '\0';
}

static skn_node_t *
append(writer_t *writer, skn_node_t *parent, skn_node_type_t type,
       const char *key, const char *text, bool quoted)
{
    return parent ? skn_document_append(writer->document, parent, type, key,
                                        text, quoted, writer->problems)
                  : NULL;
}

static void write_section(writer_t *writer, skn_node_t *parent,
                          const skn_section_t *section, const void *base);

static void
write_layers(writer_t *writer, skn_node_t *parent, const char *key)
{
    char text[SKN_VALUE_TEXT_BYTES];
    if (skn_model_is_decoder(writer->model)) {
        (void)snprintf(text, sizeof(text), "%" PRId64,
                       writer->model->decoder.layers);
        (void)append(writer, parent, SKN_NODE_SCALAR, key, text, false);
        return;
    }
    skn_node_t *list = append(writer, parent, SKN_NODE_LIST, key, NULL, false);
    for (size_t k = 0; k < writer->model->layer_count; k++) {
        const skn_model_layer_t *layer = &writer->model->layers[k];
        size_t end = enter(writer, layer->name);
        write_section(
            writer, append(writer, list, SKN_NODE_MAPPING, NULL, NULL, false),
            layer->output ? &skn_output_section : &skn_hidden_section, layer);
        leave(writer, end);
    }
}

static void
write_plugins(writer_t *writer, skn_node_t *parent, const char *key)
{
    skn_node_t *list = append(writer, parent, SKN_NODE_LIST, key, NULL, false);
    for (size_t k = 0; k < writer->model->plugin_count; k++)
        (void)append(writer, list, SKN_NODE_SCALAR, NULL,
                     writer->model->plugins[k], true);
}

static void
write_nodes(writer_t *writer, skn_node_t *parent, const char *key)
{
    if (writer->model->node_count == 0)
        return;
    skn_node_t *list = append(writer, parent, SKN_NODE_LIST, key, NULL, false);
    for (size_t k = 0; k < writer->model->node_count; k++)
        write_section(writer,
                      append(writer, list, SKN_NODE_MAPPING, NULL, NULL, false),
                      &skn_node_section, &writer->model->nodes[k]);
}

static void
write_cores(writer_t *writer, skn_node_t *parent, const char *key,
            const skn_model_cores_t *cores)
{
    char text[SKN_VALUE_TEXT_BYTES] = "auto";
    if (cores->count == 0) {
        if (cores->limit != SKN_AUTO)
            (void)snprintf(text, sizeof(text), "%" PRId64, cores->limit);
        (void)append(writer, parent, SKN_NODE_SCALAR, key, text, false);
        return;
    }
    skn_node_t *list = append(writer, parent, SKN_NODE_LIST, key, NULL, false);
    for (size_t k = 0; k < cores->count; k++) {
        (void)snprintf(text, sizeof(text), "%" PRIu32, cores->list[k]);
        (void)append(writer, list, SKN_NODE_SCALAR, NULL, text, false);
    }
}

static void
write_part(writer_t *writer, skn_node_t *parent, const skn_part_t *part,
           const void *base)
{
    const skn_model_t *model = writer->model;
    if (part->section == &skn_head_section && !skn_model_is_decoder(model))
        return;
    size_t end = enter(writer, part->name);
    switch (part->form) {
    case SKN_FORM_MAPPING:
        write_section(
            writer,
            append(writer, parent, SKN_NODE_MAPPING, part->name, NULL, false),
            part->section,
            part->section == &skn_head_section
                ? (const void *)&model->layers[model->layer_count - 1]
                : (const char *)base + part->offset);
        break;
    case SKN_FORM_LAYERS:
        write_layers(writer, parent, part->name);
        break;
    case SKN_FORM_PATHS:
        write_plugins(writer, parent, part->name);
        break;
    case SKN_FORM_CORES:
        write_cores(
            writer, parent, part->name,
            (const skn_model_cores_t *)((const char *)base + part->offset));
        break;
    case SKN_FORM_NODES:
        write_nodes(writer, parent, part->name);
        break;
    }
    leave(writer, end);
}

/* Attaches the reason of the value as its comment, and stores the value with
 * the reason. */
static void
add_reason(writer_t *writer, const char *name, const char *value,
           skn_node_t *node)
{
    size_t end = enter(writer, name);
    skn_reason_t *reason =
        writer->reasons ? skn_reasons_find(writer->reasons, writer->key) : NULL;
    leave(writer, end);
    if (!reason || !node)
        return;
    (void)snprintf(reason->value, sizeof(reason->value), "%s", value);
    node->note = reason->note;
}

/* Whether a key of data is for rows of texts alone. */
static bool
is_for_texts(const char *key)
{
    static const char *const keys[] = {
        "text_column",  "category_columns", "number_columns",
        "label_column", "label_separator",  "bad_rows",
        "word_groups",  "letter_groups",    "term_rows",
        "terms_max",    "term_values",
    };
    size_t k = 0;
    while (k < sizeof(keys) / sizeof(keys[0]) && strcmp(keys[k], key) != 0)
        k++;
    return k < sizeof(keys) / sizeof(keys[0]);
}

/* Whether the reader would refuse the value as one without effect: a plan
 * decides every value, also those. */
static bool
is_refused(const skn_model_t *model, const skn_section_t *section, size_t k,
           const void *base)
{
    const skn_option_t *option = &section->options[k];
    if (!skn_rules_concern(model, section, option->name) ||
        (base == &model->data && model->data.format == SKN_DATA_FORMAT_POINTS &&
         is_for_texts(option->name)))
        return true;
    return section->slots[k].kind != SKN_SLOT_NONE &&
           !skn_slot_is_default(option, section->slots[k], base) &&
           !skn_rules_mean(section, option->name, base);
}

static void
write_section(writer_t *writer, skn_node_t *parent,
              const skn_section_t *section, const void *base)
{
    char text[SKN_VALUE_TEXT_BYTES];
    for (size_t k = 0; section->options[k].name; k++) {
        const skn_option_t *option = &section->options[k];
        skn_slot_t slot = section->slots[k];
        bool is_text = slot.kind == SKN_SLOT_TEXT || slot.kind == SKN_SLOT_PATH;
        if (is_refused(writer->model, section, k, base))
            continue;
        const char *value =
            slot.kind == SKN_SLOT_NONE
                ? "1"
                : skn_slot_text(option, slot, base, text, sizeof(text));
        add_reason(writer, option->name, value,
                   append(writer, parent, SKN_NODE_SCALAR, option->name, value,
                          is_text));
    }
    for (const skn_part_t *part = section->parts; part->name; part++)
        write_part(writer, parent, part, base);
}

skn_status_t
skn_model_write(const skn_model_t *model, FILE *file, skn_error_t *error)
{
    return skn_model_write_why(model, NULL, file, error);
}

skn_document_t *
skn_model_document(const skn_model_t *model, skn_reasons_t *reasons,
                   skn_error_t *error)
{
    writer_t writer = { .model = model, .reasons = reasons };
    writer.problems = skn_problems_new(error);
    if (!writer.problems)
        return NULL;
    writer.document = skn_document_new(model->source, writer.problems);
    if (writer.document)
        write_section(&writer, skn_document_edit(writer.document),
                      &skn_model_section, model);
    if (skn_problems_error(writer.problems, error) != SKN_OK)
        skn_document_destroy(&writer.document);
    skn_problems_destroy(&writer.problems);
    return writer.document;
}

skn_status_t
skn_model_write_why(const skn_model_t *model, skn_reasons_t *reasons,
                    FILE *file, skn_error_t *error)
{
    skn_document_t *document = skn_model_document(model, reasons, error);
    if (!document)
        return SKN_NO_MEMORY;
    skn_status_t status =
        file ? skn_document_write(skn_document_root(document), file,
                                  "writing the model", error)
             : SKN_OK;
    skn_document_destroy(&document);
    return status;
}
