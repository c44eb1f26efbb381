/* document_set.c - overrides from the command line: `-o a.b.c=value`.
 *
 * An override changes the tree before it is checked, so that it goes through
 * the same checker as the file. This file owns the reading of an argument's
 * value: document.h explains how it differs from a value in a file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "formats/text/text.h"
#include "skein/limits.h"
#include "topology/config/document_internal.h"

typedef struct override {
    skn_document_t *document;
    skn_problems_t *problems;
    skn_mark_t mark;  /* the command line */
    const char *path; /* "a.b.c" */
    skn_node_t *value;
} override_t;

static uint32_t
depth_of(const skn_node_t *node)
{
    uint32_t deepest = 0;
    for (const skn_node_t *item = node->first; item; item = item->next) {
        uint32_t depth = depth_of(item);
        deepest = depth > deepest ? depth : deepest;
    }
    return node->type == SKN_NODE_SCALAR ? 0 : deepest + 1;
}

/* Parts of a path are plain words; no key of ours needs quotes in YAML. */
static skn_status_t
check_path(const override_t *override)
{
    uint32_t parts = 1;
    const char *path = override->path;
    for (const char *at = path; *at; at++) {
        if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7F)
            return skn_problems_add(override->problems, override->mark,
                                    "a path holds letters, digits, '_', '-' "
                                    "and dots only");
        parts += *at == '.' ? 1 : 0;
    }
    if (path[0] == '\0' || path[0] == '.' || path[strlen(path) - 1] == '.' ||
        strstr(path, ".."))
        return skn_problems_add(override->problems, override->mark,
                                "a part of the path is empty");
    if (parts + depth_of(override->value) > SKN_CONFIG_DEPTH_MAX)
        return skn_problems_add(override->problems, override->mark,
                                "nested more than %u levels deep",
                                SKN_CONFIG_DEPTH_MAX);
    return SKN_OK;
}

/* The item of a list whose name begins `rest`, up to a dot or the end; the
 * longest one, since names may contain dots ("output.0"). */
static skn_node_t *
item_named(const skn_node_t *list, const char *rest, size_t *name_bytes)
{
    skn_node_t *best = NULL;
    *name_bytes = 0;
    for (skn_node_t *item = list->first; item; item = item->next) {
        const skn_node_t *name = skn_node_get(item, "name");
        if (!name || name->type != SKN_NODE_SCALAR)
            continue;
        size_t bytes = strlen(name->text);
        if (bytes > *name_bytes && strncmp(rest, name->text, bytes) == 0 &&
            (rest[bytes] == '.' || rest[bytes] == '\0')) {
            best = item;
            *name_bytes = bytes;
        }
    }
    return best;
}

static skn_status_t
refuse_item(const override_t *override, const skn_node_t *list,
            const char *rest)
{
    (void)skn_problems_add(override->problems, override->mark,
                           "the list '%.*s' has no item named '%.*s'",
                           (int)(rest - override->path - 1), override->path,
                           (int)strcspn(rest, "."), rest);
    char names[SKN_ERROR_HINT_BYTES] = "";
    size_t used = 0;
    for (const skn_node_t *item = list->first; item; item = item->next) {
        const skn_node_t *name = skn_node_get(item, "name");
        if (!name || name->type != SKN_NODE_SCALAR)
            continue;
        if (used + strlen(name->text) + 32 > sizeof(names)) {
            used +=
                (size_t)snprintf(names + used, sizeof(names) - used, ", ...");
            break;
        }
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                 used ? ", " : "", name->text);
    }
    if (used > 0)
        return skn_problems_hint(override->problems, "it has %s", names);
    return skn_problems_hint(override->problems, "its items have no names");
}

/* Puts the value in place of `place`; the key and the order stay. */
static void
replace(skn_node_t *place, const override_t *override)
{
    skn_node_t *next = place->next;
    const char *key = place->key;
    *place = *override->value;
    place->next = next;
    place->key = key;
    place->key_mark = override->mark;
}

/* A new last child of `parent` under the first `key_bytes` of `key`. */
static skn_status_t
create(const override_t *override, skn_node_t *parent, const char *key,
       size_t key_bytes, skn_node_t **made)
{
    skn_node_t *node =
        skn_document_node(override->document, SKN_NODE_MAPPING, override->mark);
    char *copy = skn_document_copy(override->document, key, key_bytes);
    if (!node || !copy)
        return skn_document_no_memory(override->document, override->problems);
    node->key = copy;
    skn_document_hang(parent, node);
    *made = node;
    return SKN_OK;
}

/* One step down a mapping; at the end of the path, the value is put there. */
static skn_status_t
step_mapping(const override_t *override, skn_node_t **node, const char **rest)
{
    size_t bytes = strcspn(*rest, ".");
    bool is_last = (*rest)[bytes] == '\0';
    skn_node_t *child = (*node)->first;
    while (child && (strncmp(child->key, *rest, bytes) != 0 ||
                     child->key[bytes] != '\0'))
        child = child->next;
    if (!child) {
        skn_status_t status = create(override, *node, *rest, bytes, &child);
        if (status != SKN_OK)
            return status;
    }
    *rest += bytes + (is_last ? 0 : 1);
    if (is_last)
        replace(child, override);
    else if (skn_node_is_null(child))
        child->type = SKN_NODE_MAPPING;
    *node = child;
    return SKN_OK;
}

static skn_status_t
walk(const override_t *override)
{
    const char *rest = override->path;
    skn_node_t *node = override->document->root;
    while (*rest) {
        if (node->type == SKN_NODE_MAPPING) {
            skn_status_t status = step_mapping(override, &node, &rest);
            if (status != SKN_OK)
                return status;
        } else if (node->type == SKN_NODE_LIST) {
            size_t bytes = 0;
            skn_node_t *item = item_named(node, rest, &bytes);
            if (!item)
                return refuse_item(override, node, rest);
            if (rest[bytes] == '\0') {
                (void)skn_problems_add(override->problems, override->mark,
                                       "the path names a whole item of a list");
                return skn_problems_hint(override->problems,
                                         "name one of its keys: %s.KEY=VALUE",
                                         override->path);
            }
            node = item;
            rest += bytes + 1;
        } else {
            char found[64];
            return skn_problems_add(
                override->problems, override->mark,
                "'%.*s' is %s, so nothing can be set inside it",
                (int)(rest - override->path - 1), override->path,
                skn_node_describe(node, found, sizeof(found)));
        }
    }
    return SKN_OK;
}

/* --- the value ------------------------------------------------------------ */

static const char blanks[] = " \t\r\n";

/* True if the quote that opens `value` closes at its last byte. */
static bool
is_one_quoted(const char *value, size_t bytes)
{
    char quote = value[0];
    for (size_t at = 1; at < bytes; at++) {
        if (quote == '"' && value[at] == '\\') {
            at++;
        } else if (value[at] == quote) {
            /* Two single quotes mean one. */
            if (quote == '"' || at + 1 == bytes || value[at + 1] != quote)
                return at + 1 == bytes;
            at++;
        }
    }
    return false;
}

/* The text of the first problem of `found`, without its place, which is that of
 * the value. */
static const char *
copy_reason(const override_t *override, const skn_problems_t *found)
{
    const char *text = skn_problems_text(found, 0);
    const char *hint = skn_problems_hint_text(found, 0);
    size_t place = strlen(override->mark.origin) + strlen(": ");
    text = strlen(text) > place ? text + place : "the value is not YAML";
    size_t bytes = strlen(text) + strlen(hint) + strlen("; ");
    char *copy = skn_document_room(override->document, bytes);
    if (copy)
        (void)snprintf(copy, bytes + 1, "%s%s%s", text, hint[0] ? "; " : "",
                       hint);
    return copy;
}

/* Reads a value that looks like YAML: in quotes, or a list or mapping in
 * brackets. *flaw is why it is not YAML, or NULL for a good one. */
static skn_status_t
read_yaml(override_t *override, const char *value, size_t bytes,
          const char **flaw)
{
    skn_error_t error = { 0 };
    size_t end = bytes;
    bool in_quotes = value[0] == '"' || value[0] == '\'';
    skn_problems_t *found = skn_problems_new(&error);
    if (!found)
        return skn_document_no_memory(override->document, override->problems);
    skn_status_t status =
        skn_document_tree(override->document, value, bytes,
                          override->mark.origin, &override->value, &end, found);
    if (status == SKN_OK && in_quotes && memchr(value, '\n', bytes))
        *flaw = "YAML reads a line break in quotes as a blank; between double "
                "quotes, write \\n";
    else if (status == SKN_OK && end != bytes)
        *flaw = "something follows the closing bracket";
    else if (status == SKN_BAD_CONFIG)
        *flaw = copy_reason(override, found);
    if (*flaw) {
        override->value = NULL;
        status = SKN_OK;
    }
    skn_problems_destroy(&found);
    return status == SKN_OK
               ? SKN_OK
               : skn_document_no_memory(override->document, override->problems);
}

static skn_status_t
refuse_bytes(const override_t *override, const char *typed)
{
    const char *at = typed, *end = typed + strlen(typed);
    if ((size_t)(end - at) > SKN_CONFIG_BYTES_MAX)
        return skn_problems_add(override->problems, override->mark,
                                "more than %u bytes", SKN_CONFIG_BYTES_MAX);
    while (at < end) {
        size_t bytes = skn_text_character_bytes(at, end);
        if (bytes == 0)
            return skn_problems_add(override->problems, override->mark,
                                    "byte 0x%02X is not UTF-8",
                                    (unsigned char)*at);
        at += bytes;
    }
    return SKN_OK;
}

/* Text in quotes is read as YAML. Any other value has two readings, of which
 * its key uses one: the typed text, and the same without the blanks around
 * it. */
static skn_status_t
read_value(override_t *override, const char *typed)
{
    skn_document_t *document = override->document;
    const char *start = typed + strspn(typed, blanks), *flaw = NULL;
    size_t bytes = strlen(start);
    while (bytes > 0 && strchr(blanks, start[bytes - 1]))
        bytes--;
    bool quoted =
        (start[0] == '"' || start[0] == '\'') && is_one_quoted(start, bytes);
    skn_status_t status = refuse_bytes(override, typed);
    if (status == SKN_OK && (quoted || start[0] == '[' || start[0] == '{'))
        status = read_yaml(override, start, bytes, &flaw);
    if (status != SKN_OK)
        return status;
    /* Quotes around the whole value mean YAML. */
    if (quoted && flaw)
        return skn_problems_add(override->problems, override->mark, "%s", flaw);
    if (quoted && override->value)
        return SKN_OK;
    if (!override->value) {
        override->value =
            skn_document_node(document, SKN_NODE_SCALAR, override->mark);
        char *text = skn_document_copy(document, start, bytes);
        if (!override->value || !text)
            return skn_document_no_memory(document, override->problems);
        override->value->text = text;
    }
    override->value->flaw = flaw;
    override->value->typed = skn_document_copy(document, typed, strlen(typed));
    return override->value->typed
               ? SKN_OK
               : skn_document_no_memory(document, override->problems);
}

skn_status_t
skn_document_set(skn_document_t *document, const char *assignment,
                 skn_problems_t *problems)
{
    override_t override = { .document = document, .problems = problems };
    size_t length = strlen(assignment);
    char *origin = skn_document_room(document, length + 3);
    if (!origin)
        return skn_document_no_memory(document, problems);
    memcpy(origin, "-o ", 3);
    memcpy(origin + 3, assignment, length);
    override.mark = (skn_mark_t){ origin, 0, 0 };
    const char *equals = strchr(assignment, '=');
    if (!equals) {
        (void)skn_problems_add(problems, override.mark,
                               "an override needs a path and a value");
        return skn_problems_hint(problems, "-o path.to.key=value");
    }
    override.path =
        skn_document_copy(document, assignment, (size_t)(equals - assignment));
    if (!override.path)
        return skn_document_no_memory(document, problems);
    skn_status_t status = read_value(&override, equals + 1);
    if (status == SKN_OK)
        status = check_path(&override);
    return status == SKN_OK ? walk(&override) : status;
}
