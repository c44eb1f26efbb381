/* frequencies.c - opens the training data of a run for its labels' frequencies.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/frequencies.h"

static skn_status_t
text_open(skn_frequencies_t *frequencies, const skn_actor_t *actor,
          uint32_t labels, skn_error_t *error)
{
    const char *path = skn_actor_option_text(actor, "train");
    skn_corpus_t corpus = skn_corpus_of(actor);
    skn_status_t status = skn_corpus_open(&corpus, path, "train", NULL,
                                          &frequencies->tokens, error);
    if (status != SKN_OK)
        return status;
    const skn_tokens_info_t *info = skn_tokens_info(frequencies->tokens);
    frequencies->label = info->frequency;
    frequencies->point_count = info->token_count;
    return skn_tokenizer_check_ids(skn_tokens_tokenizer(frequencies->tokens),
                                   path, labels, error);
}

static skn_status_t
points_open(skn_frequencies_t *frequencies, const skn_actor_t *actor,
            uint32_t labels, skn_error_t *error)
{
    skn_data_t data = skn_data_of(actor);
    data.features = (uint32_t)skn_actor_option_int(actor, "features");
    data.labels = labels;
    skn_status_t status =
        skn_data_open_train(&data, &frequencies->dataset, error);
    if (status != SKN_OK)
        return status;
    const skn_dataset_info_t *info = skn_dataset_info(frequencies->dataset);
    frequencies->label = info->label_frequency;
    frequencies->point_count = info->point_count;
    return SKN_OK;
}

skn_status_t
skn_frequencies_open(skn_frequencies_t *frequencies, const skn_actor_t *actor,
                     skn_error_t *error)
{
    uint32_t labels = (uint32_t)skn_actor_option_int(actor, "labels");
    *frequencies = (skn_frequencies_t){ 0 };
    skn_status_t status = skn_actor_option_bool(actor, "tokens")
                              ? text_open(frequencies, actor, labels, error)
                              : points_open(frequencies, actor, labels, error);
    if (status != SKN_OK)
        skn_frequencies_close(frequencies);
    return status;
}

void
skn_frequencies_close(skn_frequencies_t *frequencies)
{
    skn_dataset_close(&frequencies->dataset);
    skn_tokens_close(&frequencies->tokens);
    *frequencies = (skn_frequencies_t){ 0 };
}
