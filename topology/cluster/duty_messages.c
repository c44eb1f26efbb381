/* duty_messages.c - makes the coordinator's messages to its members.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/duty_messages.h"

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
add_nodes(const skn_duty_messages_t *messages, uint64_t set, uint64_t some,
          bool is_leaving, json_t *nodes)
{
    for (uint32_t k = 0; nodes && k < messages->model->node_count; k++) {
        const skn_model_node_t *node = &messages->model->nodes[k];
        if (!(some & ((uint64_t)1 << k)))
            continue;
        json_t *cores = cores_of(&node->cores);
        const skn_control_node_t item = {
            .name = node->name,
            .address = node->address,
            .via = node->address[0] ? "" : via_of(messages->model, node, set),
            .key = messages->keys[k],
            .cores = cores,
            .memory = node->memory_bytes == SKN_AUTO
                          ? 0
                          : (uint64_t)node->memory_bytes,
            .speed = skn_balance_speed(messages->balance, k),
            .notice = node->notice_s,
            .leaves = is_leaving,
        };
        (void)json_array_append_new(
            nodes, skn_json_record_write(&skn_control_node_record, &item));
        json_decref(cores);
    }
}

/* Lists the nodes: the first one leads, and serving members come last. */
static json_t *
nodes_of(const skn_duty_messages_t *messages, uint64_t set, uint64_t serving)
{
    json_t *nodes = json_array();
    add_nodes(messages, set, set & ~serving, false, nodes);
    add_nodes(messages, set, set & serving, true, nodes);
    return nodes;
}

static void
make_start(const skn_duty_messages_t *messages, const skn_duty_t *duty,
           skn_control_message_t *message)
{
    const skn_point_t *point = &duty->point;
    json_t *nodes = nodes_of(messages, duty->set, duty->serving);
    *message = (skn_control_message_t){
        .kind = SKN_CONTROL_MESSAGE_START,
        .owned = nodes,
        .start = { .generation = duty->generation,
                   .run = messages->run_id,
                   .batch = point->batch,
                   .layout = point->layout,
                   .saved = point->saved,
                   .composed = point->composed,
                   .manifest = point->composed ? messages->composed
                               : point->saved
                                   ? skn_manifests_sealed(messages->manifests,
                                                          messages->seal)
                                   : NULL,
                   .nodes = nodes },
    };
}

/* Includes why the member failed, because its worker may have been ended before
 * it could report that: other members learnt of it first. */
static skn_control_dismiss_t
dismiss_of(const skn_duty_messages_t *messages)
{
    const skn_error_t *fault = messages->fault;
    if (!fault)
        return (skn_control_dismiss_t){ .how = messages->how };
    return (skn_control_dismiss_t){ .how = messages->how,
                                    .code = (uint64_t)skn_status_exit_code(
                                        fault->status),
                                    .text = fault->text,
                                    .hint = fault->hint };
}

const char *
skn_duty_messages_how(const skn_membership_t *membership)
{
    bool stopped = false;
    skn_error_t error = { 0 };
    if (skn_membership_phase(membership) != SKN_MEMBERSHIP_OVER)
        return "left";
    return skn_membership_result(membership, &stopped, &error) != SKN_OK
               ? "failed"
           : stopped ? "stopped"
                     : "done";
}

void
skn_duty_messages_make(const skn_duty_messages_t *messages,
                       const skn_duty_t *duty, skn_control_message_t *message)
{
    *message = (skn_control_message_t){ .kind = SKN_CONTROL_MESSAGE_UNKNOWN };
    switch (duty->kind) {
    case SKN_DUTY_IDENTIFY:
        message->kind = SKN_CONTROL_MESSAGE_IDENTIFY;
        break;
    case SKN_DUTY_LIST:
        message->kind = SKN_CONTROL_MESSAGE_LIST;
        message->owned = skn_manifests_seals(messages->manifests);
        message->list.known = message->owned;
        break;
    case SKN_DUTY_START:
        make_start(messages, duty, message);
        break;
    case SKN_DUTY_PAUSE:
        message->kind = SKN_CONTROL_MESSAGE_PAUSE;
        message->pause.generation = duty->generation;
        break;
    case SKN_DUTY_ABORT:
        message->kind = SKN_CONTROL_MESSAGE_ABORT;
        message->abort.salvage = duty->salvage;
        break;
    case SKN_DUTY_DISMISS:
        message->kind = SKN_CONTROL_MESSAGE_DISMISS;
        message->dismiss = dismiss_of(messages);
        break;
    default:
        break;
    }
}
