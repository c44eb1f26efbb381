/* draft.c - builds a topology in code, as the same document tree that a file
 * would give, so that there is one checker.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/spec/draft.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

struct skn_draft {
    skn_document_t *document; /* NULL: memory ran out, which was reported */
    skn_problems_t *problems;
    skn_node_t *topology;
    skn_node_t *plugins, *nodes, *actors, *pipes; /* made when needed */
    skn_node_t *actor, *options;                  /* the newest actor */
};

/* A new child, or NULL; after a failure the draft accepts nothing more. */
static skn_node_t *
append(skn_draft_t *draft, skn_node_t *parent, skn_node_type_t type,
       const char *key, const char *text)
{
    if (!draft->document || !parent)
        return NULL;
    skn_node_t *node = skn_document_append(draft->document, parent, type, key,
                                           text, false, draft->problems);
    if (!node)
        skn_document_destroy(&draft->document);
    return node;
}

static void
append_text(skn_draft_t *draft, skn_node_t *parent, const char *key,
            const char *text)
{
    if (text)
        (void)append(draft, parent, SKN_NODE_SCALAR, key, text);
}

static void
append_number(skn_draft_t *draft, skn_node_t *parent, const char *key,
              uint64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRIu64, number);
    (void)append(draft, parent, SKN_NODE_SCALAR, key, text);
}

/* The list under `key` of the topology. */
static skn_node_t *
list_of(skn_draft_t *draft, skn_node_t **list, const char *key)
{
    if (draft->document && !*list)
        *list = append(draft, draft->topology, SKN_NODE_LIST, key, NULL);
    return *list;
}

skn_draft_t *
skn_draft_new(const char *origin, const char *name, skn_problems_t *problems)
{
    skn_draft_t *draft = calloc(1, sizeof(*draft));
    if (!draft) {
        (void)skn_problems_fail(problems, SKN_NO_MEMORY,
                                "%s: no memory for a topology", origin);
        return NULL;
    }
    draft->problems = problems;
    draft->document = skn_document_new(origin, problems);
    skn_node_t *root =
        draft->document ? skn_document_edit(draft->document) : NULL;
    append_text(draft, root, "skein", "1");
    draft->topology = append(draft, root, SKN_NODE_MAPPING, "topology", NULL);
    append_text(draft, draft->topology, "name", name);
    if (!draft->document)
        skn_draft_destroy(&draft);
    return draft;
}

void
skn_draft_destroy(skn_draft_t **draft)
{
    if (!*draft)
        return;
    skn_document_destroy(&(*draft)->document);
    free(*draft);
    *draft = NULL;
}

void
skn_draft_plugin(skn_draft_t *draft, const char *path)
{
    append_text(draft, list_of(draft, &draft->plugins, "plugins"), NULL, path);
}

static void
append_filled(skn_draft_t *draft, skn_node_t *parent, const char *key,
              const char *text)
{
    append_text(draft, parent, key, text[0] ? text : NULL);
}

void
skn_draft_node(skn_draft_t *draft, const skn_wired_node_t *node)
{
    skn_node_t *list = list_of(draft, &draft->nodes, "nodes");
    skn_node_t *item = append(draft, list, SKN_NODE_MAPPING, NULL, NULL);
    append_text(draft, item, "name", node->name);
    append_filled(draft, item, "address", node->address);
    append_filled(draft, item, "via", node->via);
    append_filled(draft, item, "key", node->key);
    append_filled(draft, item, "ssh", node->ssh);
    if (node->core_count > 0)
        append_number(draft, item, "cores", node->core_count);
    if (node->memory_bytes > 0)
        append_number(draft, item, "memory", node->memory_bytes);
}

void
skn_draft_on(skn_draft_t *draft, const char *node)
{
    append_text(draft, draft->actor, "node", node);
}

void
skn_draft_actor(skn_draft_t *draft, const char *name, const char *kind,
                int core, int nice)
{
    skn_node_t *list = list_of(draft, &draft->actors, "actors");
    draft->actor = append(draft, list, SKN_NODE_MAPPING, NULL, NULL);
    draft->options = NULL;
    append_text(draft, draft->actor, "name", name);
    append_text(draft, draft->actor, "kind", kind);
    if (core >= 0)
        append_number(draft, draft->actor, "cores", (uint64_t)core);
    else if (core == SKN_CORE_FLOAT)
        append_text(draft, draft->actor, "cores", "float");
    if (nice > 0)
        append_number(draft, draft->actor, "nice", (uint64_t)nice);
}

void
skn_draft_option(skn_draft_t *draft, const char *name, const char *format, ...)
{
    char text[SKN_TEXT_MAX + 1];
    va_list arguments;
    va_start(arguments, format);
    (void)skn_text_write_list(text, sizeof(text), format, arguments);
    va_end(arguments);
    assert(draft->actor || !draft->document);
    if (draft->document && !draft->options)
        draft->options =
            append(draft, draft->actor, SKN_NODE_MAPPING, "options", NULL);
    skn_node_t *node =
        append(draft, draft->options, SKN_NODE_SCALAR, name, text);
    if (node) /* empty text is text here, never a missing value */
        node->quoted = skn_node_is_null(node);
}

static void
append_names(skn_draft_t *draft, skn_node_t *pipe, const char *key,
             const char *const *names)
{
    skn_node_t *list = append(draft, pipe, SKN_NODE_LIST, key, NULL);
    for (; names && *names; names++)
        append_text(draft, list, NULL, *names);
}

void
skn_draft_pipe(skn_draft_t *draft, const skn_draft_pipe_t *pipe)
{
    skn_node_t *list = list_of(draft, &draft->pipes, "pipes");
    skn_node_t *node = append(draft, list, SKN_NODE_MAPPING, NULL, NULL);
    append_names(draft, node, "from", pipe->from);
    append_names(draft, node, "to", pipe->to);
    append_text(draft, node, "message", pipe->message);
    append_text(draft, node, "pattern", pipe->pattern);
    append_text(draft, node, "collect", pipe->collect);
    append_text(draft, node, "key", pipe->key);
    append_text(draft, node, "by", pipe->by);
    if (pipe->credit > 0)
        append_number(draft, node, "credit", pipe->credit);
    if (pipe->peer)
        append_text(draft, node, "peer", "true");
    append_text(draft, node, "coding", pipe->coding);
    if (!pipe->bounds)
        return;
    skn_node_t *bounds = append(draft, node, SKN_NODE_LIST, "bounds", NULL);
    for (uint32_t k = 0; k < pipe->bound_count; k++)
        append_number(draft, bounds, NULL, pipe->bounds[k]);
}

skn_spec_t *
skn_draft_finish(skn_draft_t **draft, const skn_kind_t *const *kinds,
                 skn_problems_t *problems)
{
    skn_spec_t *spec = NULL;
    if ((*draft)->document)
        spec = skn_spec_load(&(*draft)->document, kinds, problems);
    skn_draft_destroy(draft);
    return spec;
}
