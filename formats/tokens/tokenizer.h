/* tokenizer.h - turns text into token ids and back, exactly.
 *
 * Ids 0 to 255 are the bytes, SKN_TOKEN_END ends a document, and the ids from
 * SKN_TOKEN_WORDS on are words (pretokens.h): the most frequent ones of the
 * corpus that they were learned from. Every text, also one that is not UTF-8,
 * can be encoded, and decoding gives the same bytes back: a word that has no id
 * is spelled in bytes. There are two kinds: `bytes` has no words.
 *
 * The file form is text: a line
 *
 *     skein-tokenizer 1 KIND IDS HASH
 *
 * and then one word a line, in the order of the ids. HASH is XXH3, 64 bits, of
 * all lines after the first, in 16 hex digits.
 *
 * A tokenizer never changes: any number of threads may use it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TOKENS_TOKENIZER_H
#define FORMATS_TOKENS_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

#define SKN_TOKEN_END 256u   /* the end of a document; it has no bytes */
#define SKN_TOKEN_WORDS 257u /* the first word */
/* 2^20: an embedding of more words is seldom useful, since the last ones occur
 * a few times in a corpus of gigabytes. */
#define SKN_VOCABULARY_MAX (1u << 20)

typedef enum skn_tokenizer_kind {
    SKN_TOKENIZER_BYTES,
    SKN_TOKENIZER_WORDS,
    SKN_TOKENIZER_KIND_COUNT
} skn_tokenizer_kind_t;
/* "bytes", "words". */
extern const char *const skn_tokenizer_names[SKN_TOKENIZER_KIND_COUNT];

typedef struct skn_tokenizer skn_tokenizer_t;

/* A tokenizer of `count` words, each once, whose bytes are `text`, one after
 * the other: word k is [offset[k], offset[k + 1]). It copies them. NULL:
 * SKN_BAD_DATA, naming `name`, if a word is not one pretoken or occurs twice,
 * or there are too many; SKN_NO_MEMORY. */
skn_tokenizer_t *skn_tokenizer_new(const char *name, skn_tokenizer_kind_t kind,
                                   const char *text, const uint32_t *offset,
                                   uint32_t count, skn_error_t *error);
/* Frees, sets *tokenizer to NULL. *tokenizer may be NULL already. */
void skn_tokenizer_destroy(skn_tokenizer_t **tokenizer);

skn_tokenizer_kind_t skn_tokenizer_kind(const skn_tokenizer_t *tokenizer);
/* All ids are below it: SKN_TOKEN_WORDS and the number of words. */
uint32_t skn_tokenizer_ids(const skn_tokenizer_t *tokenizer);
/* XXH3, 64 bits, of the words: equal for equal tokenizers. */
uint64_t skn_tokenizer_hash(const skn_tokenizer_t *tokenizer);

/* Encodes `bytes` bytes of `text` into id[bytes] and returns the number of ids;
 * there is none for the end. With is_end false more text will follow, and up to
 * SKN_PRETOKEN_BYTES_MAX - 1 bytes at the end are left, which the caller gives
 * again with what follows: *used are the bytes that were encoded. The ids do
 * not depend on how a text is divided. */
size_t skn_tokenizer_encode(const skn_tokenizer_t *tokenizer, const char *text,
                            size_t bytes, bool is_end, uint32_t *id,
                            size_t *used);
/* The bytes of one id, which lives as long as the tokenizer; none for
 * SKN_TOKEN_END, and for an id that the tokenizer does not have. */
const char *skn_tokenizer_text(const skn_tokenizer_t *tokenizer, uint32_t id,
                               size_t *bytes);

/* The file form, for free(), with a NUL that *bytes leaves out. NULL: no
 * memory. */
char *skn_tokenizer_write(const skn_tokenizer_t *tokenizer, size_t *bytes);
/* Reads a file form of `bytes` bytes; `name` is the file in sentences. NULL:
 * SKN_BAD_DATA, SKN_NO_MEMORY. */
skn_tokenizer_t *skn_tokenizer_read(const char *name, const char *text,
                                    size_t bytes, skn_error_t *error);
/* Reads the file `path`. As skn_tokenizer_read; SKN_NO_INPUT,
 * SKN_NO_PERMISSION, SKN_STORAGE. */
skn_tokenizer_t *skn_tokenizer_open(const char *path, skn_error_t *error);
/* Adds a sentence to `error` unless the tokenizer has `wanted` ids:
 * SKN_BAD_DATA. `name` is the file or folder that it came with. */
skn_status_t skn_tokenizer_check_ids(const skn_tokenizer_t *tokenizer,
                                     const char *name, uint32_t wanted,
                                     skn_error_t *error);

#endif
