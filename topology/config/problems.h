/* problems.h - everything that is wrong with one configuration, in one list.
 *
 * A reader or checker adds each problem where it finds it and goes on, so that
 * the user sees all of them in one pass. The list stays in the order of the
 * lines of the file; what came from the command line stands at its end.
 * One thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CONFIG_PROBLEMS_H
#define TOPOLOGY_CONFIG_PROBLEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "skein/error.h"

/* Where something stands: line and column count from 1. Line 0: it has no
 * line, and `origin` says it all ("-o train.window=4"). */
typedef struct skn_mark {
    const char *origin; /* the file's name; lives as long as its document */
    uint32_t line, column;
} skn_mark_t;

/* Problems that are kept; further ones are only counted. Nobody reads a
 * second hundred before repairing the first. */
#define SKN_PROBLEMS_KEPT 100u

typedef struct skn_problems skn_problems_t;

/* NULL and a filled `error` when memory is short. */
skn_problems_t *skn_problems_new(skn_error_t *error);
/* Frees, sets *problems to NULL. *problems may be NULL already. */
void skn_problems_destroy(skn_problems_t **problems);

/* Adds "origin:line:column: " and the sentence; its status is SKN_BAD_CONFIG,
 * which it returns. The text is copied. */
__attribute__((format(printf, 3, 4))) skn_status_t skn_problems_add(
    skn_problems_t *problems, skn_mark_t mark, const char *format, ...);
/* Gives the problem added last a hint: what the user can do. Returns
 * SKN_BAD_CONFIG. */
__attribute__((format(printf, 2, 3))) skn_status_t skn_problems_hint(
    skn_problems_t *problems, const char *format, ...);
/* Adds a problem without a place and with a status of its own (a file that
 * cannot be opened, memory). Returns `status`. */
__attribute__((format(printf, 3, 4))) skn_status_t skn_problems_fail(
    skn_problems_t *problems, skn_status_t status, const char *format, ...);

/* How many were added, kept or not. 0: all is well. */
size_t skn_problems_count(const skn_problems_t *problems);
/* The k-th kept one, in the order of the file: "x.yaml:3:5: unknown key 'a'".
 * NULL beyond the end. Belongs to the list, as its hint, which may be "". */
const char *skn_problems_text(const skn_problems_t *problems, size_t k);
const char *skn_problems_hint_text(const skn_problems_t *problems, size_t k);

/* Where the k-th kept one stands in a file: the first *file_bytes of its text
 * are the file's name. false: it has no line, or there is no k-th one. */
bool skn_problems_place(const skn_problems_t *problems, size_t k,
                        size_t *file_bytes, uint32_t *line, uint32_t *column);
/* SKN_OK and an untouched `error` without problems; otherwise the status of
 * the first one, its sentence, " (and N more)" if there are more, its hint. */
skn_status_t skn_problems_error(const skn_problems_t *problems,
                                skn_error_t *error);

/* Keeps a copy of the text of file `origin`, for the excerpts of print. */
void skn_problems_source(skn_problems_t *problems, const char *origin,
                         const char *text, size_t text_bytes);
/* All of them, each as "text; hint" on a line, then the line of the source
 * and a caret under the column, where the source is known. */
void skn_problems_print(const skn_problems_t *problems, FILE *file);
/* A sentence for a terminal, or for a log with a line a message: a line break
 * in a path becomes "\n", what else a terminal may obey "\x1b". */
void skn_problems_print_text(const char *text, FILE *file);

#endif
