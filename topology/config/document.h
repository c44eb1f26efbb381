/* document.h - a configuration file as a tree of nodes with their places in the
 * file.
 *
 * Strict YAML: mappings with plain keys, lists, scalars. Aliases, anchors,
 * tags, merge keys, repeated keys, a second document, and anything above the
 * SKN_CONFIG_* limits are refused while the file is read, before anything is
 * resolved. Types come later: a scalar is text until a checker (values.h) reads
 * it. One thread at a time.
 *
 *     problems = skn_problems_new(&error);
 *     document = skn_document_load("x.yaml", problems);
 *     for each -o: skn_document_set(document, "train.window=4", problems);
 *     if (skn_problems_error(problems, &error) == SKN_OK)
 *         check skn_document_root(document), adding to problems;
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CONFIG_DOCUMENT_H
#define TOPOLOGY_CONFIG_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "skein/error.h"
#include "topology/config/problems.h"

typedef enum skn_node_type {
    SKN_NODE_SCALAR,
    SKN_NODE_LIST,
    SKN_NODE_MAPPING
} skn_node_type_t;

/* Read-only outside document.c; lives as long as its document. Children are in
 * the order of the file: for (k = node->first; k; k = k->next) */
typedef struct skn_node skn_node_t;
struct skn_node {
    skn_node_type_t type;
    skn_mark_t mark;     /* mark of the value */
    skn_mark_t key_mark; /* mark of the key; without a key: of the value */
    const char *key;     /* in its mapping; NULL in a list and for the root */
    const char *text;    /* scalar: UTF-8 without NUL inside; otherwise "" */
    bool quoted;         /* scalar: quoted or a block, so text in any case */
    const char *typed;   /* from -o: the value as it was typed, unless it was in
                          * quotes; otherwise NULL (see skn_node_words) */
    const char *flaw;    /* from -o: why it is not YAML, though it looks like
                          * it; NULL for a good value */
    const char *note;    /* scalar: a comment to print after it; NULL: none */
    uint32_t count;      /* children */
    skn_node_t *first, *last, *next;
};

typedef struct skn_document skn_document_t;

/* Reads a file ("-": standard input, called "stdin" in messages). NULL when it
 * adds a problem: SKN_NO_INPUT or SKN_NO_PERMISSION if the file cannot be
 * opened, SKN_STORAGE if it cannot be read, otherwise SKN_BAD_CONFIG. If the
 * only problems are repeated keys, a document is returned as well, with the
 * first value of each key, so that a checker can add further problems. An empty
 * file is an empty mapping. */
skn_document_t *skn_document_load(const char *path, skn_problems_t *problems);
/* skn_document_load in two steps. Reads the text of the file, which the caller
 * frees and gives to skn_document_parse, as often as it likes, with the name
 * that messages show; NULL with the same problems. */
char *skn_document_read(const char *path, size_t *text_bytes,
                        skn_problems_t *problems);
const char *skn_document_file_name(const char *path);
/* The same from memory; `name` is shown as the file's name in messages. The
 * text is copied. */
skn_document_t *skn_document_parse(const char *text, size_t text_bytes,
                                   const char *name, skn_problems_t *problems);
/* A document made in code: its root is an empty mapping, its folder ".", since
 * paths that come from code are resolved. NULL when memory is short. All its
 * marks are `name`, without a line. */
skn_document_t *skn_document_new(const char *name, skn_problems_t *problems);
/* Frees the document with all its nodes and sets *document to NULL; it may be
 * NULL already. */
void skn_document_destroy(skn_document_t **document);

/* Always a mapping. */
const skn_node_t *skn_document_root(const skn_document_t *document);
/* The name that messages show. */
const char *skn_document_name(const skn_document_t *document);
/* The folder of the file that relative paths start at: "." for a name without
 * a slash and for standard input. */
const char *skn_document_folder(const skn_document_t *document);

/* Zeroed memory for data that is derived from the document and lives as long;
 * aligned for any type. NULL when memory is short, added to `problems`. */
void *skn_document_memory(skn_document_t *document, size_t bytes,
                          skn_problems_t *problems);

/* `-o a.b.c=value`: puts a value at a path. A list item is addressed by the
 * value of its `name` key, which may contain dots; missing mappings are
 * created. The mark of a value set here is the command line: "-o a.b.c=value".
 *
 * A shell argument is not a line of YAML: the value is taken as it was typed,
 * so that " #", ": ", a line break or a leading "- " neither cuts nor changes
 * it. Only a value that is wholly in quotes, or that begins with [ or {, is
 * read as YAML. How a list-like value is read depends on its key, which is not
 * known here: a path or a name takes the typed text (skn_node_words), every
 * other option takes the list, or refuses it for its `flaw`. SKN_OK, or a
 * problem was added. */
skn_status_t skn_document_set(skn_document_t *document, const char *assignment,
                              skn_problems_t *problems);

/* Building: appends a child to `parent`, a mapping (`key` is needed and new)
 * or a list (`key` is NULL); text is copied. `quoted` as in skn_node_t. NULL
 * when memory is short, which is added to `problems`. */
skn_node_t *skn_document_append(skn_document_t *document, skn_node_t *parent,
                                skn_node_type_t type, const char *key,
                                const char *text, bool quoted,
                                skn_problems_t *problems);
/* The root of a document made in code, to append to. */
skn_node_t *skn_document_edit(skn_document_t *document);
/* Removes what `path` ("train.late") leads to; a list on the way is all of its
 * items. Does nothing where there is no such key. */
void skn_document_drop(skn_document_t *document, const char *path);

/* The child of a mapping under `key`; NULL if there is none, or `mapping` is
 * NULL or no mapping. */
const skn_node_t *skn_node_get(const skn_node_t *mapping, const char *key);
/* The text for a key whose value may be any text, such as a path or a name: the
 * value of -o as it was typed, otherwise the text of the scalar. NULL if there
 * is no text: a list or a mapping in a file, or no value at all. */
const char *skn_node_words(const skn_node_t *node);
/* An empty value, `~` or `null`, not quoted. */
bool skn_node_is_null(const skn_node_t *node);
/* Describes the node, for "expected a list, found 'abc'": a mapping, a list,
 * nothing, or the text in quotes, cut at about 40 bytes. Returns `text`. */
const char *skn_node_describe(const skn_node_t *node, char *text,
                              size_t text_bytes);
/* Call it after the problem that refuses the node: gives it the node's flaw, if
 * it has one, as its hint. */
void skn_node_hint_flaw(const skn_node_t *node, skn_problems_t *problems);

/* Prints the tree as YAML that parses to the same tree: two spaces for each
 * level, lists of scalars on one line, text quoted if needed. SKN_STORAGE when
 * writing fails. */
skn_status_t skn_document_write(const skn_node_t *node, FILE *file,
                                const char *what, skn_error_t *error);
/* Prints one scalar as YAML, valid also inside [] and {}. `text_only`: it is
 * text even if it looks like a number, true, or null. */
void skn_document_write_text(const char *text, bool text_only, FILE *file);
/* KEY=TEXT, for -o and skn_document_set, which gives the key exactly this text;
 * the caller frees it. NULL: SKN_NO_MEMORY. */
char *skn_override_of(const char *key, const char *text, skn_error_t *error);

#endif
