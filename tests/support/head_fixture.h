/* head_fixture.h - computes an output layer on any number of shards, without
 * actors, and the same layer in double.
 *
 * head_run does without messages what output.c and layer.c do with them: draw,
 * forward, nodes, merge, gradients. head_loss is (12) or (13) of
 * docs/concepts/equations.md, written down naively, with the weights c that the
 * samplers gave.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_HEAD_FIXTURE_H
#define TESTS_SUPPORT_HEAD_FIXTURE_H

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

#include "actors/output/head.h"
#include "actors/hidden/hidden.h"
#include "tests/support/oracle.h"

#define HEAD_SHARDS_MAX 8

typedef struct problem {
    uint32_t rows, hidden, labels, block_rows;
    skn_loss_t loss;
    skn_rows_kind_t kind;
    const skn_sampler_kind_t *sampler;
    uint64_t draws;
    double cap;
    bool late; /* shards normalise their parts */
    double smoothing;
    uint32_t strip_units;
    bool half;
    size_t kept_bytes; /* of powers; 0: as usual */
    bool forms_rows;   /* in the forward pass, where that can be */
    bool is_linear;    /* no ReLU below, and no bias */
    float *h;          /* [rows][hidden] */
    float *w;          /* [labels][hidden + 1] */
    uint32_t *offset, *label, *distinct;
    skn_labels_t message;
} problem_t;

typedef struct outcome {
    double loss;
    float *down; /* [rows][hidden] */
    float *row;  /* [labels][hidden + 1], 0 where there is no gradient */
    double *c;   /* [rows][labels], 0: not in the sample's list */
    uint32_t touched;
    uint32_t formed; /* shards that have formed rows in the forward pass */
} outcome_t;

/* Labels a sample: 0 .. 3, the first sample at least 1. */
static inline void
problem_labels(problem_t *problem, oracle_random_t *random, bool some_without)
{
    uint32_t count = 0, distinct = 0;
    problem->offset = calloc(problem->rows + 1, sizeof(uint32_t));
    problem->label = calloc(problem->rows * 3, sizeof(uint32_t));
    problem->distinct = calloc(problem->labels, sizeof(uint32_t));
    for (uint32_t i = 0; i < problem->rows; i++) {
        uint32_t wanted = oracle_next(random) % 4;
        if (wanted == 0 && (i == 0 || !some_without))
            wanted = 1;
        uint32_t label = oracle_next(random) % problem->labels;
        for (uint32_t k = 0; k < wanted && label < problem->labels; k++) {
            problem->label[count++] = label;
            label += 1 + oracle_next(random) % 9;
        }
        problem->offset[i + 1] = count;
    }
    for (uint32_t label = 0; label < problem->labels; label++) {
        bool found = false;
        for (uint32_t k = 0; k < count; k++)
            found = found || problem->label[k] == label;
        if (found)
            problem->distinct[distinct++] = label;
    }
    problem->message = (skn_labels_t){
        .batch = 5,
        .rows = problem->rows,
        .offset = { problem->offset, problem->rows + 1 },
        .label = { problem->label, count },
        .distinct = { problem->distinct, distinct },
    };
}

static inline void
problem_init(problem_t *problem, uint64_t seed, bool some_without)
{
    oracle_random_t random = { seed };
    size_t width = (size_t)problem->hidden + 1;
    problem->h = oracle_floats(&random, problem->rows * problem->hidden, 1);
    problem->w = oracle_floats(&random, problem->labels * width, 1.5f);
    for (size_t k = 0; k < problem->rows * problem->hidden; k++)
        if (!problem->is_linear && problem->h[k] < -0.3f)
            problem->h[k] = 0; /* as ReLU leaves them */
    if (problem->kind == SKN_ROWS_SGD_BF16)
        for (size_t k = 0; k < problem->labels * width; k++)
            problem->w[k] =
                oracle_of_bits(oracle_bits(problem->w[k]) & 0xffff0000u);
    problem_labels(problem, &random, some_without);
}

static inline void
problem_fini(problem_t *problem)
{
    free(problem->h);
    free(problem->w);
    free(problem->offset);
    free(problem->label);
    free(problem->distinct);
}

static inline void
outcome_init(outcome_t *outcome, const problem_t *problem)
{
    size_t width = (size_t)problem->hidden + 1;
    memset(outcome, 0, sizeof(*outcome));
    outcome->down = calloc(problem->rows * problem->hidden, sizeof(float));
    outcome->row = calloc(problem->labels * width, sizeof(float));
    outcome->c =
        calloc((size_t)problem->rows * problem->labels, sizeof(double));
}

static inline void
outcome_fini(outcome_t *outcome)
{
    free(outcome->down);
    free(outcome->row);
    free(outcome->c);
}

/* One shard of a head, and what it sends. */
typedef struct shard {
    skn_head_t head;
    skn_flight_t flight;
    skn_rows_t rows;
    skn_output_gradient_t share;
    skn_partition_t partition;
} shard_t;

static inline void
shard_open(shard_t *shard, const problem_t *problem, bool fixed,
           uint32_t shards, uint32_t number)
{
    uint32_t size = problem->block_rows;
    uint32_t blocks = (problem->labels + size - 1) / size;
    uint32_t first = number * blocks / shards * size;
    uint32_t end = (number + 1) * blocks / shards * size;
    size_t width = (size_t)problem->hidden + 1;
    skn_error_t error = { 0 };
    if (end > problem->labels)
        end = problem->labels;
    shard->head = (skn_head_t){
        .kernels = skn_kernels_best(),
        .sampler_kind = problem->sampler,
        .loss = problem->loss,
        .fixed = fixed,
        .late = problem->late,
        .smoothing = (float)problem->smoothing,
        .strip_units = problem->strip_units,
        .half = problem->half,
        .kept_bytes = problem->kept_bytes,
        .smooth_row = (float)(problem->smoothing / problem->labels),
        .hidden = problem->hidden,
        .row_first = first,
        .row_count = end - first,
        .block_rows = size,
        .batch_rows = problem->rows,
        .merge = { .kernels = skn_kernels_best(),
                   .leaf_count = fixed ? blocks : shards },
    };
    cr_assert_eq(skn_head_init(&shard->head, number, &error), SKN_OK, "%s",
                 error.text);
    skn_sampler_options_t options = {
        .kernels = shard->head.kernels,
        .seed = 11,
        .labels = problem->labels,
        .row_first = first,
        .row_count = end - first,
        .block_rows = size,
        .hidden = problem->hidden,
        .batch_rows = problem->rows,
        .draws = problem->draws,
        .weight_cap = problem->cap,
    };
    shard->head.sampler = problem->sampler->open(&options, &error);
    cr_assert(shard->head.sampler, "%s", error.text);
    cr_assert_eq(skn_rows_init(&shard->rows, problem->kind, end - first,
                               (uint32_t)width, false, &error),
                 SKN_OK);
    for (uint32_t row = first; row < end; row++)
        skn_rows_set(&shard->rows, shard->head.kernels, row - first,
                     problem->w + row * width);
    shard->head.rows = &shard->rows;
    cr_assert_eq(skn_flight_init(&shard->flight, &shard->head, &error), SKN_OK);
}

static inline void
share_fini(shard_t *shard)
{
    free(shard->share.node.at);
    free(shard->partition.greatest.at);
    free(shard->partition.sum.at);
    free(shard->share.pull.at);
    free(shard->share.push.at);
    memset(&shard->share, 0, sizeof(shard->share));
    memset(&shard->partition, 0, sizeof(shard->partition));
}

static inline void
shard_close(shard_t *shard)
{
    share_fini(shard);
    skn_flight_fini(&shard->flight);
    skn_rows_fini(&shard->rows);
    skn_head_fini(&shard->head);
}

static inline void
shard_record_weights(const shard_t *shard, const problem_t *problem,
                     outcome_t *outcome)
{
    const skn_selection_t *selection = &shard->flight.selection;
    for (uint32_t g = 0; g < selection->group_count; g++) {
        const skn_group_t *group = &selection->group[g];
        for (uint32_t s = 0; s < group->sample_count; s++) {
            uint32_t i = selection->sample[group->sample_first + s];
            double *c = outcome->c + (size_t)i * problem->labels +
                        shard->head.row_first;
            for (uint32_t k = 0; k < group->unit_count; k++)
                c[selection->unit[group->unit_first + k]] =
                    (double)selection->weight[group->unit_first + k];
        }
    }
}

static inline void
shard_forward(shard_t *shard, const problem_t *problem, uint32_t number,
              outcome_t *outcome)
{
    skn_head_t *head = &shard->head;
    skn_flight_t *flight = &shard->flight;
    size_t rows = problem->rows, nodes = head->node_count;
    size_t cells = rows * problem->hidden;
    bool softmax = problem->loss == SKN_LOSS_IS_SOFTMAX;
    skn_error_t error = { 0 };
    flight->labels = &problem->message;
    flight->rows = problem->rows;
    for (size_t i = 0; i < rows; i++) {
        float *h = flight->hidden + i * head->hidden_stride;
        memset(h, 0xff, head->hidden_stride * sizeof(float)); /* NaN */
        memcpy(h, problem->h + i * problem->hidden,
               problem->hidden * sizeof(float));
        h[problem->hidden] = problem->is_linear ? 0 : 1;
    }
    cr_assert_eq(skn_head_forward(head, flight, &error), SKN_OK, "%s",
                 error.text);
    shard_record_weights(shard, problem, outcome);
    if (problem->forms_rows && skn_head_forms_rows(head, flight))
        flight->value = malloc((skn_head_gradient_units(head, flight) + 1) *
                               ((size_t)problem->hidden + 1) * sizeof(float));
    outcome->formed += flight->value != NULL;
    shard->share = (skn_output_gradient_t){
        .batch = 5,
        .shard = number,
        .rows = problem->rows,
        .columns = problem->hidden,
        .normalised = softmax,
        .node = { malloc((nodes + 1) * 4), nodes },
        .pull = { malloc((nodes * cells + 1) * 4), nodes * cells },
        .push = { malloc((nodes * cells + 1) * 4),
                  softmax ? nodes * cells : 0 },
    };
    shard->partition = (skn_partition_t){
        .batch = 5,
        .shard = number,
        .rows = problem->rows,
        .node = shard->share.node,
        .greatest = { malloc((nodes * rows + 1) * 4), nodes * rows },
        .sum = { malloc((nodes * rows + 1) * 4), nodes * rows },
    };
    for (uint32_t k = 0; k < nodes; k++) {
        skn_partial_t into = { .pull = shard->share.pull.at + k * cells };
        if (softmax) {
            into.greatest = shard->partition.greatest.at + k * rows;
            into.sum = shard->partition.sum.at + k * rows;
            into.push = shard->share.push.at + k * cells;
        }
        shard->share.node.at[k] = head->node[k];
        skn_head_node(head, flight, k, &into);
    }
    for (size_t i = 0; problem->late && i < nodes * rows; i++)
        shard->partition.greatest.at[i] += logf(shard->partition.sum.at[i]);
}

/* All (m, z) are here. Merged late, nothing but pull goes on. */
static inline void
shard_complete(shard_t *shard, const skn_tree_node_t *node, size_t node_count)
{
    skn_head_t *head = &shard->head;
    skn_output_gradient_t *share = &shard->share;
    if (head->loss != SKN_LOSS_IS_SOFTMAX)
        return;
    cr_assert(skn_head_complete(head, &shard->flight, node, node_count));
    if (!head->late)
        return;
    skn_head_normalise(head, &shard->flight, share->pull.at, share->push.at);
    share->push.count = 0;
    share->normalised = false;
}

static inline void
shard_backward(shard_t *shard, const problem_t *problem, outcome_t *outcome)
{
    skn_head_t *head = &shard->head;
    size_t width = (size_t)problem->hidden + 1;
    skn_error_t error = { 0 };
    cr_assert(shard->flight.complete);
    outcome->loss += skn_head_loss(head, &shard->flight);
    uint32_t count = skn_head_gradient_units(head, &shard->flight);
    uint32_t *unit = malloc((count + 1) * sizeof(*unit));
    float *value = shard->flight.value;
    if (!value)
        value = malloc((count + 1) * width * sizeof(*value));
    cr_assert_eq(skn_head_gradient(head, &shard->flight, unit, value, &error),
                 SKN_OK);
    for (uint32_t k = 0; k < count; k++) {
        float *row = outcome->row + (head->row_first + unit[k]) * width;
        cr_assert_lt(unit[k], head->row_count);
        for (uint32_t other = 0; other < k && count < 200; other++)
            cr_assert_neq(unit[other], unit[k], "each row once");
        memcpy(row, value + k * width, width * sizeof(float));
    }
    outcome->touched += count;
    free(unit);
    free(value);
}

/* The way of layer.c: merges, and divides by the number of samples. */
static inline void
merge_down(shard_t *shard, uint32_t shards, const problem_t *problem,
           outcome_t *outcome)
{
    uint32_t leaves = shard[0].head.merge.leaf_count;
    size_t cells = (size_t)problem->rows * problem->hidden;
    const void *part[HEAD_SHARDS_MAX], *partition[HEAD_SHARDS_MAX];
    float *open = malloc(cells * sizeof(float)); /* every ReLU is open */
    skn_activation_t activation = { .rows = problem->rows,
                                    .columns = problem->hidden,
                                    .value = { open, cells } };
    skn_error_t error = { 0 };
    for (size_t k = 0; k < cells; k++)
        open[k] = 1;
    for (uint32_t k = 0; k < shards; k++) {
        part[k] = &shard[k].share;
        partition[k] = &shard[k].partition;
    }
    skn_hidden_t hidden = {
        .kernels = skn_kernels_best(),
        .columns = problem->hidden,
        .keep = 1,
        .batch_rows = problem->rows,
        .merge = { .kernels = skn_kernels_best(),
                   .columns = problem->hidden,
                   .leaf_count = leaves,
                   .scratch =
                       malloc(skn_merge_scratch_floats(leaves, problem->rows,
                                                       problem->hidden) *
                              sizeof(float)) },
        .root = malloc((2 * problem->rows + cells) * sizeof(float)),
        .nodes = malloc(leaves * sizeof(skn_tree_node_t)),
    };
    skn_parts_t parts = { .at = part, .count = shards },
                partitions = { .at = partition, .count = shards };
    bool early = problem->loss == SKN_LOSS_IS_SOFTMAX && !problem->late;
    cr_assert_eq(skn_hidden_merge(&hidden, &parts, early ? &partitions : NULL,
                                  &activation, outcome->down, &error),
                 SKN_OK, "%s", error.text);
    skn_hidden_close(&hidden);
    free(open);
}

static inline void
head_run(const problem_t *problem, bool fixed, uint32_t shards,
         outcome_t *outcome)
{
    shard_t *shard = calloc(HEAD_SHARDS_MAX, sizeof(*shard));
    skn_tree_node_t *node = calloc(problem->labels + shards, sizeof(*node));
    size_t node_count = 0;
    outcome_init(outcome, problem);
    for (uint32_t k = 0; k < shards; k++) {
        shard_open(&shard[k], problem, fixed, shards, k);
        shard_forward(&shard[k], problem, k, outcome);
        for (size_t n = 0; n < shard[k].share.node.count; n++)
            node[node_count++] = (skn_tree_node_t){
                .place = shard[k].share.node.at[n],
                .partial = { .greatest = shard[k].partition.greatest.at +
                                         n * problem->rows,
                             .sum = problem->late ? NULL
                                                  : shard[k].partition.sum.at +
                                                        n * problem->rows },
            };
    }
    for (uint32_t k = 0; k < shards; k++)
        shard_complete(&shard[k], node, node_count);
    merge_down(shard, shards, problem, outcome);
    for (uint32_t k = 0; k < shards; k++)
        shard_backward(&shard[k], problem, outcome);
    for (uint32_t k = 0; k < shards; k++)
        shard_close(&shard[k]);
    free(shard);
    free(node);
}

/* --- the same in double --------------------------------------------------- */

/* What a target of smoothing / labels for each label adds to a sample's loss:
 * with weights, since only some of the labels are there. */
static inline double
smoothed(const problem_t *problem, const double *o, const double *c,
         double log_z)
{
    double sum = problem->labels * log_z;
    for (uint32_t j = 0; j < problem->labels; j++)
        sum -= c[j] * o[j];
    return problem->smoothing * sum / problem->labels;
}

/* Loss summed over the samples, with `c` from an outcome. */
static inline double
head_loss(const problem_t *problem, const double *h, const double *w,
          const double *weight)
{
    uint32_t labels = problem->labels, hidden = problem->hidden;
    double loss = 0, *o = malloc(labels * sizeof(*o));
    for (uint32_t i = 0; i < problem->rows; i++) {
        double m = -INFINITY, z = 0, softplus = 0;
        const double *c = weight + (size_t)i * labels;
        uint32_t first = problem->offset[i], end = problem->offset[i + 1];
        for (uint32_t j = 0; j < labels; j++) {
            o[j] =
                problem->is_linear ? 0 : w[(size_t)j * (hidden + 1) + hidden];
            for (uint32_t k = 0; k < hidden; k++)
                o[j] += h[i * hidden + k] * w[(size_t)j * (hidden + 1) + k];
            m = fmax(m, o[j]);
        }
        for (uint32_t j = 0; j < labels; j++) {
            z += c[j] * exp(o[j] - m);
            softplus += c[j] * log1p(exp(o[j]));
        }
        if (problem->loss == SKN_LOSS_IS_ONE_VS_ALL)
            loss += softplus;
        for (uint32_t k = first; k < end; k++)
            loss += problem->loss == SKN_LOSS_IS_ONE_VS_ALL
                        ? -o[problem->label[k]]
                        : (1 - problem->smoothing) *
                              (m + log(z) - o[problem->label[k]]) /
                              (end - first);
        if (problem->smoothing > 0 && end > first)
            loss += smoothed(problem, o, c, m + log(z));
    }
    free(o);
    return loss;
}

/* Central differences of the mean loss by each of the `count` numbers at x,
 * which is h or w. */
static inline void
head_differences(const problem_t *problem, double *h, double *w, double *x,
                 size_t count, const double *c, double *slope)
{
    const double step = 1e-5;
    for (size_t k = 0; k < count; k++) {
        double here = x[k];
        x[k] = here + step;
        double more = head_loss(problem, h, w, c);
        x[k] = here - step;
        double less = head_loss(problem, h, w, c);
        x[k] = here;
        slope[k] = (more - less) / (2 * step) / problem->rows;
    }
}

static inline double *
doubles_of(const float *x, size_t count)
{
    double *copy = malloc((count + 1) * sizeof(*copy));
    for (size_t k = 0; k < count; k++)
        copy[k] = (double)x[k];
    return copy;
}

#endif
