/* problems.c - the list of all problems of one configuration.
 *
 * This file owns: the messages, their order, and a copy of the source text for
 * the excerpts. All memory but that copy is taken at the start, so that adding
 * a problem cannot fail.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/config/problems.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct problem {
    skn_status_t status;
    uint32_t rank;   /* orders the list: the line, or one of the two below */
    skn_mark_t mark; /* origin is not kept: it may be freed earlier */
    bool in_source;
    size_t origin_bytes; /* length of the origin in the text, if whole */
    char text[SKN_ERROR_TEXT_BYTES];
    char hint[SKN_ERROR_HINT_BYTES];
} problem_t;

#define RANK_NO_PLACE 0u        /* the file as a whole: first */
#define RANK_NO_LINE UINT32_MAX /* the command line: last */

struct skn_problems {
    size_t count, kept;
    problem_t *order[SKN_PROBLEMS_KEPT];
    problem_t kept_at[SKN_PROBLEMS_KEPT];
    problem_t *latest; /* NULL: it was only counted */
    char *source;
    size_t source_bytes;
    char *source_origin;
};

skn_problems_t *
skn_problems_new(skn_error_t *error)
{
    skn_problems_t *problems = calloc(1, sizeof(*problems));
    if (!problems)
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for %zu bytes",
                       sizeof(*problems));
    return problems;
}

void
skn_problems_destroy(skn_problems_t **problems)
{
    if (!*problems)
        return;
    free((*problems)->source);
    free((*problems)->source_origin);
    free(*problems);
    *problems = NULL;
}

/* True if `a` comes before `b`; equals stay in the order of finding. */
static bool
before(const problem_t *a, const problem_t *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank;
    return a->mark.column < b->mark.column;
}

/* A new entry at its place in the order, or NULL when the list is full. */
static problem_t *
insert(skn_problems_t *problems, skn_status_t status, skn_mark_t mark,
       uint32_t rank)
{
    problems->count++;
    problems->latest = NULL;
    if (problems->kept == SKN_PROBLEMS_KEPT)
        return NULL;
    problem_t *problem = &problems->kept_at[problems->kept];
    problem->status = status;
    problem->rank = rank;
    problem->mark = mark;
    size_t place = problems->kept++;
    for (; place > 0 && before(problem, problems->order[place - 1]); place--)
        problems->order[place] = problems->order[place - 1];
    problems->order[place] = problem;
    problems->latest = problem;
    return problem;
}

skn_status_t
skn_problems_add(skn_problems_t *problems, skn_mark_t mark, const char *format,
                 ...)
{
    problem_t *problem = insert(problems, SKN_BAD_CONFIG, mark,
                                mark.line ? mark.line : RANK_NO_LINE);
    if (!problem)
        return SKN_BAD_CONFIG;
    int used = mark.line
                   ? snprintf(problem->text, sizeof(problem->text),
                              "%s:%u:%u: ", mark.origin, mark.line, mark.column)
                   : snprintf(problem->text, sizeof(problem->text),
                              "%s: ", mark.origin);
    problem->in_source = mark.line && problems->source_origin &&
                         strcmp(mark.origin, problems->source_origin) == 0;
    problem->mark.origin = NULL;
    problem->origin_bytes = strlen(mark.origin);
    if (used >= 0 && (size_t)used < sizeof(problem->text)) {
        va_list arguments;
        va_start(arguments, format);
        (void)skn_text_write_list(problem->text + used,
                                  sizeof(problem->text) - (size_t)used, format,
                                  arguments);
        va_end(arguments);
    }
    return SKN_BAD_CONFIG;
}

skn_status_t
skn_problems_hint(skn_problems_t *problems, const char *format, ...)
{
    assert(problems->count > 0);
    if (problems->latest) {
        va_list arguments;
        va_start(arguments, format);
        (void)skn_text_write_list(problems->latest->hint,
                                  sizeof(problems->latest->hint), format,
                                  arguments);
        va_end(arguments);
    }
    return SKN_BAD_CONFIG;
}

skn_status_t
skn_problems_fail(skn_problems_t *problems, skn_status_t status,
                  const char *format, ...)
{
    skn_mark_t nowhere = { NULL, 0, 0 };
    problem_t *problem = insert(problems, status, nowhere, RANK_NO_PLACE);
    if (problem) {
        va_list arguments;
        va_start(arguments, format);
        (void)skn_text_write_list(problem->text, sizeof(problem->text), format,
                                  arguments);
        va_end(arguments);
    }
    return status;
}

size_t
skn_problems_count(const skn_problems_t *problems)
{
    return problems->count;
}

const char *
skn_problems_text(const skn_problems_t *problems, size_t k)
{
    return k < problems->kept ? problems->order[k]->text : NULL;
}

const char *
skn_problems_hint_text(const skn_problems_t *problems, size_t k)
{
    return k < problems->kept ? problems->order[k]->hint : NULL;
}

bool
skn_problems_place(const skn_problems_t *problems, size_t k, size_t *file_bytes,
                   uint32_t *line, uint32_t *column)
{
    const problem_t *problem = k < problems->kept ? problems->order[k] : NULL;
    if (!problem || problem->mark.line == 0 ||
        problem->origin_bytes > strlen(problem->text))
        return false;
    *file_bytes = problem->origin_bytes;
    *line = problem->mark.line;
    *column = problem->mark.column;
    return true;
}

static skn_status_t
fill(const problem_t *problem, const char *more, skn_error_t *error)
{
    int room = (int)(SKN_ERROR_TEXT_BYTES - 1 - strlen(more));
    (void)skn_fail(error, problem->status, "%.*s%s", room, problem->text, more);
    if (problem->hint[0])
        (void)skn_fail_hint(error, problem->status, "%s", problem->hint);
    return problem->status;
}

skn_status_t
skn_problems_get(const skn_problems_t *problems, size_t k, skn_error_t *error)
{
    return k < problems->kept ? fill(problems->order[k], "", error) : SKN_OK;
}

skn_status_t
skn_problems_error(const skn_problems_t *problems, skn_error_t *error)
{
    if (problems->count == 0)
        return SKN_OK;
    char more[40] = "";
    if (problems->count > 1)
        (void)snprintf(more, sizeof(more), " (and %zu more)",
                       problems->count - 1);
    return fill(problems->order[0], more, error);
}

void
skn_problems_source(skn_problems_t *problems, const char *origin,
                    const char *text, size_t text_bytes)
{
    free(problems->source);
    free(problems->source_origin);
    /* Without memory there are no excerpts; the messages are enough. */
    problems->source = malloc(text_bytes + 1);
    problems->source_origin = strdup(origin);
    if (!problems->source || !problems->source_origin) {
        free(problems->source);
        free(problems->source_origin);
        problems->source = problems->source_origin = NULL;
        return;
    }
    memcpy(problems->source, text, text_bytes);
    problems->source[text_bytes] = '\0';
    problems->source_bytes = text_bytes;
}

/* True if `byte` starts a character of UTF-8 (columns count characters). */
static bool
starts_character(char byte)
{
    return ((unsigned char)byte & 0xC0) != 0x80;
}

/* Prints `length` bytes of a line; control characters become a '?'. */
static void
print_line(const char *line, size_t length, FILE *file)
{
    for (size_t k = 0; k < length; k++) {
        unsigned char byte = (unsigned char)line[k];
        bool control = (byte < 0x20 && byte != '\t') || byte == 0x7F;
        (void)fputc(control ? '?' : byte, file);
    }
}

/* Longest excerpt: two rows of a terminal. A plan may be on one line. */
#define EXCERPT_CHARACTERS_MAX 160u

static void
print_excerpt(const skn_problems_t *problems, skn_mark_t mark, FILE *file)
{
    const char *line = problems->source;
    const char *end = line + problems->source_bytes;
    for (uint32_t number = 1; number < mark.line; number++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        if (!newline)
            return;
        line = newline + 1;
    }
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    size_t length = (size_t)((newline ? newline : end) - line);
    if (length > 0 && line[length - 1] == '\r')
        length--;
    size_t shown = 0, characters = 0;
    while (shown < length && (characters < EXCERPT_CHARACTERS_MAX ||
                              !starts_character(line[shown])))
        characters += starts_character(line[shown++]) ? 1 : 0;
    if (mark.column > characters + 1)
        return;
    (void)fprintf(file, "%6u | ", mark.line);
    print_line(line, shown, file);
    (void)fputs("\n       | ", file);
    /* A tab stays a tab, so that the caret is under its character. */
    for (size_t k = 0, column = 1; column < mark.column && k < shown; k++)
        if (starts_character(line[k])) {
            (void)fputc(line[k] == '\t' ? '\t' : ' ', file);
            column++;
        }
    (void)fputs("^\n", file);
}

void
skn_problems_print(const skn_problems_t *problems, FILE *file)
{
    for (size_t k = 0; k < problems->kept; k++) {
        const problem_t *problem = problems->order[k];
        skn_text_escape(SKN_TEXT_LINE, problem->text, file);
        if (problem->hint[0]) {
            (void)fputs("; ", file);
            skn_text_escape(SKN_TEXT_LINE, problem->hint, file);
        }
        (void)fputc('\n', file);
        if (problem->in_source && problems->source)
            print_excerpt(problems, problem->mark, file);
    }
    if (problems->count > problems->kept)
        (void)fprintf(file, "%zu more problems\n",
                      problems->count - problems->kept);
}

/* ,"excerpt":"..." with the line of the source and the caret, or "". */
static void
add_excerpt(const skn_problems_t *problems, const problem_t *problem,
            skn_json_text_t *event)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = problem->in_source && problems->source
                     ? open_memstream(&text, &bytes)
                     : NULL;
    if (file) {
        print_excerpt(problems, problem->mark, file);
        (void)fclose(file);
    }
    if (text && bytes > 0)
        text[bytes - 1] = '\0'; /* without the last newline */
    skn_json_text_add(event, ",\"excerpt\":");
    skn_json_text_add_string(event, text ? text : "");
    free(text);
}

bool
skn_problems_write_event(const skn_problems_t *problems, size_t k,
                         skn_json_text_t *event)
{
    char text[SKN_ERROR_TEXT_BYTES];
    uint32_t line = 0, column = 0;
    size_t file_bytes = 0;
    if (k > problems->kept || (k == problems->kept && k == problems->count))
        return false;
    skn_json_text_add(event, "{\"event\":\"error\",\"code\":%d",
                      skn_status_exit_code(problems->order[0]->status));
    if (skn_problems_place(problems, k, &file_bytes, &line, &column)) {
        (void)snprintf(text, sizeof(text), "%.*s", (int)file_bytes,
                       problems->order[k]->text);
        skn_json_text_add(event, ",\"file\":");
        skn_json_text_add_string(event, text);
        skn_json_text_add(event, ",\"line\":%u,\"column\":%u", line, column);
    }
    (void)snprintf(text, sizeof(text), "%zu more problems",
                   problems->count - problems->kept);
    bool is_kept = k < problems->kept;
    skn_json_text_add(event, ",\"message\":");
    skn_json_text_add_string(event, is_kept ? problems->order[k]->text : text);
    skn_json_text_add(event, ",\"hint\":");
    skn_json_text_add_string(event, is_kept ? problems->order[k]->hint : "");
    if (is_kept)
        add_excerpt(problems, problems->order[k], event);
    else
        skn_json_text_add(event, ",\"excerpt\":\"\"");
    skn_json_text_add(event, "}");
    return true;
}
