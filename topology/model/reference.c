/* reference.c - prints the reference of the model file as Markdown.
 *
 * Walks the tables of model_tables.c; docs/reference/config.md is its output.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/model/reference.h"

#include <errno.h>
#include <string.h>

#include "formats/folder/folder.h"
#include "topology/model/model_rules.h"
#include "topology/model/model_tables.h"

static const char introduction[] =
    "# The model file\n\n"
    "A model file says what to train, and how, in YAML. Unknown and repeated\n"
    "keys, wrong types and values out of range are refused, all in one pass,\n"
    "with their line and column. `auto` is decided by the plan, from the data\n"
    "(and, for cores and memory, from the machine); `skein plan FILE` prints\n"
    "what it became. Sizes are numbers of bytes, or have a unit: KiB, MiB,\n"
    "GiB, TiB.\n\n"
    "`-o train.window=2` on the command line replaces one value; if a key is\n"
    "given twice, the last value counts. Layers and nodes are addressed by\n"
    "name: `-o model.layers.hidden.units=256`, `-o nodes.a.cores=2`. A value\n"
    "is taken as the shell hands it over: `-o data.train='my #1: new.txt'`\n"
    "names a file of just that name. Only a value that is wholly in quotes,\n"
    "or begins with `[` or `{` where a list or mapping is expected, is read\n"
    "as YAML: `-o data.test='\"\"'` is an empty path,\n"
    "`-o 'resources.cores=[0, 2]'` a list.\n";

/* Prints the words of "a|b" as "`a`, `b`", for a cell of a table. */
static void
print_words(const char *choices, FILE *file)
{
    while (choices) {
        int bytes = (int)strcspn(choices, "|");
        (void)fprintf(file, "`%.*s`", bytes, choices);
        choices = choices[bytes] ? choices + bytes + 1 : NULL;
        if (choices)
            (void)fputs(", ", file);
    }
}

static const char *
type_text(const skn_option_t *option, skn_slot_kind_t slot_kind)
{
    if (slot_kind == SKN_SLOT_SIZE)
        return "size";
    switch (option->type) {
    case SKN_OPTION_BOOL:
        return "truth";
    case SKN_OPTION_INT:
        return "whole number";
    case SKN_OPTION_REAL:
        return "number";
    case SKN_OPTION_TEXT:
        return "text";
    case SKN_OPTION_PATH:
        return "path";
    case SKN_OPTION_CHOICE:
        return "word";
    }
    return "";
}

static void
print_range(const skn_option_t *option, FILE *file)
{
    bool is_number =
        option->type == SKN_OPTION_INT || option->type == SKN_OPTION_REAL;
    if (option->type == SKN_OPTION_BOOL)
        (void)fputs("`true`, `false`", file);
    if (option->choices)
        print_words(option->choices, file);
    if (is_number && option->choices)
        (void)fputs(", ", file);
    if (is_number && option->max >= (double)INT64_MAX)
        (void)skn_text_print(file, "at least %.16g", option->min);
    else if (is_number)
        (void)skn_text_print(file, "%.16g to %.16g", option->min, option->max);
}

/* Keys that are for decoders alone say so themselves. */
static void
print_option(const skn_section_t *section, const skn_option_t *option,
             skn_slot_kind_t slot_kind, FILE *file)
{
    bool suits_both = skn_rules_suit(SKN_MODEL_DECODER, section, option->name);
    (void)fprintf(file, "| `%s` | %s | ", option->name,
                  type_text(option, slot_kind));
    print_range(option, file);
    if (!option->fallback)
        (void)fputs(" | required", file);
    else if (option->fallback[0] == '\0')
        (void)fputs(" | empty", file);
    else
        (void)fprintf(file, " | `%s`", option->fallback);
    (void)fprintf(file, " | %s%s |\n",
                  suits_both ? "" : "layers: ", option->help);
}

static void
print_part(const skn_part_t *part, FILE *file)
{
    static const char *const types[] = {
        [SKN_FORM_MAPPING] = "mapping",
        [SKN_FORM_LAYERS] = "list of mappings, or number",
        [SKN_FORM_PATHS] = "list of paths",
        [SKN_FORM_CORES] = "number, range or list",
        [SKN_FORM_NODES] = "list of mappings",
    };
    (void)fprintf(file, "| `%s` | %s | | %s | %s |\n", part->name,
                  types[part->form],
                  skn_part_is_required(part)       ? "required"
                  : part->form == SKN_FORM_CORES   ? "`auto`"
                  : part->form == SKN_FORM_MAPPING ? "all defaults"
                                                   : "none",
                  part->help);
}

static void
print_section(const skn_section_t *section, FILE *file)
{
    if (section->path[0])
        (void)fprintf(file, "\n## `%s`\n", section->path);
    else
        (void)fputs("\n## The whole file\n", file);
    (void)fprintf(file,
                  "\n%s\n\n| Key | Type | Range | Default | Meaning |\n"
                  "|---|---|---|---|---|\n",
                  section->help);
    for (size_t k = 0; section->options[k].name; k++)
        print_option(section, &section->options[k], section->slots[k].kind,
                     file);
    for (const skn_part_t *part = section->parts; part->name; part++)
        print_part(part, file);
    for (const skn_part_t *part = section->parts; part->name; part++) {
        if (part->form == SKN_FORM_LAYERS) {
            print_section(&skn_hidden_section, file);
            print_section(&skn_output_section, file);
        } else if (section == &skn_head_section) {
            (void)fprintf(file, "\n## `%s.%s`\n\nThe same keys as in `%s`.\n",
                          section->path, part->name, part->section->path);
        } else if (part->section) {
            print_section(part->section, file);
        }
    }
}

skn_status_t
skn_model_reference_print(FILE *file, skn_error_t *error)
{
    (void)fputs(introduction, file);
    print_section(&skn_model_section, file);
    return skn_file_finish(file, "writing the reference", error);
}
