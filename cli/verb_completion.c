/* verb_completion.c - skein completion: prints completion scripts for shells.
 *
 * Verbs, options, keys of -o and kinds of actors come from the same tables that
 * parse them; other operands are completed as files.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/base/verbs.h"
#include "skein/config.h"

static void
print_names(FILE *file)
{
    for (size_t k = 0; cli_verbs[k]; k++)
        (void)fprintf(file, "%s%s", k ? " " : "", cli_verbs[k]->name);
}

static void
print_options(const cli_verb_t *verb, FILE *file)
{
    for (const cli_option_t *option = verb->options; option->name; option++) {
        (void)fprintf(file, "%s--%s", option == verb->options ? "" : " ",
                      option->name);
        if (option->letter)
            (void)fprintf(file, " -%c", option->letter);
    }
}

/* Prints the first word of each line of a reference: the kinds, or the keys,
 * with `after` behind each. */
static void
print_words(skn_reference_t reference, const char *after, FILE *file)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return;
    (void)skn_reference_print(reference, NULL, memory, NULL);
    if (fclose(memory) == 0)
        for (const char *line = text; *line; line += *line != '\0') {
            (void)fprintf(file, "%s%.*s%s", line == text ? "" : " ",
                          (int)strcspn(line, " \n"), line, after);
            line += strcspn(line, "\n");
        }
    free(text);
}

#define SMALL "abcdefghijklmnopqrstuvwxyz"

/* Prints the words that the first operand may be, as the verb's synopsis has
 * them: KIND is a kind of actor, VERB a verb, and "bash|zsh|fish" one of these.
 * Returns whether there are any; `file` may be NULL. */
static bool
print_operands(const char *synopsis, FILE *file)
{
    const char *at = synopsis + strspn(synopsis, "[");
    size_t bytes = strspn(at, SMALL);
    bool has_kinds = strncmp(at, "KIND", 4) == 0;
    bool has_verbs = strncmp(at, "VERB", 4) == 0;
    if (!file)
        return has_kinds || has_verbs || bytes > 0;
    if (has_kinds)
        print_words(SKN_REFERENCE_KINDS, "", file);
    if (has_verbs)
        print_names(file);
    for (const char *word = at; bytes > 0; bytes = strspn(word, SMALL)) {
        (void)fprintf(file, "%s%.*s", word == at ? "" : " ", (int)bytes, word);
        word += bytes;
        word += strspn(word, " |");
    }
    return true;
}

/* Prints text between single quotes, escaped for a POSIX shell or for fish. */
static void
print_quoted(const char *text, const char *quote, FILE *file)
{
    (void)fputc('\'', file);
    for (; *text; text++)
        if (*text == '\'')
            (void)fputs(quote, file);
        else
            (void)fputc(*text, file);
    (void)fputc('\'', file);
}

static void
print_bash(FILE *file)
{
    (void)fputs("_skein() {\n"
                "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
                "    local before=${COMP_WORDS[COMP_CWORD-1]}\n"
                "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
                "        words='help ",
                file);
    print_names(file);
    (void)fputs("'\n    elif [[ ${COMP_WORDS[1]} == help ]]; then\n"
                "        words='",
                file);
    print_names(file);
    (void)fputs("'\n    elif [[ $before == -o || $before == --override ]]; "
                "then\n        compopt -o nospace\n        words='",
                file);
    print_words(SKN_REFERENCE_KEYS, "=", file);
    (void)fputs("'\n    elif [[ $word == -* ]]; then\n"
                "        case ${COMP_WORDS[1]} in\n",
                file);
    for (size_t k = 0; cli_verbs[k]; k++) {
        (void)fprintf(file, "            %s) words='", cli_verbs[k]->name);
        print_options(cli_verbs[k], file);
        (void)fputs("' ;;\n", file);
    }
    (void)fputs("        esac\n    elif [ \"$COMP_CWORD\" = 2 ]; then\n"
                "        case ${COMP_WORDS[1]} in\n",
                file);
    for (size_t k = 0; cli_verbs[k]; k++) {
        if (!print_operands(cli_verbs[k]->operands, NULL))
            continue;
        (void)fprintf(file, "            %s) words='", cli_verbs[k]->name);
        (void)print_operands(cli_verbs[k]->operands, file);
        (void)fputs("' ;;\n", file);
    }
    (void)fputs("        esac\n    fi\n"
                "    if [ -z \"$words\" ]; then\n"
                "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
                "        return\n"
                "    fi\n"
                "    mapfile -t COMPREPLY < "
                "<(compgen -W \"$words\" -- \"$word\")\n"
                "}\n"
                "complete -o filenames -F _skein skein\n",
                file);
}

static void
print_zsh(FILE *file)
{
    (void)fputs("#compdef skein\n_skein() {\n"
                "    local -a verbs\n    verbs=(\n",
                file);
    for (size_t k = 0; cli_verbs[k]; k++) {
        char line[256];
        (void)snprintf(line, sizeof(line), "%s:%s", cli_verbs[k]->name,
                       cli_verbs[k]->help);
        (void)fputs("        ", file);
        print_quoted(line, "'\\''", file);
        (void)fputc('\n', file);
    }
    (void)fputs("    )\n"
                "    if (( CURRENT == 2 )); then\n"
                "        _describe verb verbs\n        return\n    fi\n"
                "    case $words[2] in\n",
                file);
    for (size_t k = 0; cli_verbs[k]; k++) {
        (void)fprintf(file, "        %s) compadd -- ", cli_verbs[k]->name);
        print_options(cli_verbs[k], file);
        (void)fputs(" ;;\n", file);
    }
    (void)fputs("    esac\n    _files\n}\n"
                "if [ \"$funcstack[1]\" = _skein ]; then _skein \"$@\"\n"
                "else compdef _skein skein; fi\n",
                file);
}

static void
print_fish(FILE *file)
{
    for (size_t k = 0; cli_verbs[k]; k++) {
        const cli_verb_t *verb = cli_verbs[k];
        (void)fprintf(file,
                      "complete -c skein -n __fish_use_subcommand -f -a %s -d ",
                      verb->name);
        print_quoted(verb->help, "\\'", file);
        (void)fputc('\n', file);
        for (const cli_option_t *option = verb->options; option->name;
             option++) {
            (void)fprintf(
                file,
                "complete -c skein -n '__fish_seen_subcommand_from %s' -l %s",
                verb->name, option->name);
            if (option->letter)
                (void)fprintf(file, " -s %c", option->letter);
            (void)fprintf(file, "%s -d ", option->argument ? " -r" : "");
            print_quoted(option->help, "\\'", file);
            (void)fputc('\n', file);
        }
    }
}

static int
completion_run(const cli_call_t *call)
{
    const char *shell = call->operands[0];
    skn_error_t error = { 0 };
    if (strcmp(shell, "bash") == 0) {
        print_bash(stdout);
    } else if (strcmp(shell, "zsh") == 0) {
        print_zsh(stdout);
    } else if (strcmp(shell, "fish") == 0) {
        print_fish(stdout);
    } else {
        (void)skn_fail(&error, SKN_USAGE, "no completion for '%s'", shell);
        (void)skn_fail_hint(&error, SKN_USAGE, "available: bash, zsh, fish");
        return cli_report(call, &error);
    }
    return 0;
}

static const cli_option_t options[] = {
    CLI_DOCUMENT_OPTIONS,
    { 0 },
};

const cli_verb_t cli_completion = {
    .name = "completion",
    .help = "print the completion script of a shell",
    .operands = "bash|zsh|fish",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description = "Put one of these lines into the startup file of your "
                   "shell:\n"
                   "    source <(skein completion bash)\n"
                   "    source <(skein completion zsh)\n"
                   "    skein completion fish | source",
    .run = completion_run,
};
