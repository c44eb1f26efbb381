/* control_messages.c - reads, writes and sends the messages between coordinator
 * and members.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/control/control_messages.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/process.h"
#include "formats/text/json_text.h"

/* --- the declared messages ------------------------------------------------ */

/* clang-format off */
SKN_JSON_RECORD(cli_checkpoint, "checkpoint", CLI_CHECKPOINT_FIELDS)
SKN_JSON_RECORD(cli_node, "node", CLI_NODE_FIELDS)
#define RECORD(word, WORD, when)                                               \
    SKN_JSON_RECORD(cli_##word, #word, CLI_##WORD##_FIELDS)
CLI_MEMBER_MESSAGES(RECORD, CLI_CONTROL_NOTHING)
CLI_COORDINATOR_MESSAGES(RECORD, CLI_CONTROL_NOTHING)

#define OF_MEMBER(word, WORD, when)                                            \
    [CLI_CONTROL_##WORD] = { #word, when, &cli_##word##_record, true },
#define OF_MEMBER_BARE(word, WORD, when)                                       \
    [CLI_CONTROL_##WORD] = { #word, when, NULL, true },
#define OF_COORDINATOR(word, WORD, when)                                       \
    [CLI_CONTROL_##WORD] = { #word, when, &cli_##word##_record, false },
#define OF_COORDINATOR_BARE(word, WORD, when)                                  \
    [CLI_CONTROL_##WORD] = { #word, when, NULL, false },
static const cli_control_description_t descriptions[CLI_CONTROL_KINDS] = {
    CLI_MEMBER_MESSAGES(OF_MEMBER, OF_MEMBER_BARE)
    CLI_COORDINATOR_MESSAGES(OF_COORDINATOR, OF_COORDINATOR_BARE)
};
/* clang-format on */

const cli_control_description_t *
cli_control_describe(cli_control_kind_t kind)
{
    return kind < CLI_CONTROL_KINDS && descriptions[kind].word
               ? &descriptions[kind]
               : NULL;
}

static cli_control_kind_t
kind_of(const char *word)
{
    for (cli_control_kind_t kind = 0; kind < CLI_CONTROL_KINDS; kind++)
        if (descriptions[kind].word &&
            strcmp(descriptions[kind].word, word) == 0)
            return kind;
    return CLI_CONTROL_UNKNOWN;
}

/* --- reading and writing -------------------------------------------------- */

/* The struct of every kind begins where `hello`, a member of the same union,
 * does. */

skn_status_t
cli_control_read(skn_frame_t frame, cli_control_message_t *message,
                 skn_error_t *error)
{
    json_error_t why;
    *message = (cli_control_message_t){
        .owned = json_loadb(frame.at, frame.bytes, JSON_REJECT_DUPLICATES, &why)
    };
    const char *word = skn_json_string(message->owned, "type");
    if (!word && (json_object_get(message->owned, "say") ||
                  json_object_get(message->owned, "order")))
        return skn_fail_hint(
            error,
            skn_fail(error, SKN_BAD_MESSAGE,
                     "a message of protocol version 2; this is version %d",
                     CLI_CONTROL_VERSION),
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
cli_control_message_fini(cli_control_message_t *message)
{
    json_decref(message->owned);
    *message = (cli_control_message_t){ .kind = CLI_CONTROL_UNKNOWN };
}

char *
cli_control_write(const cli_control_message_t *message)
{
    const cli_control_description_t *is = cli_control_describe(message->kind);
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
cli_control_send(skn_control_t *control, uint32_t member,
                 const cli_control_message_t *message, skn_error_t *error)
{
    char *text = cli_control_write(message);
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
cli_control_error(uint64_t code, const char *text, const char *hint,
                  skn_error_t *error)
{
    skn_status_t status = cli_status_of_code((int)code);
    (void)skn_fail(error, status, "%s", text);
    (void)skn_fail_hint(error, status, "%s", hint);
    clean(error->text);
    clean(error->hint);
}

skn_ending_t
cli_control_ending(const cli_ended_t *ended, skn_error_t *error)
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
    cli_control_error(ended->code, ended->text, ended->hint, error);
    return SKN_ENDING_FAILED;
}

json_t *
cli_node_names(const skn_model_t *model, uint64_t set)
{
    json_t *names = json_array();
    for (size_t k = 0; names && k < model->node_count; k++)
        if (set & ((uint64_t)1 << k))
            (void)json_array_append_new(names,
                                        json_string(model->nodes[k].name));
    return names;
}

uint64_t
cli_node_set(const skn_model_t *model, const json_t *names)
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

skn_control_t *
cli_control_dial(const cli_call_t *call, const skn_control_options_t *options,
                 skn_error_t *error)
{
    skn_control_t *control = skn_control_dial(options, error);
    char text[SKN_ERROR_TEXT_BYTES];
    if (!control || !skn_control_is_unknown(control))
        return control;
    (void)snprintf(text, sizeof(text),
                   "the coordinator's host name in %.300s cannot be resolved",
                   options->address);
    cli_warn(call, text, "check its spelling; skein resolves it again");
    return control;
}
