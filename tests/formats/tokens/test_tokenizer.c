/* test_tokenizer.c - tests that text becomes ids and back
 * (formats/tokens/tokenizer.c, formats/tokens/pretokens.c), and the file form
 * of a tokenizer (formats/tokens/tokenizer_file.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/tokenizer.h"

#include <criterion/criterion.h>

#include <zlib.h>

#include "tests/formats/tokens/token_text.h"

static const uint32_t no_words[1] = { 0 };

static skn_tokenizer_t *
bytes_tokenizer(void)
{
    skn_error_t error = { 0 };
    skn_tokenizer_t *tokenizer = skn_tokenizer_new(
        "corpus", SKN_TOKENIZER_BYTES, "", no_words, 0, &error);
    cr_assert(tokenizer, "%s", error.text);
    return tokenizer;
}

/* Expects the pretokens of `text` to be `pretokens`, with | between them; a
 * byte alone is in brackets. */
static void
expect_pieces(const char *text, const char *pretokens)
{
    char got[512];
    size_t at = 0;
    const char *end = text + strlen(text);
    while (text < end) {
        skn_pretoken_t pretoken = skn_pretoken_next(text, end);
        at += (size_t)snprintf(got + at, sizeof(got) - at,
                               pretoken.is_word ? "%s%.*s" : "%s[%.*s]",
                               at > 0 ? "|" : "", (int)pretoken.bytes, text);
        cr_expect_eq(pretoken.has_space, pretoken.is_word && *text == ' ');
        text += pretoken.bytes;
    }
    cr_expect_str_eq(got, pretokens);
}

Test(tokenizer, words_are_runs_of_letters_with_the_space_before)
{
    expect_pieces("the cat", "the| cat");
    expect_pieces("a_1  b", "a_1|[ ]| b");
    expect_pieces("x.y = z;\n", "x|[.]|y|[ ]|[=]| z|[;]|[\n]");
    expect_pieces(" ", "[ ]");
    expect_pieces("na\xc3\xafve", "na\xc3\xafve");
    expect_pieces("\xe2\x80\x9cso", "[\xe2]|[\x80]|[\x9c]|so");
    expect_pieces("2\xc3\x97"
                  "3",
                  "2|[\xc3]|[\x97]|3");
    expect_pieces("a\xff"
                  "b\xc3",
                  "a|[\xff]|b|[\xc3]");
}

Test(tokenizer, a_long_run_is_cut_between_characters)
{
    char text[300];
    for (size_t before = 0; before < 4; before++) {
        size_t bytes = before;
        memset(text, 'a', bytes);
        while (bytes < 200) {
            memcpy(text + bytes, "\xe4\xb8\xad", 3);
            bytes += 3;
        }
        skn_pretoken_t pretoken = skn_pretoken_next(text, text + bytes);
        cr_expect(pretoken.is_word);
        cr_expect_eq((pretoken.bytes - before) % 3, 0u);
        cr_expect(pretoken.bytes <= SKN_WORD_BYTES_MAX &&
                  pretoken.bytes + 3 > SKN_WORD_BYTES_MAX);
    }
}

Test(tokenizer, bytes_are_their_own_ids)
{
    skn_tokenizer_t *tokenizer = bytes_tokenizer();
    uint32_t id[256];
    char text[256];
    size_t used, bytes;
    for (int k = 0; k < 256; k++)
        text[k] = (char)k;
    cr_expect_eq(skn_tokenizer_ids(tokenizer), 257u);
    cr_expect_eq(skn_tokenizer_encode(tokenizer, text, 256, false, id, &used),
                 256u);
    cr_expect_eq(used, 256u);
    for (uint32_t k = 0; k < 256; k++)
        cr_expect_eq(id[k], k);
    expect_round_trip(tokenizer, text, 256);
    (void)skn_tokenizer_text(tokenizer, SKN_TOKEN_END, &bytes);
    cr_expect_eq(bytes, 0u);
    (void)skn_tokenizer_text(tokenizer, UINT32_MAX, &bytes);
    cr_expect_eq(bytes, 0u);
    skn_tokenizer_destroy(&tokenizer);
    cr_expect_null(tokenizer);
}

Test(tokenizer, frequent_words_have_ids_and_others_are_spelled)
{
    skn_tokenizer_t *tokenizer = tokenizer_learn("b b b a a of of c", 3);
    uint32_t id[64];
    size_t used;
    /* " b" and " of" occur twice, and so does " a", which is before " b". */
    cr_expect_eq(skn_tokenizer_ids(tokenizer), SKN_TOKEN_WORDS + 3);
    size_t count =
        skn_tokenizer_encode(tokenizer, " b a of c", 9, true, id, &used);
    const uint32_t wanted[] = { 258, 257, 259, ' ', 'c' };
    cr_assert_eq(count, 5u);
    cr_expect_arr_eq(id, wanted, sizeof(wanted));
    skn_tokenizer_destroy(&tokenizer);
}

Test(tokenizer, a_space_is_spelled_before_a_word_that_is_known_without_it)
{
    skn_tokenizer_t *tokenizer = tokenizer_learn("ab\nab\nab", 10);
    uint32_t id[64];
    size_t used;
    cr_assert_eq(skn_tokenizer_encode(tokenizer, " ab", 3, true, id, &used),
                 2u);
    cr_expect_eq(id[0], ' ');
    cr_expect_eq(id[1], SKN_TOKEN_WORDS);
    skn_tokenizer_destroy(&tokenizer);
}

Test(tokenizer, any_bytes_come_back)
{
    skn_tokenizer_t *subject[] = { bytes_tokenizer(),
                                   tokenizer_learn(mixed_text, 500),
                                   tokenizer_learn(mixed_text, 2) };
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t state = seed;
        char text[700];
        size_t bytes = random_text(&state, text, sizeof(text));
        for (size_t k = 0; k < 3; k++)
            expect_round_trip(subject[k], text, bytes);
        /* And now no UTF-8. */
        for (size_t k = 0; k < bytes; k += 1 + skn_random(&state) % 20)
            text[k] = (char)skn_random(&state);
        for (size_t k = 0; k < 3; k++)
            expect_round_trip(subject[k], text, bytes);
    }
    for (size_t k = 0; k < 3; k++) {
        expect_round_trip(subject[k], "", 0);
        expect_round_trip(subject[k], mixed_text, strlen(mixed_text));
        skn_tokenizer_destroy(&subject[k]);
    }
}

Test(tokenizer, ids_do_not_depend_on_how_text_is_divided)
{
    skn_tokenizer_t *tokenizer = tokenizer_learn(mixed_text, 500);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t state = seed;
        char text[900];
        uint32_t whole[900], parts[900];
        size_t bytes = random_text(&state, text, sizeof(text)), used;
        size_t count =
            skn_tokenizer_encode(tokenizer, text, bytes, true, whole, &used);
        size_t at = 0, end = 0, got = 0;
        while (at < bytes) {
            end += skn_random(&state) % 100;
            end = end < bytes ? end : bytes;
            got += skn_tokenizer_encode(tokenizer, text + at, end - at,
                                        end == bytes, parts + got, &used);
            cr_assert(end - at - used < SKN_PRETOKEN_BYTES_MAX);
            at += used;
        }
        cr_assert_eq(got, count);
        cr_assert_arr_eq(whole, parts, count * sizeof(*whole));
    }
    skn_tokenizer_destroy(&tokenizer);
}

Test(tokenizer, the_file_form_is_read_as_it_was_written)
{
    skn_tokenizer_t *subject[] = { bytes_tokenizer(),
                                   tokenizer_learn(mixed_text, 500) };
    for (size_t k = 0; k < 2; k++) {
        size_t bytes, again_bytes;
        skn_error_t error = { 0 };
        char *text = skn_tokenizer_write(subject[k], &bytes);
        skn_tokenizer_t *read = skn_tokenizer_read("t", text, bytes, &error);
        cr_assert(read, "%s", error.text);
        char *again = skn_tokenizer_write(read, &again_bytes);
        cr_expect_eq(again_bytes, bytes);
        cr_expect_arr_eq(again, text, bytes);
        cr_expect_eq(skn_tokenizer_hash(read), skn_tokenizer_hash(subject[k]));
        cr_expect_eq(skn_tokenizer_kind(read), skn_tokenizer_kind(subject[k]));
        free(text);
        free(again);
        skn_tokenizer_destroy(&read);
        skn_tokenizer_destroy(&subject[k]);
    }
}

Test(tokenizer, the_file_form_can_be_read_by_people)
{
    skn_tokenizer_t *tokenizer = tokenizer_learn("b b b a a a a", 3);
    size_t bytes;
    char *text = skn_tokenizer_write(tokenizer, &bytes);
    const char *words = " a\n b\n";
    cr_expect_eq(strncmp(text, "skein-tokenizer 1 words 259 ", 28), 0, "%s",
                 text);
    cr_expect_str_eq(strchr(text, '\n') + 1, words);
    free(text);
    skn_tokenizer_destroy(&tokenizer);
}

static void
expect_unread(const char *text, size_t bytes, const char *sentence)
{
    skn_error_t error = { 0 };
    skn_tokenizer_t *read = skn_tokenizer_read("t.txt", text, bytes, &error);
    cr_expect_null(read);
    cr_expect_eq(error.status, SKN_BAD_DATA);
    if (sentence)
        cr_expect_str_eq(error.text, sentence);
    skn_tokenizer_destroy(&read);
}

Test(tokenizer, damage_is_noticed_at_every_byte_and_every_length)
{
    skn_tokenizer_t *tokenizer = tokenizer_learn(mixed_text, 500);
    size_t bytes;
    char *text = skn_tokenizer_write(tokenizer, &bytes);
    for (size_t at = 0; at < bytes; at++) {
        text[at] ^= 1;
        expect_unread(text, bytes, NULL);
        text[at] ^= 1;
        expect_unread(text, at, NULL);
    }
    free(text);
    skn_tokenizer_destroy(&tokenizer);
    expect_unread("", 0, "t.txt: is not a tokenizer of Skein");
}

/* A file form with a good hash, as somebody who means harm would write. */
static void
expect_forged(const char *kind, uint32_t ids, const char *words,
              const char *sentence)
{
    char text[600];
    int bytes = snprintf(
        text, sizeof(text), "skein-tokenizer 1 %s %u %016llx\n%s", kind, ids,
        (unsigned long long)XXH3_64bits(words, strlen(words)), words);
    expect_unread(text, (size_t)bytes, sentence);
}

Test(tokenizer, a_forged_file_is_refused)
{
    const char *first = "t.txt: the first line of the tokenizer is damaged";
    const char *count = "t.txt: the words of the tokenizer are not those that "
                        "its first line counts";
    expect_forged("bytes", 258, " a\n", first);
    expect_forged("letters", 258, " a\n", first);
    expect_forged("words", 256, "", first);
    expect_forged("words", SKN_VOCABULARY_MAX + 1, "", first);
    expect_forged("words", 259, " a\n", count);
    expect_forged("words", 257, " a\n", count);
    expect_forged("words", 258, " a", count);
    expect_forged("words", 258, "\n",
                  "t.txt: word 1 of the tokenizer is not one word");
    expect_forged("words", 259, " a\n;\n",
                  "t.txt: word 2 of the tokenizer is not one word");
    expect_forged("words", 259, " a\nb c\n",
                  "t.txt: word 2 of the tokenizer is not one word");
    expect_forged("words", 259, " a\n a\n",
                  "t.txt: words 1 and 2 of the tokenizer are the same");
    expect_forged("words", SKN_VOCABULARY_MAX, " a\n", count);
}

Test(tokenizer, a_file_can_be_packed)
{
    folder_t folder;
    folder_make(&folder);
    skn_tokenizer_t *tokenizer = tokenizer_learn(mixed_text, 500);
    size_t bytes;
    skn_error_t error = { 0 };
    char *text = skn_tokenizer_write(tokenizer, &bytes);
    gzFile file = gzopen(folder.file, "wb");
    cr_assert_eq(gzwrite(file, text, (unsigned)bytes), (int)bytes);
    cr_assert_eq(gzclose(file), Z_OK);
    skn_tokenizer_t *read = skn_tokenizer_open(folder.file, &error);
    cr_assert(read, "%s", error.text);
    cr_expect_eq(skn_tokenizer_hash(read), skn_tokenizer_hash(tokenizer));
    skn_tokenizer_destroy(&read);
    cr_expect_null(skn_tokenizer_open(folder.other, &error));
    cr_expect_eq(error.status, SKN_NO_INPUT);
    free(text);
    skn_tokenizer_destroy(&tokenizer);
    folder_remove(folder.path);
}

Test(tokenizer, another_vocabulary_is_named)
{
    skn_tokenizer_t *tokenizer = bytes_tokenizer();
    skn_error_t error = { 0 };
    cr_expect_eq(skn_tokenizer_check_ids(tokenizer, "text", 257, &error),
                 SKN_OK);
    cr_expect_eq(skn_tokenizer_check_ids(tokenizer, "text", 300, &error),
                 SKN_BAD_DATA);
    cr_expect_str_eq(error.text, "text: its tokenizer has 257 tokens, but the "
                                 "model has 300");
    skn_tokenizer_destroy(&tokenizer);
}
