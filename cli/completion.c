/* completion.c - skein completion: what a shell may complete.
 *
 * Verbs and options come from the tables that they are read with; operands
 * are completed as files.  SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/verbs.h"

static void
print_names(FILE *file)
{
    for (size_t k = 0; cli_verbs[k]; k++)
        (void)fprintf(file, "%s%s", k ? " " : "", cli_verbs[k]->name);
}

static void
print_options(const cli_verb_t *verb, FILE *file)
{
    for (const cli_option_t *option = verb->options; option->name; option++)
        (void)fprintf(file, "%s--%s", option == verb->options ? "" : " ",
                      option->name);
}

/* Text between single quotes of a shell, or of fish. */
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
                "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
                "        words='",
                file);
    print_names(file);
    (void)fputs("'\n    elif [[ $word == -* ]]; then\n"
                "        case ${COMP_WORDS[1]} in\n",
                file);
    for (size_t k = 0; cli_verbs[k]; k++) {
        (void)fprintf(file, "            %s) words='", cli_verbs[k]->name);
        print_options(cli_verbs[k], file);
        (void)fputs("' ;;\n", file);
    }
    (void)fputs("        esac\n"
                "    else\n"
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
        (void)skn_fail_hint(&error, SKN_USAGE, "there are: bash, zsh, fish");
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
    .help = "print a script with which a shell completes skein",
    .operands = "bash|zsh|fish",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description = "Put one of these into the start file of your shell:\n"
                   "    source <(skein completion bash)\n"
                   "    source <(skein completion zsh)\n"
                   "    skein completion fish | source",
    .run = completion_run,
};
