/* duty_messages.c - writes the coordinator's orders to its members as JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/elastic/duty_messages.h"

#include <string.h>

static json_t *
cores_of(const skn_model_cores_t *cores)
{
    if (cores->count == 0)
        return cores->limit == SKN_AUTO ? json_string("auto")
                                        : json_integer(cores->limit);
    json_t *list = json_array();
    for (size_t k = 0; k < cores->count; k++)
        (void)json_array_append_new(list, json_integer(cores->list[k]));
    return list;
}

/* The node that relays to a node without an address: the one that the file
 * names or else the first of the others that has an address. "": the node has
 * an address or is alone. */
static const char *
via_of(const skn_model_t *model, const skn_model_node_t *node, uint64_t set)
{
    const char *via = "";
    for (uint32_t k = 0; node->via[0] && k < model->node_count; k++) {
        const skn_model_node_t *other = &model->nodes[k];
        if (!(set & ((uint64_t)1 << k)) || !other->address[0])
            continue;
        if (!via[0] || strcmp(other->name, node->via) == 0)
            via = other->name;
    }
    return via;
}

/* Adds the nodes of `some`, a subset of `set`. */
static void
add_nodes(const cli_duty_messages_t *messages, uint64_t set, uint64_t some,
          bool is_leaving, json_t *nodes)
{
    for (uint32_t k = 0; nodes && k < messages->model->node_count; k++) {
        const skn_model_node_t *node = &messages->model->nodes[k];
        if (!(some & ((uint64_t)1 << k)))
            continue;
        json_t *item = json_pack(
            "{ss ss ss ss so sI sf sf}", "name", node->name, "address",
            node->address, "via", via_of(messages->model, node, set), "key",
            messages->keys[k], "cores", cores_of(&node->cores), "memory",
            (json_int_t)(node->memory_bytes == SKN_AUTO ? 0
                                                        : node->memory_bytes),
            "speed", skn_balance_speed(messages->balance, k), "notice",
            node->notice_s);
        if (item && is_leaving)
            (void)json_object_set_new(item, "leaves", json_true());
        (void)json_array_append_new(nodes, item);
    }
}

/* Lists the nodes: the first one leads, and serving members come last. */
static json_t *
nodes_of(const cli_duty_messages_t *messages, uint64_t set, uint64_t serving)
{
    json_t *nodes = json_array();
    add_nodes(messages, set, set & ~serving, false, nodes);
    add_nodes(messages, set, set & serving, true, nodes);
    return nodes;
}

static json_t *
start_of(const cli_duty_messages_t *messages, const skn_duty_t *duty)
{
    json_t *message =
        json_pack("{ss sI ss sI sI sb so}", "order", "start", "generation",
                  (json_int_t)duty->generation, "run", messages->run_id,
                  "batch", (json_int_t)duty->point.batch, "layout",
                  (json_int_t)duty->point.layout, "saved", duty->point.saved,
                  "nodes", nodes_of(messages, duty->set, duty->serving));
    json_t *manifest =
        duty->point.composed ? messages->composed
        : duty->point.saved
            ? cli_manifests_sealed(messages->manifests, messages->seal)
            : NULL;
    if (message && manifest)
        (void)json_object_set(message, "manifest", manifest);
    if (message && duty->point.composed)
        (void)json_object_set_new(message, "composed", json_true());
    return message;
}

/* Includes why the member failed, because its worker may have been ended before
 * it could report that: other members learnt of it first. */
static json_t *
bye_of(const cli_duty_messages_t *messages)
{
    const skn_error_t *fault = messages->fault;
    if (!fault)
        return json_pack("{ss ss}", "order", "bye", "how", messages->how);
    return json_pack("{ss ss si ss ss}", "order", "bye", "how", messages->how,
                     "code", skn_status_exit_code(fault->status), "text",
                     fault->text, "hint", fault->hint);
}

const char *
cli_duty_messages_how(const skn_membership_t *membership)
{
    bool stopped = false;
    skn_error_t error = { 0 };
    if (skn_membership_phase(membership) != SKN_CLUSTER_OVER)
        return "left";
    return skn_membership_result(membership, &stopped, &error) != SKN_OK
               ? "failed"
           : stopped ? "stopped"
                     : "done";
}

json_t *
cli_duty_messages_message(const cli_duty_messages_t *messages,
                          const skn_duty_t *duty)
{
    switch (duty->kind) {
    case SKN_DUTY_IDENTIFY:
        return json_pack("{ss}", "order", "who");
    case SKN_DUTY_ASK:
        return json_pack("{ss so}", "order", "ask", "known",
                         cli_manifests_seals(messages->manifests));
    case SKN_DUTY_START:
        return start_of(messages, duty);
    case SKN_DUTY_PAUSE:
        return json_pack("{ss sI}", "order", "pause", "generation",
                         (json_int_t)duty->generation);
    case SKN_DUTY_ABORT:
        return json_pack("{ss sb}", "order", "abort", "cut", duty->salvage);
    case SKN_DUTY_BYE:
        return bye_of(messages);
    default:
        return NULL;
    }
}
