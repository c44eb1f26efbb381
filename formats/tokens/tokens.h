/* tokens.h - opens text as an array of token ids, mapped into memory.
 *
 * The first open reads the text, learns the tokenizer if it has to, and writes
 * a token file, which is a cache (formats/source/cache.h); later ones map it.
 * A token file is used only if it is whole (a checksum over all of it), in
 * bounds, and made of these texts (names, sizes, times of change) with this
 * tokenizer; else it is silently made again. It has the tokenizer in it, so
 * that it can be used without the texts: where the source is itself a token
 * file, it is mapped as it is.
 *
 * Every document ends with SKN_TOKEN_END. Memory does not grow with the texts,
 * except by their names and 33 bytes a file. An open array can be used from any
 * thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TOKENS_TOKENS_H
#define FORMATS_TOKENS_TOKENS_H

#include "formats/source/cache.h"
#include "formats/tokens/tokenizer.h"

typedef struct skn_tokens skn_tokens_t;

/* The end of a path, with its NUL: what the head of a token file has room
 * for. */
#define SKN_TOKENS_NAME_BYTES 136u

/* { 0 } has the defaults: bytes, in a cache beside the source. */
typedef struct skn_tokens_options {
    skn_cache_place_t cache;
    const char *cache_path;
    /* Learned from the texts. For words: `vocabulary` ids at most, bytes and
     * end included, more than SKN_TOKEN_WORDS. */
    skn_tokenizer_kind_t kind;
    uint32_t vocabulary;
    const skn_tokenizer_t *tokenizer; /* not NULL: this one, and none is
                                       * learned */
} skn_tokens_options_t;

/* Lives as long as the tokens. */
typedef struct skn_tokens_info {
    uint64_t token_count, document_count;
    uint64_t text_bytes;       /* unpacked */
    uint64_t skipped_count;    /* files in folders that are not text */
    const char *first_skipped; /* the end of the first one's path, or "" */
    uint32_t ids;              /* of the tokenizer */
    const uint32_t *frequency; /* [ids] tokens; UINT32_MAX: at least that */
    /* XXH3, 64 bits, of the documents' texts and their order, and of the
     * tokenizer: equal for equal tokens, wherever the texts are and whatever
     * they are packed with. */
    uint64_t content_hash;
    uint64_t mapped_bytes;  /* mapped while it is open */
    const char *cache_path; /* NULL: the token file is anonymous */
} skn_tokens_info_t;

/* Opens the files of `source` (formats/source/files.h). If this process has it
 * open with the same options, and its files have the same names, sizes and
 * times, the array is shared: nothing is read, checked or made again.
 * SKN_NO_INPUT,
 * SKN_NO_PERMISSION, SKN_BAD_DATA (no text, not UTF-8, a damaged token file,
 * another tokenizer), SKN_STORAGE (also a full disk), SKN_CANNOT_CREATE,
 * SKN_NO_MEMORY, SKN_BUSY (a text changed while it was read) leave *tokens NULL
 * and no temporary file. */
skn_status_t skn_tokens_open(const char *source,
                             const skn_tokens_options_t *options,
                             skn_tokens_t **tokens, skn_error_t *error);
/* Sets *tokens to NULL, which it may be already; the last of those who share it
 * unmaps it. */
void skn_tokens_close(skn_tokens_t **tokens);

const skn_tokens_info_t *skn_tokens_info(const skn_tokens_t *tokens);
/* Lives as long as the tokens. */
const skn_tokenizer_t *skn_tokens_tokenizer(const skn_tokens_t *tokens);
/* Copies the ids [at, at + count) of token_count to id[count]. */
void skn_tokens_read(const skn_tokens_t *tokens, uint64_t at, size_t count,
                     uint32_t *id);
/* The first token of document `at` <= document_count, and for document_count
 * the number of all tokens. */
uint64_t skn_tokens_document(const skn_tokens_t *tokens, uint64_t at);
/* XXH3, 64 bits, of the text of document `at` < document_count. */
uint64_t skn_tokens_document_hash(const skn_tokens_t *tokens, uint64_t at);

#endif
