/* spec_checks.h - helpers of the tests of specs: load a text, or read the
 * errors in it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SPEC_CHECKS_H
#define TESTS_SUPPORT_SPEC_CHECKS_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/word_kinds.h"
#include "topology/spec/spec.h"

/* A topology around lists of actors and pipes; the first actor is in line 5. */
#define TOPOLOGY(actors, pipes)                                                \
    "skein: 1\ntopology:\n  name: t\n  actors:\n" actors "  pipes:\n" pipes

static inline skn_spec_t *
load(const char *text, skn_problems_t *problems)
{
    skn_document_t *document =
        skn_document_parse(text, strlen(text), "t.yaml", problems);
    cr_assert_not_null(document, "%s\n%s", text,
                       skn_problems_text(problems, 0));
    skn_spec_t *spec = skn_spec_load(&document, word_kinds, problems);
    cr_expect_null(document);
    cr_expect_eq(spec == NULL, skn_problems_count(problems) > 0);
    return spec;
}

static inline skn_spec_t *
load_good(const char *text)
{
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_spec_t *spec = load(text, problems);
    if (!spec)
        skn_problems_print(problems, stderr);
    cr_assert_not_null(spec, "%s\n%s", text, skn_problems_text(problems, 0));
    skn_problems_destroy(&problems);
    return spec;
}

/* All problems, one a line, with their hints. */
static inline void
expect_problems(const char *text, const char *want)
{
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_spec_t *spec = load(text, problems);
    char got[8192] = "";
    size_t used = 0;
    for (size_t k = 0; skn_problems_text(problems, k); k++) {
        const char *hint = skn_problems_hint_text(problems, k);
        used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%s%s%s",
                                 k ? "\n" : "", skn_problems_text(problems, k),
                                 hint[0] ? "; " : "", hint);
    }
    cr_expect_str_eq(got, want, "%s\ngives\n%s\nnot\n%s", text, got, want);
    skn_spec_destroy(&spec);
    skn_problems_destroy(&problems);
}

#endif
