/* sampler_fixture.h - a layer, a batch for it, and samplers on its shards, for
 * tests.
 *
 * world_init makes labels, rows and hidden vectors; subject_open a sampler of
 * one shard with, if it has one, the index of the shard's rows.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SAMPLER_FIXTURE_H
#define TESTS_SUPPORT_SAMPLER_FIXTURE_H

#include <criterion/criterion.h>
#include <math.h>

#include "actors/samplers/sampler.h"
#include "kernels/kernels.h"
#include "tests/support/oracle.h"

typedef struct world {
    uint32_t labels, hidden, rows, block_rows;
    size_t stride;
    float *h;                 /* [rows][stride], the column `hidden` is 1 */
    float *w;                 /* [labels][hidden + 1] */
    uint32_t *frequency;      /* [labels] */
    uint32_t *offset, *label; /* of the samples, ascending */
    uint32_t *distinct, distinct_count;
} world_t;

/* A sampler of rows [first, first + count) of the world. */
typedef struct subject {
    const world_t *world;
    const skn_sampler_kind_t *kind;
    skn_sampler_options_t options;
    void *sampler;
    skn_rows_t copy;
    const skn_index_kind_t *index_kind;
    void *builder;
    skn_index_t index;
    skn_selection_t selection;
    uint32_t *positive, *own_offset, *own;
    skn_sampler_query_t query;
} subject_t;

static inline void
world_init(world_t *world, uint64_t seed, uint32_t labels_most)
{
    oracle_random_t random = { seed };
    size_t width = (size_t)world->hidden + 1;
    uint32_t count = 0;
    world->stride = width + 3;
    world->h = oracle_floats(&random, world->rows * world->stride, 1);
    world->w = oracle_floats(&random, world->labels * width, 1);
    world->frequency = calloc(world->labels, sizeof(uint32_t));
    world->offset = calloc(world->rows + 1, sizeof(uint32_t));
    world->label = calloc((size_t)world->rows * world->labels + 1, 4);
    world->distinct = calloc(world->labels, sizeof(uint32_t));
    for (uint32_t i = 0; i < world->rows; i++) {
        for (uint32_t k = 0; k < world->hidden; k++)
            if (world->h[i * world->stride + k] < -0.4f)
                world->h[i * world->stride + k] = 0; /* as ReLU does */
        world->h[i * world->stride + world->hidden] = 1;
    }
    for (uint32_t k = 0; k < world->labels; k++)
        world->frequency[k] = oracle_next(&random) % 7 * (k % 5);
    for (uint32_t i = 0; i < world->rows; i++) {
        for (uint32_t k = 0; k < world->labels; k++)
            if (oracle_next(&random) % world->labels < labels_most)
                world->label[count++] = k;
        world->offset[i + 1] = count;
    }
    for (uint32_t k = 0; k < world->labels; k++)
        for (uint32_t at = 0; at < count; at++)
            if (world->label[at] == k) {
                world->distinct[world->distinct_count++] = k;
                break;
            }
}

static inline void
world_fini(world_t *world)
{
    free(world->h);
    free(world->w);
    free(world->frequency);
    free(world->offset);
    free(world->label);
    free(world->distinct);
}

static inline skn_sampler_options_t
world_options(const world_t *world, uint32_t first, uint32_t count)
{
    return (skn_sampler_options_t){
        .kernels = skn_kernels_best(),
        .seed = 20261121,
        .labels = world->labels,
        .row_first = first,
        .row_count = count,
        .block_rows = world->block_rows,
        .hidden = world->hidden,
        .batch_rows = world->rows,
        .draws = 12,
        .tail = 9,
        .tables = 5,
        .bits = 2,
        .frequency = world->frequency,
    };
}

/* What the sampler asks of the batch, in the shard's own numbers. */
static inline void
subject_query(subject_t *subject)
{
    const world_t *world = subject->world;
    uint32_t first = subject->options.row_first, count = 0;
    uint32_t end = first + subject->options.row_count;
    subject->positive = calloc(world->labels, sizeof(uint32_t));
    subject->own_offset = calloc(world->rows + 1, sizeof(uint32_t));
    subject->own = calloc((size_t)world->rows * world->labels + 1, 4);
    for (uint32_t i = 0; i < world->rows; i++) {
        for (uint32_t k = world->offset[i]; k < world->offset[i + 1]; k++)
            if (world->label[k] >= first && world->label[k] < end)
                subject->own[count++] = world->label[k] - first;
        subject->own_offset[i + 1] = count;
    }
    count = 0;
    for (uint32_t k = 0; k < world->distinct_count; k++)
        if (world->distinct[k] >= first && world->distinct[k] < end)
            subject->positive[count++] = world->distinct[k] - first;
    subject->query = (skn_sampler_query_t){
        .batch = 7,
        .rows = world->rows,
        .hidden = world->h,
        .hidden_stride = world->stride,
        .positive = subject->positive,
        .positive_count = count,
        .own_offset = subject->own_offset,
        .own = subject->own,
    };
}

/* Brings all rows to the builder, adopts its index. */
static inline void
subject_build(subject_t *subject)
{
    const world_t *world = subject->world;
    const skn_sampler_options_t *options = &subject->options;
    uint32_t *row = malloc(options->row_count * sizeof(*row));
    skn_error_t error = { 0 };
    cr_assert_eq(skn_rows_init(&subject->copy, SKN_ROWS_SGD, options->row_count,
                               options->hidden + 1, false, &error),
                 SKN_OK);
    for (uint32_t k = 0; k < options->row_count; k++) {
        skn_rows_set(&subject->copy, options->kernels, k,
                     world->w + (size_t)(options->row_first + k) *
                                    (world->hidden + 1));
        row[k] = k;
    }
    subject->builder =
        subject->index_kind->open(options, &subject->copy, &error);
    cr_assert(subject->builder, "%s", error.text);
    subject->index_kind->change(subject->builder, row, options->row_count);
    cr_assert_eq(
        subject->index_kind->build(subject->builder, &subject->index, &error),
        SKN_OK);
    cr_assert_eq(
        subject->kind->adopt(subject->sampler, &subject->index, &error), SKN_OK,
        "%s", error.text);
    free(row);
}

static inline void
subject_open(subject_t *subject, const world_t *world,
             const skn_sampler_kind_t *kind,
             const skn_sampler_options_t *options, bool with_index)
{
    skn_error_t error = { 0 };
    memset(subject, 0, sizeof(*subject));
    subject->world = world;
    subject->kind = kind;
    subject->options = *options;
    subject->sampler = kind->open(options, &error);
    cr_assert(subject->sampler, "%s: %s", kind->name, error.text);
    subject->index_kind = kind->index;
    if (subject->index_kind && with_index)
        subject_build(subject);
    subject_query(subject);
}

static inline void
subject_close(subject_t *subject)
{
    subject->kind->close(subject->sampler);
    if (subject->builder)
        subject->index_kind->close(subject->builder);
    skn_rows_fini(&subject->copy);
    skn_selection_fini(&subject->selection);
    free(subject->positive);
    free(subject->own_offset);
    free(subject->own);
}

static inline void
subject_draw(subject_t *subject, uint64_t batch)
{
    skn_error_t error = { 0 };
    subject->query.batch = batch;
    cr_assert_eq(subject->kind->draw(subject->sampler, &subject->query,
                                     &subject->selection, &error),
                 SKN_OK, "%s: %s", subject->kind->name, error.text);
}

/* Weights of the rows of sample `i`, 0 where a row is not in its list. */
static inline void
subject_weights(const subject_t *subject, uint32_t i, double *weight)
{
    const skn_selection_t *selection = &subject->selection;
    memset(weight, 0, subject->options.row_count * sizeof(*weight));
    for (uint32_t g = 0; g < selection->group_count; g++) {
        const skn_group_t *group = &selection->group[g];
        for (uint32_t s = 0; s < group->sample_count; s++)
            for (uint32_t k = 0;
                 selection->sample[group->sample_first + s] == i &&
                 k < group->unit_count;
                 k++)
                weight[selection->unit[group->unit_first + k]] =
                    (double)selection->weight[group->unit_first + k];
    }
}

/* Whether weight 1 is row `row`'s due as a label for sample i: of the batch in
 * a group of several or of everybody, of the sample in a group of its own. */
static inline bool
subject_is_label(const subject_t *subject, uint32_t i, uint32_t row)
{
    for (uint32_t k = subject->own_offset[i]; k < subject->own_offset[i + 1];
         k++)
        if (subject->own[k] == row)
            return true;
    return false;
}

#endif
