/* tokens_check.c - checks that a token file is sound before it is used.
 *
 * A token file is input like any other: the size of every part, every offset
 * and every id is compared with its bound, after the checksum: two passes at
 * the speed of memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/tokens_file.h"

#include <stddef.h>
#include <string.h>

#include <xxhash.h>

/* No file is that long; sums of a few such sizes do not overflow. */
#define COUNT_MAX (UINT64_C(1) << 56)

static uint64_t
part_align(uint64_t bytes)
{
    return (bytes + 63) & ~(uint64_t)63;
}

skn_tokens_layout_t
skn_tokens_layout(const skn_tokens_head_t *head)
{
    skn_tokens_layout_t layout = { .tokenizer_at = sizeof(*head) };
    layout.id_at = part_align(layout.tokenizer_at + head->tokenizer_bytes);
    layout.offset_at =
        part_align(layout.id_at + head->token_count * head->id_bytes);
    layout.hash_at = part_align(layout.offset_at +
                                (head->document_count + 1) * sizeof(uint64_t));
    layout.frequency_at =
        part_align(layout.hash_at + head->document_count * sizeof(uint64_t));
    layout.file_bytes =
        layout.frequency_at + (uint64_t)head->ids * sizeof(uint32_t);
    return layout;
}

uint64_t
skn_tokens_head_hash(const skn_tokens_head_t *head)
{
    return XXH3_64bits(head, offsetof(skn_tokens_head_t, head_hash));
}

const char *
skn_tokens_head_fault(const void *file, uint64_t file_bytes)
{
    const skn_tokens_head_t *head = file;
    if (file_bytes < sizeof(head->magic) ||
        memcmp(head->magic, SKN_TOKENS_MAGIC, sizeof(head->magic)) != 0)
        return "is not a token file";
    if (file_bytes < sizeof(*head))
        return "the token file is truncated";
    if (head->version != SKN_TOKENS_VERSION)
        return "the token file has another version";
    if (head->byte_order != SKN_TOKENS_BYTE_ORDER)
        return "the token file is from a machine of another byte order";
    if (head->head_hash != skn_tokens_head_hash(head))
        return "the head of the token file is damaged";
    if (head->ids < SKN_TOKEN_WORDS || head->ids > SKN_VOCABULARY_MAX ||
        head->id_bytes != skn_tokens_id_bytes(head->ids) ||
        head->kind >= SKN_TOKENIZER_KIND_COUNT ||
        head->tokenizer_bytes > COUNT_MAX || head->token_count > COUNT_MAX ||
        head->document_count > COUNT_MAX || head->document_count == 0 ||
        !memchr(head->first_skipped, '\0', sizeof(head->first_skipped)))
        return "the head of the token file has impossible sizes";
    if (skn_tokens_layout(head).file_bytes != file_bytes ||
        head->file_bytes != file_bytes)
        return "the token file is truncated, or too long";
    return NULL;
}

/* Whether every one of id[count] is below `ids`. */
static bool
ids_below(const uint8_t *id, uint64_t count, uint32_t id_bytes, uint32_t ids)
{
    uint32_t greatest = 0;
    if (id_bytes == sizeof(uint16_t)) {
        const uint16_t *short_id = (const void *)id;
        for (uint64_t k = 0; k < count; k++)
            greatest = short_id[k] > greatest ? short_id[k] : greatest;
    } else {
        const uint32_t *long_id = (const void *)id;
        for (uint64_t k = 0; k < count; k++)
            greatest = long_id[k] > greatest ? long_id[k] : greatest;
    }
    return greatest < ids;
}

static uint32_t
id_at(const skn_tokens_head_t *head, const uint8_t *id, uint64_t at)
{
    return head->id_bytes == sizeof(uint16_t)
               ? ((const uint16_t *)(const void *)id)[at]
               : ((const uint32_t *)(const void *)id)[at];
}

/* Whether the documents follow one another, fill the ids, and end with the end
 * of a document. */
static bool
documents_fill(const skn_tokens_head_t *head, const uint8_t *id,
               const uint64_t *offset)
{
    if (offset[0] != 0 || offset[head->document_count] != head->token_count)
        return false;
    for (uint64_t k = 0; k < head->document_count; k++)
        if (offset[k + 1] <= offset[k] || offset[k + 1] > head->token_count ||
            id_at(head, id, offset[k + 1] - 1) != SKN_TOKEN_END)
            return false;
    return true;
}

const char *
skn_tokens_body_fault(const void *file)
{
    const uint8_t *byte = file;
    const skn_tokens_head_t *head = file;
    skn_tokens_layout_t layout = skn_tokens_layout(head);
    if (XXH3_64bits(byte + sizeof(*head), layout.file_bytes - sizeof(*head)) !=
        head->payload_hash)
        return "the token file is damaged: its checksum is wrong";
    if (!ids_below(byte + layout.id_at, head->token_count, head->id_bytes,
                   head->ids))
        return "the token file has an id that its tokenizer does not have";
    if (!documents_fill(head, byte + layout.id_at,
                        (const void *)(byte + layout.offset_at)))
        return "the documents of the token file do not fill it";
    return NULL;
}
