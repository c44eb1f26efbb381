/* kinds_reference.h - prints the kinds of actors and the messages as text.
 *
 * It uses the tables that the runtime itself obeys. Write errors show in
 * ferror(file). Any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_MODEL_KINDS_REFERENCE_H
#define TOPOLOGY_MODEL_KINDS_REFERENCE_H

#include <stdbool.h>
#include <stdio.h>

#include "skein/actor.h"

/* The built-in kinds, ending with NULL. The kind of that name, or NULL;
 * *nearest is then the nearest name (or NULL). */
const skn_kind_t *const *skn_kinds_list(void);
const skn_kind_t *skn_kinds_find(const char *name, const char **nearest);

/* A kind with its options and messages, for users; `fields`: also the fields of
 * each message. */
void skn_kind_print(const skn_kind_t *kind, bool fields, FILE *file);
/* The same as one JSON object on a line, always with the fields. */
void skn_kind_print_json(const skn_kind_t *kind, FILE *file);

/* docs/reference/messages.md: every message, as Markdown. */
void skn_messages_reference(FILE *file);

#endif
