/* model_slots.c - converts values between YAML text and the structs of a model.
 *
 * The reader fills slots, the writer prints them, and the rules check whether
 * one still has its default, all by the tables of model_tables.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/model/model_tables.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/model/model.h"
#include "topology/config/values.h"

/* All choices are enums, which are as wide as int here. */
_Static_assert(sizeof(skn_loss_kind_t) == sizeof(int), "an enum is not an int");

typedef struct size_unit {
    const char *name;
    int shift;
} size_unit_t;
static const size_unit_t size_units[] = {
    { "TiB", 40 }, { "GiB", 30 }, { "MiB", 20 }, { "KiB", 10 }, { "", 0 },
};

bool
skn_option_takes_auto(const skn_option_t *option)
{
    return option->choices && strncmp(option->choices, "auto", 4) == 0 &&
           (option->choices[4] == '\0' || option->choices[4] == '|');
}

/* Prints the size with the largest unit that divides it, so that it reads back
 * exactly. */
static void
print_size(int64_t bytes, char *text, size_t text_bytes)
{
    size_t k = 0;
    while (bytes % ((int64_t)1 << size_units[k].shift) != 0)
        k++;
    (void)snprintf(text, text_bytes, "%" PRId64 "%s",
                   bytes >> size_units[k].shift, size_units[k].name);
}

/* Returns the k-th of the words "a|b|c". */
static const char *
print_choice(const char *choices, int k, char *text, size_t text_bytes)
{
    for (; k > 0; k--) {
        choices = strchr(choices, '|');
        assert(choices);
        choices++;
    }
    (void)snprintf(text, text_bytes, "%.*s", (int)strcspn(choices, "|"),
                   choices);
    return text;
}

/* Returns the number of the word `text` in "a|b|c"; -1 if it is not one of
 * them. */
static int
find_choice(const char *choices, const char *text)
{
    size_t text_bytes = strlen(text);
    for (int k = 0; choices; k++) {
        size_t word_bytes = strcspn(choices, "|");
        if (word_bytes == text_bytes && strncmp(choices, text, text_bytes) == 0)
            return k;
        choices = choices[word_bytes] ? choices + word_bytes + 1 : NULL;
    }
    return -1;
}

const char *
skn_slot_text(const skn_option_t *option, skn_slot_t slot, const void *base,
              char *text, size_t text_bytes)
{
    const void *at = (const char *)base + slot.offset;
    switch (slot.kind) {
    case SKN_SLOT_BOOL:
        return *(const bool *)at ? "true" : "false";
    case SKN_SLOT_TEXT:
    case SKN_SLOT_PATH:
        return *(const char *const *)at;
    case SKN_SLOT_CHOICE:
        return print_choice(option->choices, *(const int *)at, text,
                            text_bytes);
    case SKN_SLOT_INT:
    case SKN_SLOT_SIZE:
        if (*(const int64_t *)at == SKN_AUTO)
            return "auto";
        if (slot.kind == SKN_SLOT_SIZE)
            print_size(*(const int64_t *)at, text, text_bytes);
        else
            (void)snprintf(text, text_bytes, "%" PRId64, *(const int64_t *)at);
        return text;
    case SKN_SLOT_REAL:
        if (*(const double *)at < 0.0)
            return "auto";
        skn_value_real_text(*(const double *)at, text);
        return text;
    case SKN_SLOT_NONE:
        break;
    }
    return "";
}

void
skn_slot_fill(skn_slot_t slot, const skn_value_t *value, void *base)
{
    void *at = (char *)base + slot.offset;
    switch (slot.kind) {
    case SKN_SLOT_BOOL:
        *(bool *)at = value->truth;
        break;
    case SKN_SLOT_TEXT:
    case SKN_SLOT_PATH:
        *(const char **)at = value->text;
        break;
    case SKN_SLOT_CHOICE:
        *(int *)at = find_choice(value->option->choices, value->text);
        assert(*(int *)at >= 0);
        break;
    case SKN_SLOT_INT:
    case SKN_SLOT_SIZE:
        *(int64_t *)at = value->number;
        break;
    case SKN_SLOT_REAL:
        *(double *)at = value->real;
        break;
    case SKN_SLOT_NONE:
        break;
    }
}

/* Fills a slot with its default. The defaults of our own tables always fit
 * (test_model_tables.c). */
static void
fill_default(const skn_option_t *option, skn_slot_t slot, void *base)
{
    skn_value_t value;
    char expected[128];
    bool good = skn_value_parse(option, option->fallback, false, &value,
                                expected, sizeof(expected));
    assert(good);
    (void)good;
    skn_slot_fill(slot, &value, base);
}

void
skn_section_defaults(const skn_section_t *section, void *base)
{
    for (size_t k = 0; section->options[k].name; k++)
        if (section->options[k].fallback)
            fill_default(&section->options[k], section->slots[k], base);
}

bool
skn_slot_is_default(const skn_option_t *option, skn_slot_t slot,
                    const void *base)
{
    /* Both values are printed in the same way, so 1e-8 and 1e-08 are equal. */
    union {
        bool truth;
        int64_t number;
        double real;
        int choice;
        const char *text;
    } fallback = { 0 };
    char text[SKN_VALUE_TEXT_BYTES], fallback_text[SKN_VALUE_TEXT_BYTES];
    skn_slot_t alone = { slot.kind, 0 };
    if (!option->fallback)
        return false;
    fill_default(option, alone, &fallback);
    return strcmp(skn_slot_text(option, slot, base, text, sizeof(text)),
                  skn_slot_text(option, alone, &fallback, fallback_text,
                                sizeof(fallback_text))) == 0;
}
