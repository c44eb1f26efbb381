/* generator_score.c - measures how well a decoder predicts a text: nats a
 * token, perplexity, and bits a byte.
 *
 * The sequences are those of training, or of the text from its beginning, each
 * read by itself, and all of their targets count. What is left at the end of a
 * text is a shorter sequence; of the held-back part it is left out, as in the
 * training.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/corpus.h"
#include "formats/tokens/sequences.h"
#include "topology/predict/generator_internal.h"
#include "topology/run/resume.h"
#include "transport/socket/clock.h"

/* The negative log of the probability of `target`. */
static double
nats_of(const skn_kernels_t *kernels, float *logits, uint32_t ids,
        uint32_t target)
{
    double own = (double)logits[target];
    float greatest = kernels->row_max(logits, ids);
    double sum =
        (double)kernels->exp_weight_sum(logits, logits, NULL, ids, greatest);
    return (double)greatest + log(sum) - own;
}

/* Adds the nats of id[1 .. targets] after the ids before each. */
static skn_status_t
add_sequence(skn_generator_t *generator, const uint32_t *id, uint32_t targets,
             double *nats, skn_error_t *error)
{
    skn_decoder_reader_t *reader = &generator->reader;
    uint32_t ids = generator->info.ids;
    skn_status_t status = SKN_OK;
    reader->count = 0;
    while (reader->count < targets && status == SKN_OK) {
        uint32_t first = reader->count, left = targets - first;
        skn_decoder_read(reader, id + first,
                         left < SKN_DECODER_READ_MAX ? left
                                                     : SKN_DECODER_READ_MAX);
        for (uint32_t t = 0, rows; t < reader->fresh && status == SKN_OK;
             t += rows) {
            rows = reader->fresh - t < SKN_GENERATOR_LOGIT_ROWS
                       ? reader->fresh - t
                       : SKN_GENERATOR_LOGIT_ROWS;
            skn_decoder_logits(reader, t, rows, generator->logits);
            status = skn_generator_check(generator, (size_t)rows * ids, error);
            for (uint32_t k = 0; k < rows && status == SKN_OK; k++)
                *nats += nats_of(generator->network.decoder.kernels,
                                 generator->logits + k * (size_t)ids, ids,
                                 id[first + t + k + 1]);
        }
    }
    return status;
}

/* Adds the shorter sequence at the end of a text; `id` is scratch. */
static skn_status_t
add_rest(skn_generator_t *generator, const skn_sequences_t *sequences,
         uint32_t *id, double *nats, skn_text_score_t *score,
         skn_error_t *error)
{
    uint32_t targets = skn_sequences_read_rest(sequences, id);
    for (uint32_t k = 1; k <= targets; k++) {
        size_t bytes;
        (void)skn_tokenizer_text(generator->tokenizer, id[k], &bytes);
        score->bytes += bytes;
    }
    score->tokens += targets;
    return targets > 0 ? add_sequence(generator, id, targets, nats, error)
                       : SKN_OK;
}

static skn_status_t
add_all(skn_generator_t *generator, const skn_sequences_t *sequences,
        skn_text_score_t *score, skn_error_t *error)
{
    uint32_t *id = calloc((size_t)sequences->context + 1, sizeof(*id));
    uint64_t begin_ns = skn_monotonic_ns();
    skn_status_t status = SKN_OK;
    double nats = 0;
    if (!id)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a sequence");
    for (uint32_t k = 0; k < sequences->count && status == SKN_OK; k++) {
        skn_sequences_read(sequences, k, id);
        status = add_sequence(generator, id, sequences->context, &nats, error);
    }
    score->tokens = (uint64_t)sequences->count * sequences->context;
    score->bytes = skn_sequences_bytes(sequences, sequences->count);
    if (status == SKN_OK && !score->is_validation)
        status = add_rest(generator, sequences, id, &nats, score, error);
    free(id);
    score->nats = nats / (double)score->tokens;
    score->perplexity = exp(score->nats);
    score->bits_per_byte =
        score->bytes > 0 ? nats / ((double)score->bytes * log(2)) : 0;
    score->seconds =
        (double)(skn_monotonic_ns() - begin_ns) / (double)SKN_SECOND_NS;
    return status;
}

/* The run's own text has to be the one that was divided then: else tokens that
 * the run has trained on may validate it. */
static skn_status_t
check_same(const skn_generator_t *generator, const skn_tokens_t *tokens,
           const char *path, skn_error_t *error)
{
    const char *config = skn_run_folder_config(generator->trained.place.run);
    if (skn_resume_is_same(config, SKN_RESUME_DATA,
                           skn_tokens_info(tokens)->content_hash))
        return SKN_OK;
    (void)skn_fail(error, SKN_BAD_DATA,
                   "%.400s has changed since the run was started", path);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "give a text with --data, all of which is scored");
}

static skn_status_t
open_text(const skn_generator_t *generator, const char *text,
          skn_tokens_t **tokens, skn_error_t *error)
{
    const skn_model_data_t *data = &generator->trained.model->data;
    const skn_corpus_t corpus = {
        .tokenizer = data->tokenizer,
        .vocabulary = (uint32_t)data->vocabulary,
        /* The run's cache is that of the run's file; an evaluation leaves
         * nothing beside another one. */
        .cache = text ? "none" : data->cache,
    };
    skn_status_t status =
        skn_corpus_open(&corpus, text ? text : data->train, "train",
                        text ? generator->tokenizer : NULL, tokens, error);
    if (status == SKN_NO_INPUT && !text)
        return skn_fail_hint(error, status,
                             "give a text with --data, all of which is scored");
    if (status == SKN_OK && !text) /* first: another text has other words */
        status = check_same(generator, *tokens, data->train, error);
    return status == SKN_OK
               ? skn_tokenizer_check_ids(skn_tokens_tokenizer(*tokens),
                                         text ? text : data->train,
                                         generator->network.ids, error)
               : status;
}

skn_status_t
skn_generator_score(skn_generator_t *generator, const char *text,
                    skn_text_score_t *score, skn_error_t *error)
{
    if (skn_generator_refuse_null("skn_generator_score", !generator || !score,
                                  error) != SKN_OK)
        return SKN_USAGE;
    const skn_model_t *model = generator->trained.model;
    double share = text ? 0 : model->train.validate;
    skn_sequences_split_t split = { 0 };
    skn_tokens_t *tokens = NULL;
    *score = (skn_text_score_t){ .is_validation = !text };
    (void)snprintf(score->text, sizeof(score->text), "%s",
                   text ? text : model->data.train);
    if (!text && share <= 0) {
        (void)skn_fail(error, SKN_USAGE,
                       "the run held back no text (train.validate is 0)");
        return skn_fail_hint(error, SKN_USAGE, "give a text with --data");
    }
    skn_status_t status = open_text(generator, text, &tokens, error);
    if (status == SKN_OK && text)
        status = skn_sequences_whole(tokens, text, generator->info.context,
                                     &split.train, error);
    else if (status == SKN_OK)
        status = skn_sequences_split(
            tokens, score->text, generator->info.context, share,
            (uint64_t)model->train.seed, &split, error);
    if (status == SKN_OK)
        status = add_all(generator, text ? &split.train : &split.validate,
                         score, error);
    skn_sequences_split_fini(&split);
    skn_tokens_close(&tokens);
    /* The reader has read what was measured. */
    generator->reader.count = 0;
    generator->has_chosen = false;
    return status;
}
