/* help.c - prints help texts from the tables of verbs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/help.h"

#include <string.h>

void
cli_help_verbs(FILE *file)
{
    (void)fputs("skein - trains networks with enormous output layers, as "
                "actors\n\nusage: skein VERB [options]\n\n",
                file);
    for (size_t k = 0; cli_verbs[k]; k++)
        (void)fprintf(file, "  %-12s %s\n", cli_verbs[k]->name,
                      cli_verbs[k]->help);
    (void)fputs(
        "\n"
        "`skein help VERB`, or `skein VERB --help`, describes one verb.\n",
        file);
}

void
cli_help_verb(const cli_verb_t *verb, FILE *file)
{
    (void)fprintf(file, "skein %s - %s\n\nusage: skein %s [options]%s%s\n\n",
                  verb->name, verb->help, verb->name,
                  verb->operands[0] ? " " : "", verb->operands);
    if (verb->description)
        (void)fprintf(file, "%s\n\n", verb->description);
    (void)fputs("options:\n", file);
    for (const cli_option_t *option = verb->options; option->name; option++) {
        char left[64], letter[8] = "    ";
        if (option->letter)
            (void)snprintf(letter, sizeof(letter), "-%c, ", option->letter);
        (void)snprintf(left, sizeof(left), "%s--%s%s%s", letter, option->name,
                       option->argument ? " " : "",
                       option->argument ? option->argument : "");
        (void)fprintf(file, "  %-26s %s\n", left, option->help);
    }
}
