/* test_words.c - tests that text is cut into words in one spelling each.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/features/words.h"
#include "tests/support/sanitized.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* The words of the text, with a '|' behind each. */
static void
expect_bytes(const char *text, size_t bytes, const char *want)
{
    char got[4096] = "";
    size_t at = 0;
    skn_words_t words = { 0 };
    cr_assert(skn_words_add(&words, text, bytes));
    for (size_t k = 0; k < words.count; k++) {
        size_t length;
        const char *word = skn_words_at(&words, k, &length);
        cr_assert(at + length + 2 < sizeof(got));
        memcpy(got + at, word, length);
        at += length;
        got[at++] = '|';
    }
    skn_words_fini(&words);
    cr_expect_str_eq(got, want, "%s", got);
}

static void
expect(const char *text, const char *want)
{
    expect_bytes(text, strlen(text), want);
}

Test(words, ascii)
{
    expect("", "");
    expect(" .,;", "");
    expect("The Quick (brown) fox-trot, 2x!", "the|quick|brown|fox|trot|2x|");
    expect_bytes("a\0b\n\r\tc", 7, "a|b|c|");
}

Test(words, one_spelling)
{
    expect("Stra\u00dfe STRASSE", "strasse|strasse|");
    expect("caf\u00e9 cafe\u0301 CAF\u00c9", "caf\u00e9|caf\u00e9|caf\u00e9|");
    expect("\ufb01ne \uff21\uff22", "fine|ab|");
    expect("\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2",
           "\u03c3\u03af\u03c3\u03c5\u03c6\u03bf\u03c3|");
    expect("\u201cquoted\u201d\u2014dash\u2026", "quoted|dash|");
    expect("\u0938\u0902\u0938\u094d\u0915\u0943\u0924",
           "\u0938\u0902\u0938\u094d\u0915\u0943\u0924|");
    expect("\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
           "\u05e9\u05dc\u05d5\u05dd|\u0645\u0631\u062d\u0628\u0627|");
}

Test(words, scripts_without_blanks)
{
    expect("\u6771\u4eacTower\u3092", "\u6771|\u4eac|tower|\u3092|");
    expect("\u0e19\u0e49\u0e33", "\u0e19\u0e49\u0e4d|\u0e32|");
    expect("\ud55c\uad6d\uc5b4", "\ud55c\uad6d\uc5b4|");
}

Test(words, signs_and_pictures_are_none)
{
    expect("a\U0001f600b \u00a9 \u20ac5", "a|b|5|");
    expect("\u0301", "");
}

Test(words, what_is_not_utf8_separates)
{
    expect("caf\xe9 au", "caf|au|");
    expect("\xff\xfe", "");
    expect("a\xc3", "a|");
    expect("\xed\xa0\x80x", "x|");
}

Test(words, long_ones)
{
    char text[6000], want[SKN_WORD_MAX_BYTES + 2];
    memset(text, 'a', sizeof(text));
    memset(want, 'a', SKN_WORD_MAX_BYTES);
    memcpy(want + SKN_WORD_MAX_BYTES, "|", 2);
    expect_bytes(text, sizeof(text), want);
    /* Every part of a long run beyond ASCII is a word of whole characters. */
    skn_words_t words = { 0 };
    for (size_t k = 0; k < sizeof(text); k += 2)
        memcpy(text + k, "\u00e9", 2);
    cr_assert(skn_words_add(&words, text, sizeof(text)));
    cr_expect_eq(words.count, 6);
    cr_expect_eq(words.byte_count, 6 * (SKN_WORD_MAX_BYTES + 1));
    skn_words_fini(&words);
}

/* A text without blanks is cut in one pass. */
Test(words, large_ones, .timeout = 60)
{
    static const char *const ends[] = { "\xff", "\u65e5", "a\xe9", "a" };
    size_t bytes = (UNDER_SANITIZER ? 1u : 12u) << 20;
    char *text = malloc(bytes);
    cr_assert_not_null(text);
    for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++) {
        skn_words_t words = { 0 };
        size_t unit = strlen(ends[k]);
        for (size_t at = 0; at + unit <= bytes; at += unit)
            memcpy(text + at, ends[k], unit);
        memcpy(text + bytes - 4, " \u00e9z", 4);
        cr_assert(skn_words_add(&words, text, bytes));
        skn_words_fini(&words);
    }
    memset(text, 'a', bytes);
    memcpy(text + bytes - 2, "\u00e9", 2);
    skn_words_t words = { 0 };
    cr_assert(skn_words_add(&words, text, bytes));
    cr_expect_geq(words.count, bytes / 1024);
    skn_words_fini(&words);
    free(text);
}

static uint64_t state = 1;

static uint32_t
draw(void)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

/* Random bytes, or random characters, of which some are marks or ASCII. */
static size_t
draw_text(char text[64], bool characters)
{
    size_t at = 0;
    while (at < 60) {
        uint32_t point = draw() % (draw() % 2 ? 0x3ff : 0x110000);
        if (!characters)
            text[at++] = (char)point;
        else if (point < 0x80)
            text[at++] = (char)point;
        else if (point < 0x800) {
            text[at++] = (char)(0xc0 | point >> 6);
            text[at++] = (char)(0x80 | (point & 0x3f));
        } else if (point < 0x10000) {
            text[at++] = (char)(0xe0 | point >> 12);
            text[at++] = (char)(0x80 | (point >> 6 & 0x3f));
            text[at++] = (char)(0x80 | (point & 0x3f));
        } else {
            text[at++] = (char)(0xf0 | point >> 18);
            text[at++] = (char)(0x80 | (point >> 12 & 0x3f));
            text[at++] = (char)(0x80 | (point >> 6 & 0x3f));
            text[at++] = (char)(0x80 | (point & 0x3f));
        }
    }
    return at;
}

/* Whatever the bytes are, words have a bounded length and no blanks, and each
 * of them is cut into itself. */
Test(words, any_bytes)
{
    for (int round = 0; round < 20000; round++) {
        char text[64];
        size_t text_bytes = draw_text(text, round % 2);
        skn_words_t words = { 0 }, again = { 0 };
        cr_assert(skn_words_add(&words, text, text_bytes));
        for (size_t k = 0; k < words.count; k++) {
            size_t bytes;
            const char *word = skn_words_at(&words, k, &bytes);
            cr_assert(bytes > 0 && bytes <= SKN_WORD_MAX_BYTES);
            cr_assert(!memchr(word, ' ', bytes) && !memchr(word, '\n', bytes));
            skn_words_clear(&again);
            cr_assert(skn_words_add(&again, word, bytes));
            cr_assert_eq(again.count, 1, "%.*s", (int)bytes, word);
            cr_assert_eq(again.byte_count, bytes + 1, "%.*s", (int)bytes, word);
            cr_assert_eq(memcmp(again.bytes, word, bytes), 0, "%.*s",
                         (int)bytes, word);
        }
        skn_words_fini(&words);
        skn_words_fini(&again);
    }
}

/* What utf8proc makes of ASCII, word by word with a '|' behind each. */
static void
ascii_by_utf8proc(const char *text, size_t bytes, char *want)
{
    utf8proc_uint8_t *folded = NULL;
    utf8proc_ssize_t got = utf8proc_map(
        (const utf8proc_uint8_t *)text, (utf8proc_ssize_t)bytes, &folded,
        UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_COMPOSE |
            UTF8PROC_CASEFOLD);
    size_t at = 0;
    cr_assert_eq(got, (utf8proc_ssize_t)bytes);
    for (size_t k = 0; k < bytes; k++) {
        const char *category = utf8proc_category_string(folded[k]);
        if (category[0] == 'L' || category[0] == 'N')
            want[at++] = (char)folded[k];
        else if (at > 0 && want[at - 1] != '|')
            want[at++] = '|';
    }
    if (at > 0 && want[at - 1] != '|')
        want[at++] = '|';
    want[at] = '\0';
    free(folded);
}

/* ASCII is cut without utf8proc: each character, and random mixes of each
 * length, at each place in a step of eight bytes. */
Test(words, ascii_is_cut_as_by_utf8proc)
{
    char text[48], want[2 * sizeof(text)];
    for (int byte = 0; byte < 0x80; byte++)
        for (size_t bytes = 1; bytes < 20; bytes++)
            for (size_t at = 0; at < bytes; at++) {
                memset(text, bytes % 2 ? 'a' : '.', bytes);
                text[at] = (char)byte;
                ascii_by_utf8proc(text, bytes, want);
                expect_bytes(text, bytes, want);
            }
    for (int round = 0; round < 20000; round++) {
        size_t bytes = draw() % sizeof(text);
        for (size_t k = 0; k < bytes; k++)
            text[k] = (char)(draw() % 8 ? 0x30 + draw() % 0x50 : draw() % 0x80);
        ascii_by_utf8proc(text, bytes, want);
        expect_bytes(text, bytes, want);
    }
}
