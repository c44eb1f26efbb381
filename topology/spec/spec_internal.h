/* spec_internal.h - the fields of a spec and the functions that the sources
 * which check one share.
 *
 * Private to topology/spec*.c. Everything but the spec itself and the handles
 * of plug-ins is in the memory of the document.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_SPEC_SPEC_INTERNAL_H
#define TOPOLOGY_SPEC_SPEC_INTERNAL_H

#include "topology/spec/spec.h"

/* Ends of all pipes together: 16,384 pipes of 256 ends. A plan of 1,024
 * shards has about 20 pipes of 2,048. */
#define SPEC_ENDS_MAX (1u << 22)

/* A name as "stem.number", or a stem alone: number -1. */
typedef struct spec_name {
    const char *stem;
    int64_t number;
    uint32_t actor;
} spec_name_t;

struct skn_spec {
    skn_document_t *document;
    skn_problems_t *problems; /* the caller's; only while loading */
    const skn_kind_t **kinds;
    uint32_t kind_count, kind_room;
    const skn_schema_t **schemas; /* each message once */
    uint32_t schema_count, schema_room;
    void **plugins; /* handles from dlopen */
    const char **plugin_paths;
    uint32_t *plugin_ends; /* number of kinds up to and including its own */
    uint32_t plugin_count, kinds_before; /* the number without any plug-in */
    skn_wired_node_t *nodes;
    const skn_node_t *node_list; /* in the document, one item for each node */
    uint32_t node_count;
    bool nodes_refused;        /* the set of nodes is not known */
    bool plugins_refused;      /* the set of kinds and messages is not known */
    skn_wired_actor_t *actors; /* kind NULL: unknown, plug-ins were refused */
    const skn_node_t **actor_nodes;
    spec_name_t *names; /* names of all actors, by stem, then by number */
    uint32_t actor_count;
    skn_wired_pipe_t *pipes;
    const skn_node_t **pipe_nodes;
    uint32_t pipe_count;
    uint32_t end_count;
    skn_wiring_t wiring;
};

/* Zeroed memory of the spec's document for `count` items. */
void *skn_spec_memory(skn_spec_t *spec, size_t count, size_t item_bytes);
/* The mark of the value of `key` in `mapping`, or of the mapping itself. */
skn_mark_t skn_spec_mark(const skn_node_t *mapping, const char *key);
/* Appends `name` to a list "a, b, c", as far as there is room. */
void skn_spec_list(char *text, size_t text_bytes, const char *name);

/* spec_kinds.c: the available kinds and messages. */
skn_status_t skn_spec_read_kinds(skn_spec_t *spec,
                                 const skn_kind_t *const *kinds);
skn_status_t skn_spec_read_plugins(skn_spec_t *spec, const skn_node_t *list);
void skn_spec_close_plugins(skn_spec_t *spec);
/* The path of the plug-in that defines a kind; NULL: no plug-in does. */
const char *skn_spec_plugin_of(const skn_spec_t *spec, const skn_kind_t *kind);
const skn_kind_t *skn_spec_kind(const skn_spec_t *spec, const char *name);
const skn_schema_t *skn_spec_schema(const skn_spec_t *spec, const char *name);
bool skn_spec_sends(const skn_kind_t *kind, const skn_schema_t *schema);
const skn_handler_t *skn_spec_handler(const skn_kind_t *kind,
                                      const skn_schema_t *schema);

/* spec_nodes.c */
skn_status_t skn_spec_read_nodes(skn_spec_t *spec, const skn_node_t *list);
/* Finds the node called `name`, which has `actor`, written at `entry`. In a
 * topology without nodes the name is "" and the node 0. */
skn_status_t skn_spec_find_node(skn_spec_t *spec, const skn_node_t *entry,
                                const char *actor, const char *name,
                                uint32_t *node);
/* Checks for nodes without actors, and for loans that would leave a node. */
skn_status_t skn_spec_check_nodes(skn_spec_t *spec);

/* spec_actors.c */
skn_status_t skn_spec_read_actors(skn_spec_t *spec, const skn_node_t *list);
/* The actors that `text` means: names[*first .. *first + count); 0: none. */
uint32_t skn_spec_find(const skn_spec_t *spec, const char *text,
                       uint32_t *first);
/* The number of bytes in the stem of `name`; *number is -1 without
 * ".number". */
size_t skn_spec_stem(const char *name, int64_t *number);
/* Adds a problem unless `name` is a name: letters, digits, '_', '-', '.'. */
bool skn_spec_check_name(skn_spec_t *spec, skn_mark_t mark, const char *what,
                         const char *name);

/* spec_owners.c: no two peers own one row or column. */
skn_status_t skn_spec_check_owners(skn_spec_t *spec);

/* spec_print.c: the word of a pipe's coding. */
const char *skn_spec_coding(uint32_t coding);

/* spec_pipes.c */
skn_status_t skn_spec_read_pipes(skn_spec_t *spec, const skn_node_t *list);

/* spec_graph.c: checks of all pipes together. */
skn_status_t skn_spec_check_graph(skn_spec_t *spec);

#endif
