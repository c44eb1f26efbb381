/* spec.c - checks and wires a topology file for the runtime.
 *
 * This file owns: the order of the checks, and the life of a spec. The parts of
 * a topology are in spec_kinds.c, spec_nodes.c, spec_actors.c, spec_owners.c,
 * spec_pipes.c and spec_graph.c; printing is in spec_print.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/spec/spec.h"

#include <stdlib.h>
#include <string.h>

#include "actors/links/links.h"
#include "topology/config/values.h"
#include "topology/spec/spec_internal.h"

static const skn_option_t file_options[] = {
    { "skein", SKN_OPTION_INT, NULL, 1, 1, NULL, "the format's version, 1" },
    { NULL, SKN_OPTION_INT, NULL, 0, 0, NULL, NULL }
};
static const char *const file_others[] = { "topology", NULL };

static const skn_option_t topology_options[] = {
    { "name", SKN_OPTION_TEXT, NULL, 0, 0, NULL, "what the run is called" },
    { NULL, SKN_OPTION_INT, NULL, 0, 0, NULL, NULL }
};
static const char *const topology_others[] = { "plugins", "nodes", "actors",
                                               "pipes", NULL };

void *
skn_spec_memory(skn_spec_t *spec, size_t count, size_t item_bytes)
{
    return skn_document_memory(spec->document, count * item_bytes,
                               spec->problems);
}

skn_mark_t
skn_spec_mark(const skn_node_t *mapping, const char *key)
{
    const skn_node_t *node = skn_node_get(mapping, key);
    return node ? node->mark : mapping->mark;
}

void
skn_spec_list(char *text, size_t text_bytes, const char *name)
{
    size_t used = strlen(text);
    if (used + strlen(name) + 8 < text_bytes)
        (void)snprintf(text + used, text_bytes - used, "%s%s", used ? ", " : "",
                       name);
    else if (used + 6 < text_bytes && text[used - 1] != '.')
        (void)snprintf(text + used, text_bytes - used, ", ...");
}

/* NULL if `key` is absent, or not a list, which is a problem. */
static const skn_node_t *
list_of(skn_spec_t *spec, const skn_node_t *mapping, const char *key)
{
    const skn_node_t *list = skn_node_get(mapping, key);
    if (!list || list->type == SKN_NODE_LIST)
        return list;
    char found[64];
    (void)skn_problems_add(spec->problems, list->mark,
                           "'%s' of topology must be a list, found %s", key,
                           skn_node_describe(list, found, sizeof(found)));
    skn_node_hint_flaw(list, spec->problems);
    return NULL;
}

static void
read_nodes(skn_spec_t *spec, const skn_node_t *topology)
{
    const skn_node_t *nodes = list_of(spec, topology, "nodes");
    if (nodes && skn_spec_read_nodes(spec, nodes) == SKN_OK)
        return;
    spec->nodes_refused = skn_node_get(topology, "nodes") != NULL;
    spec->node_count = 0;
}

static void
read_topology(skn_spec_t *spec, const skn_node_t *topology)
{
    skn_value_t name = { .text = "" };
    skn_status_t status = skn_values_check(
        spec->document, topology, topology_options, topology_others, "topology",
        topology->mark, &name, spec->problems);
    if (topology->type != SKN_NODE_MAPPING)
        return;
    if (name.text[0] != '\0' || status == SKN_OK)
        (void)skn_spec_check_name(spec, skn_spec_mark(topology, "name"),
                                  "name of a topology", name.text);
    spec->wiring.name = name.text;
    const skn_node_t *plugins = list_of(spec, topology, "plugins");
    if (!plugins || skn_spec_read_plugins(spec, plugins) != SKN_OK)
        spec->plugins_refused = skn_node_get(topology, "plugins") != NULL;
    read_nodes(spec, topology);
    const skn_node_t *actors = list_of(spec, topology, "actors");
    if (actors && actors->count > 0) {
        if (skn_spec_read_actors(spec, actors) != SKN_OK)
            return;
    } else if (actors || !skn_node_get(topology, "actors")) {
        (void)skn_problems_add(spec->problems,
                               skn_spec_mark(topology, "actors"),
                               "a topology needs at least one actor");
        return;
    }
    const skn_node_t *pipes = list_of(spec, topology, "pipes");
    if (pipes && spec->actors && !spec->plugins_refused)
        (void)skn_spec_read_pipes(spec, pipes);
}

static void
read_file(skn_spec_t *spec, const skn_kind_t *const *kinds)
{
    const skn_node_t *root = skn_document_root(spec->document);
    skn_value_t version;
    if (skn_spec_read_kinds(spec, kinds) != SKN_OK)
        return;
    if (skn_node_get(root, "model") && !skn_node_get(root, "topology")) {
        (void)skn_problems_add(spec->problems, root->mark,
                               "this is a model file, not a topology file");
        (void)skn_problems_hint(spec->problems, "use `skein train` for it");
        return;
    }
    (void)skn_values_check(spec->document, root, file_options, file_others,
                           "the file", root->mark, &version, spec->problems);
    const skn_node_t *topology = skn_node_get(root, "topology");
    if (topology)
        read_topology(spec, topology);
    else
        (void)skn_problems_add(spec->problems, root->mark,
                               "the file has no 'topology'");
}

skn_spec_t *
skn_spec_load(skn_document_t **document, const skn_kind_t *const *kinds,
              skn_problems_t *problems)
{
    skn_spec_t *spec = calloc(1, sizeof(*spec));
    if (!spec) {
        skn_document_destroy(document);
        (void)skn_problems_fail(problems, SKN_NO_MEMORY,
                                "no memory for a topology");
        return NULL;
    }
    spec->document = *document;
    spec->problems = problems;
    *document = NULL;
    read_file(spec, kinds);
    if (skn_problems_count(problems) == 0)
        (void)skn_spec_check_owners(spec);
    if (skn_problems_count(problems) == 0)
        (void)skn_spec_check_nodes(spec);
    if (skn_problems_count(problems) == 0)
        (void)skn_spec_check_graph(spec);
    if (skn_problems_count(problems) > 0)
        skn_spec_destroy(&spec);
    if (!spec)
        return NULL;
    spec->problems = NULL;
    spec->wiring.actors = spec->actors;
    spec->wiring.actor_count = spec->actor_count;
    spec->wiring.pipes = spec->pipes;
    spec->wiring.pipe_count = spec->pipe_count;
    spec->wiring.nodes = spec->nodes;
    spec->wiring.node_count = spec->node_count;
    spec->wiring.link_driver = &skn_link_driver;
    return spec;
}

void
skn_spec_destroy(skn_spec_t **spec)
{
    if (!*spec)
        return;
    skn_spec_close_plugins(*spec);
    skn_document_destroy(&(*spec)->document);
    free(*spec);
    *spec = NULL;
}

const skn_wiring_t *
skn_spec_wiring(const skn_spec_t *spec)
{
    return &spec->wiring;
}

skn_mark_t
skn_spec_core_mark(const skn_spec_t *spec, uint32_t actor)
{
    return skn_spec_mark(spec->actor_nodes[actor], "cores");
}
