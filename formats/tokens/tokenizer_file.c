/* tokenizer_file.c - reads and writes the file form of a tokenizer.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/tokenizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/source/stream.h"
#include "formats/tokens/pretokens.h"

/* The longest first line, with its NUL. */
#define FIRST_LINE_BYTES 80u
/* The longest file: all words of the greatest length. */
#define FILE_BYTES_MAX                                                         \
    (FIRST_LINE_BYTES + (size_t)SKN_VOCABULARY_MAX * (SKN_WORD_BYTES_MAX + 2))
#define READ_STEP_BYTES (1u << 16)

static int
first_line(char line[FIRST_LINE_BYTES], const char *kind, uint32_t ids,
           uint64_t hash)
{
    return snprintf(line, FIRST_LINE_BYTES,
                    "skein-tokenizer 1 %s %u %016" PRIx64 "\n", kind, ids,
                    hash);
}

char *
skn_tokenizer_write(const skn_tokenizer_t *tokenizer, size_t *bytes)
{
    char line[FIRST_LINE_BYTES];
    uint32_t ids = skn_tokenizer_ids(tokenizer);
    size_t at = (size_t)first_line(
        line, skn_tokenizer_names[skn_tokenizer_kind(tokenizer)], ids,
        skn_tokenizer_hash(tokenizer));
    size_t total = at + 1, word_bytes;
    for (uint32_t id = SKN_TOKEN_WORDS; id < ids; id++) {
        (void)skn_tokenizer_text(tokenizer, id, &word_bytes);
        total += word_bytes + 1;
    }
    char *text = malloc(total);
    if (!text)
        return NULL;
    memcpy(text, line, at);
    for (uint32_t id = SKN_TOKEN_WORDS; id < ids; id++) {
        const char *word = skn_tokenizer_text(tokenizer, id, &word_bytes);
        memcpy(text + at, word, word_bytes);
        at += word_bytes;
        text[at++] = '\n';
    }
    text[at] = '\0';
    *bytes = at;
    return text;
}

static skn_status_t
refuse(const char *name, const char *what, skn_error_t *error)
{
    (void)skn_fail(error, SKN_BAD_DATA, "%s: %s", skn_stream_name_shown(name),
                   what);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "copy the file again, or make it again by training");
}

/* Reads the first line; *at is then the byte after it. */
static skn_status_t
first_line_read(const char *name, const char *text, size_t bytes,
                skn_tokenizer_kind_t *kind, uint32_t *ids, size_t *at,
                skn_error_t *error)
{
    char line[FIRST_LINE_BYTES], again[FIRST_LINE_BYTES], word[9];
    const char *end =
        memchr(text, '\n',
               bytes < FIRST_LINE_BYTES - 1 ? bytes : FIRST_LINE_BYTES - 1);
    uint64_t hash;
    if (end) {
        *at = (size_t)(end - text) + 1;
        memcpy(line, text, *at);
        line[*at] = '\0';
    }
    if (!end || sscanf(line, "skein-tokenizer 1 %8[a-z] %9u %16" SCNx64, word,
                       ids, &hash) != 3)
        return refuse(name, "is not a tokenizer of Skein", error);
    (void)first_line(again, word, *ids, hash);
    *kind = 0;
    while (*kind < SKN_TOKENIZER_KIND_COUNT &&
           strcmp(word, skn_tokenizer_names[*kind]) != 0)
        (*kind)++;
    if (strcmp(line, again) != 0 || *kind == SKN_TOKENIZER_KIND_COUNT ||
        *ids < SKN_TOKEN_WORDS || *ids > SKN_VOCABULARY_MAX ||
        (*kind == SKN_TOKENIZER_BYTES && *ids != SKN_TOKEN_WORDS))
        return refuse(name, "the first line of the tokenizer is damaged",
                      error);
    if (XXH3_64bits(text + *at, bytes - *at) != hash)
        return refuse(name,
                      "the tokenizer is damaged: its hash is not that of the "
                      "first line",
                      error);
    return SKN_OK;
}

skn_tokenizer_t *
skn_tokenizer_read(const char *name, const char *text, size_t bytes,
                   skn_error_t *error)
{
    skn_tokenizer_kind_t kind = SKN_TOKENIZER_BYTES;
    uint32_t ids = 0, count = 0;
    size_t at = 0, used = 0;
    if (first_line_read(name, text, bytes, &kind, &ids, &at, error) != SKN_OK)
        return NULL;
    char *words = malloc(bytes - at + 1);
    uint32_t *offset =
        malloc((ids - SKN_TOKEN_WORDS + (size_t)1) * sizeof(*offset));
    skn_tokenizer_t *tokenizer = NULL;
    if (!words || !offset) {
        (void)skn_fail(error, SKN_NO_MEMORY, "%s: no memory to read it",
                       skn_stream_name_shown(name));
        goto done;
    }
    offset[0] = 0;
    while (at < bytes && count < ids - SKN_TOKEN_WORDS) {
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t word_bytes = (size_t)(end ? end - text : (ptrdiff_t)bytes) - at;
        if (!end || word_bytes > SKN_WORD_BYTES_MAX + 1)
            break;
        memcpy(words + used, text + at, word_bytes);
        used += word_bytes;
        at += word_bytes + 1;
        offset[++count] = (uint32_t)used;
    }
    if (at != bytes || count != ids - SKN_TOKEN_WORDS)
        (void)refuse(name,
                     "the words of the tokenizer are not those that its first "
                     "line counts",
                     error);
    else
        tokenizer = skn_tokenizer_new(name, kind, words, offset, count, error);
done:
    free(words);
    free(offset);
    return tokenizer;
}

skn_tokenizer_t *
skn_tokenizer_open(const char *path, skn_error_t *error)
{
    skn_stream_t *stream;
    skn_tokenizer_t *tokenizer = NULL;
    char *text = NULL;
    size_t bytes = 0, room = 0, got = 1;
    if (skn_stream_open(path, &stream, error) != SKN_OK)
        return NULL;
    while (got > 0 && bytes <= FILE_BYTES_MAX) {
        if (room - bytes < READ_STEP_BYTES) {
            room = 2 * room + READ_STEP_BYTES;
            char *more = realloc(text, room);
            if (!more) {
                (void)skn_fail(error, SKN_NO_MEMORY, "%s: no memory to read it",
                               skn_stream_name_shown(path));
                goto done;
            }
            text = more;
        }
        if (skn_stream_read(stream, text + bytes, room - bytes, &got, error) !=
            SKN_OK)
            goto done;
        bytes += got;
    }
    if (bytes > FILE_BYTES_MAX)
        (void)refuse(path, "is too long for a tokenizer", error);
    else
        tokenizer = skn_tokenizer_read(path, text, bytes, error);
done:
    free(text);
    skn_stream_close(&stream);
    return tokenizer;
}
