/* spec_nodes.c - reads the nodes of a topology, places actors on them, and
 * refuses loans between them.
 *
 * nodes.c checks the nodes themselves, for model files too.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "topology/config/nearest.h"
#include "topology/config/nodes.h"
#include "topology/spec/spec_internal.h"
#include "topology/config/values.h"

/* As nodes.memory of a model file: no limit but that of the type. */
#define MEMORY_BYTES_MAX ((double)INT64_MAX)

static const skn_option_t node_options[] = {
    { "name", SKN_OPTION_TEXT, NULL, 0, 0, NULL, "its name in actors" },
    { "address", SKN_OPTION_TEXT, "", 0, 0, NULL,
      "tcp://host:port, as the other nodes reach it" },
    { "via", SKN_OPTION_TEXT, "", 0, 0, NULL,
      "node that relays to it, in place of an address" },
    { "key", SKN_OPTION_PATH, "", 0, 0, NULL, "its certificate" },
    { "ssh", SKN_OPTION_TEXT, "", 0, 0, NULL, "host to start it on by ssh" },
    { "cores", SKN_OPTION_INT, "0", 0, SKN_ACTORS_MAX, NULL,
      "processing units of its actors; 0: unspecified" },
    { "memory", SKN_OPTION_INT, "0", 0, MEMORY_BYTES_MAX, NULL,
      "memory of its actors; 0: unspecified" },
    { NULL, SKN_OPTION_INT, NULL, 0, 0, NULL, NULL }
};
enum {
    NODE_NAME,
    NODE_ADDRESS,
    VIA,
    NODE_KEY,
    SSH,
    NODE_CORES,
    MEMORY,
    NODE_OPTION_COUNT
};

/* --- the list ------------------------------------------------------------ */

static skn_status_t
read_node(skn_spec_t *spec, const skn_node_t *item, skn_wired_node_t *node)
{
    skn_value_t values[NODE_OPTION_COUNT];
    char owner[SKN_NAME_MAX + 16] = "a node";
    const skn_node_t *name = skn_node_get(item, "name");
    if (name && name->type == SKN_NODE_SCALAR && name->text[0])
        (void)snprintf(owner, sizeof(owner), "node '%.64s'", name->text);
    *node = (skn_wired_node_t){
        .name = "", .address = "", .via = "", .key = "", .ssh = ""
    };
    skn_status_t status =
        skn_values_check(spec->document, item, node_options, NULL, owner,
                         item->mark, values, spec->problems);
    if (item->type != SKN_NODE_MAPPING || status == SKN_NO_MEMORY)
        return status;
    node->name = values[NODE_NAME].text;
    node->address = values[NODE_ADDRESS].text;
    node->via = values[VIA].text;
    node->key = values[NODE_KEY].text;
    node->ssh = values[SSH].text;
    node->core_count = (uint32_t)values[NODE_CORES].number;
    node->memory_bytes = (uint64_t)values[MEMORY].number;
    if (status == SKN_OK &&
        !skn_spec_check_name(spec, name->mark, "name of a node", node->name))
        status = SKN_BAD_CONFIG;
    return status;
}

skn_status_t
skn_spec_read_nodes(skn_spec_t *spec, const skn_node_t *list)
{
    skn_status_t status = SKN_OK;
    if (list->count == 0) {
        (void)skn_problems_add(spec->problems, list->mark,
                               "'nodes' of topology is an empty list");
        return skn_problems_hint(spec->problems,
                                 "leave it out for a run in one process");
    }
    if (list->count > SKN_CLUSTER_NODES_MAX)
        return skn_problems_add(spec->problems, list->mark,
                                "%u nodes, at most %u allowed", list->count,
                                SKN_CLUSTER_NODES_MAX);
    spec->nodes = skn_spec_memory(spec, list->count, sizeof(*spec->nodes));
    if (!spec->nodes)
        return SKN_NO_MEMORY;
    for (const skn_node_t *item = list->first; item; item = item->next) {
        skn_status_t read =
            read_node(spec, item, &spec->nodes[spec->node_count++]);
        status = read == SKN_OK ? status : read;
    }
    spec->node_list = list;
    if (status != SKN_OK)
        return status;
    skn_nodes_check(spec->nodes, spec->node_count, list, spec->problems);
    return SKN_OK;
}

/* --- actors -------------------------------------------------------------- */

skn_status_t
skn_spec_find_node(skn_spec_t *spec, const skn_node_t *entry, const char *actor,
                   const char *name, uint32_t *node)
{
    char names[SKN_ERROR_HINT_BYTES - 16] = "";
    skn_nearest_t nearest = { .wanted = name };
    *node = 0;
    if (spec->node_count == 0 && !name[0])
        return SKN_OK;
    if (spec->node_count == 0) {
        if (spec->nodes_refused)
            return SKN_BAD_CONFIG;
        (void)skn_problems_add(spec->problems, skn_spec_mark(entry, "node"),
                               "actor '%.64s' is on node '%.64s', but the "
                               "topology has no nodes",
                               actor, name);
        return skn_problems_hint(spec->problems, "list them under 'nodes'");
    }
    for (uint32_t k = 0; k < spec->node_count; k++) {
        if (name[0] && strcmp(spec->nodes[k].name, name) == 0) {
            *node = k;
            return SKN_OK;
        }
        skn_nearest_offer(&nearest, spec->nodes[k].name);
        skn_spec_list(names, sizeof(names), spec->nodes[k].name);
    }
    if (name[0])
        (void)skn_problems_add(spec->problems, skn_spec_mark(entry, "node"),
                               "unknown node '%.64s' of actor '%.64s'", name,
                               actor);
    else
        (void)skn_problems_add(spec->problems, entry->mark,
                               "actor '%.64s' is on no node", actor);
    if (name[0] && nearest.best)
        return skn_problems_hint(spec->problems, "did you mean '%s'?",
                                 nearest.best);
    return skn_problems_hint(spec->problems, "there are %s", names);
}

/* --- all together -------------------------------------------------------- */

static void
check_used(skn_spec_t *spec)
{
    const skn_node_t *item = spec->node_list->first;
    for (uint32_t k = 0; k < spec->node_count; k++, item = item->next) {
        uint32_t a = 0;
        while (a < spec->actor_count && spec->actors[a].node != k)
            a++;
        if (a < spec->actor_count)
            continue;
        (void)skn_problems_add(spec->problems, skn_spec_mark(item, "name"),
                               "node '%s' has no actor", spec->nodes[k].name);
        (void)skn_problems_hint(spec->problems,
                                "put one there with `node: %s`, or leave the "
                                "node out",
                                spec->nodes[k].name);
    }
}

static bool
lends(const skn_schema_t *schema)
{
    for (size_t k = 0; k < schema->field_count; k++)
        if (schema->fields[k].kind == SKN_FIELD_loan)
            return true;
    return false;
}

/* Finds a sender and a receiver of the pipe that are on two nodes; false: there
 * are none. */
static bool
find_crossing(const skn_spec_t *spec, const skn_wired_pipe_t *pipe,
              const skn_wired_actor_t **from, const skn_wired_actor_t **to)
{
    bool paired =
        pipe->pattern == SKN_PATTERN_ONE && pipe->from_count == pipe->to_count;
    for (uint32_t k = 0; k < pipe->from_count; k++) {
        *from = &spec->actors[pipe->from[k]];
        *to = &spec->actors[pipe->to[paired ? k : 0]];
        if ((*from)->node != (*to)->node)
            return true;
    }
    /* From here on all senders are on the node of the first receiver. */
    for (uint32_t k = 1; !paired && k < pipe->to_count; k++) {
        *to = &spec->actors[pipe->to[k]];
        if ((*from)->node != (*to)->node)
            return true;
    }
    return false;
}

static void
check_loans(skn_spec_t *spec)
{
    const skn_wired_actor_t *from = NULL, *to = NULL;
    for (uint32_t p = 0; p < spec->pipe_count; p++) {
        const skn_wired_pipe_t *pipe = &spec->pipes[p];
        if (!lends(pipe->schema) || !find_crossing(spec, pipe, &from, &to))
            continue;
        (void)skn_problems_add(
            spec->problems, skn_spec_mark(spec->pipe_nodes[p], "message"),
            "'%s' lends memory, which cannot leave a node: %s is on %s, %s on "
            "%s",
            pipe->schema->name, from->name, spec->nodes[from->node].name,
            to->name, spec->nodes[to->node].name);
        (void)skn_problems_hint(spec->problems, "put both on one node");
    }
}

skn_status_t
skn_spec_check_nodes(skn_spec_t *spec)
{
    size_t count_before = skn_problems_count(spec->problems);
    if (spec->node_count > 0) {
        check_used(spec);
        check_loans(spec);
    }
    return skn_problems_count(spec->problems) > count_before ? SKN_BAD_CONFIG
                                                             : SKN_OK;
}
