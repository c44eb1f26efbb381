/* document_parse.c - builds a tree of nodes from YAML, by the events of
 * libfyaml.
 *
 * Events are used, and not a document of libfyaml's, so that aliases and tags
 * are refused before anything is resolved (a 7-line file of nested aliases took
 * 760 MB), and depth and size while they grow. The bytes are checked first:
 * libfyaml 0.7.12 takes a byte that is not UTF-8 for the end of the file, and
 * does not report it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/text.h"
#include "skein/limits.h"
#include "topology/config/document_internal.h"

typedef struct tree_builder {
    skn_document_t *document;
    skn_problems_t *problems;
    const char *origin;
    bool has_lines;
    skn_node_t *open[SKN_CONFIG_DEPTH_MAX]; /* the outermost first */
    uint32_t depth;
    /* The key that waits for its value. A mapping has one at a time; a value
     * with children takes the key before they come. */
    const char *key;
    skn_mark_t key_mark;
    skn_mark_t last; /* position of the parser, for items without their own */
    skn_node_t *root;
    size_t end; /* after the bracket that closes the root */
    uint32_t document_count;
    uint32_t repeated_count; /* repeated keys: the tree is whole */
    skn_mark_t tail;         /* position of the last character with ink */
} tree_builder_t;

/* --- bytes --------------------------------------------------------------- */

/* True if YAML allows the character (YAML 1.2.2, production 1: c-printable). A
 * lone carriage return is refused too, since editors disagree on whether it
 * ends a line. */
static bool
is_printable(const unsigned char *at, const unsigned char *end)
{
    if (at[0] == '\r')
        return at + 1 < end && at[1] == '\n';
    if (at[0] < 0x20)
        return at[0] == '\t' || at[0] == '\n';
    if (at[0] == 0xC2 && at[1] < 0xA0)
        return at[1] == 0x85;
    if (at[0] == 0xEF && at[1] == 0xBB && at[2] == 0xBF)
        return false;
    return at[0] != 0x7F && !(at[0] == 0xEF && at[1] == 0xBF && at[2] >= 0xBE);
}

static skn_mark_t
mark_at(const tree_builder_t *builder, uint32_t line, uint32_t column)
{
    skn_mark_t mark = { builder->origin, 0, 0 };
    if (builder->has_lines) {
        mark.line = line;
        mark.column = column;
    }
    return mark;
}

/* Brackets that may be open at once, with those in quotes and comments counted
 * too. After the first, libfyaml reads on to the last one before it gives an
 * event: 4 MiB of '[' took 1.4 GB and 2.7 s. */
#define OPEN_BRACKETS_MAX 64u

static uint32_t
count_bracket(uint32_t open, unsigned char byte)
{
    if (byte == '[' || byte == '{')
        return open + 1;
    return (byte == ']' || byte == '}') && open > 0 ? open - 1 : open;
}

/* True if `at`, the '?' of "? key", begins a line of `text`, apart from list
 * dashes ("- "): libfyaml 0.7.12 crashes if ":<tab>:" follows in such a key. */
static bool
is_question(const unsigned char *text, const unsigned char *at,
            const unsigned char *end)
{
    static const char blanks[] = " \t\r\n";
    if (*at != '?' ||
        (at + 1 < end && (at[1] == '\0' || !strchr(blanks, at[1]))))
        return false;
    while (at > text && (at[-1] == ' ' || at[-1] == '\t' || at[-1] == '-'))
        at--;
    return at == text || at[-1] == '\n';
}

static skn_status_t
check_bytes(tree_builder_t *builder, const char *text, size_t text_bytes)
{
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + text_bytes;
    uint32_t line = 1, column = 1, open = 0;
    while (at < end) {
        skn_mark_t mark = mark_at(builder, line, column);
        size_t length =
            skn_text_character_bytes((const char *)at, (const char *)end);
        if (length == 0)
            return skn_problems_add(builder->problems, mark,
                                    "byte 0x%02X is not UTF-8", at[0]);
        if (!is_printable(at, end))
            return skn_problems_add(builder->problems, mark,
                                    "a configuration must not contain control "
                                    "characters (byte 0x%02X)",
                                    at[0]);
        if (is_question((const unsigned char *)text, at, end))
            return skn_problems_add(builder->problems, mark,
                                    "a key is written 'key: value', without "
                                    "'?'");
        open = count_bracket(open, *at);
        if (open > OPEN_BRACKETS_MAX)
            return skn_problems_add(builder->problems, mark,
                                    "more than %u brackets are open here",
                                    OPEN_BRACKETS_MAX);
        if (*at > ' ')
            builder->tail = mark;
        column = *at == '\n' ? 1 : column + 1;
        line += *at == '\n' ? 1 : 0;
        at += length;
    }
    return SKN_OK;
}

/* --- marks and text of tokens -------------------------------------------- */

/* Marks of libfyaml count from 0, and come after an opening quote. */
static skn_mark_t
mark_of(tree_builder_t *builder, struct fy_token *token)
{
    const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;
    if (!mark)
        return builder->last;
    enum fy_scalar_style style = fy_token_scalar_style(token);
    bool in_quotes = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
    builder->last = mark_at(builder, (uint32_t)mark->line + 1,
                            (uint32_t)mark->column + (in_quotes ? 0 : 1));
    return builder->last;
}

static skn_status_t
no_memory(const tree_builder_t *builder)
{
    return skn_document_no_memory(builder->document, builder->problems);
}

/* Escapes ("\0", "\ud800") can produce text that the bytes of the file cannot
 * contain. */
static bool
is_text(const char *text, size_t text_bytes)
{
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + text_bytes;
    while (at < end) {
        size_t length =
            skn_text_character_bytes((const char *)at, (const char *)end);
        if (length == 0 || *at == '\0')
            return false;
        at += length;
    }
    return true;
}

/* A copy of the text of a scalar; an empty value has no token. */
static skn_status_t
copy_text(tree_builder_t *builder, struct fy_token *token, const char **text)
{
    size_t bytes = 0;
    const char *found = token ? fy_token_get_text(token, &bytes) : "";
    if (!found)
        return no_memory(builder);
    if (!is_text(found, bytes)) {
        (void)skn_problems_add(builder->problems, builder->last,
                               "text must not contain a NUL, nor half of a "
                               "surrogate pair");
        bytes = 0;
    }
    *text = skn_document_copy(builder->document, found, bytes);
    return *text ? SKN_OK : no_memory(builder);
}

/* --- events -------------------------------------------------------------- */

static skn_node_t *
parent_of_next(const tree_builder_t *builder)
{
    return builder->depth ? builder->open[builder->depth - 1] : NULL;
}

static bool
expects_key(const tree_builder_t *builder)
{
    const skn_node_t *parent = parent_of_next(builder);
    return parent && parent->type == SKN_NODE_MAPPING && !builder->key;
}

static void
refuse_extras(tree_builder_t *builder, struct fy_token *anchor,
              struct fy_token *tag)
{
    if (anchor) {
        (void)skn_problems_add(builder->problems, mark_of(builder, anchor),
                               "anchors are not allowed");
        (void)skn_problems_hint(builder->problems,
                                "write the value out where it is used");
    }
    if (tag) {
        (void)skn_problems_add(builder->problems, mark_of(builder, tag),
                               "tags are not allowed");
        (void)skn_problems_hint(builder->problems,
                                "leave it out: the type of "
                                "a value follows from its key");
    }
}

/* Makes the next node and links it into its place. */
static skn_status_t
add_node(tree_builder_t *builder, skn_node_type_t type, skn_mark_t mark,
         skn_node_t **made)
{
    if (builder->document->node_count >= SKN_CONFIG_NODES_MAX)
        return skn_problems_add(builder->problems, mark,
                                "more than %u values in one configuration",
                                SKN_CONFIG_NODES_MAX);
    skn_node_t *node = skn_document_node(builder->document, type, mark);
    if (!node)
        return no_memory(builder);
    skn_node_t *parent = parent_of_next(builder);
    if (parent && parent->type == SKN_NODE_MAPPING) {
        node->key = builder->key;
        node->key_mark = builder->key_mark;
        builder->key = NULL;
    }
    if (parent)
        skn_document_hang(parent, node);
    else
        builder->root = node;
    *made = node;
    return SKN_OK;
}

static skn_status_t
on_key(tree_builder_t *builder, struct fy_token *token)
{
    builder->key_mark = mark_of(builder, token);
    skn_status_t status = copy_text(builder, token, &builder->key);
    if (status != SKN_OK)
        return status;
    bool plain = token && fy_token_scalar_style(token) == FYSS_PLAIN;
    if (plain && strcmp(builder->key, "<<") == 0) {
        (void)skn_problems_add(builder->problems, builder->key_mark,
                               "merge keys are not allowed");
        (void)skn_problems_hint(builder->problems, "write the keys out");
    } else if (builder->key[0] == '\0') {
        (void)skn_problems_add(builder->problems, builder->key_mark,
                               "a key is missing");
    }
    return SKN_OK;
}

static skn_status_t
on_scalar(tree_builder_t *builder, const struct fy_event_scalar_data *scalar)
{
    refuse_extras(builder, scalar->anchor, scalar->tag);
    if (expects_key(builder))
        return on_key(builder, scalar->value);
    skn_mark_t mark = mark_of(builder, scalar->value);
    const char *text = NULL;
    skn_status_t status = copy_text(builder, scalar->value, &text);
    skn_node_t *node = NULL;
    if (status == SKN_OK)
        status = add_node(builder, SKN_NODE_SCALAR, mark, &node);
    if (status != SKN_OK)
        return status;
    node->text = text;
    node->quoted =
        scalar->value && fy_token_scalar_style(scalar->value) != FYSS_PLAIN;
    return SKN_OK;
}

/* Refuses the alias and puts a substitute in its place, so that the rest of the
 * file can be checked. */
static skn_status_t
on_alias(tree_builder_t *builder, const struct fy_event_alias_data *alias)
{
    skn_mark_t mark = mark_of(builder, alias->anchor);
    (void)skn_problems_add(builder->problems, mark, "aliases are not allowed");
    (void)skn_problems_hint(builder->problems, "write the value out");
    if (expects_key(builder)) {
        builder->key_mark = mark;
        builder->key = skn_document_copy(builder->document, "*", 1);
        return builder->key ? SKN_OK : no_memory(builder);
    }
    skn_node_t *node = NULL;
    return add_node(builder, SKN_NODE_SCALAR, mark, &node);
}

static skn_status_t
on_start(tree_builder_t *builder, skn_node_type_t type, struct fy_token *start,
         struct fy_token *anchor, struct fy_token *tag)
{
    refuse_extras(builder, anchor, tag);
    skn_mark_t mark = mark_of(builder, start);
    if (expects_key(builder))
        return skn_problems_add(builder->problems, mark,
                                "a key must be a word, not %s",
                                type == SKN_NODE_LIST ? "a list" : "a mapping");
    if (builder->depth == SKN_CONFIG_DEPTH_MAX)
        return skn_problems_add(builder->problems, mark,
                                "nested more than %u levels deep",
                                SKN_CONFIG_DEPTH_MAX);
    skn_node_t *node = NULL;
    skn_status_t status = add_node(builder, type, mark, &node);
    if (status == SKN_OK)
        builder->open[builder->depth++] = node;
    return status;
}

/* Sorts by key, then by place, so that the later of two is refused. */
static int
compare_keys(const void *a, const void *b)
{
    const skn_node_t *one = *(const skn_node_t *const *)a;
    const skn_node_t *other = *(const skn_node_t *const *)b;
    int order = strcmp(one->key, other->key);
    if (order != 0)
        return order;
    if (one->key_mark.line != other->key_mark.line)
        return one->key_mark.line < other->key_mark.line ? -1 : 1;
    return one->key_mark.column < other->key_mark.column ? -1 : 1;
}

static skn_status_t
refuse_repeated_keys(tree_builder_t *builder, const skn_node_t *mapping)
{
    if (mapping->count < 2)
        return SKN_OK;
    const skn_node_t **items = malloc(mapping->count * sizeof(*items));
    if (!items)
        return no_memory(builder);
    uint32_t count = 0;
    for (const skn_node_t *item = mapping->first; item; item = item->next)
        items[count++] = item;
    qsort(items, count, sizeof(*items), compare_keys);
    for (uint32_t k = 1; k < count; k++) {
        const skn_node_t *first = items[k - 1], *again = items[k];
        if (again->key[0] == '\0' || strcmp(first->key, again->key) != 0)
            continue;
        builder->repeated_count++;
        if (builder->has_lines)
            (void)skn_problems_add(builder->problems, again->key_mark,
                                   "key '%s' is repeated; it is already in "
                                   "line %u",
                                   again->key, first->key_mark.line);
        else
            (void)skn_problems_add(builder->problems, again->key_mark,
                                   "key '%s' is repeated", again->key);
    }
    free(items);
    return SKN_OK;
}

static skn_status_t
on_end(tree_builder_t *builder, struct fy_token *end)
{
    const skn_node_t *ended = builder->open[--builder->depth];
    const struct fy_mark *mark = end ? fy_token_end_mark(end) : NULL;
    if (builder->depth == 0 && mark)
        builder->end = mark->input_pos;
    return ended->type == SKN_NODE_MAPPING
               ? refuse_repeated_keys(builder, ended)
               : SKN_OK;
}

static skn_status_t
on_event(tree_builder_t *builder, const struct fy_event *event)
{
    switch (event->type) {
    case FYET_DOCUMENT_START:
        if (builder->document_count++ == 0)
            return SKN_OK;
        (void)mark_of(builder, event->document_start.document_start);
        return skn_problems_add(builder->problems, builder->last,
                                "a second document starts here; a file holds "
                                "one configuration");
    case FYET_ALIAS:
        return on_alias(builder, &event->alias);
    case FYET_SCALAR:
        return on_scalar(builder, &event->scalar);
    case FYET_SEQUENCE_START:
        return on_start(
            builder, SKN_NODE_LIST, event->sequence_start.sequence_start,
            event->sequence_start.anchor, event->sequence_start.tag);
    case FYET_MAPPING_START:
        return on_start(builder, SKN_NODE_MAPPING,
                        event->mapping_start.mapping_start,
                        event->mapping_start.anchor, event->mapping_start.tag);
    case FYET_SEQUENCE_END:
        return on_end(builder, event->sequence_end.sequence_end);
    case FYET_MAPPING_END:
        return on_end(builder, event->mapping_end.mapping_end);
    default:
        return SKN_OK;
    }
}

/* --- the parser ---------------------------------------------------------- */

/* Keeps libfyaml from writing: its messages are collected. */
static void
swallow(struct fy_diag *diag, void *user, const char *text, size_t text_bytes)
{
    (void)diag;
    (void)user;
    (void)text;
    (void)text_bytes;
}

static struct fy_diag *
new_diag(void)
{
    struct fy_diag_cfg config;
    fy_diag_cfg_default(&config);
    config.fp = NULL;
    config.output_fn = swallow;
    config.colorize = false;
    struct fy_diag *diag = fy_diag_create(&config);
    if (diag)
        fy_diag_set_collect_errors(diag, true);
    return diag;
}

/* Adds the faults that libfyaml found; its lines and columns count from 1
 * here. */
static skn_status_t
add_syntax_problems(tree_builder_t *builder, struct fy_diag *diag)
{
    uint32_t count = 0;
    void *place = NULL;
    struct fy_diag_error *found;
    while ((found = fy_diag_errors_iterate(diag, &place))) {
        if (found->type != FYET_ERROR)
            continue;
        count++;
        /* The end of the text has no place of its own: a bracket that is
         * missing there is missing after the last word. */
        skn_mark_t mark =
            mark_at(builder, (uint32_t)found->line, (uint32_t)found->column);
        if (mark.line > builder->tail.line)
            mark = builder->tail;
        (void)skn_problems_add(builder->problems, mark, "%s", found->msg);
    }
    if (count == 0)
        (void)skn_problems_add(builder->problems, builder->last,
                               "the text is not YAML from here on");
    return SKN_BAD_CONFIG;
}

static skn_status_t
run_parser(tree_builder_t *builder, struct fy_parser *parser,
           struct fy_diag *diag)
{
    bool ended = false;
    skn_status_t status = SKN_OK;
    while (status == SKN_OK && !ended) {
        struct fy_event *event = fy_parser_parse(parser);
        if (!event)
            return add_syntax_problems(builder, diag);
        ended = event->type == FYET_STREAM_END;
        status = on_event(builder, event);
        fy_parser_event_free(parser, event);
    }
    return status;
}

static skn_status_t
parse(tree_builder_t *builder, const char *text, size_t text_bytes)
{
    skn_status_t status = SKN_OK;
    struct fy_parser *parser = NULL;
    struct fy_diag *diag = new_diag();
    if (!diag)
        return no_memory(builder);
    const struct fy_parse_cfg config = {
        .search_path = "",
        .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_JSON_NONE |
                 FYPCF_DEFAULT_VERSION_1_2,
        .diag = diag,
    };
    parser = fy_parser_create(&config);
    if (!parser || fy_parser_set_string(parser, text, text_bytes) != 0) {
        status = no_memory(builder);
        goto done;
    }
    status = run_parser(builder, parser, diag);
done:
    if (parser)
        fy_parser_destroy(parser);
    fy_diag_destroy(diag);
    return status;
}

skn_status_t
skn_document_tree(skn_document_t *document, const char *text, size_t text_bytes,
                  const char *origin, skn_node_t **tree, size_t *end,
                  skn_problems_t *problems)
{
    static const char byte_order_mark[3] = { '\xEF', '\xBB', '\xBF' };
    size_t problems_before = skn_problems_count(problems);
    tree_builder_t builder = { .document = document,
                               .problems = problems,
                               .origin = origin,
                               .has_lines = end == NULL,
                               .end = text_bytes };
    builder.last = builder.tail = mark_at(&builder, 1, 1);
    *tree = NULL;
    if (text_bytes > SKN_CONFIG_BYTES_MAX)
        return skn_problems_fail(problems, SKN_BAD_CONFIG,
                                 "%s: more than %u bytes", origin,
                                 SKN_CONFIG_BYTES_MAX);
    if (text_bytes >= 3 && memcmp(text, byte_order_mark, 3) == 0) {
        text += 3;
        text_bytes -= 3;
    }
    skn_status_t status = check_bytes(&builder, text, text_bytes);
    if (status == SKN_OK && text_bytes > 0)
        status = parse(&builder, text, text_bytes);
    if (status == SKN_OK && skn_problems_count(problems) ==
                                problems_before + builder.repeated_count)
        *tree = builder.root;
    if (status == SKN_OK && skn_problems_count(problems) > problems_before)
        status = SKN_BAD_CONFIG;
    if (status == SKN_OK && end)
        *end = builder.end;
    return status;
}
