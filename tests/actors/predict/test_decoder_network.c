/* test_decoder_network.c - tests that a decoder that reads a sequence in parts
 * has the logits of one pass over all of it, and that it refuses other weights.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/predict/decoder_network.h"
#include "actors/protocol/workspace.h"
#include "tests/support/oracle.h"
#include "tests/support/temp_folder.h"

#define IDS 61u
#define CONTEXT 40u
#define LAYERS 3u
#define WIDTH 32u
#define TRUNK_ROWS_MAX (LAYERS * (2 + 4 * WIDTH + 3 * 48) + 1)

static const skn_decoder_shape_t shape = { .layers = LAYERS,
                                           .width = WIDTH,
                                           .heads = 2,
                                           .inner = 48,
                                           .context = CONTEXT,
                                           .epsilon = 1e-5f,
                                           .rope_base = 100 };
static const skn_decoder_names_t names = { "embedding", "decoder", "head" };

static char folder[TEMP_FOLDER_BYTES];
static float embedding[IDS * WIDTH], head[IDS * WIDTH];
static float trunk[TRUNK_ROWS_MAX * WIDTH];
static uint32_t ids[CONTEXT];

static void
fill(float *at, size_t count, oracle_random_t *random)
{
    for (size_t k = 0; k < count; k++) {
        uint32_t bits;
        at[k] = oracle_float(random) / 2;
        memcpy(&bits, &at[k], sizeof(bits));
        bits &= 0xffff0000u; /* what bf16 can hold */
        memcpy(&at[k], &bits, sizeof(bits));
    }
}

static void
write_rows(skn_checkpoint_shard_t *shard, size_t piece, const float *at,
           size_t count, bool half)
{
    skn_error_t error = { 0 };
    for (size_t k = 0; k < count; k++) {
        uint16_t word;
        memcpy(&word, (const char *)&at[k] + 2, sizeof(word));
        cr_assert_eq(skn_checkpoint_shard_write(
                         shard, piece, k * (half ? 2 : 4),
                         half ? (const void *)&word : (const void *)&at[k],
                         half ? 2 : 4, &error),
                     SKN_OK, "%s", error.text);
    }
}

/* Writes a checkpoint whose head is of bf16 if `half`, and has `ids_of_head`
 * rows. */
static void
save(bool half, uint32_t ids_of_head)
{
    skn_error_t error = { 0 };
    skn_run_options_t options = { .config_text = "" };
    uint64_t rows = skn_decoder_stage_rows(&shape, LAYERS, true);
    const struct {
        const char *name;
        const float *at;
        uint64_t rows;
        bool half;
    } parts[] = { { "embedding.weight", embedding, IDS, false },
                  { "decoder.weight", trunk, rows, false },
                  { "head.weight", head, ids_of_head, half } };
    skn_piece_t piece[3];
    skn_run_folder_t *run = skn_run_folder_open(folder, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    skn_checkpoint_writer_t *writer = skn_checkpoint_begin(run, 1, 0, &error);
    for (size_t k = 0; k < 3; k++) {
        piece[k] = (skn_piece_t){ .dtype = parts[k].half ? SKN_DTYPE_BF16
                                                         : SKN_DTYPE_F32,
                                  .dims = 2,
                                  .rows = parts[k].rows,
                                  .columns = WIDTH,
                                  .global_rows = parts[k].rows,
                                  .global_columns = WIDTH };
        (void)snprintf(piece[k].name, sizeof(piece[k].name), "%s",
                       parts[k].name);
    }
    skn_checkpoint_shard_t *shard =
        skn_checkpoint_shard_open(writer, "all", piece, 3, &error);
    cr_assert(shard, "%s", error.text);
    for (size_t k = 0; k < 3; k++)
        write_rows(shard, k, parts[k].at, parts[k].rows * WIDTH, parts[k].half);
    cr_assert_eq(skn_checkpoint_shard_close(&shard, &error), SKN_OK);
    cr_assert_eq(skn_checkpoint_finish(&writer, "{}", 1, NULL, &error), SKN_OK,
                 "%s", error.text);
    skn_run_folder_close(&run);
}

static skn_status_t
load(skn_decoder_network_t *network, uint64_t memory_bytes, skn_error_t *error)
{
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(folder, SKN_VERIFY_LAZY, error);
    cr_assert(checkpoint, "%s", error->text);
    skn_status_t status = skn_decoder_network_load(network, checkpoint, &shape,
                                                   &names, memory_bytes, error);
    skn_checkpoint_close(&checkpoint);
    return status;
}

static void
set_up(void)
{
    oracle_random_t random = { 11 };
    temp_folder_make(folder);
    fill(embedding, IDS * WIDTH, &random);
    fill(trunk, TRUNK_ROWS_MAX * WIDTH, &random);
    fill(head, IDS * WIDTH, &random);
    for (uint32_t t = 0; t < CONTEXT; t++)
        ids[t] = (uint32_t)(oracle_next(&random) % IDS);
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(decoder_network, .init = set_up, .fini = tear_down, .timeout = 60);

/* The logits [CONTEXT][IDS] of the layers as a stage computes them. */
static void
one_pass(const skn_decoder_network_t *network, float *logits)
{
    const skn_decoder_t *decoder = &network->decoder;
    size_t layer_rows = skn_decoder_layer_rows(&shape);
    float *memory =
        skn_floats_new(skn_decoder_kept_floats(decoder, CONTEXT), NULL);
    float *x = skn_floats_new(CONTEXT * WIDTH, NULL);
    void *scratch = skn_floats_new(
        skn_decoder_scratch_bytes(decoder, CONTEXT) / sizeof(float) + 1, NULL);
    skn_matrix_t rows = { .at = trunk,
                          .row_stride = WIDTH,
                          .column_stride = 1 };
    for (uint32_t t = 0; t < CONTEXT; t++)
        memcpy(x + t * WIDTH, embedding + ids[t] * WIDTH,
               WIDTH * sizeof(float));
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        skn_decoder_kept_t kept;
        skn_decoder_kept_init(decoder, &kept, 1, CONTEXT, memory);
        skn_decoder_layer_forward(decoder, &rows, &kept, x, scratch);
        rows.at += layer_rows * WIDTH;
    }
    skn_norm_kept_t final;
    (void)skn_norm_kept_init(&final, CONTEXT, WIDTH, memory);
    skn_decoder_final_forward(decoder, &rows, &final, x, scratch);
    for (uint32_t t = 0; t < CONTEXT; t++)
        for (uint32_t id = 0; id < IDS; id++)
            logits[t * IDS + id] =
                decoder->kernels->dot(x + t * WIDTH, head + id * WIDTH, WIDTH);
    free(memory);
    free(x);
    free(scratch);
}

/* Reads tokens [reader.count, end) in parts of `part`, and compares. */
static void
expect_parts(skn_decoder_reader_t *reader, uint32_t end, uint32_t part,
             const float *wanted)
{
    static float found[CONTEXT * IDS];
    while (reader->count < end) {
        uint32_t first = reader->count;
        uint32_t count = part < end - first ? part : end - first;
        skn_decoder_read(reader, ids + first, count);
        skn_decoder_logits(reader, 0, count, found);
        for (uint32_t k = 0; k < count * IDS; k++)
            cr_assert_float_eq(
                (double)found[k], (double)wanted[first * IDS + k], 1e-5,
                "parts of %u, from token %u: %g, not %g", part, first,
                (double)found[k], (double)wanted[first * IDS + k]);
    }
}

Test(decoder_network, parts_of_a_sequence_have_the_logits_of_one_pass)
{
    static float wanted[CONTEXT * IDS];
    for (int half = 0; half < 2; half++) {
        skn_error_t error = { 0 };
        skn_decoder_network_t network = { 0 };
        skn_decoder_reader_t reader = { 0 };
        temp_folder_remove(folder);
        temp_folder_make(folder);
        save(half, IDS);
        cr_assert_eq(load(&network, UINT64_MAX, &error), SKN_OK, "%s",
                     error.text);
        cr_expect_eq(network.ids, IDS);
        cr_assert_eq(skn_decoder_reader_init(&reader, &network, &error),
                     SKN_OK);
        one_pass(&network, wanted);
        for (uint32_t part = 1; part <= CONTEXT; part += 3) {
            reader.count = 0;
            expect_parts(&reader, CONTEXT, part, wanted);
        }
        reader.count = 17; /* goes back */
        expect_parts(&reader, CONTEXT, 9, wanted);
        skn_decoder_reader_fini(&reader);
        skn_decoder_network_fini(&network);
    }
}

Test(decoder_network, weights_that_do_not_fit_are_refused)
{
    skn_error_t error = { 0 };
    skn_decoder_network_t network = { 0 };
    save(false, IDS - 1);
    cr_expect_eq(load(&network, UINT64_MAX, &error), SKN_BAD_DATA);
    cr_expect(strstr(error.text, "head.weight"), "%s", error.text);
    skn_decoder_network_fini(&network);
}

Test(decoder_network, a_model_that_is_too_large_is_refused_before_it_is_read)
{
    skn_error_t error = { 0 };
    skn_decoder_network_t network = { 0 };
    save(false, IDS);
    cr_expect_eq(load(&network, 1000, &error), SKN_NO_MEMORY);
    cr_expect_null(network.embedding);
    skn_decoder_network_fini(&network);
    /* Room for the weights and angles, and not for keys and values. */
    cr_assert_eq(load(&network, UINT64_MAX, &error), SKN_OK);
    uint64_t floats =
        network.parameter_count + skn_decoder_angle_floats(&shape);
    skn_decoder_network_fini(&network);
    cr_expect_eq(load(&network,
                      (floats + 3 * LAYERS * CONTEXT * WIDTH) * sizeof(float),
                      &error),
                 SKN_NO_MEMORY);
    skn_decoder_network_fini(&network);
}
