/* test_tokens.c - tests that text becomes an array of ids
 * (formats/tokens/tokens.c, formats/tokens/tokens_build.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/tokens.h"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>
#include <zstd.h>

#include "formats/tokens/tokens_file.h"
#include "tests/formats/tokens/token_text.h"

static const skn_tokens_options_t bytes_anonymous = { .cache =
                                                          SKN_CACHE_ANONYMOUS };

static void
path_in(const folder_t *folder, const char *name, char path[600])
{
    (void)snprintf(path, 600, "%s/%s", folder->path, name);
}

static void
put(const folder_t *folder, const char *name, const void *bytes, size_t count)
{
    char path[600];
    path_in(folder, name, path);
    file_write(path, bytes, count);
}

/* Expects that document `at` is `text` and an end. */
static void
expect_document(const skn_tokens_t *tokens, uint64_t at, const char *text,
                size_t bytes)
{
    const skn_tokenizer_t *tokenizer = skn_tokens_tokenizer(tokens);
    uint64_t first = skn_tokens_document(tokens, at);
    size_t count = (size_t)(skn_tokens_document(tokens, at + 1) - first);
    uint32_t *id = malloc(count * sizeof(*id));
    size_t done = 0;
    skn_tokens_read(tokens, first, count, id);
    for (size_t k = 0; k + 1 < count; k++) {
        size_t some;
        const char *decoded = skn_tokenizer_text(tokenizer, id[k], &some);
        cr_assert_lt(done, bytes);
        cr_assert_eq(memcmp(decoded, text + done, some), 0);
        done += some;
    }
    cr_expect_eq(done, bytes);
    cr_expect_eq(id[count - 1], SKN_TOKEN_END);
    cr_expect_eq(skn_tokens_document_hash(tokens, at),
                 XXH3_64bits(text, bytes));
    free(id);
}

Test(tokens, a_file_is_one_document)
{
    folder_t folder;
    folder_make(&folder);
    text_write(folder.file, mixed_text);
    size_t bytes = strlen(mixed_text);
    skn_tokens_t *tokens = tokens_good(folder.file, &bytes_anonymous);
    const skn_tokens_info_t *info = skn_tokens_info(tokens);
    cr_expect_eq(info->token_count, bytes + 1);
    cr_expect_eq(info->document_count, 1u);
    cr_expect_eq(info->text_bytes, bytes);
    cr_expect_eq(info->ids, 257u);
    cr_expect_eq(info->frequency[SKN_TOKEN_END], 1u);
    cr_expect_eq(info->frequency['\n'], 3u);
    cr_expect_null(info->cache_path);
    expect_document(tokens, 0, mixed_text, bytes);
    skn_tokens_close(&tokens);
    cr_expect_null(tokens);
    folder_remove(folder.path);
}

Test(tokens, words_are_learned_and_every_document_comes_back)
{
    folder_t folder;
    char other[600];
    folder_make(&folder);
    put(&folder, "b.txt", mixed_text, strlen(mixed_text));
    put(&folder, "a.txt", "the cat", 7);
    put(&folder, "empty.txt", "", 0);
    put(&folder, "binary", "a\0b", 3);
    put(&folder, "latin1", "caf\xe9", 4);
    path_in(&folder, "tokens", other);
    skn_tokens_options_t options = { .cache = SKN_CACHE_ANONYMOUS,
                                     .kind = SKN_TOKENIZER_WORDS,
                                     .vocabulary = 262 };
    skn_tokens_t *tokens = tokens_good(folder.path, &options);
    const skn_tokens_info_t *info = skn_tokens_info(tokens);
    cr_expect_eq(info->ids, 262u);
    cr_expect_eq(info->document_count, 2u);
    cr_expect_eq(info->skipped_count, 2u);
    cr_expect_eq(info->text_bytes, 7 + strlen(mixed_text));
    expect_document(tokens, 0, "the cat", 7);
    expect_document(tokens, 1, mixed_text, strlen(mixed_text));
    uint64_t total = 0;
    for (uint32_t id = 0; id < info->ids; id++)
        total += info->frequency[id];
    cr_expect_eq(total, info->token_count);
    skn_tokens_close(&tokens);
    folder_remove(folder.path);
}

/* More text than is read, encoded and written at once; more ids than u16. */
Test(tokens, a_long_text_with_many_words_comes_back)
{
    folder_t folder;
    folder_make(&folder);
    size_t bytes = 0, room = 3 << 20;
    char *text = malloc(room + 64);
    for (unsigned turn = 0; bytes < room; turn++)
        for (unsigned k = 0; k < 70000 && bytes < room; k++)
            bytes += (size_t)snprintf(text + bytes, 32, "w%u%c", k,
                                      k % 9 ? ' ' : '\n');
    file_write(folder.file, text, bytes);
    skn_tokens_options_t options = { .cache = SKN_CACHE_ANONYMOUS,
                                     .kind = SKN_TOKENIZER_WORDS,
                                     .vocabulary = 70100 };
    skn_tokens_t *tokens = tokens_good(folder.file, &options);
    cr_expect_gt(skn_tokens_info(tokens)->ids, UINT16_MAX + 1);
    cr_expect_lt(skn_tokens_info(tokens)->token_count, bytes / 2);
    expect_document(tokens, 0, text, bytes);
    skn_tokens_close(&tokens);
    free(text);
    folder_remove(folder.path);
}

Test(tokens, packed_and_plain_texts_have_the_same_content)
{
    folder_t folder;
    char path[600], packed[4096];
    folder_make(&folder);
    text_write(folder.file, mixed_text);
    skn_tokens_t *tokens = tokens_good(folder.file, &bytes_anonymous);
    uint64_t hash = skn_tokens_info(tokens)->content_hash;
    skn_tokens_close(&tokens);
    size_t bytes = strlen(mixed_text);
    path_in(&folder, "packed", path);
    for (int kind = 0; kind < 2; kind++) {
        if (kind == 0) {
            gzFile file = gzopen(path, "wb");
            cr_assert_eq(gzwrite(file, mixed_text, (unsigned)bytes),
                         (int)bytes);
            cr_assert_eq(gzclose(file), Z_OK);
        } else {
            file_write(
                path, packed,
                ZSTD_compress(packed, sizeof(packed), mixed_text, bytes, 1));
        }
        tokens = tokens_good(path, &bytes_anonymous);
        cr_expect_eq(skn_tokens_info(tokens)->content_hash, hash);
        expect_document(tokens, 0, mixed_text, bytes);
        skn_tokens_close(&tokens);
    }
    folder_remove(folder.path);
}

/* Whether the token file is new. Marks it executable, which no new one is. */
static bool
builds(const char *path, const skn_tokens_options_t *options)
{
    struct stat facts;
    skn_tokens_t *tokens = tokens_good(path, options);
    const char *cache = skn_tokens_info(tokens)->cache_path;
    cr_assert_eq(stat(cache, &facts), 0);
    cr_assert_eq(chmod(cache, facts.st_mode | S_IXUSR), 0);
    skn_tokens_close(&tokens);
    return !(facts.st_mode & S_IXUSR);
}

Test(tokens, the_token_file_is_made_once_for_each_tokenizer)
{
    folder_t folder;
    char path[600], sub[600];
    folder_make(&folder);
    path_in(&folder, "texts", sub);
    cr_assert_eq(mkdir(sub, 0700), 0);
    put(&folder, "texts/a", "the cat the cat", 15);
    skn_tokens_options_t bytes = { 0 };
    skn_tokens_options_t words = { .kind = SKN_TOKENIZER_WORDS,
                                   .vocabulary = 300 };
    skn_tokens_options_t more = { .kind = SKN_TOKENIZER_WORDS,
                                  .vocabulary = 301 };
    for (int turn = 0; turn < 2; turn++) {
        cr_expect_eq(builds(sub, &bytes), turn == 0);
        cr_expect_eq(builds(sub, &words), turn == 0);
        cr_expect_eq(builds(sub, &more), turn == 0);
    }
    path_in(&folder, "texts.bytes.skt", path);
    cr_expect_eq(access(path, R_OK), 0);
    path_in(&folder, "texts.words-300.skt", path);
    cr_expect_eq(access(path, R_OK), 0);
    /* Only what changed. */
    put(&folder, "texts/b", "the cat", 7);
    cr_expect(builds(sub, &bytes));
    cr_expect(!builds(sub, &bytes));
    folder_remove(folder.path);
}

Test(tokens, texts_that_are_open_are_shared_until_they_change)
{
    folder_t folder;
    const skn_tokens_options_t bytes = { .cache = SKN_CACHE_ANONYMOUS };
    const skn_tokens_options_t words = { .cache = SKN_CACHE_ANONYMOUS,
                                         .kind = SKN_TOKENIZER_WORDS,
                                         .vocabulary = 300 };
    folder_make(&folder);
    text_write(folder.file, "the cat");
    skn_tokens_t *first = tokens_good(folder.file, &bytes);
    skn_tokens_t *second = tokens_good(folder.file, &bytes);
    skn_tokens_t *other = tokens_good(folder.file, &words);
    cr_expect_eq(first, second);
    cr_expect_neq(first, other);
    skn_tokens_close(&first);
    expect_document(second, 0, "the cat", 7);
    text_write(folder.file, "another text");
    first = tokens_good(folder.file, &bytes);
    cr_expect_neq(first, second);
    expect_document(first, 0, "another text", 12);
    expect_document(second, 0, "the cat", 7);
    skn_tokens_close(&second);
    skn_tokens_close(&other);
    second = tokens_good(folder.file, &bytes);
    cr_expect_eq(first, second, "it is in the list still");
    skn_tokens_close(&first);
    skn_tokens_close(&second);
    folder_remove(folder.path);
}

Test(tokens, a_damaged_token_file_is_made_again)
{
    folder_t folder;
    char path[600];
    folder_make(&folder);
    text_write(folder.file, mixed_text);
    skn_tokens_options_t options = { 0 };
    cr_expect(builds(folder.file, &options));
    path_in(&folder, "f.txt.bytes.skt", path);
    size_t count;
    uint8_t *file = file_read(path, &count);
    file[count / 2] ^= 1;
    file_write(path, file, count);
    free(file);
    cr_expect(builds(folder.file, &options));
    cr_expect(!builds(folder.file, &options));
    folder_remove(folder.path);
}

Test(tokens, another_text_can_be_read_with_the_same_tokenizer)
{
    folder_t folder;
    char path[600];
    folder_make(&folder);
    text_write(folder.file, mixed_text);
    put(&folder, "test.txt", "the dog sat", 11);
    path_in(&folder, "test.txt", path);
    skn_tokens_options_t options = { .kind = SKN_TOKENIZER_WORDS,
                                     .vocabulary = 300 };
    skn_tokens_t *train = tokens_good(folder.file, &options);
    skn_tokens_options_t with = { .tokenizer = skn_tokens_tokenizer(train) };
    cr_expect(builds(path, &with));
    skn_tokens_t *test = tokens_good(path, &with);
    cr_expect_eq(skn_tokens_info(test)->ids, skn_tokens_info(train)->ids);
    cr_expect_eq(skn_tokenizer_hash(skn_tokens_tokenizer(test)),
                 skn_tokenizer_hash(with.tokenizer));
    expect_document(test, 0, "the dog sat", 11);
    skn_tokens_close(&test);
    cr_expect(!builds(path, &with));
    cr_expect(builds(path, &options)); /* one of its own */
    skn_tokens_close(&train);
    folder_remove(folder.path);
}

Test(tokens, a_token_file_can_be_used_without_its_text)
{
    folder_t folder;
    char sentence[700];
    folder_make(&folder);
    text_write(folder.file, mixed_text);
    skn_tokens_options_t options = { .cache = SKN_CACHE_PATH,
                                     .cache_path = folder.other,
                                     .kind = SKN_TOKENIZER_WORDS,
                                     .vocabulary = 300 };
    cr_expect(builds(folder.file, &options));
    cr_assert_eq(unlink(folder.file), 0);
    skn_tokens_t *tokens = tokens_good(folder.other, &options);
    expect_document(tokens, 0, mixed_text, strlen(mixed_text));
    skn_tokens_close(&tokens);
    skn_tokens_options_t bytes = { 0 };
    (void)snprintf(sentence, sizeof(sentence),
                   "%s: its tokens are those of another tokenizer: words, 263 "
                   "tokens",
                   folder.other);
    tokens_refused(folder.other, &bytes, SKN_BAD_DATA, sentence);
    size_t count;
    uint8_t *file = file_read(folder.other, &count);
    file_write(folder.other, file, count - 1);
    (void)snprintf(sentence, sizeof(sentence),
                   "%s: the token file is truncated, or too long",
                   folder.other);
    tokens_refused(folder.other, &options, SKN_BAD_DATA, sentence);
    file[count - 1] ^= 1;
    file_write(folder.other, file, count);
    (void)snprintf(sentence, sizeof(sentence),
                   "%s: the token file is damaged: its checksum is wrong",
                   folder.other);
    tokens_refused(folder.other, &options, SKN_BAD_DATA, sentence);
    free(file);
    folder_remove(folder.path);
}

static void
expect_hint(const char *path, const skn_tokens_options_t *options,
            const char *hint)
{
    skn_error_t error = { 0 };
    skn_tokens_t *tokens;
    cr_expect_eq(skn_tokens_open(path, options, &tokens, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.hint, hint);
}

Test(tokens, the_keys_that_fit_a_token_file_are_named)
{
    folder_t folder;
    folder_make(&folder);
    text_write(folder.file, mixed_text);
    skn_tokenizer_t *tokenizer = tokenizer_learn(mixed_text, 4);
    const skn_tokens_options_t bytes = { .vocabulary = 32768 };
    const skn_tokens_options_t words = { .kind = SKN_TOKENIZER_WORDS,
                                         .vocabulary = 32768 };
    const skn_tokens_options_t given = { .tokenizer = tokenizer };
    skn_tokens_options_t options = { .cache = SKN_CACHE_PATH,
                                     .cache_path = folder.other,
                                     .kind = SKN_TOKENIZER_WORDS,
                                     .vocabulary = 300 };
    cr_expect(builds(folder.file, &options));
    expect_hint(folder.other, &words, "set data.vocabulary=300");
    expect_hint(folder.other, &bytes,
                "set data.tokenizer=words and set data.vocabulary=300");
    expect_hint(folder.other, &given,
                "make the token file with the tokenizer of the model, or name "
                "the texts instead");
    options.kind = SKN_TOKENIZER_BYTES;
    cr_expect(builds(folder.file, &options));
    expect_hint(folder.other, &words, "set data.tokenizer=bytes");
    options.tokenizer = tokenizer; /* any vocabulary will do */
    cr_expect(builds(folder.file, &options));
    expect_hint(folder.other, &bytes, "set data.tokenizer=words");
    skn_tokenizer_destroy(&tokenizer);
    folder_remove(folder.path);
}

Test(tokens, what_has_no_text_is_refused)
{
    folder_t folder;
    char sentence[700];
    folder_make(&folder);
    (void)snprintf(sentence, sizeof(sentence), "%s: there is no file in it",
                   folder.path);
    tokens_refused(folder.path, &bytes_anonymous, SKN_NO_INPUT, sentence);
    text_write(folder.file, "");
    (void)snprintf(sentence, sizeof(sentence), "%s has no text: it is empty",
                   folder.file);
    tokens_refused(folder.file, &bytes_anonymous, SKN_BAD_DATA, sentence);
    file_write(folder.file, "abc\xff", 4);
    (void)snprintf(sentence, sizeof(sentence), "%s: byte 3 is not UTF-8",
                   folder.file);
    tokens_refused(folder.file, &bytes_anonymous, SKN_BAD_DATA, sentence);
    (void)snprintf(sentence, sizeof(sentence),
                   "%s has no text: none of the files in it is UTF-8",
                   folder.path);
    tokens_refused(folder.path, &bytes_anonymous, SKN_BAD_DATA, sentence);
    (void)snprintf(sentence, sizeof(sentence), "%s: no such file",
                   folder.other);
    tokens_refused(folder.other, &bytes_anonymous, SKN_NO_INPUT, sentence);
    folder_remove(folder.path);
}

/* The second text is a pipe, which is opened when the first one has been looked
 * at: then the child changes that one. */
Test(tokens, a_text_that_changes_while_it_is_read_is_noticed, .timeout = 60)
{
    folder_t folder;
    char sentence[700];
    folder_make(&folder);
    text_write(folder.file, "the cat");
    cr_assert_eq(mkfifo(folder.other, 0600), 0);
    pid_t child = fork();
    if (child == 0) {
        int pipe = open(folder.other, O_WRONLY);
        int text = open(folder.file, O_WRONLY);
        bool good = write(text, "the dog", 7) == 7 && close(text) == 0 &&
                    write(pipe, "and", 3) == 3 && close(pipe) == 0;
        _exit(good ? 0 : 1);
    }
    char *path[] = { folder.file, folder.other };
    bool is_named[] = { true, true };
    const skn_files_t texts = { .path = path,
                                .count = 2,
                                .is_named = is_named };
    const skn_cache_form_t form = { .place = SKN_CACHE_ANONYMOUS };
    skn_cache_places_t places;
    skn_cache_temp_t temp;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_cache_places_init(&places, &form, &error), SKN_OK);
    cr_assert_eq(skn_cache_temp_open(&places, 0, &temp, &error), SKN_OK);
    cr_expect_eq(
        skn_tokens_build("texts", &texts, &bytes_anonymous, &temp, &error),
        SKN_BUSY);
    (void)snprintf(sentence, sizeof(sentence), "%s: changed while it was read",
                   folder.file);
    cr_expect_str_eq(error.text, sentence);
    skn_cache_temp_close(&temp);
    skn_cache_places_fini(&places);
    int code;
    cr_assert_eq(waitpid(child, &code, 0), child);
    cr_expect_eq(code, 0);
    folder_remove(folder.path);
}
