/* verb.h - the table that defines a verb, and functions for all verbs.
 *
 * A verb is one const table: name, one-line help, synopsis, its options, and
 * the function that runs it. Help, completion and manual pages come from it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_VERB_H
#define CLI_BASE_VERB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "skein/error.h"
#include "skein/limits.h"

/* An option of the command line. With an argument name it takes a value, and
 * may be given more than once. */
typedef struct cli_option {
    const char *name;     /* long form, without dashes; NULL ends a list */
    char letter;          /* short form, or 0 */
    const char *argument; /* name of the value, and only a TEXT may be empty;
                           * NULL: a flag */
    const char *help;
} cli_option_t;

#define CLI_VALUES_MAX 256

/* The parsed command line of a verb. */
typedef struct cli_call {
    const struct cli_verb *verb;
    const char *program; /* as it was called; NULL: unknown */
    bool json;
    struct {
        const cli_option_t *option;
        const char *value; /* NULL for a flag */
        bool is_short;     /* it was written with its letter */
    } given[CLI_VALUES_MAX];
    size_t given_count;
    const char *operands[CLI_VALUES_MAX];
    size_t operand_count;
} cli_call_t;

typedef struct cli_verb {
    const char *name;     /* NULL ends the list */
    const char *help;     /* one line */
    const char *operands; /* synopsis: "FILE", "[FILE]" */
    size_t operands_min, operands_max;
    size_t several; /* the operand, from 1, that may be several files, which
                     * are joined to one path a line; 0: none */
    const cli_option_t *options;
    const char *description; /* paragraphs for --help and the manual */
    /* Returns the exit status, after printing any error. */
    int (*run)(const cli_call_t *call);
} cli_verb_t;

extern const cli_verb_t *const cli_verbs[];

/* Whether the verb has the option. */
bool cli_has_option(const cli_verb_t *verb, const char *name);
/* Return whether a flag was given; the last value of an option, or NULL; the
 * k-th value of an option, or NULL past the last. */
bool cli_flag(const cli_call_t *call, const char *name);
const char *cli_value(const cli_call_t *call, const char *name);
const char *cli_value_at(const cli_call_t *call, const char *name, size_t k);
/* An option as the user wrote it, -k or --threshold; one that was not given is
 * written long. They return `text`. */
#define CLI_WRITTEN_BYTES 72
const char *cli_written(const cli_call_t *call, const char *name,
                        char text[CLI_WRITTEN_BYTES]);
const char *cli_option_written(const cli_option_t *option, bool is_short,
                               char text[CLI_WRITTEN_BYTES]);
/* Gets all values of -o, and before them those of options that stand for keys;
 * returns their number, at most CLI_VALUES_MAX. */
size_t cli_overrides(const cli_call_t *call, const char **overrides);

/* Reads the number given to an option; *count is unchanged if the option is
 * absent. SKN_USAGE if it is not 1 to `most`. Numbers are written as in a model
 * file: in decimal, without a sign, blanks or leading zeros. */
skn_status_t cli_count(const cli_call_t *call, const char *name, uint32_t most,
                       uint32_t *count, skn_error_t *error);
/* The same for a number within [least, most]. */
skn_status_t cli_real(const cli_call_t *call, const char *name, double least,
                      double most, double *real, skn_error_t *error);
/* Reads a whole number in decimal, without sign, blanks or leading zeros; false
 * for any other text or above UINT64_MAX. */
bool cli_read_unsigned(const char *text, uint64_t *number);
/* Reads a number of the command line, or a part of an argument, by the rules of
 * the model file; false if it is not a number. */
bool cli_read_real(const char *text, size_t text_bytes, double *real);
/* The longest time to wait: a day. */
#define CLI_WAIT_S_MAX 86400u

/* Prints an error: one line on standard error, and with --json an error event
 * on standard output. Returns the exit code. */
int cli_report(const cli_call_t *call, const skn_error_t *error);
/* Prints one line on standard error: `prefix`, the message and, after a
 * semicolon, the hint unless it is "". */
void cli_print_sentence(const char *prefix, const char *message,
                        const char *hint);
/* Prints an event of the library. Where its hint names a key ("set K=V"), the
 * line has the option that sets it ("give -o K=V"), as the command's own. */
void cli_print_event(const char *line);
/* Prints a warning: one line on standard error, and an event with --json,
 * except for verbs that print a document. */
void cli_warn(const cli_call_t *call, const char *message, const char *hint);
struct skn_config_problem_s;
/* The text of a problem, after its place if it has one. Returns `text`. */
#define CLI_PROBLEM_BYTES (SKN_TEXT_MAX + SKN_ERROR_TEXT_BYTES)
const char *cli_problem_text(const struct skn_config_problem_s *problem,
                             char text[CLI_PROBLEM_BYTES]);
/* The same with a place, whose file, line and column are in the event. */
void cli_warn_at(const cli_call_t *call,
                 const struct skn_config_problem_s *warning);
/* Flushes standard output; a full disk or closed pipe is an exit code too. */
int cli_finish(const cli_call_t *call, int code);

#define CLI_LOSS_BYTES 24
/* Formats a loss for people: a diverging loss has many digits, of which the
 * first few count. Returns `text`. */
const char *cli_loss_text(double loss, char text[CLI_LOSS_BYTES]);
/* Prints a path between two texts on standard output; a line break in it is
 * printed as "\n", so that a line stays one. */
void cli_print_path(const char *before, const char *path, const char *after);
/* The same of the paths of an operand that may be several: the text has one a
 * line, and commas are printed between them. */
void cli_print_paths(const char *paths);
/* Prints `text` in quotes, escaped, as JSON; bytes that are not UTF-8 become
 * U+FFFD. */
void cli_json_string(const char *text, FILE *file);

/* An option of verbs that a queueing system may restart: the exit code for a
 * run that is not over. */
#define CLI_REQUEUE_OPTION                                                     \
    {                                                                          \
        "requeue-code", 0, "N",                                                \
            "exit code of a run stopped before its end (0)"                    \
    }
/* SKN_USAGE if --requeue-code was given and is not a code in 1..255. */
skn_status_t cli_requeue_check(const cli_call_t *call, skn_error_t *error);
/* The exit code for a process that ended with `code`; `unfinished`: it was
 * asked to stop or leave, and the run is not over. A failure keeps its code. */
int cli_requeue(const cli_call_t *call, int code, bool unfinished);

#define CLI_COMMON_OPTIONS                                                     \
    { "json", 0, NULL, "print one JSON object per line" },                     \
    {                                                                          \
        "help", 'h', NULL, "print this help"                                   \
    }
/* For verbs that print a document: their warnings are not printed as events,
 * which would precede the document. */
#define CLI_DOCUMENT_JSON "print errors as JSON; other output is unchanged"
#define CLI_DOCUMENT_OPTIONS                                                   \
    { "json", 0, NULL, CLI_DOCUMENT_JSON },                                    \
    {                                                                          \
        "help", 'h', NULL, "print this help"                                   \
    }
#define CLI_OVERRIDE_OPTION                                                    \
    {                                                                          \
        "override", 'o', "KEY=VALUE",                                          \
            "set a key, such as train.epochs=3; may be repeated"               \
    }
/* The same, and short forms of the keys of a data file (cli_overrides). */
#define CLI_MODEL_OPTIONS                                                      \
    CLI_OVERRIDE_OPTION,                                                       \
        { "text", 0, "COLUMN", "column of texts: data.text_column" },          \
        { "categories", 0, "COLUMN,...",                                       \
          "columns of categories: data.category_columns" },                    \
        { "numbers", 0, "COLUMN,...",                                          \
          "columns of numbers: data.number_columns" },                         \
        { "labels", 0, "COLUMN", "column of labels: data.label_column" },      \
    {                                                                          \
        "test", 0, "FILE", "test file, or share of the rows: data.test"        \
    }

#endif
