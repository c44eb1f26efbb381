/* control_messages.c - reads, writes and sends the messages between coordinator
 * and members.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/control_messages.h"

#include <stdlib.h>
#include <string.h>

#include "formats/text/json_text.h"

/* --- the declared messages ------------------------------------------------ */

/* clang-format off */
SKN_JSON_RECORD(skn_control_checkpoint, "checkpoint",
                SKN_CONTROL_CHECKPOINT_FIELDS)
SKN_JSON_RECORD(skn_control_node, "node", SKN_CONTROL_NODE_FIELDS)
#define RECORD(word, WORD, when)                                               \
    SKN_JSON_RECORD(skn_control_##word, #word, SKN_CONTROL_##WORD##_FIELDS)
SKN_MEMBER_MESSAGES(RECORD, SKN_CONTROL_NOTHING)
SKN_COORDINATOR_MESSAGES(RECORD, SKN_CONTROL_NOTHING)

#define OF_MEMBER(word, WORD, when)                                            \
    [SKN_CONTROL_MESSAGE_##WORD] = {                                           \
        #word, when, &skn_control_##word##_record, true },
#define OF_MEMBER_BARE(word, WORD, when)                                       \
    [SKN_CONTROL_MESSAGE_##WORD] = { #word, when, NULL, true },
#define OF_COORDINATOR(word, WORD, when)                                       \
    [SKN_CONTROL_MESSAGE_##WORD] = {                                           \
        #word, when, &skn_control_##word##_record, false },
#define OF_COORDINATOR_BARE(word, WORD, when)                                  \
    [SKN_CONTROL_MESSAGE_##WORD] = { #word, when, NULL, false },
static const skn_control_description_t
    descriptions[SKN_CONTROL_MESSAGE_KINDS] = {
    SKN_MEMBER_MESSAGES(OF_MEMBER, OF_MEMBER_BARE)
    SKN_COORDINATOR_MESSAGES(OF_COORDINATOR, OF_COORDINATOR_BARE)
};
/* clang-format on */

const skn_control_description_t *
skn_control_message_describe(skn_control_message_kind_t kind)
{
    return kind < SKN_CONTROL_MESSAGE_KINDS && descriptions[kind].word
               ? &descriptions[kind]
               : NULL;
}

static skn_control_message_kind_t
kind_of(const char *word)
{
    for (skn_control_message_kind_t kind = 0; kind < SKN_CONTROL_MESSAGE_KINDS;
         kind++)
        if (descriptions[kind].word &&
            strcmp(descriptions[kind].word, word) == 0)
            return kind;
    return SKN_CONTROL_MESSAGE_UNKNOWN;
}

/* --- reading and writing -------------------------------------------------- */

/* The struct of every kind begins where `hello`, a member of the same union,
 * does. */

skn_status_t
skn_control_message_read(skn_frame_t frame, skn_control_message_t *message,
                         skn_error_t *error)
{
    json_error_t why;
    *message = (skn_control_message_t){
        .owned = json_loadb(frame.at, frame.bytes, JSON_REJECT_DUPLICATES, &why)
    };
    const char *word = skn_json_string(message->owned, "type");
    if (!word && (json_object_get(message->owned, "say") ||
                  json_object_get(message->owned, "order")))
        return skn_fail_hint(
            error,
            skn_fail(error, SKN_BAD_MESSAGE,
                     "a message of protocol version 2; this is version %d",
                     SKN_CONTROL_VERSION),
            "install the same version of skein on all nodes");
    if (!word)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "a message that is not a JSON object with a type");
    message->kind = kind_of(word);
    const skn_json_record_t *record = descriptions[message->kind].record;
    return record ? skn_json_record_read(record, message->owned,
                                         &message->hello, error)
                  : SKN_OK;
}

void
skn_control_message_fini(skn_control_message_t *message)
{
    json_decref(message->owned);
    *message = (skn_control_message_t){ .kind = SKN_CONTROL_MESSAGE_UNKNOWN };
}

char *
skn_control_message_write(const skn_control_message_t *message)
{
    const skn_control_description_t *is =
        skn_control_message_describe(message->kind);
    json_t *object = !is ? NULL
                     : is->record
                         ? skn_json_record_write(is->record, &message->hello)
                         : json_object();
    char *text = NULL;
    if (object &&
        json_object_set_new(object, "type", json_string(is->word)) == 0)
        text = skn_json_write(object, JSON_COMPACT);
    json_decref(object);
    return text;
}

skn_status_t
skn_control_message_send(skn_control_t *control, uint32_t member,
                         const skn_control_message_t *message,
                         skn_error_t *error)
{
    char *text = skn_control_message_write(message);
    if (!text)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a message");
    skn_frame_t frame = { text, strlen(text) };
    skn_status_t status = skn_control_send(control, member, frame, error);
    free(text);
    return status;
}

/* --- parts of messages ---------------------------------------------------- */

static void
clean(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at; at++)
        if (*at < ' ' || *at == 127)
            *at = ' ';
}

void
skn_control_message_error(uint64_t code, const char *text, const char *hint,
                          skn_error_t *error)
{
    skn_status_t status = skn_status_of_exit_code((int)code);
    (void)skn_fail(error, status, "%s", text);
    (void)skn_fail_hint(error, status, "%s", hint);
    clean(error->text);
    clean(error->hint);
}

skn_ending_t
skn_control_message_ending(const skn_control_ended_t *ended, skn_error_t *error)
{
    static const struct {
        const char *word;
        skn_ending_t ending;
    } words[] = { { "well", SKN_ENDING_WELL },
                  { "done", SKN_ENDING_DONE },
                  { "stopped", SKN_ENDING_STOPPED } };
    for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
        if (strcmp(ended->how, words[k].word) == 0)
            return words[k].ending;
    skn_control_message_error(ended->code, ended->text, ended->hint, error);
    return SKN_ENDING_FAILED;
}

json_t *
skn_control_node_names(const skn_model_t *model, uint64_t set)
{
    json_t *names = json_array();
    for (size_t k = 0; names && k < model->node_count; k++)
        if (set & ((uint64_t)1 << k))
            (void)json_array_append_new(names,
                                        json_string(model->nodes[k].name));
    return names;
}

uint64_t
skn_control_node_set(const skn_model_t *model, const json_t *names)
{
    uint64_t set = 0;
    size_t n;
    const json_t *item;
    json_array_foreach(names, n, item)
    {
        const char *name = json_string_value(item);
        for (size_t k = 0; name && k < model->node_count; k++)
            if (strcmp(name, model->nodes[k].name) == 0)
                set |= (uint64_t)1 << k;
    }
    return set;
}
