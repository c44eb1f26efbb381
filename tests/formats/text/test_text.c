/* test_text.c - tests that numbers keep their C form, letters are ASCII, and an
 * error message is one line (formats/text/error.c).
 *
 * tests/e2e/locale.sh runs this program with decimal commas and dotless i's.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/text.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/json_text.h"
#include "skein/error.h"

Test(text, writes_a_point)
{
    char text[64];
    cr_expect_eq(skn_text_write(text, sizeof(text), "%s %.2f %g", "a", 0.5, .1),
                 10);
    cr_expect_str_eq(text, "a 0.50 0.1");
    cr_expect_eq(skn_text_write(text, 3, "%.2f", 0.5), 4, "as snprintf");
    cr_expect_str_eq(text, "0.");
    skn_error_t error = { 0 };
    skn_fail(&error, SKN_USAGE, "%.1f is too much", 1.5);
    skn_fail_hint(&error, SKN_USAGE, "take %.1f", 0.5);
    cr_expect_str_eq(error.text, "1.5 is too much");
    cr_expect_str_eq(error.hint, "take 0.5");
}

Test(text, prints_a_point)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    cr_assert(file);
    cr_expect_eq(skn_text_print(file, "%e", 0.5), 12);
    cr_expect_eq(fclose(file), 0);
    cr_expect_str_eq(text, "5.000000e-01");
    free(text);
}

Test(text, reads_a_point_and_stops_at_a_comma)
{
    static const struct {
        const char *text;
        double real;
        size_t used;
    } cases[] = { { "0.5", 0.5, 3 },   { "0,5", 0, 1 }, { "1.5e3x", 1500, 5 },
                  { "1,000", 1, 1 },   { "", 0, 0 },    { "x", 0, 0 },
                  { "-.25", -0.25, 4 } };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        char *end;
        cr_expect_eq(skn_text_real(cases[k].text, &end), cases[k].real, "%s",
                     cases[k].text);
        cr_expect_eq(end, cases[k].text + cases[k].used, "%s", cases[k].text);
    }
    cr_expect_eq(skn_text_real("0.5", NULL), 0.5);
}

/* A long value costs the middle of a sentence, never its reason. */
Test(text, an_error_keeps_its_reason)
{
    char value[4000];
    skn_error_t error = { 0 };
    memset(value, 'v', sizeof(value));
    value[sizeof(value) - 1] = '\0';
    skn_fail(&error, SKN_USAGE, "-o a=%s: no\tkey\x01\x7f", value);
    cr_expect_eq(strlen(error.text), sizeof(error.text) - 1);
    cr_expect_eq(strncmp(error.text, "-o a=vvv", 8), 0, "%s", error.text);
    cr_expect(strstr(error.text, "vvv ... vvv"), "%s", error.text);
    const char *colon = strchr(error.text, ':');
    cr_expect_str_eq(colon ? colon : "", ": no\\tkey\\x01\\x7f");
    /* Its own text may be part of it. */
    skn_fail(&error, SKN_USAGE, "first");
    skn_fail(&error, SKN_USAGE, "%s, then second", error.text);
    cr_expect_str_eq(error.text, "first, then second");
    const char *volatile none = NULL; /* the compiler knows formats */
    skn_fail(&error, SKN_USAGE, none, 0);
    cr_expect_str_eq(error.text, "");
    skn_fail_hint(&error, SKN_USAGE, "%s", value);
    cr_expect_eq(strlen(error.hint), sizeof(error.hint) - 1);
}

/* Wherever it is cut, no letter is torn. */
Test(text, an_error_is_cut_between_letters)
{
    for (size_t shift = 0; shift < 8; shift++) {
        char value[2000];
        skn_error_t error = { 0 };
        for (size_t k = 0; k + 2 < sizeof(value); k += 2)
            memcpy(value + k, "\xc3\xa4", 3);
        skn_fail(&error, SKN_USAGE, "%.*s%s%.*s", (int)(shift & 1), "x", value,
                 (int)(shift >> 1), "yyy");
        json_t *text = json_string(error.text); /* takes sound UTF-8 only */
        cr_expect(text, "shift %zu", shift);
        cr_expect_geq(strlen(error.text), sizeof(error.text) - 4);
        json_decref(text);
    }
}

/* What a host has set, for the process or for the thread, it has afterwards. */
Test(text, leaves_the_hosts_locale_and_errno_alone)
{
    char before[8], after[8], own[8];
    (void)snprintf(before, sizeof(before), "%.1f", 0.5);
    locale_t mine = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    (void)uselocale(mine);
    errno = EDOM;
    (void)skn_text_write(own, sizeof(own), "%.1f", 0.5);
    (void)skn_text_real("1", NULL);
    cr_expect_eq(errno, EDOM);
    cr_expect_eq(uselocale((locale_t)0), mine);
    (void)uselocale(LC_GLOBAL_LOCALE);
    freelocale(mine);
    (void)skn_text_write(own, sizeof(own), "%.1f", 0.5);
    cr_expect_eq(uselocale((locale_t)0), LC_GLOBAL_LOCALE);
    (void)snprintf(after, sizeof(after), "%.1f", 0.5);
    cr_expect_str_eq(before, after);
}

Test(text, may_be_entered_twice)
{
    char text[8];
    locale_t outer = skn_text_enter();
    (void)skn_text_write(text, sizeof(text), "%.1f", 0.5);
    cr_expect_str_eq(text, "0.5");
    (void)snprintf(text, sizeof(text), "%.1f", 0.5);
    cr_expect_str_eq(text, "0.5");
    skn_text_leave(outer);
    cr_expect_eq(uselocale((locale_t)0), LC_GLOBAL_LOCALE);
}

Test(text, json_keeps_its_numbers)
{
    json_t *value = skn_json_read("{\"a\":0.25}");
    cr_assert(value);
    cr_expect_eq(skn_json_number(value, "a"), 0.25);
    char *text = skn_json_write(value, JSON_COMPACT);
    cr_expect_str_eq(text, "{\"a\":0.25}");
    free(text);
    json_decref(value);
    cr_expect_null(skn_json_read("{\"a\":0,25}"));
}

Test(text, letters_and_digits_are_those_of_ascii)
{
    size_t letters = 0, digits = 0, changed = 0;
    for (int byte = -128; byte < 128; byte++) {
        letters += skn_text_is_letter((char)byte);
        digits += skn_text_is_digit((char)byte);
        changed += skn_text_lower((char)byte) != (char)byte;
    }
    cr_expect_eq(letters, 52);
    cr_expect_eq(digits, 10);
    cr_expect_eq(changed, 26);
    cr_expect_eq(skn_text_lower('I'), 'i');
    cr_expect(skn_text_same_word(".INF", ".inf"));
    cr_expect(skn_text_same_word("", ""));
    cr_expect_not(skn_text_same_word("no", "nope"));
    cr_expect_not(skn_text_same_word("nope", "no"));
    cr_expect_not(skn_text_same_word("[", "{"));
}
