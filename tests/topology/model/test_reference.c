/* test_reference.c - tests that the printed reference agrees with the tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "topology/model/model_tables.h"
#include "topology/model/reference.h"

/* The whole output; the caller frees it. */
static char *
print_reference(void)
{
    char *text = NULL;
    size_t text_bytes = 0;
    skn_error_t error = { 0 };
    FILE *file = open_memstream(&text, &text_bytes);
    cr_assert(file);
    cr_assert(skn_model_reference_print(file, &error) == SKN_OK, "%s",
              error.text);
    cr_assert(fclose(file) == 0);
    return text;
}

static void
expect_line(const char *text, const char *line)
{
    const char *at = strstr(text, line);
    cr_expect(at && at[strlen(line)] == '\n', "missing: %s", line);
}

Test(reference, a_line_has_key_type_range_default_and_meaning)
{
    char *text = print_reference();
    expect_line(text, "| `seed` | whole number | 0 to 9007199254740992 | `1` | "
                      "seed of all random numbers |");
    expect_line(
        text,
        "| `window` | whole number | `auto`, 1 to 64 | `auto` | "
        "layers: batches that a shard may compute ahead of its updates, the "
        "current one included: staleness is never more; at most 2 x window - "
        "1 batches are in flight |");
    expect_line(text, "| `train` | path |  | required | training file, plain "
                      "or compressed (.gz, .zst): rows of texts and labels, "
                      "or numbered features; for a decoder: text; or a "
                      "folder, a pattern such as data/*.csv, or a list of "
                      "these |");
    expect_line(text, "| `test` | path |  | empty | test file, for evaluation "
                      "only, in any of the formats, or several as of train; a "
                      "number: the share of the training file, as held_back; "
                      "empty: none |");
    expect_line(text, "| `huge_pages` | truth | `true`, `false` | `true` | ask "
                      "for 2 MiB pages for the weights |");
    expect_line(text, "| `epsilon` | number | 1e-30 to 1 | `1e-8` | adam, "
                      "adagrad: added to the root of the second moment |");
    expect_line(
        text,
        "| `layers` | list of mappings, or number | | required | the "
        "layers, from the input to the labels; each has a name of its own; "
        "of a decoder: their number |");
    expect_line(text, "| `plugins` | list of paths | | none | shared libraries "
                      "that provide further kinds of actors |");
    expect_line(text, "| `sampler` | mapping | | all defaults | how the rows "
                      "of a batch are chosen |");
    free(text);
}

static void
expect_section(const char *text, const skn_section_t *section)
{
    char heading[128];
    (void)snprintf(heading, sizeof(heading), "\n## `%s`", section->path);
    const char *at = section->path[0] ? strstr(text, heading)
                                      : strstr(text, "\n## The whole file");
    cr_assert(at, "%s", section->path);
    const char *end = strstr(at + 1, "\n## ");
    size_t bytes = end ? (size_t)(end - at) : strlen(at);
    for (const skn_option_t *o = section->options; o->name; o++) {
        char cell[80];
        (void)snprintf(cell, sizeof(cell), "\n| `%s` | ", o->name);
        const char *line = strstr(at, cell);
        cr_expect(line && (size_t)(line - at) < bytes, "%s.%s", section->path,
                  o->name);
    }
    for (const skn_part_t *part = section->parts; part->name; part++) {
        if (part->form == SKN_FORM_LAYERS) {
            expect_section(text, &skn_hidden_section);
            expect_section(text, &skn_output_section);
        } else if (part->section) {
            expect_section(text, part->section);
        }
    }
}

Test(reference, every_key_stands_in_its_section)
{
    char *text = print_reference();
    expect_section(text, &skn_model_section);
    free(text);
}

Test(reference, every_row_of_a_table_has_five_cells)
{
    char *text = print_reference();
    for (const char *line = text; *line;) {
        int bytes = (int)strcspn(line, "\n"), bars = 0;
        for (int k = 0; k < bytes; k++)
            bars += line[k] == '|';
        cr_expect(line[0] == '|' ? bars == 6 : bars == 0, "%.*s", bytes, line);
        line += bytes + 1;
    }
    free(text);
}

Test(reference, it_is_the_same_every_time)
{
    char *first = print_reference(), *second = print_reference();
    cr_expect_str_eq(first, second);
    free(first);
    free(second);
}

Test(reference, a_full_disk_is_reported)
{
    skn_error_t error = { 0 };
    FILE *file = fopen("/dev/full", "w");
    cr_assert(file);
    cr_expect(skn_model_reference_print(file, &error) == SKN_STORAGE);
    cr_expect_str_eq(error.text,
                     "writing the reference: No space left on device");
    (void)fclose(file);
}
