/* test_doctor_examine.c - tests what `skein doctor` reads, and that it finishes
 * its checks.
 *
 * Covers cli/doctor/doctor_libraries.c too.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor_examine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor_libraries.h"

static void
expect_word(const char *line, const char *want)
{
    char word[16];
    cli_auto_report_word(line, word, sizeof(word));
    cr_expect_str_eq(word, want, "of '%s': '%s'", line, word);
}

Test(doctor_look, the_chosen_word_stands_in_brackets)
{
    expect_word("always [madvise] never", "madvise");
    expect_word("[always] madvise never", "always");
    expect_word("always madvise [never]", "never");
    expect_word("", "");
    expect_word("no brackets", "");
    expect_word("[open", "");
    expect_word("[]", "");
    expect_word("[a word longer than the room]", "a word longer t");
}

Test(doctor_look, every_finding_says_what_was_found)
{
    static cli_finding_t findings[CLI_FINDINGS_MAX];
    size_t count = cli_examine("", findings);
    cr_assert_gt(count, 10);
    cr_assert_leq(count, CLI_FINDINGS_MAX);
    for (size_t k = 0; k < count; k++) {
        cr_expect_neq(findings[k].found[0], '\0', "%s", findings[k].name);
        cr_expect_eq(findings[k].fix[0] == '\0', findings[k].health == CLI_FINE,
                     "%s", findings[k].name);
    }
}

static const cli_finding_t *
finding_of(const cli_finding_t *findings, size_t count, const char *name)
{
    for (size_t k = 0; k < count; k++)
        if (strcmp(findings[k].name, name) == 0)
            return &findings[k];
    return NULL;
}

Test(doctor_look, kernels_that_cannot_run_are_broken)
{
    static cli_finding_t findings[CLI_FINDINGS_MAX];
    cr_assert_eq(setenv("SKEIN_ISA", "mmx", 1), 0);
    size_t count = cli_examine("", findings);
    const cli_finding_t *kernels = finding_of(findings, count, "kernels");
    cr_assert(kernels);
    cr_expect_eq(kernels->health, CLI_BROKEN);
    cr_expect_str_eq(kernels->found,
                     "SKEIN_ISA=mmx: this processor or this build lacks it");
    cr_expect_str_eq(kernels->fix, "unset SKEIN_ISA");
}

Test(doctor_look, scalar_kernels_cost_speed)
{
    static cli_finding_t findings[CLI_FINDINGS_MAX];
    cr_assert_eq(setenv("SKEIN_ISA", "scalar", 1), 0);
    size_t count = cli_examine("", findings);
    const cli_finding_t *kernels = finding_of(findings, count, "kernels");
    cr_assert(kernels);
    cr_expect_eq(kernels->health, CLI_SLOW);
}

Test(doctor_look, every_library_has_a_version)
{
    cli_library_t libraries[CLI_LIBRARIES_MAX];
    size_t count = cli_libraries(libraries);
    cr_assert_leq(count, CLI_LIBRARIES_MAX);
    cr_expect_str_eq(libraries[0].name, "libzmq");
    for (size_t k = 0; k < count; k++)
        cr_expect(strchr("0123456789", libraries[k].version[0]) &&
                      libraries[k].version[0],
                  "%s: '%s'", libraries[k].name, libraries[k].version);
    cr_expect_neq(cli_compiler()[0], '\0');
}
