/* test_model_decoder.c - tests the rules of a decoder, and keys that are for
 * another kind of model.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "tests/support/model_fixture.h"

#define DECODER                                                                \
    "skein: 1\ndata: { train: t }\n"                                           \
    "model: { kind: decoder, layers: 4, width: 64 }\n"

Test(model_decoder, a_decoder_is_an_embedding_its_layers_and_a_head)
{
    skn_model_t *model = fixture_good(DECODER);
    cr_assert_eq(model->layer_count, 3);
    cr_expect_eq(model->decoder.layers, 4);
    cr_expect_eq(model->decoder.heads, 8);
    cr_expect_eq(model->layers[0].units, 64);
    cr_expect_eq(model->layers[0].shards, 1);
    cr_expect_eq(model->layers[SKN_DECODER_LAYER].units, 64);
    cr_expect_eq(model->layers[SKN_DECODER_LAYER].shards, SKN_AUTO);
    cr_expect(model->layers[2].output);
    cr_expect_eq(model->layers[2].init_std, 0.02);
    skn_model_destroy(&model);
}

Test(model_decoder, a_decoder_is_written_as_it_was_read)
{
    skn_model_t *model = fixture_good(
        DECODER "train: { batch_tokens: 4096, steps: 3, clip_norm: 2 }\n");
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    skn_error_t error = { 0 };
    cr_assert_eq(skn_model_write(model, file, &error), SKN_OK);
    cr_assert_eq(fclose(file), 0);
    skn_model_destroy(&model);
    cr_expect_null(strstr(text, "batch_rows"), "%s", text);
    model = fixture_good(text);
    cr_expect_eq(model->decoder.layers, 4);
    cr_expect_eq(model->decoder.width, 64);
    cr_expect_eq(model->train.batch_tokens, 4096);
    cr_expect_eq(model->train.steps, 3);
    cr_expect_eq(model->train.clip_norm, 2);
    skn_model_destroy(&model);
    free(text);
}

Test(model_decoder, keys_of_the_other_kind_are_refused)
{
    fixture_refused(DECODER "train: { batch_rows: 5, window: 2 }\n",
                    "m.yaml:4:10: 'batch_rows' is for a model of layers, and "
                    "'kind' of model is 'decoder'; leave it out, or set "
                    "'kind: layers'\n"
                    "m.yaml:4:25: 'window' is for a model of layers, and "
                    "'kind' of model is 'decoder'; leave it out, or set "
                    "'kind: layers'\n");
    fixture_refused(FIXTURE "train: { steps: 5 }\n",
                    "m.yaml:7:10: 'steps' is for a decoder, and 'kind' of "
                    "model is 'layers'; leave it out, or set 'kind: "
                    "decoder'\n");
}

#define TWO_NODES                                                              \
    "nodes:\n  - { name: a, address: 'tcp://127.0.0.1:1' }\n"                  \
    "  - { name: b, address: 'tcp://127.0.0.1:2' }\n"

Test(model_decoder, numbers_that_do_not_fit_are_refused)
{
    static const struct {
        const char *model, *rest, *want;
    } cases[] = {
        { "layers: 0", "",
          "m.yaml:3:33: 'layers' of a decoder must be a number in 1..1024, "
          "found '0'\n" },
        { "layers: [1]", "",
          "m.yaml:3:33: 'layers' of a decoder must be a number in 1..1024, "
          "found a list\n" },
        { "layers: 2, stages: 3", "",
          "m.yaml:3:44: 3 stages are more than the 2 layers\n" },
        { "layers: 2", "train: { micro_tokens: 100 }\n",
          "m.yaml:4:24: 'micro_tokens' is 100, which is not whole sequences of "
          "data.context, 256 tokens; set a multiple of 256\n" },
        { "layers: 2", "train: { micro_tokens: 512, batch_tokens: 768 }\n",
          "m.yaml:4:43: 'batch_tokens' is 768, which is not whole "
          "micro-batches of 512 tokens; set a multiple of 512\n" },
        { "layers: 2", "train: { batch_tokens: 100 }\n",
          "m.yaml:4:24: 'batch_tokens' is 100, which is not whole sequences of "
          "data.context, 256 tokens; set a multiple of 256\n" },
        { "layers: 2", "train: { clip_norm: 1e-300 }\n",
          "m.yaml:4:21: 'clip_norm' is 1e-300: gradients of that norm are lost "
          "in the rounding of floats; set 1, or 0 for no limit\n" },
        { "layers: 2, head: { loss: one_vs_all }", "",
          "m.yaml:3:50: a decoder has 'loss: softmax': it predicts one "
          "token\n" },
        { "layers: 2", "train: { order: free }\n",
          "m.yaml:4:17: a decoder has 'order: fixed'\n" },
        { "layers: 2",
          TWO_NODES "  - { name: c, address: 'tcp://127.0.0.1:3' }\n",
          "m.yaml:5:3: 3 nodes are more than the 2 layers of the decoder, and "
          "each has one at least; list 2 nodes at most\n" },
        { "layers: 2, stages: 1", TWO_NODES,
          "m.yaml:5:3: 2 nodes are more than the 1 stage of the decoder, and "
          "each has one at least; list 1 node at most\n" },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        char text[512];
        (void)snprintf(text, sizeof(text),
                       "skein: 1\ndata: { train: t }\n"
                       "model: { kind: decoder, %s }\n%s",
                       cases[k].model, cases[k].rest);
        fixture_refused(text, cases[k].want);
    }
    fixture_refused("skein: 1\ndata: { train: t }\n"
                    "model: { kind: decoder, layers: 1, width: 48, heads: 5 "
                    "}\n",
                    "m.yaml:3:43: decoder: width 48 is not a multiple of its "
                    "5 heads\n");
}

Test(model_decoder, a_refused_context_is_the_only_problem)
{
    fixture_refused("skein: 1\ndata: { train: t, context: 0 }\n"
                    "model: { kind: decoder, layers: 1 }\n"
                    "train: { micro_tokens: 100 }\n",
                    "m.yaml:2:28: option 'context' of data must be in "
                    "1..65536, found '0'\n");
}
