/* fuzz_tokens.c - feeds any bytes to the reader of a token file.
 *
 * The checksums are corrected first, as an attacker would do: a file that the
 * check then accepts must be within its bounds, with every id below the number
 * in the head; its tokenizer is read, too.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/tokens/tokens_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void
require(bool promise)
{
    if (!promise)
        __builtin_trap();
}

/* Uses the numbers that were read, so that the compiler keeps the reads. */
static volatile uint64_t reads;

/* Reads every token and every document; the sanitizer watches. */
static void
tokens_require(const uint8_t *file)
{
    const skn_tokens_head_t *head = (const void *)file;
    skn_tokens_layout_t layout = skn_tokens_layout(head);
    const uint64_t *offset = (const void *)(file + layout.offset_at);
    const uint64_t *hash = (const void *)(file + layout.hash_at);
    const uint32_t *frequency = (const void *)(file + layout.frequency_at);
    uint64_t sum = 0;
    for (uint64_t k = 0; k < head->document_count; k++) {
        sum += hash[k];
        for (uint64_t at = offset[k]; at < offset[k + 1]; at++) {
            uint32_t id = 0; /* little endian: the low bytes come first */
            memcpy(&id, file + layout.id_at + at * head->id_bytes,
                   head->id_bytes);
            require(at < head->token_count && id < head->ids);
        }
    }
    for (uint32_t id = 0; id < head->ids; id++)
        sum += frequency[id];
    skn_tokenizer_t *tokenizer =
        skn_tokenizer_read("fuzz", (const char *)file + layout.tokenizer_at,
                           (size_t)head->tokenizer_bytes, NULL);
    skn_tokenizer_destroy(&tokenizer);
    reads = sum;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    /* A copy of exactly this size: a read behind it is seen. */
    uint8_t *file = malloc(count + (count == 0));
    if (!file)
        return 0;
    memcpy(file, bytes, count);
    if (count < sizeof(skn_tokens_head_t)) {
        require(skn_tokens_head_fault(file, count));
        free(file);
        return 0;
    }
    skn_tokens_head_t *head = (void *)file;
    memcpy(head->magic, SKN_TOKENS_MAGIC, sizeof(head->magic));
    head->version = SKN_TOKENS_VERSION;
    head->byte_order = SKN_TOKENS_BYTE_ORDER;
    head->file_bytes = count;
    head->payload_hash =
        XXH3_64bits(file + sizeof(*head), count - sizeof(*head));
    head->head_hash = skn_tokens_head_hash(head);
    if (!skn_tokens_head_fault(file, count) && !skn_tokens_body_fault(file))
        tokens_require(file);
    free(file);
    return 0;
}
