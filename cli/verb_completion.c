/* verb_completion.c - skein completion: prints completion scripts for shells.
 *
 * Verbs, options, keys of -o and kinds of actors come from the same tables that
 * parse them; other operands are completed as files.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/base/verbs.h"
#include "topology/model/kinds_reference.h"
#include "topology/model/model_tables.h"

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

#define SMALL "abcdefghijklmnopqrstuvwxyz"

/* Prints the words that the first operand may be, as the verb's synopsis has
 * them: KIND is a kind of actor, VERB a verb, and "bash|zsh|fish" one of these.
 * Returns whether there are any; `file` may be NULL. */
static bool
print_operands(const char *synopsis, FILE *file)
{
    const skn_kind_t *const *kinds = skn_kinds_list();
    const char *at = synopsis + strspn(synopsis, "[");
    size_t bytes = strspn(at, SMALL);
    bool has_kinds = strncmp(at, "KIND", 4) == 0;
    bool has_verbs = strncmp(at, "VERB", 4) == 0;
    if (!file)
        return has_kinds || has_verbs || bytes > 0;
    for (size_t k = 0; has_kinds && kinds[k]; k++)
        (void)fprintf(file, "%s%s", k ? " " : "", kinds[k]->name);
    if (has_verbs)
        print_names(file);
    for (const char *word = at; bytes > 0; bytes = strspn(word, SMALL)) {
        (void)fprintf(file, "%s%.*s", word == at ? "" : " ", (int)bytes, word);
        word += bytes;
        word += strspn(word, " |");
    }
    return true;
}

/* Prints "data.train= data.test= ...": layers by the names that the examples
 * use, and no nodes. */
static void
print_keys(const skn_section_t *section, const char *path, FILE *file)
{
    char inner[128];
    for (const skn_option_t *option = section->options; option->name; option++)
        if (path[0])
            (void)fprintf(file, "%s.%s= ", path, option->name);
    for (const skn_part_t *part = section->parts; part->name; part++) {
        (void)snprintf(inner, sizeof(inner), "%s%s%s", path, path[0] ? "." : "",
                       part->name);
        if (part->form == SKN_FORM_MAPPING) {
            print_keys(part->section, inner, file);
        } else if (part->form == SKN_FORM_LAYERS) {
            print_keys(&skn_hidden_section, "model.layers.hidden", file);
            print_keys(&skn_output_section, "model.layers.output", file);
        } else {
            (void)fprintf(file, "%s= ", inner);
        }
    }
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
    print_keys(&skn_model_section, "", file);
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
