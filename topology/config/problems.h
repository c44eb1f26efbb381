/* problems.h - the list of all problems of one configuration.
 *
 * A reader or checker adds each problem where it finds it and continues, so
 * that the user sees all of them in one pass. The list is in the order of the
 * lines of the file; problems of the command line come last. One thread at a
 * time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CONFIG_PROBLEMS_H
#define TOPOLOGY_CONFIG_PROBLEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/text/json_text.h"
#include "skein/error.h"

/* A place in a configuration: line and column count from 1. Line 0: there is no
 * line, and `origin` is the whole place ("-o train.window=4"). */
typedef struct skn_mark {
    const char *origin; /* the file's name; lives as long as its document */
    uint32_t line, column;
} skn_mark_t;

/* Problems that are kept; further ones are only counted. No user reads a second
 * hundred before repairing the first. */
#define SKN_PROBLEMS_KEPT 100u

typedef struct skn_problems skn_problems_t;

/* NULL and a filled `error` when memory is short. */
skn_problems_t *skn_problems_new(skn_error_t *error);
/* Frees the list and sets *problems to NULL; it may be NULL already. */
void skn_problems_destroy(skn_problems_t **problems);

/* Adds "origin:line:column: " and the message, with status SKN_BAD_CONFIG, and
 * returns that status. The text is copied. */
__attribute__((format(printf, 3, 4))) skn_status_t skn_problems_add(
    skn_problems_t *problems, skn_mark_t mark, const char *format, ...);
/* Gives the newest problem a hint: what the user can do. Returns
 * SKN_BAD_CONFIG. */
__attribute__((format(printf, 2, 3))) skn_status_t skn_problems_hint(
    skn_problems_t *problems, const char *format, ...);
/* Adds a problem without a place and with a status of its own (a file that
 * cannot be opened, memory). Returns `status`. */
__attribute__((format(printf, 3, 4))) skn_status_t skn_problems_fail(
    skn_problems_t *problems, skn_status_t status, const char *format, ...);

/* The number that were added, kept or not. 0: there is no problem. */
size_t skn_problems_count(const skn_problems_t *problems);
/* The k-th kept one, in the order of the file: "x.yaml:3:5: unknown key 'a'".
 * NULL beyond the end. Belongs to the list, as does its hint, which may be
 * "". */
const char *skn_problems_text(const skn_problems_t *problems, size_t k);
const char *skn_problems_hint_text(const skn_problems_t *problems, size_t k);

/* The place of the k-th kept one in a file: the first *file_bytes of its text
 * are the file's name. False: it has no line, or there is no k-th one. */
bool skn_problems_place(const skn_problems_t *problems, size_t k,
                        size_t *file_bytes, uint32_t *line, uint32_t *column);
/* Its status, message and hint in `error`; SKN_OK and an untouched `error`
 * beyond the end. */
skn_status_t skn_problems_get(const skn_problems_t *problems, size_t k,
                              skn_error_t *error);
/* SKN_OK and an untouched `error` without problems; otherwise the status of the
 * first one, its message, " (and N more)" if there are more, and its hint. */
skn_status_t skn_problems_error(const skn_problems_t *problems,
                                skn_error_t *error);

/* Keeps a copy of the text of file `origin`, for the excerpts of print. */
void skn_problems_source(skn_problems_t *problems, const char *origin,
                         const char *text, size_t text_bytes);
/* Prints all of them, each as "text; hint" on a line, then the line of the
 * source and a caret under the column, if the source is known. */
void skn_problems_print(const skn_problems_t *problems, FILE *file);
/* Appends the event `error` of the k-th one, whose `excerpt` is what print adds
 * below the text. If some were not kept, one more event counts them. False
 * beyond the end. */
bool skn_problems_write_event(const skn_problems_t *problems, size_t k,
                              skn_json_text_t *event);
#endif
