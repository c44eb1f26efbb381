/* net_oracle.h - the networks of pipeline_fixture.h in double: their losses,
 * and their training by SGD.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ACTORS_COURSE_NET_ORACLE_H
#define TESTS_ACTORS_COURSE_NET_ORACLE_H

#include "actors/protocol/data.h"
#include "actors/protocol/split.h"
#include "tests/support/pipeline_fixture.h"

#define LAYERS_MAX 3
#define BATCH 40
#define PER_EPOCH (POINTS / BATCH)
#define WIDTH_MAX LABELS

/* Layer k: units[k] of them over below[k]; the bias lies behind a row. */
typedef struct net {
    int layers;
    bool is_linear; /* neither ReLU nor biases */
    uint32_t units[LAYERS_MAX], below[LAYERS_MAX];
    double *w[LAYERS_MAX]; /* [units][below + 1] */
} net_t;

static inline size_t
net_count(const net_t *net, int layer)
{
    return (size_t)net->units[layer] * (net->below[layer] + 1);
}

static inline void
net_init(net_t *net, bool second)
{
    memset(net, 0, sizeof(*net));
    net->layers = second ? 3 : 2;
    net->units[0] = 24;
    net->units[1] = second ? 40 : LABELS;
    net->units[2] = LABELS;
    net->below[0] = FEATURES;
    net->below[1] = 24;
    net->below[2] = 40;
    for (int k = 0; k < net->layers; k++)
        net->w[k] = calloc(net_count(net, k), sizeof(double));
}

static inline void
net_fini(net_t *net)
{
    for (int k = 0; k < net->layers; k++)
        free(net->w[k]);
}

static inline void
net_copy(net_t *net, const net_t *from)
{
    net->is_linear = from->is_linear;
    for (int k = 0; k < net->layers; k++)
        memcpy(net->w[k], from->w[k], net_count(net, k) * sizeof(double));
}

/* The first weights are drawn row by row: a feature's row of hidden units, a
 * unit's row of those below. */
static inline void
net_draw(net_t *net)
{
    float row[64];
    for (int k = 0; k < net->layers; k++) {
        uint64_t key = skn_draw_key(1, SKN_DRAW_WEIGHTS, (uint64_t)k);
        uint32_t below = net->below[k];
        uint32_t rows = k == 0 ? FEATURES : net->units[k];
        uint32_t columns = k == 0 ? net->units[0] : below;
        for (uint32_t r = 0; r < rows; r++) {
            skn_kernels_best()->normal(row, columns, 0.3f, key, r, 0);
            for (uint32_t c = 0; c < columns; c++) {
                uint32_t unit = k == 0 ? c : r, input = k == 0 ? r : c;
                net->w[k][unit * (below + 1) + input] = (double)row[c];
            }
        }
    }
}

typedef struct pass {
    double x[LAYERS_MAX + 1][WIDTH_MAX]; /* [0] is the input */
    double g[WIDTH_MAX];
} pass_t;

/* Adds a point's gradient, over `rows`, to `gradient`; returns its loss. */
static inline double
net_point(const net_t *net, const pipeline_t *pipeline, uint32_t point,
          double rows, pass_t *pass, net_t *gradient)
{
    memset(pass, 0, sizeof(*pass));
    for (uint32_t k = 0; k < pipeline->feature_count[point]; k++)
        pass->x[0][pipeline->feature[point][k]] = pipeline->value[point][k];
    for (int k = 0; k < net->layers; k++) {
        for (uint32_t u = 0; u < net->units[k]; u++) {
            const double *w = net->w[k] + u * (net->below[k] + 1);
            double sum = w[net->below[k]];
            for (uint32_t i = 0; i < net->below[k]; i++)
                sum += w[i] * pass->x[k][i];
            pass->x[k + 1][u] =
                !net->is_linear && k + 1 < net->layers && sum < 0 ? 0 : sum;
        }
    }
    double *o = pass->x[net->layers], m = -INFINITY, z = 0, loss = 0;
    uint32_t count = pipeline->label_count[point];
    for (uint32_t j = 0; j < LABELS; j++)
        m = fmax(m, o[j]);
    for (uint32_t j = 0; j < LABELS; j++)
        z += exp(o[j] - m);
    for (uint32_t j = 0; j < LABELS; j++)
        pass->g[j] = exp(o[j] - m) / z;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t label = pipeline->label[point][k];
        loss += (m + log(z) - o[label]) / count;
        pass->g[label] -= 1.0 / count;
    }
    for (int k = net->layers - 1; k >= 0; k--) {
        double down[WIDTH_MAX] = { 0 };
        for (uint32_t u = 0; u < net->units[k]; u++) {
            const double *w = net->w[k] + u * (net->below[k] + 1);
            double *to = gradient->w[k] + u * (net->below[k] + 1);
            for (uint32_t i = 0; i < net->below[k]; i++) {
                down[i] += pass->g[u] * w[i];
                to[i] += pass->g[u] * pass->x[k][i] / rows;
            }
            to[net->below[k]] += net->is_linear ? 0 : pass->g[u] / rows;
        }
        for (uint32_t i = 0; k > 0 && i < net->below[k]; i++)
            pass->g[i] = pass->x[k][i] > 0 || net->is_linear ? down[i] : 0;
    }
    return loss;
}

/* Points of an epoch in the order of source.c: Fisher & Yates. */
static inline void
shuffle(uint32_t *order, uint64_t epoch)
{
    uint64_t key = skn_draw_key(1, SKN_DRAW_SHUFFLE, epoch);
    for (uint32_t k = 0; k < POINTS; k++)
        order[k] = k;
    for (uint32_t k = POINTS; k > 1; k--) {
        uint32_t other = skn_philox_below(key, 0, k, k), last = order[k - 1];
        order[k - 1] = order[other];
        order[other] = last;
    }
}

/* SGD where batch t's gradient is that of the weights with exactly the updates
 * <= max(t - window, last marker); a marker stands behind each epoch. */
static inline double
net_train(const pipeline_t *pipeline, net_t *net, uint32_t batches,
          uint32_t window, double rate)
{
    net_t version[21], gradient;
    pass_t *pass = malloc(sizeof(*pass));
    double loss = 0;
    net_init(&gradient, net->layers == 3);
    for (uint32_t t = 0; t <= batches; t++)
        net_init(&version[t], net->layers == 3);
    net_copy(&version[0], net);
    for (uint32_t t = 0; t < batches; t++) {
        uint32_t order[POINTS], seen = t + 1 > window ? t + 1 - window : 0;
        if (t % PER_EPOCH == 0)
            loss = 0;
        if (seen < t / PER_EPOCH * PER_EPOCH)
            seen = t / PER_EPOCH * PER_EPOCH;
        shuffle(order, t / PER_EPOCH);
        for (int k = 0; k < net->layers; k++)
            memset(gradient.w[k], 0, net_count(net, k) * sizeof(double));
        for (uint32_t i = 0; i < BATCH; i++)
            loss += net_point(&version[seen], pipeline,
                              order[t % PER_EPOCH * BATCH + i], BATCH, pass,
                              &gradient);
        net_copy(&version[t + 1], &version[t]);
        for (int k = 0; k < net->layers; k++)
            for (size_t w = 0; w < net_count(net, k); w++)
                version[t + 1].w[k][w] -= rate * gradient.w[k][w];
    }
    net_copy(net, &version[batches]);
    for (uint32_t t = 0; t <= batches; t++)
        net_fini(&version[t]);
    net_fini(&gradient);
    free(pass);
    return loss / ((batches - 1) % PER_EPOCH + 1) / BATCH;
}

/* --- trained weights ------------------------------------------------------ */

/* The trained weights, in double. */
static inline void
net_take(net_t *net, const trained_t *trained)
{
    for (int k = 0; k < net->layers; k++)
        for (uint32_t u = 0; u < net->units[k]; u++) {
            uint32_t below = net->below[k], units = net->units[k];
            double *w = net->w[k] + u * (below + 1);
            for (uint32_t i = 0; i < below; i++)
                w[i] = (double)trained
                           ->weight[k][k == 0 ? i * units + u : u * below + i];
            w[below] = (double)trained->bias[k][u];
        }
}

/* The mean loss of the points that are held back, a share of .3. */
static inline double
net_nats(const net_t *net, const pipeline_t *pipeline)
{
    net_t gradient;
    skn_split_t split = { 0 };
    skn_dataset_t *dataset = NULL;
    pass_t *pass = malloc(sizeof(*pass));
    char path[TEMP_FOLDER_BYTES + 32];
    double nats = 0;
    skn_error_t error = { 0 };
    skn_data_t data = { .train = path,
                        .test = "",
                        .preprocessing = "",
                        .normalize = "l2",
                        .cache = "none",
                        .features = FEATURES,
                        .labels = LABELS };
    (void)snprintf(path, sizeof(path), "%s/train.txt", pipeline->folder);
    cr_assert_eq(skn_data_open_train(&data, &dataset, &error), SKN_OK, "%s",
                 error.text);
    cr_assert_eq(skn_split_init(&split, dataset, 0.3, 1, &error), SKN_OK);
    net_init(&gradient, false);
    for (uint32_t k = 0; k < split.validate_count; k++)
        nats += net_point(net, pipeline, split.validate[k], 1, pass, &gradient);
    nats /= split.validate_count;
    net_fini(&gradient);
    free(pass);
    skn_split_fini(&split);
    skn_dataset_close(&dataset);
    return nats;
}

#endif
