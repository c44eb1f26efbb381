/* model_fixture.h - writes model files of a few lines, for the tests of the
 * model.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_MODEL_FIXTURE_H
#define TESTS_SUPPORT_MODEL_FIXTURE_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "topology/config/document.h"
#include "topology/model/model.h"

/* The shortest model file; what a test looks at is set with overrides. */
#define FIXTURE                                                                \
    "skein: 1\n"                                                               \
    "data: { train: t }\n"                                                     \
    "model:\n"                                                                 \
    "  layers:\n"                                                              \
    "    - { name: hidden }\n"                                                 \
    "    - { name: output }\n"

/* Reads `text` as file "m.yaml"; NULL and all problems in *said ("text; hint"
 * a line, without excerpts) when it is refused. The caller destroys the model
 * and frees *said. */
static inline skn_model_t *
fixture_read(const char *text, char **said)
{
    skn_error_t error = { 0 };
    skn_model_t *model = NULL;
    size_t said_bytes = 0;
    skn_problems_t *problems = skn_problems_new(&error);
    cr_assert(problems);
    FILE *file = open_memstream(said, &said_bytes);
    cr_assert(file);
    skn_document_t *document =
        skn_document_parse(text, strlen(text), "m.yaml", problems);
    if (document) {
        skn_status_t status =
            skn_model_check(document, &model, problems, &error);
        cr_expect((status == SKN_OK) == (model != NULL));
        cr_expect(status == SKN_OK || status == SKN_BAD_CONFIG);
    }
    for (size_t k = 0; skn_problems_text(problems, k); k++)
        (void)fprintf(file, "%s%s%s\n", skn_problems_text(problems, k),
                      skn_problems_hint_text(problems, k)[0] ? "; " : "",
                      skn_problems_hint_text(problems, k));
    cr_expect((model == NULL) == (skn_problems_count(problems) > 0));
    cr_assert(fclose(file) == 0);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
    return model;
}

/* A model that must be good. */
static inline skn_model_t *
fixture_good(const char *text)
{
    char *said = NULL;
    skn_model_t *model = fixture_read(text, &said);
    cr_assert(model, "%s\nis refused: %s", text, said);
    free(said);
    return model;
}

/* A model that must be refused with exactly the lines `want`. */
static inline void
fixture_refused(const char *text, const char *want)
{
    char *said = NULL;
    skn_model_t *model = fixture_read(text, &said);
    cr_expect_null(model);
    cr_expect_str_eq(said, want, "%s\nsays:\n%swanted:\n%s", text, said, want);
    free(said);
    skn_model_destroy(&model);
}

#endif
