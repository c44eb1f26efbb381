/* test_decoder_layer.c - tests the layers of a decoder against an oracle in
 * double, and the oracle against finite differences.
 *
 * actors/stage/decoder_layer.c, and below it actors/stage/heads.c and
 * actors/stage/norms.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/workspace.h"
#include "actors/stage/decoder_layer.h"
#include "tests/actors/stage/decoder_oracle.h"
#include "tests/support/oracle.h"
#include "tests/support/sanitized.h"

#define EACH_VARIANT(kernels)                                                  \
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++)
#define ROWS_MAX (ORACLE_LAYERS * (2 + 4 * ORACLE_WIDTH + 3 * ORACLE_INNER) + 1)
#define VALUES_MAX ((size_t)ORACLE_TOKENS * ORACLE_WIDTH)
#define CANARY 12345.0f

typedef struct sizes {
    uint32_t layers, width, heads, inner, sequences, length, context;
} sizes_t;

/* One head, several; one token, whole and cut vectors; shorter than the
 * context; an inner width that no vector divides. */
static const sizes_t sizes[] = { { 1, 16, 1, 16, 1, 1, 1 },
                                 { 1, 16, 2, 24, 2, 7, 9 },
                                 { 2, 32, 2, 40, 1, 19, 19 },
                                 { 2, 48, 3, 37, 3, 16, 40 },
                                 { 2, 48, 6, 48, 2, 5, 5 } };
#define SIZES (sizeof(sizes) / sizeof(*sizes))

/* Weights, x and the gradient by the output: the same in f32 and in double. */
static float weight[ROWS_MAX * ORACLE_WIDTH], input[VALUES_MAX], by[VALUES_MAX];
static double weight_d[ROWS_MAX * ORACLE_WIDTH], input_d[VALUES_MAX];
static double by_d[VALUES_MAX], dx_d[VALUES_MAX];
static double dw_d[ROWS_MAX * ORACLE_WIDTH];
static oracle_decoder_t oracle;

static void
round_to_bf16(float *x, size_t n)
{
    static uint16_t half[ROWS_MAX * ORACLE_WIDTH];
    const skn_kernels_t *kernels = skn_kernels_variant(0);
    kernels->f32_to_bf16(half, x, n);
    kernels->bf16_to_f32(x, half, n);
}

static void
fill(const sizes_t *size, uint64_t seed, bool is_bf16)
{
    oracle_random_t random = { seed };
    size_t width = size->width, values = 0;
    oracle = (oracle_decoder_t){ .shape = { .layers = size->layers,
                                            .width = size->width,
                                            .heads = size->heads,
                                            .inner = size->inner,
                                            .context = size->context,
                                            .epsilon = 1e-5f,
                                            .rope_base = 100.0f },
                                 .layers = size->layers,
                                 .sequences = size->sequences,
                                 .length = size->length,
                                 .weights = weight_d };
    for (size_t row = 0; row < oracle_rows(&oracle); row++) {
        skn_decoder_place_t place =
            skn_decoder_find(&oracle.shape, size->layers, row);
        bool is_gain = skn_decoder_entry[place.tensor].is_gain;
        for (size_t c = 0; c < width; c++)
            weight[row * width + c] =
                is_gain ? 1 + oracle_float(&random) / 2
                        : 2 * oracle_float(&random) / sqrtf((float)width);
    }
    values = oracle_tokens(&oracle) * width;
    for (size_t i = 0; i < values; i++) {
        input[i] = 2 * oracle_float(&random);
        by[i] = oracle_float(&random);
        input_d[i] = (double)input[i];
        by_d[i] = (double)by[i];
    }
    if (is_bf16)
        round_to_bf16(weight, oracle_rows(&oracle) * width);
    for (size_t i = 0; i < oracle_rows(&oracle) * width; i++)
        weight_d[i] = (double)weight[i];
}

static void
run_oracle(void)
{
    memset(dw_d, 0, sizeof(dw_d));
    oracle_forward(&oracle, input_d);
    oracle_backward(&oracle, by_d, dx_d, dw_d);
}

/* --- the oracle ----------------------------------------------------------- */

static double
loss(void)
{
    double sum = 0;
    oracle_forward(&oracle, input_d);
    for (size_t t = 0; t < oracle_tokens(&oracle); t++)
        for (size_t c = 0; c < oracle.shape.width; c++)
            sum += oracle.out[t][c] * by_d[t * oracle.shape.width + c];
    return sum;
}

static void
check_difference(double *at, double want, const char *what, size_t i)
{
    const double step = 1e-5;
    double kept = *at, up, down;
    *at = kept + step;
    up = loss();
    *at = kept - step;
    down = loss();
    *at = kept;
    cr_assert(fabs((up - down) / (2 * step) - want) <= 1e-6 * (1 + fabs(want)),
              "%s %zu: differences say %.12g, the oracle %.12g", what, i,
              (up - down) / (2 * step), want);
}

/* Some elements of every tensor of both layers. */
Test(decoder_layer, gradients_of_the_oracle_are_finite_differences)
{
    for (size_t k = 0; k < SIZES; k++) {
        fill(&sizes[k], 7 + k, false);
        run_oracle();
        size_t width = oracle.shape.width, row = 0;
        while (row < oracle_rows(&oracle)) {
            skn_decoder_place_t place =
                skn_decoder_find(&oracle.shape, sizes[k].layers, row);
            uint32_t rows = skn_decoder_rows(&oracle.shape, place.tensor);
            for (size_t i = 0; i < 5; i++) {
                size_t at = row * width + (i * 1237 + k) % (rows * width);
                check_difference(&weight_d[at], dw_d[at], "weight", at);
            }
            row += rows;
        }
        for (size_t at = k; at < oracle_tokens(&oracle) * width; at += 37)
            check_difference(&input_d[at], dx_d[at], "input", at);
    }
}

/* --- the layers ----------------------------------------------------------- */

/* A stage with weights in rows that lie apart, as those of a table do. */
typedef struct stage {
    skn_decoder_t decoder;
    skn_matrix_t weights;
    skn_decoder_kept_t kept[ORACLE_LAYERS];
    skn_norm_kept_t final;
    float *memory[ORACLE_LAYERS + 1], *angles, *table;
    uint16_t *half_table;
    void *scratch;
    size_t kept_floats, scratch_floats;
    float *x, *gradient; /* [tokens][width], [rows][width] */
} stage_t;

static float *
new_floats(size_t count)
{
    float *floats = skn_floats_new(count + 1, NULL);
    cr_assert(floats);
    memset(floats, 0x7f, (count + 1) * sizeof(float)); /* great numbers */
    floats[count] = CANARY;
    return floats;
}

static void
stage_open(stage_t *stage, const skn_kernels_t *kernels, bool is_bf16,
           bool half)
{
    const skn_decoder_shape_t *shape = &oracle.shape;
    size_t rows = oracle_rows(&oracle), width = shape->width;
    size_t apart = 3 * width + 16, tokens = oracle_tokens(&oracle);
    memset(stage, 0, sizeof(*stage));
    stage->angles = new_floats(skn_decoder_angle_floats(shape));
    skn_decoder_init(&stage->decoder, shape, kernels, half, stage->angles);
    stage->table = new_floats(rows * apart);
    stage->half_table = malloc(rows * apart * sizeof(uint16_t));
    for (size_t r = 0; r < rows; r++) {
        memcpy(stage->table + r * apart, weight + r * width,
               width * sizeof(float));
        kernels->f32_to_bf16(stage->half_table + r * apart, weight + r * width,
                             width);
    }
    stage->weights = (skn_matrix_t){
        .at = is_bf16 ? NULL : stage->table,
        .bf16 = is_bf16 ? stage->half_table : NULL,
        .row_stride = apart,
        .column_stride = 1,
    };
    stage->kept_floats = skn_decoder_kept_floats(&stage->decoder, tokens);
    for (size_t k = 0; k < oracle.layers; k++)
        stage->memory[k] = new_floats(stage->kept_floats);
    stage->memory[oracle.layers] =
        new_floats(skn_norm_kept_floats(tokens, width));
    stage->scratch_floats =
        skn_decoder_scratch_bytes(&stage->decoder, tokens) / sizeof(float);
    stage->scratch = new_floats(stage->scratch_floats);
    stage->x = new_floats(tokens * width);
    stage->gradient = new_floats(rows * width);
    memset(stage->gradient, 0, rows * width * sizeof(float));
}

static void
stage_close(stage_t *stage)
{
    size_t tokens = oracle_tokens(&oracle), width = oracle.shape.width;
    for (size_t k = 0; k < oracle.layers; k++)
        cr_assert_eq(oracle_bits(stage->memory[k][stage->kept_floats]),
                     oracle_bits(CANARY));
    cr_assert_eq(
        oracle_bits(
            stage->memory[oracle.layers][skn_norm_kept_floats(tokens, width)]),
        oracle_bits(CANARY));
    cr_assert_eq(oracle_bits(((float *)stage->scratch)[stage->scratch_floats]),
                 oracle_bits(CANARY));
    cr_assert_eq(oracle_bits(stage->x[tokens * width]), oracle_bits(CANARY));
    for (size_t k = 0; k <= oracle.layers; k++)
        free(stage->memory[k]);
    free(stage->angles);
    free(stage->table);
    free(stage->half_table);
    free(stage->scratch);
    free(stage->x);
    free(stage->gradient);
}

static skn_matrix_t
layer_of(const stage_t *stage, size_t n)
{
    skn_matrix_t layer = stage->weights;
    size_t at = n * skn_decoder_layer_rows(&oracle.shape) * layer.row_stride;
    if (layer.at)
        layer.at += at;
    else
        layer.bf16 += at;
    return layer;
}

/* From x [sequences * length][width] to stage->x. */
static void
stage_forward(stage_t *stage, const float *x, size_t sequences, size_t length)
{
    size_t width = oracle.shape.width;
    memcpy(stage->x, x, sequences * length * width * sizeof(float));
    for (size_t n = 0; n < oracle.layers; n++) {
        skn_matrix_t layer = layer_of(stage, n);
        skn_decoder_kept_init(&stage->decoder, &stage->kept[n], sequences,
                              length, stage->memory[n]);
        skn_decoder_layer_forward(&stage->decoder, &layer, &stage->kept[n],
                                  stage->x, stage->scratch);
    }
    skn_matrix_t final = layer_of(stage, oracle.layers);
    (void)skn_norm_kept_init(&stage->final, sequences * length, width,
                             stage->memory[oracle.layers]);
    skn_decoder_final_forward(&stage->decoder, &final, &stage->final, stage->x,
                              stage->scratch);
}

/* From dx, the gradient by the output, to stage->x. */
static void
stage_backward(stage_t *stage, const float *dx)
{
    skn_matrix_t final = layer_of(stage, oracle.layers);
    memcpy(stage->x, dx,
           stage->final.tokens * oracle.shape.width * sizeof(float));
    skn_decoder_final_backward(&stage->decoder, &final, &stage->final, stage->x,
                               stage->scratch);
    for (size_t n = oracle.layers; n-- > 0;) {
        skn_matrix_t layer = layer_of(stage, n);
        skn_decoder_layer_backward(&stage->decoder, &layer, &stage->kept[n],
                                   stage->x, stage->scratch);
    }
}

static void
stage_weights(stage_t *stage)
{
    size_t floats =
        (size_t)skn_decoder_layer_rows(&oracle.shape) * oracle.shape.width;
    for (size_t n = 0; n < oracle.layers; n++) {
        uint32_t parts =
            skn_decoder_parts(&oracle.shape, stage->kept[n].tokens);
        for (uint32_t part = 0; part < parts; part++)
            skn_decoder_layer_weights(&stage->decoder, &stage->kept[n], part,
                                      stage->gradient + n * floats,
                                      stage->scratch);
    }
    skn_decoder_final_weights(&stage->decoder, &stage->final,
                              stage->gradient + oracle.layers * floats);
}

/* `got` within `bound` of the greatest wanted magnitude; of 1 where all that is
 * wanted is 0, as the gradient by q of a sequence of one token. */
static void
compare(const char *isa, const char *what, size_t which, const float *got,
        const double *want, size_t n, double bound)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fabs(want[i]) > most ? fabs(want[i]) : most;
    most = most > 0 ? most : 1;
    for (size_t i = 0; i < n; i++)
        cr_assert(fabs((double)got[i] - want[i]) <= bound * most,
                  "%s, %s %zu, element %zu: %.9g instead of %.9g, of at most "
                  "%.9g",
                  isa, what, which, i, (double)got[i], want[i], most);
}

static void
compare_stage(const char *isa, uint64_t seed, const float *out,
              const stage_t *stage, double bound)
{
    size_t width = oracle.shape.width, tokens = oracle_tokens(&oracle);
    static double wanted[VALUES_MAX];
    for (size_t t = 0; t < tokens; t++)
        memcpy(wanted + t * width, oracle.out[t], width * sizeof(double));
    compare(isa, "out, seed", seed, out, wanted, tokens * width, bound);
    compare(isa, "dx, seed", seed, stage->x, dx_d, tokens * width, bound);
    for (size_t row = 0; row < oracle_rows(&oracle);) {
        skn_decoder_place_t place =
            skn_decoder_find(&oracle.shape, (uint32_t)oracle.layers, row);
        size_t rows = skn_decoder_rows(&oracle.shape, place.tensor);
        compare(isa, skn_decoder_entry[place.tensor].name, place.layer,
                stage->gradient + row * width, dw_d + row * width, rows * width,
                bound);
        row += rows;
    }
}

static void
test_stage(const skn_kernels_t *kernels, const sizes_t *size, uint64_t seed,
           bool is_bf16, bool half, double bound)
{
    static float out[VALUES_MAX];
    stage_t stage;
    fill(size, seed, is_bf16);
    run_oracle();
    stage_open(&stage, kernels, is_bf16, half);
    stage_forward(&stage, input, size->sequences, size->length);
    memcpy(out, stage.x, oracle_tokens(&oracle) * size->width * sizeof(float));
    stage_backward(&stage, by);
    stage_weights(&stage);
    compare_stage(kernels->isa, seed, out, &stage, bound);
    stage_close(&stage);
}

Test(decoder_layer, layers_match_the_oracle_on_every_variant)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (uint64_t seed = 1; seed <= 50; seed++)
        for (size_t k = 0; k < SIZES; k++)
            if (!is_spared(seed - 1))
                test_stage(kernels, &sizes[k], 100 * k + seed, seed % 2, false,
                           1e-4);
}

/* Each factor of a product is off by 2^-9 at most, and layers add up. */
Test(decoder_layer, products_of_bf16_are_near_the_oracle)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (uint64_t seed = 1; seed <= 10; seed++)
        for (size_t k = 0; k < SIZES; k++)
            test_stage(kernels, &sizes[k], 100 * k + seed, seed % 2, true,
                       5e-2);
}

Test(decoder_layer, products_of_bf16_keep_little_more_than_half)
{
    const skn_kernels_t *kernels = skn_kernels_variant(0);
    const skn_decoder_shape_t shape = { 1, 256, 8, 704, 256, 1e-5f, 1e4f };
    float *angles = new_floats(skn_decoder_angle_floats(&shape));
    size_t floats[2];
    for (int half = 0; half < 2; half++) {
        skn_decoder_t decoder;
        skn_decoder_init(&decoder, &shape, kernels, half, angles);
        floats[half] = skn_decoder_kept_floats(&decoder, 2048);
    }
    cr_expect_leq(100 * floats[1], 58 * floats[0], "%zu and %zu", floats[0],
                  floats[1]);
    free(angles);
}

/* --- what must not change a bit ------------------------------------------- */

/* W is done after B of both micro-batches, last part first, or at once. */
Test(decoder_layer, parts_of_w_give_the_same_bits_in_any_order)
{
    const skn_kernels_t *kernels = skn_kernels_variant(0);
    static float wanted[ROWS_MAX * ORACLE_WIDTH];
    stage_t one, two;
    fill(&sizes[3], 5, false);
    size_t floats = oracle_rows(&oracle) * oracle.shape.width;
    size_t layer = skn_decoder_layer_rows(&oracle.shape) * oracle.shape.width;
    stage_open(&one, kernels, false, false);
    stage_open(&two, kernels, false, false);
    stage_forward(&one, input, 3, 16);
    stage_backward(&one, by);
    stage_weights(&one);
    stage_forward(&one, by, 2, 11);
    stage_backward(&one, input);
    stage_weights(&one);
    memcpy(wanted, one.gradient, floats * sizeof(float));
    memset(one.gradient, 0, floats * sizeof(float));
    stage_forward(&one, input, 3, 16);
    stage_forward(&two, by, 2, 11);
    stage_backward(&two, input);
    stage_backward(&one, by);
    for (size_t n = 0; n < 2; n++)
        for (stage_t *stage = &one; stage;
             stage = stage == &one ? &two : NULL) {
            uint32_t parts =
                skn_decoder_parts(&oracle.shape, stage->kept[n].tokens);
            for (uint32_t part = parts; part-- > 0;)
                skn_decoder_layer_weights(&stage->decoder, &stage->kept[n],
                                          part, one.gradient + n * layer,
                                          stage->scratch);
        }
    cr_expect(memcmp(one.gradient, wanted, 2 * layer * sizeof(float)) == 0);
    stage_close(&one);
    stage_close(&two);
}

/* A layer whose products are cut: each part writes rows of its own, and all of
 * them the product of all rows. */
Test(decoder_layer, large_products_are_cut_into_parts_of_rows)
{
    const skn_decoder_shape_t shape = { 1, 256, 8, 704, 256, 1e-5f, 1e4f };
    const size_t tokens = 1024, rows = skn_decoder_layer_rows(&shape);
    const skn_kernels_t *kernels = skn_kernels_variant(0);
    uint32_t parts = skn_decoder_parts(&shape, tokens);
    float *angles = new_floats(skn_decoder_angle_floats(&shape));
    float *gradient = new_floats(rows * 256), *whole = new_floats(1408 * 256);
    skn_decoder_t decoder;
    skn_decoder_kept_t kept;
    oracle_random_t random = { 3 };
    skn_decoder_init(&decoder, &shape, kernels, false, angles);
    size_t kept_floats = skn_decoder_kept_floats(&decoder, tokens);
    float *memory = new_floats(kept_floats);
    skn_decoder_kept_init(&decoder, &kept, 4, 256, memory);
    void *scratch = new_floats(skn_decoder_scratch_bytes(&decoder, tokens));
    cr_expect_eq(skn_decoder_parts(&shape, 256), 5);
    cr_expect_eq(parts, 5);
    cr_expect_eq(skn_decoder_parts(&shape, 2048), 6);
    cr_expect_eq(skn_decoder_parts(&shape, 8192), 1 + 3 + 1 + 6 + 3);
    for (size_t i = 0; i < kept_floats; i++)
        memory[i] = oracle_float(&random);
    memset(gradient, 0, rows * 256 * sizeof(float));
    for (uint32_t part = 0; part < parts; part++)
        skn_decoder_layer_weights(&decoder, &kept, part, gradient, scratch);
    const skn_gemm_t job = { .m = 1408,
                             .n = 256,
                             .k = tokens,
                             .a = { .at = kept.gates.at,
                                    .row_stride = 1,
                                    .column_stride = kept.gates.stride },
                             .b = { .at = kept.middle.x,
                                    .row_stride = kept.middle.stride,
                                    .column_stride = 1 },
                             .c = whole,
                             .c_stride = 256 };
    kernels->gemm(&job, scratch);
    size_t gate = skn_decoder_first(&shape, SKN_DECODER_GATE) * 256;
    cr_expect(memcmp(whole, gradient + gate, 1408 * 256 * sizeof(float)) == 0);
    free(angles);
    free(memory);
    free(gradient);
    free(whole);
    free(scratch);
}

Test(decoder_layer, sequences_do_not_see_each_other)
{
    const skn_kernels_t *kernels;
    static float out[VALUES_MAX], dx[VALUES_MAX];
    stage_t both, each;
    EACH_VARIANT(kernels)
    for (int half = 0; half < 2; half++) {
        fill(&sizes[3], 6, false);
        size_t width = oracle.shape.width, one = 16 * width;
        stage_open(&both, kernels, false, half);
        stage_open(&each, kernels, false, half);
        stage_forward(&both, input, 3, 16);
        memcpy(out, both.x, 3 * one * sizeof(float));
        stage_backward(&both, by);
        memcpy(dx, both.x, 3 * one * sizeof(float));
        stage_weights(&both);
        for (size_t s = 0; s < 3; s++) {
            stage_forward(&each, input + s * one, 1, 16);
            cr_assert(memcmp(each.x, out + s * one, one * sizeof(float)) == 0);
            stage_backward(&each, by + s * one);
            cr_assert(memcmp(each.x, dx + s * one, one * sizeof(float)) == 0);
            stage_weights(&each);
        }
        for (size_t i = 0; i < oracle_rows(&oracle) * width; i++)
            cr_assert(fabsf(both.gradient[i] - each.gradient[i]) <=
                      1e-4f * (1 + fabsf(both.gradient[i])));
        stage_close(&both);
        stage_close(&each);
    }
}

Test(decoder_layer, a_token_changes_no_output_before_it)
{
    const skn_kernels_t *kernels;
    static float out[VALUES_MAX];
    stage_t stage;
    EACH_VARIANT(kernels)
    for (size_t token = 0; token < 19; token++) {
        fill(&sizes[2], 8, false);
        size_t width = oracle.shape.width;
        stage_open(&stage, kernels, false, false);
        stage_forward(&stage, input, 1, 19);
        memcpy(out, stage.x, 19 * width * sizeof(float));
        input[token * width] += 1;
        stage_forward(&stage, input, 1, 19);
        cr_assert(memcmp(out, stage.x, token * width * sizeof(float)) == 0);
        cr_assert(memcmp(out + token * width, stage.x + token * width,
                         width * sizeof(float)) != 0);
        stage_close(&stage);
    }
}

/* As text is generated: the outputs of a prefix are those of the whole. */
Test(decoder_layer, a_prefix_has_the_outputs_of_the_whole_sequence)
{
    const skn_kernels_t *kernels;
    static float out[VALUES_MAX];
    stage_t stage;
    EACH_VARIANT(kernels)
    for (size_t length = 1; length < 19; length++) {
        fill(&sizes[2], 9, false);
        size_t width = oracle.shape.width;
        stage_open(&stage, kernels, false, false);
        stage_forward(&stage, input, 1, 19);
        memcpy(out, stage.x, 19 * width * sizeof(float));
        stage_forward(&stage, input, 1, length);
        for (size_t i = 0; i < length * width; i++)
            cr_assert(fabsf(stage.x[i] - out[i]) <= 1e-5f,
                      "%s, %zu of 19 tokens, %zu: %.9g instead of %.9g",
                      kernels->isa, length, i, (double)stage.x[i],
                      (double)out[i]);
        stage_close(&stage);
    }
}
