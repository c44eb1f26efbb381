/* word_counts.c - counts the words of a corpus and takes the most frequent
 * ones; reads no file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/word_counts.h"

#include <stdlib.h>
#include <string.h>

#include "formats/text/tally.h"
#include "formats/tokens/pretokens.h"

/* A word that occurs less often has no id. */
#define COUNT_MIN 2u

struct skn_word_counts {
    skn_tally_t *words;
};

skn_word_counts_t *
skn_word_counts_new(size_t room)
{
    skn_word_counts_t *counts = calloc(1, sizeof(*counts));
    if (!counts)
        return NULL;
    counts->words = skn_tally_new(room);
    if (!counts->words)
        skn_word_counts_destroy(&counts);
    return counts;
}

void
skn_word_counts_destroy(skn_word_counts_t **counts)
{
    if (*counts)
        skn_tally_destroy(&(*counts)->words);
    free(*counts);
    *counts = NULL;
}

skn_status_t
skn_word_counts_add(skn_word_counts_t *counts, const char *text, size_t bytes,
                    bool is_end, size_t *used, skn_error_t *error)
{
    size_t at = 0;
    while (at < bytes && (is_end || bytes - at >= SKN_PRETOKEN_BYTES_MAX)) {
        skn_pretoken_t pretoken = skn_pretoken_next(text + at, text + bytes);
        if (pretoken.is_word &&
            !skn_tally_add(counts->words, text + at, pretoken.bytes, 0))
            return skn_fail(error, SKN_NO_MEMORY, "no memory to count words");
        at += pretoken.bytes;
    }
    *used = at;
    return SKN_OK;
}

skn_tokenizer_t *
skn_word_counts_take(const skn_word_counts_t *counts, const char *name,
                     uint32_t words, skn_error_t *error)
{
    size_t found = 0, bytes = 0;
    skn_tally_entry_t *word =
        skn_tally_take(counts->words, COUNT_MIN, words, &found);
    uint32_t *offset = malloc((found + 1) * sizeof(*offset));
    char *text = malloc(found * SKN_PRETOKEN_BYTES_MAX + 1);
    skn_tokenizer_t *tokenizer = NULL;
    if (!word || !offset || !text) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory to sort words");
        goto done;
    }
    offset[0] = 0;
    for (size_t k = 0; k < found; k++) {
        memcpy(text + bytes, word[k].at, word[k].bytes);
        bytes += word[k].bytes;
        offset[k + 1] = (uint32_t)bytes;
    }
    tokenizer = skn_tokenizer_new(name, SKN_TOKENIZER_WORDS, text, offset,
                                  (uint32_t)found, error);
done:
    free(word);
    free(offset);
    free(text);
    return tokenizer;
}
