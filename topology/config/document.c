/* document.c - memory, reading and access of documents: configuration files as
 * trees of nodes with their marks.
 *
 * Not here: YAML (document_parse.c), overrides (document_set.c), printing
 * (document_write.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/config/document.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/system_error.h"
#include "skein/limits.h"
#include "topology/config/document_internal.h"

/* Blocks of 64 KiB: a sample config fits in one. */
#define BLOCK_BYTES 65536u

struct document_block {
    document_block_t *next;
    size_t used, size;
    _Alignas(max_align_t) char memory[];
};

static void *
take(skn_document_t *document, size_t bytes, size_t alignment)
{
    document_block_t *block = document->blocks;
    if (block)
        block->used = (block->used + alignment - 1) / alignment * alignment;
    if (!block || block->used > block->size ||
        bytes > block->size - block->used) {
        size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        block = malloc(sizeof(*block) + size);
        if (!block)
            return NULL;
        block->used = 0;
        block->size = size;
        block->next = document->blocks;
        document->blocks = block;
    }
    void *memory = block->memory + block->used;
    block->used += bytes;
    return memory;
}

char *
skn_document_room(skn_document_t *document, size_t text_bytes)
{
    char *room = take(document, text_bytes + 1, 1);
    if (room)
        memset(room, 0, text_bytes + 1);
    return room;
}

char *
skn_document_copy(skn_document_t *document, const char *text, size_t text_bytes)
{
    char *copy = skn_document_room(document, text_bytes);
    if (copy)
        memcpy(copy, text, text_bytes);
    return copy;
}

skn_node_t *
skn_document_node(skn_document_t *document, skn_node_type_t type,
                  skn_mark_t mark)
{
    skn_node_t *node = take(document, sizeof(*node), _Alignof(skn_node_t));
    if (node) {
        *node = (skn_node_t){
            .type = type, .mark = mark, .key_mark = mark, .text = ""
        };
        document->node_count++;
    }
    return node;
}

void
skn_document_hang(skn_node_t *parent, skn_node_t *node)
{
    node->next = NULL;
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    parent->count++;
}

skn_status_t
skn_document_no_memory(const skn_document_t *document, skn_problems_t *problems)
{
    return skn_problems_fail(problems, SKN_NO_MEMORY,
                             "%s: no memory for the configuration",
                             document->name);
}

void *
skn_document_memory(skn_document_t *document, size_t bytes,
                    skn_problems_t *problems)
{
    void *memory = take(document, bytes, _Alignof(max_align_t));
    if (memory)
        memset(memory, 0, bytes);
    else
        (void)skn_document_no_memory(document, problems);
    return memory;
}

/* The folder of `path`, as the start of relative paths. */
static char *
folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static skn_document_t *
new_document(const char *name, const char *path, skn_problems_t *problems)
{
    skn_document_t *document = calloc(1, sizeof(*document));
    if (document) {
        document->name = strdup(name);
        document->folder = folder_of(path);
        if (document->name) {
            skn_mark_t mark = { document->name, 0, 0 };
            document->root =
                skn_document_node(document, SKN_NODE_MAPPING, mark);
        }
        if (!document->folder || !document->root)
            skn_document_destroy(&document);
    }
    if (!document)
        (void)skn_problems_fail(problems, SKN_NO_MEMORY,
                                "%s: no memory for the configuration", name);
    return document;
}

skn_document_t *
skn_document_new(const char *name, skn_problems_t *problems)
{
    return new_document(name, "", problems);
}

void
skn_document_destroy(skn_document_t **document)
{
    if (!*document)
        return;
    document_block_t *block = (*document)->blocks;
    while (block) {
        document_block_t *next = block->next;
        free(block);
        block = next;
    }
    free((*document)->name);
    free((*document)->folder);
    free(*document);
    *document = NULL;
}

skn_document_t *
skn_document_parse(const char *text, size_t text_bytes, const char *name,
                   skn_problems_t *problems)
{
    skn_document_t *document = new_document(name, name, problems);
    if (!document)
        return NULL;
    skn_problems_source(problems, name, text, text_bytes);
    skn_node_t *tree = NULL;
    skn_status_t status = skn_document_tree(
        document, text, text_bytes, document->name, &tree, NULL, problems);
    if (tree && tree->type != SKN_NODE_MAPPING) {
        char found[64];
        status = skn_problems_add(
            problems, tree->mark, "expected a mapping, found %s",
            skn_node_describe(tree, found, sizeof(found)));
        tree = NULL;
    }
    if (tree)
        document->root = tree;
    else if (status != SKN_OK)
        skn_document_destroy(&document);
    else
        document->root->mark.line = document->root->mark.column = 1;
    return document;
}

static skn_status_t
refuse_file(const char *name, int number, skn_problems_t *problems)
{
    bool is_path = number == ENOENT || number == ENOTDIR || number == EISDIR ||
                   number == ELOOP || number == ENAMETOOLONG || number == ENXIO;
    skn_status_t status =
        skn_errno_status(number, is_path ? SKN_NO_INPUT : SKN_STORAGE);
    const char *remedy = skn_errno_remedy(
        number, number == EISDIR              ? "name a file in it"
                : status == SKN_NO_PERMISSION ? "chmod it, or run as its owner"
                                              : "check the path");
    (void)skn_problems_fail(problems, status, "%s: %s", name, strerror(number));
    return remedy ? skn_problems_hint(problems, "%s", remedy) : status;
}

/* Reads to the end of the file; the caller frees *text. */
static skn_status_t
read_all(FILE *file, const char *name, char **text, size_t *text_bytes,
         skn_problems_t *problems)
{
    size_t room = 16384, used = 0;
    char *buffer = malloc(room);
    while (buffer && used <= SKN_CONFIG_BYTES_MAX) {
        errno = 0;
        used += fread(buffer + used, 1, room - used, file);
        if (used < room)
            break;
        room *= 2;
        char *larger = realloc(buffer, room);
        if (!larger)
            free(buffer);
        buffer = larger;
    }
    if (!buffer)
        return skn_problems_fail(problems, SKN_NO_MEMORY,
                                 "%s: no memory for %zu bytes", name, room);
    *text = buffer;
    *text_bytes = used;
    if (ferror(file))
        return refuse_file(name, errno ? errno : EIO, problems);
    return SKN_OK;
}

const char *
skn_document_file_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "stdin" : path;
}

char *
skn_document_read(const char *path, size_t *text_bytes,
                  skn_problems_t *problems)
{
    const char *name = skn_document_file_name(path);
    FILE *file = name == path ? fopen(path, "rbe") : stdin;
    char *text = NULL;
    if (!file) {
        (void)refuse_file(name, errno, problems);
        return NULL;
    }
    if (read_all(file, name, &text, text_bytes, problems) != SKN_OK) {
        free(text);
        text = NULL;
    }
    if (file != stdin)
        (void)fclose(file);
    return text;
}

skn_document_t *
skn_document_load(const char *path, skn_problems_t *problems)
{
    size_t text_bytes = 0;
    char *text = skn_document_read(path, &text_bytes, problems);
    skn_document_t *document =
        text ? skn_document_parse(text, text_bytes,
                                  skn_document_file_name(path), problems)
             : NULL;
    free(text);
    return document;
}

const skn_node_t *
skn_document_root(const skn_document_t *document)
{
    return document->root;
}

skn_node_t *
skn_document_edit(skn_document_t *document)
{
    return document->root;
}

static void
drop_child(skn_node_t *mapping, const char *key)
{
    skn_node_t *node = mapping->first, *before = NULL;
    for (; node && strcmp(node->key, key) != 0; node = node->next)
        before = node;
    if (!node)
        return;
    *(before ? &before->next : &mapping->first) = node->next;
    if (mapping->last == node)
        mapping->last = before;
    mapping->count--;
}

/* `path` as in skn_document_drop, from `node` on. */
static void
drop_at(skn_node_t *node, const char *path)
{
    size_t bytes = strcspn(path, ".");
    if (node->type == SKN_NODE_LIST) {
        for (skn_node_t *item = node->first; item; item = item->next)
            drop_at(item, path);
    } else if (node->type == SKN_NODE_MAPPING && path[bytes] == '\0') {
        drop_child(node, path);
    } else if (node->type == SKN_NODE_MAPPING) {
        for (skn_node_t *child = node->first; child; child = child->next)
            if (strlen(child->key) == bytes &&
                memcmp(child->key, path, bytes) == 0)
                drop_at(child, path + bytes + 1);
    }
}

void
skn_document_drop(skn_document_t *document, const char *path)
{
    drop_at(document->root, path);
}

const char *
skn_document_name(const skn_document_t *document)
{
    return document->name;
}

const char *
skn_document_folder(const skn_document_t *document)
{
    return document->folder;
}

skn_node_t *
skn_document_append(skn_document_t *document, skn_node_t *parent,
                    skn_node_type_t type, const char *key, const char *text,
                    bool quoted, skn_problems_t *problems)
{
    assert(parent->type != SKN_NODE_SCALAR);
    assert((parent->type == SKN_NODE_MAPPING) == (key != NULL));
    skn_mark_t mark = { document->name, 0, 0 };
    skn_node_t *node = skn_document_node(document, type, mark);
    if (node && key)
        node->key = skn_document_copy(document, key, strlen(key));
    if (node && text)
        node->text = skn_document_copy(document, text, strlen(text));
    if (!node || (key && !node->key) || !node->text) {
        (void)skn_document_no_memory(document, problems);
        return NULL;
    }
    node->quoted = quoted;
    skn_document_hang(parent, node);
    return node;
}

const skn_node_t *
skn_node_get(const skn_node_t *mapping, const char *key)
{
    if (!mapping || mapping->type != SKN_NODE_MAPPING)
        return NULL;
    const skn_node_t *item = mapping->first;
    while (item && strcmp(item->key, key) != 0)
        item = item->next;
    return item;
}

const char *
skn_node_words(const skn_node_t *node)
{
    if (node->typed)
        return node->typed[0] ? node->typed : NULL;
    return node->type == SKN_NODE_SCALAR && !skn_node_is_null(node) ? node->text
                                                                    : NULL;
}

void
skn_node_hint_flaw(const skn_node_t *node, skn_problems_t *problems)
{
    if (node->flaw)
        (void)skn_problems_hint(problems, "%s", node->flaw);
}

bool
skn_node_is_null(const skn_node_t *node)
{
    return node->type == SKN_NODE_SCALAR && !node->quoted &&
           (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
            strcmp(node->text, "null") == 0);
}

/* Text that is shown in full; a longer one is cut and followed by "...". */
#define SHOWN_BYTES_MAX 40u

const char *
skn_node_describe(const skn_node_t *node, char *text, size_t text_bytes)
{
    if (node->type == SKN_NODE_MAPPING)
        (void)snprintf(text, text_bytes, "a mapping");
    else if (node->type == SKN_NODE_LIST)
        (void)snprintf(text, text_bytes, "a list");
    else if (skn_node_is_null(node))
        (void)snprintf(text, text_bytes, "nothing");
    else {
        size_t shown = strlen(node->text);
        bool cut = shown > SHOWN_BYTES_MAX;
        if (cut) {
            shown = SHOWN_BYTES_MAX;
            while (shown > 0 &&
                   ((unsigned char)node->text[shown] & 0xC0) == 0x80)
                shown--;
        }
        (void)snprintf(text, text_bytes, "'%.*s%s'", (int)shown, node->text,
                       cut ? "..." : "");
    }
    return text;
}
