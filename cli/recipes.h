/* recipes.h - the engines that start a run on a cluster, and the text for each.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_RECIPES_H
#define CLI_RECIPES_H

#include <stdbool.h>

/* In the texts, @file@ stands for the model file, @nodes@ for the number of
 * nodes and @last@ for one less, @cores@ for the cores that each uses, @names@
 * for the nodes of the file, and a line @overrides@ for the options -o, one per
 * line. */
typedef struct cli_engine {
    const char *name;    /* NULL ends the list */
    const char *title;   /* its name in sentences */
    bool has_nodes;      /* it chooses the nodes, not the file */
    const char *fixed;   /* text for a fixed set of nodes */
    const char *elastic; /* for nodes that come and go; NULL: unsupported */
} cli_engine_t;

extern const cli_engine_t cli_engines[];

#endif
