/* test_model_slots.c - values between YAML text and structs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "topology/model.h"
#include "topology/model_tables.h"

typedef struct size_case {
    const char *text;
    int64_t bytes; /* 0: refused */
} size_case_t;

Test(model_slots, a_size_is_a_number_with_or_without_a_unit)
{
    static const size_case_t cases[] = {
        { "1", 1 },
        { "0", 0 },
        { "4096", 4096 },
        { "1B", 1 },
        { "1KiB", 1024 },
        { "1.5KiB", 1536 },
        { "512 MiB", 512ll << 20 },
        { "1GiB", 1ll << 30 },
        { "2TiB", 2ll << 40 },
        { "0.5B", 0 },
        { "9007199254740992", 9007199254740992ll },
        { "9007199254740994", 0 },
        { "8191TiB", 8191ll << 40 },
        { "8193TiB", 0 },
        { "", 0 },
        { "GiB", 0 },
        { "-1", 0 },
        { "+1", 0 },
        { " 1", 0 },
        { "1GB", 0 },
        { "1gib", 0 },
        { "1GiB ", 0 },
        { "1 Gi B", 0 },
        { "0x10", 0 },
        { "0X10", 0 },
        { "nan", 0 },
        { "inf", 0 },
        { "1e400", 0 },
        { "auto", 0 },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        int64_t bytes = 0;
        bool good = skn_size_parse(cases[k].text, &bytes);
        cr_expect(good == (cases[k].bytes != 0), "'%s'", cases[k].text);
        cr_expect(bytes == cases[k].bytes, "'%s': %lld", cases[k].text,
                  (long long)bytes);
    }
}

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
    { "size", SKN_OPTION_TEXT, "1GiB", 0, 0, "auto", "" },
    { "real", SKN_OPTION_REAL, "1e-8", 0, 9, "auto", "" },
    { "text", SKN_OPTION_TEXT, "", 0, 0, NULL, "" },
    { "path", SKN_OPTION_PATH, NULL, 0, 0, NULL, "" },
    { "loss", SKN_OPTION_CHOICE, "auto", 0, 0, "auto|softmax|one_vs_all", "" },
};
static const skn_slot_t slots[] = {
    { SKN_SLOT_BOOL, AT(truth) }, { SKN_SLOT_INT, AT(number) },
    { SKN_SLOT_SIZE, AT(size) },  { SKN_SLOT_REAL, AT(real) },
    { SKN_SLOT_TEXT, AT(text) },  { SKN_SLOT_PATH, AT(path) },
    { SKN_SLOT_CHOICE, AT(loss) },
};
enum { TRUTH, NUMBER, SIZE, REAL, TEXT, PATH, LOSS };

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
        { SIZE, "1025", "1025B", false },
        { SIZE, "1536KiB", "1536KiB", false },
        { REAL, "1e-8", "1e-08", true },
        { REAL, "0.00000001", "1e-08", true },
        { REAL, "auto", "auto", false },
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
        cr_expect(skn_slot_fill(&options[c->option], slots[c->option], c->text,
                                &all));
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
    cr_assert(skn_slot_fill(&options[NUMBER], slots[NUMBER], "auto", &all));
    cr_assert(skn_slot_fill(&options[REAL], slots[REAL], "auto", &all));
    cr_assert(skn_slot_fill(&options[SIZE], slots[SIZE], "auto", &all));
    cr_expect(all.number == SKN_AUTO);
    cr_expect(all.real < 0.0 && all.real > -1.5);
    cr_expect(all.size == SKN_AUTO);
}

Test(model_slots, a_bad_size_is_refused)
{
    everything_t all = { 0 };
    cr_expect_not(skn_slot_fill(&options[SIZE], slots[SIZE], "lots", &all));
    cr_expect_not(skn_slot_fill(&options[SIZE], slots[SIZE], "0", &all));
}

Test(model_slots, a_slot_of_no_kind_is_left_alone)
{
    everything_t all = { 0 }, zero = { 0 };
    skn_slot_t none = { SKN_SLOT_NONE, 0 };
    char text[40];
    cr_expect(skn_slot_fill(&options[NUMBER], none, "7", &all));
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
        cr_expect(strtod(text, NULL) == all.real, "%s, seed %llu", text,
                  (unsigned long long)seed);
    }
}

Test(model_slots, any_size_reads_back_as_printed)
{
    uint64_t seed = 99;
    for (int k = 0; k < 2000; k++) {
        everything_t all = { 0 };
        int64_t bytes = 0;
        char text[40];
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        all.size = (int64_t)((seed >> 40) + 1) << (seed % 29);
        (void)skn_slot_text(&options[SIZE], slots[SIZE], &all, text,
                            sizeof(text));
        cr_expect(skn_size_parse(text, &bytes) && bytes == all.size, "%s",
                  text);
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
