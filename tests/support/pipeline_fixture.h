/* pipeline_fixture.h - makes a small data file, trains models on it in this
 * process, in any layout, and does the same training naively in double.
 *
 * 200 points, 50 features, 700 labels: blocks of 2 rows, 5 batches of 40.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_PIPELINE_FIXTURE_H
#define TESTS_SUPPORT_PIPELINE_FIXTURE_H

#include <math.h>
#include <string.h>

#include "kernels/draws.h"
#include "formats/checkpoint/checkpoint.h"
#include "tests/support/oracle.h"
#include "tests/support/temp_folder.h"
#include "topology/run/model_run.h"

#define POINTS 200
#define FEATURES 50
#define LABELS 700
#define WORDS_MAX 32

/* A model's weights: layer k is [rows][columns], with its bias behind. */
typedef struct trained {
    double loss; /* mean over the last epoch, to 6 places */
    double nats; /* of the validation points, likewise */
    char sha256[65];
    float *weight[4], *bias[4];
} trained_t;

typedef struct pipeline {
    char folder[TEMP_FOLDER_BYTES];
    uint32_t runs;
    /* The data, as the source sees them: values scaled to length 1. */
    uint32_t feature[POINTS][8], feature_count[POINTS];
    double value[POINTS][8];
    uint32_t label[POINTS][3], label_count[POINTS];
} pipeline_t;

/* How one model is trained; zeros are the defaults of pipeline_train. */
typedef struct layout {
    uint32_t hidden, dense, output; /* shards; dense 0: no such layer */
    uint32_t window, batches;
    bool wire, free_order, packed;
    bool is_linear;              /* neither ReLU nor biases */
    bool has_nats;               /* evaluations find the loss */
    bool accumulates;            /* the five batches of an epoch make a step */
    const char *word[WORDS_MAX]; /* further overrides, up to a NULL */
} layout_t;

static inline void
pipeline_write(pipeline_t *pipeline, FILE *file)
{
    oracle_random_t random = { 42 };
    (void)fprintf(file, "%d %d %d\n", POINTS, FEATURES, LABELS);
    for (int i = 0; i < POINTS; i++) {
        double squares = 0;
        uint32_t label = oracle_next(&random) % 200;
        uint32_t feature = oracle_next(&random) % 12;
        pipeline->label_count[i] = 1 + oracle_next(&random) % 3;
        pipeline->feature_count[i] = oracle_next(&random) % 8;
        for (uint32_t k = 0; k < pipeline->label_count[i]; k++) {
            pipeline->label[i][k] = label;
            (void)fprintf(file, "%s%u", k ? "," : "", label);
            label += 1 + oracle_next(&random) % 240;
        }
        for (uint32_t k = 0; k < pipeline->feature_count[i]; k++) {
            double value = (1 + oracle_next(&random) % 99) / 64.0;
            pipeline->feature[i][k] = feature;
            pipeline->value[i][k] = value;
            squares += value * value;
            (void)skn_text_print(file, " %u:%.6f", feature, value);
            feature += 1 + oracle_next(&random) % 5;
        }
        for (uint32_t k = 0; k < pipeline->feature_count[i]; k++)
            pipeline->value[i][k] /= sqrt(squares);
        (void)fprintf(file, "\n");
    }
}

static const char pipeline_model[] =
    "skein: 1\n"
    "data: { train: train.txt, cache: none }\n"
    "model:\n"
    "  layers:\n"
    "    - { name: hidden, units: 24, dropout: 0, init_std: 0.3 }\n"
    "%s"
    "    - { name: output, loss: softmax, init_std: 0.3, label_smoothing: 0,"
    " sampler: { kind: exact } }\n"
    "train:\n"
    "  batch_rows: 40\n"
    "  epochs: 4\n"
    "  optimizer: { kind: sgd, rate: 2 }\n"
    "  schedule: { kind: constant }\n"
    "resources: { huge_pages: false }\n";

static inline void
pipeline_file(const pipeline_t *pipeline, const char *name, const char *layer)
{
    char path[TEMP_FOLDER_BYTES + 32];
    (void)snprintf(path, sizeof(path), "%s/%s", pipeline->folder, name);
    FILE *file = fopen(path, "w");
    cr_assert(file, "%s", path);
    (void)fprintf(file, pipeline_model, layer);
    (void)fclose(file);
}

static inline void
pipeline_init(pipeline_t *pipeline)
{
    char path[TEMP_FOLDER_BYTES + 32];
    memset(pipeline, 0, sizeof(*pipeline));
    temp_folder_make(pipeline->folder);
    (void)snprintf(path, sizeof(path), "%s/train.txt", pipeline->folder);
    FILE *file = fopen(path, "w");
    cr_assert(file, "%s", path);
    pipeline_write(pipeline, file);
    (void)fclose(file);
    pipeline_file(pipeline, "one.yaml", "");
    pipeline_file(pipeline, "two.yaml",
                  "    - { name: second, units: 40, dropout: 0,"
                  " init_std: 0.3 }\n");
}

static inline void
pipeline_fini(pipeline_t *pipeline)
{
    temp_folder_remove(pipeline->folder);
}

static inline void
trained_fini(trained_t *trained)
{
    for (int k = 0; k < 4; k++) {
        free(trained->weight[k]);
        free(trained->bias[k]);
    }
}

static inline float *
read_tensor(skn_checkpoint_t *checkpoint, const char *layer, const char *part,
            uint64_t rows, uint64_t columns)
{
    char name[64];
    skn_error_t error = { 0 };
    float *to = malloc(rows * columns * sizeof(*to));
    (void)snprintf(name, sizeof(name), "%s.%s", layer, part);
    cr_assert_eq(skn_checkpoint_read_block(checkpoint, name, 0, rows, 0,
                                           columns, to, columns * sizeof(*to),
                                           &error),
                 SKN_OK, "%s", error.text);
    return to;
}

static inline void
trained_read(trained_t *trained, const skn_model_t *model, const char *path)
{
    skn_error_t error = { 0 };
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(path, SKN_VERIFY_ALL, &error);
    cr_assert(checkpoint, "%s", error.text);
    uint64_t below = FEATURES;
    for (size_t k = 0; k < model->layer_count; k++) {
        const skn_model_layer_t *layer = &model->layers[k];
        uint64_t units = layer->output ? LABELS : (uint64_t)layer->units;
        trained->weight[k] =
            k == 0
                ? read_tensor(checkpoint, layer->name, "weight", below, units)
                : read_tensor(checkpoint, layer->name, "weight", units, below);
        trained->bias[k] =
            read_tensor(checkpoint, layer->name, "bias", units, 1);
        below = units;
    }
    skn_checkpoint_close(&checkpoint);
}

/* Follows the run to its end. */
static inline void
trained_follow(trained_t *trained, skn_topology_t *topology)
{
    static char line[65536];
    skn_error_t error = { 0 };
    const char *at;
    while (skn_topology_event(topology, -1, line, sizeof(line), &error) ==
           SKN_OK) {
        if ((at = strstr(line, "\"loss\":")))
            trained->loss = skn_text_real(at + 7, NULL);
        if ((at = strstr(line, "\"validation_nats\":")))
            trained->nats = skn_text_real(at + 18, NULL);
        if ((at = strstr(line, "\"weights_sha256\":\"")))
            (void)snprintf(trained->sha256, sizeof(trained->sha256), "%.64s",
                           at + 18);
    }
    cr_assert_eq(skn_topology_wait(topology, &error), SKN_OK, "%s", error.text);
    cr_assert_eq(strlen(trained->sha256), 64);
}

static inline size_t
layout_words(const layout_t *layout, char text[][64], const char **words)
{
    size_t count = 0, given = 0;
    struct {
        const char *name;
        uint32_t value;
    } numbers[] = {
        { "model.layers.hidden.shards", layout->hidden },
        { "model.layers.second.shards", layout->dense },
        { "model.layers.output.shards", layout->output },
        { "train.window", layout->window ? layout->window : 1 },
        { "train.max_batches", layout->batches ? layout->batches : 20 },
    };
    for (size_t k = 0; k < 5; k++) {
        if (numbers[k].value == 0)
            continue;
        (void)snprintf(text[count], 64, "%s=%u", numbers[k].name,
                       numbers[k].value);
        words[count] = text[count];
        count++;
    }
    if (layout->free_order)
        words[count++] = "train.order=free";
    while (layout->word[given])
        words[count++] = layout->word[given++];
    return count;
}

/* The same topology with `from` replaced by `to` wherever it stands. */
static inline skn_topology_t *
pipeline_changed(skn_topology_t **plain, const char *from, const char *to)
{
    char *text = NULL, *changed = NULL;
    size_t bytes = 0, count = 0;
    skn_error_t error = { 0 };
    FILE *file = open_memstream(&text, &bytes);
    cr_assert(file);
    cr_assert_eq(skn_spec_print(skn_topology_spec(*plain), file, NULL), SKN_OK);
    cr_assert_eq(fclose(file), 0);
    file = open_memstream(&changed, &bytes);
    cr_assert(file);
    const char *at = text;
    for (const char *next; (next = strstr(at, from)); count++) {
        (void)fprintf(file, "%.*s%s", (int)(next - at), at, to);
        at = next + strlen(from);
    }
    (void)fprintf(file, "%s", at);
    cr_assert_eq(fclose(file), 0);
    cr_assert_gt(count, 0);
    skn_topology_t *topology =
        skn_topology_new(changed, "changed", NULL, &error);
    cr_assert(topology, "%s", error.text);
    free(text);
    free(changed);
    skn_topology_destroy(plain);
    return topology;
}

static inline trained_t
pipeline_train(pipeline_t *pipeline, const layout_t *layout)
{
    char text[8][64], path[TEMP_FOLDER_BYTES + 32];
    char run_path[SKN_TEXT_MAX] = "", run_id[64] = "";
    const char *words[WORDS_MAX + 8];
    trained_t trained = { 0 };
    skn_error_t error = { 0 };
    skn_model_run_t run = { 0 };
    skn_problems_t *problems = skn_problems_new(&error);
    (void)snprintf(path, sizeof(path), "%s/%s.yaml", pipeline->folder,
                   layout->dense ? "two" : "one");
    (void)snprintf(run_path, sizeof(run_path), "%s/run-%u", pipeline->folder,
                   pipeline->runs++);
    skn_model_run_options_t options = {
        .path = path,
        .overrides = words,
        .override_count = layout_words(layout, text, words),
        .run_path = run_path,
        .run_id = run_id,
    };
    skn_status_t status = skn_model_run_open(&run, &options, problems, &error);
    if (skn_problems_count(problems) > 0)
        skn_problems_print(problems, stderr);
    cr_assert_eq(status, SKN_OK, "%s", error.text);
    if (layout->packed)
        run.topology =
            pipeline_changed(&run.topology, "packed: false", "packed: true");
    if (layout->is_linear) {
        run.topology =
            pipeline_changed(&run.topology, " relu: true", " relu: false");
        run.topology =
            pipeline_changed(&run.topology, " bias: true", " bias: false");
    }
    if (layout->has_nats)
        run.topology = pipeline_changed(&run.topology, " normalises: false",
                                        " normalises: true");
    if (layout->accumulates) {
        run.topology =
            pipeline_changed(&run.topology, " accumulate: 1", " accumulate: 5");
        run.topology =
            pipeline_changed(&run.topology, " flights: 1", " flights: 3");
    }
    skn_start_options_t start =
        SKN_START_OPTIONS(.wire = layout->wire, .no_binding = true);
    cr_assert_eq(skn_topology_start(run.topology, &start, &error), SKN_OK, "%s",
                 error.text);
    trained_follow(&trained, run.topology);
    trained_read(&trained, run.model, run_path);
    skn_model_run_close(&run);
    skn_problems_destroy(&problems);
    return trained;
}

#endif
