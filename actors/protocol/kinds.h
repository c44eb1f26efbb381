/* kinds.h - lists the built-in kinds of actors, and declares their tables.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_KINDS_H
#define ACTORS_PROTOCOL_KINDS_H

#include "skein/actor.h"

/* clang-format off */
/* K(name) of every built-in kind: skn_source, ... */
#define SKN_BUILTIN_KINDS(K)                                                   \
    K(source) K(reader) K(embedding) K(dense) K(stage) K(output) K(combiner)   \
    K(updater) K(clipper) K(table_builder) K(evaluator) K(keeper) K(course)
/* clang-format on */

#define SKN_KIND_DECLARE(name) extern const skn_kind_t skn_##name;
SKN_BUILTIN_KINDS(SKN_KIND_DECLARE)

/* All of them, in this order; ends with NULL. In the object of
 * actors/builtin/builtin_table.c, so that a program which takes them out of an
 * archive has the rest of that table, too. */
extern const skn_kind_t *const skn_kinds[];

#endif
