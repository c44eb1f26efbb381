/* test_references.c - tests the references that a host can print.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "skein/config.h"

static skn_error_t error;

/* The caller frees it; NULL: it is refused. */
static char *
printed(skn_reference_t reference, const char *kind)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    cr_assert(file);
    skn_status_t status = skn_reference_print(reference, kind, file, &error);
    cr_assert_eq(fclose(file), 0);
    if (status == SKN_OK)
        return text;
    free(text);
    return NULL;
}

Test(references, each_has_its_words)
{
    static const struct {
        skn_reference_t reference;
        const char *kind, *words;
    } wants[] = {
        { SKN_REFERENCE_CONFIG, NULL, "# The model file\n" },
        { SKN_REFERENCE_SCHEMA, NULL, "\"$schema\"" },
        { SKN_REFERENCE_KEYS, NULL, "\nmodel.layers.output.sampler.kind\n" },
        { SKN_REFERENCE_KEYS, NULL, "\nnodes\n" },
        { SKN_REFERENCE_MESSAGES, NULL, "# " },
        { SKN_REFERENCE_KINDS, NULL, "\nreader " },
        { SKN_REFERENCE_KINDS, "source", "source - " },
        { SKN_REFERENCE_KINDS_JSON, NULL, "\n{\"kind\":\"reader\"," },
        { SKN_REFERENCE_KINDS_JSON, "source", "{\"kind\":\"source\"," },
    };
    for (size_t k = 0; k < sizeof(wants) / sizeof(wants[0]); k++) {
        char *text = printed(wants[k].reference, wants[k].kind);
        cr_expect(text && strstr(text, wants[k].words), "%zu: %s", k,
                  text ? text : error.text);
        free(text);
    }
}

Test(references, an_unknown_kind_is_refused_with_the_nearest)
{
    cr_expect_null(printed(SKN_REFERENCE_KINDS, "sorce"));
    cr_expect_eq(error.status, SKN_USAGE);
    cr_expect_str_eq(error.hint, "did you mean 'source'?");
    cr_expect_null(printed(SKN_REFERENCE_KINDS_JSON, "zzzzzzzzzzzz"));
    cr_expect_str_eq(error.hint, "`skein actors` lists them");
    cr_expect_null(printed((skn_reference_t)99, NULL));
    cr_expect_eq(error.status, SKN_USAGE);
}

Test(references, a_full_disk_is_reported)
{
    for (int reference = SKN_REFERENCE_CONFIG;
         reference <= SKN_REFERENCE_KINDS_JSON; reference++) {
        FILE *full = fopen("/dev/full", "w");
        cr_assert(full);
        setbuf(full, NULL);
        cr_expect_eq(
            skn_reference_print((skn_reference_t)reference, NULL, full, &error),
            SKN_STORAGE, "%d", reference);
        (void)fclose(full);
    }
}
