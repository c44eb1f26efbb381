/* spec_pipes.c - reads the pipes of a topology one by one: ends, message,
 * pattern, credit. Keys, bounds and sets of parts are in spec_fields.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "actors/runtime/port.h"
#include "topology/config/nearest.h"
#include "topology/spec/spec_pipe.h"
#include "transport/message/field.h"

static const skn_option_t pipe_options[] = {
    { "message", SKN_OPTION_TEXT, NULL, 0, 0, NULL,
      "the message that it "
      "carries" },
    { "pattern", SKN_OPTION_CHOICE, "one", 0, 0,
      "one|broadcast|scatter|any|gather|reduce",
      "which receivers get a "
      "message" },
    { "collect", SKN_OPTION_CHOICE, "none", 0, 0, "none|gather|reduce|parts",
      "whether a receiver gets one part of every sender put together; parts: "
      "each part as it arrives, for kinds that put them together themselves" },
    { "key", SKN_OPTION_TEXT, "", 0, 0, NULL,
      "scatter: field that selects the "
      "receiver" },
    { "by", SKN_OPTION_TEXT, "batch", 0, 0, NULL,
      "gather, reduce: the field that names the set of parts" },
    { "credit", SKN_OPTION_INT, "16", 1, SKN_CREDIT_MAX, NULL,
      "messages that may wait at a receiver, for each sender; left out: as "
      "many as fit into 1 MiB, a power of two from 16 to 256" },
    { "peer", SKN_OPTION_BOOL, "false", 0, 0, NULL,
      "carries answers only: one for each message of another pipe" },
    { "coding", SKN_OPTION_CHOICE, "f32", 0, 0, SKN_CODING_WORDS,
      "how numbers travel between nodes" },
    { NULL, SKN_OPTION_INT, NULL, 0, 0, NULL, NULL }
};
static const char *const pipe_others[] = { "from", "to", "bounds", NULL };

skn_mark_t
skn_spec_place(const spec_pipe_t *reading, const char *key)
{
    return skn_spec_mark(reading->node, key);
}

bool
skn_spec_is_set(const spec_pipe_t *reading, const char *key)
{
    return skn_node_get(reading->node, key) != NULL;
}

/* --- ends ---------------------------------------------------------------- */

static skn_status_t
refuse_end(spec_pipe_t *reading, const skn_node_t *item)
{
    const skn_spec_t *spec = reading->spec;
    (void)skn_problems_add(spec->problems, item->mark,
                           "there is no actor named '%.64s'", item->text);
    /* The search takes time, and problems beyond the kept ones are not
     * shown. */
    if (skn_problems_count(spec->problems) > SKN_PROBLEMS_KEPT)
        return SKN_BAD_CONFIG;
    skn_nearest_t nearest = { .wanted = item->text };
    for (uint32_t k = 0; k < spec->actor_count; k++) {
        skn_nearest_offer(&nearest, spec->names[k].stem);
        skn_nearest_offer(&nearest, spec->actors[spec->names[k].actor].name);
    }
    if (nearest.best)
        return skn_problems_hint(spec->problems, "did you mean '%s'?",
                                 nearest.best);
    char names[SKN_ERROR_HINT_BYTES - 16] = "";
    for (uint32_t k = 0; k < spec->actor_count; k++)
        if (k == 0 || strcmp(spec->names[k].stem, spec->names[k - 1].stem))
            skn_spec_list(names, sizeof(names), spec->names[k].stem);
    return skn_problems_hint(spec->problems, "there are %s", names);
}

/* Adds the actors that one name means to ends[*count ..], or only counts them
 * when `ends` is NULL. */
static skn_status_t
add_end(spec_pipe_t *reading, const skn_node_t *item, uint32_t *ends,
        uint32_t *count)
{
    char found[64];
    skn_spec_t *spec = reading->spec;
    if (item->type != SKN_NODE_SCALAR || item->text[0] == '\0')
        return skn_problems_add(spec->problems, item->mark,
                                "expected the name of an actor, found %s",
                                skn_node_describe(item, found, sizeof(found)));
    uint32_t first = 0;
    uint32_t actors = skn_spec_find(spec, item->text, &first);
    if (actors == 0)
        return refuse_end(reading, item);
    for (uint32_t k = 0; k < actors; k++) {
        uint32_t actor = spec->names[first + k].actor;
        if (ends) {
            ends[(*count)++] = actor;
            continue;
        }
        if (reading->seen[actor] == reading->stamp)
            return skn_problems_add(spec->problems, item->mark,
                                    "'%s' is listed twice here",
                                    spec->actors[actor].name);
        reading->seen[actor] = reading->stamp;
        (*count)++;
    }
    return SKN_OK;
}

static skn_status_t
walk_ends(spec_pipe_t *reading, const skn_node_t *names, uint32_t *ends,
          uint32_t *count)
{
    skn_status_t status = SKN_OK;
    if (names->type != SKN_NODE_LIST)
        return add_end(reading, names, ends, count);
    for (const skn_node_t *item = names->first; item; item = item->next) {
        skn_status_t added = add_end(reading, item, ends, count);
        status = added == SKN_OK ? status : added;
    }
    return status;
}

static skn_status_t
read_ends(spec_pipe_t *reading, const char *key, const uint32_t **list,
          uint32_t *list_count)
{
    skn_spec_t *spec = reading->spec;
    const skn_node_t *names = skn_node_get(reading->node, key);
    if (!names || skn_node_is_null(names) ||
        (names->type == SKN_NODE_LIST && names->count == 0))
        return skn_problems_add(spec->problems, skn_spec_place(reading, key),
                                "the pipe needs a '%s': an actor, or a list",
                                key);
    uint32_t count = 0;
    reading->stamp++;
    skn_status_t status = walk_ends(reading, names, NULL, &count);
    if (status != SKN_OK)
        return status;
    spec->end_count += count;
    if (spec->end_count > SPEC_ENDS_MAX)
        return skn_problems_add(spec->problems, names->mark,
                                "the pipes have more than %u ends",
                                SPEC_ENDS_MAX);
    uint32_t *ends = skn_spec_memory(spec, count, sizeof(*ends));
    if (!ends)
        return SKN_NO_MEMORY;
    *list = ends;
    *list_count = 0;
    return walk_ends(reading, names, ends, list_count);
}

/* --- the message --------------------------------------------------------- */

static skn_status_t
find_schema(spec_pipe_t *reading)
{
    const skn_spec_t *spec = reading->spec;
    const char *name = reading->values[MESSAGE].text;
    reading->pipe->schema = skn_spec_schema(spec, name);
    if (reading->pipe->schema)
        return SKN_OK;
    skn_nearest_t nearest = { .wanted = name };
    char names[SKN_ERROR_HINT_BYTES - 16] = "";
    for (uint32_t k = 0; k < spec->schema_count; k++) {
        skn_nearest_offer(&nearest, spec->schemas[k]->name);
        skn_spec_list(names, sizeof(names), spec->schemas[k]->name);
    }
    (void)skn_problems_add(spec->problems, skn_spec_place(reading, "message"),
                           "unknown message '%.64s'", name);
    if (nearest.best)
        return skn_problems_hint(spec->problems, "did you mean '%s'?",
                                 nearest.best);
    return skn_problems_hint(spec->problems, "there are %s",
                             names[0] ? names : "none");
}

static skn_status_t
refuse_sender(spec_pipe_t *reading, const skn_wired_actor_t *actor)
{
    const skn_kind_t *kind = actor->kind;
    char names[SKN_ERROR_HINT_BYTES - 16] = "";
    for (size_t k = 0; kind->sends && kind->sends[k]; k++)
        skn_spec_list(names, sizeof(names), kind->sends[k]->name);
    (void)skn_problems_add(reading->spec->problems,
                           skn_spec_place(reading, "from"),
                           "%s (%s) does not send '%s'", actor->name,
                           kind->name, reading->pipe->schema->name);
    return skn_problems_hint(reading->spec->problems, "it sends %s",
                             names[0] ? names : "nothing");
}

static skn_status_t
refuse_receiver(spec_pipe_t *reading, const skn_wired_actor_t *actor)
{
    const skn_kind_t *kind = actor->kind;
    char names[SKN_ERROR_HINT_BYTES - 16] = "";
    const skn_handler_t *handler = kind->handlers;
    for (; handler && handler->schema; handler++)
        skn_spec_list(names, sizeof(names), handler->schema->name);
    (void)skn_problems_add(reading->spec->problems,
                           skn_spec_place(reading, "to"),
                           "%s (%s) does not handle '%s'", actor->name,
                           kind->name, reading->pipe->schema->name);
    return skn_problems_hint(reading->spec->problems, "it handles %s",
                             names[0] ? names : "nothing");
}

/* A handler takes either parts or messages, and would misread the other. */
static skn_status_t
check_gather(spec_pipe_t *reading, const skn_wired_actor_t *actor)
{
    const skn_wired_pipe_t *pipe = reading->pipe;
    const skn_schema_t *const *gathers = actor->kind->gathers;
    bool is_gathered = skn_collect_parts(pipe->collect);
    if (!gathers)
        return SKN_OK;
    while (*gathers && (*gathers)->id != pipe->schema->id)
        gathers++;
    if (is_gathered == (*gathers != NULL))
        return SKN_OK;
    const char *key = is_gathered && !skn_spec_is_set(reading, "collect")
                          ? "pattern"
                      : is_gathered ? "collect"
                                    : "to";
    (void)skn_problems_add(
        reading->spec->problems, skn_spec_place(reading, key),
        "%s (%s) takes '%s' %s", actor->name, actor->kind->name,
        pipe->schema->name,
        is_gathered ? "one by one" : "gathered, one part of every sender");
    return skn_problems_hint(reading->spec->problems, "%s",
                             is_gathered ? "leave gather out"
                                         : "add collect: gather, by: batch");
}

/* The host takes single messages. */
static skn_status_t
check_port(spec_pipe_t *reading, const skn_wired_actor_t *actor)
{
    if (reading->pipe->collect == SKN_COLLECT_NONE)
        return SKN_OK;
    const char *key =
        skn_spec_is_set(reading, "collect") ? "collect" : "pattern";
    (void)skn_problems_add(reading->spec->problems,
                           skn_spec_place(reading, key),
                           "port %s takes '%s' one by one", actor->name,
                           reading->pipe->schema->name);
    return skn_problems_hint(reading->spec->problems,
                             "let an actor gather or reduce before it");
}

/* One problem for each kind is enough; peers are of one kind. */
static skn_status_t
check_kinds(spec_pipe_t *reading)
{
    const skn_spec_t *spec = reading->spec;
    const skn_wired_pipe_t *pipe = reading->pipe;
    skn_status_t status = SKN_OK;
    const skn_kind_t *last = NULL;
    for (uint32_t k = 0; k < pipe->from_count; k++) {
        const skn_wired_actor_t *actor = &spec->actors[pipe->from[k]];
        if (actor->kind && actor->kind != last &&
            !skn_spec_sends(actor->kind, pipe->schema))
            status = refuse_sender(reading, actor);
        last = actor->kind;
    }
    last = NULL;
    for (uint32_t k = 0; k < pipe->to_count; k++) {
        const skn_wired_actor_t *actor = &spec->actors[pipe->to[k]];
        const skn_kind_t *kind = actor->kind;
        if (!kind || kind == last)
            continue;
        last = kind;
        const skn_handler_t *handler = skn_spec_handler(kind, pipe->schema);
        if (kind == &skn_port_kind) {
            status = check_port(reading, actor);
        } else if (!handler) {
            status = refuse_receiver(reading, actor);
        } else if (pipe->collect == SKN_COLLECT_REDUCE && !handler->combine) {
            const char *key =
                skn_spec_is_set(reading, "collect") ? "collect" : "pattern";
            (void)skn_problems_add(spec->problems, skn_spec_place(reading, key),
                                   "%s (%s) has no way to combine '%s'",
                                   actor->name, kind->name, pipe->schema->name);
            status =
                skn_problems_hint(spec->problems, "gather instead of reduce");
        } else if (check_gather(reading, actor) != SKN_OK) {
            status = SKN_BAD_CONFIG;
        }
    }
    return status;
}

/* --- patterns ------------------------------------------------------------ */

static skn_status_t
read_pattern(spec_pipe_t *reading)
{
    skn_wired_pipe_t *pipe = reading->pipe;
    const char *pattern = reading->values[PATTERN].text;
    const char *collect = reading->values[COLLECT].text;
    bool is_short =
        strcmp(pattern, "gather") == 0 || strcmp(pattern, "reduce") == 0;
    if (is_short && skn_spec_is_set(reading, "collect") &&
        strcmp(pattern, collect) != 0) {
        (void)skn_problems_add(reading->spec->problems,
                               skn_spec_place(reading, "collect"),
                               "pattern %s collects by itself, but collect "
                               "is %s",
                               pattern, collect);
        return skn_problems_hint(reading->spec->problems,
                                 "leave 'collect' out");
    }
    collect = is_short ? pattern : collect;
    pipe->pattern = strcmp(pattern, "one") == 0       ? SKN_PATTERN_ONE
                    : strcmp(pattern, "scatter") == 0 ? SKN_PATTERN_SCATTER
                    : strcmp(pattern, "any") == 0     ? SKN_PATTERN_ANY
                                                      : SKN_PATTERN_BROADCAST;
    pipe->collect = strcmp(collect, "gather") == 0   ? SKN_COLLECT_GATHER
                    : strcmp(collect, "reduce") == 0 ? SKN_COLLECT_REDUCE
                    : strcmp(collect, "parts") == 0  ? SKN_COLLECT_PARTS
                                                     : SKN_COLLECT_NONE;
    if (pipe->pattern != SKN_PATTERN_ANY || pipe->collect == SKN_COLLECT_NONE)
        return SKN_OK;
    return skn_problems_add(reading->spec->problems,
                            skn_spec_place(reading, "collect"),
                            "pattern any gives each part to another receiver, "
                            "so no set of parts would be complete");
}

static skn_status_t
check_counts(spec_pipe_t *reading)
{
    const skn_wired_pipe_t *pipe = reading->pipe;
    if (pipe->pattern != SKN_PATTERN_ONE || pipe->to_count == 1 ||
        pipe->to_count == pipe->from_count)
        return SKN_OK;
    (void)skn_problems_add(reading->spec->problems,
                           skn_spec_place(reading, "pattern"),
                           "pattern one pairs %u senders with %u receivers",
                           pipe->from_count, pipe->to_count);
    return skn_problems_hint(reading->spec->problems,
                             "as many receivers as senders, or a single one");
}

/* --- pipes --------------------------------------------------------------- */

/* Finds the index of the word in SKN_CODING_WORDS. A message without numbers
 * has nothing to round. */
static skn_status_t
read_coding(spec_pipe_t *reading)
{
    skn_wired_pipe_t *pipe = reading->pipe;
    const skn_schema_t *schema = pipe->schema;
    const char *wanted = reading->values[CODING].text;
    const char *word = SKN_CODING_WORDS;
    size_t bytes = strlen(wanted);
    for (pipe->coding = 0; strncmp(word, wanted, bytes) != 0 ||
                           (word[bytes] && word[bytes] != '|');
         pipe->coding++)
        word = strchr(word, '|') + 1;
    if (pipe->coding == 0)
        return SKN_OK;
    for (size_t k = 0; k < schema->field_count; k++)
        if (schema->fields[k].kind == SKN_FIELD_f32s)
            return SKN_OK;
    (void)skn_problems_add(
        reading->spec->problems, skn_spec_place(reading, "coding"),
        "message '%s' has no run of f32 to send as %s", schema->name, wanted);
    return skn_problems_hint(reading->spec->problems, "leave 'coding' out");
}

/* As many messages as fit into CREDIT_BYTES if all are as large as their fields
 * allow. A wake-up takes as long as a few hundred small messages. With credit
 * for 256, a sender and a receiver mostly wait for each other; with 16, small
 * messages take ten times as long as with 1,024. Texts and arrays are seldom
 * full, so that the bound is generous: lines of up to 4 KiB have 256. Where a
 * receiver waits for parts, it has a place for each part of each set. */
#define CREDIT_BYTES ((uint64_t)1 << 20)
#define CREDIT_MIN 16u
#define CREDIT_MAX 1024u
#define CREDIT_OF_SETS_MAX 256u

static uint32_t
usual_credit(const skn_wired_pipe_t *pipe)
{
    const skn_schema_t *schema = pipe->schema;
    uint32_t most =
        skn_collect_waits(pipe->collect) ? CREDIT_OF_SETS_MAX : CREDIT_MAX;
    uint64_t most_bytes = schema->struct_bytes;
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        uint64_t each = field->kind == SKN_FIELD_str
                            ? 1
                            : skn_field_item_bytes(field->kind);
        if (each > 0 && field->max > CREDIT_BYTES)
            return CREDIT_MIN;
        most_bytes += each * field->max;
    }
    uint32_t credit = CREDIT_MIN;
    while (credit < most && 2 * credit * most_bytes <= CREDIT_BYTES)
        credit *= 2;
    return credit;
}

/* Independent options are checked in any case; the rest as far as possible. */
static skn_status_t
read_pipe(spec_pipe_t *reading)
{
    skn_spec_t *spec = reading->spec;
    skn_wired_pipe_t *pipe = reading->pipe;
    skn_status_t status = skn_values_check(
        spec->document, reading->node, pipe_options, pipe_others, "a pipe",
        reading->node->mark, reading->values, spec->problems);
    if (reading->node->type != SKN_NODE_MAPPING)
        return status;
    pipe->credit = (uint32_t)reading->values[CREDIT].number;
    pipe->peer = reading->values[PEER].truth;
    skn_status_t from =
        read_ends(reading, "from", &pipe->from, &pipe->from_count);
    skn_status_t to = read_ends(reading, "to", &pipe->to, &pipe->to_count);
    if (reading->values[MESSAGE].text[0] == '\0' ||
        find_schema(reading) != SKN_OK || status != SKN_OK)
        return SKN_BAD_CONFIG;
    if (from != SKN_OK || to != SKN_OK)
        return from == SKN_OK ? to : from;
    if (read_pattern(reading) != SKN_OK)
        return SKN_BAD_CONFIG;
    skn_status_t counts = check_counts(reading);
    skn_status_t kinds = check_kinds(reading);
    skn_status_t scatter = skn_spec_read_scatter(reading);
    skn_status_t collect = skn_spec_read_collect(reading);
    if (!skn_spec_is_set(reading, "credit"))
        pipe->credit = usual_credit(pipe);
    skn_status_t coding = read_coding(reading);
    return counts != SKN_OK    ? counts
           : kinds != SKN_OK   ? kinds
           : scatter != SKN_OK ? scatter
           : collect != SKN_OK ? collect
                               : coding;
}

skn_status_t
skn_spec_read_pipes(skn_spec_t *spec, const skn_node_t *list)
{
    if (list->count > SKN_PIPES_MAX)
        return skn_problems_add(spec->problems, list->mark,
                                "%u pipes, at most %u allowed", list->count,
                                SKN_PIPES_MAX);
    spec_pipe_t reading = { .spec = spec };
    reading.seen = skn_spec_memory(spec, spec->actor_count, sizeof(uint32_t));
    spec->pipes = skn_spec_memory(spec, list->count, sizeof(*spec->pipes));
    spec->pipe_nodes =
        skn_spec_memory(spec, list->count, sizeof(*spec->pipe_nodes));
    if (!reading.seen || !spec->pipes || !spec->pipe_nodes)
        return SKN_NO_MEMORY;
    skn_status_t status = SKN_OK;
    for (const skn_node_t *item = list->first; item; item = item->next) {
        reading.node = item;
        reading.pipe = &spec->pipes[spec->pipe_count];
        spec->pipe_nodes[spec->pipe_count++] = item;
        skn_status_t pipe = read_pipe(&reading);
        if (pipe == SKN_NO_MEMORY)
            return pipe;
        status = pipe == SKN_OK ? status : pipe;
    }
    return status;
}
