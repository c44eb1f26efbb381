/* model_forms.c - reads the parts of a model file that are not plain mappings:
 * layers, nodes, plug-ins, cores.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "skein/limits.h"
#include "topology/model/model_internal.h"
#include "topology/config/values.h"

/* Sparse input does not need deeper networks than this, and the reader compares
 * each name with all others. */
#define LAYERS_MAX 64u

/* Whether `node` is a list; reports a problem if it is not. */
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
    skn_node_hint_flaw(node, reader->problems);
    return false;
}

void
skn_reader_plugins(reader_t *reader, const skn_node_t *node)
{
    skn_model_t *model = &reader->owned->model;
    char found[64];
    size_t count = 0;
    if (!node || !is_list(reader, node, "'plugins'", "paths") ||
        node->count == 0)
        return;
    const char **paths =
        skn_reader_reserve(reader, node->count * sizeof(*paths));
    for (const skn_node_t *item = node->first; paths && item;
         item = item->next) {
        if (item->type != SKN_NODE_SCALAR || item->text[0] == '\0')
            (void)skn_problems_add(
                reader->problems, item->mark,
                "an item of 'plugins' must be a path, found %s",
                skn_node_describe(item, found, sizeof(found)));
        else
            paths[count++] =
                skn_reader_text(reader, skn_value_path(reader->document, item,
                                                       reader->problems));
    }
    model->plugins = paths;
    model->plugin_count = count;
}

/* --- cores --------------------------------------------------------------- */

static bool
read_core(const skn_node_t *node, uint64_t min, uint64_t max, uint64_t *core)
{
    return node->type == SKN_NODE_SCALAR && !node->quoted &&
           skn_value_unsigned(node->text, core) && *core >= min && *core <= max;
}

/* "2-5": the cores 2, 3, 4, 5. */
static bool
read_core_range(reader_t *reader, const skn_node_t *node,
                skn_model_cores_t *cores)
{
    char text[16];
    uint64_t first = 0, last = 0;
    const char *dash = strchr(node->text, '-');
    if (node->type != SKN_NODE_SCALAR || node->quoted || !dash ||
        (size_t)(dash - node->text) >= sizeof(text))
        return false;
    memcpy(text, node->text, (size_t)(dash - node->text));
    text[dash - node->text] = '\0';
    if (!skn_value_unsigned(text, &first) ||
        !skn_value_unsigned(dash + 1, &last) || first > last ||
        last >= SKN_ACTORS_MAX)
        return false;
    uint32_t *list =
        skn_reader_reserve(reader, (last - first + 1) * sizeof(*list));
    for (uint64_t core = first; list && core <= last; core++)
        list[cores->count++] = (uint32_t)core;
    cores->list = list;
    return true;
}

static void
read_core_list(reader_t *reader, const skn_node_t *list,
               skn_model_cores_t *cores)
{
    uint32_t *numbers =
        skn_reader_reserve(reader, list->count * sizeof(*numbers));
    char found[64];
    uint64_t core = 0;
    size_t count = 0;
    for (const skn_node_t *item = list->first; numbers && item;
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
            repeated |= numbers[k] == core;
        if (repeated)
            (void)skn_problems_add(reader->problems, item->mark,
                                   "core %" PRIu64 " is in 'cores' twice",
                                   core);
        else if (count < list->count)
            numbers[count++] = (uint32_t)core;
    }
    cores->list = numbers;
    cores->count = count;
}

void
skn_reader_cores(reader_t *reader, const skn_node_t *node, const char *owner,
                 skn_model_cores_t *cores)
{
    char found[64];
    uint64_t limit = 0;
    *cores = (skn_model_cores_t){ .limit = SKN_AUTO };
    if (!node ||
        (node->type == SKN_NODE_SCALAR && strcmp(node->text, "auto") == 0))
        return;
    cores->place = (skn_model_place_t){ .origin = skn_reader_text(
                                            reader, node->mark.origin),
                                        .line = node->mark.line,
                                        .column = node->mark.column };
    if (node->type == SKN_NODE_LIST && node->count > 0 &&
        node->count <= SKN_ACTORS_MAX) {
        read_core_list(reader, node, cores);
        return;
    }
    if (read_core(node, 1, SKN_ACTORS_MAX, &limit)) {
        cores->limit = (int64_t)limit;
        return;
    }
    if (read_core_range(reader, node, cores))
        return;
    (void)skn_problems_add(reader->problems, node->mark,
                           "'cores' of %s must be auto, a number in 1..%u, a "
                           "range such as 0-3 or a list of numbers, found %s",
                           owner, SKN_ACTORS_MAX,
                           node->type == SKN_NODE_LIST && node->count == 0
                               ? "an empty list"
                               : skn_node_describe(node, found, sizeof(found)));
    skn_node_hint_flaw(node, reader->problems);
}

/* --- layers -------------------------------------------------------------- */

/* Reports the keys in `names`, which belong to the other sort of layer. */
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
    static const char *const output_keys[] = { "loss",    "label_smoothing",
                                               "weights", "index_lag",
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
    if (layer->output) {
        skn_reader_section(reader, node, &skn_output_section, owner,
                           hidden_keys, layer, node->mark);
        refuse_keys(reader, node, hidden_keys,
                    "hidden layers, and this is the "
                    "last one",
                    "the last layer has one row per label");
    } else {
        skn_reader_section(reader, node, &skn_hidden_section, owner,
                           output_keys, layer, node->mark);
        refuse_keys(reader, node, output_keys,
                    "the last layer, and others "
                    "follow",
                    "put the output layer at the end");
    }
}

/* `layers: 6` of a decoder. */
static void
read_depth(reader_t *reader, const skn_node_t *node)
{
    uint64_t layers = 0;
    char found[64];
    if (node->type != SKN_NODE_SCALAR || node->quoted ||
        !skn_value_unsigned(node->text, &layers) || layers < 1 ||
        layers > SKN_DECODER_LAYERS_MAX)
        (void)skn_problems_add(
            reader->problems, node->mark,
            "'layers' of a decoder must be a number in 1..%u, found %s",
            SKN_DECODER_LAYERS_MAX,
            skn_node_describe(node, found, sizeof(found)));
    reader->owned->model.decoder.layers = (int64_t)layers;
}

void
skn_reader_decoder(reader_t *reader)
{
    skn_model_t *model = &reader->owned->model;
    const skn_model_decoder_t *decoder = &model->decoder;
    static const char *const names[] = { "embedding", "decoder", "head" };
    skn_model_layer_t *layers = skn_reader_reserve(reader, 3 * sizeof(*layers));
    if (!layers)
        return;
    for (size_t k = 0; k < 3; k++) {
        skn_section_defaults(&skn_output_section, &layers[k]);
        skn_section_defaults(&skn_hidden_section, &layers[k]);
        if (k == 2)
            layers[k] = decoder->head;
        layers[k].name = names[k];
        layers[k].output = k == 2;
        layers[k].init_std = decoder->head.init_std;
        layers[k].units = decoder->width;
        layers[k].dropout = 0;
    }
    layers[0].shards = 1;
    layers[SKN_DECODER_LAYER].shards = decoder->stages;
    model->layers = layers;
    model->layer_count = 3;
}

void
skn_reader_layers(reader_t *reader, const skn_node_t *node, skn_mark_t place)
{
    skn_model_t *model = &reader->owned->model;
    static const char hint[] = "for example: layers: [{ name: hidden }, "
                               "{ name: output }]";
    bool is_decoder = skn_model_is_decoder(model);
    size_t k = 0;
    if (!node || skn_node_is_null(node)) {
        (void)skn_problems_add(reader->problems, node ? node->mark : place,
                               "'layers' of model is missing");
        (void)skn_problems_hint(reader->problems, "%s",
                                is_decoder ? "for example: layers: 4" : hint);
        return;
    }
    if (is_decoder) {
        read_depth(reader, node);
        return;
    }
    if (!is_list(reader, node, "'layers' of model", "layers")) {
        if (node->type == SKN_NODE_SCALAR)
            (void)skn_problems_hint(reader->problems,
                                    "%s; of a transformer, set kind: decoder",
                                    hint);
        return;
    }
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
    skn_model_layer_t *layers =
        skn_reader_reserve(reader, node->count * sizeof(*layers));
    for (const skn_node_t *item = node->first; layers && item;
         item = item->next, k++) {
        layers[k].output = item->next == NULL && node->count > 1;
        read_layer(reader, item, &layers[k], k + 1);
    }
    model->layers = layers;
    model->layer_count = node->count;
}

/* --- nodes --------------------------------------------------------------- */

void
skn_reader_nodes(reader_t *reader, const skn_node_t *node)
{
    skn_model_t *model = &reader->owned->model;
    size_t k = 0;
    if (!node || !is_list(reader, node, "'nodes'", "nodes"))
        return;
    if (node->count == 0)
        return; /* -o nodes=[], for a run in one process */
    if (node->count > SKN_CLUSTER_NODES_MAX) {
        (void)skn_problems_add(reader->problems, node->mark,
                               "%" PRIu32 " nodes, at most %u allowed",
                               node->count, SKN_CLUSTER_NODES_MAX);
        return;
    }
    skn_model_node_t *nodes =
        skn_reader_reserve(reader, node->count * sizeof(*nodes));
    for (const skn_node_t *item = node->first; nodes && item;
         item = item->next, k++) {
        char owner[OWNER_BYTES];
        const skn_node_t *name = skn_node_get(item, "name");
        if (name && name->type == SKN_NODE_SCALAR)
            (void)snprintf(owner, sizeof(owner), "node '%.64s'", name->text);
        else
            (void)snprintf(owner, sizeof(owner), "node %zu", k + 1);
        skn_section_defaults(&skn_node_section, &nodes[k]);
        skn_reader_section(reader, item, &skn_node_section, owner, NULL,
                           &nodes[k], item->mark);
    }
    model->nodes = nodes;
    model->node_count = node->count;
}
