/* model.c - reads a model file into a skn_model_t.
 *
 * Walks the tables of model_tables.c; values.c checks each key, this file puts
 * the values into their structs, and model_rules.c looks at what two keys say
 * together. This file owns: the memory of a model, and the forms that are no
 * plain mapping (layers, mixtures, plugins, cores).
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/model.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "skein/limits.h"
#include "topology/document.h"
#include "topology/model_rules.h"
#include "topology/model_tables.h"
#include "topology/values.h"

/* Keys of the largest section, with room; a table that outgrows it fails the
 * first test that reads a file. */
#define OPTIONS_MAX 24u
#define PARTS_MAX 24u
/* Deeper networks than this are not what sparse input is for; and names are
 * compared each with each. */
#define LAYERS_MAX 64u
/* "the sampler of layer '...'": a layer's name is at most SKN_NAME_MAX. */
#define OWNER_BYTES 128

/* Memory of a model, freed with it. */
typedef struct block {
    struct block *next;
    max_align_t bytes[];
} block_t;

typedef struct owned {
    skn_model_t model; /* first, so that a model is its owner */
    block_t *blocks;
} owned_t;

typedef struct reader {
    skn_document_t *document;
    skn_problems_t *problems;
    owned_t *owned;
    bool model_refused, train_refused; /* something in that section is */
} reader_t;

/* --- memory -------------------------------------------------------------- */

/* Zeroed; NULL and a problem when memory is short. */
static void *
reserve(reader_t *reader, size_t bytes)
{
    block_t *block = calloc(1, sizeof(*block) + bytes);
    if (!block) {
        (void)skn_problems_fail(reader->problems, SKN_NO_MEMORY,
                                "no room for a model");
        return NULL;
    }
    block->next = reader->owned->blocks;
    reader->owned->blocks = block;
    return block->bytes;
}

/* "" when memory is short, which is a problem and ends the reading. */
static const char *
keep_text(reader_t *reader, const char *text)
{
    size_t bytes = text ? strlen(text) + 1 : 0;
    char *copy = text ? reserve(reader, bytes) : NULL;
    return copy ? memcpy(copy, text, bytes) : "";
}

/* The name of the file without folder and ending. It names the topology, whose
 * names are plain words: any other byte becomes '_'. */
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
    char *copy = reserve(reader, bytes + 1);
    for (size_t k = 0; copy && k < bytes; k++) {
        bool plain = isalnum((unsigned char)name[k]) || name[k] == '_' ||
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

/* --- forms that are no mapping ------------------------------------------- */

/* Whether `node` is a list; says so if it is not. */
static bool
is_list(reader_t *reader, const skn_node_t *node, const char *what,
        const char *items)
{
    char found[64];
    if (node->type == SKN_NODE_LIST)
        return true;
    (void)skn_problems_add(reader->problems, node->mark,
                           "%s must be a list of %s, found %s", what, items,
                           skn_node_describe(node, found, sizeof(found)));
    return false;
}

static void
read_plugins(reader_t *reader, const skn_node_t *node)
{
    skn_model_t *model = &reader->owned->model;
    char found[64];
    size_t count = 0;
    if (!node || !is_list(reader, node, "'plugins'", "paths") ||
        node->count == 0)
        return;
    const char **paths = reserve(reader, node->count * sizeof(*paths));
    for (const skn_node_t *item = node->first; paths && item;
         item = item->next) {
        if (item->type != SKN_NODE_SCALAR || item->text[0] == '\0')
            (void)skn_problems_add(
                reader->problems, item->mark,
                "an item of 'plugins' must be a path, found %s",
                skn_node_describe(item, found, sizeof(found)));
        else
            paths[count++] =
                keep_text(reader, skn_value_path(reader->document, item,
                                                 reader->problems));
    }
    model->plugins = paths;
    model->plugin_count = count;
}

static bool
read_core(const skn_node_t *node, uint64_t min, uint64_t max, uint64_t *core)
{
    return node->type == SKN_NODE_SCALAR && !node->quoted &&
           skn_value_unsigned(node->text, core) && *core >= min && *core <= max;
}

static void
read_core_list(reader_t *reader, const skn_node_t *list)
{
    skn_model_resources_t *resources = &reader->owned->model.resources;
    uint32_t *cores = reserve(reader, list->count * sizeof(*cores));
    char found[64];
    uint64_t core = 0;
    size_t count = 0;
    for (const skn_node_t *item = list->first; cores && item;
         item = item->next) {
        bool repeated = false;
        if (!read_core(item, 0, SKN_ACTORS_MAX - 1, &core)) {
            (void)skn_problems_add(
                reader->problems, item->mark,
                "an item of 'cores' must be in 0..%u, found %s",
                SKN_ACTORS_MAX - 1,
                skn_node_describe(item, found, sizeof(found)));
            continue;
        }
        for (size_t k = 0; k < count; k++)
            repeated |= cores[k] == core;
        if (repeated)
            (void)skn_problems_add(reader->problems, item->mark,
                                   "core %" PRIu64 " stands in 'cores' twice",
                                   core);
        else if (count < list->count)
            cores[count++] = (uint32_t)core;
    }
    resources->cores = cores;
    resources->core_count = count;
}

static void
read_cores(reader_t *reader, const skn_node_t *node)
{
    skn_model_resources_t *resources = &reader->owned->model.resources;
    char found[64];
    uint64_t limit = 0;
    resources->core_limit = SKN_AUTO;
    if (!node ||
        (node->type == SKN_NODE_SCALAR && strcmp(node->text, "auto") == 0))
        return;
    if (node->type == SKN_NODE_LIST && node->count > 0 &&
        node->count <= SKN_ACTORS_MAX) {
        read_core_list(reader, node);
        return;
    }
    if (read_core(node, 1, SKN_ACTORS_MAX, &limit)) {
        resources->core_limit = (int64_t)limit;
        return;
    }
    (void)skn_problems_add(reader->problems, node->mark,
                           "'cores' of resources must be auto, a number in "
                           "1..%u or a list of numbers, found %s",
                           SKN_ACTORS_MAX,
                           node->type == SKN_NODE_LIST && node->count == 0
                               ? "an empty list"
                               : skn_node_describe(node, found, sizeof(found)));
}

/* --- sections ------------------------------------------------------------ */

static void read_part(reader_t *reader, const skn_node_t *mapping,
                      const skn_part_t *part, const char *owner, void *base,
                      skn_mark_t place);

/* Reads a section into its struct. `owner` names it in messages, `others` (may
 * be NULL) ends with NULL: further keys, which the caller looks at. `place` is
 * where a missing key is reported. */
static void
read_section(reader_t *reader, const skn_node_t *node,
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
            values[k].text = keep_text(reader, values[k].text);
        skn_slot_fill(section->slots[k], &values[k], base);
    }
    for (const skn_part_t *part = section->parts; part->name; part++)
        read_part(reader, node, part, owner, base, place);
}

/* Says of the keys in `names` that they belong to the other sort of layer. */
static void
refuse_keys(reader_t *reader, const skn_node_t *node, const char *const *names,
            const char *sentence, const char *hint)
{
    for (; *names; names++) {
        const skn_node_t *child = skn_node_get(node, *names);
        if (!child)
            continue;
        (void)skn_problems_add(reader->problems, child->key_mark,
                               "'%s' is for %s", *names, sentence);
        (void)skn_problems_hint(reader->problems, "%s", hint);
    }
}

static void
read_layer(reader_t *reader, const skn_node_t *node, skn_model_layer_t *layer,
           size_t number)
{
    static const char *const output_keys[] = { "loss", "weights", "index_lag",
                                               "sampler", NULL };
    static const char *const hidden_keys[] = { "units", "activation", "dropout",
                                               NULL };
    const skn_node_t *name = skn_node_get(node, "name");
    char owner[OWNER_BYTES];
    if (name && name->type == SKN_NODE_SCALAR)
        (void)snprintf(owner, sizeof(owner), "layer '%.64s'", name->text);
    else
        (void)snprintf(owner, sizeof(owner), "layer %zu", number);
    skn_section_defaults(&skn_hidden_section, layer);
    skn_section_defaults(&skn_output_section, layer);
    skn_section_defaults(&skn_sampler_section, &layer->sampler);
    layer->sampler.share = 1.0;
    if (layer->output) {
        read_section(reader, node, &skn_output_section, owner, hidden_keys,
                     layer, node->mark);
        refuse_keys(reader, node, hidden_keys,
                    "hidden layers, and this is the "
                    "last one",
                    "the last layer has a row a label");
    } else {
        read_section(reader, node, &skn_hidden_section, owner, output_keys,
                     layer, node->mark);
        refuse_keys(reader, node, output_keys,
                    "the last layer, and others "
                    "follow",
                    "the output layer stands at the end");
    }
}

static void
read_layers(reader_t *reader, const skn_node_t *node, skn_mark_t place)
{
    skn_model_t *model = &reader->owned->model;
    static const char hint[] = "for example: layers: [{ name: hidden }, "
                               "{ name: output }]";
    size_t k = 0;
    if (!node || skn_node_is_null(node)) {
        (void)skn_problems_add(reader->problems, node ? node->mark : place,
                               "'layers' of model is missing");
        (void)skn_problems_hint(reader->problems, "%s", hint);
        return;
    }
    if (!is_list(reader, node, "'layers' of model", "layers"))
        return;
    if (node->count < 2) {
        (void)skn_problems_add(reader->problems, node->mark,
                               "a model has at least a hidden and an output "
                               "layer, found %" PRIu32,
                               node->count);
        (void)skn_problems_hint(reader->problems, "%s", hint);
    }
    if (node->count > LAYERS_MAX) {
        (void)skn_problems_add(reader->problems, node->mark,
                               "a model has at most %u layers, found %" PRIu32,
                               LAYERS_MAX, node->count);
        return;
    }
    skn_model_layer_t *layers = reserve(reader, node->count * sizeof(*layers));
    for (const skn_node_t *item = node->first; layers && item;
         item = item->next, k++) {
        layers[k].output = item->next == NULL && node->count > 1;
        read_layer(reader, item, &layers[k], k + 1);
    }
    model->layers = layers;
    model->layer_count = node->count;
}

static void
read_mixture(reader_t *reader, const skn_node_t *node, const char *owner,
             skn_model_sampler_t *sampler)
{
    size_t k = 0;
    if (!node || !is_list(reader, node, "'of'", "samplers") || node->count == 0)
        return;
    skn_model_sampler_t *of = reserve(reader, node->count * sizeof(*of));
    for (const skn_node_t *item = node->first; of && item;
         item = item->next, k++) {
        char name[OWNER_BYTES];
        (void)snprintf(name, sizeof(name), "item %zu of %s", k + 1, owner);
        skn_section_defaults(&skn_sampler_section, &of[k]);
        read_section(reader, item, &skn_mixed_section, name, NULL, &of[k],
                     item->mark);
    }
    sampler->of = of;
    sampler->of_count = node->count;
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
        read_section(reader, node, part->section, name, NULL,
                     (char *)base + part->offset, place);
        break;
    case SKN_FORM_LAYERS:
        read_layers(reader, node, place);
        break;
    case SKN_FORM_MIXTURE:
        read_mixture(reader, node, owner, base);
        break;
    case SKN_FORM_PATHS:
        read_plugins(reader, node);
        break;
    case SKN_FORM_CORES:
        read_cores(reader, node);
        break;
    }
    if (skn_problems_count(reader->problems) == problems_before)
        return;
    reader->model_refused |= strcmp(part->name, "model") == 0;
    reader->train_refused |= strcmp(part->name, "train") == 0;
}

/* --- the whole file ------------------------------------------------------ */

static void
refuse_later_keys(reader_t *reader, const skn_node_t *root)
{
    for (const skn_refused_key_t *key = skn_refused_keys; key->name; key++) {
        const skn_node_t *node = skn_node_get(root, key->name);
        if (!node)
            continue;
        (void)skn_problems_add(reader->problems, node->key_mark,
                               "'%s' is not served yet: %s", key->name,
                               key->sentence);
        (void)skn_problems_hint(reader->problems, "%s", key->hint);
    }
}

/* Fills the model of the reader; what is wrong goes to its problems. */
static void
read_file(reader_t *reader)
{
    skn_model_t *model = &reader->owned->model;
    const skn_node_t *root = skn_document_root(reader->document);
    const char *later[8] = { NULL };
    for (size_t k = 0; skn_refused_keys[k].name && k < 7; k++)
        later[k] = skn_refused_keys[k].name;
    model->source = keep_text(reader, skn_document_name(reader->document));
    model->name = keep_name(reader, model->source);
    read_section(reader, root, &skn_model_section, "the model file", later,
                 model, root->mark);
    refuse_later_keys(reader, root);
    /* Rules on values that were refused would say things that are not so. */
    if (!reader->model_refused)
        skn_rules_layers(model,
                         skn_node_get(skn_node_get(root, "model"), "layers"),
                         reader->problems);
    if (!reader->train_refused)
        skn_rules_train(model, root, reader->problems);
    if (!reader->model_refused && !reader->train_refused)
        skn_rules_both(model, root, reader->problems);
    /* Without points held back there is nothing to be patient about. Three
     * epochs: one is noise, two a coincidence. */
    if (model->train.patience == SKN_AUTO)
        model->train.patience = model->train.validate > 0.0 ? 3 : 0;
}

skn_status_t
skn_model_check(struct skn_document *document, skn_model_t **model,
                struct skn_problems *problems, skn_error_t *error)
{
    reader_t reader = { .document = document, .problems = problems };
    *model = NULL;
    reader.owned = calloc(1, sizeof(*reader.owned));
    if (reader.owned)
        read_file(&reader);
    else
        (void)skn_problems_fail(problems, SKN_NO_MEMORY, "no room for a model");
    skn_status_t status = skn_problems_error(problems, error);
    *model = reader.owned ? &reader.owned->model : NULL;
    if (status != SKN_OK)
        skn_model_destroy(model);
    return status;
}

skn_status_t
skn_model_read(const char *path, const char *const *overrides,
               size_t override_count, skn_model_t **model,
               struct skn_problems *problems, skn_error_t *error)
{
    skn_document_t *document = skn_document_load(path, problems);
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
