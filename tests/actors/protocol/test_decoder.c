/* test_decoder.c - tests the table of a decoder's tensors, and the check of its
 * shape.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "actors/protocol/decoder.h"
#include "skein/limits.h"

static const skn_decoder_shape_t good = { .layers = 6,
                                          .width = 48,
                                          .heads = 3,
                                          .inner = 20,
                                          .context = 32,
                                          .epsilon = 1e-5f,
                                          .rope_base = 10000.0f };

Test(decoder, tensors_lie_as_the_header_draws_them)
{
    static const uint32_t first[SKN_DECODER_ALL] = { 0,   1,   2,   50,  98,
                                                     146, 194, 214, 234, 0 };
    static const uint32_t rows[SKN_DECODER_ALL] = { 1,  1,  48, 48, 48,
                                                    48, 20, 20, 20, 1 };
    for (int k = 0; k < SKN_DECODER_ALL; k++) {
        skn_decoder_tensor_t tensor = (skn_decoder_tensor_t)k;
        cr_expect_eq(skn_decoder_first(&good, tensor), first[k], "%d", k);
        cr_expect_eq(skn_decoder_rows(&good, tensor), rows[k], "%d", k);
        cr_expect_eq(skn_decoder_entry[k].is_gain, rows[k] == 1);
        cr_expect_eq(skn_decoder_entry[k].is_transposed,
                     tensor == SKN_DECODER_DOWN);
    }
    cr_expect_eq(skn_decoder_layer_rows(&good), 2 + 4 * 48 + 3 * 20);
    cr_expect_eq(skn_decoder_stage_rows(&good, 3, false), 3 * 254);
    cr_expect_eq(skn_decoder_stage_rows(&good, 3, true), 3 * 254 + 1);
}

Test(decoder, every_row_is_found_in_its_tensor)
{
    uint64_t row = 0;
    for (uint32_t layer = 0; layer < 3; layer++)
        for (int k = 0; k < SKN_DECODER_TENSORS; k++)
            for (uint32_t r = 0;
                 r < skn_decoder_rows(&good, (skn_decoder_tensor_t)k); r++) {
                skn_decoder_place_t place = skn_decoder_find(&good, 3, row++);
                cr_assert_eq(place.layer, layer);
                cr_assert_eq((int)place.tensor, k);
                cr_assert_eq(place.row, r);
            }
    skn_decoder_place_t place = skn_decoder_find(&good, 3, row);
    cr_expect_eq(row, skn_decoder_stage_rows(&good, 3, false));
    cr_expect_eq(place.layer, 3);
    cr_expect_eq((int)place.tensor, SKN_DECODER_FINAL_GAIN);
    cr_expect_eq(place.row, 0);
}

Test(decoder, names_are_those_of_llama)
{
    char name[SKN_NAME_MAX];
    skn_decoder_name(name, sizeof(name), 11, SKN_DECODER_MIDDLE_GAIN);
    cr_expect_str_eq(name, "model.layers.11.post_attention_layernorm.weight");
    skn_decoder_name(name, sizeof(name), 0, SKN_DECODER_O);
    cr_expect_str_eq(name, "model.layers.0.self_attn.o_proj.weight");
    skn_decoder_name(name, sizeof(name), 1023, SKN_DECODER_DOWN);
    cr_expect_str_eq(name, "model.layers.1023.mlp.down_proj.weight");
    skn_decoder_name(name, sizeof(name), 3, SKN_DECODER_FINAL_GAIN);
    cr_expect_str_eq(name, "model.norm.weight");
}

Test(decoder, weights_that_feed_the_residual_stream_begin_smaller)
{
    cr_expect_float_eq(skn_decoder_deviation(&good, SKN_DECODER_Q, 0.02f),
                       0.02f, 0.0f);
    cr_expect_float_eq(skn_decoder_deviation(&good, SKN_DECODER_O, 0.02f),
                       0.02f / sqrtf(12.0f), 1e-8f);
    cr_expect_float_eq(skn_decoder_deviation(&good, SKN_DECODER_DOWN, 0.02f),
                       0.02f / sqrtf(12.0f), 1e-8f);
    cr_expect_float_eq(
        skn_decoder_deviation(&good, SKN_DECODER_FINAL_GAIN, 0.02f), 0.0f,
        0.0f);
}

#define REFUSES(member, value, sentence)                                       \
    do {                                                                       \
        skn_decoder_shape_t shape = good;                                      \
        skn_error_t refused = SKN_ZERO;                                        \
        shape.member = value;                                                  \
        cr_expect_eq(skn_decoder_check(&shape, &refused), SKN_BAD_CONFIG);     \
        cr_expect_str_eq(refused.text, sentence);                              \
    } while (0)

Test(decoder, a_shape_that_does_not_fit_is_refused_in_one_sentence)
{
    skn_error_t error = SKN_ZERO;
    cr_expect_eq(skn_decoder_check(&good, &error), SKN_OK, "%s", error.text);
    REFUSES(layers, 0, "decoder: layers 0, allowed are 1 to 1024");
    REFUSES(layers, 1025, "decoder: layers 1025, allowed are 1 to 1024");
    REFUSES(width, 65552, "decoder: width 65552, allowed are 1 to 65536");
    REFUSES(width, 40, "decoder: width 40 is not a multiple of 16");
    REFUSES(heads, 0, "decoder: heads 0, allowed are 1 to 48");
    REFUSES(heads, 5, "decoder: width 48 is not a multiple of its 5 heads");
    REFUSES(heads, 4,
            "decoder: 4 heads of a width of 48 have 12 columns each, not a "
            "multiple of 8");
    REFUSES(inner, 0, "decoder: inner 0, allowed are 1 to 65536");
    REFUSES(context, 65537,
            "decoder: context 65537, allowed are 1 to "
            "65536");
    REFUSES(epsilon, 0.0f, "decoder: epsilon 0 is not between 0 and 1");
    REFUSES(epsilon, NAN, "decoder: epsilon nan is not between 0 and 1");
    REFUSES(rope_base, 1.0f, "decoder: rope_base 1 is not a number above 1");
    REFUSES(rope_base, INFINITY,
            "decoder: rope_base inf is not a number above 1");
}

/* Rows of a table are counted in 32 bits: no shape is refused for them. */
Test(decoder, the_greatest_shape_has_no_more_rows_than_a_table)
{
    skn_error_t error = SKN_ZERO;
    skn_decoder_shape_t shape = good;
    shape.layers = SKN_DECODER_LAYERS_MAX;
    shape.width = SKN_HIDDEN_MAX;
    shape.inner = SKN_HIDDEN_MAX;
    shape.heads = 512;
    cr_expect_eq(skn_decoder_check(&shape, &error), SKN_OK, "%s", error.text);
    cr_expect_leq(skn_decoder_stage_rows(&shape, shape.layers, true),
                  SKN_UNIT_MAX);
}
