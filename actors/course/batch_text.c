/* batch_text.c - the sequences of a text as the items of batches.
 *
 * A token of a sequence is one point: its feature is its id, with the value 1,
 * and its label is the id of the token after it. A batch has whole sequences,
 * and training drops those at the end of an epoch that fill no batch: the order
 * of the next epoch is another one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/course/batch_items.h"

#include <stdlib.h>

#include "actors/protocol/corpus.h"

typedef struct batch_text {
    skn_tokens_t *train, *test; /* test: NULL if there is none */
    skn_sequences_split_t split, tested;
    uint32_t *id; /* [batch_rows / context][context + 1], of this batch */
} batch_text_t;

static const float one = 1;

static skn_status_t
open_one(const skn_batches_t *batches, const skn_corpus_t *how,
         const char *path, const char *which, const skn_tokenizer_t *trained,
         skn_tokens_t **tokens, skn_error_t *error)
{
    skn_status_t status =
        skn_corpus_open(how, path, which, trained, tokens, error);
    if (status == SKN_OK)
        status = skn_tokenizer_check_ids(skn_tokens_tokenizer(*tokens), path,
                                         batches->feature_count, error);
    if (status == SKN_OK)
        status = skn_tokenizer_check_ids(skn_tokens_tokenizer(*tokens), path,
                                         batches->label_count, error);
    return status;
}

static skn_status_t
open_files(skn_batches_t *batches, batch_text_t *text, const skn_actor_t *actor,
           skn_error_t *error)
{
    const char *train = skn_actor_option_text(actor, "train");
    const char *test = skn_actor_option_text(actor, "test");
    skn_corpus_t how = skn_corpus_of(actor);
    skn_status_t status =
        open_one(batches, &how, train, "train", NULL, &text->train, error);
    if (status == SKN_OK)
        status = skn_sequences_split(text->train, train, batches->item_rows,
                                     skn_actor_option_real(actor, "validate"),
                                     batches->seed, &text->split, error);
    if (status != SKN_OK)
        return status;
    batches->data_hash = skn_corpus_hash(0, text->train);
    if (!test[0])
        return SKN_OK;
    status = open_one(batches, &how, test, "test",
                      skn_tokens_tokenizer(text->train), &text->test, error);
    if (status == SKN_OK)
        status = skn_sequences_split(text->test, test, batches->item_rows, 0,
                                     batches->seed, &text->tested, error);
    if (status == SKN_OK)
        batches->data_hash = skn_corpus_hash(batches->data_hash, text->test);
    return status;
}

static skn_status_t
text_open(skn_batches_t *batches, const skn_actor_t *actor, skn_error_t *error)
{
    uint32_t context = (uint32_t)skn_actor_option_int(actor, "context");
    batches->item_rows = context;
    if (batches->batch_rows % context != 0)
        return skn_fail_hint(
            error,
            skn_fail(error, SKN_BAD_CONFIG,
                     "a batch of %u tokens is not a whole number of sequences "
                     "of %u",
                     batches->batch_rows, context),
            "make batch_rows a multiple of context");
    batch_text_t *text = calloc(1, sizeof(*text));
    batches->data = text;
    if (text)
        text->id = calloc(batches->batch_rows / context * (context + (size_t)1),
                          sizeof(*text->id));
    if (!text || !text->id)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a batch of text");
    skn_status_t status = open_files(batches, text, actor, error);
    if (status != SKN_OK)
        return status;
    uint64_t tests = text->tested.train.count;
    uint64_t most = (batches->test_rows + context - 1) / context;
    if (most > 0 && tests > most)
        tests = most;
    batches->items[SKN_PURPOSE_TRAIN].count = text->split.train.count;
    batches->items[SKN_PURPOSE_VALIDATE].count = text->split.validate.count;
    batches->items[SKN_PURPOSE_TEST].count = tests;
    batches->has_test = text->test != NULL;
    return SKN_OK;
}

static void
text_look_up(skn_batches_t *batches, uint32_t purpose, uint64_t item,
             uint32_t row)
{
    const batch_text_t *text = batches->data;
    const skn_sequences_t *sequences =
        purpose == SKN_PURPOSE_TRAIN      ? &text->split.train
        : purpose == SKN_PURPOSE_VALIDATE ? &text->split.validate
                                          : &text->tested.train;
    uint32_t context = batches->item_rows;
    uint32_t *id = text->id + row / context * (context + (size_t)1);
    skn_sequences_read(sequences, (uint32_t)item, id);
    for (uint32_t k = 0; k < context; k++)
        batches->points[row + k] = (skn_dataset_point_t){
            .feature = id + k,
            .value = &one,
            .label = id + k + 1,
            .feature_count = 1,
            .label_count = 1,
        };
}

static void
text_close(skn_batches_t *batches)
{
    batch_text_t *text = batches->data;
    if (!text)
        return;
    skn_sequences_split_fini(&text->split);
    skn_sequences_split_fini(&text->tested);
    skn_tokens_close(&text->train);
    skn_tokens_close(&text->test);
    free(text->id);
    free(text);
}

const skn_batch_kind_t skn_batch_text = {
    .only_whole_batches = true,
    .open = text_open,
    .look_up = text_look_up,
    .close = text_close,
};
