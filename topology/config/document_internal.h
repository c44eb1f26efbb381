/* document_internal.h - the fields of a document, for the sources that build
 * one.
 *
 * Private to topology/config/document*.c. Nodes and their text are in the
 * blocks of their document and are freed with it, never one by one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CONFIG_DOCUMENT_INTERNAL_H
#define TOPOLOGY_CONFIG_DOCUMENT_INTERNAL_H

#include "topology/config/document.h"

typedef struct document_block document_block_t;

struct skn_document {
    char *name, *folder;
    skn_node_t *root;
    document_block_t *blocks;
    uint32_t node_count; /* at most SKN_CONFIG_NODES_MAX from files */
};

/* A copy of `text_bytes` bytes with a NUL after them; NULL without memory. */
char *skn_document_copy(skn_document_t *document, const char *text,
                        size_t text_bytes);
/* Room for a text of `text_bytes` bytes, all NUL; NULL without memory. */
char *skn_document_room(skn_document_t *document, size_t text_bytes);
/* A node without a parent; NULL without memory. */
skn_node_t *skn_document_node(skn_document_t *document, skn_node_type_t type,
                              skn_mark_t mark);
/* Appends `node` to the children of `parent`. */
void skn_document_hang(skn_node_t *parent, skn_node_t *node);

/* Parses YAML into a tree of the document's nodes without a parent. *tree is
 * NULL for an empty text. `end` is NULL for a file, whose marks are `origin`
 * and a line. For the value of an argument marks have no line, and *end is
 * where it ends: after the closing bracket of a list or mapping, otherwise
 * `text_bytes`. Refusals are added to `problems`; if the only ones are repeated
 * keys, *tree is set, too. document_parse.c */
skn_status_t skn_document_tree(skn_document_t *document, const char *text,
                               size_t text_bytes, const char *origin,
                               skn_node_t **tree, size_t *end,
                               skn_problems_t *problems);
/* Adds SKN_NO_MEMORY to `problems` and returns it. */
skn_status_t skn_document_no_memory(const skn_document_t *document,
                                    skn_problems_t *problems);

#endif
