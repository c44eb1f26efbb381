/* bench_samplers.c - times a batch's draws by each sampler, and the building of
 * an index.
 *
 * 106,383 labels (wnrel), 512 samples; an index of 100,000 rows and 128 hidden
 * units.  SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "actors/samplers/sampler.h"
#include "bench/bench.h"
#include "kernels/philox.h"

#define SAMPLES 512u
#define HIDDEN 128u
#define STRIDE 144u

typedef struct subject {
    const skn_sampler_kind_t *kind;
    skn_sampler_options_t options;
    void *sampler;
    const skn_index_kind_t *index_kind;
    void *builder;
    skn_rows_t rows;
    skn_index_t index;
    skn_selection_t selection;
    skn_sampler_query_t query;
    uint32_t *all; /* every row */
    uint32_t offset[SAMPLES + 1];
} subject_t;

static float
number(uint64_t row, uint64_t column)
{
    skn_philox_t random = skn_philox_at(1, row, column);
    return skn_philox_unit(random.word[0]) * 2 - 1;
}

static void
draw(void *opaque)
{
    subject_t *subject = opaque;
    subject->query.batch++;
    (void)subject->kind->draw(subject->sampler, &subject->query,
                              &subject->selection, NULL);
}

static void
change(void *opaque)
{
    subject_t *subject = opaque;
    subject->index_kind->change(subject->builder, subject->all,
                                subject->options.row_count);
}

static void
build(void *opaque)
{
    subject_t *subject = opaque;
    (void)subject->index_kind->build(subject->builder, &subject->index, NULL);
}

static void
fill_rows(subject_t *subject)
{
    float w[HIDDEN + 1];
    (void)skn_rows_init(&subject->rows, SKN_ROWS_SGD,
                        subject->options.row_count, HIDDEN + 1, true, NULL);
    for (uint32_t row = 0; row < subject->options.row_count; row++) {
        for (uint32_t k = 0; k <= HIDDEN; k++)
            w[k] = number(row, k);
        skn_rows_set(&subject->rows, subject->options.kernels, row, w);
    }
}

static void
bench_kind(const skn_sampler_kind_t *kind, uint32_t labels, uint64_t draws,
           uint64_t tail, float *hidden)
{
    static subject_t subject;
    char name[96];
    memset(&subject, 0, sizeof(subject));
    subject.kind = kind;
    subject.options = (skn_sampler_options_t){
        .kernels = skn_kernels_best(),
        .seed = 1,
        .labels = labels,
        .row_count = labels,
        .block_rows = 256,
        .hidden = HIDDEN,
        .batch_rows = SAMPLES,
        .draws = draws,
        .tail = tail,
    };
    subject.all = malloc(labels * sizeof(uint32_t));
    uint32_t *frequency = malloc(labels * sizeof(uint32_t));
    for (uint32_t k = 0; k < labels; k++) {
        subject.all[k] = k;
        frequency[k] = labels / (k + 1);
    }
    subject.options.frequency = frequency;
    subject.query = (skn_sampler_query_t){ .rows = SAMPLES,
                                           .hidden = hidden,
                                           .hidden_stride = STRIDE,
                                           .own_offset = subject.offset };
    subject.sampler = kind->open(&subject.options, NULL);
    subject.index_kind = kind->index;
    if (subject.index_kind) {
        fill_rows(&subject);
        subject.builder =
            subject.index_kind->open(&subject.options, &subject.rows, NULL);
        (void)snprintf(name, sizeof(name), "hash/%s/rows=%u", kind->name,
                       labels);
        bench_line(name, bench_measure(change, &subject), labels * 1e3,
                   "rows/us", 0);
        (void)snprintf(name, sizeof(name), "build/%s/rows=%u", kind->name,
                       labels);
        bench_line(name, bench_measure(build, &subject), labels * 1e3,
                   "rows/us", 0);
        (void)kind->adopt(subject.sampler, &subject.index, NULL);
    }
    (void)snprintf(name, sizeof(name), "draw/%s/draws=%llu+%llu", kind->name,
                   (unsigned long long)draws, (unsigned long long)tail);
    bench_time_t time = bench_measure(draw, &subject);
    bench_line(name, time, subject.selection.unit_count * 1e3, "rows/us", 0);
    kind->close(subject.sampler);
    if (subject.builder)
        subject.index_kind->close(subject.builder);
    skn_rows_fini(&subject.rows);
    skn_selection_fini(&subject.selection);
    free(subject.all);
    free(frequency);
}

int
main(void)
{
    float *hidden = malloc(SAMPLES * STRIDE * sizeof(float));
    for (uint32_t i = 0; hidden && i < SAMPLES; i++)
        for (uint32_t k = 0; k < STRIDE; k++) {
            float h = number(1u << 30 | i, k);
            hidden[i * STRIDE + k] = k == HIDDEN ? 1 : h > 0 ? h : 0;
        }
    if (!hidden)
        return 1;
    bench_head();
    bench_kind(&skn_sampler_uniform, 106383, 3072, 0, hidden);
    bench_kind(&skn_sampler_log_uniform, 106383, 3072, 0, hidden);
    bench_kind(&skn_sampler_simhash, 100000, 1024, 1024, hidden);
    bench_kind(&skn_sampler_dwta, 100000, 1024, 1024, hidden);
    free(hidden);
    return 0;
}
