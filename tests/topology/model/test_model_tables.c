/* test_model_tables.c - tests that the tables of the model file are consistent.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/kinds.h"
#include "topology/model/model.h"
#include "topology/model/model_tables.h"
#include "topology/config/values.h"

#define SECTIONS_MAX 32

static const skn_section_t *sections[SECTIONS_MAX];
static size_t section_count;

static void
collect(const skn_section_t *section)
{
    cr_assert(section_count < SECTIONS_MAX);
    sections[section_count++] = section;
    for (const skn_part_t *part = section->parts; part->name; part++) {
        if (part->form == SKN_FORM_LAYERS) {
            collect(&skn_hidden_section);
            collect(&skn_output_section);
        } else if (part->section) {
            collect(part->section);
        }
    }
}

static void
collect_all(void)
{
    section_count = 0;
    collect(&skn_model_section);
}

TestSuite(model_tables, .init = collect_all);

static bool
is_key(const char *name)
{
    if (!islower((unsigned char)*name))
        return false;
    for (; *name; name++)
        if (!islower((unsigned char)*name) && !isdigit((unsigned char)*name) &&
            *name != '_')
            return false;
    return true;
}

/* A cell of a Markdown table and a JSON text: plain ASCII, no bars. */
static bool
is_sentence(const char *help)
{
    size_t count = strlen(help);
    for (size_t k = 0; k < count; k++)
        if (help[k] < ' ' || help[k] > '~' || help[k] == '|' ||
            (help[k] == ' ' && help[k + 1] == ' '))
            return false;
    return count > 8 && help[count - 1] != ' ';
}

Test(model_tables, there_are_nineteen_sections)
{
    cr_expect(section_count == 19, "%zu", section_count);
}

Test(model_tables, every_key_is_lower_case_and_explained)
{
    for (size_t s = 0; s < section_count; s++) {
        cr_expect(is_sentence(sections[s]->help), "%s", sections[s]->path);
        for (const skn_option_t *o = sections[s]->options; o->name; o++) {
            cr_expect(is_key(o->name), "%s", o->name);
            cr_expect(is_sentence(o->help), "%s: %s", o->name, o->help);
        }
        for (const skn_part_t *p = sections[s]->parts; p->name; p++) {
            cr_expect(is_key(p->name), "%s", p->name);
            cr_expect(is_sentence(p->help), "%s: %s", p->name, p->help);
        }
    }
}

static size_t
count_key(const skn_section_t *section, const char *name)
{
    size_t count = 0;
    for (const skn_option_t *o = section->options; o->name; o++)
        count += strcmp(o->name, name) == 0;
    for (const skn_part_t *p = section->parts; p->name; p++)
        count += strcmp(p->name, name) == 0;
    return count;
}

Test(model_tables, no_section_has_a_key_twice)
{
    for (size_t s = 0; s < section_count; s++) {
        for (const skn_option_t *o = sections[s]->options; o->name; o++)
            cr_expect(count_key(sections[s], o->name) == 1, "%s", o->name);
        for (const skn_part_t *p = sections[s]->parts; p->name; p++)
            cr_expect(count_key(sections[s], p->name) == 1, "%s", p->name);
    }
}

Test(model_tables, every_default_fits_its_option)
{
    for (size_t s = 0; s < section_count; s++)
        for (const skn_option_t *o = sections[s]->options; o->name; o++) {
            skn_value_t value;
            char expected[256];
            cr_expect(!o->fallback ||
                          skn_value_parse(o, o->fallback, false, &value,
                                          expected, sizeof(expected)),
                      "%s.%s", sections[s]->path, o->name);
        }
}

Test(model_tables, auto_is_offered_where_it_is_the_default)
{
    for (size_t s = 0; s < section_count; s++)
        for (const skn_option_t *o = sections[s]->options; o->name; o++)
            if (o->fallback && strcmp(o->fallback, "auto") == 0)
                cr_expect(skn_option_takes_auto(o), "%s.%s", sections[s]->path,
                          o->name);
}

Test(model_tables, the_kind_of_a_slot_fits_the_type_of_its_option)
{
    for (size_t s = 1; s < section_count; s++)
        for (size_t k = 0; sections[s]->options[k].name; k++) {
            const skn_option_t *option = &sections[s]->options[k];
            static const skn_slot_kind_t kinds[] = {
                [SKN_OPTION_BOOL] = SKN_SLOT_BOOL,
                [SKN_OPTION_INT] = SKN_SLOT_INT,
                [SKN_OPTION_REAL] = SKN_SLOT_REAL,
                [SKN_OPTION_TEXT] = SKN_SLOT_TEXT,
                [SKN_OPTION_PATH] = SKN_SLOT_PATH,
                [SKN_OPTION_CHOICE] = SKN_SLOT_CHOICE,
            };
            skn_slot_kind_t kind = sections[s]->slots[k].kind;
            cr_expect(
                kind == kinds[option->type] ||
                    (kind == SKN_SLOT_SIZE && option->type == SKN_OPTION_INT),
                "%s.%s", sections[s]->path, option->name);
        }
}

/* Keys that a kind has, too, and that mean something else there. */
static bool
means_something_else(const skn_section_t *section, const char *name)
{
    static const char *const keys[][2] = {
        { "train.evaluate", "rows" },              /* points */
        { "model.layers.output.sampler", "rows" }, /* chosen for a batch */
        { "links", "rate" },                       /* bits a second */
    };
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
        if (strcmp(section->path, keys[k][0]) == 0 &&
            strcmp(name, keys[k][1]) == 0)
            return true;
    return false;
}

/* A value that a model file may have is refused by no actor that gets it: what
 * is wrong is told of the key, once, and not of seven updaters. */
Test(model_tables, actors_take_all_that_the_keys_of_their_name_may_be)
{
    size_t compared = 0;
    for (size_t s = 0; s < section_count; s++)
        for (const skn_option_t *key = sections[s]->options; key->name; key++) {
            bool is_number =
                key->type == SKN_OPTION_INT || key->type == SKN_OPTION_REAL;
            if (!is_number || means_something_else(sections[s], key->name))
                continue;
            for (size_t k = 0; skn_kinds[k]; k++) {
                const skn_option_t *option = skn_kinds[k]->options;
                for (; option && option->name; option++) {
                    if (strcmp(option->name, key->name) != 0 ||
                        option->type != key->type ||
                        (option->min == 0 && option->max == 0))
                        continue;
                    compared++;
                    cr_expect_leq(option->min, key->min, "%s of %s",
                                  option->name, skn_kinds[k]->name);
                    cr_expect_geq(option->max, key->max, "%s of %s",
                                  option->name, skn_kinds[k]->name);
                }
            }
        }
    cr_expect_gt(compared, 10u);
}

/* The k-th word of the choices of `key` is the name of the k-th constant. */
static void
expect_word(const skn_section_t *section, const char *key, int k,
            const char *word)
{
    const skn_option_t *option = section->options;
    while (strcmp(option->name, key) != 0)
        option++;
    const char *choices = option->choices;
    for (; k > 0; k--)
        choices = strchr(choices, '|') + 1;
    cr_expect(strncmp(choices, word, strlen(word)) == 0 &&
                  strchr("|", choices[strlen(word)]),
              "%s: %s", key, choices);
}

Test(model_tables, choices_stand_in_the_order_of_their_enum)
{
#define C(NAME, word) expect_word(section, key, SKN_##NAME, #word);
    const skn_section_t *section = &skn_output_section;
    const char *key = "loss";
    SKN_LOSSES(C)
    key = "weights";
    SKN_WEIGHTS(C)
    section = &skn_sampler_section;
    key = "kind";
    SKN_SAMPLERS(C)
#undef C
}

Test(model_tables, auto_is_the_first_constant_of_an_enum)
{
    cr_expect(SKN_LOSS_AUTO == 0 && SKN_SAMPLER_AUTO == 0 &&
              SKN_OPTIMIZER_AUTO == 0 && SKN_SCHEDULE_AUTO == 0);
}

Test(model_tables, data_and_model_are_required_and_nothing_else)
{
    for (const skn_part_t *p = skn_model_section.parts; p->name; p++)
        cr_expect(skn_part_is_required(p) == (strcmp(p->name, "data") == 0 ||
                                              strcmp(p->name, "model") == 0),
                  "%s", p->name);
}
