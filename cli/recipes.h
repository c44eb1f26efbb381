/* recipes.h - engines that start a run on a cluster, and what they are given.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_RECIPES_H
#define CLI_RECIPES_H

#include <stdbool.h>

/* In the texts, @file@ stands for the model file, @nodes@ for how many there
 * are and @last@ for one less, @cores@ for how many each uses, @names@ for the
 * nodes of the file, and a line @overrides@ for each -o, one a line. */
typedef struct cli_engine {
    const char *name;    /* NULL ends the list */
    const char *title;   /* as it is called in sentences */
    bool lists_nodes;    /* it chooses them, and not the file */
    const char *fixed;   /* the same nodes from the first batch to the last */
    const char *elastic; /* nodes that come and go; NULL: it cannot */
} cli_engine_t;

extern const cli_engine_t cli_engines[];

#endif
