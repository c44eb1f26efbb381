/* test_corpus.c - tests which tokenizer the text of a run has, and where its
 * token file is. SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/corpus.h"

#include "tests/support/data_folder.h"

static folder_t place;

static void
set_up(void)
{
    folder_make(&place);
    text_write(place.file, "the cat and the dog and the bird");
}

static void
tear_down(void)
{
    folder_remove(place.path);
}

TestSuite(corpus, .init = set_up, .fini = tear_down);

static skn_tokens_t *
open_with(const char *cache, const char *tokenizer,
          const skn_tokenizer_t *trained)
{
    skn_corpus_t corpus = { .tokenizer = tokenizer,
                            .vocabulary = 300,
                            .cache = cache };
    skn_tokens_t *tokens;
    skn_error_t error = { 0 };
    cr_assert_eq(
        skn_corpus_open(&corpus, place.file, "train", trained, &tokens, &error),
        SKN_OK, "%s", error.text);
    return tokens;
}

Test(corpus, bytes_and_words_are_learned)
{
    skn_tokens_t *bytes = open_with("none", "bytes", NULL);
    skn_tokens_t *words = open_with("none", "words", NULL);
    cr_expect_eq(skn_tokens_info(bytes)->ids, SKN_TOKEN_WORDS);
    cr_expect_eq(skn_tokens_info(words)->ids, SKN_TOKEN_WORDS + 2);
    cr_expect_eq(folder_count(place.path), 1);
    cr_expect_neq(skn_corpus_hash(0, bytes), skn_corpus_hash(0, words));
    cr_expect_neq(skn_corpus_hash(skn_corpus_hash(0, bytes), words),
                  skn_corpus_hash(skn_corpus_hash(0, words), bytes));
    skn_tokens_close(&bytes);
    skn_tokens_close(&words);
}

Test(corpus, a_tokenizer_comes_from_its_file_or_from_the_training)
{
    size_t count;
    skn_tokens_t *words = open_with("none", "words", NULL);
    uint64_t hash = skn_tokenizer_hash(skn_tokens_tokenizer(words));
    char *text = skn_tokenizer_write(skn_tokens_tokenizer(words), &count);
    text_write(place.other, text);
    free(text);
    text_write(place.file, "another text");
    skn_tokens_t *read = open_with("none", place.other, NULL);
    skn_tokens_t *given =
        open_with("none", "bytes", skn_tokens_tokenizer(words));
    cr_expect_eq(skn_tokenizer_hash(skn_tokens_tokenizer(read)), hash);
    cr_expect_eq(skn_tokenizer_hash(skn_tokens_tokenizer(given)), hash);
    skn_tokens_close(&read);
    skn_tokens_close(&given);
    skn_tokens_close(&words);
    skn_corpus_t corpus = { .tokenizer = "nowhere", .cache = "none" };
    skn_error_t error = { 0 };
    cr_expect_eq(
        skn_corpus_open(&corpus, place.file, "train", NULL, &read, &error),
        SKN_NO_INPUT);
    cr_expect_str_eq(error.text, "nowhere: no such file");
    cr_expect_str_eq(error.hint, "a tokenizer is bytes, words, or the path of "
                                 "a tokenizer's file");
    cr_expect_null(read);
}

Test(corpus, the_token_file_is_beside_the_text_or_has_the_stem)
{
    char path[360];
    skn_tokens_t *tokens = open_with("auto", "bytes", NULL);
    (void)snprintf(path, sizeof(path), "%s.bytes.skt", place.file);
    cr_expect_str_eq(skn_tokens_info(tokens)->cache_path, path);
    skn_tokens_close(&tokens);
    tokens = open_with(place.other, "bytes", NULL);
    (void)snprintf(path, sizeof(path), "%s-train.skt", place.other);
    cr_expect_str_eq(skn_tokens_info(tokens)->cache_path, path);
    skn_tokens_close(&tokens);
}
