/* test_sequences.c - tests how tokens are split and cut
 * (formats/tokens/sequences.c). SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/sequences.h"

#include <criterion/criterion.h>
#include <xxhash.h>

#include "formats/tokens/tokens_file.h"
#include "tests/formats/tokens/token_text.h"

/* A folder of `documents` texts: document k has `bytes` + k digits of k. */
static skn_tokens_t *
corpus(const folder_t *folder, unsigned documents, size_t bytes)
{
    char path[600];
    char *text = malloc(bytes + documents + 16);
    for (unsigned k = 0; k < documents; k++) {
        (void)snprintf(path, sizeof(path), "%s/%05u", folder->path, k);
        size_t at = 0;
        while (at < bytes + k)
            at += (size_t)snprintf(text + at, 16, "%u,", k);
        file_write(path, text, bytes + k);
    }
    free(text);
    const skn_tokens_options_t options = { .cache = SKN_CACHE_ANONYMOUS };
    return tokens_good(folder->path, &options);
}

static skn_sequences_split_t
split_good(const skn_tokens_t *tokens, uint32_t context, double share,
           uint64_t seed)
{
    skn_sequences_split_t split;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_sequences_split(tokens, "corpus", context, share, seed,
                                     &split, &error),
                 SKN_OK, "%s", error.text);
    return split;
}

/* The whole stream, as the sequences give it. */
static uint32_t *
stream_of(const skn_sequences_t *sequences)
{
    uint32_t context = sequences->context;
    uint32_t *stream =
        malloc(((size_t)sequences->count * context + 1) * sizeof(*stream));
    for (uint32_t k = 0; k < sequences->count; k++) {
        uint32_t before = k > 0 ? stream[(size_t)k * context] : 0;
        skn_sequences_read(sequences, k, stream + (size_t)k * context);
        if (k > 0) /* the last target is the first input of the next one */
            cr_assert_eq(stream[(size_t)k * context], before);
    }
    return stream;
}

Test(sequences, without_a_share_they_are_the_tokens_in_order)
{
    folder_t folder;
    folder_make(&folder);
    skn_tokens_t *tokens = corpus(&folder, 30, 50);
    uint64_t total = skn_tokens_info(tokens)->token_count;
    uint32_t *all = malloc(total * sizeof(*all));
    skn_tokens_read(tokens, 0, total, all);
    for (uint32_t context = 1; context < 200; context += 13) {
        skn_sequences_split_t split = split_good(tokens, context, 0, 1);
        cr_expect_eq(split.validate.count, 0u);
        cr_assert_eq(split.train.count, (total - 1) / context);
        uint32_t *stream = stream_of(&split.train);
        cr_expect_arr_eq(stream, all,
                         ((size_t)split.train.count * context + 1) *
                             sizeof(*all));
        free(stream);
        skn_sequences_split_fini(&split);
    }
    free(all);
    skn_tokens_close(&tokens);
    folder_remove(folder.path);
}

/* Counts the documents of a stream of digits: the ends in it. */
static size_t
ends_in(const skn_sequences_t *sequences)
{
    size_t ends = 0;
    uint32_t *stream = stream_of(sequences);
    for (size_t k = 0; k <= (size_t)sequences->count * sequences->context; k++)
        ends += stream[k] == SKN_TOKEN_END;
    free(stream);
    return ends;
}

Test(sequences, whole_documents_are_held_back_where_there_are_many)
{
    folder_t folder;
    folder_make(&folder);
    skn_tokens_t *tokens = corpus(&folder, 100, 300);
    uint64_t total = skn_tokens_info(tokens)->token_count;
    for (uint64_t seed = 1; seed < 20; seed++) {
        skn_sequences_split_t split = split_good(tokens, 1, 0.1, seed);
        cr_expect_eq(split.train.token_count + split.validate.token_count,
                     total);
        cr_expect_geq(split.validate.token_count, total / 10);
        cr_expect_leq(split.validate.token_count, total / 10 + 401);
        size_t held = ends_in(&split.validate);
        cr_expect(held >= 7 && held <= 12, "%zu", held);
        cr_expect_eq(held + ends_in(&split.train), 100u);
        skn_sequences_split_fini(&split);
    }
    skn_tokens_close(&tokens);
    folder_remove(folder.path);
}

Test(sequences, a_split_follows_from_the_seed)
{
    folder_t folder;
    folder_make(&folder);
    skn_tokens_t *tokens = corpus(&folder, 40, 300);
    size_t different = 0;
    for (uint64_t seed = 1; seed < 10; seed++) {
        skn_sequences_split_t one = split_good(tokens, 8, 0.2, seed);
        skn_sequences_split_t again = split_good(tokens, 8, 0.2, seed);
        skn_sequences_split_t other = split_good(tokens, 8, 0.2, seed + 100);
        cr_assert_eq(one.validate.range_count, again.validate.range_count);
        cr_expect_arr_eq(one.validate.from, again.validate.from,
                         one.validate.range_count * sizeof(uint64_t));
        different += one.validate.token_count != other.validate.token_count;
        skn_sequences_split_fini(&one);
        skn_sequences_split_fini(&again);
        skn_sequences_split_fini(&other);
    }
    cr_expect_gt(different, 4u);
    skn_tokens_close(&tokens);
    folder_remove(folder.path);
}

Test(sequences, copies_of_a_document_are_held_back_together)
{
    folder_t folder;
    char path[600];
    folder_make(&folder);
    for (unsigned k = 0; k < 60; k++) {
        char text[32];
        (void)snprintf(path, sizeof(path), "%s/%02u", folder.path, k);
        (void)snprintf(text, sizeof(text), "text %c of many",
                       'a' + (int)(k % 20));
        text_write(path, text);
    }
    const skn_tokens_options_t options = { .cache = SKN_CACHE_ANONYMOUS };
    skn_tokens_t *tokens = tokens_good(folder.path, &options);
    for (uint64_t seed = 1; seed < 20; seed++) {
        skn_sequences_split_t split = split_good(tokens, 1, 0.12, seed);
        cr_expect_eq(ends_in(&split.validate) % 3, 0u);
        skn_sequences_split_fini(&split);
    }
    skn_tokens_close(&tokens);
    folder_remove(folder.path);
}

Test(sequences, blocks_are_held_back_where_documents_are_few_or_long)
{
    folder_t folder;
    folder_make(&folder);
    skn_tokens_t *tokens = corpus(&folder, 3, 20000);
    uint64_t total = skn_tokens_info(tokens)->token_count;
    /* 3,000 tokens are wanted: 3 blocks of 63 sequences, or 4 if the short one
     * at the end is among them. */
    const uint64_t block = 16 * 63;
    skn_sequences_split_t split = split_good(tokens, 16, 0.05, 1);
    cr_expect_geq(split.validate.token_count, total / 20);
    cr_expect_leq(split.validate.token_count, 4 * block);
    for (size_t k = 0; k < split.validate.range_count; k++)
        cr_expect_eq(split.validate.from[k] % block, 0u);
    skn_sequences_split_fini(&split);
    /* Whatever the share, hardly more is held back. */
    for (unsigned percent = 1; percent <= 50; percent++) {
        split = split_good(tokens, 16, percent / 100., 1);
        uint64_t wanted = (uint64_t)(percent / 100. * (double)total);
        cr_expect_geq(split.validate.token_count, wanted);
        cr_expect_lt(split.validate.token_count,
                     wanted + 16 * (wanted / 1024 + 1) + 1024);
        skn_sequences_split_fini(&split);
    }
    skn_tokens_close(&tokens);
    folder_remove(folder.path);
    /* 25 documents, each longer than the share. */
    folder_make(&folder);
    tokens = corpus(&folder, 25, 2000);
    split = split_good(tokens, 16, 0.02, 1);
    cr_expect_geq(split.validate.token_count,
                  skn_tokens_info(tokens)->token_count / 50);
    cr_expect_leq(split.validate.token_count, 1024);
    skn_sequences_split_fini(&split);
    skn_tokens_close(&tokens);
    /* A short one beside them is not all that is held back. */
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/short", folder.path);
    text_write(path, "a few words");
    const skn_tokens_options_t options = { .cache = SKN_CACHE_ANONYMOUS };
    tokens = tokens_good(folder.path, &options);
    split = split_good(tokens, 16, 0.02, 1);
    cr_expect_geq(split.validate.token_count,
                  skn_tokens_info(tokens)->token_count / 50);
    skn_sequences_split_fini(&split);
    skn_tokens_close(&tokens);
    folder_remove(folder.path);
}

Test(sequences, the_bytes_of_the_targets_are_counted)
{
    folder_t folder;
    folder_make(&folder);
    text_write(folder.file, mixed_text);
    skn_tokens_options_t options = { .cache = SKN_CACHE_ANONYMOUS,
                                     .kind = SKN_TOKENIZER_WORDS,
                                     .vocabulary = 300 };
    skn_tokens_t *tokens = tokens_good(folder.file, &options);
    skn_sequences_split_t split = split_good(tokens, 1, 0, 1);
    /* All tokens but the first one are targets; the end has no bytes. */
    cr_expect_eq(skn_sequences_bytes(&split.train, split.train.count),
                 strlen(mixed_text) - 3);
    cr_expect_eq(skn_sequences_bytes(&split.train, 0), 0u);
    skn_sequences_split_fini(&split);
    skn_tokens_close(&tokens);
    folder_remove(folder.path);
}

static void
expect_refused_split(const skn_tokens_t *tokens, uint32_t context, double share,
                     const char *sentence)
{
    skn_sequences_split_t split;
    skn_error_t error = { 0 };
    cr_expect_eq(skn_sequences_split(tokens, "corpus", context, share, 1,
                                     &split, &error),
                 SKN_BAD_DATA);
    cr_expect_str_eq(error.text, sentence);
    cr_expect_null(split.train.from);
}

Test(sequences, the_whole_may_be_shorter_than_a_sequence)
{
    folder_t folder;
    skn_sequences_t whole;
    skn_error_t error = { 0 };
    uint32_t id[12];
    folder_make(&folder);
    text_write(folder.file, "0123456789");
    const skn_tokens_options_t options = { .cache = SKN_CACHE_ANONYMOUS };
    skn_tokens_t *tokens = tokens_good(folder.file, &options);
    for (uint32_t context = 9; context < 12; context++) {
        cr_assert_eq(
            skn_sequences_whole(tokens, "corpus", context, &whole, &error),
            SKN_OK, "%s", error.text);
        cr_expect_eq(whole.count, context < 11);
        cr_expect_eq(skn_sequences_read_rest(&whole, id),
                     context < 11 ? 10 - context : 10);
        if (context != 10)
            cr_expect_eq(id[0], context == 9 ? '9' : '0');
        skn_sequences_fini(&whole);
    }
    skn_tokens_close(&tokens);
    folder_remove(folder.path);
}

/* Skein writes no such token file. */
Test(sequences, a_text_without_a_token_to_predict_is_refused)
{
    folder_t folder;
    skn_sequences_t whole;
    skn_error_t error = { 0 };
    size_t bytes;
    folder_make(&folder);
    text_write(folder.file, "a");
    const skn_tokens_options_t options = { .cache = SKN_CACHE_PATH,
                                           .cache_path = folder.other };
    skn_tokens_t *tokens = tokens_good(folder.file, &options);
    skn_tokens_close(&tokens);
    uint8_t *file = file_read(folder.other, &bytes);
    skn_tokens_head_t *head = (void *)file;
    skn_tokens_layout_t layout = skn_tokens_layout(head);
    ((uint16_t *)(void *)(file + layout.id_at))[0] = SKN_TOKEN_END;
    ((uint64_t *)(void *)(file + layout.offset_at))[1] = head->token_count = 1;
    head->payload_hash =
        XXH3_64bits(file + sizeof(*head), bytes - sizeof(*head));
    head->head_hash = skn_tokens_head_hash(head);
    file_write(folder.other, file, bytes);
    free(file);
    tokens = tokens_good(folder.other, &options);
    cr_expect_eq(skn_sequences_whole(tokens, "corpus", 4, &whole, &error),
                 SKN_BAD_DATA);
    cr_expect_str_eq(error.text,
                     "corpus: it has no token to predict, only one to begin "
                     "with");
    cr_expect_str_eq(error.hint, "give more text");
    skn_tokens_close(&tokens);
    folder_remove(folder.path);
}

Test(sequences, too_little_text_is_refused)
{
    folder_t folder;
    folder_make(&folder);
    text_write(folder.file, "0123456789");
    const skn_tokens_options_t options = { .cache = SKN_CACHE_ANONYMOUS };
    skn_tokens_t *tokens = tokens_good(folder.file, &options);
    skn_sequences_split_t split = split_good(tokens, 10, 0, 1);
    cr_expect_eq(split.train.count, 1u);
    skn_sequences_split_fini(&split);
    expect_refused_split(tokens, 11, 0,
                         "corpus: 11 tokens are fewer than one sequence, which "
                         "has 12");
    expect_refused_split(tokens, 9, 0.1,
                         "corpus: train.validate 0.1 leaves no sequence to "
                         "train on (blocks to split: 1)");
    skn_tokens_close(&tokens);
    folder_remove(folder.path);
    folder_make(&folder);
    tokens = corpus(&folder, 20, 10);
    expect_refused_split(tokens, 350, 0.02,
                         "corpus: train.validate 0.02 leaves no sequence to "
                         "train on (documents to split: 20)");
    skn_tokens_close(&tokens);
    folder_remove(folder.path);
}

Test(sequences, a_short_text_can_be_split)
{
    folder_t folder;
    folder_make(&folder);
    skn_tokens_t *tokens = corpus(&folder, 1, 200);
    for (uint32_t context = 1; context < 30; context++) {
        skn_sequences_split_t split = split_good(tokens, context, 0.05, 1);
        uint32_t wanted = context > 9 ? context + 1 : 10;
        uint32_t block = (wanted + context - 1) / context * context;
        cr_expect_geq(split.validate.count, 1u);
        /* The short block at the end may have come first. */
        cr_expect_leq(split.validate.token_count, block + 201 % block);
        skn_sequences_split_fini(&split);
    }
    skn_tokens_close(&tokens);
    folder_remove(folder.path);
}
