/* model_nodes.c - checks the rules between the nodes, links and coordinator of
 * a model file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "skein/limits.h"
#include "topology/model/model_rules.h"
#include "topology/config/nodes.h"
#include "transport/socket/keys.h"

uint32_t
skn_model_cores_count(const skn_model_cores_t *cores)
{
    return cores->count > 0   ? (uint32_t)cores->count
           : cores->limit > 0 ? (uint32_t)cores->limit
                              : 1;
}

static void
check_names(const skn_model_t *model, const skn_node_t *list,
            skn_problems_t *problems)
{
    const skn_node_t *item = list->first;
    for (size_t k = 0; k < model->node_count; k++, item = item->next) {
        if (skn_name_good(model->nodes[k].name))
            continue;
        (void)skn_problems_add(problems, skn_rules_mark(item, "name"),
                               "'%.64s' is not a valid node name",
                               model->nodes[k].name);
        (void)skn_problems_hint(problems,
                                "use a letter, then letters, digits, '_' and "
                                "'-', %u at most",
                                SKN_NAME_MAX);
    }
}

/* Shards and copies are dealt to the first nodes, so nodes with `leaves` must
 * come last, and node 0 must not be one of them. */
static void
check_leavers(const skn_model_t *model, const skn_node_t *list,
              skn_problems_t *problems)
{
    const skn_node_t *item = list->first;
    bool before = true;
    for (size_t k = 0; k < model->node_count; k++, item = item->next) {
        bool is_staying = !model->nodes[k].is_leaving;
        if ((k == 0 && !is_staying) || (is_staying && !before)) {
            (void)skn_problems_add(
                problems, skn_rules_mark(item, is_staying ? "name" : "leaves"),
                is_staying
                    ? "node '%.64s' is listed after one that leaves"
                    : "node '%.64s' is the first, which leads, but it leaves",
                model->nodes[k].name);
            (void)skn_problems_hint(problems,
                                    "list the nodes that leave after those "
                                    "that stay");
            return;
        }
        before = is_staying;
    }
}

/* Refuses `key` of resources, which the file sets. */
static void
refuse_resource(const skn_node_t *root, const char *key,
                skn_problems_t *problems)
{
    const skn_node_t *resources = skn_node_get(root, "resources");
    (void)skn_problems_add(problems, skn_rules_mark(resources, key),
                           "'%s' of resources has no effect beside 'nodes'",
                           key);
    (void)skn_problems_hint(problems, "each node has its own '%s'", key);
}

void
skn_rules_nodes(const skn_model_t *model, const skn_node_t *root,
                skn_problems_t *problems)
{
    skn_wired_node_t nodes[SKN_CLUSTER_NODES_MAX] = { { 0 } };
    const skn_node_t *list = skn_node_get(root, "nodes");
    const skn_model_resources_t *resources = &model->resources;
    bool one_machine = true; /* all nodes are on it and share its memory */
    if (model->node_count == 0)
        return;
    for (size_t k = 0; k < model->node_count; k++) {
        one_machine = one_machine && model->nodes[k].address[0] &&
                      skn_address_is_loopback(model->nodes[k].address);
        nodes[k].name = model->nodes[k].name;
        nodes[k].address = model->nodes[k].address;
        nodes[k].via = model->nodes[k].via;
        nodes[k].key = model->nodes[k].key;
    }
    check_names(model, list, problems);
    check_leavers(model, list, problems);
    skn_nodes_check(nodes, (uint32_t)model->node_count, list, problems);
    if (resources->cores.count > 0 || resources->cores.limit != SKN_AUTO)
        refuse_resource(root, "cores", problems);
    if (resources->memory_bytes != SKN_AUTO && !one_machine)
        refuse_resource(root, "memory", problems);
}

static void
check_recovery(const skn_model_t *model, const skn_node_t *mapping,
               skn_problems_t *problems)
{
    if (model->coordinator.recovery != SKN_RECOVERY_PARTIAL ||
        model->train.reduction != SKN_REDUCTION_FIXED)
        return;
    (void)skn_problems_add(problems, skn_rules_mark(mapping, "recovery"),
                           "'reduction: fixed' promises the same bits, and "
                           "'recovery: partial' loses updates where a node "
                           "dies");
    (void)skn_problems_hint(problems,
                            "set 'recovery: rollback', or 'reduction: "
                            "fast'");
}

static void
check_least(const skn_model_t *model, const skn_node_t *mapping,
            skn_problems_t *problems)
{
    /* Nodes with `leaves` train nothing: `least` may exceed the nodes that
     * train. */
    if (model->coordinator.least <= (int64_t)model->node_count ||
        model->nodes[model->node_count - 1].is_leaving)
        return;
    (void)skn_problems_add(problems, skn_rules_mark(mapping, "least"),
                           "at least %lld nodes are required, but only %zu are "
                           "listed",
                           (long long)model->coordinator.least,
                           model->node_count);
    (void)skn_problems_hint(problems,
                            "set 'least' to no more than that, or list more "
                            "nodes");
}

void
skn_rules_coordinator(const skn_model_t *model, const skn_node_t *root,
                      skn_problems_t *problems)
{
    const skn_node_t *mapping = skn_node_get(root, "coordinator");
    const skn_model_coordinator_t *coordinator = &model->coordinator;
    check_recovery(model, mapping, problems);
    if (!coordinator->address[0])
        return;
    skn_mark_t mark = skn_rules_mark(mapping, "address");
    if (!skn_address_is_good(coordinator->address)) {
        (void)skn_problems_add(problems, mark, "'%.80s' is not an address",
                               coordinator->address);
        (void)skn_problems_hint(problems,
                                "give tcp://host:port as the nodes reach it, "
                                "for example tcp://10.0.0.1:7000");
        return;
    }
    if (model->node_count == 0) {
        (void)skn_problems_add(problems, mark,
                               "there is a coordinator, but there are no "
                               "'nodes' to coordinate");
        (void)skn_problems_hint(problems,
                                "list all nodes that may take part under "
                                "nodes:");
        return;
    }
    check_least(model, mapping, problems);
    for (size_t k = 0; k < model->node_count; k++)
        if (strcmp(model->nodes[k].address, coordinator->address) == 0)
            (void)skn_problems_add(problems, mark,
                                   "node '%.64s' has the same address",
                                   model->nodes[k].name);
    /* With several nodes, each is identified by its key. */
    bool keyed = model->nodes[0].key[0] != '\0';
    if (keyed == (coordinator->key[0] != '\0') &&
        (keyed || (model->node_count == 1 &&
                   skn_address_is_loopback(coordinator->address))))
        return;
    (void)skn_problems_add(problems, skn_rules_mark(mapping, "key"),
                           keyed || !coordinator->key[0]
                               ? "the coordinator has no key"
                               : "the coordinator has a key, but the nodes "
                                 "have none");
    (void)skn_problems_hint(problems,
                            "give one to each: skein keygen NAME.key");
}

void
skn_rules_links(const skn_model_t *model, const skn_node_t *root,
                skn_problems_t *problems)
{
    const skn_node_t *links = skn_node_get(root, "links");
    if (model->train.reduction != SKN_REDUCTION_FIXED ||
        model->links.coding <= SKN_LINK_CODING_F32)
        return;
    (void)skn_problems_add(problems, skn_rules_mark(links, "coding"),
                           "'reduction: fixed' promises the same bits for any "
                           "number of nodes, which this coding rounds");
    (void)skn_problems_hint(problems, "set 'coding: f32', or leave it auto");
}
