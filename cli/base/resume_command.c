/* resume_command.c - prints the shell command that resumes a stopped run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/resume_command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skein/config.h"
#include "topology/config/shell_word.h"

#define PLAIN                                                                  \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+=@%-"

static void
put_word(const char *word, FILE *file)
{
    (void)fputc(' ', file);
    if (word[0] && word[strspn(word, PLAIN)] == '\0')
        (void)fputs(word, file);
    else
        skn_shell_quote(word, file);
}

static void
put_option(const cli_option_t *option, const char *value, FILE *file)
{
    char name[64];
    if (option->letter)
        (void)snprintf(name, sizeof(name), "-%c", option->letter);
    else
        (void)snprintf(name, sizeof(name), "--%s", option->name);
    put_word(name, file);
    if (value)
        put_word(value, file);
}

/* The files of an operand, which are one a line. */
static void
put_files(const char *files, FILE *file)
{
    while (files) {
        size_t bytes = strcspn(files, "\n");
        char *one = strndup(files, bytes);
        if (one)
            put_word(one, file);
        free(one);
        files = files[bytes] ? files + bytes + 1 : NULL;
    }
}

static void
put_path(const char *path, FILE *file)
{
    char *text = skn_config_override("checkpoint.path", path, NULL);
    if (text) {
        put_word("-o", file);
        put_word(text, file);
    }
    free(text);
}

/* Whether the model came from standard input, which cannot be read again, or
 * from a folder that was moved: the run folder has the config, too. */
static bool
is_gone(const cli_call_t *call)
{
    const char *first = call->operands[0];
    return call->operand_count == 1 && !strchr(first, '\n') &&
           (strcmp(first, "-") == 0 || access(first, F_OK) != 0);
}

void
cli_resume_command_write(const cli_call_t *call, const char *path, FILE *file)
{
    const char *program = call->program ? call->program : "skein";
    if (program[strspn(program, PLAIN)] == '\0')
        (void)fputs(program, file);
    else
        skn_shell_quote(program, file);
    put_word(call->verb->name, file);
    for (size_t k = 0; k < call->operand_count; k++)
        put_files(path && is_gone(call) ? path : call->operands[k], file);
    for (size_t k = 0; k < call->given_count; k++)
        if (strcmp(call->given[k].option->name, "resume") != 0)
            put_option(call->given[k].option, call->given[k].value, file);
    if (path && !is_gone(call))
        put_path(path, file);
    if (cli_has_option(call->verb, "resume"))
        put_word("--resume", file);
    (void)fputc('\n', file);
}

void
cli_resume_command_print(const cli_call_t *call, const char *sentence,
                         const char *path)
{
    (void)puts(sentence);
    cli_resume_command_write(call, path, stdout);
    (void)fflush(stdout);
}
