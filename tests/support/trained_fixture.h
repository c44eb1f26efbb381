/* trained_fixture.h - a run folder with a small trained model, and an oracle.
 *
 * The oracle computes every logit in double from the arrays that were written,
 * and normalises over all labels.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_TRAINED_FIXTURE_H
#define TESTS_SUPPORT_TRAINED_FIXTURE_H

#include <criterion/criterion.h>
#include <math.h>

#include "actors/course/progress.h"
#include "formats/checkpoint/checkpoint.h"
#include "skein/predictor.h"
#include "tests/support/oracle.h"
#include "tests/support/temp_folder.h"

#define TRAINED_FEATURES 9u
#define TRAINED_HIDDEN 6u
#define TRAINED_DENSE 5u
#define TRAINED_LABELS 1500u /* more than one strip */

typedef struct trained_fixture {
    /* set before */
    bool dense, one_vs_all, half, raw; /* half: output in bf16; raw: no l2 */
    uint32_t seed;                     /* of the weights; 0: another one */
    const char *names;                 /* label 3 is "NAMES 3"; NULL: none */
    /* made */
    char folder[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 8];
    uint32_t layers, units[3];
    float *weight[3], *bias[3]; /* layer 0: [features][units] */
} trained_fixture_t;

static const char *const trained_names[] = { "hidden", "middle", "output" };

static inline const char *
trained_name(const trained_fixture_t *fixture, uint32_t layer)
{
    return trained_names[fixture->layers == 2 && layer == 1 ? 2 : layer];
}

static inline void
trained_round(float *x, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        uint32_t bits;
        memcpy(&bits, &x[k], 4);
        bits &= 0xffff0000u; /* what bf16 can hold */
        memcpy(&x[k], &bits, 4);
    }
}

static inline void
trained_write(skn_checkpoint_shard_t *shard, size_t piece, const float *x,
              size_t count, bool half)
{
    skn_error_t error = { 0 };
    for (size_t k = 0; k < count; k++) {
        uint32_t bits;
        memcpy(&bits, &x[k], 4);
        uint16_t high = (uint16_t)(bits >> 16);
        size_t bytes = half ? 2 : 4;
        cr_assert_eq(skn_checkpoint_shard_write(shard, piece, k * bytes,
                                                half ? (const void *)&high
                                                     : (const void *)&x[k],
                                                bytes, &error),
                     SKN_OK, "%s", error.text);
    }
}

static inline void
trained_save(trained_fixture_t *fixture, skn_run_folder_t *run, uint64_t batch)
{
    skn_error_t error = { 0 };
    skn_checkpoint_writer_t *writer =
        skn_checkpoint_begin(run, batch, 0, &error);
    cr_assert(writer, "%s", error.text);
    for (uint32_t k = 0; k < fixture->layers; k++) {
        bool half = fixture->half && k + 1 == fixture->layers;
        uint64_t rows = k ? fixture->units[k] : TRAINED_FEATURES;
        uint64_t columns = k ? fixture->units[k - 1] : fixture->units[0];
        uint64_t units = fixture->units[k];
        skn_dtype_t dtype = half ? SKN_DTYPE_BF16 : SKN_DTYPE_F32;
        skn_piece_t piece[2] = {
            { .dtype = dtype,
              .dims = 2,
              .rows = rows,
              .columns = columns,
              .global_rows = rows,
              .global_columns = columns },
            { .dtype = dtype,
              .dims = 1,
              .rows = units,
              .columns = 1,
              .global_rows = units,
              .global_columns = 1 },
        };
        const char *name = trained_name(fixture, k);
        (void)snprintf(piece[0].name, sizeof(piece[0].name), "%s.weight", name);
        (void)snprintf(piece[1].name, sizeof(piece[1].name), "%s.bias", name);
        char file[48];
        (void)snprintf(file, sizeof(file), "%s.safetensors", name);
        skn_checkpoint_shard_t *shard =
            skn_checkpoint_shard_open(writer, file, piece, 2, &error);
        cr_assert(shard, "%s", error.text);
        trained_write(shard, 0, fixture->weight[k], rows * columns, half);
        trained_write(shard, 1, fixture->bias[k], units, half);
        cr_assert_eq(skn_checkpoint_shard_close(&shard, &error), SKN_OK, "%s",
                     error.text);
    }
    skn_progress_t progress;
    skn_json_text_t metadata = { 0 };
    skn_progress_init(&progress);
    progress.batch = batch;
    skn_json_text_add(&metadata, "{");
    skn_progress_write(&progress, &metadata);
    skn_json_text_add(&metadata, "}");
    cr_assert_eq(
        skn_checkpoint_finish(&writer, metadata.bytes, 3, NULL, &error), SKN_OK,
        "%s", error.text);
    skn_json_text_fini(&metadata);
}

static inline void
trained_config(const trained_fixture_t *fixture, char *text, size_t bytes)
{
    (void)snprintf(
        text, bytes,
        "skein: 1\n"
        "data: { train: %s/train.txt, test: %s/test.txt, normalize: %s }\n"
        "model:\n  layers:\n    - { name: hidden, units: 6 }\n%s"
        "    - { name: output, loss: %s, weights: %s }\n"
        "train: { optimizer: { kind: sgd } }\n",
        fixture->folder, fixture->folder, fixture->raw ? "none" : "l2",
        fixture->dense ? "    - { name: middle, units: 5 }\n" : "",
        fixture->one_vs_all ? "one_vs_all" : "softmax",
        fixture->half ? "bf16" : "f32");
}

static inline void
trained_name_labels(const trained_fixture_t *fixture)
{
    char path[sizeof(fixture->path) + 8];
    if (!fixture->names)
        return;
    (void)snprintf(path, sizeof(path), "%s/labels", fixture->path);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    for (uint32_t k = 0; k < TRAINED_LABELS; k++)
        (void)fprintf(file, "%s %u\n", fixture->names, k);
    cr_assert_eq(fclose(file), 0);
}

/* Writes the run folder fixture->path with a checkpoint of batch 1. */
static inline void
trained_make(trained_fixture_t *fixture)
{
    oracle_random_t random = { fixture->seed ? fixture->seed : 42 };
    char config[4096];
    skn_error_t error = { 0 };
    temp_folder_make(fixture->folder);
    (void)snprintf(fixture->path, sizeof(fixture->path), "%s/run",
                   fixture->folder);
    fixture->layers = fixture->dense ? 3 : 2;
    fixture->units[0] = TRAINED_HIDDEN;
    fixture->units[1] = fixture->dense ? TRAINED_DENSE : TRAINED_LABELS;
    fixture->units[2] = TRAINED_LABELS;
    for (uint32_t k = 0; k < fixture->layers; k++) {
        size_t below = k ? fixture->units[k - 1] : TRAINED_FEATURES;
        size_t count = below * fixture->units[k];
        fixture->weight[k] = oracle_floats(&random, count, 1.5f);
        fixture->bias[k] = oracle_floats(&random, fixture->units[k], 0.5f);
        if (fixture->half && k + 1 == fixture->layers) {
            trained_round(fixture->weight[k], count);
            trained_round(fixture->bias[k], fixture->units[k]);
        }
    }
    trained_config(fixture, config, sizeof(config));
    skn_run_options_t options = { .config_text = config };
    skn_run_folder_t *run =
        skn_run_folder_open(fixture->path, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    trained_save(fixture, run, 1);
    skn_run_folder_close(&run);
    trained_name_labels(fixture);
}

static inline void
trained_remove(trained_fixture_t *fixture)
{
    for (uint32_t k = 0; k < fixture->layers; k++) {
        free(fixture->weight[k]);
        free(fixture->bias[k]);
    }
    temp_folder_remove(fixture->folder);
}

/* probability[labels] of one point, whose values are scaled already. */
static inline void
trained_oracle(const trained_fixture_t *fixture, const uint32_t *feature,
               const float *value, size_t count, double *probability)
{
    double lower[TRAINED_HIDDEN], sum = 0, greatest = -INFINITY;
    double upper[TRAINED_LABELS];
    for (uint32_t u = 0; u < TRAINED_HIDDEN; u++) {
        lower[u] = (double)fixture->bias[0][u];
        for (size_t k = 0; k < count; k++)
            lower[u] +=
                (double)value[k] *
                (double)fixture->weight[0][feature[k] * TRAINED_HIDDEN + u];
        lower[u] = lower[u] > 0 ? lower[u] : 0;
    }
    for (uint32_t layer = 1; layer < fixture->layers; layer++) {
        uint32_t below = fixture->units[layer - 1];
        for (uint32_t u = 0; u < fixture->units[layer]; u++) {
            upper[u] = (double)fixture->bias[layer][u];
            for (uint32_t k = 0; k < below; k++)
                upper[u] +=
                    lower[k] * (double)fixture->weight[layer][u * below + k];
        }
        for (uint32_t u = 0; layer == 1 && fixture->dense && u < TRAINED_DENSE;
             u++)
            lower[u] = upper[u] > 0 ? upper[u] : 0;
    }
    for (uint32_t u = 0; u < TRAINED_LABELS; u++)
        greatest = upper[u] > greatest ? upper[u] : greatest;
    for (uint32_t u = 0; u < TRAINED_LABELS; u++)
        sum += exp(upper[u] - greatest);
    for (uint32_t u = 0; u < TRAINED_LABELS; u++)
        probability[u] = fixture->one_vs_all ? 1 / (1 + exp(-upper[u]))
                                             : exp(upper[u] - greatest) / sum;
}

#endif
