/* token_text.h - makes tokenizers, random texts and token arrays for tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FORMATS_TOKENS_TOKEN_TEXT_H
#define TESTS_FORMATS_TOKENS_TOKEN_TEXT_H

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "formats/text/random.h"
#include "formats/tokens/pretokens.h"
#include "formats/tokens/tokens.h"
#include "formats/tokens/word_counts.h"
#include "tests/support/data_folder.h"

/* Several kinds of text: words with and without spaces, other alphabets,
 * numbers, and runs that are longer than a word. */
static const char mixed_text[] =
    "the cat sat on the mat; the cat_2 sat.\n\tthe  cat\n"
    "na\xc3\xafve caf\xc3\xa9 na\xc3\xafve caf\xc3\xa9 \xe2\x80\x9cthe\xe2\x80"
    "\x9d \xe2\x82\xac 100 \xe2\x82\xac 100 \xf0\x9f\x98\x80the\n"
    "\xd0\xbc\xd0\xb8\xd1\x80 \xd0\xbc\xd0\xb8\xd1\x80 aaaaaaaaaaaaaaaaaaaaaaaa"
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    "aaaa";

/* A tokenizer of at most `words` words of `text`. */
static inline skn_tokenizer_t *
tokenizer_learn(const char *text, uint32_t words)
{
    skn_error_t error = { 0 };
    size_t used;
    skn_word_counts_t *counts = skn_word_counts_new(1000);
    cr_assert(counts);
    cr_assert_eq(
        skn_word_counts_add(counts, text, strlen(text), true, &used, &error),
        SKN_OK);
    cr_assert_eq(used, strlen(text));
    skn_tokenizer_t *tokenizer =
        skn_word_counts_take(counts, "corpus", words, &error);
    cr_assert(tokenizer, "%s", error.text);
    skn_word_counts_destroy(&counts);
    return tokenizer;
}

/* Expects that `bytes` bytes of text become ids that become those bytes. */
static inline void
expect_round_trip(const skn_tokenizer_t *tokenizer, const char *text,
                  size_t bytes)
{
    uint32_t *id = malloc((bytes + 1) * sizeof(*id));
    size_t used, at = 0;
    size_t count =
        skn_tokenizer_encode(tokenizer, text, bytes, true, id, &used);
    cr_assert_eq(used, bytes);
    cr_assert_leq(count, bytes);
    for (size_t k = 0; k < count; k++) {
        size_t some;
        cr_assert_lt(id[k], skn_tokenizer_ids(tokenizer));
        const char *decoded = skn_tokenizer_text(tokenizer, id[k], &some);
        cr_assert(some > 0 && some <= bytes - at);
        cr_assert_eq(memcmp(decoded, text + at, some), 0, "byte %zu", at);
        at += some;
    }
    cr_assert_eq(at, bytes);
    free(id);
}

/* Text of random characters of one to four bytes, spaces and words of
 * mixed_text; returns its length, at most `room`. */
static inline size_t
random_text(uint64_t *seed, char *text, size_t room)
{
    size_t at = 0;
    while (at + 8 < room) {
        uint64_t draw = skn_random(seed);
        uint32_t code = (uint32_t)(draw >> 8);
        switch (draw % 8) {
        case 0:
            text[at++] = ' ';
            break;
        case 1:
            memcpy(text + at, " the cat", 8);
            at += 4 + 4 * (code & 1);
            break;
        case 2:
            code = 0x80 + code % 0x780;
            text[at++] = (char)(0xc0 | code >> 6);
            text[at++] = (char)(0x80 | (code & 0x3f));
            break;
        case 3:
            code = 0x800 + code % 0xc800;
            text[at++] = (char)(0xe0 | code >> 12);
            text[at++] = (char)(0x80 | (code >> 6 & 0x3f));
            text[at++] = (char)(0x80 | (code & 0x3f));
            break;
        case 4:
            code = 0x10000 + code % 0x100000;
            text[at++] = (char)(0xf0 | code >> 18);
            text[at++] = (char)(0x80 | (code >> 12 & 0x3f));
            text[at++] = (char)(0x80 | (code >> 6 & 0x3f));
            text[at++] = (char)(0x80 | (code & 0x3f));
            break;
        default:
            text[at++] = (char)(1 + code % 127);
        }
    }
    return at;
}

static inline skn_tokens_t *
tokens_good(const char *path, const skn_tokens_options_t *options)
{
    skn_error_t error = { 0 };
    skn_tokens_t *tokens;
    cr_assert_eq(skn_tokens_open(path, options, &tokens, &error), SKN_OK, "%s",
                 error.text);
    return tokens;
}

static inline void
tokens_refused(const char *path, const skn_tokens_options_t *options,
               skn_status_t status, const char *sentence)
{
    skn_error_t error = { 0 };
    skn_tokens_t *tokens;
    cr_expect_eq(skn_tokens_open(path, options, &tokens, &error), status, "%s",
                 error.text);
    cr_expect_null(tokens);
    cr_expect_str_eq(error.text, sentence);
}

#endif
