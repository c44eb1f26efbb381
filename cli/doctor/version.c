/* version.c - skein version: prints the versions of Skein and its libraries.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor_libraries.h"
#include "cli/base/verbs.h"
#include "skein/version.h"

static void
print_json(const cli_library_t *libraries, size_t count)
{
    const char *used = cli_kernels_used();
    (void)fputs("{\"version\":\"" SKN_VERSION_TEXT "\",\"compiler\":", stdout);
    cli_json_string(cli_compiler(), stdout);
    (void)fputs(",\"kernels\":", stdout);
    cli_json_string(used ? used : "", stdout);
    (void)fputs(",\"kernels_built\":", stdout);
    cli_json_string(cli_kernels_built(), stdout);
    (void)fputs(",\"libraries\":{", stdout);
    for (size_t k = 0; k < count; k++) {
        (void)fputs(k ? "," : "", stdout);
        cli_json_string(libraries[k].name, stdout);
        (void)fputc(':', stdout);
        cli_json_string(libraries[k].version, stdout);
    }
    (void)fputs("}}\n", stdout);
}

static int
version_run(const cli_call_t *call)
{
    cli_library_t libraries[CLI_LIBRARIES_MAX];
    size_t count = cli_libraries(libraries);
    const char *used = cli_kernels_used();
    if (call->json) {
        print_json(libraries, count);
        return 0;
    }
    (void)printf("skein %s\n%-12s %s\n%-12s %s (of %s)\n", SKN_VERSION_TEXT,
                 "compiler", cli_compiler(), "kernels",
                 used ? used
                      : "none: SKEIN_ISA names no instruction set of "
                        "this build",
                 cli_kernels_built());
    for (size_t k = 0; k < count; k++)
        (void)printf("%-12s %s\n", libraries[k].name, libraries[k].version);
    return 0;
}

static const cli_option_t options[] = {
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_version = {
    .name = "version",
    .help = "print the version of skein and of its libraries",
    .operands = "",
    .operands_min = 0,
    .operands_max = 0,
    .options = options,
    .description = "Prints the version of skein, its compiler, the kernels\n"
                   "that this processor gets, and the versions of the\n"
                   "libraries that were loaded.",
    .run = version_run,
};
