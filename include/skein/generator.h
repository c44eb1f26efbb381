/* generator.h - continues text with a trained decoder, measures text with it,
 * and exports it for other programs, as `skein generate`, `eval` and `export`
 * do.
 *
 *     skn_generator_t *generator = skn_generator_open("runs/x", NULL, &error);
 *     skn_token_choice_t choice = SKN_ZERO; // greedy
 *     skn_generated_t token = SKN_ZERO;
 *     status = skn_generator_prompt(generator, "Once", 4, &count, &dropped,
 *                                   &error);
 *     while (status == SKN_OK && !token.is_end) {
 *         status = skn_generator_next(generator, &choice, &token, &error);
 *         if (status == SKN_OK)
 *             fwrite(token.text, 1, token.bytes, stdout);
 *     }
 *     skn_generator_close(&generator);
 *
 * It needs a run folder, which has the tokenizer, and no corpus, except to
 * measure the text that the run held back. A generator belongs to one thread at
 * a time. SKN_USAGE for a NULL.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_GENERATOR_H
#define SKEIN_GENERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"
#include "skein/limits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How tokens are chosen: by softmax(logits / temperature), cut to the top_k
 * likeliest ones (Fan et al. 2018), and of these to the fewest whose
 * probabilities sum to top_p (Holtzman et al. 2020). */
typedef struct skn_token_choice {
    double temperature; /* at least 0; 0: the likeliest token, the lowest id of
                         * equal ones, and the rest does not matter */
    double top_p;       /* 0..1; 0, as 1: all */
    uint64_t seed;
    uint32_t top_k; /* 0: all */
} skn_token_choice_t;

typedef struct skn_generator skn_generator_t;

typedef struct skn_generator_info {
    const char *path;    /* of the checkpoint */
    const char *run_id;  /* 32 hex digits */
    const char *warning; /* a newer checkpoint that is damaged; or "" */
    uint64_t batch;
    uint64_t parameter_count;
    uint32_t ids, context; /* of tokens; tokens of the longest sequence */
} skn_generator_info_t;

/* Opens the model at `path`: a run folder (its `best` checkpoint if it has one,
 * else the newest that is whole) or a checkpoint; *info, unless `info` is NULL,
 * describes it as long as the generator lives. NULL and SKN_USAGE if it is not
 * a decoder; SKN_NO_INPUT, SKN_BAD_DATA, SKN_NO_MEMORY. */
SKN_API skn_generator_t *skn_generator_open(const char *path,
                                            const skn_generator_info_t **info,
                                            skn_error_t *error);
/* Frees, sets *generator to NULL. *generator may be NULL already. */
SKN_API void skn_generator_close(skn_generator_t **generator);
/* Begins a text with the prompt of `bytes` bytes; an empty one is the end of
 * another document. *dropped: tokens at the beginning of *count that the
 * context has no room for. SKN_NO_MEMORY. */
SKN_API skn_status_t skn_generator_prompt(skn_generator_t *generator,
                                          const char *text, size_t bytes,
                                          uint64_t *count, uint64_t *dropped,
                                          skn_error_t *error);

typedef struct skn_generated {
    uint32_t id;
    bool is_end;      /* the document ends here */
    const char *text; /* lives as long as the generator; no NUL */
    size_t bytes;
} skn_generated_t;

/* Chooses the next token of the text; after one with is_end, the first of
 * another document. Where the context is full, the older half of it is
 * forgotten. SKN_USAGE without a prompt before, or if a number of
 * `choice` is out of range; SKN_BAD_DATA: the logits are not finite. */
SKN_API skn_status_t skn_generator_next(skn_generator_t *generator,
                                        const skn_token_choice_t *choice,
                                        skn_generated_t *token,
                                        skn_error_t *error);

/* How well the model predicts a text. */
typedef struct skn_text_score {
    uint64_t tokens, bytes; /* that were predicted, each in its sequence */
    double nats;            /* a token */
    double perplexity, bits_per_byte;
    double seconds;
    char text[SKN_TEXT_MAX]; /* file or folder */
    bool is_validation;      /* the held-back part of it */
} skn_text_score_t;

/* Measures the part of its training text that the run held back, or the file or
 * folder `text`, unless it is NULL, with what is left of it at the end as a
 * shorter sequence; writes no file. It ends the text that the generator was
 * continuing: call skn_generator_prompt before the next token. The statuses of
 * skn_tokens_open; SKN_USAGE if the run held nothing back; SKN_BAD_DATA if its
 * text has changed since, or `text` has no token to predict. */
SKN_API skn_status_t skn_generator_score(skn_generator_t *generator,
                                         const char *text,
                                         skn_text_score_t *score,
                                         skn_error_t *error);

/* Writes model.safetensors and config.json, by the names of Llama's
 * checkpoints, and the tokenizer into the folder `path`, which is made if it is
 * not there. After a failure none of them is there; the model comes last, so
 * that an export that was killed is complete if it is there. SKN_CANNOT_CREATE
 * if it has one of them already; SKN_STORAGE. */
SKN_API skn_status_t skn_generator_export(const skn_generator_t *generator,
                                          const char *path, skn_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
