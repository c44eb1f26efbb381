/* test_model_slots.c - tests values between YAML text and structs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "topology/model/model.h"
#include "topology/model/model_tables.h"
#include "topology/config/values.h"

typedef struct everything {
    bool truth;
    int64_t number, size;
    double real;
    const char *text, *path;
    skn_loss_kind_t loss;
} everything_t;

#define AT(member) offsetof(everything_t, member)
static const skn_option_t options[] = {
    { "truth", SKN_OPTION_BOOL, "true", 0, 0, NULL, "" },
    { "number", SKN_OPTION_INT, "auto", 0, 9, "auto", "" },
    { "memory", SKN_OPTION_INT, "1GiB", 0, 0, "auto", "" },
    { "real", SKN_OPTION_REAL, "1e-8", 0, 1e30, "auto", "" },
    { "text", SKN_OPTION_TEXT, "", 0, 0, NULL, "" },
    { "path", SKN_OPTION_PATH, NULL, 0, 0, NULL, "" },
    { "loss", SKN_OPTION_CHOICE, "auto", 0, 0, "auto|softmax|one_vs_all", "" },
};
static const skn_slot_t slots[] = {
    { SKN_SLOT_BOOL, AT(truth) },  { SKN_SLOT_INT, AT(number) },
    { SKN_SLOT_SIZE, AT(size) },   { SKN_SLOT_REAL, AT(real) },
    { SKN_SLOT_TEXT, AT(text) },   { SKN_SLOT_PATH, AT(path) },
    { SKN_SLOT_CHOICE, AT(loss) },
};
enum {
    TRUTH,
    NUMBER,
    SIZE,
    REAL,
    TEXT,
    PATH,
    LOSS
};

/* Checks and fills in one value. */
static void
fill(int option, const char *text, everything_t *all)
{
    skn_value_t value;
    char expected[128];
    cr_assert(skn_value_parse(&options[option], text, false, &value, expected,
                              sizeof(expected)),
              "%s must be %s", text, expected);
    skn_slot_fill(slots[option], &value, all);
}

typedef struct text_case {
    int option;
    const char *text, *printed;
    bool is_default;
} text_case_t;

Test(model_slots, what_is_filled_in_is_printed_and_compared_with_the_default)
{
    static const text_case_t cases[] = {
        { TRUTH, "true", "true", true },
        { TRUTH, "false", "false", false },
        { NUMBER, "auto", "auto", true },
        { NUMBER, "0", "0", false },
        { NUMBER, "9", "9", false },
        { SIZE, "1GiB", "1GiB", true },
        { SIZE, "1024MiB", "1GiB", true },
        { SIZE, "auto", "auto", false },
        { SIZE, "1025", "1025", false },
        { SIZE, "1536KiB", "1536KiB", false },
        { REAL, "1e-8", "1e-8", true },
        { REAL, "0.00000001", "1e-8", true },
        { REAL, "auto", "auto", false },
        { REAL, "1e20", "1e20", false },
        { REAL, "1e-10", "1e-10", false },
        { REAL, "0.1", "0.1", false },
        { REAL, "0.30000000000000004", "0.30000000000000004", false },
        { TEXT, "", "", true },
        { TEXT, "abc", "abc", false },
        { PATH, "a/b", "a/b", false },
        { LOSS, "auto", "auto", true },
        { LOSS, "softmax", "softmax", false },
        { LOSS, "one_vs_all", "one_vs_all", false },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        const text_case_t *c = &cases[k];
        everything_t all = { 0 };
        char text[40];
        fill(c->option, c->text, &all);
        cr_expect_str_eq(skn_slot_text(&options[c->option], slots[c->option],
                                       &all, text, sizeof(text)),
                         c->printed);
        cr_expect(skn_slot_is_default(&options[c->option], slots[c->option],
                                      &all) == c->is_default,
                  "%s: %s", options[c->option].name, c->text);
    }
}

Test(model_slots, auto_is_a_value_of_its_own)
{
    everything_t all = { 0 };
    fill(NUMBER, "auto", &all);
    fill(REAL, "auto", &all);
    fill(SIZE, "auto", &all);
    cr_expect(all.number == SKN_AUTO);
    cr_expect(all.real < 0.0 && all.real > -1.5);
    cr_expect(all.size == SKN_AUTO);
}

Test(model_slots, a_section_is_filled_with_its_defaults)
{
    static const skn_part_t no_parts[] = { { .name = NULL } };
    static const skn_option_t two[] = {
        { "number", SKN_OPTION_INT, "7", 0, 9, NULL, "" },
        { "truth", SKN_OPTION_BOOL, NULL, 0, 0, NULL, "" },
        { .name = NULL },
    };
    static const skn_slot_t places[] = { { SKN_SLOT_INT, AT(number) },
                                         { SKN_SLOT_BOOL, AT(truth) } };
    const skn_section_t section = { "x", "", two, places, no_parts };
    everything_t all = { .truth = true, .size = 5 };
    skn_section_defaults(&section, &all);
    cr_expect(all.number == 7);
    cr_expect(all.truth, "what has no default is left alone");
    cr_expect(all.size == 5);
}

Test(model_slots, a_required_option_has_no_default_to_be_at)
{
    everything_t all = { .path = "" };
    cr_expect_not(skn_slot_is_default(&options[PATH], slots[PATH], &all));
}

Test(model_slots, a_slot_of_no_kind_is_left_alone)
{
    everything_t all = { 0 }, zero = { 0 };
    skn_slot_t none = { SKN_SLOT_NONE, 0 };
    char text[40];
    skn_value_t value = { .option = &options[NUMBER], .number = 7 };
    skn_slot_fill(none, &value, &all);
    cr_expect(memcmp(&all, &zero, sizeof(all)) == 0);
    cr_expect_str_eq(
        skn_slot_text(&options[NUMBER], none, &all, text, sizeof(text)), "");
}

Test(model_slots, any_real_reads_back_as_printed)
{
    uint64_t seed = 12345; /* an LCG: Knuth, TAOCP 3.3.4, table 1, line 26 */
    for (int k = 0; k < 2000; k++) {
        everything_t all = { 0 };
        char text[40];
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        all.real = ldexp((double)(seed >> 11), (int)(seed % 120) - 110);
        (void)skn_slot_text(&options[REAL], slots[REAL], &all, text,
                            sizeof(text));
        cr_expect(skn_text_real(text, NULL) == all.real, "%s, seed %llu", text,
                  (unsigned long long)seed);
    }
}

Test(model_slots, any_size_reads_back_as_printed)
{
    uint64_t seed = 99;
    for (int k = 0; k < 2000; k++) {
        everything_t all = { 0 };
        everything_t again = { 0 };
        char text[40];
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        all.size = (int64_t)((seed >> 40) + 1) << (seed % 29);
        (void)skn_slot_text(&options[SIZE], slots[SIZE], &all, text,
                            sizeof(text));
        fill(SIZE, text, &again);
        cr_expect(again.size == all.size, "%s", text);
    }
}

Test(model_slots, only_options_whose_choices_start_with_auto_take_it)
{
    skn_option_t option = { "x", SKN_OPTION_INT, "1", 0, 9, NULL, "" };
    cr_expect_not(skn_option_takes_auto(&option));
    option.choices = "auto";
    cr_expect(skn_option_takes_auto(&option));
    option.choices = "auto|none";
    cr_expect(skn_option_takes_auto(&option));
    option.choices = "automatic|none";
    cr_expect_not(skn_option_takes_auto(&option));
}
