/* corpus.c - opens and hashes the text of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/corpus.h"

#include <stdio.h>
#include <string.h>

#include "skein/limits.h"

skn_corpus_t
skn_corpus_of(const skn_actor_t *actor)
{
    return (skn_corpus_t){
        .tokenizer = skn_actor_option_text(actor, "tokenizer"),
        .vocabulary = (uint32_t)skn_actor_option_int(actor, "vocabulary"),
        .cache = skn_actor_option_text(actor, "cache"),
    };
}

/* Not symmetric: training and test text must not be swapped. */
uint64_t
skn_corpus_hash(uint64_t before, const skn_tokens_t *tokens)
{
    return before * UINT64_C(0x9e3779b97f4a7c15) +
           skn_tokens_info(tokens)->content_hash;
}

/* Whether `word` is the name of a tokenizer that is learned. */
static bool
is_learned(const char *word, skn_tokenizer_kind_t *kind)
{
    for (*kind = 0; *kind < SKN_TOKENIZER_KIND_COUNT; (*kind)++)
        if (strcmp(word, skn_tokenizer_names[*kind]) == 0)
            return true;
    *kind = 0;
    return false;
}

skn_status_t
skn_corpus_open(const skn_corpus_t *corpus, const char *path, const char *which,
                const skn_tokenizer_t *trained, skn_tokens_t **tokens,
                skn_error_t *error)
{
    char copy[SKN_TEXT_MAX];
    skn_error_t own = { 0 };
    skn_tokenizer_t *read = NULL;
    skn_tokens_options_t options = { .vocabulary = corpus->vocabulary };
    *tokens = NULL;
    error = error ? error : &own;
    if (!is_learned(corpus->tokenizer, &options.kind) && !trained) {
        read = skn_tokenizer_open(corpus->tokenizer, error);
        if (!read && error->status == SKN_NO_INPUT)
            return skn_fail_hint(error, SKN_NO_INPUT,
                                 "a tokenizer is bytes, words, or the path of "
                                 "a tokenizer's file");
        if (!read)
            return error->status;
    }
    options.tokenizer = trained ? trained : read;
    if (strcmp(corpus->cache, "none") == 0) {
        options.cache = SKN_CACHE_ANONYMOUS;
    } else if (strcmp(corpus->cache, "auto") != 0) {
        (void)snprintf(copy, sizeof(copy), "%s-%s.skt", corpus->cache, which);
        options.cache = SKN_CACHE_PATH;
        options.cache_path = copy;
    }
    skn_status_t status = skn_tokens_open(path, &options, tokens, error);
    skn_tokenizer_destroy(&read);
    return status;
}
