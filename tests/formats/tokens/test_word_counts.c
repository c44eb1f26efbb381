/* test_word_counts.c - tests which words a tokenizer learns
 * (formats/tokens/word_counts.c). SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/word_counts.h"

#include <criterion/criterion.h>

#include "tests/formats/tokens/token_text.h"

/* Expects the words, each with | behind it, in the order of their ids. */
static void
expect_words(const skn_tokenizer_t *tokenizer, const char *words)
{
    char got[512] = "";
    size_t at = 0;
    for (uint32_t id = SKN_TOKEN_WORDS; id < skn_tokenizer_ids(tokenizer);
         id++) {
        size_t bytes;
        const char *word = skn_tokenizer_text(tokenizer, id, &bytes);
        at += (size_t)snprintf(got + at, sizeof(got) - at, "%.*s|", (int)bytes,
                               word);
    }
    cr_expect_str_eq(got, words);
}

Test(word_counts, the_most_frequent_words_come_first_and_ties_by_bytes)
{
    const char *text = "d;c;b;a;ab;a;ab;b;c;d;d;once";
    const char *all = "d|a|ab|b|c|";
    for (uint32_t words = 0; words < 7; words++) {
        char wanted[32] = "";
        size_t bars = 0, at = 0;
        while (bars < words && all[at])
            bars += all[at++] == '|';
        memcpy(wanted, all, at);
        skn_tokenizer_t *tokenizer = tokenizer_learn(text, words);
        expect_words(tokenizer, wanted);
        skn_tokenizer_destroy(&tokenizer);
    }
}

Test(word_counts, text_can_be_counted_in_parts)
{
    skn_error_t error = { 0 };
    skn_tokenizer_t *whole = tokenizer_learn(mixed_text, 500);
    size_t bytes = strlen(mixed_text);
    for (size_t step = 1; step < 200; step += 7) {
        skn_word_counts_t *counts = skn_word_counts_new(1000);
        size_t at = 0, end = 0, used;
        while (at < bytes) {
            end = end + step < bytes ? end + step : bytes;
            cr_assert_eq(skn_word_counts_add(counts, mixed_text + at, end - at,
                                             end == bytes, &used, &error),
                         SKN_OK);
            at += used;
        }
        skn_tokenizer_t *parts =
            skn_word_counts_take(counts, "corpus", 500, &error);
        cr_expect_eq(skn_tokenizer_hash(parts), skn_tokenizer_hash(whole));
        skn_tokenizer_destroy(&parts);
        skn_word_counts_destroy(&counts);
    }
    skn_tokenizer_destroy(&whole);
}

Test(word_counts, rare_words_are_forgotten_and_frequent_ones_are_not)
{
    skn_word_counts_t *counts = skn_word_counts_new(64);
    skn_error_t error = { 0 };
    char text[64];
    size_t used;
    for (unsigned k = 0; k < 20000; k++) {
        int bytes = snprintf(text, sizeof(text), "often;w%u;%s", k,
                             k % 2 ? "half;" : "");
        cr_assert_eq(skn_word_counts_add(counts, text, (size_t)bytes, true,
                                         &used, &error),
                     SKN_OK);
    }
    skn_tokenizer_t *tokenizer =
        skn_word_counts_take(counts, "corpus", 2, &error);
    expect_words(tokenizer, "often|half|");
    skn_tokenizer_destroy(&tokenizer);
    skn_word_counts_destroy(&counts);
}

/* The tables grow many times. */
Test(word_counts, many_words_are_counted_exactly)
{
    skn_word_counts_t *counts = skn_word_counts_new(100000);
    skn_error_t error = { 0 };
    char text[64];
    size_t used;
    for (unsigned k = 0; k < 50000; k++) {
        unsigned turns = k == 30000 ? 4 : k == 7 ? 3 : 2;
        for (unsigned turn = 0; turn < turns; turn++) {
            int bytes = snprintf(text, sizeof(text), "w%u", k);
            cr_assert_eq(skn_word_counts_add(counts, text, (size_t)bytes, true,
                                             &used, &error),
                         SKN_OK);
        }
    }
    skn_tokenizer_t *tokenizer =
        skn_word_counts_take(counts, "corpus", 4, &error);
    expect_words(tokenizer, "w30000|w7|w0|w1|");
    skn_tokenizer_destroy(&tokenizer);
    tokenizer = skn_word_counts_take(counts, "corpus", 100000, &error);
    cr_expect_eq(skn_tokenizer_ids(tokenizer), SKN_TOKEN_WORDS + 50000);
    skn_tokenizer_destroy(&tokenizer);
    skn_word_counts_destroy(&counts);
}
