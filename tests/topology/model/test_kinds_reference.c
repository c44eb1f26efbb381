/* test_kinds_reference.c - tests kinds of actors, printed as text and as JSON.
 *
 * Covers actors/protocol/messages.c, too.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/model/kinds_reference.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static char *
text_of(const skn_kind_t *kind, bool fields)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    skn_kind_print(kind, fields, file);
    (void)fclose(file);
    return text;
}

static const skn_kind_t *
kind_named(const char *name)
{
    const char *nearest = NULL;
    const skn_kind_t *kind = skn_kinds_find(name, &nearest);
    cr_assert(kind, "%s", name);
    return kind;
}

Test(kinds_reference, kinds_are_found_by_name)
{
    const char *nearest = NULL;
    cr_expect_str_eq(kind_named("source")->name, "source");
    cr_expect_null(skn_kinds_find("sorce", &nearest));
    cr_expect_str_eq(nearest, "source");
    cr_expect_null(skn_kinds_find("zzzzzzzzzzzz", &nearest));
    cr_expect_null(nearest);
}

Test(kinds_reference, a_kind_says_options_and_messages)
{
    char *text = text_of(kind_named("source"), false);
    cr_expect(strstr(text, "source - keeps up to `window` batches in flight"),
              "%s", text);
    cr_expect(strstr(text, "    window           whole number, 1 to 127; "
                           "default 1\n"),
              "%s", text);
    cr_expect(strstr(text, "    train            path; required\n"), "%s",
              text);
    cr_expect(strstr(text, "  handles\n    go "), "%s", text);
    cr_expect(strstr(text, "  sends\n    issue "), "%s", text);
    cr_expect_null(strstr(text, "distinct_offset"));
    free(text);
    text = text_of(kind_named("source"), true);
    cr_expect(strstr(text, "      distinct_offset  u32s  "), "%s", text);
    free(text);
}

Test(kinds_reference, every_kind_is_one_line_of_json)
{
    const skn_kind_t *const *kinds = skn_kinds_list();
    for (size_t k = 0; kinds[k]; k++) {
        char *text = NULL;
        size_t bytes = 0, options = 0;
        FILE *file = open_memstream(&text, &bytes);
        skn_kind_print_json(kinds[k], file);
        (void)fclose(file);
        cr_expect_eq(strchr(text, '\n'), text + bytes - 1);
        json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        cr_assert(object, "%s", text);
        cr_expect_str_eq(json_string_value(json_object_get(object, "kind")),
                         kinds[k]->name);
        while (kinds[k]->options && kinds[k]->options[options].name)
            options++;
        cr_expect_eq(json_array_size(json_object_get(object, "options")),
                     options);
        json_decref(object);
        free(text);
    }
}

Test(kinds_reference, the_messages_are_documented)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    skn_messages_reference(file);
    (void)fclose(file);
    cr_expect_eq(strncmp(text, "# Messages\n", 11), 0);
    cr_expect(strstr(text, "\n## output_gradient\n\nId 6: "), "%s", text);
    free(text);
}
