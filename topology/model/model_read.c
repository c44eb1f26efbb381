/* model_read.c - reads a model file into a skn_model_t.
 *
 * Walks the tables of model_tables.c; values.c checks each key, this file puts
 * the values into their structs, and model_rules.c checks the rules between
 * keys. The forms that are not plain mappings are in model_forms.c. This file
 * owns: the memory of a model.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/model/model.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/text.h"
#include "topology/model/model_internal.h"
#include "topology/model/model_rules.h"
#include "topology/config/values.h"
#include "topology/model/model_text.h"

/* Keys of the largest section, with room; a table that outgrows it fails the
 * first test that reads a file. */
#define OPTIONS_MAX 24u
#define PARTS_MAX 24u

/* --- memory -------------------------------------------------------------- */

void *
skn_reader_reserve(reader_t *reader, size_t bytes)
{
    block_t *block = calloc(1, sizeof(*block) + bytes);
    if (!block) {
        (void)skn_problems_fail(reader->problems, SKN_NO_MEMORY,
                                "no memory for a model");
        return NULL;
    }
    block->next = reader->owned->blocks;
    reader->owned->blocks = block;
    return block->bytes;
}

const char *
skn_reader_text(reader_t *reader, const char *text)
{
    size_t bytes = text ? strlen(text) + 1 : 0;
    char *copy = text ? skn_reader_reserve(reader, bytes) : NULL;
    return copy ? memcpy(copy, text, bytes) : "";
}

/* Returns the name of the file without folder and extension. It becomes the
 * name of the topology, whose names are plain words: any other byte becomes
 * '_'. */
static const char *
keep_name(reader_t *reader, const char *source)
{
    const char *slash = strrchr(source, '/');
    const char *name = slash ? slash + 1 : source;
    size_t bytes = strlen(name);
    const char *dot = strrchr(name, '.');
    if (dot && dot != name &&
        (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0))
        bytes = (size_t)(dot - name);
    char *copy = skn_reader_reserve(reader, bytes + 1);
    for (size_t k = 0; copy && k < bytes; k++) {
        bool plain = skn_text_is_letter(name[k]) ||
                     skn_text_is_digit(name[k]) || name[k] == '_' ||
                     (k > 0 && (name[k] == '-' || name[k] == '.'));
        copy[k] = plain ? name[k] : '_';
    }
    return copy ? copy : "";
}

void
skn_model_destroy(skn_model_t **model)
{
    if (!*model)
        return;
    owned_t *owned = (owned_t *)*model;
    while (owned->blocks) {
        block_t *block = owned->blocks;
        owned->blocks = block->next;
        free(block);
    }
    free(owned);
    *model = NULL;
}

const char *
skn_model_place_text(const skn_model_place_t *place, char *text, size_t bytes)
{
    if (place->line > 0)
        (void)snprintf(text, bytes, "%.200s:%u:%u", place->origin, place->line,
                       place->column);
    else
        (void)snprintf(text, bytes, "%.200s", place->origin);
    return text;
}

/* --- sections ------------------------------------------------------------ */

static void read_part(reader_t *reader, const skn_node_t *mapping,
                      const skn_part_t *part, const char *owner, void *base,
                      skn_mark_t place);

/* Whether these may be the layers of a decoder, which are a number, where a
 * mistake beside them hides the kind of model. */
static bool
is_depth(const skn_node_t *mapping, const skn_part_t *part)
{
    const skn_node_t *node = skn_node_get(mapping, part->name);
    return part->form == SKN_FORM_LAYERS && node &&
           node->type == SKN_NODE_SCALAR;
}

void
skn_reader_section(reader_t *reader, const skn_node_t *node,
                   const skn_section_t *section, const char *owner,
                   const char *const *others, void *base, skn_mark_t place)
{
    skn_value_t values[OPTIONS_MAX];
    const char *keys[PARTS_MAX + 1];
    size_t count = 0;
    assert(skn_values_count(section->options) <= OPTIONS_MAX);
    for (const skn_part_t *part = section->parts; part->name; part++)
        keys[count++] = part->name;
    for (size_t k = 0; others && others[k]; k++)
        keys[count++] = others[k];
    assert(count <= PARTS_MAX);
    keys[count] = NULL;
    if (node)
        place = node->mark;
    bool good =
        skn_values_check(reader->document, node, section->options, keys, owner,
                         place, values, reader->problems) == SKN_OK;
    for (size_t k = 0; good && section->options[k].name; k++) {
        skn_slot_kind_t kind = section->slots[k].kind;
        if (kind == SKN_SLOT_TEXT || kind == SKN_SLOT_PATH)
            values[k].text = skn_reader_text(reader, values[k].text);
        skn_slot_fill(section->slots[k], &values[k], base);
    }
    for (const skn_part_t *part = section->parts; part->name; part++)
        if (good || !is_depth(node, part))
            read_part(reader, node, part, owner, base, place);
}

static void
read_part(reader_t *reader, const skn_node_t *mapping, const skn_part_t *part,
          const char *owner, void *base, skn_mark_t place)
{
    const skn_node_t *node = skn_node_get(mapping, part->name);
    size_t problems_before = skn_problems_count(reader->problems);
    char name[OWNER_BYTES];
    switch (part->form) {
    case SKN_FORM_MAPPING:
        if (part->section == &skn_sampler_section)
            (void)snprintf(name, sizeof(name), "the sampler of %.90s", owner);
        else
            (void)snprintf(name, sizeof(name), "%s", part->section->path);
        skn_reader_section(reader, node, part->section, name, NULL,
                           (char *)base + part->offset, place);
        break;
    case SKN_FORM_LAYERS:
        skn_reader_layers(reader, node, place);
        break;
    case SKN_FORM_PATHS:
        skn_reader_plugins(reader, node);
        break;
    case SKN_FORM_CORES:
        skn_reader_cores(reader, node, owner,
                         (skn_model_cores_t *)((char *)base + part->offset));
        break;
    case SKN_FORM_NODES:
        skn_reader_nodes(reader, node);
        break;
    }
    if (skn_problems_count(reader->problems) == problems_before)
        return;
    reader->data_refused |= strcmp(part->name, "data") == 0;
    reader->model_refused |= strcmp(part->name, "model") == 0;
    reader->train_refused |= strcmp(part->name, "train") == 0;
    reader->nodes_refused |= strcmp(part->name, "nodes") == 0 ||
                             strcmp(part->name, "links") == 0 ||
                             strcmp(part->name, "coordinator") == 0 ||
                             strcmp(part->name, "resources") == 0;
}

/* --- the whole file ------------------------------------------------------ */

/* Keeps the place of the offload keys, for problems that are found only when
 * the plan is made. */
static void
keep_place(reader_t *reader, const skn_node_t *root)
{
    static const char *const keys[] = { "train", "optimizer" };
    const skn_node_t *node = root;
    for (size_t k = 0; k < 2 && node; k++)
        node = skn_node_get(node, keys[k]);
    const char *key =
        node && skn_node_get(node, "offload_path") ? "offload_path" : "offload";
    skn_mark_t mark = node ? skn_rules_mark(node, key) : root->mark;
    reader->owned->model.offload_place =
        (skn_model_place_t){ .origin = skn_reader_text(reader, mark.origin),
                             .line = mark.line,
                             .column = mark.column };
}

/* Fills the model of the reader; every error goes to its problems. */
static void
read_file(reader_t *reader)
{
    skn_model_t *model = &reader->owned->model;
    const skn_node_t *root = skn_document_root(reader->document);
    model->source =
        skn_reader_text(reader, skn_document_name(reader->document));
    model->name = keep_name(reader, model->source);
    skn_reader_section(reader, root, &skn_model_section, "the model file", NULL,
                       model, root->mark);
    if (skn_model_is_decoder(model) && !reader->model_refused)
        skn_reader_decoder(reader);
    keep_place(reader, root);
    /* Rules on values that were refused would report false problems. */
    if (!reader->data_refused)
        skn_rules_data(model, root, reader->problems);
    if (!reader->data_refused && !reader->model_refused &&
        !reader->train_refused)
        skn_rules_decoder(model, root, reader->problems);
    if (!reader->model_refused && !skn_model_is_decoder(model))
        skn_rules_layers(model,
                         skn_node_get(skn_node_get(root, "model"), "layers"),
                         reader->problems);
    if (!reader->train_refused)
        skn_rules_train(model, root, reader->problems);
    if (!reader->model_refused && !reader->train_refused)
        skn_rules_both(model, root, reader->problems);
    if (!reader->nodes_refused)
        skn_rules_nodes(model, root, reader->problems);
    if (!reader->nodes_refused)
        skn_rules_coordinator(model, root, reader->problems);
    if (!reader->nodes_refused && !reader->train_refused)
        skn_rules_links(model, root, reader->problems);
}

/* `test: 0.1` is short for `held_back: 0.1`. */
static void
read_share(skn_document_t *document, skn_problems_t *problems)
{
    char *end;
    const skn_node_t *data = skn_node_get(skn_document_root(document), "data");
    /* The document is ours to change. */
    skn_node_t *node = (skn_node_t *)(uintptr_t)skn_node_get(data, "test");
    if (!node || node->type != SKN_NODE_SCALAR || node->quoted ||
        !node->text[0])
        return;
    double share = skn_text_real(node->text, &end);
    if (*end)
        return;
    if (!(share >= 0 && share <= SKN_HELD_BACK_MAX)) {
        (void)skn_problems_add(problems, node->mark,
                               "'test' as a share of the training file must be "
                               "in 0..%g, found %.40s",
                               SKN_HELD_BACK_MAX, node->text);
        (void)skn_problems_hint(problems, "a file of that name is ./%.40s",
                                node->text);
        return;
    }
    skn_document_drop(document, "data.held_back");
    node->key = "held_back";
}

skn_status_t
skn_model_check(struct skn_document *document, skn_model_t **model,
                struct skn_problems *problems, skn_error_t *error)
{
    reader_t reader = { .document = document, .problems = problems };
    *model = NULL;
    reader.owned = calloc(1, sizeof(*reader.owned));
    read_share(document, problems);
    const skn_node_t *root = skn_document_root(document);
    if (reader.owned && skn_node_get(root, "topology") &&
        !skn_node_get(root, "model")) {
        (void)skn_problems_add(problems, root->mark,
                               "this is a topology file, not a model file");
        (void)skn_problems_hint(problems, "use `skein run` for it");
    } else if (reader.owned)
        read_file(&reader);
    else
        (void)skn_problems_fail(problems, SKN_NO_MEMORY,
                                "no memory for a model");
    skn_status_t status = skn_problems_error(problems, error);
    *model = reader.owned ? &reader.owned->model : NULL;
    if (status != SKN_OK)
        skn_model_destroy(model);
    return status;
}

/* Checks `document` with the overrides laid over it, and destroys it; NULL: the
 * problems say why. */
static skn_status_t
check_with(skn_document_t *document, const char *const *overrides,
           size_t override_count, skn_model_t **model,
           struct skn_problems *problems, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    *model = NULL;
    if (!document)
        return skn_problems_error(problems, error);
    for (size_t k = 0; k < override_count; k++)
        (void)skn_document_set(document, overrides[k], problems);
    status = skn_model_check(document, model, problems, error);
    skn_document_destroy(&document);
    return status;
}

skn_status_t
skn_model_read(const char *path, const char *const *overrides,
               size_t override_count, skn_model_t **model,
               struct skn_problems *problems, skn_error_t *error)
{
    return check_with(skn_model_document_load(path, problems), overrides,
                      override_count, model, problems, error);
}

skn_status_t
skn_model_parse(const char *text, size_t text_bytes, const char *name,
                const char *const *overrides, size_t override_count,
                skn_model_t **model, struct skn_problems *problems,
                skn_error_t *error)
{
    return check_with(skn_document_parse(text, text_bytes, name, problems),
                      overrides, override_count, model, problems, error);
}

uint64_t
skn_model_undialled(const skn_model_t *model)
{
    uint64_t nodes = 0;
    for (size_t k = 0; k < model->node_count; k++)
        nodes |= (uint64_t)(model->nodes[k].via[0] != '\0') << k;
    return nodes;
}
