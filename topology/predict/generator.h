/* generator.h - a trained decoder that continues text, measures text, and is
 * exported for other programs.
 *
 * It needs a run folder and no corpus: the tokenizer is in the folder. One
 * thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_GENERATOR_H
#define TOPOLOGY_PREDICT_GENERATOR_H

#include "actors/predict/token_choice.h"
#include "topology/run/trained.h"

typedef struct skn_generator skn_generator_t;

/* Lives as long as the generator. */
typedef struct skn_generator_info {
    const char *path;    /* of the checkpoint */
    const char *run_id;  /* 32 hex digits */
    const char *warning; /* skn_trained_t.warning */
    uint64_t batch;
    uint64_t parameter_count;
    uint32_t ids, context; /* of tokens; tokens of the longest sequence */
} skn_generator_info_t;

/* Whether the model at `path` is a decoder; *is_decoder is set if it can be
 * found. As skn_trained_find. */
skn_status_t skn_generator_suits(const char *path, bool *is_decoder,
                                 skn_error_t *error);
/* Opens the model at `path` (skn_trained_find). NULL and SKN_USAGE if it is not
 * a decoder; SKN_NO_INPUT, SKN_BAD_DATA, SKN_NO_MEMORY. */
skn_generator_t *skn_generator_open(const char *path, skn_error_t *error);
/* Frees, sets *generator to NULL. *generator may be NULL already. */
void skn_generator_close(skn_generator_t **generator);
const skn_generator_info_t *skn_generator_info(
    const skn_generator_t *generator);

/* Begins a text with the prompt of `bytes` bytes; an empty one is the end of
 * another document. *dropped: tokens at the beginning of *count that the
 * context has no room for. SKN_NO_MEMORY. */
skn_status_t skn_generator_prompt(skn_generator_t *generator, const char *text,
                                  size_t bytes, uint64_t *count,
                                  uint64_t *dropped, skn_error_t *error);

typedef struct skn_generated {
    uint32_t id;
    bool is_end;      /* the document ends here */
    const char *text; /* lives as long as the generator; no NUL */
    size_t bytes;
} skn_generated_t;

/* Chooses the next token of the text. Where the context is full, the older half
 * of it is forgotten. SKN_BAD_DATA: the logits are not finite. */
skn_status_t skn_generator_next(skn_generator_t *generator,
                                const skn_token_choice_t *choice,
                                skn_generated_t *token, skn_error_t *error);

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
 * folder `text`, unless it is NULL. The statuses of skn_tokens_open; SKN_USAGE
 * if the run held nothing back; SKN_BAD_DATA if its text is another one by
 * now, or `text` is shorter than one sequence. */
skn_status_t skn_generator_score(skn_generator_t *generator, const char *text,
                                 skn_text_score_t *score, skn_error_t *error);

/* Writes model.safetensors and config.json, by the names of Llama's
 * checkpoints, and the tokenizer into the folder `path`, which is made if it is
 * not there. SKN_CANNOT_CREATE if it has one of them already; SKN_STORAGE. */
skn_status_t skn_generator_export(const skn_generator_t *generator,
                                  const char *path, skn_error_t *error);

#endif
