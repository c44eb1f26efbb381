/* test_tokens_check.c - tests the refusal of token files that are damaged or
 * forged (formats/tokens/tokens_check.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/tokens_file.h"

#include <criterion/criterion.h>

#include "tests/formats/tokens/token_text.h"

/* A token file of two documents in memory of exactly its size, so that the
 * sanitizer sees a read behind it. */
static uint8_t *
sample_file(size_t *bytes)
{
    folder_t folder;
    char path[600], texts[600];
    folder_make(&folder);
    (void)snprintf(texts, sizeof(texts), "%s/texts", folder.path);
    cr_assert_eq(mkdir(texts, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/a", texts);
    text_write(path, "the cat the cat");
    (void)snprintf(path, sizeof(path), "%s/b", texts);
    text_write(path, "the dog");
    skn_tokens_options_t options = { .cache = SKN_CACHE_PATH,
                                     .cache_path = folder.other,
                                     .kind = SKN_TOKENIZER_WORDS,
                                     .vocabulary = 300 };
    skn_tokens_t *tokens = tokens_good(texts, &options);
    skn_tokens_close(&tokens);
    uint8_t *wide = file_read(folder.other, bytes);
    uint8_t *exact = malloc(*bytes);
    memcpy(exact, wide, *bytes);
    free(wide);
    folder_remove(folder.path);
    return exact;
}

static const char *
fault(const uint8_t *file, size_t bytes)
{
    const char *head = skn_tokens_head_fault(file, bytes);
    return head ? head : skn_tokens_body_fault(file);
}

Test(tokens_check, damage_is_noticed_at_every_byte_and_every_length)
{
    size_t bytes;
    uint8_t *file = sample_file(&bytes);
    cr_assert_null(fault(file, bytes));
    for (size_t at = 0; at < bytes; at++) {
        file[at] ^= 0x10;
        cr_expect(fault(file, bytes), "byte %zu", at);
        file[at] ^= 0x10;
    }
    for (size_t shorter = 0; shorter < bytes; shorter++)
        cr_expect(fault(file, shorter), "%zu bytes", shorter);
    cr_expect_null(fault(file, bytes));
    free(file);
}

/* Signs a damaged file again, as somebody who means harm would, and expects it
 * to be refused with `sentence`. */
static void
expect_forged(uint8_t *file, size_t bytes, const char *sentence)
{
    skn_tokens_head_t *head = (void *)file;
    head->payload_hash =
        XXH3_64bits(file + sizeof(*head), bytes - sizeof(*head));
    head->head_hash = skn_tokens_head_hash(head);
    const char *got = fault(file, bytes);
    cr_assert(got, "%s", sentence);
    cr_expect_str_eq(got, sentence);
}

Test(tokens_check, a_forged_file_is_refused)
{
    size_t bytes;
    uint8_t *good = sample_file(&bytes), *file = malloc(bytes);
    const skn_tokens_head_t *head = (const void *)good;
    skn_tokens_layout_t layout = skn_tokens_layout(head);
    uint16_t *id = (void *)(file + layout.id_at);
    uint64_t *offset = (void *)(file + layout.offset_at);
    const char *no_id = "the token file has an id that its tokenizer does not "
                        "have";
    const char *no_fill = "the documents of the token file do not fill it";
    memcpy(file, good, bytes);
    id[0] = (uint16_t)head->ids;
    expect_forged(file, bytes, no_id);
    memcpy(file, good, bytes);
    id[head->token_count - 1] = 0;
    expect_forged(file, bytes, no_fill);
    memcpy(file, good, bytes);
    offset[0] = 1;
    expect_forged(file, bytes, no_fill);
    memcpy(file, good, bytes);
    offset[1] = offset[2];
    expect_forged(file, bytes, no_fill);
    memcpy(file, good, bytes);
    offset[1] = UINT64_MAX;
    expect_forged(file, bytes, no_fill);
    memcpy(file, good, bytes);
    offset[2]--;
    expect_forged(file, bytes, no_fill);
    free(file);
    free(good);
}

Test(tokens_check, a_forged_head_is_refused)
{
    size_t bytes;
    uint8_t *good = sample_file(&bytes), *file = malloc(bytes);
    skn_tokens_head_t *head = (void *)file;
    const char *sizes = "the head of the token file has impossible sizes";
    const char *length = "the token file is truncated, or too long";
    memcpy(file, good, bytes);
    head->version++;
    expect_forged(file, bytes, "the token file has another version");
    memcpy(file, good, bytes);
    head->byte_order = 0x04030201;
    expect_forged(file, bytes,
                  "the token file is from a machine of another byte order");
    uint64_t *const counts[] = { &head->token_count, &head->document_count,
                                 &head->tokenizer_bytes };
    for (size_t k = 0; k < 3; k++) {
        memcpy(file, good, bytes);
        *counts[k] = UINT64_MAX;
        expect_forged(file, bytes, sizes);
        memcpy(file, good, bytes);
        *counts[k] += 64;
        expect_forged(file, bytes, length);
    }
    uint32_t *const facts[] = { &head->ids, &head->id_bytes, &head->kind };
    for (size_t k = 0; k < 3; k++) {
        memcpy(file, good, bytes);
        *facts[k] = 3;
        expect_forged(file, bytes, sizes);
    }
    memcpy(file, good, bytes);
    head->document_count = 0;
    expect_forged(file, bytes, sizes);
    free(file);
    free(good);
}
