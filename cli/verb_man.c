/* verb_man.c - skein man: prints the manual pages as man(7) source.
 *
 * They come from the same tables that parse the options, as --help does.
 * SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <string.h>

#include "cli/base/verbs.h"
#include "formats/text/system_error.h"
#include "skein/limits.h"
#include "skein/version.h"

/* Prints text as roff: dashes remain dashes, and no line begins with a
 * request. */
static void
put(const char *text, FILE *file)
{
    bool starts_line = true;
    for (; *text; text++) {
        if (starts_line && (*text == '.' || *text == '\''))
            (void)fputs("\\&", file);
        if (*text == '-' || *text == '\\')
            (void)fprintf(file, "\\%c", *text == '\\' ? 'e' : '-');
        else
            (void)fputc(*text, file);
        starts_line = *text == '\n';
    }
}

static void
put_section(const char *name, FILE *file)
{
    (void)fprintf(file, ".SH %s\n", name);
}

static void
put_head(const char *name, const char *help, FILE *file)
{
    (void)fprintf(file, ".TH \"");
    for (const char *at = name; *at; at++)
        (void)fputc(*at >= 'a' && *at <= 'z' ? *at - 32 : *at, file);
    (void)fputs("\" 1 \"\" \"Skein " SKN_VERSION_TEXT "\" \"Skein\"\n", file);
    put_section("NAME", file);
    put(name, file);
    (void)fputs(" \\- ", file);
    put(help, file);
    (void)fputc('\n', file);
}

static void
put_option(const cli_option_t *option, FILE *file)
{
    (void)fputs(".TP\n", file);
    if (option->letter)
        (void)fprintf(file, "\\fB\\-%c\\fR, ", option->letter);
    (void)fputs("\\fB\\-\\-", file);
    put(option->name, file);
    (void)fputs("\\fR", file);
    if (option->argument) {
        (void)fputs(" \\fI", file);
        put(option->argument, file);
        (void)fputs("\\fR", file);
    }
    (void)fputc('\n', file);
    put(option->help, file);
    (void)fputc('\n', file);
}

/* `verb` is NULL for skein(1). */
static void
put_exit_codes(const cli_verb_t *verb, FILE *file)
{
    put_section("EXIT STATUS", file);
    for (int status = 0; status < SKN_STATUS_COUNT; status++) {
        if (status == SKN_TOO_SMALL)
            continue; /* only callers of the library see it */
        (void)fprintf(file, ".TP\n%d\n",
                      skn_status_exit_code((skn_status_t)status));
        put(skn_status_text((skn_status_t)status), file);
        (void)fputc('\n', file);
    }
    (void)fputs(".TP\n130\nended by a second Ctrl-C\n", file);
    if (!verb || cli_has_option(verb, "requeue-code"))
        (void)fputs(".TP\n"
                    "N of \\fB\\-\\-requeue\\-code\\fR\n"
                    "stopped, or asked to leave, before the run was over\n",
                    file);
}

static void
print_verb(const cli_verb_t *verb, FILE *file)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "skein-%s", verb->name);
    put_head(name, verb->help, file);
    put_section("SYNOPSIS", file);
    (void)fprintf(file, "\\fBskein %s\\fR [\\fIoptions\\fR] ", verb->name);
    put(verb->operands, file);
    (void)fputc('\n', file);
    if (verb->description) {
        put_section("DESCRIPTION", file);
        (void)fputs(".nf\n", file); /* lines are already broken for terminals */
        put(verb->description, file);
        (void)fputs("\n.fi\n", file);
    }
    put_section("OPTIONS", file);
    for (const cli_option_t *option = verb->options; option->name; option++)
        put_option(option, file);
    put_exit_codes(verb, file);
    put_section("SEE ALSO", file);
    (void)fputs(".BR skein (1)\n", file);
}

static void
print_all(FILE *file)
{
    put_head("skein", "trains networks with enormous output layers, as actors",
             file);
    put_section("SYNOPSIS", file);
    (void)fputs("\\fBskein\\fR \\fIverb\\fR [\\fIoptions\\fR] ...\n", file);
    put_section("VERBS", file);
    for (size_t k = 0; cli_verbs[k]; k++) {
        (void)fprintf(file, ".TP\n.BR skein\\-%s (1)\n", cli_verbs[k]->name);
        put(cli_verbs[k]->help, file);
        (void)fputc('\n', file);
    }
    put_exit_codes(NULL, file);
    put_section("ENVIRONMENT", file);
    (void)fputs(".TP\n"
                ".B SKEIN_ISA\n"
                "forces a lower instruction set: scalar, avx2, avx512, "
                "avx512_bf16\n"
                ".TP\n"
                ".B NO_COLOR\n"
                "no color in the progress bar\n",
                file);
}

/* Writes one page, FOLDER/skein-VERB.1; verb NULL: FOLDER/skein.1. */
static skn_status_t
write_page(const char *folder, const cli_verb_t *verb, skn_error_t *error)
{
    char path[SKN_TEXT_MAX];
    (void)snprintf(path, sizeof(path), "%.4000s/skein%s%s.1", folder,
                   verb ? "-" : "", verb ? verb->name : "");
    FILE *file = fopen(path, "we");
    if (!file)
        return skn_fail_code(error, SKN_CANNOT_CREATE, errno, NULL, "%.400s",
                             path);
    if (verb)
        print_verb(verb, file);
    else
        print_all(file);
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
        return skn_fail_code(error, SKN_STORAGE, errno, NULL, "%.400s", path);
    return SKN_OK;
}

static int
write_pages(const cli_call_t *call, const char *folder)
{
    skn_error_t error = { 0 };
    skn_status_t status = write_page(folder, NULL, &error);
    for (size_t k = 0; cli_verbs[k] && status == SKN_OK; k++)
        status = write_page(folder, cli_verbs[k], &error);
    return status == SKN_OK ? 0 : cli_report(call, &error);
}

static int
man_run(const cli_call_t *call)
{
    if (cli_value(call, "write"))
        return write_pages(call, cli_value(call, "write"));
    if (call->operand_count == 0) {
        print_all(stdout);
        return 0;
    }
    for (size_t k = 0; cli_verbs[k]; k++)
        if (strcmp(cli_verbs[k]->name, call->operands[0]) == 0) {
            print_verb(cli_verbs[k], stdout);
            return 0;
        }
    skn_error_t error = { 0 };
    (void)skn_fail(&error, SKN_USAGE, "unknown verb '%s'", call->operands[0]);
    (void)skn_fail_hint(&error, SKN_USAGE, "skein --help lists the verbs");
    return cli_report(call, &error);
}

static const cli_option_t options[] = {
    { "write", 0, "FOLDER", "write the pages of all verbs into a folder" },
    CLI_DOCUMENT_OPTIONS,
    { 0 },
};

const cli_verb_t cli_man = {
    .name = "man",
    .help = "print the manual page of a verb",
    .operands = "[VERB]",
    .operands_min = 0,
    .operands_max = 1,
    .options = options,
    .description = "Prints a page in the language of man(7):\n"
                   "    skein man train | man -l -",
    .run = man_run,
};
