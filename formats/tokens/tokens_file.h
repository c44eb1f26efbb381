/* tokens_file.h - a token file: layout, checks and building.
 *
 * For tokens*.c only.
 *
 *     head        256 bytes, below
 *     tokenizer   its file form (tokenizer.h); padded to a multiple of 64
 *                 bytes, like the next
 *     ids         u16 or u32 [token_count]: the smaller one in which all ids of
 *                 the tokenizer fit
 *     offsets     u64 [document_count + 1], the document's first token
 *     hashes      u64 [document_count], XXH3 of the document's text
 *     frequency   u32 [ids]
 *
 * Numbers are in the byte order of the machine, which the head names.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TOKENS_TOKENS_FILE_H
#define FORMATS_TOKENS_TOKENS_FILE_H

#include "formats/source/files.h"
#include "formats/tokens/text_scan.h"
#include "formats/tokens/tokens.h"

#define SKN_TOKENS_MAGIC "SKEIN\0tk" /* with a NUL: not a text file */
#define SKN_TOKENS_VERSION 1u
#define SKN_TOKENS_BYTE_ORDER 0x01020304u

typedef struct skn_tokens_head {
    char magic[8]; /* SKN_TOKENS_MAGIC */
    uint32_t version, byte_order;
    uint64_t file_bytes;
    uint64_t fingerprint; /* skn_files_t */
    /* The tokenizer that was learned: its kind and the ids that were asked for;
     * learned_ids 0: it was given. */
    uint32_t kind, learned_ids;
    uint64_t tokenizer_hash, content_hash;
    uint64_t tokenizer_bytes, token_count, document_count, text_bytes;
    uint64_t skipped_count;
    uint32_t ids, id_bytes; /* of the tokenizer; 2 or 4 */
    uint64_t payload_hash;  /* XXH3 of everything after the head */
    /* The end of the path of the first file that is not text; "" if there is
     * none, or the token file is older than this field. */
    char first_skipped[SKN_TOKENS_NAME_BYTES];
    uint64_t head_hash; /* XXH3 of the head before this field */
} skn_tokens_head_t;
_Static_assert(sizeof(skn_tokens_head_t) == 256, "the head of the file");

/* The offsets of the parts in bytes. */
typedef struct skn_tokens_layout {
    uint64_t tokenizer_at, id_at, offset_at, hash_at, frequency_at, file_bytes;
} skn_tokens_layout_t;

/* Valid for counts below 2^60 and tokenizer_bytes below 2^60. */
skn_tokens_layout_t skn_tokens_layout(const skn_tokens_head_t *head);
uint64_t skn_tokens_head_hash(const skn_tokens_head_t *head);
/* The bytes of an id where there are `ids` of them. */
static inline uint32_t
skn_tokens_id_bytes(uint32_t ids)
{
    return ids <= UINT16_MAX + 1u ? sizeof(uint16_t) : sizeof(uint32_t);
}

/* NULL if the head of a file of `file_bytes` bytes, of which there may be fewer
 * than a head has, is of this version and undamaged, with parts that fill the
 * file exactly; else what is wrong, as the rest of a sentence. */
const char *skn_tokens_head_fault(const void *file, uint64_t file_bytes);
/* The same for everything after a good head, except the tokenizer: it is in
 * bounds, agrees with the head, and has its checksum. */
const char *skn_tokens_body_fault(const void *file);

/* Reads the texts and writes a whole token file to the empty file. Does not
 * sync. `name` is the corpus in sentences. */
skn_status_t skn_tokens_build(const char *name, const skn_files_t *texts,
                              const skn_tokens_options_t *options,
                              skn_cache_temp_t *temp, skn_error_t *error);

/* The ids that were asked for; 0: the tokenizer was given. */
static inline uint32_t
skn_tokens_learned_ids(const skn_tokens_options_t *options)
{
    if (options->tokenizer)
        return 0;
    return options->kind == SKN_TOKENIZER_BYTES ? SKN_TOKEN_WORDS
                                                : options->vocabulary;
}

#endif
